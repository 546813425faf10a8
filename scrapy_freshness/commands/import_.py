"""Take over what others know about pages, from files.

clicks       requests for pages: access logs (Common or Combined Log Format),
             CSV or JSON Lines with url, time and count, exports of Matomo and
             Search Console
importance   how important pages are: CSV or JSON Lines with url and
             importance; a url that ends with * is for all that begin so
queries      what searchers ask for: lines, CSV or JSON Lines, exports of
             search logs

FILE may be compressed with gzip or zstd; - is standard input. An import that
was killed is gone on with, also if FILE was renamed or compressed since. Clicks
and queries count once: a log that has grown brings its new lines only.
Importances are set: those of the last file count. A crawl may go on meanwhile,
and takes over what is new within a minute. --clear takes back all that was
imported of a kind, while no crawl runs.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scrapy_freshness.commands import import_clicks, import_importance, import_queries
from scrapy_freshness.commands.context import Context
from scrapy_freshness.commands.importing import Kind
from scrapy_freshness.errors import InputError
from scrapy_freshness.imports.contract import Format
from scrapy_freshness.imports.run import Imported, import_file
from scrapy_freshness.imports.stream import STDIN
from scrapy_freshness.insight.human import clipped, count, safe, size
from scrapy_freshness.model import ImportProgress
from scrapy_freshness.storage.store import Store

#: Kind of import -> its module, which has `add_options(parser)`, `kind(context, store, options)` and
#: `clear(context, store)`, which forgets all of it and returns how much, as a number and as a sentence.
KINDS: dict[str, Any] = {
    "clicks": import_clicks,
    "importance": import_importance,
    "queries": import_queries,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=" or ".join(KINDS))
    parser.add_argument("files", nargs="*", metavar="FILE", help="file, or - for standard input")
    parser.add_argument("--format", metavar="NAME", help="how the file is written; default: found out")
    parser.add_argument(
        "--clear", action="store_true", help="forget all that was imported of this kind; takes no FILE"
    )
    parser.add_argument("--again", action="store_true", help="as if it had never been imported")
    for module in KINDS.values():
        module.add_options(parser)


def run(context: Context, options: argparse.Namespace) -> int:
    if options.clear == bool(options.files):
        raise InputError("import takes files, or --clear without any")
    if options.clear:
        _clear(context, options.kind)
        return 0
    with context.store_beside_crawls() as store:
        kind: Kind[Any] = KINDS[options.kind].kind(context, store, options)
        formats = _formats(kind, options.format)
        try:
            found = [_imported(context, store, kind, formats, name, options.again) for name in options.files]
        except InputError:
            kind.finish(context)  # what was imported before it counts
            raise
        summary = kind.finish(context)
    if context.as_json:
        files = [_described(imported) for imported in found]
        context.print_json({"kind": options.kind, "files": files, **summary})
    else:
        for imported in found:
            _print(context, imported)
        for line in kind.told(summary):
            context.say(line)
    return 0


def _clear(context: Context, kind: str) -> None:
    with context.store_without_crawls() as store, context.progress("Estimating"):
        n, told = KINDS[kind].clear(context, store)
    if context.as_json:
        context.print_json({"kind": kind, "cleared": n})
    else:
        context.say(told)


def _formats(kind: Kind[Any], name: str | None) -> Sequence[Format[Any]]:
    if name is None:
        return kind.formats
    chosen = [each for each in kind.formats if each.name == name]
    if not chosen:
        names = ", ".join(each.name for each in kind.formats)
        raise InputError(f"there is no format {safe(name)} of {kind.name}: choose one of {names}")
    return chosen


def _imported(
    context: Context, store: Store, kind: Kind[Any], formats: Sequence[Format[Any]], name: str, again: bool
) -> Imported:
    def may_go_on(progress: ImportProgress) -> bool:
        # What is set, and not added, may be set once more: only what was interrupted is gone on with.
        return not again and (kind.adds or not progress.is_done)

    known = store.load_imports(kind.name)
    total = Path(name).stat().st_size if name != STDIN and Path(name).is_file() else None
    with context.progress(f"Importing {clipped(safe(name), 40)}", total) as advance:
        return import_file(
            name,
            kind.name,
            formats,
            kind.sink,
            known,
            context.clock,
            may_go_on=may_go_on,
            advance=advance,
        )


def _described(imported: Imported) -> dict[str, Any]:
    progress = imported.progress
    return {
        "file": progress.name,
        "format": progress.format,
        "bytes": progress.position,
        "known_bytes": imported.resumed_at,
        "lines": imported.lines,
        "bad_lines": imported.bad.total(),
        "bad": dict(imported.bad),
        "doubts": dict(imported.doubts),
        "shown": [{"line": line, "reason": reason, "text": text} for line, reason, text in imported.shown],
    }


def _print(context: Context, imported: Imported) -> None:
    progress, n_bad = imported.progress, imported.bad.total()
    name = safe(progress.name)
    if not imported.lines and imported.resumed_at:
        context.say(f"{name}: nothing new, all {size(progress.position)} were imported before.")
        return
    read = f"{count(imported.lines, 'line')} ({progress.format})"
    known = f", after {size(imported.resumed_at)} that were imported before" if imported.resumed_at else ""
    context.say(f"{name}: {read}{known}.")
    if n_bad:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in imported.bad.most_common())
        context.say(f"{count(n_bad, 'line')} could not be used: {reasons}.", style="yellow")
        for line, reason, text in imported.shown:
            context.say(f"  line {line:,}: {reason}: {safe(text)}", style="dim")
    for doubt, n in imported.doubts.most_common():
        context.say(f"{count(n, 'line')} with {doubt}.", style="yellow")
