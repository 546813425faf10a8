"""`scrapy freshness import queries`."""

import argparse
from typing import Any

from scrapy_freshness.commands.context import Context
from scrapy_freshness.commands.importing import Kind
from scrapy_freshness.imports.queries import Asked, formats
from scrapy_freshness.imports.query_sink import QuerySink
from scrapy_freshness.insight.human import count
from scrapy_freshness.storage.query_rows import KIND
from scrapy_freshness.storage.store import Store


def add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def kind(context: Context, store: Store, options: argparse.Namespace) -> Kind[Asked]:
    sink = QuerySink(store)

    def finish(context: Context) -> dict[str, Any]:
        return {"queries": round(sink.queries), "terms": len(store.load_queries().terms)}

    return Kind(name=KIND, formats=formats(), sink=sink, adds=True, finish=finish, told=_told)


def clear(context: Context, store: Store) -> tuple[int, str]:
    """Forget all queries, as `scrapy freshness queries --clear` does."""
    n = store.clear_queries()
    return n, f"Forgot {count(n, 'term')}."


def _told(summary: dict[str, Any]) -> list[str]:
    asked = f"{summary['queries']:,} {'query' if summary['queries'] == 1 else 'queries'} added"
    return [f"{asked}; searchers ask for {count(summary['terms'], 'term')} in all."]
