"""A small living web, crawled for a day by the real planner on a manual clock, as a crawl would store it."""

from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.config import Config
from scrapy_freshness.model import (
    Batch,
    CrawlState,
    FreshnessRecord,
    HubRecord,
    HubState,
    Outcome,
    PageKind,
    PageRecord,
    SignalRecord,
    SignalSource,
    SourceRecord,
)
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_of
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_of
from scrapy_freshness.planning.visits import Report
from scrapy_freshness.storage.store import Store

HOUR = 3600.0
NOW = 1_800_000_030.0
SPIDER = "news"
BUDGET = 0.05
#: A hub that is not polled any more.
RETIRED = "https://wiki.example/items/2"
#: What a browser could run, a template could take for markup, and a terminal could obey.
HOSTILE = (
    'http://evil.example/"><script>window.hacked=1</script><img src=x onerror=window.hacked=1>{{7*7}}\x1b[2J'
)
HOSTILE_SCHEME = "javascript:window.hacked=1//"

#: Host: pages, hours between changes of the fastest and the slowest, fragments that a change replaces.
_HOSTS = {
    "news.example": (40, 0.7, 30.0, 20),
    "shop.example": (60, 10.0, 90.0, 4),
    "wiki.example": (60, 40.0, 900.0, 2),
    "blog.example": (20, 6.0, 60.0, 30),
    "static.example": (40, 2000.0, 9000.0, 5),
}
_HONEST, _LIAR = "news.example", "shop.example"


@dataclass
class Content:
    """What a visit measures: the smallest of the hashes of 160 fragments."""

    fragments: NDArray[np.uint32]

    @property
    def sketch(self) -> NDArray[np.uint32]:
        return np.unique(self.fragments)[:64]

    @property
    def content_hash(self) -> int:
        return int(self.fragments.astype(np.int64).sum())


