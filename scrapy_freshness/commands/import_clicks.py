"""`scrapy freshness import clicks`."""

import argparse
from typing import Any

from scrapy_freshness.commands.context import Context
from scrapy_freshness.commands.importing import Kind, number_of
from scrapy_freshness.imports.access_log import AccessLog
from scrapy_freshness.imports.clearing import clear as clear_imports
from scrapy_freshness.imports.click_sink import ClickSink
from scrapy_freshness.imports.click_tables import table_formats
from scrapy_freshness.imports.clicks import ClickBatch, Span, span_of
from scrapy_freshness.imports.estimates import refresh_estimates
from scrapy_freshness.insight.human import count
from scrapy_freshness.storage.store import Store
from scrapy_freshness.units import base_url


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("clicks")
    group.add_argument(
        "--base-url",
        type=_site,
        default="",
        metavar="URL",
        help="site of an access log without virtual hosts",
    )
    group.add_argument("--bots", action="store_true", help="requests of bots are clicks, too")
    group.add_argument(
        "--period",
        type=_period,
        metavar="FROM..TO",
        help="days in which the clicks of a file without times were made, such as 2026-11-01..2026-11-30",
    )


def kind(context: Context, store: Store, options: argparse.Namespace) -> Kind[ClickBatch]:
    now = context.clock.now()
    log = AccessLog(now, base_url=options.base_url, with_bots=options.bots)
    estimates = _Estimates(context, store)
    sink = ClickSink(store, number_of, estimates.refresh_if_old)
    return Kind(
        name="clicks",
        formats=[log, *table_formats(now, options.period)],
        sink=sink,
        adds=True,
        finish=lambda context: {
            "counts": dict(sink.counts),
            **estimates.refresh(is_needed=bool(sink.counts)),
        },
        told=_told,
    )


def clear(context: Context, store: Store) -> tuple[int, str]:
    """Forget all clicks."""
    n = clear_imports(store, "clicks", context.config.importance)
    return n, f"Forgot the clicks on {count(n, 'page')}."


class _Estimates:
    """Made anew when all is imported, and from time to time by an import that goes on for ever."""

    def __init__(self, context: Context, store: Store) -> None:
        self._context = context
        self._store = store
        self._made_at = context.clock.now()

    def refresh_if_old(self) -> None:
        """Called when something has been written."""
        if self._context.clock.now() - self._made_at >= self._context.config.log_push_seconds:
            self.refresh()

    def refresh(self, *, is_needed: bool = True) -> dict[str, int]:
        """Make them, and say of how many pages and sources."""
        if not is_needed:
            return {"pages": 0, "sources": 0}
        with self._context.progress("Estimating"):
            done = refresh_estimates(self._store, self._context.config.importance)
        self._made_at = self._context.clock.now()
        return {"pages": done.pages, "sources": done.sources}


def _told(summary: dict[str, Any]) -> list[str]:
    told = [f"{number:,} {what}" for what, number in summary["counts"].items()]
    told.append(f"{count(summary['pages'], 'page')} got another importance.")
    if summary["sources"]:
        told.append(f"What new pages earn was observed on {count(summary['sources'], 'source')}.")
    return told


def _site(text: str) -> str:
    try:
        return base_url(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no address of a site: {error}") from None


def _period(text: str) -> Span:
    span = span_of(text)
    if span is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no period: write 2026-11-01..2026-11-30")
    return span
