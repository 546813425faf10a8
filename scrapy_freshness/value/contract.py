"""What every value model offers.

A value model tells what crawling a page is worth after some time without a visit: the expected
number of requests that will meet fresh content because of this crawl. It knows neither Scrapy, SQL
nor the time of day; arrays in, arrays out, one element a page.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What is believed about some pages."""

    importance: FloatArray  #: mu, requests per second (or any weight), >= 0
    change_rate: FloatArray  #: Delta, changes per second, > 0


class ValueModel(Protocol):
    """The value of a crawl; never falls while nothing happens to the page."""

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of crawling each page now, *elapsed* seconds after its last visit."""
        ...

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """Value of fetching each page for the first time."""
        ...

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Seconds after a visit at which the value reaches *price*; inf if it never does."""
        ...

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Expected freshness (0 to 1) of each page's copy, *elapsed* seconds after its last visit."""
        ...
