"""What the latest polls of a source found: seconds since the poll before, and links never seen before.

Two 32-bit floats a poll, oldest first.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Polls that are kept; the oldest go first.
MAX_POLLS = 30
_BYTES = 8


def extended_polls(polls: bytes, seconds: float, links: int) -> bytes:
    """Return *polls* with one more; what is damaged begins anew.

    A poll that took less than no time, as after the clock was set back, tells nothing.

    >>> polls = extended_polls(extended_polls(b"", 60.0, 3), 30.0, 0)
    >>> found, seconds = poll_columns([polls, b""])
    >>> found.tolist(), seconds.tolist()
    ([[3.0, 0.0], [0.0, 0.0]], [[60.0, 30.0], [0.0, 0.0]])
    """
    if len(polls) % _BYTES:
        polls = b""
    return (polls + np.array([max(seconds, 0.0), links], "<f4").tobytes())[-_BYTES * MAX_POLLS :]


def poll_columns(polls: Sequence[bytes]) -> tuple[FloatArray, FloatArray]:
    """Links found and seconds of each source's polls, the last one in the last column; 0 where none was.

    One that took no time, or less, was none.

    >>> poll_columns([np.array([-50.0, 4.0, 10.0, 1.0], "<f4").tobytes()])[0].tolist()
    [[0.0, 1.0]]
    """
    longest = max(map(len, polls), default=0)
    joined = b"".join(each.rjust(longest, b"\0") for each in polls)
    pairs = np.frombuffer(joined, "<f4").astype(np.float64).reshape(len(polls), longest // _BYTES, 2)
    pairs[pairs[:, :, 0] <= 0] = 0
    return pairs[:, :, 1], pairs[:, :, 0]
