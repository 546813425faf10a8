"""The numbers that shape the press."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

DAY_SECONDS = 86_400.0


@dataclass(frozen=True, kw_only=True)
class PressParameters:
    """Everything that the history of the press depends on. Hours and days are its own, which pass quickly."""

    seed: int = 1
    hosts: int = 150
    hubs_per_host: int = 20
    """Pages of each host that list its stories: the front page, and sections that it links to."""

    old_pages_per_host: int = 6
    """Pages one hop from the front page that list nothing: imprint, contact and the like."""

    days: float = 2.0
    """How long stories appear, from an empty web on."""

    seconds_per_day: float = 100.0
    """How fast a day passes on the site's clock."""

    links_per_hour: float = 0.29
    """New stories of a hub, on average; with a standard deviation of 1.5 of the logarithm."""

    profit_spread: float = 1.9
    """Standard deviation of the logarithm of the mean number of clicks on a story of a hub.

    With so many links and this spread, breadth-first search and a fixed quota earn about what they earn in
    the table that `benchmarks/echo_site.py` compares with.
    """

    shared: float = 0.1
    """Share of the stories that a second hub of their host links to as well, an hour later on average."""

    stay_hours: float = 48.0
    """How long a hub links to a story at the most; newer ones may push it out before."""

    def __post_init__(self) -> None:
        """Refuse numbers that make no web."""
        for name in ("hosts", "hubs_per_host", "days", "seconds_per_day", "links_per_hour", "stay_hours"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")
        for name in ("old_pages_per_host", "profit_spread"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if not 0 <= self.shared <= 1:
            raise ValueError(f"shared must be between 0 and 1, got {self.shared}")

    @property
    def hubs(self) -> int:
        """Hubs of all hosts together."""
        return self.hosts * self.hubs_per_host

    @property
    def speed(self) -> float:
        """Seconds of the press in a second of the site's clock."""
        return DAY_SECONDS / self.seconds_per_day

    @property
    def seconds(self) -> float:
        """How long stories appear, on the site's clock."""
        return self.days * self.seconds_per_day

    def to_json(self) -> dict[str, Any]:
        """Return the parameters as JSON can carry them."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "PressParameters":
        """Return the parameters that `to_json` gave."""
        return cls(**values)
