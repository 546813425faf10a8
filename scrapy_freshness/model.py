"""The nouns: pages, visits and what a visit saw.

Times are unix seconds, durations are seconds, rates are per second.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class PageStatus(IntEnum):
    """Where a known page stands."""

    NEW = 0  #: discovered, never fetched
    ACTIVE = 1  #: fetched; revisited by the policy
    GONE = 2  #: answered 404 or 410; looked at again, ever more rarely
    SUSPENDED = 3  #: its callback does not exist any more; waits until the spider yields it again
    MOVED = 4  #: redirects for good to a page of its own; looked at again, ever more rarely


class PageKind(IntEnum):
    """What a page is fetched for."""

    PAGE = 0  #: its own content
    SOURCE = 1  #: the links that it shows
    SITEMAP = 2  #: what it says about other pages; it has no callback
    FEED = 3  #: the same
    UNASKED = 4  #: its own content, which no callback takes: found on a hub of a spider that does not say

    is_polled: bool  #: whether it is fetched for what it says about others, and the spider does not see it

    def __init__(self, number: int) -> None:
        self.is_polled = number in (2, 3)  # no property: it is asked for several times at every visit


def are_polled(kinds: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which of these kinds of pages are polled."""
    polled: NDArray[np.bool_] = (kinds == 2) | (kinds == 3)  # plain numbers are compared five times faster
    return polled


#: In place of a page's request: it is fetched, but the spider does not see it.
UNSEEN = '{"callback":null}'


class SignalSource(IntEnum):
    """Who says that a page may have changed; each is trusted as far as it has told the truth."""

    SITEMAP = 0
    FEED = 1
    PING = 2
    SPARE = 3  #: in artificial webs only: what is stored of signals has room for four sources


class Outcome(IntEnum):
    """How a visit ended."""

    FIRST = 0  #: the first copy of the page
    CHANGED = 1  #: the content differs from the copy
    UNCHANGED = 2  #: the content was fetched and is the same
    NOT_MODIFIED = 3  #: the server answered 304 to the validator of the copy
    GONE = 4  #: 404 or 410
    MOVED = 5  #: a permanent redirect
    FAILED = 6  #: no usable answer: server error, timeout, DNS, too many redirects
    IGNORED = 7  #: never sent: robots.txt, offsite, or dropped by another component

    @property
    def saw_content(self) -> bool:
        """Whether the visit tells if the page changed."""
        return self in _SAW_CONTENT


_SAW_CONTENT = frozenset({Outcome.FIRST, Outcome.CHANGED, Outcome.UNCHANGED, Outcome.NOT_MODIFIED})


@dataclass(slots=True, kw_only=True)
class PageRecord:
    """Everything that is kept about one page; numbers for planning and the details of its next visit."""

    page_id: int
    fingerprint: int  #: 64 bits of the request's fingerprint, as a signed integer
    url: str
    host: str  #: key of the download slot: the host name, or what the spider chose
    request: str | None = None  #: JSON of what the request has beside its URL, None if nothing
    status: PageStatus = PageStatus.NEW
    kind: PageKind = PageKind.PAGE
    priority: int = 0  #: of the request that discovered the page
    importance: float = 1.0  #: requests per second that users make for the page, or any weight
    discovered_at: float = 0.0
    last_visit_at: float | None = None  #: last visit that saw the content
    last_change_at: float | None = None
    not_before: float = 0.0  #: earliest next visit (after failures and for pages gone or moved)
    visits: int = 0
    changes: int = 0
    failures: int = 0  #: visits that failed in a row
    change_rate: float = 0.0
    change_rate_low: float = 0.0  #: 90 % interval of the change rate
    change_rate_high: float = 0.0
    etag: str | None = None
    last_modified: str | None = None
    content_hash: int | None = None  #: of the normalised content of the copy
    body_hash: int | None = None  #: of the bytes of the copy
    http_status: int | None = None  #: of the last answer
    run_callback: bool = False  #: the spider has not (fully) processed the copy; show it the page again
    history: bytes = b""  #: estimation.history
    signalled: bytes = b""  #: estimation.signal_counts: signals that came before each observation
    polls: bytes = b""  #: estimation.polls, of a source
    profiles: bytes = b""  #: content.profiles
    terms: bytes = b""  #: search.packed: what searchers ask for that is on the page
    touched: bytes = b""  #: search.touched: what they noticed of its last change
    links: bytes = b""  #: search.links: pages that it links to, if scores count links
    beliefs: dict[str, float] = field(default_factory=dict)  #: what a policy believes beside the change rate
    found_on: int | None = None  #: page id of the source that showed it first
    in_links: int = 0  #: pages whose first visits led to it
    pinned_seconds: float | None = None  #: between visits, as somebody wishes; no visit changes it


