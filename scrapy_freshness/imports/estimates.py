"""What clicks tell: importances of pages, and what the pages of sources earn.

Both are in one unit: requests per second for what is known, requests per page for what is to be found. What
somebody has given counts more than what clicks tell. All is computed from the sums in the database, and
written back in short transactions, so that a crawl may go on.
"""

import json
import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.click_curves import SourceProfits, observed_pages, source_profits
from scrapy_freshness.estimation.click_rates import PESSIMISM, Coverage, Rates, request_rates
from scrapy_freshness.estimation.click_sums import N_BINS, WEEK_SECONDS
from scrapy_freshness.estimation.profit import Profits
from scrapy_freshness.imports.rules import Prefixes
from scrapy_freshness.model import PageKind
from scrapy_freshness.storage import click_rows, estimate_rows
from scrapy_freshness.storage.estimate_rows import PageClicks
from scrapy_freshness.storage.importance_rows import (
    ASSUMED,
    BY_CLICKS,
    BY_LINKS,
    BY_RULE,
    GIVEN,
    write_importances,
)
from scrapy_freshness.storage.store import Store

FloatArray = NDArray[np.float64]

#: Pages that are written in one transaction.
_AT_ONCE = 10_000
#: An importance is written only if it is another by more than this share.
_NEARLY = 0.01
_RATE, _PROFIT = struct.Struct("<d"), struct.Struct("<dddd")


@dataclass(slots=True)
class Estimated:
    """What was estimated, of all spiders."""

    pages: int = 0  #: with another importance than before
    sources: int = 0  #: with profits of their own


def refresh_estimates(store: Store, importance: str = "clicks") -> Estimated:
    """Estimate everything anew; *importance* is the setting: clicks, links or equal."""
    done = Estimated()
    with store.writing() as connection:
        estimate_rows.hand_over(connection)
        click_rows.prune_waiting(connection)
    prefixes = Prefixes(rule for rule in store.load_rules() if rule.is_prefix)
    with store.reading() as connection:
        spans = click_rows.load_spans(connection)
        by_age = estimate_rows.load_source_clicks(connection)
        names = estimate_rows.host_names_by_id(connection)
    covered = {host_id: Coverage(each) for host_id, each in spans.items()}
    for spider in store.spiders():
        with store.reading() as connection:
            pages = estimate_rows.load_page_clicks(connection, spider)
        hosts, host = np.unique(pages.host_id, return_inverse=True)
        rates = _rates(pages, hosts, host, covered) if importance == "clicks" else None
        done.pages += _write_importances(
            store, spider, pages, _importances(pages, rates, importance), prefixes
        )
        groups = _importance_groups(rates, [names[each] for each in hosts.tolist()])
        done.sources += _note_profits(groups, pages, by_age, covered, names)
        with store.writing() as connection:
            estimate_rows.replace_groups(connection, spider, ("importance", "profits"), groups)
    return done


