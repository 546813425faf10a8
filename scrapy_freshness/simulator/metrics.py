"""How good was a sequence of fetches of a recorded web?

Every measure is over the time in which a page is there: from its first version (or the start) until the
record of its source ends (or the end), without the times at which it is gone, when there is nothing to be
identical to. A page counts by this time, and by its importance where that is given. All measures are exact
at the resolution of the record (`recorded_page`).
"""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.simulator.trial import Trial

FloatArray = NDArray[np.float64]


def freshness(trial: Trial, importance: FloatArray | None = None) -> float:
    """Share of the pages, averaged over time, whose copy is identical to the live page; nan without pages.

    A page that returns to the content of the copy is fresh again.
    """
    spans = trial.spans
    return _mean(spans.is_same.astype(np.float64), trial, importance)


def fragment_freshness(trial: Trial, importance: FloatArray | None = None) -> float:
    """Share of fragments, 1 - divergence, that copies have in common with the live pages, averaged over time.

    The divergence is 1 - the exact Jaccard index of the sets of fragments; 1 without a copy.
    """
    spans = trial.spans
    common = spans.is_same.astype(np.float64)
    (differing,) = (spans.is_there & ~spans.is_same & (spans.copy >= 0)).nonzero()
    columns = (column[differing].tolist() for column in (spans.page, spans.copy, spans.live))
    pages = trial.web.pages
    common[differing] = [
        1.0 - pages[page].divergence(copy, live) for page, copy, live in zip(*columns, strict=True)
    ]
    return _mean(common, trial, importance)


def mean_age_seconds(trial: Trial, importance: FloatArray | None = None) -> float:
    """Mean time since copies stopped to be identical to their live pages, 0 for those that are identical.

    The age grows from the first difference until the copy is renewed or the page returns to its content;
    without a copy, from the first version of the page or, if that is later, from the start.
    """
    spans = trial.spans
    age = np.where(spans.is_same, 0.0, (spans.begin + spans.end) / 2 - spans.stale_since)
    return _mean(age, trial, importance)


def wasted_fetches(trial: Trial) -> float:
    """Share of the fetches that found what the one before (or the copy at the start) had found.

    A fetch that finds a page gone is wasted if it was known to be gone or was never there. The first
    copies at the start are no fetches; nan if there are none.
    """
    wasted = 0
    for page, times in trial.fetches():
        at_start = [trial.start] if trial.first_copies else []
        times = np.concatenate((times[times < trial.start], at_start, times[times >= trial.start]))
        contents = page.contents_of(np.concatenate(([-1], page.versions_at(times))))
        n_before = np.count_nonzero(times < trial.start) + len(at_start)
        wasted += int(np.count_nonzero((contents[1:] == contents[:-1])[n_before:]))
    return wasted / trial.n_fetches if trial.n_fetches else float("nan")


def _mean(values: FloatArray, trial: Trial, importance: FloatArray | None) -> float:
    """Mean of a value of spans over the time in which pages are there."""
    spans = trial.spans
    weights = np.where(spans.is_there, spans.seconds, 0.0)
    if importance is not None:
        weights = weights * importance[spans.page]
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total > 0 else float("nan")
