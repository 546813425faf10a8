"""`scrapy freshness import clicks`."""

import argparse
from typing import Any

from scrapy_freshness.commands.context import Context
from scrapy_freshness.commands.importing import Kind, number_of
from scrapy_freshness.imports.access_log import AccessLog
from scrapy_freshness.imports.click_sink import ClickSink
from scrapy_freshness.imports.click_tables import table_formats
from scrapy_freshness.imports.clicks import ClickBatch, Span, span_of
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
    sink = ClickSink(store, number_of)
    return Kind(
        name="clicks",
        formats=[log, *table_formats(now, options.period)],
        sink=sink,
        adds=True,
        finish=lambda context: {"counts": dict(sink.counts)},
        told=_told,
    )


def _told(summary: dict[str, Any]) -> list[str]:
    return [f"{number:,} {what}" for what, number in summary["counts"].items()]


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
