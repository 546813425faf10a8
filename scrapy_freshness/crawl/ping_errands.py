"""Requests that pings make necessary: key files, and requests to hubs.

They go the way of all untracked requests: through the scheduler, at the pace of the budget, past hosts that
are busy. Because strangers cause them, they get a small part of the budget only.
"""

from collections.abc import Callable, Mapping
from typing import Any

from scrapy import FormRequest, Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from scrapy_freshness.crawl.throttle import Throttle

#: In the meta of such a request, so that its fetch is counted as what it is.
ERRAND_KEY = "freshness_ping"
#: Share of the budget for all of them, and how often each host or hub may be asked.
_SHARE, _PER_HOST = 0.1, 0.2

Answered = Callable[[Response], None]
Failed = Callable[[Failure], None]


class PingErrands:
    """Sends requests as long as there is a place for them."""

    def __init__(self, crawler: Crawler, budget_per_second: float) -> None:
        self._crawler = crawler
        self._throttle = Throttle(per_sender=_PER_HOST, total=_SHARE * budget_per_second)

    def send(self, request: Request, host: str, now: float) -> bool:
        """Hand a request to the crawl; False if there is no place for it now."""
        if self._crawler.engine is None or not self._throttle.admit(host, now):
            return False
        self._crawler.engine.crawl(request)
        return True


def key_request(url: str, most_bytes: int, answered: Answered, failed: Failed) -> Request:
    """Return the request for a key file; a redirect would show the key of somebody else."""
    # Strangers name the address, so nothing of the spider's goes there.
    meta = {"dont_redirect": True, "dont_merge_cookies": True, "download_maxsize": most_bytes}
    return Request(url, meta=_META | meta, callback=answered, errback=failed, dont_filter=True)


def hub_request(url: str, form: Mapping[str, str], answered: Answered, failed: Failed) -> Request:
    """Return the request of a subscriber to a hub."""
    meta = _META | {"dont_merge_cookies": True}
    return FormRequest(
        url, formdata=dict(form), meta=meta, callback=answered, errback=failed, dont_filter=True
    )


#: Nothing of this is crawling: robots.txt and the spider's domains are not about it. Who sends the ping, or
#: the host that names the hub, has asked for it.
_META: dict[str, Any] = {
    "freshness": False,
    ERRAND_KEY: True,
    "allow_offsite": True,
    "dont_cache": True,
    "dont_obey_robotstxt": True,
    "dont_retry": True,
    "handle_httpstatus_all": True,
}
