"""A dashboard over a database, served by a real server."""

import faulthandler
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lively_web import NOW

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.config import Config
from scrapy_freshness.dashboard.app import new_app
from scrapy_freshness.dashboard.security import Door
from scrapy_freshness.dashboard.serving import Server
from scrapy_freshness.storage.store import Store


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
        server = Server(app, log_level="critical", server_header=False, timeout_graceful_shutdown=1)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", clock
        finally:
            server.should_exit = True
            thread.join(30)
            if thread.is_alive():
                faulthandler.dump_traceback(sys.__stderr__)  # what it waits for
                server.force_exit = True
                thread.join(20)
