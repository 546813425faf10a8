"""Why a request failed, in words for people."""

import re

from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

#: By the names of exceptions: those of Twisted, and those that Scrapy has for the same.
_WORDS = {
    "TimeoutError": "timeout",
    "TCPTimedOutError": "timeout",
    "DownloadTimeoutError": "timeout",
    "ConnectionRefusedError": "connection refused",
    "DownloadConnectionRefusedError": "connection refused",
    "DNSLookupError": "DNS lookup failed",
    "CannotResolveHostError": "DNS lookup failed",
    "ConnectError": "connection failed",
    "ConnectionLost": "connection lost",
    "ConnectionDone": "connection closed",
    "ResponseDataLossError": "the answer is incomplete",
    "ResponseFailed": "no usable answer",
    "DownloadFailedError": "no usable answer",
    "UnsupportedURLSchemeError": "the scheme of the address is not supported",
    "CancelledError": "download cancelled",
    "DownloadCancelledError": "download cancelled",
}
#: What Scrapy says of bodies beyond DOWNLOAD_MAXSIZE.
_TOO_LARGE = re.compile("larger than download max size|exceeded DOWNLOAD_MAXSIZE")
_WORD = re.compile("[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|[0-9]+")
#: Characters of a message that are looked at.
_LOOKED_AT = 1000


def reason_of(error: BaseException | None) -> str:
    """Why a request failed, from the exception that says so.

    >>> reason_of(IgnoreRequest("Forbidden by robots.txt")), reason_of(TimeoutError()), reason_of(KeyError())
    ('Forbidden by robots.txt', 'timeout', 'key error')
    """
    if error is None:
        return "failed"
    message = " ".join(str(error)[:_LOOKED_AT].split())
    if _TOO_LARGE.search(message):
        return "download cancelled: too large"
    if isinstance(error, IgnoreRequest):
        # That of an answer which the spider does not take has it.
        response = getattr(error, "response", None)
        return f"status {response.status}" if isinstance(response, Response) else message or _spelt_out(error)
    if "OpenSSL" in message:  # what Twisted tells of a handshake is no text for people
        return "TLS failed"
    return next((_WORDS[each.__name__] for each in type(error).__mro__ if each.__name__ in _WORDS), None) or (
        _spelt_out(error)
    )


def _spelt_out(error: BaseException) -> str:
    """The name of an exception's type as words."""
    words = _WORD.findall(type(error).__name__)
    return " ".join(word if word.isupper() and len(word) > 1 else word.lower() for word in words)
