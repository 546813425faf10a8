"""A dashboard that is ended leaves nothing behind, whatever ends it."""

import threading
import time

import anyio
import pytest
from lively_web import NOW, SPIDER

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.config import Config
from scrapy_freshness.dashboard.app import new_app
from scrapy_freshness.dashboard.security import Door
from scrapy_freshness.dashboard.watch import ClosingError, Watch
from scrapy_freshness.storage.store import Store


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_its_threads_end_with_it(lively_url: str, is_interrupted: bool) -> None:
    """Also if the server is stopped in a hurry, and only cancels it."""
    before = set(threading.enumerate())
    with Store.open_readonly(lively_url) as store:
        app = new_app(store, Config(database_url=lively_url), ManualClock(NOW), Door("127.0.0.1"))

        async def run() -> None:
            with anyio.CancelScope() as scope:
                async with app.router.lifespan_context(app):
                    if is_interrupted:
                        scope.cancel()
                        await anyio.sleep_forever()

        loop = threading.Thread(target=anyio.run, args=(run,))  # the browser's loop may be in this thread
        loop.start()
        loop.join()
        left = [thread.name for thread in set(threading.enumerate()) - before]

    assert not [name for name in left if name.startswith("dashboard")]


def test_a_look_ends_as_soon_as_nobody_wants_it(lively_url: str) -> None:
    """Of a million pages it takes many seconds, and whoever has pressed Ctrl-C would wait for it."""
    with Store.open_readonly(lively_url) as store:
        watch = Watch(store, Config(database_url=lively_url), ManualClock(NOW), time.monotonic)
        watch.stop()
        with pytest.raises(ClosingError):
            watch.sight(SPIDER)
        watch.close()