class Web:
    """Pages that change by themselves."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.every: dict[str, float] = {}
        self.replaced: dict[str, int] = {}
        self._fragments: dict[str, NDArray[np.uint32]] = {}
        self._changed_at: dict[str, float] = {}
        for host, (count, fastest, slowest, replaced) in _HOSTS.items():
            for number in range(count):
                url = f"https://{host}/{'stories' if number % 2 else 'items'}/{number}"
                self.every[url] = HOUR * fastest * (slowest / fastest) ** rng.random()
                self.replaced[url] = replaced

    def look(self, url: str, now: float) -> tuple[Content, int]:
        """What is there now, and how often it has changed since the last look."""
        if url not in self._fragments:
            self._fragments[url] = self._rng.integers(0, 2**32, 160, np.uint32)
            self._changed_at[url] = now
            return Content(self._fragments[url].copy()), 0
        changes = int(self._rng.poisson((now - self._changed_at[url]) / self.every.get(url, 40 * HOUR)))
        self._changed_at[url] = now
        for _ in range(min(changes, 8)):
            new = self._rng.integers(0, 2**32, self.replaced.get(url, 3), np.uint32)
            self._fragments[url] = np.concatenate([self._fragments[url][len(new) :], new])
        return Content(self._fragments[url].copy()), changes


def fill(database_url: str, *, hours: float = 24.0, hostile: bool = True) -> None:
    """Let the planner crawl, and store what it learned."""
    rng = np.random.default_rng(7)
    config = Config(budget_per_second=BUDGET, min_interval_seconds=60.0)
    policy = policy_of(config)
    hosts = Hosts(config.backoff_seconds, config.backoff_max_seconds)
    planner = Planner(policy, hosts, learner_of(policy, config), crawls_per_second=BUDGET, min_interval=60.0)
    web, start = Web(rng), NOW - hours * HOUR
    records: dict[int, PageRecord] = {}

    def found(url: str, at: float, **fields: object) -> PageRecord:
        host = url.split("/")[2] if "//" in url and not url.startswith("java") else "evil.example"
        page = PageRecord(page_id=0, fingerprint=hash_of(url), url=url, host=host, **fields)
        record = planner.discover(page, at)
        records[record.page_id] = record
        return record

    with Store.open(database_url) as store:
        planner.expect_pages(len(web.every))
        planner.start(start)
        for url in web.every:
            found(url, start, importance=float(np.round(rng.lognormal(), 2)))
        if hostile:
            found(HOSTILE, start)
            found(HOSTILE_SCHEME, start)
        hub = found("https://news.example/latest", start, kind=PageKind.SOURCE)
        batch = Batch()
        waiting: set[int] = set()
        rows = {page_id: row for row, page_id in enumerate(records)}
        for tick in range(int(hours * HOUR * BUDGET)):
            now = start + tick / BUDGET
            planner.settle(now)
            _take(planner, batch, records, waiting)
            wanted = planner.wanted(now)
            planner.supply(wanted, [records[page_id] for page_id in wanted])
            visit = planner.begin_visit(now, lambda host, at: at)
            if visit is not None:
                planner.end_visit(visit, _report(web, visit.record, now, rng))
                kind = "hub" if visit.record.kind is PageKind.SOURCE else "page"
                key = int(now // 60), kind
                batch.fetches[key] = batch.fetches.get(key, 0) + 1
                taken = visit.record.host, kind
                batch.host_fetches[taken] = batch.host_fetches.get(taken, 0) + 1
            if tick % 3 == 0:
                _signal(planner, web, batch, list(records.values()), rows, waiting, now, rng)
                batch.fetches[int(now // 60), "poll"] = 1
            # A crawl does so every minute; before the last hour, some points of a chart are enough.
            is_asked = tick % (3 if now > NOW - HOUR else 15) == 0
            if is_asked and (assessed := planner.assessment(now)()) is not None:
                batch.freshness.append(
                    FreshnessRecord(
                        minute=int(now // 60),
                        freshness=assessed.freshness,
                        uniform_freshness=assessed.uniform_freshness,
                        pages=assessed.pages,
                        price=planner.price,
                    )
                )
        planner.settle(NOW)
        _take(planner, batch, records, waiting)
        for number in range(6):
            found(f"https://blog.example/new/{number}", NOW - 60)
        _take(planner, batch, records, waiting)
        batch.groups = dict(planner.take_groups())
        batch.hosts = [replace(hosts.record("wiki.example"), audits=40, false_not_modified=6)]
        hosts.record("blog.example")
        batch.hosts.append(replace(hosts.record("blog.example"), blocked_until=NOW + 500, failures=3))
        batch.sources = _sources(planner, records, hub)
        batch.pages += [records[source.page_id] for source in batch.sources]
        retired = next(page for page in records.values() if page.url == RETIRED)
        batch.hubs = [hub_of(records[hub.page_id], HubState.ACTIVE, 31), hub_of(retired, HubState.RETIRED, 2)]
        batch.state = CrawlState(
            spider=SPIDER,
            policy=policy.name,
            budget_per_second=BUDGET,
            started_at=start,
            updated_at=NOW - 1,
            price=planner.price,
        )
        store.save(SPIDER, batch)


def hub_of(page: PageRecord, state: HubState, new_links: int) -> HubRecord:
    """What is kept about a hub."""
    return HubRecord(
        page_id=page.page_id,
        url=page.url,
        found="link",
        state=state,
        polls=12,
        new_links=new_links,
        last_poll_at=page.last_visit_at,
    )


def hash_of(url: str) -> int:
    """A fingerprint."""
    return int.from_bytes(sha256(url.encode()).digest()[:8], "big", signed=True)


def _take(planner: Planner, batch: Batch, records: dict[int, PageRecord], waiting: set[int]) -> None:
    pages, visits = planner.take_updates()
    for visit in visits:
        visit.answers_signals = visit.outcome.saw_content and visit.page_id in waiting
        if visit.answers_signals:
            waiting.discard(visit.page_id)
    records |= {page.page_id: page for page in pages}
    batch.pages += pages
    batch.visits += visits


def _report(web: Web, page: PageRecord, now: float, rng: np.random.Generator) -> Report:
    if page.url.endswith("/13") or rng.random() < 0.01:
        return Report(outcome=Outcome.FAILED, at=now, http_status=503, latency_seconds=2.0)
    if page.url == "https://static.example/stories/7":
        return Report(outcome=Outcome.GONE, at=now, http_status=404, latency_seconds=0.1)
    content, changes = web.look(page.url, now)
    if page.last_visit_at is None:
        outcome, divergence = Outcome.FIRST, None
    elif changes:
        outcome, divergence = Outcome.CHANGED, min(0.02 * web.replaced.get(page.url, 3) * changes, 0.9)
    else:
        outcome, divergence = (Outcome.NOT_MODIFIED if rng.random() < 0.4 else Outcome.UNCHANGED), None
    return Report(
        outcome=outcome,
        at=now,
        http_status=304 if outcome is Outcome.NOT_MODIFIED else 200,
        measurement=content if outcome is not Outcome.NOT_MODIFIED else None,
        divergence=divergence,
        body_bytes=int(rng.integers(8_000, 90_000)),
        latency_seconds=float(rng.gamma(2.0, 0.1)),
        new_links=int(rng.poisson(2)) if page.kind is PageKind.SOURCE else 0,
    )


def _signal(
    planner: Planner,
    web: Web,
    batch: Batch,
    pages: list[PageRecord],
    rows: dict[int, int],
    waiting: set[int],
    now: float,
    rng: np.random.Generator,
) -> None:
    """A feed that tells most changes of one host, and a sitemap that names pages of another at random."""
    for page in pages:
        if page.last_visit_at is None or page.url not in web.every or page.page_id not in rows:
            continue
        if page.host == _HONEST:
            chance, source = 60.0 / web.every[page.url] * 0.8, SignalSource.FEED
        elif page.host == _LIAR:
            chance, source = 0.004, SignalSource.SITEMAP
        else:
            continue
        if rng.random() < chance:
            planner.news.signal(np.array([rows[page.page_id]]), now, source)
            waiting.add(page.page_id)
            batch.signals.append(
                SignalRecord(
                    page_id=page.page_id, source=source, told_by=None, heard_at=now, claimed_at=now - 30
                )
            )


def _sources(planner: Planner, records: dict[int, PageRecord], hub: PageRecord) -> list[SourceRecord]:
    made = []
    for url, kind, verdict, entries, signals in (
        ("https://news.example/feed.xml", PageKind.FEED, "usable", 40, 120),
        ("https://shop.example/sitemap.xml", PageKind.SITEMAP, "same", 60, 90),
    ):
        page = PageRecord(page_id=0, fingerprint=hash_of(url), url=url, host=url.split("/")[2], kind=kind)
        record = planner.discover(page, NOW - HOUR)
        records[record.page_id] = record
        made.append(source_of(record.page_id, url, kind, verdict, entries, signals))
    return made


def source_of(
    page_id: int, url: str, kind: PageKind, verdict: str, entries: int, signals: int
) -> SourceRecord:
    """What is kept about a sitemap or a feed."""
    return SourceRecord(
        page_id=page_id,
        url=url,
        kind=kind,
        found="robots",
        format="feed" if kind is PageKind.FEED else "sitemap",
        verdict=verdict,
        entries=entries,
        polls=30,
        new_pages=12,
        signals=signals,
        last_poll_at=NOW - 300,
        last_yield=1.4,
    )
