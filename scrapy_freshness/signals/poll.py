"""One poll of a source against the one before: what is new, what has moved, and do its dates tell anything?

::

    poll = Poll(Seen.unpacked(stored))
    for entries in reading:
        new = poll.add(entries)           # can be used at once
    outcome = poll.end(reading.findings, now)
    outcome.moved                         # signals: entries with a later date than last time
    outcome.seen.packed()                 # to be stored

A date that has moved is a signal: "this page may have changed at that time". Dates that (nearly) all
entries share, or that all move together, say nothing about any one page and are no signals; new entries are
news all the same.
"""

from collections.abc import Sequence
from enum import StrEnum, auto
from typing import NamedTuple

import numpy as np

from scrapy_freshness.signals.contract import Entry, Findings, Kind, Oddity
from scrapy_freshness.signals.seen import Difference, Seconds, Seen, difference, key_of, seconds_of

#: "Nearly all": a sitemap has a few pages with dates of their own even if its program makes the rest up.
_NEARLY_ALL = 0.9
#: Of fewer dated entries nothing can be said.
_FEWEST = 10
#: How long it may take to write a sitemap, if each entry gets the time of its writing.
_JUST_NOW_SECONDS = 3600.0
#: Entries that a feed has shown and that are remembered when it shows them no more.
_FEED_MEMORY = 2000


class Verdict(StrEnum):
    """Whether the dates of a source can be signals, and why not."""

    USABLE = auto()
    NO_DATES = auto()
    FUTURE = auto()  #: at least half of them are more than a day ahead
    SAME = auto()  #: (nearly) all are the same; only the others can be signals
    EARLY = auto()  #: (nearly) all are of the last hour, at the first poll: what they do next will tell
    NOW = auto()  #: (nearly) all are the time of the poll
    TOGETHER = auto()  #: (nearly) all moved since the last poll


class Outcome(NamedTuple):
    """What came of a poll."""

    moved: list[Entry]  #: signals: entries whose dates moved, as far as the verdict lets them be signals
    vanished: int  #: entries that are not named any more
    verdict: Verdict
    seen: Seen  #: for the next poll


class Poll:
    """Compares entries with those of the last poll, as they are read."""

    def __init__(self, before: Seen) -> None:
        self._before = before
        self._seconds: dict[int, int] = {}
        self._moved: dict[int, Entry] = {}

    def add(self, entries: Sequence[Entry]) -> list[Entry]:
        """Take the next entries and return those that were neither in the last poll nor yet in this one."""
        keys = [key_of(entry) for entry in entries]
        was = self._before.seconds_at(np.array(keys, np.uint64)).tolist()
        new = []
        for entry, key, before in zip(entries, keys, was, strict=True):
            seconds = seconds_of(entry)
            known = self._seconds.get(key)
            if known is None and before < 0:
                new.append(entry)
            if known is None or seconds > known:
                self._seconds[key] = seconds
                if 0 < before < seconds:
                    self._moved[key] = entry
        return new

    def end(self, findings: Findings, now: float) -> Outcome:
        """Judge the dates, now that all entries are read."""
        seen = Seen.of(self._seconds)
        differs = difference(self._before, seen)
        common = _common_date(seen.seconds)
        verdict = _verdict(seen.seconds, common, differs, findings, now)
        if verdict is Verdict.NOW and not len(self._before):
            verdict = Verdict.EARLY
        moved: list[Entry] = []
        if verdict in (Verdict.USABLE, Verdict.SAME):
            moved = [entry for key, entry in self._moved.items() if self._seconds[key] != common]
        if findings.kind in (Kind.FEED, Kind.JSON_FEED):
            seen = seen.keeping(self._before, _FEED_MEMORY)
        elif not findings.is_complete:
            seen = seen.keeping(self._before, len(self._before) + len(seen))
        return Outcome(moved, len(differs.vanished), verdict, seen)


def _common_date(seconds: Seconds) -> int | None:
    """The date that (nearly) all dated entries have, None if there is none or they are few."""
    dated = seconds[seconds > 0]
    if len(dated) < _FEWEST:
        return None
    # What so many share is in the middle, whatever the others are.
    middle = int(np.partition(dated, len(dated) // 2)[len(dated) // 2])
    return middle if np.count_nonzero(dated == middle) >= _NEARLY_ALL * len(dated) else None


def _verdict(
    seconds: Seconds, common: int | None, differs: Difference, findings: Findings, now: float
) -> Verdict:
    dated = seconds[seconds > 0]
    n_future = findings.oddities[Oddity.FUTURE_DATE]
    if n_future and n_future >= len(dated):
        return Verdict.FUTURE
    if not len(dated):
        return Verdict.NO_DATES
    if common is not None:
        return Verdict.SAME
    n_both = len(differs.moved) + differs.stayed
    if n_both >= _FEWEST:
        return Verdict.TOGETHER if len(differs.moved) >= _NEARLY_ALL * n_both else Verdict.USABLE
    # A busy feed shows the entries of the last hour; a sitemap is to name all pages.
    is_sitemap = findings.kind not in (Kind.FEED, Kind.JSON_FEED)
    n_now = np.count_nonzero(dated > now - _JUST_NOW_SECONDS)
    if is_sitemap and len(dated) >= _FEWEST and n_now >= _NEARLY_ALL * len(dated):
        return Verdict.NOW
    return Verdict.USABLE
