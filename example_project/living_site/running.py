"""A living site in a thread of its own."""

import asyncio
import socket
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from living_site.announcer import Announcer
from living_site.answers import Responder
from living_site.model import host_addresses
from living_site.parameters import WorldParameters
from living_site.request_log import RequestLog
from living_site.server import Server, bind_all
from living_site.websub_hub import WebSubHub
from living_site.world import World


class ServerThread:
    """A server in a thread of its own, from the moment it is made until `stop`."""

    def __init__(self, server: Server, sockets: list[socket.socket]) -> None:
        self._stop_wish = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(
            target=self._run, args=(server, sockets), name="living-site", daemon=True
        )
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether requests are answered."""
        return self._thread.is_alive()

    def stop(self) -> BaseException | None:
        """End the serving; return what ended it before, if something did."""
        self._stop_wish.set()
        self._thread.join()
        return self._failure

    def _run(self, server: Server, sockets: list[socket.socket]) -> None:
        """Serve in this thread until told to stop."""
        try:
            asyncio.run(server.serve(sockets, self._stop_wish))
        except BaseException as failure:
            self._failure = failure


class RunningSite:
    """Runs a living site from `start` to `stop`, or for the length of a `with` block.

    Its epoch is the moment it is started. Port 0 takes any port that is free on all its addresses. With a
    hub, changes are sent to whoever subscribes (WebSub); with the URL of an endpoint, they are submitted to
    it (IndexNow).

    >>> with RunningSite(WorldParameters(pages_per_host=3)) as site:
    ...     len(site.root_urls)
    24
    """

    world: World
    log: RequestLog
    epoch: float
    """Unix time of the start."""

    hub: WebSubHub | None
    """The hub that sends changed documents and feeds, if there is one."""

    def __init__(
        self,
        parameters: WorldParameters | None = None,
        *,
        port: int = 0,
        log_path: Path | None = None,
        with_hub: bool = False,
        indexnow_url: str = "",
    ) -> None:
        self._parameters = parameters or WorldParameters()
        self._port = port
        self._log_path = log_path
        self._with_hub = with_hub
        self._indexnow_url = indexnow_url
        self._announcer: Announcer | None = None
        self._thread: ServerThread | None = None

    @property
    def root_urls(self) -> list[str]:
        """The URL of every host's root; the first one links to all others."""
        return self.world.root_urls

    @property
    def port(self) -> int:
        """The port of all hosts."""
        return self.world.hosts[0].port

    @property
    def is_serving(self) -> bool:
        """Whether requests are answered: from `start` to `stop`, unless the log cannot be written."""
        return self._thread is not None and self._thread.is_alive

    def now(self) -> float:
        """Return the seconds since the epoch, by a clock that never jumps."""
        return time.monotonic() - self._started

    def start(self) -> Self:
        """Bind the addresses and serve them; requests are taken from the moment this returns."""
        sockets = bind_all(host_addresses(self._parameters), self._port)
        try:
            self.world = World(self._parameters, sockets[0].getsockname()[1])
            self.epoch, self._started = time.time(), time.monotonic()
            self.log = RequestLog(self.world, self.epoch, self._log_path)
        except BaseException:
            for sock in sockets:
                sock.close()
            raise
        self.hub = WebSubHub().start() if self._with_hub else None
        hub_url = self.hub.url if self.hub else ""
        responder = Responder(self.world, self.epoch, hub_url, shows_keys=bool(self._indexnow_url))
        self._thread = ServerThread(Server(responder, self.log, self.now), sockets)
        if self.hub is not None or self._indexnow_url:
            self._announcer = Announcer(responder, self.hub, self._indexnow_url, self.now).start()
        return self

    def stop(self) -> None:
        """End the serving and the log file; the world and the log in memory stay readable."""
        if self._thread is None:
            return
        if self._announcer is not None:
            self._announcer.stop()
        if self.hub is not None:
            self.hub.stop()
        failure = self._thread.stop()
        self._thread = None
        self.log.close()
        if failure is not None:
            raise failure

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
