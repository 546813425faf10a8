"""Tables of clicks: plain ones, and those that Matomo and Google Search Console export.

* Matomo, Visitors > Pages, or ``method=Actions.getPageUrls&flat=1&format=CSV``: the address is in
  ``metadata_url`` (translated: ``Metadata: url``), the clicks in ``nb_hits`` (``Pageviews``). With several
  periods there is a column ``date``; without it, the file does not say when.
* Search Console, Performance > Export > CSV, ``Pages.csv``: ``Top pages,Clicks,Impressions,CTR,Position``,
  and not when. Exports of its API have columns ``page``, ``date`` and ``clicks``, the bulk export ``url``,
  ``data_date`` and ``clicks``.
"""

from functools import partial

from scrapy_freshness.imports.clicks import ClickBatch, ClickRows, Span
from scrapy_freshness.imports.contract import Format
from scrapy_freshness.imports.tables import Csv, Field, JsonLines

_PLAIN = (
    Field("url", ("page", "address", "uri", "location")),
    Field("time", ("timestamp", "datetime", "date", "at", "when", "ts", "day")),
    Field(
        "count", ("clicks", "hits", "views", "pageviews", "n", "requests"), is_needed=False, is_number=True
    ),
)
_MATOMO = (
    Field("metadata_url", ("metadata: url",)),
    Field("date", is_needed=False),
    Field("nb_hits", ("pageviews", "nb_visits", "unique pageviews")),
)
_SEARCH_CONSOLE = (
    Field("top pages", ("page", "pages", "url", "landing page")),
    Field("date", ("data_date",), is_needed=False),
    Field("clicks", ("url clicks",)),
)


class Matomo(Csv[ClickBatch]):
    """The report on pages of Matomo."""

    name = "matomo"


class SearchConsole(Csv[ClickBatch]):
    """The report on pages of Google Search Console."""

    name = "search-console"


def table_formats(now: float, period: Span | None) -> list[Format[ClickBatch]]:
    """How tables of clicks may be written; *period* is the time of those that do not say when."""

    new_sink = partial(ClickRows, now, period)
    return [
        JsonLines(_PLAIN, new_sink),
        Matomo(_MATOMO, new_sink, needs_header=True),
        SearchConsole(_SEARCH_CONSOLE, new_sink, needs_header=True),
        Csv(_PLAIN, new_sink),
    ]