@dataclass(slots=True, frozen=True, kw_only=True)
class PageColumns:
    """The numbers of all pages of a spider, as read at start-up; one element a page."""

    hosts: list[str]
    page_id: NDArray[np.int64]
    fingerprint: NDArray[np.int64]
    host: NDArray[np.int32]  #: index into `hosts`
    status: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    priority: NDArray[np.int32]
    importance: NDArray[np.float32]
    discovered_at: NDArray[np.float64]
    last_visit_at: NDArray[np.float64]  #: nan if never visited
    not_before: NDArray[np.float64]
    failures: NDArray[np.int32]
    change_rate: NDArray[np.float32]
    beliefs: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)  #: by name; nan if not known
    pinned_seconds: NDArray[np.float64] | None = None  #: nan where it is not pinned; None if it nowhere is


@dataclass(slots=True, kw_only=True)
class HostRecord:
    """What is kept about one host (one download slot)."""

    host: str
    blocked_until: float = 0.0  #: back-off after 429, 503 and failures of several URLs in a row
    failures: int = 0  #: back-offs in a row
    audits: int = 0  #: unconditional visits made to check the host's 304 answers
    false_not_modified: int = 0  #: audits that found other content with the validator that was sent


@dataclass(slots=True, kw_only=True)
class VisitRecord:
    """One line of the visit log."""

    page_id: int
    at: float
    outcome: Outcome
    http_status: int | None = None
    divergence: float | None = None  #: from the copy before, 0 to 1
    body_bytes: int = 0
    latency_seconds: float | None = None
    reason: str | None = None  #: why it failed or was stopped, in a few words; None if it did neither
    answers_signals: bool = False  #: signals of the page wait for what a visit finds
    is_barren: bool = False  #: a poll that brought no new page and no signal that was worth anything
    was_pushed: bool = False  #: to us by a hub, so that it took no fetch

    @property
    def is_fruitful(self) -> bool:
        """Whether the visit has taken a fetch that brought something new."""
        is_new = self.outcome in (Outcome.FIRST, Outcome.CHANGED)
        return is_new and not self.is_barren and not self.was_pushed


@dataclass(slots=True, kw_only=True)
class SourceRecord:
    """What is kept about a page that says something about others, beside its record as a page."""

    page_id: int
    url: str
    kind: PageKind
    found: str  #: how: setting, robots, usual, index, page, header
    found_on: str = ""  #: URL of what named it
    is_pinned: bool = False  #: by a setting; never given up
    depth: int = 0  #: sitemap indexes above it
    hosts: tuple[str, ...] = ()  #: beside its own, hosts that have named it and that it may speak for
    format: str = ""  #: what it turned out to be at the last poll
    verdict: str = ""  #: whether its dates can be signals
    entries: int = 0  #: at the last poll
    polls: int = 0
    new_pages: int = 0  #: that its polls have found
    signals: int = 0  #: that its polls have brought, as far as they were heard
    barren: int = 0  #: polls in a row that brought no new page and no signal that was worth anything
    last_poll_at: float | None = None
    last_yield: float = 0.0  #: what the last poll was worth, in prices of a visit
    oddities: dict[str, int] = field(default_factory=dict)  #: at the last poll, by name
    hub: str | None = None  #: takes WebSub subscriptions
    topic: str | None = None  #: the address under which the hub knows it
    seen: bytes | None = None  #: signals.seen, of the last poll; None: as stored


