"""Has the page changed?  What a visit saw, next to the copy."""

from scrapy_freshness.content.profiles import Profile, unpack
from scrapy_freshness.content.sketch import divergence
from scrapy_freshness.model import Outcome, PageRecord
from scrapy_freshness.planning.visits import Content, Report


def compared(
    record: PageRecord, measurement: Content, *, min_divergence: float, size: int
) -> tuple[bool, float | None]:
    """Return whether content is another than that of the page's copy, and its divergence if known."""
    if record.content_hash is None:
        return True, None
    if record.content_hash == measurement.content_hash:
        return False, 0.0
    moved_by = _divergence_from_copy(record, measurement, size)
    return moved_by is None or moved_by >= min_divergence, moved_by


def content_outcome(record: PageRecord, *, changed: bool) -> Outcome:
    """Return the outcome of a visit that saw the page's content."""
    if record.last_visit_at is None:
        return Outcome.FIRST
    return Outcome.CHANGED if changed else Outcome.UNCHANGED


def was_honest(record: PageRecord, report: Report, *, changed: bool) -> bool | None:
    """Return whether a 304 told the truth, by the full answer that followed; None if that does not tell.

    Content that differs convicts the host only if it comes with the very validator that was sent: with
    another, the page may have changed between the two answers.
    """
    if not changed:
        return True
    if record.etag:
        return False if report.etag == record.etag else None
    return False if report.last_modified == record.last_modified else None


def _divergence_from_copy(record: PageRecord, measurement: Content, size: int) -> float | None:
    sketch = measurement.sketch
    if sketch is None:
        return None
    for profile in reversed(readable_profiles(record.profiles)):
        if profile.divergence.size == 0 or profile.divergence[-1] == 0:  # its base is the copy
            return divergence(profile.sketch, sketch, min(size, profile.size))
    return None


def readable_profiles(profiles: bytes) -> tuple[Profile, ...]:
    """Profiles of a page; none if they cannot be read, which is no reason to stop a crawl."""
    try:
        return unpack(profiles)
    except ValueError:
        return ()
