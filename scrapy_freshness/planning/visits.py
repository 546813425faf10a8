"""One planned look at one page: opened by the planner, closed exactly once."""

from dataclasses import dataclass, replace

from scrapy_freshness.content.measure import Measurement
from scrapy_freshness.content.profiles import Profile, observe, observe_unchanged, pack, unpack
from scrapy_freshness.content.sketch import divergence
from scrapy_freshness.estimation.history import extended
from scrapy_freshness.model import Outcome, PageRecord, PageStatus, VisitRecord


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


@dataclass(slots=True, kw_only=True)
class Report:
    """What a visit saw."""

    outcome: Outcome
    at: float
    http_status: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    measurement: Measurement | None = None
    body_hash: int | None = None
    divergence: float | None = None
    body_bytes: int = 0
    latency_seconds: float | None = None
    callback_failed: bool = False
    reason: str = ""  #: of a failure, for logs and stats


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


#: Failures in a row after which a page is asked ever more rarely, as one that is gone.
_PATIENT_FAILURES = 16


def updated_record(record: PageRecord, report: Report, upkeep: Upkeep) -> PageRecord:
    """Return the page's record after a visit; its change rate is estimated separately."""
    if report.outcome is Outcome.IGNORED:
        return replace(
            record, not_before=report.at + _pause(upkeep, record.failures), failures=record.failures + 1
        )
    if report.outcome.saw_content:
        return _after_content(record, report, upkeep)
    after = replace(record, visits=record.visits + 1, http_status=report.http_status)
    after.failures = record.failures + 1
    was_gone = record.status is PageStatus.GONE
    # A tombstone that could not be looked at is no more urgent than one that is still there.
    if report.outcome is Outcome.GONE or (was_gone and report.outcome is Outcome.FAILED):
        if not was_gone:
            after.failures = 1
        after.status = PageStatus.GONE
        after.not_before = report.at + doubled(
            upkeep.gone_recheck_seconds, after.failures - 1, upkeep.gone_recheck_max_seconds
        )
    elif report.outcome is Outcome.MOVED:
        after.status = PageStatus.MOVED
    else:
        after.not_before = report.at + _pause_after_failure(upkeep, record.failures)
    return after


def compared(
    record: PageRecord, measurement: Measurement, *, min_divergence: float, size: int
) -> tuple[bool, float | None]:
    """Return whether content is another than that of the page's copy, and its divergence if known."""
    if record.content_hash is None:
        return True, None
    if record.content_hash == measurement.content_hash:
        return False, 0.0
    moved_by = _divergence_from_copy(record, measurement, size)
    return moved_by is None or moved_by >= min_divergence, moved_by


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
    )


def doubled(first_seconds: float, times: int, longest_seconds: float) -> float:
    """A pause that doubles with every failure, up to a limit.

    >>> doubled(5, 0, 60), doubled(5, 3, 60), doubled(5, 2000, 60)
    (5.0, 40.0, 60.0)
    """
    return float(min(first_seconds * 2.0 ** min(times, 60), longest_seconds))


def _divergence_from_copy(record: PageRecord, measurement: Measurement, size: int) -> float | None:
    for profile in reversed(_unpacked(record.profiles)):
        if profile.divergence.size == 0 or profile.divergence[-1] == 0:  # its base is the copy
            return divergence(profile.sketch, measurement.sketch, min(size, profile.size))
    return None


def _unpacked(profiles: bytes) -> tuple[Profile, ...]:
    """Profiles of a page; none if they cannot be read, which is no reason to stop a crawl."""
    try:
        return unpack(profiles)
    except ValueError:
        return ()


def _pause_after_failure(upkeep: Upkeep, failures: int) -> float:
    """Pause of a page that fails; one that goes on failing is as good as gone and must not eat the budget."""
    if failures < _PATIENT_FAILURES:
        return _pause(upkeep, failures)
    longest = max(upkeep.gone_recheck_max_seconds, upkeep.backoff_max_seconds)
    return doubled(upkeep.backoff_max_seconds, failures - _PATIENT_FAILURES + 1, longest)


def _pause(upkeep: Upkeep, failures: int) -> float:
    return doubled(upkeep.backoff_seconds, failures, upkeep.backoff_max_seconds)


def _after_content(record: PageRecord, report: Report, upkeep: Upkeep) -> PageRecord:
    changed = report.outcome in (Outcome.CHANGED, Outcome.FIRST)
    after = replace(
        record,
        status=PageStatus.ACTIVE,
        visits=record.visits + 1,
        failures=0,
        not_before=0.0,
        last_visit_at=report.at,
        http_status=report.http_status,
        run_callback=report.callback_failed,
        profiles=_profiles_after(record, report, upkeep),
    )
    if record.last_visit_at is not None:
        after.history = extended(
            record.history, report.at - record.last_visit_at, report.outcome is Outcome.CHANGED
        )
        after.changes += report.outcome is Outcome.CHANGED
    if changed:
        after.last_change_at = report.at
    if report.measurement is not None:
        after.content_hash = report.measurement.content_hash
    if report.body_hash is not None:
        after.body_hash = report.body_hash
    if report.outcome is not Outcome.NOT_MODIFIED:
        after.etag, after.last_modified = report.etag, report.last_modified
    return after


def _profiles_after(record: PageRecord, report: Report, upkeep: Upkeep) -> bytes:
    """Profiles after a visit: those of a page that is unchanged stay as they are.

    Of many visits that find the same version a profile keeps the first and the last. The last is
    known from `last_visit_at`, so it is noted only when a visit finds another version.
    """
    if report.measurement is None or report.outcome in (Outcome.UNCHANGED, Outcome.NOT_MODIFIED):
        return record.profiles
    profiles = _unpacked(record.profiles)
    if record.last_visit_at is not None:
        profiles = observe_unchanged(profiles, record.last_visit_at, max_observations=upkeep.profile_length)
    return pack(
        observe(
            profiles,
            report.at,
            report.measurement.sketch,
            max_profiles=upkeep.max_profiles,
            max_observations=upkeep.profile_length,
            size=upkeep.sketch_size,
        )
    )
