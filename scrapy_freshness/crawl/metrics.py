"""Tells how the crawl does: Prometheus at `/metrics`, programs at `/status.json`, probes at `/healthz`.

Answers come from memory, on the reactor, in about a millisecond.
"""

import json
import logging
import math
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from scrapy_freshness.config import setting_name
from scrapy_freshness.crawl.ping_server import Ping, PingServer, Reply
from scrapy_freshness.crawl.vitals import Vitals
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.units import is_loopback

logger = logging.getLogger(__name__)

#: None of the requests has a body.
_MOST_BYTES, _TIMEOUT_SECONDS = 1024, 10.0
_INDEX = "metrics of scrapy-freshness: /metrics, /status.json, /healthz\n"
_JSON = "application/json"


class MetricsDesk:
    """Answers who asks how the crawl does; a `ping_server.Desk`.

    Parameters
    ----------
    exposition : makes the text for Prometheus
    is_loopback : whether only this machine can ask; then nobody else's names for it are taken
    """

    def __init__(
        self, vitals: Vitals, exposition: Callable[[], str], content_type: str, *, is_loopback: bool
    ) -> None:
        self._vitals = vitals
        self._exposition = exposition
        self._content_type = content_type
        self._is_loopback = is_loopback

    def refusal(self, sender: str) -> Reply | None:
        """Refuse nobody."""
        return None

    def lost(self, counted_as: str) -> None:
        """A request that cannot be read is no matter of the crawl's."""

    async def answer(self, ping: Ping) -> Reply:
        """Return the answer to a request."""
        if self._is_loopback and not is_own_name(ping.headers("Host")):
            # A page that is open in a browser here may have made a name of its own mean this machine.
            return Reply(403, "ask by the name of this machine, such as 127.0.0.1 or localhost\n")
        if ping.method not in ("GET", "HEAD"):
            return Reply(405, "GET\n", (("Allow", "GET, HEAD"),))
        if ping.path == "/metrics":
            return Reply(200, self._exposition(), content_type=self._content_type)
        if ping.path == "/status.json":
            return Reply(200, json.dumps(_plain(self._vitals.status())) + "\n", content_type=_JSON)
        if ping.path == "/healthz":
            trouble = self._vitals.trouble()
            return Reply(200, "ok\n") if trouble is None else Reply(503, f"{trouble}\n")
        return Reply(200 if ping.path == "/" else 404, _INDEX)


class Metrics:
    """Listens from `listen` to `close`."""

    def __init__(self, vitals: Vitals, address: tuple[str, int]) -> None:
        try:
            from scrapy_freshness.crawl import prometheus
        except ImportError as error:
            raise ConfigError(
                f"{_SETTING} needs a library that is not installed: pip install 'scrapy-freshness[metrics]'"
            ) from error
        self._address = address
        self._is_loopback = is_loopback(address[0])
        desk = MetricsDesk(
            vitals,
            prometheus.exposition(vitals.status),
            prometheus.CONTENT_TYPE,
            is_loopback=self._is_loopback,
        )
        self._server = PingServer(
            desk, most_bytes=_MOST_BYTES, timeout_seconds=_TIMEOUT_SECONDS, setting=_SETTING
        )

    def check(self) -> None:
        """See that the port can be had; raises ConfigError if not."""
        self._server.check(*self._address)

    def listen(self) -> None:
        """Take the port; raises ConfigError if it cannot be had."""
        address = self._server.listen(*self._address)
        logger.info("Telling metrics at http://%s/metrics", address)
        if not self._is_loopback:
            logger.warning("Whoever can reach %s can read the metrics: there is no password", address)

    def close(self) -> "Deferred[object]":
        """Answer nobody any more; fires when the port is free."""
        return self._server.close()


_SETTING = setting_name("metrics_listen")


def is_own_name(host: str) -> bool:
    """Whether the Host header of a request names this machine as it names itself.

    >>> is_own_name("127.0.0.1:9410"), is_own_name("[::1]:9410"), is_own_name("evil.example:9410")
    (True, True, False)
    """
    name = host.rpartition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    return is_loopback(name)


def _plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
