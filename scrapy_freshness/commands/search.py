"""Search the crawled copy, as searchers would see it.

A page is found if it has all terms of the query. Only terms that searchers ask
for are indexed (see `scrapy freshness import queries`). Results are ranked by
FRESHNESS_QUERY_SCORING.
"""

import argparse
from typing import Any

import numpy as np

from scrapy_freshness.commands.answers import Found, search
from scrapy_freshness.commands.context import Context, new_table, require_spider, whole_number
from scrapy_freshness.content.terms import query_terms
from scrapy_freshness.crawl.configured import scoring_of
from scrapy_freshness.errors import InputError
from scrapy_freshness.insight.human import count, number, relative, safe
from scrapy_freshness.search.asked import AskedTerms


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="words to search for, in quotes if there are several")
    parser.add_argument("--spider", metavar="NAME", help="pages of this spider only")
    parser.add_argument(
        "--limit", type=whole_number, metavar="N", default=10, help="the best N results; default: 10"
    )


def run(context: Context, options: argparse.Namespace) -> None:
    terms = query_terms(options.query)
    if not terms:
        raise InputError(f"{options.query[:100]!r} has no words to search for")
    scoring = scoring_of(context.config)
    with context.store() as store:
        require_spider(store, options.spider)
        asked = AskedTerms.of(store.load_queries())
        numbers = {term: asked.workload.number(term) for term in terms}
        known = [place for place in numbers.values() if place is not None]
        if not known:
            raise InputError(
                f"nobody asks for {' or '.join(terms)}, so that pages were not read for it: "
                "run `scrapy freshness import queries FILE`"
            )
        spiders = store.spiders() if options.spider is None else [options.spider]
        total = sum(store.page_count(spider) for spider in spiders)
        with context.progress("Searching", total) as advance:
            found = search(
                store,
                options.spider,
                asked.term_id.take(np.array(known)),
                scoring,
                limit=options.limit,
                advance=advance,
            )
        records = {
            record.page_id: record for record in store.load_records([r.page_id for r in found.results])
        }
    results = [
        {
            "rank": rank,
            "score": result.score,
            "url": records[result.page_id].url,
            "page_id": result.page_id,
            "last_visit_at": records[result.page_id].last_visit_at,
        }
        for rank, result in enumerate(found.results, 1)
        if result.page_id in records
    ]
    answer = {
        "terms": [term for term in terms if numbers[term] is not None],
        "not_indexed": [term for term in terms if numbers[term] is None],
        "scoring": scoring.name,
        "pages": found.pages,
        "total": found.total,
        "results": results,
    }
    if context.as_json:
        context.print_json(answer)
    else:
        _print(context, answer, found)


def _print(context: Context, answer: dict[str, Any], found: Found) -> None:
    if answer["not_indexed"]:
        context.say(
            f"Not indexed, since nobody asks for it: {safe(', '.join(answer['not_indexed']))}", style="yellow"
        )
    now = context.clock.now()
    if answer["results"]:
        table = new_table("", ">score", "URL", "last visit")
        for result in answer["results"]:
            seen = result["last_visit_at"]
            visited = "never" if seen is None else relative(seen, now)
            table.add_row(f"{result['rank']}", number(result["score"]), safe(result["url"]), visited)
        context.print(table)
        context.print()
    context.say(f"{count(found.total, 'result')} on {count(found.pages, 'page')}, by {answer['scoring']}")