class HubState(IntEnum):
    """Where a hub stands."""

    TRIAL = 0  #: not polled yet
    ACTIVE = 1  #: polled as often as that pays
    RETIRED = 2  #: has shown nothing new for long; looked at once in a while


@dataclass(slots=True, kw_only=True)
class HubRecord:
    """What is kept about a hub, beside its record as a page: where it was found and what polls brought."""

    page_id: int
    url: str
    found: str  #: how: root (main page of a host), link (of a main page), spider (it says so)
    found_on: str = ""  #: URL of the main page that links to it
    evidence: str = ""  #: of its age: history, last-modified, sitemap or feed
    state: HubState = HubState.TRIAL
    is_unseen: bool = False  #: it is fetched for its links only, and the spider does not see it
    polls: int = 0
    shown: int = 0  #: links at the last poll
    new_links: int = 0  #: that its polls have found
    barren: int = 0  #: polls in a row that found none
    since: float = 0.0  #: first poll, or the last that found a new link
    last_poll_at: float | None = None
    rests: int = 0  #: looks in vain since it was retired
    next_look_at: float = 0.0  #: of a retired hub; of a main page, when its links are looked at in any case
    candidates: bytes = b""  #: sources.candidates, of a main page

    @property
    def is_root(self) -> bool:
        """Whether it is the main page of a host."""
        return self.found == "root"


@dataclass(slots=True, frozen=True, kw_only=True)
class LinkSegment:
    """Some of the links that hubs of a host have shown: sources.seen."""

    host: str
    number: int
    packed: bytes


@dataclass(slots=True, frozen=True, kw_only=True)
class SignalRecord:
    """One line of the log of signals: somebody has said that a page may have changed."""

    page_id: int
    source: SignalSource
    told_by: int | None  #: page id of the sitemap or feed, None if it was no page
    heard_at: float
    claimed_at: float | None  #: when the page is said to have changed, at the latest


@dataclass(slots=True, frozen=True, kw_only=True)
class WaitingSignals:
    """Signals that no visit has answered yet; one element a signal."""

    page_id: NDArray[np.int64]
    source: NDArray[np.uint8]


class WishKind(IntEnum):
    """What somebody asks of a crawl."""

    VISIT = 0  #: a visit of a page, now
    PIN = 1  #: visits of a page at a fixed interval, or no longer so
    FORGET = 2  #: to know nothing any more of a page or a host


@dataclass(slots=True, frozen=True, kw_only=True)
class Wish:
    """Something that a person asks of the crawl of a spider; granted once."""

    wish_id: int
    kind: WishKind
    what: str  #: URL of the page, or the host
    page_id: int | None = None  #: None if it is about a host
    fingerprint: int | None = None  #: of the page; None if it is not known (any more)
    seconds: float | None = None  #: of a pin; None: no pin any more
    asked_at: float = 0.0


@dataclass(slots=True, frozen=True, kw_only=True)
class QueryTerms:
    """What searchers ask for; one element a term, ascending by id."""

    term_id: NDArray[np.int64]
    terms: list[str]
    frequency: NDArray[np.float64]  #: how often each was asked for


@dataclass(slots=True, frozen=True, kw_only=True)
class TermMaps:
    """From scores to ranks, as fitted to all pages of a spider; one element a term that has results."""

    scoring: str  #: how results are ranked
    pages: int  #: pages that were read for terms
    fitted_at: float
    term_id: NDArray[np.int64]
    results: NDArray[np.int32]  #: pages that have the term
    knots: NDArray[np.float32]  #: (terms, 4) logarithms of the scores at ranks n^(k/3)


@dataclass(slots=True, kw_only=True)
class CrawlState:
    """What the crawl says about itself at every flush."""

    spider: str
    policy: str
    budget_per_second: float
    started_at: float
    updated_at: float
    price: float  #: the least value that was worth a crawl lately
    delay_seconds: float = 0.0  #: between two requests to a host at least, on average over hosts