def _rates(
    pages: PageClicks, hosts: NDArray[np.int64], host: NDArray[np.intp], covered: dict[int, Coverage]
) -> Rates | None:
    """Requests per second of pages, as of the last time that any log covers."""
    logs = {place: covered[each] for place, each in enumerate(hosts.tolist()) if each in covered}
    if not logs:
        return None
    week = int(max(log.end for log in logs.values()) // WEEK_SECONDS)
    # A page that a source has shown was born then; of others it is not known, they may be old.
    since = np.where(pages.found_on > 0, pages.discovered_at, -np.inf)
    seconds = np.zeros(len(host))
    for place, log in logs.items():
        rows = np.flatnonzero(host == place)
        seconds[rows] = log.faded_seconds(since[rows], week)
    clicks = np.ldexp(pages.clicks, np.clip(pages.week - week, -1000, 0))
    clicks = np.where(np.isin(host, list(logs)), clicks, 0.0)
    return request_rates(clicks, seconds, host, len(hosts))


def _importances(pages: PageClicks, rates: Rates | None, importance: str) -> tuple[FloatArray, int]:
    """Importances that nobody has given, and where they come from."""
    if rates is not None:
        return rates.page, BY_CLICKS
    if importance == "links" and pages.in_links.any():
        return (1.0 + pages.in_links) / (1.0 + pages.in_links.mean()), BY_LINKS
    return np.ones(len(pages.page_id)), ASSUMED


def _write_importances(
    store: Store, spider: str, pages: PageClicks, estimated: tuple[FloatArray, int], prefixes: Prefixes
) -> int:
    values, origin = estimated[0].copy(), np.full(len(pages.page_id), estimated[1])
    if prefixes:
        order = np.argsort(pages.page_id)
        with store.reading() as connection:
            for rows in estimate_rows.urls_of(connection, spider):
                for page_id, url in rows:
                    rule = prefixes.importance_of(url)
                    if rule is not None:
                        place = order[np.searchsorted(pages.page_id, page_id, sorter=order)]
                        values[place], origin[place] = rule, BY_RULE
    differs = np.abs(values - pages.importance) > _NEARLY * pages.importance
    differs = (differs | (origin != pages.importance_from)) & (pages.importance_from != GIVEN)
    changed = np.flatnonzero(differs)
    for start in range(0, len(changed), _AT_ONCE):
        part = changed[start : start + _AT_ONCE]
        columns = (pages.page_id[part], values[part], origin[part])
        with store.writing() as connection:
            write_importances(connection, zip(*(column.tolist() for column in columns), strict=True))
    return len(changed)


def _importance_groups(rates: Rates | None, hosts: list[str]) -> dict[str, bytes]:
    """Of pages that come: the mean of their host, or of all."""
    if rates is None:
        return {}
    groups = {
        _name("importance", host): _RATE.pack(rate)
        for host, rate in zip(hosts, rates.host.tolist(), strict=True)
    }
    return groups | {_name("importance"): _RATE.pack(PESSIMISM * rates.mean)}


def _note_profits(
    groups: dict[str, bytes],
    pages: PageClicks,
    by_age: tuple[NDArray[np.int64], NDArray[np.int64], FloatArray],
    covered: dict[int, Coverage],
    names: dict[int, str],
) -> int:
    """Add what sources earn to the groups; returns of how many."""
    rows = np.flatnonzero((pages.kind == PageKind.SOURCE) | np.isin(pages.page_id, np.unique(pages.found_on)))
    sources = pages.page_id[rows]
    if not len(sources) or not len(by_age[0]):
        return 0
    order = np.argsort(sources)
    clicks, observed = np.zeros((len(sources), N_BINS)), np.zeros((len(sources), N_BINS))
    place, is_ours = _places(sources, order, by_age[0])
    np.add.at(clicks, (place[is_ours], by_age[1][is_ours]), by_age[2][is_ours])
    found = np.flatnonzero(pages.found_on > 0)
    for host_id, log in covered.items():
        some = found[pages.host_id[found] == host_id]
        place, is_ours = _places(sources, order, pages.found_on[some])
        observed += observed_pages(pages.discovered_at[some[is_ours]], place[is_ours], len(sources), log)
    hosts, host = np.unique(pages.host_id[rows], return_inverse=True)
    profits = source_profits(clicks, observed, host, len(hosts))
    if profits is None:
        return 0
    groups.update(
        _profit_groups(profits, sources, [names[each] for each in hosts.tolist()], host, observed, clicks)
    )
    return int(np.count_nonzero(observed.any(axis=1)))


def _places(
    keys: NDArray[np.int64], order: NDArray[np.intp], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where numbers are among keys, and whether they are there at all."""
    found = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return found, keys[found] == wanted


def _profit_groups(
    profits: SourceProfits,
    sources: NDArray[np.int64],
    names: list[str],
    host: NDArray[np.intp],
    pages: FloatArray,
    clicks: FloatArray,
) -> dict[str, bytes]:
    groups = {_name("profits"): _packed(profits.anywhere, 0, 0.0, 0.0)}
    groups |= {_name("profits", name): _packed(profits.host, row, 0.0, 0.0) for row, name in enumerate(names)}
    for row, page_id in enumerate(sources.tolist()):
        name = _name("profits", names[host[row]], str(page_id))
        groups[name] = _packed(profits.source, row, pages[row, 0], clicks[row].sum())
    return groups


def _packed(profits: Profits, row: int, pages: float, clicks: float) -> bytes:
    return _PROFIT.pack(profits.profit[row], profits.decay[row], pages, clicks)


def _name(*parts: str) -> str:
    return json.dumps(parts, ensure_ascii=False)
