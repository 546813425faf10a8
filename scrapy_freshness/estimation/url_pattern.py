"""Which pages of a host are siblings?  The pattern of an address, for priors that they share."""

import re

#: A part of a path that is longer than this names one page, not a kind of page.
_LONGEST_WORD = 24
_DIGITS = re.compile(r"\d+")
_EXTENSION = re.compile(r"\.[A-Za-z]{1,5}$")


def url_pattern(url: str) -> str:
    """Return what an address has in common with its siblings: folders, depth and names of parameters.

    The last part of the path becomes ``*`` and its extension stays; in folders, digits become ``0`` and
    long names ``*``. Values of parameters and fragments are dropped. A folder itself (``/news/``) is not
    a sibling of what is in it.

    >>> url_pattern("https://Example.com/2024/05/a-day-at-the-lake.html")
    'example.com/0/0/*.html'
    >>> url_pattern("https://example.com/news/"), url_pattern("https://example.com/news/today")
    ('example.com/news/', 'example.com/news/*')
    >>> url_pattern("https://example.com/list.php?page=7&sort=date#top")
    'example.com/*.php?page&sort'
    >>> url_pattern("https://example.com") == url_pattern("https://example.com/")
    True
    """
    _, found, address = url.partition("://")
    address, _, query = (address if found else url).partition("#")[0].partition("?")
    host, _, path = address.partition("/")
    *folders, leaf = path.split("/")
    parts = [host.lower(), *map(_generalised, folders)]
    extension = _EXTENSION.search(leaf)
    parts.append("*" + (extension[0].lower() if extension else "") if leaf else "")
    pattern = "/".join(parts)
    if query:
        names = {_generalised(each.partition("=")[0]) for each in query.split("&")}
        pattern += "?" + "&".join(sorted(names))
    return pattern


def _generalised(part: str) -> str:
    return "*" if len(part) > _LONGEST_WORD else _DIGITS.sub("0", part)
