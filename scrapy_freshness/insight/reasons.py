"""Why a page is visited when it is, in sentences."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from scrapy_freshness.config import setting_name
from scrapy_freshness.insight.human import (
    count,
    duration,
    every,
    moment,
    number,
    rate,
    relative,
    share,
    span,
)

DAY_SECONDS = 86400.0

#: An estimate whose interval is this wide (high / low) is called rough.
_ROUGH = 8.0
#: Paces at which siblings have changed about as often as expected.
_AS_EXPECTED = 0.8, 1.25


@dataclass(frozen=True, kw_only=True)
class MoreOften:
    """What it would take to visit a page more often."""

    interval_seconds: float
    budget_per_second: float


@dataclass(frozen=True, kw_only=True)
class Case:
    """All that decides when a page is visited."""

    url: str
    spider: str
    is_running: bool  #: whether the spider crawls now
    status: str
    http_status: int | None
    policy: str
    budget_per_second: float
    price: float
    budget_price: float  #: what it would be if no host held its pages up
    min_interval_seconds: float
    importance: float
    is_compared: bool  #: whether two versions of the page have been compared
    change_rate: float
    change_rate_low: float
    change_rate_high: float
    visits: int
    changes: int
    failures: int  #: visits that failed in a row
    last_attempt_at: float | None  #: the last line of the log, if it is still there
    last_outcome: str | None
    last_reason: str | None  #: why the last attempt failed or was stopped, if it did
    last_visit_at: float | None
    not_before: float
    freshness: float
    pace: float  #: how fast time has passed for its copy, by what visits to siblings found
    value: float  #: nan if the page waits for something else than its value
    highest_value: float  #: of a visit, however old the copy
    rank: int | None
    ranked_pages: int
    interval_seconds: float  #: between visits in the long run; inf if there are none at this price
    next_visit_at: float
    host: str
    host_blocked_until: float
    host_failures: int
    host_rivals: int  #: pages of its host that are worth more now
    delay_seconds: float  #: between two requests to a host at least
    is_held_up: bool  #: fewer fetches are made than the budget allows: pages wait for their hosts
    host_audits: int
    host_false_not_modified: int
    host_is_honest: bool
    hub_sentences: list[str]  #: about the page as a hub; none if it is no hub
    is_source: bool  #: whether it is fetched for its links
    pinned_seconds: float | None  #: interval that somebody has pinned
    more_often: MoreOften | None

    @property
    def is_ever_visited(self) -> bool:
        """Whether the page is ever worth a second visit at the present price."""
        return self.interval_seconds < math.inf

    @property
    def is_outbid(self) -> bool:
        """Whether it waits for its first copy while visits of other pages are worth more."""
        return self.status == "new" and self.value < self.price

    @property
    def was_never_sent(self) -> bool:
        """Whether every attempt to visit the page has ended before a request was sent."""
        return self.status == "new" and self.visits == 0 and self.failures > 0

    @property
    def is_failing(self) -> bool:
        """Whether the last attempts to visit the page have failed, or were stopped."""
        return self.failures > 0 and self.status in ("new", "active")


def answer(case: Case, now: float) -> str:
    """Why it is not visited right now, in a few words: what comes first of all that it waits for."""
    if not case.is_running:
        return "It is not visited: the crawl is not running."
    if case.status == "suspended":
        return "It is not visited: the spider has no callback for it any more."
    if case.was_never_sent:
        return f"It could not be visited: every request for it was stopped before it was sent{_why(case)}."
    if max(case.next_visit_at, now) <= case.host_blocked_until:
        ends = relative(case.host_blocked_until, now)
        return f"It waits for its host, which is in back-off; that ends {ends}."
    if case.status in ("gone", "moved"):
        what = "is gone" if case.status == "gone" else "redirects for good"
        return f"It {what}; the next look is expected {relative(case.next_visit_at, now)}."
    if case.failures and max(case.next_visit_at, now) <= case.not_before:
        after = count(case.failures, "failure")
        return f"It waits after {after}{_why(case)}; the next attempt is {relative(case.not_before, now)}."
    if case.status == "active" and not case.is_ever_visited and not case.is_held_up:
        return "It is not visited: at this budget, no visit pays."
    if math.inf > case.next_visit_at > now and case.is_held_up and case.value >= case.budget_price:
        expected = relative(case.next_visit_at, now)
        return (
            f"It waits for its host, {_what_host_does(case)}; the next {_what(case)} is expected {expected}."
        )
    if math.inf > case.next_visit_at > now:
        return f"It is not due yet; the next {_what(case)} is expected {relative(case.next_visit_at, now)}."
    due = "It waits" if case.is_outbid or not case.is_ever_visited else "It is due, and waits"
    if case.is_held_up:
        return f"{due} for its host, {_what_host_does(case)}."
    if case.rank is not None and case.rank > 1:
        return f"{due} for its turn: {count(case.rank - 1, 'other page')} first."
    return f"{due} for its turn, which is next."


def _what_host_does(case: Case) -> str:
    """What keeps a host from taking the page at once, though the budget would allow it."""
    if case.delay_seconds > 0:
        often = f"once every {duration(case.delay_seconds)}"
        return f"which is asked only {often} (DOWNLOAD_DELAY); {_rivals(case)}"
    return f"which answers slowly or takes no more requests at once; {_rivals(case)}"


def _rivals(case: Case) -> str:
    if case.host_rivals == 0:
        return "none of its other pages is worth more"
    if case.host_rivals == 1:
        return "one of its pages is worth more"
    return f"{case.host_rivals:,} of its pages are worth more"


def sentences(case: Case, now: float) -> list[str]:
    """The case of a page in words."""
    return [
        *_standing(case),
        *case.hub_sentences,
        *_beliefs(case, now),
        *_pin(case),
        *_worth(case),
        *_obstacles(case, now),
        *_next_visit(case, now),
        *_remedy(case),
    ]


def _standing(case: Case) -> Iterator[str]:
    # What a page redirects to may have been seen: its status is not that of the page.
    is_own = case.status != "moved" or 300 <= (case.http_status or 0) < 400
    answer = f" (HTTP {case.http_status})" if case.http_status and is_own else ""
    if case.status == "new":
        yield "It has never been fetched."
    elif case.status == "gone":
        yield (
            f"It is gone{answer}: it is looked at again after a while, twice as late each time "
            "that it is still gone."
        )
    elif case.status == "suspended":
        yield "Its callback is no method of the spider any more: it waits until the spider yields it again."
    elif case.status == "moved":
        yield (
            f"It redirects for good{answer} to a page of its own: it is looked at again after a while, twice "
            "as late each time that it still does."
        )


def _beliefs(case: Case, now: float) -> Iterator[str]:
    if case.status != "active":
        return
    if not case.is_compared:
        yield (
            "How often it changes is not known before its second visit; "
            f"{every(case.change_rate)} is assumed."
        )
    else:
        low = 1 / max(case.change_rate_high, case.change_rate)
        high = 1 / min(case.change_rate_low, case.change_rate)  # signals may say so
        rough = ", still a rough guess" if high / low > _ROUGH else ""
        yield (
            f"It changes about {every(case.change_rate)} (90 % interval: {span(low, high)}{rough}), "
            f"judging by {count(case.changes, 'change')} found in {count(case.visits, 'visit')}."
        )
    yield (
        f"It was last visited {relative(case.last_visit_at, now)}; the copy is still current with a "
        f"probability of {share(case.freshness)}."
    )
    slowest, fastest = _AS_EXPECTED
    if case.last_visit_at is not None and not case.is_source and not slowest <= case.pace <= fastest:
        than_expected = "more" if case.pace > 1 else "less"
        age = duration(case.pace * max(now - case.last_visit_at, 0.0))
        yield (
            f"Other pages of its host have changed {than_expected} than expected since: its copy counts as "
            f"{age} old."
        )


def _pin(case: Case) -> Iterator[str]:
    if case.pinned_seconds is not None:
        yield (
            f"Its interval is pinned to {duration(case.pinned_seconds)}: it is visited as often, before all "
            "others and whatever a visit is worth. `scrapy freshness pin URL --off` lets it loose."
        )


def _worth(case: Case) -> Iterator[str]:
    if case.rank is None or case.pinned_seconds is not None or case.was_never_sent:
        return
    missing = "not enough yet" if case.is_ever_visited else "not enough"
    place = " on its host" if case.is_held_up else ""
    enough = "enough" if case.value >= case.price else missing
    yield (
        f"A visit now is worth {number(case.value)}, and the price of a visit{place} is "
        f"{number(case.price)}: {enough}."
    )
    if case.is_held_up:
        yield f"Its host takes fewer visits than the budget allows; {_rivals(case)}."
        return
    ahead = "No page is" if case.rank == 1 else f"{case.rank - 1:,} of {case.ranked_pages:,} pages are"
    yield f"{ahead} worth more."


def _obstacles(case: Case, now: float) -> Iterator[str]:
    if case.is_failing:
        yield _failed(case, now)
    if case.host_blocked_until > now:
        yield (
            f"Its host {case.host} is in back-off after {count(case.host_failures, 'refusal')} in a row, "
            f"which ends {_when(case.host_blocked_until, now)}."
        )
    if not case.host_is_honest:
        yield (
            f"The host's answers “not modified” are not believed: {case.host_false_not_modified:,} of "
            f"{case.host_audits:,} that were checked were false. The page is nearly always fetched in full."
        )


def _failed(case: Case, now: float) -> str:
    later = f"; the next may begin {_when(case.not_before, now)}" if case.not_before > now else ""
    if case.was_never_sent and case.last_reason:
        return f"Every request was stopped before it was sent: {case.last_reason}{later}."
    if case.was_never_sent:
        return (
            f"It was tried {count(case.failures, 'time')}, but the request was never sent: robots.txt "
            f"forbids it, it is outside of `allowed_domains`, or another component has dropped it{later}."
        )
    failed = (
        f"The last {count(case.failures, 'attempt')} failed"
        if case.failures > 1
        else "The last attempt failed"
    )
    if case.last_reason:
        return f"{failed}{_why(case)}{later}."
    answer = f", the last with HTTP {case.http_status}" if case.http_status and case.failures > 1 else ""
    return f"{failed}{answer}{later}."


def _why(case: Case) -> str:
    return f": {case.last_reason}" if case.is_failing and case.last_reason else ""


def _what(case: Case) -> str:
    return "attempt" if case.is_failing else "visit"


def _next_visit(case: Case, now: float) -> Iterator[str]:
    if case.status == "suspended":
        return
    if case.status == "active" and not case.is_ever_visited and case.is_held_up:
        yield (
            f"It changes so often that a visit is worth at most {number(case.highest_value)}, however old "
            "the copy: it is visited when its host has room and nothing better."
        )
    elif case.status == "active" and not case.is_ever_visited and case.is_source:
        yield (
            f"At this price it is never polled: a poll is worth at most {number(case.highest_value)}, "
            "however long ago the last one was."
        )
    elif case.status == "active" and not case.is_ever_visited:
        yield (
            "At this price it is never visited: it changes so often that a visit is worth at most "
            f"{number(case.highest_value)}, however old the copy."
        )
    elif case.next_visit_at > now:
        yield f"The next {_what(case)} is expected {_when(case.next_visit_at, now)}{_rhythm(case)}."
    elif case.is_outbid:
        is_next = "The next attempt is made" if case.is_failing else "It is visited"
        yield f"{is_next} as soon as other visits are not worth more."
    elif case.is_running:
        room = "its host has" if case.is_held_up else "the budget and its host have"
        is_due = "The next attempt is due, and made" if case.is_failing else "It is due, and visited"
        yield f"{is_due} as soon as {room} room{_rhythm(case)}."
    else:
        yield f"{'The next attempt' if case.is_failing else 'It'} is due{_rhythm(case)}."
    if not case.is_running:
        yield f"But the spider {case.spider} is not running: nothing is visited until it is."


def _rhythm(case: Case) -> str:
    if case.status != "active" or case.is_failing or not case.is_ever_visited:
        return ""
    return f"; in the long run it is visited every {duration(case.interval_seconds)}"


def _remedy(case: Case) -> Iterator[str]:
    if case.more_often is not None:
        yield (
            f"It would be visited every {duration(case.more_often.interval_seconds)} at a budget of about "
            f"{rate(case.more_often.budget_per_second)} instead of {rate(case.budget_per_second)}."
        )
    elif case.status == "active" and case.interval_seconds <= 2 * case.min_interval_seconds:
        name = setting_name("min_interval_seconds")
        yield f"{name} allows at most one visit every {duration(case.min_interval_seconds)}."


def _when(time: float, now: float) -> str:
    return f"{relative(time, now)} ({moment(time)})"
