"""The log of a site: every request, in memory and as JSON Lines."""

import json
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import IO, Any, Protocol

from living_site.model import Host
from living_site.parameters import WorldParameters
from living_site.world import World

KEPT_IN_MEMORY = 1_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One request. Times are seconds since the site's epoch."""

    time: float
    """When the request had arrived."""
    answered: float
    """When it was answered; what a 200 carries is the page as of this moment."""
    host: str
    method: str
    path: str
    """The request target as sent, with its query."""
    status: int
    """Status of the answer; 0 if the connection was closed without one."""
    conditional: bool
    """Whether the client sent If-None-Match or If-Modified-Since."""
    body_bytes: int
    """Length of the answer's body as sent."""


class Logged(Protocol):
    """The world of a site that is logged."""

    hosts: tuple[Host, ...]
    parameters: Any  # with `to_json`


class RequestLog:
    """Collects entries: the last million in memory, all of them in a file if there is one.

    `add` touches memory only; `write` can run in another thread. `entries` can be read from any. The file's
    first line says what the site is: its epoch, its port and the parameters of its world.
    """

    def __init__(self, world: Logged, epoch: float, path: Path | None = None) -> None:
        self.epoch = epoch
        self._entries: deque[Entry] = deque(maxlen=KEPT_IN_MEMORY)
        self._lock = Lock()
        self._unwritten: list[Entry] = []
        self._file: IO[bytes] | None = None
        if path is not None:
            self._file = path.open("wb")
            port = world.hosts[0].port
            self._write_lines([{"epoch": epoch, "port": port, "parameters": world.parameters.to_json()}])

    @property
    def entries(self) -> list[Entry]:
        """The requests that were answered up to this moment, in the order of their answers."""
        with self._lock:
            return list(self._entries)

    def add(self, entry: Entry) -> None:
        """Note a request."""
        with self._lock:
            self._entries.append(entry)
        if self._file is not None:
            self._unwritten.append(entry)

    def take_unwritten(self) -> list[Entry]:
        """Return the entries to write next; call it where `add` is called."""
        taken, self._unwritten = self._unwritten, []
        return taken

    def write(self, entries: list[Entry]) -> None:
        """Append entries to the file."""
        self._write_lines([asdict(entry) for entry in entries])

    def close(self) -> None:
        """Write what is left and close the file; the entries in memory stay readable."""
        if self._file is not None:
            with self._file:
                self.write(self.take_unwritten())
            self._file = None

    def _write_lines(self, values: list[dict[str, Any]]) -> None:
        """Append each value as one line, all lines in one write."""
        if self._file is not None and values:
            self._file.write("".join(f"{json.dumps(value)}\n" for value in values).encode())
            self._file.flush()


@dataclass(frozen=True, slots=True)
class LogFile:
    """What a log file tells."""

    epoch: float
    world: World
    entries: list[Entry]


def read_log(path: Path) -> LogFile:
    """Return what a log file tells up to its last full line; the site may still be writing it."""
    lines = path.read_bytes().split(b"\n")[:-1]
    if not lines:
        raise ValueError(f"{path} has no first line yet")
    header = json.loads(lines[0])
    world = World(WorldParameters.from_json(header["parameters"]), header["port"])
    return LogFile(header["epoch"], world, [Entry(**json.loads(line)) for line in lines[1:]])
