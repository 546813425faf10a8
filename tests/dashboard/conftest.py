"""The dashboard as its readers have it: a real server, a real database, a real browser."""

import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parent))

from lively_web import NOW, fill

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.config import Config
from scrapy_freshness.dashboard.app import new_app
from scrapy_freshness.dashboard.security import Door
from scrapy_freshness.storage.store import Store

FIRST_LOOK = Path(__file__).parent / "chromium.sh"


@contextmanager
def served(
    database_url: str, door: Door | None = None, *, may_act: bool = False
) -> Iterator[tuple[str, ManualClock]]:
    """The address of a dashboard over a database, and its clock."""
    open_store = partial(Store.open, database_url, create=False) if may_act else None
    clock = ManualClock(NOW)
    listening = socket.create_server(("127.0.0.1", 0))
    with Store.open_readonly(database_url) as store, listening:
        config = Config(database_url=database_url)
        app = new_app(store, config, clock, door or Door("127.0.0.1"), open_store)
        quiet = uvicorn.Config(app, log_level="critical", server_header=False, timeout_graceful_shutdown=1)
        server = uvicorn.Server(quiet)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", clock
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def lively_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a living web in it; not to be changed."""
    path = tmp_path_factory.mktemp("lively") / "freshness.db"
    fill(f"sqlite:///{path}", hours=8.0)
    return path


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


@pytest.fixture(scope="session")
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
