"""Addresses as strangers write them: made absolute, or refused."""

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

#: The sitemap protocol allows less than 2,048 characters.
LONGEST_URL = 2047

_ABSOLUTE = re.compile(r"(?i:(https?)://)([^/?#\\@]+)([/?][^#]*)?(?:#.*)?")
# Browsers remove line ends and tabs within an address, and so does Scrapy; nothing else of the kind is one.
_DROPPED = re.compile(r"[\t\r\n]")
_REFUSED = re.compile(r"[\x00-\x1f\x7f\ufffd\ud800-\udfff]")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:\[\]<>\"'%|^`{}()\\]+?)\.?(?::([0-9]{0,5}))?")
_PORTS = {"http": "80", "https": "443"}


class Address(NamedTuple):
    """An absolute address."""

    url: str  #: http or https, without fragment and surrounding white space
    host: str  #: lower case, in ASCII, with the port unless it is the scheme's own
    was_relative: bool = False


def is_on_host(name: str, host: str) -> bool:
    """Whether a name, which may have a port, is that of a host.

    >>> is_on_host("a.example:8000", "a.example"), is_on_host("b.a.example", "a.example")
    (True, False)
    """
    return name == host or name.startswith(f"{host}:")


def read_address(text: str, base: str = "") -> Address | None:
    """Return an address as it is meant, resolved against *base* if it is relative; None if it cannot be used.

    An address with a user name or password is refused: it would be sent to whom a stranger names.

    >>> read_address(" HTTPS://Example.COM:443/a?b#c ")
    Address(url='https://Example.COM:443/a?b', host='example.com', was_relative=False)
    >>> read_address("/b", "http://example.com/a")
    Address(url='http://example.com/b', host='example.com', was_relative=True)
    >>> read_address("mailto:me@example.com", "http://example.com/") is None
    True
    """
    text = text.strip()
    if not text or len(text) > LONGEST_URL:
        return None
    if not text.isprintable():
        text = _DROPPED.sub("", text)
        if _REFUSED.search(text):
            return None
    found = _ABSOLUTE.fullmatch(text)
    was_relative = found is None
    if found is None:
        if not base:
            return None
        try:
            text = urljoin(base, text)
        except ValueError:
            return None
        found = _ABSOLUTE.fullmatch(text)
        if found is None or len(text) > LONGEST_URL:
            return None
    scheme, authority, rest = found.groups()
    host = _host(scheme.lower(), authority)
    if host is None or "\ufffd" in text:
        return None
    path = "" if rest and rest.startswith("/") else "/"
    return Address(f"{scheme.lower()}://{authority}{path}{rest or ''}", host, was_relative)


def host_of(url: str) -> str | None:
    """Return the host of an absolute address as in `Address`.

    >>> host_of("http://b\u00fccher.example:8080/")
    'xn--bcher-kva.example:8080'
    """
    address = read_address(url)
    return address.host if address else None


@lru_cache(maxsize=1024)
def _host(scheme: str, authority: str) -> str | None:
    found = _HOST.fullmatch(authority.lower())
    if found is None:
        return None
    name, port = found.groups()
    if port and not 0 < int(port) < 65_536:
        return None
    try:
        urlsplit(f"{scheme}://{authority}")  # which is strict about signs that stand for "/" and the like
        if not name.isascii():
            found = _HOST.fullmatch(name.encode("idna").decode("ascii"))
            name = found[1] if found else ""
    except ValueError:
        return None
    if not name:
        return None
    return name if not port or port == _PORTS[scheme] else f"{name}:{port}"
