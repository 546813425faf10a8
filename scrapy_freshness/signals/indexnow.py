"""IndexNow: sites submit the URLs that have changed, with a key that they can show to be theirs.

The protocol is at indexnow.org. A submission is only a claim until the key is known for the host, or has
been read from the file in which the host shows it.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from scrapy_freshness.errors import PingError
from scrapy_freshness.signals.addresses import host_of, read_address

MOST_URLS = 10_000
#: Enough for so many URLs of the greatest length that makes sense.
MOST_BYTES = 10_485_760

_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")
_BAD_REQUEST, _TOO_LARGE, _UNPROCESSABLE = 400, 413, 422


class Submission(NamedTuple):
    """URLs of one host that are said to have changed."""

    host: str  #: as in `addresses.Address`
    key: str
    key_url: str  #: where the host shows the key
    urls: list[str]  #: all on the host, and below the folder of the key's file


def read_query(query: str) -> Submission:
    """Read the query of a GET request: ``url=...&key=...``, perhaps with ``keyLocation=...``.

    >>> submission = read_query("url=http%3A%2F%2Fa.example%2Fnews&key=0123456789abcdef")
    >>> submission.urls, submission.key_url
    (['http://a.example/news'], 'http://a.example/0123456789abcdef.txt')

    Raises
    ------
    PingError
        It cannot be accepted.
    """
    try:
        fields = parse_qs(query, max_num_fields=20)
    except ValueError:
        raise PingError(_BAD_REQUEST, "the query cannot be read") from None
    url, key, key_location = (fields.get(name, [""])[0] for name in ("url", "key", "keyLocation"))
    return _submission(host_of(url) or "", key, key_location, [url])


def read_body(body: bytes) -> Submission:
    """Read the JSON body of a POST request: ``host``, ``key``, ``urlList``, perhaps ``keyLocation``.

    Raises
    ------
    PingError
        It cannot be accepted.
    """
    if len(body) > MOST_BYTES:
        raise PingError(_TOO_LARGE, f"a submission must not be longer than {MOST_BYTES} bytes")
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise PingError(_BAD_REQUEST, "the body is not JSON") from None
    if not isinstance(fields, dict):
        raise PingError(_BAD_REQUEST, "the body is not a JSON object")
    urls = fields.get("urlList")
    if not isinstance(urls, list) or not urls:
        raise PingError(_BAD_REQUEST, "urlList is not a list of URLs")
    if len(urls) > MOST_URLS:
        raise PingError(_UNPROCESSABLE, f"urlList has {len(urls)} URLs, at most {MOST_URLS} are accepted")
    host = _text(fields, "host")
    host = host_of(host if "://" in host else f"http://{host}") or ""
    return _submission(host, _text(fields, "key"), _text(fields, "keyLocation"), urls)


def shows_key(body: bytes, key: str) -> bool:
    """Whether a key file contains the key, and nothing else.

    >>> shows_key(b"\\xef\\xbb\\xbf0123456789abcdef\\r\\n", "0123456789abcdef")
    True
    """
    return body[:1024].decode("utf-8-sig", "replace").strip() == key


def _submission(host: str, key: str, key_location: str, texts: Iterable[Any]) -> Submission:
    if not _KEY.fullmatch(key):
        raise PingError(_BAD_REQUEST, "the key is not 8 to 128 letters, digits and hyphens")
    if not host:
        raise PingError(_BAD_REQUEST, "the host or URL is missing or not a valid one")
    urls: dict[str, None] = {}
    for text in texts:
        address = read_address(text) if isinstance(text, str) else None
        if address is None:
            raise PingError(_BAD_REQUEST, f"{text!r:.100} is not an http or https URL")
        if address.host != host:
            raise PingError(_UNPROCESSABLE, f"{address.url:.100} is not on the host {host}")
        urls[address.url] = None
    # The scheme of the key's address is that of the first URL: hosts that are only on https exist.
    scheme = next(iter(urls)).partition("://")[0]
    key_address = read_address(key_location or f"{scheme}://{host}/{key}.txt")
    if key_address is None or key_address.host != host:
        raise PingError(_UNPROCESSABLE, "keyLocation is not on the host")
    # A key in a folder is valid for what is in this folder.
    folder = _path(key_address.url).rpartition("/")[0] + "/"
    if not all(_path(url).startswith(folder) for url in urls):
        raise PingError(_UNPROCESSABLE, f"some URLs are not below {folder}, where the key is")
    return Submission(host, key, key_address.url, list(urls))


def _path(url: str) -> str:
    return "/" + url.partition("://")[2].partition("?")[0].partition("/")[2]


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
