"""Do sitemaps, feeds and pings tell the truth?  By what visits found after their signals, with its doubt."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scrapy_freshness.insight.learned_signals import share_interval
from scrapy_freshness.model import PageKind, PageStatus, SignalSource
from scrapy_freshness.planning.signal_trust import Share, SourceTrust
from scrapy_freshness.storage.signal_reports import SignalCounts, SourceReport

#: Signals that must have been checked by a visit before a source is judged.
_ENOUGH = 10
#: With a wider interval, the share of true signals is not known yet.
_TOO_WIDE = 0.5
#: A source mostly tells the truth, or mostly not.
_HALF = 0.5
#: The same for what was learned, which is less exact than its interval says: pages change by themselves, too.
_LEARNED_HALF = 0.4

#: What the judgements are called.
JUDGEMENTS = {
    "true": "mostly true",
    "mixed": "partly true",
    "false": "mostly false",
    "early": "too early to tell",
}
#: Verdicts on dates that say nothing about any one page, and in how many polls they must have been seen.
_BAD_DATES = {"future": 1, "same": 2, "now": 2, "together": 2}
_SOURCE_OF = {PageKind.SITEMAP: SignalSource.SITEMAP, PageKind.FEED: SignalSource.FEED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How true the signals of one kind of source on one host were."""

    host: str
    source: SignalSource
    heard: int
    answered: int
    confirmed: int
    found: Share | None  #: share of the answered ones whose page had changed, as counted
    precision: Share | None  #: of the signals that announce a change, beyond those that pages make anyway
    recall: Share | None

    @classmethod
    def of(
        cls, key: tuple[str, SignalSource], counts: SignalCounts | None, trust: SourceTrust | None
    ) -> "Quality":
        """What was counted and what was learned, put together."""
        answered, confirmed = (counts.answered, counts.confirmed) if counts else (0, 0)
        low, high = share_interval(confirmed, answered)
        is_known = low is not None and high is not None
        return cls(
            host=key[0],
            source=key[1],
            heard=counts.heard if counts else (trust.signals if trust else 0),
            answered=answered,
            confirmed=confirmed,
            found=Share(value=confirmed / answered, low=low or 0.0, high=high or 0.0) if is_known else None,
            precision=trust.precision if trust else None,
            recall=trust.recall if trust else None,
        )

    @property
    def judgement(self) -> str:
        """One of `JUDGEMENTS`."""
        measured = [each for each in (self.precision, self.found) if each is not None]
        if self.answered < _ENOUGH or not measured:
            return "early"
        # Pages that change often have changed after false signals, too: what was learned allows for that.
        if self.precision is not None and self.precision.high < _LEARNED_HALF:
            return "false"
        if self.found is not None and self.found.high < _HALF:
            return "false"
        if measured[0].high - measured[0].low > _TOO_WIDE:
            return "early"
        return "true" if measured[0].low >= _HALF else "mixed"

    @property
    def is_lying(self) -> bool:
        """Whether its dates are mostly false; a feed dates its entries, not the pages that they are on."""
        return self.judgement == "false" and self.source is not SignalSource.FEED

    @property
    def changes_by_itself(self) -> bool:
        """Whether more pages had changed than its signals announce, as far as both are known."""
        return (
            self.found is not None and self.precision is not None and self.found.value > self.precision.high
        )

    @property
    def is_useless(self) -> bool:
        """Whether it is a feed, and its news are hardly ever on the pages that it was taken to be about."""
        return self.judgement == "false" and self.source is SignalSource.FEED


def dates_of(source: SourceReport, qualities: Mapping[tuple[str, SignalSource], Quality]) -> str:
    """What the dates of a sitemap or feed are worth: a verdict of its polls, or one of `JUDGEMENTS`."""
    if source.verdict in _BAD_DATES:
        return source.verdict if source.polls >= _BAD_DATES[source.verdict] else "early"
    if source.verdict != "usable" or not source.signals:
        return source.verdict
    of_kind = _SOURCE_OF.get(source.kind)
    known = qualities.get((source.host, of_kind)) if of_kind is not None else None
    return known.judgement if known else "early"


def say_nothing(dates: str) -> bool:
    """Whether dates are known to be such as say nothing about any one page, by the polls alone."""
    return dates in _BAD_DATES


def honest(qualities: Iterable[Quality], sources: Iterable[tuple[SourceReport, str]]) -> list[str]:
    """Who mostly tells the truth: addresses of sources with such dates, and kinds of sources without any."""
    named = [(each.host, each.url) for each, dates in sources if dates == "true"]
    hosts = {host for host, _ in named}
    others = [
        f"{each.host}, {each.source.name.lower()}"
        for each in qualities
        if each.judgement == "true" and each.host not in hosts
    ]
    return [*(url for _, url in named), *others]


def is_missing(source: SourceReport) -> bool:
    """Whether a source was only looked for, and is not there."""
    return source.found == "usual" and source.polls == 0 and source.status is PageStatus.GONE
