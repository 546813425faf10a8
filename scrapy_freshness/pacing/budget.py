r"""Spend the whole budget on the best pages, and the price at which that happens.

At a constant rate the arg max is always worth a crawl. In the long run the pages crawled are those
whose value reaches a common price :math:`\Lambda`, each at intervals :math:`I_i(\Lambda)` with
:math:`V_i(I_i)=\Lambda`, and :math:`\sum_i 1/I_i(\Lambda) = R`.
"""

import numpy as np

from scrapy_freshness.value.contract import Beliefs, ValueModel


class Budget:
    """Crawl the arg max whenever the constant rate has room."""

    floor = 0.0


def price_for_rate(
    model: ValueModel, beliefs: Beliefs, crawls_per_second: float, *, min_interval: float = 0.0
) -> float:
    """Find the price at which crawling each page when its value reaches it takes the given rate.

    Parameters
    ----------
    crawls_per_second : R > 0
    min_interval : seconds that a page rests between visits in any case

    Returns 0 if even the smallest price does not use up the rate (possible with a minimum interval),
    or if there are no pages.

    >>> from scrapy_freshness.value.uniform import Uniform
    >>> ten_pages = Beliefs(importance=np.ones(10), change_rate=np.ones(10))
    >>> round(price_for_rate(Uniform(), ten_pages, crawls_per_second=2.0), 6)
    5.0
    """
    if len(beliefs.change_rate) == 0:
        return 0.0

    def load(log_price: float) -> float:
        interval = np.maximum(model.elapsed_at(beliefs, float(np.exp(log_price))), max(min_interval, 1e-9))
        return float(np.sum(1 / interval))

    low, high = -80.0, 80.0
    if load(low) <= crawls_per_second:
        return 0.0
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if load(middle) > crawls_per_second else (low, middle)
    return float(np.exp(high))
