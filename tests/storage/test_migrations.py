"""The migrations lead to the schema of the code, and only forwards."""

import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from samples import page
from sqlalchemy import create_engine, inspect, text

from scrapy_freshness.errors import LockedError, SchemaError
from scrapy_freshness.model import Batch
from scrapy_freshness.storage import migrations
from scrapy_freshness.storage.schema import metadata
from scrapy_freshness.storage.store import Store


def test_migrations_lead_to_the_schema_of_the_code(store: Store) -> None:
    with store.reading() as connection, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*expression-based index")
        options = {"version_table": migrations.VERSION_TABLE, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)

        assert compare_metadata(context, metadata) == []


def test_sqlite_tables_and_indexes_are_spelt_as_in_the_code(sqlite_url: str, tmp_path: Path) -> None:
    Store.open(sqlite_url).close()
    by_code = create_engine(f"sqlite:///{tmp_path / 'by_code.db'}")
    metadata.create_all(by_code)
    by_code.dispose()

    assert definitions(tmp_path / "freshness.db") == definitions(tmp_path / "by_code.db")


def test_the_head_is_what_alembic_takes_for_it() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations.scripts_directory()))
    scripts = ScriptDirectory.from_config(config)

    assert scripts.get_current_head() == migrations.head_revision()
    assert sorted(script.revision for script in scripts.walk_revisions()) == list(migrations.revisions())


def test_opening_again_finds_everything_in_place(database_url: str) -> None:
    with Store.open(database_url) as store:
        store.save("quotes", Batch(pages=[page(1)]))

    with Store.open(database_url) as store:
        assert store.page_count("quotes") == 1


def test_several_programs_may_open_an_empty_database_at_once(database_url: str) -> None:
    program = "import sys; from scrapy_freshness.storage.store import Store; Store.open(sys.argv[1]).close()"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", program, database_url]
    programs = [subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) for _ in range(4)]

    assert [process.communicate()[1].decode() for process in programs] == [""] * 4
    with Store.open_readonly(database_url) as store:
        assert store.spiders() == []


def test_missing_scripts_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(migrations, "__file__", str(tmp_path / "package" / "storage" / "migrations.py"))

    with pytest.raises(SchemaError, match="install scrapy-freshness again"):
        migrations.scripts_directory()


@pytest.mark.parametrize("opened", [Store.open, Store.open_readonly])
def test_a_newer_schema_is_refused(database_url: str, opened: type[Store]) -> None:
    set_revision(database_url, "9999")

    with pytest.raises(SchemaError, match=r"schema 9999.*newer.*pip install --upgrade scrapy-freshness$"):
        opened(database_url)  # type: ignore[call-arg]


def test_an_older_schema_is_upgraded_when_opened_for_writing(
    database_url: str, next_version: Callable[[str], None]
) -> None:
    with Store.open(database_url) as store:
        store.save("quotes", Batch(pages=[page(1)]))
    next_version("op.add_column('crawl', sa.Column('note', sa.Text))")

    with pytest.raises(SchemaError, match="run 'scrapy freshness db upgrade'"):
        Store.open_readonly(database_url)
    with Store.open(database_url) as store, store.reading() as connection:
        assert migrations.current_revision(connection) == "9990"
        assert "note" in {column["name"] for column in inspect(connection).get_columns("crawl")}
        assert store.page_count("quotes") == 1
    Store.open_readonly(database_url).close()


def test_views_that_others_have_built_on_ours_outlive_migrations(
    database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = migrations.revisions()[0]
    scripts = tmp_path / "scripts"
    shutil.copytree(migrations.scripts_directory(), scripts)
    for script in (scripts / "versions").glob("[0-9]*.py"):
        if not script.name.startswith(first):
            script.unlink()
    with monkeypatch.context() as earlier:
        earlier.setattr(migrations, "scripts_directory", lambda: scripts)
        earlier.setattr(migrations, "revisions", lambda: (first,))
        engine = create_engine(database_url)
        with engine.begin() as connection:
            migrations.upgrade(connection, "earlier")
            for view in ("pages", "hosts", "visits"):
                connection.execute(text(f"CREATE VIEW my_{view} AS SELECT * FROM v_{view}"))
        engine.dispose()

    with Store.open(database_url) as store, store.reading() as connection:
        assert migrations.check(connection, "")
        for view in ("pages", "hosts", "visits"):
            assert connection.execute(text(f"SELECT * FROM my_{view}")).all() == []


def test_an_older_schema_is_not_touched_while_a_crawl_runs(
    database_url: str, next_version: Callable[[str], None]
) -> None:
    with Store.open(database_url) as crawl:
        crawl.lock("quotes")
        next_version("op.add_column('crawl', sa.Column('note', sa.Text))")

        with pytest.raises(LockedError):
            Store.open(database_url)


def test_a_migration_that_fails_leaves_nothing_behind(
    database_url: str, next_version: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    next_version("op.create_table('half', sa.Column('done', sa.Text)); 1 / 0")
    with pytest.raises(ZeroDivisionError):
        Store.open(database_url)
    monkeypatch.undo()

    with Store.open(database_url) as store, store.reading() as connection:
        assert "half" not in inspect(connection).get_table_names()
        assert store.spiders() == []


def test_tables_of_another_program_are_left_alone(database_url: str) -> None:
    with Store.open(database_url) as store, store.writing() as connection:
        connection.execute(text(f"DROP TABLE {migrations.VERSION_TABLE}"))

    with pytest.raises(SchemaError, match=r"tables of another program \(.*crawl, .*\).*of its own$"):
        Store.open(database_url)


def test_migrating_leaves_logging_alone(database_url: str) -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers), logging.getLogger("alembic").level)
    logging.getLogger("somebody.else")

    Store.open(database_url).close()

    assert (root.level, list(root.handlers), logging.getLogger("alembic").level) == before
    assert not logging.getLogger("somebody.else").disabled


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Pretend that this is a later version, with one more migration."""

    def pretend(upgrade: str) -> None:
        known = migrations.revisions()
        scripts = tmp_path / "a 100% odd path"
        shutil.copytree(migrations.scripts_directory(), scripts)
        (scripts / "versions" / "9990_next.py").write_text(
            "import sqlalchemy as sa\nfrom alembic import op\n"
            f"revision, down_revision = '9990', '{known[-1]}'\n"
            f"def upgrade():\n    {upgrade}\n"
        )
        monkeypatch.setattr(migrations, "scripts_directory", lambda: scripts)
        monkeypatch.setattr(migrations, "revisions", lambda: (*known, "9990"))

    return pretend


def set_revision(database_url: str, revision: str) -> None:
    with Store.open(database_url) as store, store.writing() as connection:
        connection.execute(text(f"UPDATE {migrations.VERSION_TABLE} SET version_num = '{revision}'"))


def definitions(database: Path) -> dict[str, str]:
    with sqlite3.connect(database) as connection:
        query = "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL"
        found = {name: " ".join(sql.split()) for name, sql in connection.execute(query)}
    connection.close()
    found.pop(migrations.VERSION_TABLE, None)
    return found
