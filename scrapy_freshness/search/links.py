"""Who links to whom: the out-links of pages, kept with each page, and the in-links that follow from them.

A page links to the pages that the spider asked for when it saw it last. That costs no parsing, is exact for
what is crawled, and follows the pages as they change; a link that the spider does not follow is not counted.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

#: Links of one page that count.
MOST_LINKS = 2_000


def pack_links(fingerprints: Iterable[int], own: int) -> bytes:
    """Different pages that a page links to, without itself, eight bytes each.

    >>> len(pack_links([5, 7, 5, 9], own=9))
    16
    """
    others = sorted(set(fingerprints) - {own})[:MOST_LINKS]
    return np.array(others, "<i8").tobytes()


class InLinks:
    """How many pages link to each of some pages; a link to any other is not counted.

    >>> counts = InLinks(np.array([9, 5]))
    >>> counts.add([pack_links([5, 7], own=9), pack_links([5], own=7), b"damaged"])
    >>> counts.of(np.array([5, 9, 7]))
    array([2., 0., 0.])
    """

    def __init__(self, fingerprints: NDArray[np.int64]) -> None:
        self._pages = np.sort(fingerprints)
        self._counts = np.zeros(len(fingerprints), np.int32)

    def add(self, packed: Iterable[bytes]) -> None:
        """Count the links of some pages."""
        whole = [links for links in packed if len(links) % 8 == 0]
        targets = np.frombuffer(b"".join(whole), "<i8")
        places, is_page = self._places(targets)
        np.add.at(self._counts, places[is_page], 1)

    def of(self, fingerprints: NDArray[np.int64]) -> NDArray[np.float64]:
        """Links to each of these pages; 0 for others."""
        places, is_page = self._places(fingerprints)
        found: NDArray[np.float64] = np.zeros(len(fingerprints))
        found[is_page] = self._counts[places[is_page]]
        return found

    def _places(self, fingerprints: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        places = self._pages.searchsorted(fingerprints)
        if not len(self._pages):
            return places, np.zeros(len(fingerprints), np.bool_)
        is_page: NDArray[np.bool_] = self._pages.take(places, mode="clip") == fingerprints
        return places, is_page
