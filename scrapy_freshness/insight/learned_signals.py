"""How true signals were, with intervals: what visits have counted and what the policy has learned."""

from collections.abc import Mapping
from math import sqrt

from scrapy_freshness.planning.signal_trust import Share, SourceTrust

#: Standard deviations on either side of a 90 % interval.
_DEVIATIONS = 1.645
#: Of a source that no learner has heard.
NOT_LEARNED: Mapping[str, float | None] = dict.fromkeys(
    (
        "precision",
        "precision_low",
        "precision_high",
        "recall",
        "recall_low",
        "recall_high",
        "deaf_seconds",
    )
)


def learned_columns(trust: SourceTrust) -> dict[str, float | None]:
    """Precision and recall of a source, by the names of `NOT_LEARNED`."""
    return {
        **_ends("precision", trust.precision),
        **_ends("recall", trust.recall),
        "deaf_seconds": trust.deaf_seconds,
    }


def _ends(name: str, share: Share) -> dict[str, float]:
    return {name: share.value, f"{name}_low": share.low, f"{name}_high": share.high}


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
