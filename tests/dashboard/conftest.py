"""The dashboard as its readers have it: a real server, a real database, a real browser."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parent))

from lively_web import fill
from serving import served

FIRST_LOOK = Path(__file__).parent / "chromium.sh"


@pytest.fixture(scope="session")
def lively_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a living web in it; not to be changed."""
    path = tmp_path_factory.mktemp("lively") / "freshness.db"
    fill(f"sqlite:///{path}", hours=8.0)
    return path


@pytest.fixture(scope="module")
def lively_copy(lively_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of it for the tests of one file."""
    return Path(shutil.copy(lively_file, tmp_path_factory.mktemp("copy")))


@pytest.fixture
def lively_url(lively_file: Path, tmp_path: Path) -> str:
    """A copy of it, which may be changed."""
    shutil.copy(lively_file, tmp_path / "freshness.db")
    return f"sqlite:///{tmp_path / 'freshness.db'}"


@pytest.fixture(scope="session")
def lively(lively_file: Path) -> Iterator[str]:
    """The address of a dashboard over a living web."""
    with served(f"sqlite:///{lively_file}") as (address, _):
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, as `make test` finds or installs it."""
    found = subprocess.run(["sh", str(FIRST_LOOK)], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.fail(found.stderr.strip())
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=found.stdout.strip().splitlines()[-1], args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()
