"""What the tests of the planner share: pages with known change rates, and a crawl without Scrapy or SQL."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from scrapy_freshness.estimation.change_rate import PriorPoints, RateEstimate, estimate_change_rates
from scrapy_freshness.estimation.history import extended, observations
from scrapy_freshness.model import Outcome, PageColumns, PageRecord, PageStatus
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learning import RateLearner
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.planning.ready import FreeAt
from scrapy_freshness.planning.visits import Report, Upkeep, Visit
from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.greedy import Greedy

LEARNED = partial(estimate_change_rates, prior=PriorPoints(1.0, 57.0))


def always_free(host: str, now: float) -> float:
    return now


class KnownRates:
    """An estimator that knows the truth: the first observation in a history is the page's number."""

    def __init__(self, rates: FloatArray) -> None:
        self._rates = rates

    def __call__(self, histories: Sequence[bytes]) -> RateEstimate:
        rate = np.array([self._rates[self.number(history)] if history else 1.0 for history in histories])
        return RateEstimate(rate, rate, rate)

    @staticmethod
    def history(number: int) -> bytes:
        return extended(b"", number + 1.0, changed=True)

    @staticmethod
    def number(history: bytes) -> int:
        return int(-observations(history)[0]) - 1


def new_planner(policy: str = "greedy", estimator=LEARNED, rate: float = 1.0, **options) -> Planner:
    """A planner of pages whose rates are learned (prior: a change after 1 s, none after 57 s)."""
    upkeep = Upkeep(
        gone_recheck_seconds=100.0,
        gone_recheck_max_seconds=1000.0,
        backoff_seconds=5.0,
        backoff_max_seconds=60.0,
    )
    return Planner(
        policy_named(policy),
        Hosts(5.0, 60.0),
        RateLearner(estimator),
        upkeep=upkeep,
        crawls_per_second=rate,
        **options,
    )


def new_page(number: int, host: str = "a.example", **columns) -> PageRecord:
    return PageRecord(page_id=0, fingerprint=number, url=f"http://{host}/{number}", host=host, **columns)


def columns_of(records: Sequence[PageRecord]) -> PageColumns:
    """What the database would hand in at the start."""
    hosts = sorted({record.host for record in records})
    return PageColumns(
        hosts=hosts,
        page_id=np.array([record.page_id for record in records], np.int64),
        fingerprint=np.array([record.fingerprint for record in records], np.int64),
        host=np.array([hosts.index(record.host) for record in records], np.int32),
        status=np.array([record.status for record in records], np.uint8),
        kind=np.array([record.kind for record in records], np.uint8),
        priority=np.array([record.priority for record in records], np.int32),
        importance=np.array([record.importance for record in records], np.float32),
        discovered_at=np.array([record.discovered_at for record in records], np.float64),
        last_visit_at=np.array(
            [np.nan if record.last_visit_at is None else record.last_visit_at for record in records]
        ),
        not_before=np.array([record.not_before for record in records], np.float64),
        failures=np.array([record.failures for record in records], np.int32),
        change_rate=np.array([record.change_rate for record in records], np.float32),
    )


class Crawl:
    """Drives a planner as the scheduler does, with all records in a dict instead of a database."""

    def __init__(self, planner: Planner, free_at: FreeAt = always_free) -> None:
        self.planner = planner
        self.records: dict[int, PageRecord] = {}
        self.free_at = free_at

    def start(
        self,
        records: Sequence[PageRecord],
        now: float = 0.0,
        pinned_seconds: FloatArray | None = None,
        **options,
    ) -> "Crawl":
        self.records = {record.page_id: record for record in records}
        next_page_id = max(self.records, default=0) + 1
        columns = replace(columns_of(records), pinned_seconds=pinned_seconds)
        self.planner.load(columns, next_page_id, now)
        self.planner.start(now, **options)
        return self

    def discover(self, *pages: PageRecord, now: float = 0.0) -> list[PageRecord]:
        found = [self.planner.discover(page, now) for page in pages]
        self.records |= {record.page_id: record for record in found}
        return found

    def read_ahead(self, now: float) -> None:
        self.flush(now)
        wanted = self.planner.wanted(now)
        self.planner.supply(wanted, [self.records[page_id] for page_id in wanted if page_id in self.records])

    def flush(self, now: float) -> None:
        self.planner.settle(now)
        self.records |= {record.page_id: record for record in self.planner.take_updates()[0]}

    def begin(self, now: float) -> Visit | None:
        """Open the next visit; asks again as long as the planner says that there may be one."""
        for _ in range(10_000):
            self.read_ahead(now)
            visit = self.planner.begin_visit(now, self.free_at)
            if visit is not None or self.planner.next_at(now) > now:
                return visit
        raise AssertionError("the planner always has something to do and never a visit")

    def end(self, visit: Visit, now: float, outcome: Outcome | None = None, **seen) -> bool:
        if outcome is None:
            outcome = Outcome.FIRST if visit.record.last_visit_at is None else Outcome.UNCHANGED
        return self.planner.end_visit(visit, Report(outcome=outcome, at=now, **seen))

    def visit(self, now: float, outcome: Outcome | None = None) -> str | None:
        """Make the next visit; returns the URL."""
        visit = self.begin(now)
        if visit is None:
            return None
        self.end(visit, now, outcome)
        return visit.url

    def record(self, url: str) -> PageRecord:
        return next(record for record in self.records.values() if record.url == url)


def known_pages(importance: FloatArray, rates: FloatArray, hosts: int = 1) -> list[PageRecord]:
    """Pages 0, 1, 2, ... that were all fetched at time 0; their rates are for KnownRates."""
    return [
        PageRecord(
            page_id=number + 1,
            fingerprint=number,
            url=str(number),
            host=f"{number % hosts}.example",
            status=PageStatus.ACTIVE,
            importance=float(importance[number]),
            last_visit_at=0.0,
            change_rate=float(rates[number]),
            history=KnownRates.history(number),
        )
        for number in range(len(rates))
    ]


def crawl_sequence(
    importance: FloatArray, rates: FloatArray, rate: float, count: int, **options
) -> list[int]:
    """Numbers of the pages that GREEDY visits at times 1/rate, 2/rate, ..., all fresh at time 0."""
    planner = new_planner(estimator=KnownRates(rates), rate=rate)
    crawl = Crawl(planner).start(known_pages(importance, rates), **options)
    return [int(crawl.visit(tick / rate) or -1) for tick in range(1, count + 1)]


def brute_force_sequence(importance: FloatArray, rates: FloatArray, rate: float, count: int) -> list[int]:
    """The same by looking at all pages at every tick, with the numbers as the table rounds them."""
    beliefs = Beliefs(
        importance=importance.astype(np.float32).astype(float),
        change_rate=rates.astype(np.float32).astype(float),
    )
    last = np.zeros(len(rates))
    chosen = []
    for tick in range(1, count + 1):
        best = int(np.argmax(Greedy().value(beliefs, tick / rate - last)))
        last[best] = tick / rate
        chosen.append(best)
    return chosen


def accuracy(chosen: Sequence[int], importance: FloatArray, rates: FloatArray, rate: float) -> float:
    """Expected share of requests that meet a fresh copy, if these pages are visited at the ticks."""
    last, fresh = np.zeros(len(rates)), np.zeros(len(rates))
    for tick, page in enumerate(chosen, 1):
        fresh[page] -= np.expm1(-rates[page] * (tick / rate - last[page])) / rates[page]
        last[page] = tick / rate
    end = len(chosen) / rate
    fresh -= np.expm1(-rates * (end - last)) / rates
    return float(np.average(fresh / end, weights=importance))
