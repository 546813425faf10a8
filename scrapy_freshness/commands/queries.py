"""What searchers ask for: terms, how many pages have them, and what is at risk.

Quality is what searchers find: how often they look at results times how good
these are, as a share of all that they find. At risk is the part of it that is
expected to be lost by now, because pages have changed since their visits.

--rebuild  counts results and ranks anew, from what is kept of each page; pages
           that were read before all terms were asked for are counted, and are
           read in full at their next visits
--clear    forgets all queries, and what is kept of pages for them
"""

import argparse
from typing import Any

import numpy as np

from scrapy_freshness.commands.answers import Answers
from scrapy_freshness.commands.context import Context, new_table, require_spider, whole_number
from scrapy_freshness.crawl.configured import scoring_of
from scrapy_freshness.crawl.fitting import Fit, fit
from scrapy_freshness.errors import InputError
from scrapy_freshness.insight.human import count, relative, safe, share
from scrapy_freshness.model import Batch
from scrapy_freshness.search.asked import AskedTerms
from scrapy_freshness.storage.store import Store

SORTS = ("at_risk", "quality", "frequency", "results", "term")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spider", metavar="NAME", help="pages of this spider only")
    parser.add_argument(
        "--sort", choices=SORTS, default="at_risk", metavar="COLUMN", help=f"order by {', '.join(SORTS)}"
    )
    parser.add_argument(
        "--limit", type=whole_number, metavar="N", default=20, help="show N terms; default: 20"
    )
    actions = parser.add_mutually_exclusive_group()
    actions.add_argument("--rebuild", action="store_true", help="count results and ranks anew")
    actions.add_argument("--clear", action="store_true", help="forget all queries")


def run(context: Context, options: argparse.Namespace) -> None:
    if options.clear:
        _clear(context)
        return
    if options.rebuild:
        _rebuild(context, options.spider)
        return
    with context.store() as store:
        spiders, asked = _spiders(store, options.spider), _asked(store)
        found = [_described(context, store, spider, asked, options) for spider in spiders]
    if context.as_json:
        context.print_json({"terms": len(asked), "spiders": found})
        return
    for spider in found:
        _print(context, spider, len(asked), options.sort)


def _asked(store: Store) -> AskedTerms:
    asked = AskedTerms.of(store.load_queries())
    if not len(asked):
        raise InputError("no queries are known: run `scrapy freshness import queries FILE`")
    return asked


def _spiders(store: Store, name: str | None) -> list[str]:
    require_spider(store, name)
    return store.spiders() if name is None else [name]


def _described(
    context: Context, store: Store, spider: str, asked: AskedTerms, options: argparse.Namespace
) -> dict[str, Any]:
    answers = Answers.of(store, spider, asked, scoring_of(context.config))
    if answers is None:
        return {
            "spider": spider,
            "scoring": None,
            "pages": 0,
            "fitted_at": None,
            "at_risk": None,
            "queries": [],
        }
    with context.progress("Reading what is kept of pages", answers.pages) as advance:
        results, quality, at_risk = answers.by_terms(context.clock.now(), advance)
    total = float(quality.sum()) or 1.0
    columns: dict[str, Any] = {
        "at_risk": at_risk / total,
        "quality": quality / total,
        "frequency": asked.workload.frequency,
        "results": results,
    }
    order = _order(columns, asked, options.sort)[: options.limit]
    return {
        "spider": spider,
        "scoring": answers.scoring.name,
        "pages": answers.pages,
        "fitted_at": answers.fitted_at,
        "at_risk": float(at_risk.sum() / total),
        "queries": [
            {
                "term": asked.workload.terms[place],
                "frequency": float(columns["frequency"][place]),
                "results": int(results[place]),
                "quality": float(columns["quality"][place]),
                "at_risk": float(columns["at_risk"][place]),
            }
            for place in order
        ],
    }


def _order(columns: dict[str, Any], asked: AskedTerms, key: str) -> list[int]:
    terms = asked.workload.terms
    if key == "term":
        return sorted(range(len(terms)), key=terms.__getitem__)
    places: list[int] = np.lexsort((np.arange(len(terms)), -columns[key])).tolist()
    return places


def _rebuild(context: Context, only: str | None) -> None:
    scoring = scoring_of(context.config)
    done: list[dict[str, Any]] = []
    with context.store_without_crawls() as store:
        spiders, asked = _spiders(store, only), _asked(store)
        for spider in spiders:
            with context.progress("Counting results and ranks"):
                found = fit(store, spider, asked, scoring)
            assert isinstance(found, Fit)
            now = context.clock.now()
            maps = asked.kept_maps(found.maps, scoring=scoring.name, pages=found.pages, fitted_at=now)
            store.save(spider, Batch(maps=maps))
            done.append(
                {
                    "spider": spider,
                    "pages": found.pages,
                    "behind": found.behind,
                    "unreadable": found.unreadable,
                    "terms_found": int(np.count_nonzero(found.maps.results)),
                }
            )
    if context.as_json:
        context.print_json({"scoring": scoring.name, "rebuilt": done})
        return
    for each in done:
        context.say(
            f"{safe(each['spider'])}: {count(each['terms_found'], 'term')} of {len(asked):,} found on"
            f" {count(each['pages'], 'page')}, by {scoring.name}."
        )
        if each["behind"] or each["unreadable"]:
            later = count(each["behind"] + each["unreadable"], "page")
            context.say(f"{later} will be read for all terms at the next visit.")


def _clear(context: Context) -> None:
    with context.store_without_crawls() as store:
        n_terms = store.clear_queries()
    if context.as_json:
        context.print_json({"cleared": n_terms})
    else:
        context.say(f"Forgot {count(n_terms, 'term')}.")


def _print(context: Context, spider: dict[str, Any], n_terms: int, sort: str) -> None:
    if not spider["queries"]:
        context.say(f"{safe(spider['spider'])}: no page was read for what searchers ask for yet.")
        return
    counted = (
        ""
        if spider["fitted_at"] is None
        else f", counted {relative(spider['fitted_at'], context.clock.now())}"
    )
    context.say(
        f"{safe(spider['spider'])}: {count(n_terms, 'term')} on {count(spider['pages'], 'page')},"
        f" by {spider['scoring']}{counted}; {share(spider['at_risk'])} of what searchers find is at risk"
    )
    context.print()
    table = new_table("term", ">asked", ">results", ">quality", ">at risk")
    for each in spider["queries"]:
        shares = (share(each[name]) for name in ("quality", "at_risk"))
        table.add_row(safe(each["term"]), share(each["frequency"]), f"{each['results']:,}", *shares)
    context.print(table)
    shown = len(spider["queries"])
    if shown < n_terms:
        context.print()
        context.say(f"The first {shown} of {n_terms:,} terms by {sort.replace('_', ' ')}")
