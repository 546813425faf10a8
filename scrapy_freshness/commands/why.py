"""Why a page is visited when it is: what is believed of it, what a visit is
worth, and the price.

A page is visited when the value of a visit, which grows while its copy ages,
reaches the price of a visit: the value that the visits of late had. The price
falls if the budget grows.
"""

import argparse
import math
from dataclasses import asdict

import numpy as np
from rich.text import Text

from scrapy_freshness.commands.context import Context, new_grid
from scrapy_freshness.commands.human import NOTHING, count, duration, every, number, rate, safe, share
from scrapy_freshness.commands.lookup import pages_of
from scrapy_freshness.commands.outlook import Outlook, Terms
from scrapy_freshness.commands.reasons import DAY_SECONDS, Case, MoreOften, sentences
from scrapy_freshness.commands.rows import columns_of, row_of
from scrapy_freshness.commands.sheet import false_answers
from scrapy_freshness.errors import InputError
from scrapy_freshness.model import PageRecord, PageStatus
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.storage.inspection import crawling
from scrapy_freshness.storage.store import Store


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL")


def run(context: Context, options: argparse.Namespace) -> None:
    now = context.clock.now()
    with context.store() as store, context.progress("Reading pages"):
        spiders = {page.page_id: page.spider for page in pages_of(store, options.url)}
        records = sorted(store.load_records(spiders), key=lambda record: record.page_id)
        if records and all(record.kind.is_polled for record in records):
            raise InputError(
                f"{options.url} is polled for what it says about other pages: see `scrapy freshness signals`"
            )
        cases = [_case(context, store, record, spiders[record.page_id], now) for record in records]
    if context.as_json:
        pages = [asdict(case) | {"sentences": sentences(case, now)} for case in cases]
        context.print_json({"now": now, "pages": pages})
        return
    for case in cases:
        context.say(safe(case.url), style="bold")
        context.print()
        for sentence in sentences(case, now):
            context.print(safe(sentence))
        context.print()
        context.print(new_grid(_numbers(case)))
        context.print()


def _case(context: Context, store: Store, record: PageRecord, spider: str, now: float) -> Case:
    terms = Terms.of(store, context.config, spider)
    columns = store.load_pages(spider)
    everyone = Outlook(terms, columns, now)
    page = Outlook(terms, columns_of([row_of(record, spider)]), now)
    value = float(page.values()[0])
    competes = np.isin(columns.status, (PageStatus.NEW, PageStatus.ACTIVE))
    is_ranked = record.status in (PageStatus.NEW, PageStatus.ACTIVE)
    rivals = everyone.values()[competes]
    hosts = Hosts(context.config.backoff_seconds, context.config.backoff_max_seconds)
    hosts.load(store.load_hosts())
    host = hosts.record(record.host)
    return Case(
        url=record.url,
        spider=spider,
        is_running=spider in crawling(store),
        status=record.status.name.lower(),
        http_status=record.http_status,
        policy=terms.policy.name,
        budget_per_second=terms.budget_per_second,
        price=terms.price,
        min_interval_seconds=terms.min_interval,
        importance=record.importance,
        is_compared=bool(record.history) and record.change_rate_low > 0,
        change_rate=record.change_rate or terms.prior["change_rate"],
        change_rate_low=record.change_rate_low,
        change_rate_high=record.change_rate_high,
        visits=record.visits,
        changes=record.changes,
        failures=record.failures,
        last_visit_at=record.last_visit_at,
        not_before=record.not_before,
        freshness=float(page.freshness()[0]),
        value=value,
        highest_value=float(page.values_after(math.inf)[0]),
        rank=1 + int(np.count_nonzero(rivals > value)) if is_ranked else None,
        ranked_pages=len(rivals),
        interval_seconds=float(page.intervals(terms.price)[0]),
        next_visit_at=float(page.next_visits()[0]),
        host=record.host,
        host_blocked_until=host.blocked_until,
        host_failures=host.failures,
        host_audits=host.audits,
        host_false_not_modified=host.false_not_modified,
        host_is_honest=hosts.is_honest(record.host),
        pinned_seconds=record.pinned_seconds,
        more_often=_more_often(everyone, page, terms) if _may_be_helped(record) else None,
    )


def _may_be_helped(record: PageRecord) -> bool:
    return record.status is PageStatus.ACTIVE and record.pinned_seconds is None


def _more_often(everyone: Outlook, page: Outlook, terms: Terms) -> MoreOften | None:
    """The budget at which a page would be visited daily, or twice as often if that is more."""
    wanted = min(DAY_SECONDS, float(page.intervals(terms.price)[0]) / 2)
    visits = everyone.visits_per_second(terms.price)
    if wanted < terms.min_interval or terms.price <= 0 or visits == 0:
        return None
    # What the present budget buys at the present price tells how much goes to retries, robots.txt, ...
    more_visits = everyone.visits_per_second(float(page.values_after(wanted)[0]))
    return MoreOften(
        interval_seconds=wanted, budget_per_second=terms.budget_per_second * more_visits / visits
    )


def _numbers(case: Case) -> dict[str, str | Text]:
    evidence = [count(case.visits, "visit"), count(case.changes, "change")]
    if case.failures:
        evidence.append(f"{count(case.failures, 'failure')} in a row")
    numbers: dict[str, str | Text] = {
        "spider": safe(case.spider),
        "change rate": every(case.change_rate, case.change_rate_low, case.change_rate_high),
        "evidence": ", ".join(evidence),
        "importance": number(case.importance),
        "freshness": share(case.freshness) if case.last_visit_at is not None else NOTHING,
        "price": f"{number(case.price)} ({case.policy} at {rate(case.budget_per_second)})",
    }
    if case.rank is not None:
        interval = duration(case.interval_seconds)
        numbers |= {
            "value": f"{number(case.value)} now, {number(case.highest_value)} at most",
            "rank": f"{case.rank:,} of {case.ranked_pages:,}",
            "rhythm": f"a visit every {interval}" if case.is_ever_visited else "no visits at this price",
        }
    if case.pinned_seconds is not None:
        numbers["pinned"] = f"every {duration(case.pinned_seconds)}"
    honesty = f", {false_answers(case.host_false_not_modified, case.host_audits)}" if case.host_audits else ""
    return numbers | {"host": safe(case.host) + honesty}
