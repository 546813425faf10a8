"""The planner: knows all pages as numbers, opens the visit that is worth most, learns from its end.

A page goes round like this::

    discover -> [asleep in the frontier] -> pool -> wanted -> supply -> ready -> begin_visit
                         ^                                                          |
                         +---------------- settle <----- end_visit <----------------+

The planner does no I/O and never looks at a clock: records are asked for through `wanted` and handed
in through `supply`; the time is an argument.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from scrapy_freshness.estimation.history import ends_unchanged
from scrapy_freshness.model import PageColumns, PageKind, PageRecord, PageStatus, VisitRecord
from scrapy_freshness.planning.assessment import Assessment, Visiting, assessment_of
from scrapy_freshness.planning.books import Books
from scrapy_freshness.planning.frontier import Frontier
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.known_pages import KnownPages
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.link_learner import beliefs_of_links
from scrapy_freshness.planning.news import News
from scrapy_freshness.planning.policy import Policy
from scrapy_freshness.planning.price import Prices, long_run_price
from scrapy_freshness.planning.ready import FreeAt
from scrapy_freshness.planning.rhythmic_rates import RhythmicRates
from scrapy_freshness.planning.siblings import Siblings
from scrapy_freshness.planning.stock import Stock
from scrapy_freshness.planning.table import PageTable
from scrapy_freshness.planning.told import Told
from scrapy_freshness.planning.visited import BeforeLearning, VisitedPages
from scrapy_freshness.planning.visits import Report, Upkeep, Visit
from scrapy_freshness.planning.wished import WishedPages
from scrapy_freshness.value.pins import WithPins
from scrapy_freshness.value.polls import WithPolls

#: A page of which nothing is known but that it exists.
UNKNOWN_PAGE = PageRecord(page_id=0, fingerprint=0, url="", host="")


class Planner:
    """Chooses visits by value, politely, over all known pages of one crawl."""

    def __init__(
        self,
        policy: Policy,
        hosts: Hosts,
        learner: Learner,
        *,
        upkeep: Upkeep | None = None,
        crawls_per_second: float = 1.0,
        min_interval: float = 0.0,
        before_learning: BeforeLearning = lambda records: None,
        learns: bool = True,
    ) -> None:
        """Who knows the truth *learns* nothing from siblings, nor from sources that are not worth a poll."""
        self.hosts = hosts
        self.policy = policy
        self.first_copies = 0  #: visits so far that made a copy
        self.refreshed = 0  #: visits so far that saw the page of a copy
        self._learner = learner
        self._crawls_per_second = crawls_per_second
        self._min_interval = min_interval
        self._table = PageTable(policy.model.needs)
        self.known = KnownPages(self._table)
        self._model = WithPins(WithPolls(policy.model))
        self._frontier = Frontier(
            self._table, self._model, policy.pacing.floor, min_interval, tries_sources=learns
        )
        self._prices = Prices(policy, self._table, self._frontier, crawls_per_second=crawls_per_second)
        self._siblings = Siblings(self._table, policy.model, watch=learns)
        self._visited = VisitedPages(self._table, learner, self._siblings, before_learning)
        self._rhythmic = RhythmicRates(self._table, self._frontier, learner)
        self._books = Books(upkeep or Upkeep())
        self._stock = Stock(
            self._table,
            self._frontier,
            hosts,
            crawls_per_second=crawls_per_second,
            settle=self.settle,
            listen=lambda: self.news.listen(),
        )
        self.news = News(
            self._table,
            self._frontier,
            self._stock,
            deaf_seconds=policy.deaf_seconds,
            learned_deaf_seconds=learner.deaf_seconds,
            told_afterwards=learner.told_afterwards,
            settle=self.settle,
            look_again=self.look_again,
        )
        self.told = Told(self._table, self._frontier, learner)
        self._open: dict[int, Visit] = {}  #: row -> visit
        self.wished = WishedPages(
            self._table,
            self._frontier,
            self._stock,
            self._open,
            settle=self.settle,
            of_kind=self._of_kind,
        )
        self._next_page_id = 1
        self._expected_pages = 1
        self._once = False

    def __len__(self) -> int:
        return len(self._table)

    @property
    def price(self) -> float:
        """Mean value of the visits opened lately."""
        return self._frontier.price

    @property
    def going_price(self) -> float:
        """What a copy must be worth to be visited next, by the visits opened lately."""
        return self._prices.going

    @property
    def not_learned(self) -> int:
        """Visits so far from which not all could be learned."""
        return self._visited.not_learned

    @property
    def open_visits(self) -> list[Visit]:
        """Visits that have begun and not ended."""
        return list(self._open.values())

    @property
    def at_hand(self) -> int:
        """How many pages are chosen and wait for their visits."""
        return len(self._stock)

    def load(
        self, pages: PageColumns, next_page_id: int, now: float, groups: Mapping[str, bytes] | None = None
    ) -> int:
        """Take over all that is known from earlier; returns how many pages had times in the future.

        *groups* is what `take_groups` gave. `start` must follow.
        """
        self._learner.restore(groups or {})
        self.expect_pages(len(pages.page_id))
        in_future = self._table.load(pages, now, self._learner.prior(UNKNOWN_PAGE))
        self._siblings.restore(groups or {})
        self.known.fill(pages.fingerprint)
        self._next_page_id = next_page_id
        return in_future

    def expect_pages(self, count: int) -> None:
        """Be told that so many pages are known soon: what is believed depends on how long they wait."""
        self._expected_pages = max(count, self._expected_pages)
        self._table.usual_wait = self._expected_pages / self._crawls_per_second
        self._learner.expect(self._table.usual_wait)

    def start(self, now: float, *, price: float | None = None, once: bool = False) -> None:
        """Begin to choose; *price* is that of an earlier run.

        With *once*, a page is chosen only if it is due by the price at which the rate is spent in
        the long run, and not a second time, so that there is an end to it.
        """
        self._once = once
        if price is None or once:
            price = long_run_price(
                self._model, self._table, self._crawls_per_second, min_interval=self._min_interval
            )
        self._frontier.start(price, now, floor=price if once else self.policy.pacing.floor)

    def beliefs_of_links(self, source: PageRecord) -> dict[str, float]:
        """Profit and decay of pages that a source shows, whatever it was; none if the policy has none."""
        return beliefs_of_links(self._learner, source)

    def discover(self, page: PageRecord, now: float) -> PageRecord:
        """Add a page that is not known yet; returns its record with the page id that it got."""
        row, record = self._add(page, now)
        self._books.note(record)
        if self._stock.has_room and not self._table.fades:
            self._stock.put(row, float(self._frontier.values(np.array([row]), now)[0]))
        return record

    def first_seen(self, page: PageRecord, report: Report) -> None:
        """Add a page that is not known yet together with its first visit: the target of a redirect."""
        row, record = self._add(page, report.at)
        self._table.taken[row] = True
        self._table.wake[row] = np.inf  # until its visit is settled
        self._close(row, record, report)

    def forget(self, row: int) -> None:
        """Know nothing of a page any more; what its visit under way sees is not learned."""
        self.known.forget(row)
        self.wished.forget(row)
        self._table.status[row] = PageStatus.SUSPENDED  # and so of no weight in prices
        if not self._table.taken[row]:
            self._frontier.rest(row, np.inf)

    def look_again(self, row: int, now: float) -> None:
        """A page that was gone or had moved has been seen at its place: its next check is due now."""
        if self.known.status_of(row) in (PageStatus.GONE, PageStatus.MOVED) and not self._table.taken[row]:
            self._frontier.rest(row, now)

    def wanted(self, now: float) -> list[int]:
        """Ids of pages whose records are needed now, so that visits can go on without waiting."""
        self._rhythmic.follow(now)
        wanted = self._stock.wanted(now, self.wished.urgent)
        if not wanted and not len(self._stock):
            self._prices.unspent(now)
        return wanted

    def supply(self, page_ids: Iterable[int], records: Iterable[PageRecord]) -> None:
        """Hand in the records of pages that were wanted; pages without one are forgotten."""
        for row in self._stock.supply(page_ids, records):
            self._table.taken[row] = False
            self.forget(row)

    def give_up_loading(self, page_ids: Iterable[int], until: float) -> None:
        """Records that were wanted cannot be had: try these pages again later."""
        for row in self._stock.give_up(page_ids):
            self._frontier.rest(row, until)

    def host_freed(self, host: str) -> None:
        """A host that was busy has got room: its pages need not wait until it would be looked at again."""
        self._stock.host_freed(host)

    def begin_visit(self, now: float, free_at: FreeAt) -> Visit | None:
        """Open the visit that is worth most among the pages at hand whose hosts are free."""
        page = self._stock.take(now, free_at)
        while page is not None and self.known.is_forgotten(page.row):
            self._frontier.rest(page.row, np.inf)
            page = self._stock.take(now, free_at)
        if page is None:
            return None
        record = self.wished.begin(page.row, page.record, now)
        if record is not page.record:
            self._books.note(record)
        if self._books.is_unfinished(record.page_id):
            record = replace(record, run_callback=False)
        if page.rank > -np.inf:
            self._prices.chosen(record, page.value)
        visit = Visit(row=page.row, record=record, opened_at=now, value=page.value)
        self._open[page.row] = visit
        return visit

    def next_at(self, now: float) -> float:
        """When `wanted` or `begin_visit` may have something again, as far as known now."""
        self.news.listen()
        if self._stock.is_stirring or self._visited or not self._frontier.is_exhausted:
            return now
        return self._stock.next_at(now)

    def next_due(self, now: float) -> float:
        """When a page is due by the threshold, of those that are not waiting to be learned from."""
        self.news.listen()
        if len(self._stock) or not self._frontier.is_keyed:
            return now
        return self._stock.next_at(now)

    def is_idle(self, now: float) -> bool:
        """Whether no visit is open and none is due."""
        if self._open or len(self._stock):
            return False
        self.settle(now)
        return not self._stock.refill(now) and self._frontier.is_exhausted

    def end_visit(self, visit: Visit, report: Report) -> bool:
        """Close a visit with what it saw; False if it was closed before."""
        if not visit.is_open:
            return False
        visit.is_open = False
        del self._open[visit.row]
        if self.known.is_forgotten(visit.row):
            self._frontier.rest(visit.row, np.inf)
            return True
        self._close(visit.row, visit.record, report)
        self.wished.end(visit.row, report.at)
        return True

    def abandon(self, visit: Visit, now: float) -> None:
        """Close a visit as if it had not begun."""
        if visit.is_open:
            visit.is_open = False
            del self._open[visit.row]
            if self.known.is_forgotten(visit.row):
                self._frontier.rest(visit.row, np.inf)
            else:
                self._frontier.release(np.array([visit.row]), now)

    def suspend(self, visit: Visit) -> None:
        """Close a visit whose page cannot be processed until the spider yields it again."""
        visit.is_open = False
        del self._open[visit.row]
        record = replace(visit.record, status=PageStatus.SUSPENDED)
        self._books.suspend(record)
        self._table.status[visit.row] = record.status
        self._frontier.rest(visit.row, np.inf)

    def finish(self, page_id: int) -> None:
        """All that the spider asked for because of a page has been sent: it need not be shown again."""
        self._books.finish(page_id)

    def settle(self, now: float) -> bool:
        """Learn from the pages visited lately and send them to sleep; False if there are none."""
        if not self._visited:
            return False
        rows, records = self._visited.learn()
        self._rhythmic.learned(rows)
        self._books.note(*records)
        self._frontier.release(rows, now, others=self._siblings.following(len(rows)))
        if self._once:
            for row in rows.tolist():
                self._frontier.rest(row, np.inf)
        return True

    def take_updates(self) -> tuple[list[PageRecord], list[VisitRecord]]:
        """Records and visits that are new since the last call, for the writer."""
        return self._books.take()

    def take_groups(self) -> Mapping[str, bytes]:
        """What was learned of groups of pages since the last call, for the writer."""
        return {**self._learner.take_groups(), **self._siblings.take_groups()}

    def assessment(self, now: float, visiting: Visiting | None = None) -> Callable[[], Assessment | None]:
        """How to find out how fresh the copies are; it may take a tenth of a second, in any thread.

        *visiting* is what they are compared with: so many visits in turn; as many as the budget without it.
        """
        return assessment_of(
            self.policy.model,
            self._table,
            now,
            visiting=visiting or Visiting(visits_per_second=self._crawls_per_second),
            min_interval=self._min_interval,
            fetch_price=self._frontier.fetch_price,
        )

    def price_problem(self) -> Callable[[], float] | None:
        """How to find what a fetch is worth by the schedule of all sources; it may take a second.

        The answer goes to `take_fetch_price`. None if the policy has no schedule, or nothing to schedule.
        """
        return self._prices.problem()

    def take_fetch_price(self, price: float) -> None:
        """A fetch is worth so much from now on."""
        self._frontier.reprice(price)

    def _add(self, page: PageRecord, now: float) -> tuple[int, PageRecord]:
        record = replace(page, page_id=self._next_page_id, discovered_at=now)
        self._next_page_id += 1
        self.expect_pages(len(self._table) + 1)
        prior = dict(self._learner.prior(record))
        row = self._table.add(record, prior, now)
        del prior["change_rate"]
        record.beliefs = prior  # what a page was found with is known again after a restart
        self.known.add(record.fingerprint, row)
        return row, record

    def _of_kind(self, record: PageRecord, kind: PageKind) -> PageRecord:
        """The record of a page fetched for something else; what depends on that is as of a new page."""
        before, after = (
            self._learner.prior(replace(record, kind=each, beliefs={})) for each in (record.kind, kind)
        )
        expected = {name: value for name, value in after.items() if value != before.get(name)}
        expected.pop("change_rate", None)
        importance = (record.importance or 1.0) * self.policy.usual_importance(kind)
        return replace(record, kind=kind, importance=importance, beliefs=record.beliefs | expected)

    def _close(self, row: int, record: PageRecord, report: Report) -> None:
        self.news.listen(row)
        report.heard = self._table.signals_of(row)
        after = self._books.close(record, report, self._table.usual_wait)
        table = self._table
        table.status[row] = after.status
        if after.kind is not record.kind:
            table.set_kind(row, after.kind, report.at)
        if report.outcome.saw_content:
            if not after.kind.is_polled:
                self.first_copies += record.last_visit_at is None
                self.refreshed += record.last_visit_at is not None
            table.visited(row, report.at, changed=not ends_unchanged(after.history))
            if after.kind.is_polled:
                self._polled(row, after, report.at)
                return
            if self._visited.add(row, after):
                self.settle(report.at)
            return
        self._books.note(after)
        self._frontier.rest(row, np.inf if self._once else after.not_before)

    def _polled(self, row: int, after: PageRecord, now: float) -> None:
        """A poll has ended: nothing is learned of the page's own content."""
        self._books.note(after)
        self._table.believe_poll(row, after.beliefs)
        self._frontier.release(np.array([row]), now)
        if self.wished.is_renewed(row):
            self._stock.put(row, float("inf"))  # the spider has asked for it meanwhile
        elif self._once:
            self._frontier.rest(row, np.inf)
