"""Importances of pages, from clicks, from links to them, from feeds that show them, or all equal."""

import struct

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.click_rates import PESSIMISM, Coverage, Rates, request_rates
from scrapy_freshness.estimation.click_sums import WEEK_SECONDS
from scrapy_freshness.planning.importances import Importances
from scrapy_freshness.planning.learning import group_name
from scrapy_freshness.planning.table import rows_of
from scrapy_freshness.storage import estimate_rows
from scrapy_freshness.storage.estimate_rows import PageClicks
from scrapy_freshness.storage.importance_rows import (
    ASSUMED,
    BY_CLICKS,
    BY_FEEDS,
    BY_LINKS,
    BY_RULE,
    EQUAL,
    GIVEN,
    write_importances,
)
from scrapy_freshness.storage.store import Store

FloatArray = NDArray[np.float64]

#: Pages that are written in one transaction.
_AT_ONCE = 10_000
#: An importance is written only if it is another by more than this share.
_NEARLY = 0.01
_RATE = struct.Struct("<d")
_BY_BEGINNING = np.dtype([("page_id", np.int64), ("importance", np.float64)])


def rates_of(pages: PageClicks, covered: dict[int, Coverage]) -> Rates | None:
    """Requests per second of pages, as of the last time that any log covers; None without clicks."""
    hosts, host = np.unique(pages.host_id, return_inverse=True)
    logs = {place: covered[each] for place, each in enumerate(hosts.tolist()) if each in covered}
    if not logs:
        return None
    week = int(max(log.end for log in logs.values()) // WEEK_SECONDS)
    # A page that a source has shown was born then; of others it is not known, they may be old.
    since = np.where(pages.found_on > 0, pages.discovered_at, -np.inf)
    order = np.argsort(host, kind="stable")
    ends = np.searchsorted(host[order], np.arange(len(hosts) + 1))
    clicks, seconds = np.zeros(len(host)), np.zeros(len(host))
    for place, log in logs.items():
        rows = order[ends[place] : ends[place + 1]]
        clicks[rows] = _faded(pages.clicks[rows], pages.week[rows], week)
        seconds[rows] = log.faded_seconds(since[rows], week)
    return request_rates(clicks, seconds, host, len(hosts))


def importances_of(pages: PageClicks, rates: Rates | None, importance: str) -> tuple[FloatArray, int]:
    """Importances of pages for which nobody has given any, and where they come from.

    What new pages of sources earn is known from clicks, if there are any. So a page is asked for as often as
    clicks say on average, also where they do not tell one page from another.
    """
    if rates is not None and importance == "clicks":
        return rates.page, BY_CLICKS
    usual = 1.0 if rates is None else rates.mean
    if importance == "links" and pages.in_links.any():
        return usual * _by_count(pages.in_links), BY_LINKS
    if importance == "feeds" and pages.feeds.any():
        feeds = _faded(pages.feeds, pages.feed_week, int(pages.feed_week.max()))
        return usual * _by_count(feeds), BY_FEEDS
    return np.full(len(pages.page_id), usual), EQUAL


def _by_count(tellers: NDArray[np.int64] | FloatArray) -> FloatArray:
    """A page that nobody tells of counts once, others once more for each who does; 1 on average."""
    counts = 1.0 + tellers
    return np.asarray(counts / counts.mean(), np.float64)


def _faded(counts: FloatArray, week: NDArray[np.int64], now: int) -> FloatArray:
    """What was counted in units of a week, in those of a later week: half as much for each between."""
    faded: FloatArray = np.ldexp(counts, np.clip(week - now, -1000, 0))
    return faded


def write_changed(
    store: Store,
    spider: str,
    pages: PageClicks,
    importances: FloatArray,
    origin: int,
    given: Importances | None,
) -> int:
    """Write importances that are others now; what was *given* to beginnings of addresses counts more."""
    values, origins = importances.copy(), np.full(len(importances), origin)
    if given is not None:
        found = _given_by_beginnings(store, spider, given)
        rows = rows_of(pages.page_id, found["page_id"])
        is_loaded = rows >= 0  # a crawl may have found more since
        values[rows[is_loaded]], origins[rows[is_loaded]] = found["importance"][is_loaded], BY_RULE
    differs = np.abs(values - pages.importance) > _NEARLY * pages.importance
    is_from_elsewhere = (origins != pages.importance_from) & (
        (origins != EQUAL) | (pages.importance_from != ASSUMED)
    )
    # What is fetched for its links only has an importance of 0.
    may_differ = (pages.importance_from != GIVEN) & (pages.importance > 0)
    changed = np.flatnonzero((differs | is_from_elsewhere) & may_differ)
    for start in range(0, len(changed), _AT_ONCE):
        part = changed[start : start + _AT_ONCE]
        columns = (pages.page_id[part], values[part], origins[part])
        with store.writing() as connection:
            write_importances(connection, zip(*(column.tolist() for column in columns), strict=True))
    return len(changed)


def _given_by_beginnings(store: Store, spider: str, given: Importances) -> NDArray[np.void]:
    """Pages whose addresses begin as importances were given for."""
    found = [np.empty(0, _BY_BEGINNING)]
    with store.reading() as connection:
        for rows in estimate_rows.urls_of(connection, spider):
            values = ((page_id, given.by_beginning(url)) for page_id, url in rows)
            found.append(np.array([each for each in values if each[1] is not None], _BY_BEGINNING))
    return np.concatenate(found)


def importance_groups(
    pages: PageClicks, rates: Rates | None, names: dict[int, str], importance: str
) -> dict[str, bytes]:
    """Importances of pages that come: the mean of their host, or of all."""
    if rates is None:
        return {}
    if importance != "clicks":
        return {group_name("importance", ()): _RATE.pack(rates.mean)}
    groups = {group_name("importance", ()): _RATE.pack(PESSIMISM * rates.mean)}
    for host_id, rate in zip(np.unique(pages.host_id).tolist(), rates.host.tolist(), strict=True):
        groups[group_name("importance", (names[host_id],))] = _RATE.pack(rate)
    return groups
