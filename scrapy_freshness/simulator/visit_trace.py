"""The visits of a page by our own crawl as recorded versions.

The log of visits tells when a page was seen to have changed, come or gone, and how far it had moved, but not
its text. So the text of a version is made up: numbered words, of which as many are replaced by others at
each change as it takes to diverge by what the visit measured. They are always the last ones, as on a page
that has a part that churns. Freshness, ages and the divergence of successive versions are those of the
crawl; that a page returned to an earlier text cannot be told.
"""

from collections.abc import Iterable, Iterator

from scrapy_freshness.model import Outcome, VisitRecord
from scrapy_freshness.simulator.trace import Kind, Version

#: Words in a fragment for which the divergence of made-up texts is right.
SHINGLE_WORDS = 5
#: Fragments of a made-up text; divergences are right within 1 / this number.
N_FRAGMENTS = 200

Lines = tuple[str, ...]


def visit_versions(page: str, url: str | None, visits: Iterable[VisitRecord]) -> Iterator[Version]:
    """The versions that visits of one page, in the order of time, have seen.

    Visits that found nothing else than the one before make no version, nor do those that failed.
    If the log does not reach back to the first visit, the page was there before the record begins.

    >>> visits = [VisitRecord(page_id=1, at=10.0 * n, outcome=outcome) for n, outcome in enumerate(
    ...     [Outcome.FIRST, Outcome.UNCHANGED, Outcome.CHANGED, Outcome.FAILED, Outcome.GONE])]
    >>> [(version.at, version.kind.value) for version in visit_versions("a:1", None, visits)]
    [(0.0, 'first'), (20.0, 'change'), (40.0, 'gone')]
    """
    words: Lines = ()
    is_there = False
    at = float("-inf")
    for number, visit in enumerate(visits):
        is_other = visit.outcome in (Outcome.FIRST, Outcome.CHANGED)
        if visit.outcome.saw_content and (is_other or not is_there):
            carry = not words and visit.outcome is not Outcome.FIRST
            if is_other or not words:
                words = _changed(words, visit.divergence, number)
            kind, lines = (Kind.CHANGE if is_there else Kind.FIRST), words
        elif visit.outcome in (Outcome.GONE, Outcome.MOVED) and is_there:
            kind, lines, carry = Kind.GONE, None, False
        else:
            continue
        is_there = lines is not None
        at = max(at, round(visit.at, 3))
        yield Version(page=page, url=url, at=at, kind=kind, lines=lines, carry=carry)


def _changed(words: Lines, divergence: float | None, number: int) -> Lines:
    """A text that diverges from another by so much; wholly, if that is not known."""
    share = 1.0 if divergence is None or not words else min(max(divergence, 0.0), 1.0)
    # Of n fragments r are replaced: 1 - (n - r)/(n + r) is the divergence.
    replaced = max(round(N_FRAGMENTS * share / (2.0 - share)), 1)
    length = N_FRAGMENTS + SHINGLE_WORDS - 1
    kept = length - replaced if words else 0
    return (*words[:kept], *(f"v{number}w{place}" for place in range(kept, length)))
