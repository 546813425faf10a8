r"""ECHO: the value of polling a source of links whose profit vanishes with time.

A source shows new links at rate :math:`\lambda`. A page fetched :math:`d` seconds after its link appeared
earns :math:`Pe^{-\mu d}`, the requests that it will still meet. Polling the source :math:`\tau` seconds
after the last time has the marginal value [1]_

.. math:: V(\tau) = \frac{\lambda P}{\mu} R_1(\mu\tau), \qquad R_1(x) = 1-(1+x)e^{-x} .

which `saturation.py` has. The greedy variant takes what a poll would bring at most, :math:`\lambda P\tau`.
Profits are in requests already, so the importance of the page that shows the links plays no part.

References
----------
.. [1] Lefortier et al.: Timely crawling of high-quality ephemeral new content, CIKM 2013, section 4.1.
"""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.value.contract import FloatArray


def remaining_profit(profit: FloatArray, decay: FloatArray, age: FloatArray) -> FloatArray:
    """P * exp(-mu * age): what a page still earns if it is fetched *age* seconds after its link appeared.

    This is the value of fetching it for the first time.

    >>> remaining_profit(np.array([8.0]), np.array([np.log(2)]), np.array([3.0])).round(6)
    array([1.])
    """
    return profit * np.exp(-decay * age)


def participates(
    profit: FloatArray, decay: FloatArray, interval: FloatArray, price: float | FloatArray
) -> NDArray[np.bool_]:
    r"""Whether the average page of a source polled every *interval* seconds is worth its own fetch.

    At a price :math:`\omega` of a fetch a source that brings :math:`\lambda` pages a second earns
    :math:`\lambda(Pe^{-\mu I} - \omega)` more than it costs, with the interval :math:`I` at which its value
    reaches the price. The paper lacks this condition.

    >>> participates(np.ones(2), np.ones(2), np.array([0.1, 3.0]), price=0.5)
    array([ True, False])
    """
    return remaining_profit(profit, decay, interval) >= price
