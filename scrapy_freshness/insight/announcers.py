"""Why a sitemap or feed is polled when it is."""

import math
from dataclasses import dataclass

from scrapy_freshness.insight.hub_reasons import STANDING
from scrapy_freshness.insight.human import count, number
from scrapy_freshness.insight.reasons import DAY_SECONDS
from scrapy_freshness.storage.signal_reports import SourceReport


@dataclass(frozen=True, kw_only=True)
class Announcer:
    """All that decides when a sitemap or feed is polled."""

    report: SourceReport
    profit: float  #: requests that a new page meets if it is fetched at once; nan if it is a page like others
    decay: float  #: share of them that is lost per second; likewise
    yield_rate: float  #: what its polls earn, in prices of a visit per second; nan before the first
    patience_seconds: float  #: time after which it is polled whatever that earns; likewise
    interval_seconds: float  #: between polls in the long run
    budget_per_second: float

    @property
    def is_polled(self) -> bool:
        """Whether it is polled again."""
        return self.report.status.name == "ACTIVE" and self.interval_seconds < math.inf

    @property
    def budget_share(self) -> float:
        """Share of all fetches that go to its polls."""
        return 1 / max(self.interval_seconds, 1e-9) / self.budget_per_second if self.is_polled else 0.0


def announcer_reason(case: Announcer) -> str:
    """Why a sitemap or feed is polled as often as it is, in a clause."""
    source = case.report
    if source.status.name != "ACTIVE":
        return STANDING[source.status.name.lower()]
    if case.interval_seconds < case.patience_seconds:
        return f"what it tells in a day is worth {number(DAY_SECONDS * case.yield_rate)} visits"
    found = f"nothing of worth in {count(source.barren, 'poll')}" if source.barren else "it tells too little"
    return f"{found}: polled in the end whatever that is worth, ever more rarely while it brings nothing"
