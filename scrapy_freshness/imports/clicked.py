"""Which page is meant by an address in a log?  Pages are looked up once, and remembered."""

import re
from array import array
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.config import TRACKING
from scrapy_freshness.signals.addresses import LONGEST_URL
from scrapy_freshness.storage.store import Store

#: Memory for addresses that are remembered; then all are forgotten, so that it does not grow with the log.
_MOST_BYTES = 100_000_000
#: What an address takes beside its characters.
_BYTES_EACH = 200
#: Longer addresses are not kept to wait for their page.
_LONGEST_WAITING = 500
#: What is asked for together with a page, and is none.
_NO_PAGE = re.compile(
    r"\.(?:css|js|mjs|map|png|jpe?g|gif|webp|avif|svg|ico|woff2?|ttf|eot|otf|mp[34]|webm|zip|gz)(?:\?|$)",
    re.I,
)
#: Parameters that tell where a visitor came from; the page is the same without them.
_TRACKING = re.compile(rf"(?<![^&])(?:{TRACKING})=[^&#]*+&?+", re.IGNORECASE)
#: No page, and nobody waits for one.
NOBODY = -1


class ClickedAddresses:
    """Numbers for the pages that are clicked, and for addresses that wait for one.

    Parameters
    ----------
    fingerprint : tells by which number a page with an address is known; `ValueError` if it is no address
    """

    def __init__(self, store: Store, fingerprint: Callable[[str], int]) -> None:
        self._store = store
        self._fingerprint = fingerprint
        self._hosts = store.host_names()
        self.forget()

    def forget(self) -> None:
        """Begin anew; numbers that were given out mean nothing any more."""
        self._numbers: dict[str, int] = {}
        self._bytes = 0
        self._of_fingerprint: dict[int, int] = {}
        #: One element a number.
        self._key, self._host, self._source = array("q"), array("q"), array("q")
        self._next = array("q")  #: the same page as another spider knows it, or `NOBODY`
        self._born = array("d")
        self.urls: dict[int, str] = {}  #: of addresses that wait

    @property
    def is_full(self) -> bool:
        """Whether to `forget`, for the sake of memory."""
        return self._bytes > _MOST_BYTES

    def __len__(self) -> int:
        return len(self._key)

    @property
    def key(self) -> NDArray[np.int64]:
        """Page ids; of addresses that wait, their fingerprints."""
        return np.array(self._key, np.int64)

    @property
    def host(self) -> NDArray[np.int64]:
        """Host ids; -1 of addresses that wait."""
        return np.array(self._host, np.int64)

    @property
    def source(self) -> NDArray[np.int64]:
        """Page ids of the sources that have shown the pages; 0 if there is none."""
        return np.array(self._source, np.int64)

    @property
    def born(self) -> NDArray[np.float64]:
        """When the pages were found."""
        return np.array(self._born, np.float64)

    def numbers(self, urls: Sequence[str]) -> NDArray[np.intp]:
        """The numbers of some addresses, or `NOBODY`, as of all that are longer than addresses of pages."""
        known = self._numbers
        missing = [url for url in urls if url not in known and len(url) <= LONGEST_URL]
        if missing:
            self._look_up(missing)
            self._bytes += sum(map(len, missing)) + _BYTES_EACH * len(missing)
        return np.fromiter((known.get(url, NOBODY) for url in urls), np.intp, len(urls))

    def of_all_spiders(self, number: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The numbers of the same pages for all spiders that know them, and where each stands for.

        `NOBODY` is left out.
        """
        following = np.array(self._next, np.intp)
        row = np.flatnonzero(number != NOBODY)
        rows, numbers = [row], [number[row]]
        while len(row):
            after = following[numbers[-1]]
            row = rows[-1][after != NOBODY]
            rows.append(row)
            numbers.append(after[after != NOBODY])
        return np.concatenate(rows), np.concatenate(numbers)

    def _look_up(self, urls: Sequence[str]) -> None:
        """As the address is written; else with the other scheme, and without what says where from."""
        left = self._found(urls, str)
        left = self._found(left, other_scheme)
        tracked = {url: without_tracking(url) for url in left if "?" in url}
        lost = self._found(
            self._found(list(tracked), lambda url: tracked[url]), lambda url: other_scheme(tracked[url])
        )
        for url in [url for url in left if "?" not in url] + lost:
            self._numbers[url] = self._waiting(url)

    def _found(self, urls: Sequence[str], written: Callable[[str], str]) -> list[str]:
        """Note the pages of addresses; returns those that have none."""
        wanted: dict[str, int] = {}
        for url in urls:
            try:
                wanted[url] = self._fingerprint(written(url))
            except ValueError:
                self._numbers[url] = NOBODY
        unseen = {number for number in wanted.values() if number not in self._of_fingerprint}
        for page in self._store.clicked_pages(unseen):
            number = self._new(page.page_id, page.host_id, page.found_on or 0, page.discovered_at)
            self._next[number] = self._of_fingerprint.get(page.fingerprint, NOBODY)
            self._of_fingerprint[page.fingerprint] = number
        left = []
        for url, fingerprint in wanted.items():
            number = self._of_fingerprint.get(fingerprint, NOBODY)
            if number == NOBODY:
                left.append(url)
            else:
                self._numbers[url] = number
        return left

    def _waiting(self, url: str) -> int:
        """A number for an address that no page has; only on hosts that are crawled."""
        host = url.split("/", 3)[2].rsplit(":", 1)[0] if url.count("/") > 2 else ""
        if host not in self._hosts or len(url) > _LONGEST_WAITING or _NO_PAGE.search(url):
            return NOBODY
        fingerprint = self._fingerprint(url)
        number = self._new(fingerprint, -1, 0, np.inf)
        self.urls[number] = url
        self._of_fingerprint[fingerprint] = number
        return number

    def _new(self, key: int, host: int, source: int, born: float) -> int:
        self._key.append(key)
        self._host.append(host)
        self._source.append(source)
        self._born.append(born)
        self._next.append(NOBODY)
        return len(self._key) - 1


def other_scheme(url: str) -> str:
    """The same address with http for https, or the other way: logs do not tell.

    >>> other_scheme("https://a.example/"), other_scheme("http://a.example/")
    ('http://a.example/', 'https://a.example/')
    """
    return f"http{url[5:]}" if url.startswith("https:") else f"https{url[4:]}"


def without_tracking(url: str) -> str:
    """An address without parameters that tell where a visitor came from.

    >>> without_tracking("https://a.example/b?utm_source=x&c=1&fbclid=2")
    'https://a.example/b?c=1'
    >>> without_tracking("https://a.example/b?gclid=2")
    'https://a.example/b'
    """
    path, _, query = url.partition("?")
    left = _TRACKING.sub("", query).rstrip("&")
    return f"{path}?{left}" if left else path
