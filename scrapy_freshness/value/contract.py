"""What every value model offers.

A value model tells what crawling a page is worth after some time without a visit: the expected
number of requests that will meet fresh content because of this crawl. It knows neither Scrapy, SQL
nor the time of day; arrays in, arrays out, one element a page.
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Models whose value grows without bound count a page that has no copy as waiting this long: longer
#: than any page that has one.
FIRST_SECONDS = 1e13


@dataclass(frozen=True, slots=True, kw_only=True)
class Beliefs:
    """What is believed about some pages.  A model uses the columns that it names in `needs`."""

    importance: FloatArray  #: mu, requests per second (or any weight), >= 0
    change_rate: FloatArray  #: Delta, changes per second, > 0
    mean_rate: FloatArray | None = None  #: mean of what the change rate may be, per second, > 0
    doubt: FloatArray | None = None  #: d, its variance over the square of its mean, >= 0
    recall: FloatArray | None = None  #: lambda, share of the changes that a signal announces, 0 to 1
    false_rate: FloatArray | None = None  #: nu, signals per second that announce nothing, >= 0
    signals: FloatArray | None = None  #: n, signals since the last visit, in units of the mean signal
    pace: FloatArray | None = None  #: a, how fast time has passed since the last visit, by siblings; None: 1
    plateau: FloatArray | None = None  #: a, divergence of the copy after a long time, 0 to 1
    stages: FloatArray | None = None  #: K, updates until a fragment has left the page, >= 1 (churn: 1)
    patience: FloatArray | None = None  #: prices that waiting may cost before a page is visited anyway, > 0
    gain: FloatArray | None = None  #: quality gained per second of waiting, >= 0
    noticed_rate: FloatArray | None = None  #: nu, changes per second that searchers notice, > 0
    query_weight: FloatArray | None = None  #: what a change costs searchers, in units of the mean page, > 0
    decay: FloatArray | None = None  #: mu of ECHO, per second: how fast a link's profit vanishes, > 0
    link_rate: FloatArray | None = None  #: lambda of ECHO, links per second, >= 0
    profit: FloatArray | None = None  #: P of ECHO, of one fresh link, >= 0
    leaving: FloatArray | None = None  #: nu, per second: how fast links leave their source, >= 0
    interval: FloatArray | None = None  #: seconds between visits that a rule or a schedule asks for, > 0
    is_source: FloatArray | None = None  #: 1 for content sources, which are polled for links; 0 for pages
    age: FloatArray | None = None  #: seconds since a page without a copy was found, >= 0
    price: FloatArray | None = None  #: omega, what a fetch has to be worth now; the same for all, >= 0
    poll_bound: FloatArray | None = None  #: y/mu of a page that is polled for signals; nan for all others
    usual_wait: FloatArray | None = None  #: 1/mu, seconds that a page usually waits for a visit; likewise
    pinned: FloatArray | None = None  #: seconds between visits that somebody wished for; nan for all others

    def __len__(self) -> int:
        return len(self.change_rate)

    def at(self, rows: Any) -> "Beliefs":
        """What is believed about some of the pages: a slice, a mask or an array of positions.

        >>> pages = Beliefs(importance=np.array([1.0, 2.0]), change_rate=np.ones(2))
        >>> pages.at([1]).importance
        array([2.])
        """
        columns: dict[str, Any] = {name: getattr(self, name) for name in _COLUMNS}
        return Beliefs(**{name: column[rows] for name, column in columns.items() if column is not None})

    def need(self, name: str) -> FloatArray:
        """A column that must be there."""
        column: FloatArray | None = getattr(self, name)
        if column is None:
            raise ValueError(f"the value model needs beliefs about {name}, and there are none")
        return column


_COLUMNS = tuple(each.name for each in fields(Beliefs))


class ValueModel(Protocol):
    """The value of a crawl; never falls while nothing happens to the page, nor to its siblings' pace."""

    needs: ClassVar[frozenset[str]]
    """Columns of the beliefs, beside importance and change rate, that must be there."""

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Value of crawling each page now, *elapsed* seconds after its last visit."""
        ...

    def first_value(self, beliefs: Beliefs) -> FloatArray:
        """Value of fetching each page for the first time: that of a page whose copy is infinitely old."""
        ...

    def elapsed_at(self, beliefs: Beliefs, price: float) -> FloatArray:
        """Seconds after a visit at which the value reaches *price*; inf if it never does.

        The signals received so far count as received, and no further ones are expected.
        """
        ...

    def sooner(self, beliefs: Beliefs, elapsed: FloatArray, more: FloatArray) -> FloatArray:
        """When a price is reached after *more* signals that would be reached after *elapsed* without them.

        Both in seconds after the visit; below 0, down to -inf, if the signals alone are worth the price. The
        same if the model does not listen to signals.
        """
        ...

    def freshness(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        """Expected freshness (0 to 1) of each page's copy, *elapsed* seconds after its last visit."""
        ...
