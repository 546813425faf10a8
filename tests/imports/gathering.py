"""A sink that keeps what it is given, and what it was told to save."""

from dataclasses import dataclass, field, replace

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.imports.contract import Format, Parsed
from scrapy_freshness.imports.run import Imported, import_file
from scrapy_freshness.imports.tables import count_lines
from scrapy_freshness.model import ImportProgress


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Lines:
    """A format of plain lines, and their parser."""

    name: str = "lines"
    is_log: bool = False
    header_lines: int = 0

    def parser(self, head: bytes) -> "Lines":
        return self

    def parse(self, block: bytes) -> Parsed[list[bytes]]:
        return Parsed(block.splitlines(), count_lines(block))


@dataclass
class Ledger:
    """What a database would keep: what was saved, and how far."""

    saved: list[bytes] = field(default_factory=list)
    imports: dict[int, ImportProgress] = field(default_factory=dict)
    kill_at: int = -1  #: number of the save that the process does not survive
    saves: int = 0
    enough: int = 1

    def __post_init__(self) -> None:
        self._gathered: list[bytes] = []

    @property
    def is_full(self) -> bool:
        return len(self._gathered) >= self.enough

    def add(self, batch: list[bytes]) -> None:
        self._gathered += batch

    def save(self, progress: ImportProgress) -> None:
        self.saves += 1
        if self.saves == self.kill_at:
            self._gathered = []
            raise Killed
        self.saved += self._gathered
        self._gathered = []
        if progress.import_id is None:
            progress.import_id = len(self.imports) + 1
        self.imports[progress.import_id] = replace(progress)

    def import_(self, name: object, format_: Format[list[bytes]] | None = None) -> Imported:
        known = list(self.imports.values())
        return import_file(str(name), "test", [format_ or Lines()], self, known, ManualClock(1e9))
