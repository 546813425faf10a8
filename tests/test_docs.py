"""The documentation names what there is, all of it, and nothing else."""

import ast
import re
from pathlib import Path

import pytest

from scrapy_freshness.commands import SUBCOMMANDS
from scrapy_freshness.config import reference
from scrapy_freshness.model import Outcome
from scrapy_freshness.planning.policy import POLICY_NAMES
from scrapy_freshness.storage.schema import metadata
from scrapy_freshness.storage.views import VIEWS

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "example_project").glob("*.md")]
)


def text_of(name: str) -> str:
    return (ROOT / name).read_text()


def test_every_setting_is_in_the_reference_with_its_help() -> None:
    settings = text_of("docs/settings.md")

    for name, _, help_ in reference():
        assert f"`{name}`" in settings
        assert help_ in settings
    assert set(re.findall(r"`(FRESHNESS_[A-Z_]+)`", settings)) == {name for name, _, _ in reference()}


def test_every_policy_is_in_the_table_of_policies() -> None:
    table = re.findall(r"^\| `([\w-]+)` \|", text_of("docs/policies.md"), re.MULTILINE)

    assert sorted(table) == sorted(POLICY_NAMES)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_only_settings_that_exist(path: Path) -> None:
    known = {name for name, _, _ in reference()}

    assert set(re.findall(r"FRESHNESS_[A-Z][A-Z_]+[A-Z]", path.read_text())) <= known


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", path.read_text()):
        assert (path.parent / target).exists(), target


def stat_names() -> set[str]:
    """Names of stats in the code; a formatted name ends where its variable part begins."""
    found = set()
    for path in (ROOT / "scrapy_freshness" / "crawl").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(re.findall(r"^freshness/[a-z_/]+$", node.value))
    return found


def test_every_stat_is_documented() -> None:
    documented = set(re.findall(r"`(freshness/[a-zA-Z_/]+)`", text_of("docs/stats.md")))
    fixed = {name for name in documented if not re.search("[A-Z]", name)}
    families = {re.sub("[A-Z]+$", "", name) for name in documented - fixed}

    assert {name for name in stat_names() if not name.endswith("/")} == fixed
    assert {name for name in stat_names() if name.endswith("/")} == families
    for outcome in Outcome:
        assert f"`{outcome.name.lower()}`" in text_of("docs/stats.md")


def test_every_view_and_column_is_documented() -> None:
    database = text_of("docs/database.md")

    for view, columns in VIEWS.items():
        section = database.split(f"### `{view}`")[1].split("###")[0]
        assert re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE) == list(columns.items())


def test_every_table_is_documented() -> None:
    section = text_of("docs/database.md").split("## Tables")[1].split("##")[0]

    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(metadata.tables)


def test_every_command_is_documented() -> None:
    commands = text_of("docs/commands.md")

    for name in SUBCOMMANDS:
        assert re.search(rf"^#+ .*`?{name}", commands, re.MULTILINE), name
