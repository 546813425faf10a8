"""What the visits of a page saw: lengths of time after which it had or had not changed.

A history is packed into bytes, four for each observation: a 32-bit float whose size is the time in
seconds and whose sign tells the outcome (minus: changed). Unchanged observations in a row are added
up, because under a Poisson process P(no change in a) * P(no change in b) = P(no change in a + b).
"""

import struct

import numpy as np
from numpy.typing import NDArray

#: Observations kept; the oldest go first.
MAX_OBSERVATIONS = 64
_OBSERVATION = struct.Struct("<f")
_SHORTEST_SECONDS = 1e-3


def extended(history: bytes, elapsed_seconds: float, changed: bool, keep: int = MAX_OBSERVATIONS) -> bytes:
    """Return *history* with one more observation, the last *keep*; one that is damaged begins anew.

    >>> observations(extended(extended(extended(b"", 5, False), 7, False), 2, True)).tolist()
    [12.0, -2.0]
    """
    if len(history) % _OBSERVATION.size:
        history = b""
    seconds = max(elapsed_seconds, _SHORTEST_SECONDS)
    if changed:
        history += _OBSERVATION.pack(-seconds)
    elif ends_unchanged(history):
        history = history[:-4] + _OBSERVATION.pack(_OBSERVATION.unpack(history[-4:])[0] + seconds)
    else:
        history += _OBSERVATION.pack(seconds)
    return history[-4 * keep :]


def ends_unchanged(history: bytes) -> bool:
    """Whether there is a last observation, and it saw no change."""
    return bool(history) and _OBSERVATION.unpack(history[-4:])[0] > 0


def never_changed(history: bytes) -> bool:
    """Whether the page was compared, and never seen to change: unchanged times in a row are one observation.

    >>> never_changed(extended(extended(b"", 5, False), 7, False)), never_changed(extended(b"", 5, True))
    (True, False)
    """
    return len(history) == _OBSERVATION.size and ends_unchanged(history)


def observations(history: bytes) -> NDArray[np.float32]:
    """Return the observations of *history*, oldest first: seconds, negative where changed."""
    n_observations(history)
    return np.frombuffer(history, "<f4")


def n_observations(history: bytes) -> int:
    """How many observations a history has."""
    count, rest = divmod(len(history), _OBSERVATION.size)
    if rest:
        raise ValueError(f"a history of {len(history)} bytes is not a whole number of observations")
    return count
