"""What the policy has learned of the signals of each host, read from what its learner keeps."""

from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np

from scrapy_freshness.estimation.signal_counts import N_SOURCES
from scrapy_freshness.model import SignalSource
from scrapy_freshness.planning.learning import groups_named

#: Standard deviations on either side of a 90 % interval.
_DEVIATIONS = 1.645


def learned_quality(groups: Mapping[str, bytes]) -> dict[tuple[str, SignalSource], dict[str, Any]]:
    """Precision and recall by host and source, of sources that were heard; see `planning/signal_learner.py`.

    What it keeps of a host are sums over visits: weight, precision and recall, one number a source each.
    """
    found = {}
    for (host, *_), state in groups_named("signals", groups).items():
        if len(state) != 3 * 4 * N_SOURCES:
            continue
        weight, precision, recall = np.frombuffer(state, "<f4").reshape(3, N_SOURCES).astype(np.float64)
        for source in SignalSource:
            if weight[source] > 0:
                found[host, source] = {
                    "precision": float(precision[source] / weight[source]),
                    "recall": float(recall[source] / weight[source]),
                }
    return found


def share_interval(hits: int, trials: int) -> tuple[float | None, float | None]:
    """90 % interval of a probability by so many hits in so many trials (Wilson); None without trials.

    >>> low, high = share_interval(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.541, 0.931)
    """
    if not trials:
        return None, None
    observed, square = hits / trials, _DEVIATIONS**2
    middle = (observed + square / (2 * trials)) / (1 + square / trials)
    spread = sqrt(observed * (1 - observed) / trials + square / (4 * trials**2))
    half = _DEVIATIONS * spread / (1 + square / trials)
    return max(middle - half, 0.0), min(middle + half, 1.0)
