"""The case of one page: all that decides when it is visited, from the database."""

import math
from dataclasses import replace

import numpy as np

from scrapy_freshness.config import Config
from scrapy_freshness.insight.believed_sources import BelievedHubs
from scrapy_freshness.insight.hub_reasons import hub_sentences
from scrapy_freshness.insight.keeping_up import is_held_up
from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.insight.reach import Reach, reach_of
from scrapy_freshness.insight.reasons import DAY_SECONDS, Case, MoreOften
from scrapy_freshness.insight.rows import columns_of, is_assumed, row_of
from scrapy_freshness.insight.spending import spending
from scrapy_freshness.model import CrawlState, PageKind, PageRecord, PageStatus
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.storage.hub_reports import hub_report
from scrapy_freshness.storage.inspection import crawling
from scrapy_freshness.storage.live_reports import visits_of_host
from scrapy_freshness.storage.page_reports import page_visits
from scrapy_freshness.storage.store import Store

#: The terms of a spider's crawl, the outlook on all of its pages, and how many visits these could take.
Others = tuple[Terms, Outlook, Reach]

#: How many visits a host takes is judged by so much time, or by that of so many requests if it is more.
_LATEST_SECONDS, _LATEST_REQUESTS = 120.0, 20
#: Pages from which the effect of another budget is told.
_SAMPLE = 5_000


def case_of(
    store: Store, config: Config, record: PageRecord, spider: str, now: float, others: Others | None = None
) -> Case:
    """All that decides when a page is visited; without *others*, they are read from the database."""
    terms, everyone, reach = others or _others(store, config, spider, now)
    hosts = Hosts(config.backoff_seconds, config.backoff_max_seconds)
    hosts.load(store.load_hosts(record.host))
    host = hosts.record(record.host)
    state = store.load_state(spider)
    is_running = spider in crawling(store)
    is_waiting_for_hosts = is_running and waits_for_hosts(store, spider, terms, reach, now)
    row = row_of(record, spider)
    columns = columns_of([row], {record.page_id: record.beliefs})
    page = Outlook(terms, columns, now)
    value = float(page.values()[0])
    on_host, price = page, terms.price
    if is_waiting_for_hosts:
        price = price_on_host(store, everyone, record.host, state, terms, now)
        on_host = Outlook(replace(terms, price=price), columns, now)
    last = next(iter(page_visits(store, record.page_id, 1)), None)
    is_ranked = record.status in (PageStatus.NEW, PageStatus.ACTIVE)
    rivals = everyone.competing_values()
    may_be_helped = _may_be_helped(record) and not is_waiting_for_hosts
    return Case(
        url=record.url,
        spider=spider,
        is_running=is_running,
        status=record.status.name.lower(),
        http_status=record.http_status,
        policy=terms.policy.name,
        budget_per_second=terms.budget_per_second,
        price=price,
        budget_price=terms.price,
        min_interval_seconds=terms.min_interval,
        importance=record.importance,
        is_compared=not is_assumed(row),
        change_rate=record.change_rate or terms.prior["change_rate"],
        change_rate_low=record.change_rate_low,
        change_rate_high=record.change_rate_high,
        visits=record.visits,
        changes=record.changes,
        failures=record.failures,
        last_attempt_at=last.at if last else None,
        last_outcome=last.outcome.name.lower() if last else None,
        last_reason=last.reason if last else None,
        last_visit_at=record.last_visit_at,
        not_before=record.not_before,
        freshness=float(page.freshness()[0]),
        pace=float(np.nan_to_num(page.believed("pace"), nan=1.0)[0]),
        value=value,
        highest_value=float(page.values_after(math.inf)[0]),
        # The page itself is among them as it was a moment ago, or not yet.
        rank=min(1 + int(np.count_nonzero(rivals > value)), max(len(rivals), 1)) if is_ranked else None,
        ranked_pages=max(len(rivals), 1),
        interval_seconds=float(on_host.long_run_intervals(price)[0]),
        next_visit_at=float(on_host.next_visits()[0]),
        host=record.host,
        host_blocked_until=host.blocked_until,
        host_failures=host.failures,
        host_rivals=everyone.worth_more_on(record.host, value),
        delay_seconds=state.delay_seconds if state else 0.0,
        is_held_up=is_waiting_for_hosts,
        host_audits=host.audits,
        host_false_not_modified=host.false_not_modified,
        host_is_honest=hosts.is_honest(record.host),
        hub_sentences=_hub_sentences(store, record, terms, page, now),
        is_source=record.kind is PageKind.SOURCE,
        pinned_seconds=record.pinned_seconds,
        more_often=_more_often(everyone, page, terms) if may_be_helped else None,
    )


def waits_for_hosts(store: Store, spider: str, terms: Terms, reach: Reach, now: float) -> bool:
    """Whether the pages of a crawl, if it is running, wait for their hosts instead of the budget."""
    state = store.load_state(spider)
    spent = spending(
        store,
        spider,
        budget_per_second=terms.budget_per_second,
        started_at=state.started_at if state else None,
        now=now,
    )
    return is_held_up(spent, reach)


def price_on_host(
    store: Store, everyone: Outlook, host: str, state: CrawlState | None, terms: Terms, now: float
) -> float:
    """What a visit has to be worth on a host that holds its pages up: they compete with each other only."""
    if state is None:
        return terms.price
    seconds = max(_LATEST_SECONDS, _LATEST_REQUESTS * state.delay_seconds)
    seconds = min(seconds, max(now - state.started_at, _LATEST_SECONDS))
    visits = visits_of_host(store, state.spider, host, now - seconds)
    return everyone.price_on(host, visits / seconds) if visits else terms.price


def _hub_sentences(store: Store, record: PageRecord, terms: Terms, page: Outlook, now: float) -> list[str]:
    report = hub_report(store, record.page_id)
    return [] if report is None else hub_sentences(BelievedHubs(terms, page).case(report, 0), now)


def _others(store: Store, config: Config, spider: str, now: float) -> Others:
    terms = Terms.of(store, config, spider)
    everyone = Outlook(terms, store.load_pages(spider), now)
    return terms, everyone, reach_of(everyone, floor=terms.policy.pacing.floor, now=now)


def _may_be_helped(record: PageRecord) -> bool:
    """Whether a bigger budget would bring more visits."""
    return record.status is PageStatus.ACTIVE and record.pinned_seconds is None


def _more_often(everyone: Outlook, page: Outlook, terms: Terms) -> MoreOften | None:
    """The budget at which a page would be visited daily, or twice as often if that is more."""
    some = everyone.sample(_SAMPLE)
    wanted = min(DAY_SECONDS, float(page.long_run_intervals(terms.price)[0]) / 2)
    visits = some.visits_per_second(terms.price)
    if wanted < terms.min_interval or terms.price <= 0 or visits == 0:
        return None
    # What the present budget buys at the present price tells how much goes to retries, robots.txt, ...
    more_visits = some.visits_per_second(float(page.values_after(wanted)[0]))
    return MoreOften(
        interval_seconds=wanted, budget_per_second=terms.budget_per_second * more_visits / visits
    )
