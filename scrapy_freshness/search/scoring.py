r"""How well a page answers a query: the contract of scoring functions, TF-IDF and in-link count.

The score of a page for one term is a product of what depends on the page alone and of what depends on the
term alone, so the order of the results of a term never depends on the other pages:

.. math:: S(p, t) = w_t\, b(p, t).

:math:`b` is 0 where the page does not have the term. A page answers a query of several terms only if it
has them all.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Scoring(Protocol):
    """A scoring function."""

    name: str
    uses_links: bool  #: whether scores depend on links; if they do not, nobody counts them

    def base(self, tf: FloatArray, length: FloatArray, links: FloatArray) -> FloatArray:
        """What depends on the page: b >= 0, and 0 exactly where the term is not on the page.

        Arguments are broadcast against each other.

        Parameters
        ----------
        tf : how often the term is on the page
        length : terms on the page, all of them
        links : other pages that link to the page
        """
        ...

    def weight(self, df: NDArray[np.int64], pages: int) -> FloatArray:
        """What depends on the term: w > 0.

        Parameters
        ----------
        df : pages that have the term
        pages : pages in all
        """
        ...

    def query_score(self, base: FloatArray, weight: FloatArray) -> FloatArray:
        """Scores for a query of several terms, which are along the last axis of *base* and *weight*."""
        ...


class TfIdf:
    r"""TF-IDF as Lucene has it, without its coding of lengths in one byte.

    .. math:: b = \sqrt{tf / length}, \qquad w = 1+\ln\frac{N}{df+1}

    and for a query of several terms the scalar product of the page with the normalised query,
    :math:`\sum_t w_t^2 b_t / \sqrt{\sum_t w_t^2}`, which for one term is :math:`w b`. A term that every page
    has would get a weight slightly below 1 for a small number of pages; none gets less than .1.

    >>> TfIdf().base(np.array([0.0, 4.0]), np.array([100.0, 100.0]), np.zeros(2))
    array([0. , 0.2])
    >>> TfIdf().weight(np.array([0, 99, 999]), 1000).round(2)
    array([7.91, 3.3 , 1.  ])
    """

    name = "tf-idf"
    uses_links = False

    def base(self, tf: FloatArray, length: FloatArray, links: FloatArray) -> FloatArray:
        """Square root of the share of the page that is the term."""
        return np.sqrt(tf / np.maximum(length, 1.0))

    def weight(self, df: NDArray[np.int64], pages: int) -> FloatArray:
        """Inverse document frequency."""
        weight: FloatArray = np.maximum(1.0 + np.log(max(pages, 1) / (df + 1.0)), 0.1)
        return weight

    def query_score(self, base: FloatArray, weight: FloatArray) -> FloatArray:
        """Scalar product with the normalised query."""
        square = weight**2
        score: FloatArray = (base * square).sum(axis=-1) / np.sqrt(square.sum(axis=-1))
        return np.where((base > 0).all(axis=-1), score, 0.0)


class InLinks:
    """How many pages link to the page, and one more, so that a page without links is found, too.

    >>> InLinks().base(np.array([0.0, 4.0]), np.array([100.0, 100.0]), np.array([7.0, 7.0]))
    array([0., 8.])
    """

    name = "in-links"
    uses_links = True

    def base(self, tf: FloatArray, length: FloatArray, links: FloatArray) -> FloatArray:
        """In-links and one, where the term is on the page."""
        return np.where(tf > 0, links + 1.0, 0.0)

    def weight(self, df: NDArray[np.int64], pages: int) -> FloatArray:
        """All terms alike."""
        return np.ones(len(df))

    def query_score(self, base: FloatArray, weight: FloatArray) -> FloatArray:
        """The same for every term, so that of one of them, if the page has all."""
        lowest: FloatArray = base.min(axis=-1)
        return lowest


SCORINGS: dict[str, Scoring] = {scoring.name: scoring for scoring in (TfIdf(), InLinks())}
