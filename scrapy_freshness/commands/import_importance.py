"""`scrapy freshness import importance`."""

import argparse
from typing import Any

from scrapy_freshness.commands.context import Context
from scrapy_freshness.commands.importing import Kind, number_of
from scrapy_freshness.imports.clearing import clear as clear_imports
from scrapy_freshness.imports.estimates import refresh_estimates
from scrapy_freshness.imports.importance import Importance, formats
from scrapy_freshness.imports.importance_sink import ImportanceSink
from scrapy_freshness.insight.human import count
from scrapy_freshness.storage.importance_rows import MOST_RULES
from scrapy_freshness.storage.store import Store


def add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def kind(context: Context, store: Store, options: argparse.Namespace) -> Kind[list[Importance]]:
    sink = ImportanceSink(store, number_of)

    def finish(context: Context) -> dict[str, Any]:
        with context.progress("Estimating"):
            others = refresh_estimates(store, context.config.importance)
        return {"pages": sink.pages, "kept": sink.waiting, "refused": sink.refused, "others": others.pages}

    return Kind(
        name="importance",
        formats=formats(),
        sink=sink,
        adds=False,
        finish=finish,
        told=_told,
    )


def clear(context: Context, store: Store) -> tuple[int, str]:
    """Forget all importances that were given."""
    n = clear_imports(store, "importance", context.config.importance)
    return n, f"Forgot {count(n, 'importance')}."


def _told(summary: dict[str, Any]) -> list[str]:
    told = [f"{count(summary['pages'], 'page')} got an importance."]
    if summary["kept"]:
        told.append(f"{count(summary['kept'], 'importance')} kept for pages that are not known yet.")
    if summary["refused"]:
        told.append(f"{count(summary['refused'], 'importance')} not kept: there is room for {MOST_RULES:,}.")
    if summary["others"]:
        told.append(
            f"{count(summary['others'], 'page')} got one by the beginning of the address, or by an estimate."
        )
    return told
