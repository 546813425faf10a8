"""A page version in a few numbers: the m smallest of its fragments' hashes (bottom-m sketch).

Fragments are sampled by their hash alone: a fragment that is in the sketch of one version is, while it lives
and the page does not grow much, in the sketches of later versions, so that life times can be read off.
"""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.content.shingles import distinct


def sketch(hashes: NDArray[np.uint32], size: int) -> NDArray[np.uint32]:
    """The ``size`` smallest different hashes, ascending.

    >>> sketch(np.array([7, 3, 9, 3], np.uint32), size=2).tolist()
    [3, 7]
    """
    if size < 1:
        raise ValueError(f"a sketch has at least one hash, got {size}")
    if hashes.size > 4 * size:
        # Pages repeat little of themselves: among twice as many, enough are different, as a rule.
        found = distinct(np.partition(hashes, 2 * size)[: 2 * size])
        if found.size >= size:
            return found[:size].copy()
    return distinct(hashes)[:size].copy()


def resemblance(a: NDArray[np.uint32], b: NDArray[np.uint32], size: int) -> float:
    r"""Estimated Jaccard index :math:`|A\cap B|/|A\cup B|` of two sets of fragments, from their sketches.

    The m smallest hashes of the union are a random sample of it, and both sketches together contain them;
    the estimate is the share of them that is in both sketches. It is unbiased with standard deviation
    :math:`\sqrt{J(1-J)(n-m)/(m(n-1))}` for a union of n fragments, hence exact for :math:`n\le m` [1]_.
    The share of the m hashes that two sketches have in common is not: 0.595 for J = 0.5 at m = 8.

    Parameters
    ----------
    a, b : sketches made with at least this ``size``
    size : m

    References
    ----------
    .. [1] Broder, On the resemblance and containment of documents, 1997; used by Olston and Pandey,
       Recrawl scheduling based on information longevity, 2008, section 5.2

    Examples
    --------
    >>> resemblance(np.array([1, 2, 3], np.uint32), np.array([2, 3, 4], np.uint32), size=64)
    0.5
    """
    if size < 1:
        raise ValueError(f"a sketch has at least one hash, got {size}")
    merged = np.concatenate((a[:size], b[:size]))
    if merged.size == 0:
        return 1.0
    merged.sort()
    (twice,) = (merged[1:] == merged[:-1]).nonzero()
    union = min(merged.size - twice.size, size)
    # Every hash in both sketches moves those behind it one place up in the union.
    place = twice - np.arange(twice.size)
    return float(place.searchsorted(size) / union)


def divergence(a: NDArray[np.uint32], b: NDArray[np.uint32], size: int) -> float:
    """Estimated share of fragments that two page versions do not have in common: 1 - Jaccard index.

    Two empty versions are the same (0); an empty and another one have nothing in common (1).

    >>> divergence(np.array([1, 2, 3], np.uint32), np.array([2, 3, 4], np.uint32), size=64)
    0.5
    """
    return 1.0 - resemblance(a, b, size)
