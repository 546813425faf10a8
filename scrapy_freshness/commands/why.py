"""Why a page is visited when it is: what is believed of it, what a visit is
worth, and the price.

A page is visited when the value of a visit, which grows while its copy ages,
reaches the price of a visit: the value that the visits of late had. The price
falls if the budget grows.
"""

import argparse
from dataclasses import asdict

from rich.text import Text

from scrapy_freshness.commands.context import Context, new_grid
from scrapy_freshness.commands.lookup import pages_of
from scrapy_freshness.commands.sheet import false_answers
from scrapy_freshness.errors import InputError
from scrapy_freshness.insight.case import case_of
from scrapy_freshness.insight.human import NOTHING, count, duration, every, number, rate, safe, share
from scrapy_freshness.insight.reasons import Case, sentences
from scrapy_freshness.insight.rows import LEFT


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
        cases = [case_of(store, context.config, record, spiders[record.page_id], now) for record in records]
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


def _numbers(case: Case) -> dict[str, str | Text]:
    evidence = [count(case.visits, "visit"), count(case.changes, "change")]
    if case.failures:
        evidence.append(f"{count(case.failures, 'failure')} in a row")
    numbers: dict[str, str | Text] = {
        "spider": safe(case.spider),
        "change rate": every(
            case.change_rate, case.change_rate_low, case.change_rate_high, is_assumed=not case.is_compared
        ),
        "evidence": ", ".join(evidence),
        "importance": number(case.importance),
        "freshness": NOTHING if case.last_visit_at is None or case.status in LEFT else share(case.freshness),
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
