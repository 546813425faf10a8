"""Commands run in this process, on a manual clock, over a real database; a few in processes of their own."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from answering import Answer, answer_of
from small_web import fill


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output does not depend on who runs the tests."""
    monkeypatch.setenv("COLUMNS", "160")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def web_url(sqlite_url: str) -> str:
    """A database with the small web in it."""
    fill(sqlite_url)
    return sqlite_url


@pytest.fixture
def freshness(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Callable[..., Answer]:
    """Runs a subcommand: `freshness("status", "--json")`; by default over the small web."""

    def run(*arguments: str, url: str | None = None, **options: Any) -> Answer:
        return answer_of(*arguments, url=url or request.getfixturevalue("web_url"), capsys=capsys, **options)

    return run
