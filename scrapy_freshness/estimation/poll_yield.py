r"""What do the polls of a sitemap or feed yield per second?  From the last few of them, in prices of a visit.

A poll :math:`\tau` seconds after the one before finds news of all ages up to :math:`\tau`, of which those of
age :math:`a` still earn a share :math:`e^{-a/W}`, where :math:`W` is the usual wait of a page. So a source
that earns :math:`y` a second yields :math:`Y = yW(1-e^{-\tau/W})`, and

.. math:: \hat y = \frac{\sum_i q^{n-i}Y_i}{\sum_i q^{n-i}W(1-e^{-\tau_i/W})}

with older polls counting ever less. It begins with a made-up poll of a good source, after the time in which
it says that it is updated, or a usual wait; what the first real one finds has gathered for years and tells
nothing.

Yields are in prices of a visit at the time of the poll: so they mean the same after the price, or even the
policy, has changed.
"""

from collections.abc import Mapping
from math import expm1

#: The made-up poll: by so many prices a source is better than a visit, each time that it is updated.
_FIRST_YIELD = 4.0
#: How much of what was known counts at the next poll: some three polls are remembered.
_KEPT = 0.7


def first_yield(update_seconds: float) -> dict[str, float]:
    """What is believed of a source before its second poll, if there is news in it so often.

    >>> first_yield(100.0)["yield_rate"]
    0.04
    """
    return {"yield_rate": _FIRST_YIELD / update_seconds, "yield_seconds": update_seconds}


def next_yield(
    before: Mapping[str, float], yielded: float, elapsed_seconds: float, usual_wait_seconds: float
) -> dict[str, float]:
    """What is believed of a source after another poll.

    Parameters
    ----------
    before : what was believed; nothing, if the source is known from elsewhere
    yielded : Y, in prices of a visit
    elapsed_seconds : tau, since the poll before
    usual_wait_seconds : W, in which a page is visited once

    >>> good = next_yield(first_yield(100.0), 3.0, 50.0, 100.0)
    >>> barren = next_yield(good, 0.0, 50.0, 100.0)
    >>> round(100 * good["yield_rate"], 2), round(100 * barren["yield_rate"], 2)
    (5.3, 3.5)
    """
    if "yield_seconds" not in before:
        before = first_yield(usual_wait_seconds)
    seconds = _KEPT * before["yield_seconds"]
    sum_yielded = before["yield_rate"] * seconds + yielded
    seconds -= usual_wait_seconds * expm1(-elapsed_seconds / usual_wait_seconds)
    return {"yield_rate": sum_yielded / seconds, "yield_seconds": seconds}