@dataclass(slots=True, frozen=True, kw_only=True)
class FreshnessRecord:
    """How fresh the copies were in one minute, as far as their change rates are known."""

    minute: int  #: unix time / 60
    freshness: float  #: expected, mean over the copies by importance
    uniform_freshness: float  #: what visiting all pages in turn would give, with as many visits
    pages: int  #: that had a copy
    price: float  #: the least value that was worth a crawl


@dataclass(slots=True, kw_only=True)
class Subscription:
    """What a hub was asked to send (WebSub), and until when it does."""

    token: str  #: last part of the callback's address; hard to guess
    callback: str  #: the whole address to which the hub sends
    topic: str  #: address of what is subscribed to
    hub: str
    secret: str  #: with which the hub signs what it sends
    found_at: str  #: the page or feed that names the hub
    lease_seconds: float = 0.0  #: how long the hub granted it the last time
    expires_at: float = 0.0  #: end of the lease; 0 until the hub has confirmed it
    next_try_at: float = 0.0  #: before that, the hub is not asked (again)
    failures: int = 0  #: requests to the hub in a row that were not confirmed
    is_asked: bool = False  #: a request is with the hub, which may ask whether it was meant
    is_ending: bool = False  #: it is to be given up
    last_push_at: float = 0.0
    digests: bytes = b""  #: of what was pushed lately, 8 bytes each, latest last
    seen: bytes = b""  #: signals.seen: entries of the feed as it was pushed last


@dataclass(slots=True, kw_only=True)
class ImportProgress:
    """How far a file of clicks, importances or queries has been imported.

    Known by its content, not by its name: by its beginning, and by all bytes that have been read.
    """

    import_id: int | None = None  #: None before it is written for the first time
    kind: str
    name: str  #: of the file, the last time
    format: str
    head_bytes: int  #: length of its beginning
    head_digest: bytes  #: of its beginning
    position: int = 0  #: bytes of whole lines that have been read, decompressed and in UTF-8
    digest: bytes = b""  #: of these bytes
    lines: int = 0  #: among them
    bad: dict[str, int] = field(default_factory=dict)  #: lines that could not be used, by reason
    counts: dict[str, float] = field(default_factory=dict)  #: what else was counted, by name
    is_done: bool = False  #: whether its end was reached
    started_at: float = 0.0
    updated_at: float = 0.0
    saved_position: int = 0  #: the position as it was written last
    alike: int = 0  #: other imports of files that begin so, as far as known when this one began


@dataclass(slots=True, kw_only=True)
class Batch:
    """What one flush writes, in one transaction."""

    pages: list[PageRecord] = field(default_factory=list)
    hosts: list[HostRecord] = field(default_factory=list)
    visits: list[VisitRecord] = field(default_factory=list)
    fetches: dict[tuple[int, str], int] = field(default_factory=dict)  #: (minute, kind of fetch) -> how many
    host_fetches: dict[tuple[str, str], int] = field(
        default_factory=dict
    )  #: (host, kind of fetch) -> how many
    groups: dict[str, bytes] = field(default_factory=dict)  #: name -> what was learned of a group of pages
    subscriptions: dict[str, Subscription | None] = field(default_factory=dict)  #: by token; None if it ended
    sources: list[SourceRecord] = field(default_factory=list)
    signals: list[SignalRecord] = field(default_factory=list)
    shown: list[tuple[int, float]] = field(default_factory=list)  #: page id, when a feed began to show it
    hubs: list[HubRecord] = field(default_factory=list)
    seen_links: list[LinkSegment] = field(default_factory=list)
    wishes: dict[int, tuple[float, str]] = field(default_factory=dict)  #: id -> when granted, and the outcome
    maps: TermMaps | None = None
    freshness: list[FreshnessRecord] = field(default_factory=list)
    links: dict[int, int] = field(default_factory=dict)  #: page id -> further pages that link to it
    state: CrawlState | None = None

    def __bool__(self) -> bool:
        known = self.pages or self.hosts or self.groups or self.sources or self.subscriptions
        counted = self.visits or self.fetches or self.host_fetches or self.freshness or self.links
        told = self.signals or self.shown or self.wishes or self.maps
        return bool(known or counted or told or self.hubs or self.seen_links)
