"""The press on sockets, in a thread of its own."""

import time
from pathlib import Path
from types import TracebackType
from typing import Self

from living_site.request_log import RequestLog
from living_site.running import ServerThread
from living_site.server import Server, bind_all

from press.answers import PressResponder
from press.parameters import PressParameters
from press.world import PressWorld, press_addresses


class RunningPress:
    """Runs the press from `start` to `stop`, or for the length of a `with` block; its epoch is the start.

    >>> with RunningPress(PressParameters(hosts=2, hubs_per_host=2)) as site:
    ...     len(site.world.hubs)
    4
    """

    world: PressWorld
    log: RequestLog
    epoch: float
    """Unix time of the start."""

    def __init__(
        self,
        parameters: PressParameters | None = None,
        *,
        port: int = 0,
        log_path: Path | None = None,
    ) -> None:
        self._parameters = parameters or PressParameters()
        self._port = port
        self._log_path = log_path
        self._thread: ServerThread | None = None

    @property
    def root_urls(self) -> list[str]:
        """The front page of every newspaper."""
        return self.world.root_urls

    @property
    def is_serving(self) -> bool:
        """Whether requests are answered."""
        return self._thread is not None and self._thread.is_alive

    def now(self) -> float:
        """Return the seconds since the epoch, by a clock that never jumps."""
        return time.monotonic() - self._started

    def start(self) -> Self:
        """Bind the addresses and serve them; requests are taken from the moment this returns."""
        sockets = bind_all(press_addresses(self._parameters), self._port)
        try:
            self.world = PressWorld(self._parameters, sockets[0].getsockname()[1])
            self.epoch, self._started = time.time(), time.monotonic()
            self.log = RequestLog(self.world, self.epoch, self._log_path)
        except BaseException:
            for sock in sockets:
                sock.close()
            raise
        self._thread = ServerThread(
            Server(PressResponder(self.world, self.epoch), self.log, self.now), sockets
        )
        return self

    def stop(self) -> None:
        """End the serving and the log file; the world and the log in memory stay readable."""
        if self._thread is None:
            return
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
