"""When are two links the same?  When they are so by the rules: session ids, tracking, pages of a list.

The rules say what a link *is*, for telling new links from known ones. Fetched is the link as it was shown.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

#: 64 bits of a link: of a million links of a host, a new one is taken for a known one with a chance of 5e-14.
Keys = NDArray[np.uint64]
#: What is put in the place of what an expression matches.
Rule = tuple[re.Pattern[str], str]

_SCHEME = re.compile(r"(?i)^https?://")
_SEPARATORS = re.compile(r"&&+")


def same_link(url: str, rules: Sequence[Rule]) -> str:
    """Return what is equal for two links if they are the same: without scheme, fragment and what rules drop.

    >>> rules = [(re.compile(r"(?<=[?&])utm_[a-z]+=[^&]*"), "")]
    >>> same_link("HTTPS://A.example/b?utm_source=c&y=1&x=2#top", rules)
    'a.example/b?x=2&y=1'
    """
    url = _SCHEME.sub("", url.partition("#")[0])
    for pattern, replacement in rules:
        url = pattern.sub(replacement, url)
    address, _, query = url.partition("?")
    host, slash, path = address.partition("/")
    if query:
        query = "&".join(sorted(_SEPARATORS.sub("&", query).strip("&").split("&")))
    return f"{host.lower()}{slash}{path}{'?' if query else ''}{query}"


def link_keys(urls: Iterable[str], rules: Sequence[Rule]) -> Keys:
    """Return the key of each link."""
    keys = [xxh3_64_intdigest(same_link(url, rules).encode("utf-8", "replace")) for url in urls]
    return np.array(keys, np.uint64)
