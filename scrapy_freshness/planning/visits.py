"""One planned look at one page: opened by the planner, closed exactly once with a report."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.config import Config
from scrapy_freshness.estimation.signal_delays import NOTHING_HEARD, Heard
from scrapy_freshness.model import Outcome, PageKind, PageRecord, VisitRecord
from scrapy_freshness.planning.young_links import NOTHING_FOUND, Staying


@dataclass(slots=True, kw_only=True)
class Visit:
    """An open visit; the request of the visit carries it as ``request.meta["freshness_visit"]``."""

    row: int
    record: PageRecord  #: the page as it was when the visit opened
    opened_at: float
    value: float  #: what the crawl was worth
    changed: bool | None = None  #: once the answer was compared: whether the page changed
    divergence: float | None = None  #: once the answer was compared: 0 (same) to 1
    is_open: bool = True

    @property
    def url(self) -> str:
        return self.record.url

    @property
    def previous_visit_at(self) -> float | None:
        """Time of the last visit that saw the page's content, None at the first."""
        return self.record.last_visit_at

    def __repr__(self) -> str:
        state = "open" if self.is_open else "closed"
        return f"<Visit {self.record.page_id} {self.url} {state}>"


class Content(Protocol):
    """One version of some content: `content.measure.Measurement`, or what a simulated fetch sees."""

    @property
    def content_hash(self) -> int:
        """Signed 64 bits; equal for equal content."""
        ...

    @property
    def sketch(self) -> NDArray[np.uint32] | None:
        """Smallest fragment hashes, ascending; None if fragments are not looked at."""
        ...


class PollYield(NamedTuple):
    """What came of a poll for signals."""

    worth: float = 0.0  #: in prices of a visit
    is_barren: bool = True  #: it brought no new page, and no signal that moves the choice of visits
    update_seconds: float | None = None  #: how often the source says that it is updated


_NOTHING = PollYield()


@dataclass(slots=True, kw_only=True)
class Report:
    """What a visit saw."""

    outcome: Outcome
    at: float
    http_status: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    measurement: Content | None = None
    body_hash: int | None = None
    divergence: float | None = None
    body_bytes: int = 0
    latency_seconds: float | None = None
    was_pushed: bool = False  #: to us by a hub, so that it took no fetch
    callback_failed: bool = False
    is_unfinished: bool = False  #: the spider has seen the page, but not all that it asked for has been sent
    reason: str = ""  #: of a failure, in a few words
    poll: PollYield = _NOTHING  #: of a page that is polled for signals
    new_links: int = 0  #: links never seen before that a source showed
    kind: PageKind | None = None  #: what the page is fetched for from now on; None: as before
    staying: Staying = NOTHING_FOUND  #: of the links that its last poll found
    heard: Heard = NOTHING_HEARD  #: signals since the visit before; the planner's part
    page_quality: float | None = None  #: what searchers find on the page; None: not measured
    quality_gain: float | None = None  #: what they gain by the visit, 0 if nothing; None: not measured
    terms: bytes | None = None  #: search.packed, of the content; None: as before
    links: bytes | None = None  #: search.links; None: as before


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """How much is remembered of a page and how long it rests after bad answers."""

    max_profiles: int = 5
    profile_length: int = 12
    sketch_size: int = 64
    gone_recheck_seconds: float = 86400.0
    gone_recheck_max_seconds: float = 60 * 86400.0
    backoff_seconds: float = 5.0
    backoff_max_seconds: float = 3600.0

    @classmethod
    def of(cls, config: Config) -> Self:
        """What the settings say."""
        return cls(
            max_profiles=config.max_profiles,
            profile_length=config.profile_length,
            sketch_size=config.sketch_size,
            gone_recheck_seconds=config.gone_recheck_seconds,
            gone_recheck_max_seconds=config.gone_recheck_max_seconds,
            backoff_seconds=config.backoff_seconds,
            backoff_max_seconds=config.backoff_max_seconds,
        )


def visit_record(record: PageRecord, report: Report) -> VisitRecord:
    """Return the visit's line in the log."""
    return VisitRecord(
        page_id=record.page_id,
        at=report.at,
        outcome=report.outcome,
        http_status=report.http_status,
        divergence=report.divergence,
        body_bytes=report.body_bytes,
        latency_seconds=report.latency_seconds,
        reason=_reason(report),
        is_barren=record.kind.is_polled and report.poll.is_barren,
        was_pushed=report.was_pushed,
    )


def _reason(report: Report) -> str | None:
    """Why a visit failed or was stopped; None if it did neither, or nobody knows."""
    if report.outcome not in (Outcome.FAILED, Outcome.IGNORED):
        return None
    if report.reason or report.http_status is None:
        return report.reason or None
    return f"status {report.http_status}"
