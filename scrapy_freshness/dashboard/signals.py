"""Signals: who says that pages have changed, and was it true?"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from scrapy_freshness.dashboard.charts import Chart, Key
from scrapy_freshness.dashboard.desk import Asked
from scrapy_freshness.dashboard.svg import Drawing, even_ticks
from scrapy_freshness.insight.human import share
from scrapy_freshness.insight.truth import JUDGEMENTS, Quality, dates_of, honest, is_missing, say_nothing
from scrapy_freshness.model import PageKind, SignalSource
from scrapy_freshness.planning.signal_trust import signal_trust
from scrapy_freshness.storage import signal_reports
from scrapy_freshness.storage.signal_reports import SourceReport
from scrapy_freshness.storage.store import Store

#: Hosts and kinds of sources that are shown, those with most signals.
_MOST = 300
#: Rows of the chart, and the room for their names, in the letters of phones, too.
_MOST_ROWS, _NAMES = 24, 215
#: What the verdict on the dates of a sitemap means.
DATES = {
    "": "not polled yet",
    "usable": "usable",
    "no_dates": "has no dates",
    "future": "dates in the future",
    "same": "one date for all pages",
    "now": "always says “now”",
    "together": "all dates move together",
    **JUDGEMENTS,
}
#: How a sitemap or feed was found.
FOUND = {
    "setting": "named in a setting",
    "robots": "named in robots.txt",
    "usual": "found where sitemaps usually are",
    "index": "listed in a sitemap index",
    "page": "named on a page",
    "header": "named in a header of a page",
}
_CLASSES = {
    SignalSource.SITEMAP: "c1",
    SignalSource.FEED: "c3",
    SignalSource.PING: "c4",
}


def show(request: Request) -> Response:
    """The whole page."""
    asked = Asked(request)
    if asked.spider is None:
        return asked.answer("empty.html")
    spider = asked.spider
    told = asked.desk.remembered.answer(("signals", spider), lambda: _judged(asked, spider), soonest=5.0)
    return asked.answer(
        "signals.html", **told, found=FOUND, dates=DATES, judgements=JUDGEMENTS, are_bad=_are_bad
    )


def _judged(asked: Asked, spider: str) -> dict[str, Any]:
    """All sources with what they are worth, the worst first, and who is named at the top."""
    qualities, known = _qualities(asked, spider), _sources(asked.desk.store, spider)
    by_source = {(each.host, each.source): each for each in qualities}
    sources = [(each, dates_of(each, by_source)) for each in known if not is_missing(each)]
    sources.sort(key=lambda each: not _are_bad(*each))
    return {
        "sources": sources[:_MOST],
        "n_sources": len(sources),
        "n_missing": len(known) - len(sources),
        "qualities": qualities[:_MOST],
        "liars": [(each, _addresses(each, sources)) for each in qualities if each.is_lying],
        "bad_sources": [each for each in sources if say_nothing(each[1])],
        "honest": honest(qualities, sources),
        "useless": [each for each in qualities if each.is_useless],
        "n_early": sum(dates == "early" for _, dates in sources),
        "reliability": _reliability(qualities),
        "quality_chart": _quality_chart(qualities),
    }


def _sources(store: Store, spider: str) -> list[SourceReport]:
    """All sitemaps and feeds of a spider, those with most signals first."""
    own = [each for each in signal_reports.sources(store) if each.spider == spider]
    return sorted(own, key=lambda each: (-each.signals, each.url))


def _are_bad(source: SourceReport, dates: str) -> bool:
    """Whether the dates of a source are mostly false, or say nothing."""
    return say_nothing(dates) or (dates == "false" and source.kind is PageKind.SITEMAP)


def _addresses(liar: Quality, sources: list[tuple[SourceReport, str]]) -> list[str]:
    """The sitemaps that said what was found to be false."""
    if liar.source is not SignalSource.SITEMAP:
        return []
    return [each.url for each, dates in sources if each.host == liar.host and dates == "false"]


def _qualities(asked: Asked, spider: str) -> list[Quality]:
    """Counted and learned quality, most signals first."""
    store = asked.desk.store
    counts = {
        (each.host, each.source): each
        for each in signal_reports.signal_counts(store)
        if each.spider == spider
    }
    learned = {(each.host, each.source): each for each in signal_trust(store.load_groups(spider))}
    found = [Quality.of(key, counts.get(key), learned.get(key)) for key in counts.keys() | learned.keys()]
    return sorted(found, key=lambda each: (-each.heard, each.host, each.source))


def _reliability(qualities: list[Quality]) -> Chart | None:
    """What was believed of signals against what visits found after them: on the line, beliefs are right."""
    if not any(each.found and each.precision for each in qualities):
        return None
    drawing = Drawing.of((0.0, 1.0), (0.0, 1.0), height=320)
    drawing.y_axis(even_ticks(0.0, 1.0), _per_cent)
    drawing.x_axis(even_ticks(0.0, 1.0)[1:], _per_cent, "precision that is believed")
    drawing.line([0.0, 1.0], [0.0, 1.0], "c7 dashed")
    rows = []
    for each in qualities[:_MOST]:
        if each.found is None or each.precision is None:
            continue
        x, class_ = each.precision.value, _CLASSES[each.source]
        drawing.line([x, x], [each.found.low, each.found.high], f"{class_} faint")
        drawing.line([each.precision.low, each.precision.high], [each.found.value] * 2, f"{class_} faint")
        name = f"{each.host}, {each.source.name.lower()}"
        told = f"{name}: believed {share(x)}, found {share(each.found.value)} of {each.answered:,}"
        drawing.point(x, each.found.value, class_, told, 5)
        rows.append((name, share(x), share(each.found.value)))
    used = sorted({each.source for each in qualities})
    keys = [Key(source.name.lower(), _CLASSES[source]) for source in used]
    return Chart(drawing.svg("Reliability of signals"), keys, ["source", "believed", "found"], rows)


def _quality_chart(qualities: list[Quality]) -> Chart | None:
    """Precision and recall with their intervals, a row for each source."""
    shown = [each for each in qualities if each.precision is not None][:_MOST_ROWS]
    if not shown:
        return None
    height = 60 + 34 * len(shown)
    drawing = Drawing.of((0.0, 1.0), (0.0, 1.0), height=height, left=_NAMES)
    drawing.y = type(drawing.y)(0.0, len(shown), 8, height - 38)
    for tick in even_ticks(0.0, 1.0):
        x = drawing.x(tick)
        drawing.add("line", x1=x, x2=x, y1=8, y2=height - 38, class_="axis")
        drawing.add("text", _per_cent(tick), x=x, y=height - 20, text_anchor="middle", class_="tick")
    rows = []
    for row, each in enumerate(shown):
        name = f"{each.host} · {each.source.name.lower()}"
        drawing.add(
            "text",
            _short(name),
            x=_NAMES - 10,
            y=drawing.y(row + 0.5) + 4,
            text_anchor="end",
            class_="tick strong",
        )
        for part, class_, place in ((each.precision, "c1", 0.35), (each.recall, "c3", 0.65)):
            assert part is not None
            drawing.bar(part.low, part.high, row + place - 0.09, row + place + 0.09, f"{class_} faint", gap=0)
            drawing.point(part.value, row + place, class_, _told(part), 4.5)
        rows.append((name, _told(each.precision), _told(each.recall)))
    keys = [
        Key("precision: signals that announce a change", "c1"),
        Key("recall: changes that are announced", "c3"),
    ]
    return Chart(
        drawing.svg("Precision and recall of signals"), keys, ["source", "precision", "recall"], rows
    )


def _told(part: Any) -> str:
    return f"{share(part.value)} ({share(part.low)}–{share(part.high)})"


def _per_cent(tick: float) -> str:
    return f"{100 * tick:g} %"


def _short(name: str) -> str:
    return name if len(name) <= 26 else f"{name[:12]}…{name[-13:]}"
