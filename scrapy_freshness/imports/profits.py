"""What the pages of sources earn, from clicks by age."""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.click_curves import observed_pages, source_profits
from scrapy_freshness.estimation.click_rates import Coverage
from scrapy_freshness.estimation.click_sums import N_BINS
from scrapy_freshness.estimation.profit import Profits
from scrapy_freshness.model import PageKind
from scrapy_freshness.planning.learning import group_name
from scrapy_freshness.planning.link_learner import PROFIT_STATE
from scrapy_freshness.storage.estimate_rows import PageClicks

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def profit_groups(
    pages: PageClicks,
    by_age: tuple[IntArray, IntArray, FloatArray],
    covered: dict[int, Coverage],
    names: dict[int, str],
) -> tuple[int, dict[str, bytes]]:
    """Profit and decay of sources, of others of their hosts, and of any, for the learner of links.

    Parameters
    ----------
    by_age : source, age bin and clicks
    covered : the time that logs cover, by host id
    names : of hosts, by id

    Returns
    -------
    Of how many sources any pages were observed, and what is known of them.
    """
    has_shown = np.isin(pages.page_id, np.unique(pages.found_on))
    rows = np.flatnonzero((pages.kind == PageKind.SOURCE) | has_shown)
    sources = pages.page_id[rows]
    if not len(sources) or not len(by_age[0]):
        return 0, {}
    clicks, observed = np.zeros((len(sources), N_BINS)), np.zeros((len(sources), N_BINS))
    place, is_ours = _places(sources, by_age[0])
    np.add.at(clicks, (place[is_ours], by_age[1][is_ours]), by_age[2][is_ours])
    found = np.flatnonzero(pages.found_on > 0)
    for host_id, log in covered.items():
        some = found[pages.host_id[found] == host_id]
        place, is_ours = _places(sources, pages.found_on[some])
        observed += observed_pages(pages.discovered_at[some[is_ours]], place[is_ours], len(sources), log)
    hosts, host = np.unique(pages.host_id[rows], return_inverse=True)
    profits = source_profits(clicks, observed, host, len(hosts))
    if profits is None:
        return 0, {}
    host_names = [names[each] for each in hosts.tolist()]
    groups = {group_name("profits", ()): _packed(profits.anywhere, 0)}
    for row, name in enumerate(host_names):
        groups[group_name("profits", (name,))] = _packed(profits.host, row)
    for row, page_id in enumerate(sources.tolist()):
        name = group_name("profits", (host_names[host[row]], str(page_id)))
        groups[name] = _packed(profits.source, row, observed[row, 0], clicks[row].sum())
    return int(np.count_nonzero(observed.any(axis=1))), groups


def _places(keys: IntArray, wanted: IntArray) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where numbers are among keys, and whether they are there at all."""
    order = np.argsort(keys)
    found = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return found, keys[found] == wanted


def _packed(profits: Profits, row: int, pages: float = 0.0, clicks: float = 0.0) -> bytes:
    return PROFIT_STATE.pack(profits.profit[row], profits.decay[row], pages, clicks)
