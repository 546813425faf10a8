"""Tells the outside what changes on a living site, while it lives: through a hub, or by submissions."""

import threading
from collections.abc import Callable
from typing import Self

from living_site.answers import Responder
from living_site.model import Document
from living_site.sayings import announcing_hosts, sayings
from living_site.submitter import Submitter
from living_site.websub_hub import WebSubHub
from living_site.wire import Answer, Request

TICK_SECONDS = 0.1


class Announcer:
    """Looks at what changed, several times a second, in a thread of its own.

    A hub gets the content of the topics that somebody is subscribed to, whenever that changes. Submissions
    are what the announcing hosts say, true or not.
    """

    def __init__(
        self, responder: Responder, hub: WebSubHub | None, indexnow_url: str, now: Callable[[], float]
    ) -> None:
        self._responder = responder
        self._hub = hub
        self._submitter = Submitter(responder.world, indexnow_url) if indexnow_url else None
        self._now = now
        self._told_until = 0.0
        self._published: dict[str, bytes] = {}  # by topic
        self._stop_wish = threading.Event()
        self._thread = threading.Thread(target=self._run, name="living-site-announcer", daemon=True)

    def start(self) -> Self:
        """Begin to tell."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Tell no more; what is being sent ends first."""
        self._stop_wish.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop_wish.wait(TICK_SECONDS):
            time = self._now()
            if self._hub is not None:
                self._publish(self._hub, time)
            if self._submitter is not None:
                self._submitter.submit(self._said_since(self._told_until, time))
            self._told_until = time

    def _publish(self, hub: WebSubHub, time: float) -> None:
        """Send topics whose content is another than it was when it was sent last, or first subscribed to."""
        for topic in hub.topics:
            answer = self._content(topic, time)
            if answer is None or answer.status != 200:
                continue
            before = self._published.setdefault(topic, answer.body)
            if before != answer.body:
                self._published[topic] = answer.body
                hub.publish(topic, answer.body, answer.headers["Content-Type"])

    def _content(self, topic: str, time: float) -> Answer | None:
        for host in self._responder.world.hosts:
            if topic.startswith(f"{host.site_url}/"):
                path = topic.removeprefix(host.site_url)
                return self._responder.answer(Request("GET", path, path, {}, keeps_alive=True), host, time, 0)
        return None

    def _said_since(self, start: float, end: float) -> list[Document]:
        world = self._responder.world
        documents = [
            page
            for host in announcing_hosts(world)
            for page in world.pages_of(host)
            if isinstance(page, Document)
        ]
        return [page for page in documents if sayings(world, page, start, end)]
