"""The submitter of IndexNow: tells an endpoint which documents of a host have changed."""

import json
from collections import Counter
from collections.abc import Iterable

from living_site.chance import stream
from living_site.model import Document, Host
from living_site.sending import send
from living_site.world import World

LATER = {0, 429, 503}
"""The statuses after which a submission is made again."""


def indexnow_key(world: World, host: Host) -> str:
    """Return the key that a host shows at its root."""
    return f"{stream(world.parameters.seed, host.address, 'indexnow').getrandbits(128):032x}"


class Submitter:
    """Submits documents host by host; those that the endpoint has no time for are kept for later."""

    def __init__(self, world: World, endpoint: str) -> None:
        self._world = world
        self._endpoint = endpoint
        self._waiting: dict[Host, dict[str, None]] = {}
        self.statuses: Counter[int] = Counter()

    def submit(self, pages: Iterable[Document]) -> None:
        """Submit documents that have changed, and what has waited."""
        for page in pages:
            self._waiting.setdefault(page.host, {})[page.url] = None
        for host, urls in list(self._waiting.items()):
            some = list(urls)[:10_000]
            status = self._send(host, some)
            self.statuses[status] += 1
            if status not in LATER:
                del self._waiting[host]

    def _send(self, host: Host, urls: list[str]) -> int:
        fields = {
            "host": host.site_url.removeprefix("http://"),
            "key": indexnow_key(self._world, host),
            "urlList": urls,
        }
        headers = {"Content-Type": "application/json; charset=utf-8"}
        return send("POST", self._endpoint, json.dumps(fields).encode(), headers).status
