"""How soon were the links found that appeared on hubs?

A link is known by its address and appears when any hub of the web first shows it. Those that a hub shows in
its first version, or before the start, were there already and do not count. A link is found by the first
fetch of a hub that shows it at that time; one that is gone before it is looked for is never found.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.simulator.recorded_links import LinkHistory
from scrapy_freshness.simulator.trial import Trial

FloatArray = NDArray[np.float64]

#: Mean life of the profit of a link. On the front page of Hacker News the votes that are still to come fall
#: like exp(-age / 4.8 h), where the age counts from the first look that shows the link.
LINK_LIFE_SECONDS = 5 * 3600.0


@dataclass(frozen=True, slots=True, eq=False)
class LinkFinds:
    """Links that appeared on the hubs of a web during a trial; one element a link."""

    appeared: FloatArray
    found: FloatArray  #: inf if never
    profit: FloatArray  #: of finding the link at once
    page: NDArray[np.int64]  #: the hub that showed the link first

    @classmethod
    def of(cls, trial: Trial) -> "LinkFinds":
        """The links that appeared from start to end, and when the fetches of the trial found them."""
        parts: list[tuple[FloatArray, ...]] = [(np.empty(0),) * 4]
        numbers: dict[str, int] = {}  # over all hubs
        names, hubs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for hub, (page, times) in enumerate(trial.fetches()):
            if page.links is None:
                continue
            found = page.links.first_found(page.versions_at(times), times)
            was_there = page.links.first_seen <= page.times[0]
            parts.append((page.links.first_seen, was_there.astype(float), found, link_profits(page.links)))
            names.append(np.array([numbers.setdefault(url, len(numbers)) for url in page.links.urls], int))
            hubs.append(np.full(len(page.links.urls), hub))
        appeared, was_there, found, profit = (np.concatenate(column) for column in zip(*parts, strict=True))
        name = np.concatenate(names)
        earliest = np.full(len(numbers), np.inf)
        np.minimum.at(earliest, name, found)
        # The first appearance of each link; if it is in the first version of any hub, then there.
        order = np.lexsort((-was_there, appeared, name))
        first = order[np.unique(name[order], return_index=True)[1]]
        counts = (was_there[first] == 0) & (appeared[first] > trial.start) & (appeared[first] <= trial.end)
        shown_by = np.concatenate(hubs)[first]
        return cls(appeared[first][counts], earliest[counts], profit[first][counts], shown_by[counts])

    @property
    def delays(self) -> FloatArray:
        """Seconds from appearance to find, of those that were found."""
        return (self.found - self.appeared)[np.isfinite(self.found)]

    def earned(self, life_seconds: float = LINK_LIFE_SECONDS) -> FloatArray:
        r"""What each link earned: :math:`P e^{-\mu d}` of its profit P if it was found after a delay d [1]_.

        The mean life :math:`1/\mu` of a profit is *life_seconds*.

        References
        ----------
        .. [1] Lefortier et al., Timely crawling of high-quality ephemeral new content, 2013
        """
        if not life_seconds > 0:
            raise ValueError(f"the mean life of a link's profit must be above 0, got {life_seconds}")
        return self.profit * np.exp((self.appeared - self.found) / life_seconds)


def new_links_found(finds: LinkFinds) -> float:
    """Share of the links that were found; nan if none appeared."""
    return float(np.isfinite(finds.found).mean()) if finds.found.size else float("nan")


def link_delay_seconds(finds: LinkFinds, percent: float) -> float:
    """Percentile of the time from the appearance of a link until it was found; nan if none was.

    Links that were never found are left out: read it together with :func:`new_links_found`.
    """
    return float(np.percentile(finds.delays, percent)) if finds.delays.size else float("nan")


def profit(finds: LinkFinds, life_seconds: float = LINK_LIFE_SECONDS) -> float:
    """Share of the profit of a crawler that finds every link at once; nan if none appeared."""
    earned = finds.earned(life_seconds)
    return float(earned.sum() / finds.profit.sum()) if finds.profit.sum() > 0 else float("nan")


def link_profits(links: LinkHistory) -> FloatArray:
    """What each link of a hub is worth: its highest score, or 1 / its best place on a hub without scores.

    Votes only grow, so the highest score is the final one; of a heat that comes and goes it is the peak. The
    mean over all links of a hub is 1, so that hubs that count in votes and hubs that count in
    thousands weigh the same.
    """
    if np.isfinite(links.best_score).any():
        worth = np.maximum(np.nan_to_num(links.best_score), 0.0)
    else:
        worth = 1.0 / links.best_rank
    mean = worth.mean() if worth.size else 0.0
    return worth / mean if mean > 0 else np.ones(len(links.urls))
