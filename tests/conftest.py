"""Databases for tests: each test that asks for `database_url` or `store` runs on SQLite and on PostgreSQL."""

import logging
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from postgres import Server, postgres_server

from scrapy_freshness.storage.store import Store

# A shell that starts this in the background lets its children ignore Ctrl-C; tests send it to theirs.
signal.signal(signal.SIGINT, signal.default_int_handler)
# The same examples in every run, however busy the machine, and whatever other modules have been imported:
# their constants would be among the examples.
settings.register_profile("seeded", derandomize=True, deadline=None, database=None)
settings.load_profile("seeded")
pytest.MonkeyPatch().setattr(providers, "_get_local_constants", lambda: providers._local_constants)


#: Files that take longest, and so begin first: nobody waits for them at the end.
_LONGEST = (
    "test_any_spider.py",
    "test_bad_input.py",
    "test_browser.py",
    "test_command_line.py",
    "test_http.py",
    "test_kill.py",
    "test_many_signals.py",
    "test_pace.py",
    "test_paper_benchmarks.py",
    "test_poisson_world.py",
    "test_policies.py",
    "test_replay_command.py",
    "test_scrapy_features.py",
    "test_signal_sources.py",
    "test_value_models.py",
    "test_websub.py",
)


#: Long runs over lines that shorter tests walk through, too: to count them takes two thirds more time.
_NOT_MEASURED = (
    "test_arg_max.py",
    "test_contests.py",
    "test_echo_world.py",
    "test_hostile_sources.py",
    "test_longevity_world.py",
    "test_many_signals.py",
    "test_phases.py",
    "test_poisson_world.py",
    "test_replays.py",
    "test_signal_sources.py",
    "test_value_models.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first (the sort is stable), and some without coverage."""
    items.sort(key=lambda item: item.path.name not in _LONGEST)
    for item in items:
        if item.path.name in _NOT_MEASURED:
            item.add_marker("no_cover")


class _Messages(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture(autouse=True)
def not_learned() -> Iterator[list[str]]:
    """Complaints of planners that went on without a lesson; a test that expects some has to clear them."""
    heard, logger = _Messages(), logging.getLogger("scrapy_freshness.planning.visited")
    logger.addHandler(heard)
    yield heard.messages
    logger.removeHandler(heard)
    assert heard.messages == []


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One server for all tests."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The URL of a SQLite database that does not exist yet."""
    return f"sqlite:///{tmp_path / 'freshness.db'}"


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    with postgres.database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database."""
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return url


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """An open, empty store."""
    with Store.open(database_url) as opened:
        yield opened
