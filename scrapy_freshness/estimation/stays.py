r"""How fast do new links leave a hub?  From those that a poll had found and the next did not see any more.

Of :math:`n` links found by a poll, :math:`k` are gone at the next one, :math:`I` seconds later. If links
leave at a rate :math:`\nu`, each does so with probability :math:`1-e^{-\nu I}`, so that

.. math:: \hat\nu = -\frac{1}{\bar I}\log\Bigl(1-\frac{\sum k}{\sum n + 1}\Bigr),
   \qquad \bar I = \frac{\sum nI}{\sum n},

over the last polls, the older counting less. The one more link, which stays, stands for what is believed
before anything was seen. The links of a list that pushes out the oldest do not leave at all while it
is polled often enough, and all leave when it is not; so what is learned is right for about the intervals at
which the hub is polled.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: What is kept of a source: links found, those of them that were gone, and links times seconds.
COUNTS = ("young_links", "young_left", "young_seconds")
#: Share of its weight that a poll keeps when the next one comes.
_KEPT = 1 - 1 / 30
#: Beyond this share of links that were gone, nobody knows how soon they left.
_MOST_LEFT = 0.95


def counted_stays(before: Mapping[str, float], young: int, left: int, seconds: float) -> dict[str, float]:
    """The counts after one more poll.

    >>> counted_stays({}, young=10, left=1, seconds=60.0)
    {'young_links': 10.0, 'young_left': 1.0, 'young_seconds': 600.0}
    """
    found = (float(young), float(left), young * seconds)
    return {name: _KEPT * before.get(name, 0.0) + more for name, more in zip(COUNTS, found, strict=True)}


def leaving_rates(young: FloatArray, left: FloatArray, seconds: FloatArray) -> FloatArray:
    """Rates per second at which links leave hubs, nu; 0 where no link was ever looked for again.

    >>> hub = counted_stays({}, young=99, left=50, seconds=3600.0)
    >>> rate = leaving_rates(*(np.array([number]) for number in hub.values()))
    >>> float((np.log(2) / rate / 3600).round(3)[0])  # half of them leave in an hour
    1.0
    """
    gone = np.minimum(left / (young + 1), _MOST_LEFT)
    mean_seconds = seconds / np.maximum(young, 1e-9)
    return np.divide(-np.log1p(-gone), mean_seconds, out=np.zeros(len(young)), where=mean_seconds > 0)
