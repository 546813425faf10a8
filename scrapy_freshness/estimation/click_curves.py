"""How many clicks does a page of a source have by some age?  From sums by age and the time that logs cover.

A page counts for an age only as far as a log covers the time when it had that age. In each bin of ages a
source has so many clicks for so many pages; mean clicks by an age are the sum of these ratios over the bins
before it. So young pages tell about young ages, and nobody waits until they are old.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.click_rates import Coverage
from scrapy_freshness.estimation.click_sums import N_BINS
from scrapy_freshness.estimation.profit import BIN_SECONDS, Profits, fit_grouped_profits

FloatArray = NDArray[np.float64]

#: Pages that are looked at together.
_CHUNK = 10_000


class SourceProfits(NamedTuple):
    """What sources earn, and what is believed of others."""

    source: Profits  #: one element a source
    host: Profits  #: one element a host: of a source there of which nothing else is known
    anywhere: Profits  #: one element: of a source on another host


def observed_pages(
    born: FloatArray, source: NDArray[np.intp], n_sources: int, coverage: Coverage
) -> FloatArray:
    """Pages of each source that a log has observed in each bin of ages, in parts where it covers a part.

    Examples
    --------
    >>> log = Coverage([(0.0, 3000.0)])
    >>> observed_pages(np.array([0.0, 600.0]), np.array([0, 0]), 1, log)[0, :4].tolist()
    [2.0, 2.0, 0.5, 0.0]
    """
    edges = BIN_SECONDS * np.arange(N_BINS + 1)
    seconds = coverage.seconds_before(born + edges[-1]) - coverage.seconds_before(born)
    # Most pages are observed all the time or not at all.
    is_whole = seconds >= edges[-1]
    pages = np.repeat(np.bincount(source[is_whole], minlength=n_sources)[:, None], N_BINS, axis=1).astype(
        float
    )
    is_partly = ~is_whole & (seconds > 0)
    born, source = born[is_partly], source[is_partly]
    for start in range(0, len(born), _CHUNK):
        part = slice(start, start + _CHUNK)
        covered = coverage.seconds_before((born[part, None] + edges).reshape(-1)).reshape(-1, N_BINS + 1)
        np.add.at(pages, source[part], np.diff(covered, axis=1) / BIN_SECONDS)
    return pages


def source_profits(
    clicks: FloatArray, pages: FloatArray, host: NDArray[np.intp], n_hosts: int
) -> SourceProfits | None:
    """Profits and decays of sources; None if there is not a click.

    Parameters
    ----------
    clicks : (sources, bins) array, clicks on pages of that age
    pages : (sources, bins) array, `observed_pages`
    host : (sources,) array, number of the source's host, below *n_hosts*
    """
    if not clicks.any() or not pages.any():
        return None
    everywhere = clicks.sum(axis=0) / np.maximum(pages.sum(axis=0), 1e-9)
    # Where a source was not observed at an age, its pages are taken to be like those of others.
    in_bin = np.where(pages > 0, clicks / np.maximum(pages, 1e-9), everywhere)
    return SourceProfits(*fit_grouped_profits(np.cumsum(in_bin, axis=1), pages, host, n_hosts))
