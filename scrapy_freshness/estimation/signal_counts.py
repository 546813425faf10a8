"""How many signals of each source came before each observation of a page's history (see `history.py`).

A byte a source and observation, in the order of the history; more than 255 are not told apart. Observations
without a change are added up there, and so are their signals: P(unchanged) = exp(-(alpha * seconds + sum of
b_k * signals_k)) multiplies. A page that never got a signal has no counts at all.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.history import MAX_OBSERVATIONS, ends_unchanged, n_observations
from scrapy_freshness.model import SignalSource

N_SOURCES = len(SignalSource)
_MOST = 255


def extended_counts(counts: bytes, history: bytes, changed: bool, signals: Sequence[int]) -> bytes:
    """Return the counts after one more observation; *history* is the one before it.

    >>> from scrapy_freshness.estimation.history import extended
    >>> history = extended(b"", 5, changed=False)
    >>> counts = extended_counts(b"", b"", changed=False, signals=(2, 0, 0, 0))
    >>> signal_counts(extended_counts(counts, history, changed=False, signals=(1, 0, 0, 4)), 1).tolist()
    [[3, 0, 0, 4]]
    >>> signal_counts(extended_counts(counts, history, changed=True, signals=(1, 0, 0, 4)), 2).tolist()
    [[2, 0, 0, 0], [1, 0, 0, 4]]
    """
    if not counts and not any(signals):
        return b""
    size = N_SOURCES * n_observations(history)
    counts = (bytes(size) + counts)[-size:] if size else b""
    if counts and not changed and ends_unchanged(history):
        signals = [before + more for before, more in zip(counts[-N_SOURCES:], signals, strict=True)]
        counts = counts[:-N_SOURCES]
    counts += bytes(signals if max(signals) <= _MOST else [min(count, _MOST) for count in signals])
    return counts[-N_SOURCES * MAX_OBSERVATIONS :]


def signal_counts(counts: bytes, observed: int) -> NDArray[np.uint8]:
    """Signals of each source (columns) before each of so many observations; 0 where nothing was counted.

    >>> signal_counts(b"", 2).tolist()
    [[0, 0, 0, 0], [0, 0, 0, 0]]
    """
    size = N_SOURCES * observed
    known = (bytes(size) + counts)[len(counts) :][-size:] if size else b""
    return np.frombuffer(known, np.uint8).reshape(observed, N_SOURCES)
