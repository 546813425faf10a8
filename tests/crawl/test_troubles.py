"""Why a request failed is told in words."""

import pytest
from scrapy.core.downloader.handlers.http11 import TunnelError
from scrapy.exceptions import DownloadCancelledError, DownloadFailedError, IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.internet.error import ConnectionRefusedError as TwistedRefused
from twisted.internet.error import DNSLookupError, TCPTimedOutError
from twisted.web.client import ResponseNeverReceived

from scrapy_freshness.crawl.troubles import reason_of


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (IgnoreRequest("max redirections reached"), "max redirections reached"),
        (IgnoreRequest(), "ignore request"),
        (IgnoreRequest("a\n  b\tc"), "a b c"),
        (HttpError(Response("http://a.example/", status=503), "Ignoring non-200 response"), "status 503"),
        (TCPTimedOutError(), "timeout"),
        (TwistedRefused(), "connection refused"),
        (DNSLookupError(), "DNS lookup failed"),
        (DownloadCancelledError("Received 9 bytes which is larger than download max size (8)"), "too large"),
        (DownloadCancelledError("of a page"), "download cancelled"),
        (DownloadFailedError("[<Failure OpenSSL.SSL.Error: []>]"), "TLS failed"),
        (ResponseNeverReceived([]), "no usable answer"),
        (TunnelError("<script>"), "tunnel error"),
        (ValueError("http://a.example/?password=1"), "value error"),
    ],
)
def test_a_reason_is_told_in_words(error: Exception, told: str) -> None:
    assert reason_of(error).removeprefix("download cancelled: ") == told
