"""What each request to the press gets: a decision from the world, the request and the time."""

from dataclasses import dataclass

from living_site.answers import HTML, missing, unless_current
from living_site.model import Host
from living_site.validators import body_etag
from living_site.wire import Answer, Request, http_date

from press.pages import hub_html, old_html, older_html, story_html
from press.world import PressWorld, hub_path

ROBOTS = b"User-agent: *\nDisallow: /private/\n"
#: Hubs and other old pages say that they were made so many days before the epoch.
OLD_DAYS = 30.0


@dataclass(frozen=True, slots=True)
class PressResponder:
    """Answers for all newspapers, and for the host that is none."""

    world: PressWorld
    epoch: float
    """Unix time of the world's time 0, for the dates in answers."""

    def delay_seconds(self, host: Host) -> float:
        """Return 0: newspapers think fast."""
        return 0.0

    def answer(self, request: Request, host: Host, time: float, request_number: int) -> Answer:
        """Return the answer of a host to its n-th request, given at `time`."""
        if request.method not in ("GET", "HEAD"):
            return Answer(405, headers={"Allow": "GET, HEAD"})
        if request.path == "/robots.txt":
            return Answer(200, ROBOTS, {"Content-Type": "text/plain"})
        if host is self.world.outsider:
            return _page(request, "<!doctype html><title>Elsewhere</title>\n", self._founded)
        hub = self.world.hub_at(host.address, request.path)
        if hub is not None:
            return self._hub(request, hub, time, request_number)
        story = self.world.story_at(host.address, request.path, time)
        if story is not None:
            born = self.epoch + float(self.world.graph.births.times[story])
            return _page(request, story_html(self.world, story), born)
        if request.path in (*self.world.old_paths(), "/partners", "/private/desk"):
            return _page(request, old_html(self.world, request.path), self._founded)
        return missing(404)

    def _hub(self, request: Request, hub: int, time: float, request_number: int) -> Answer:
        """Return a hub, dated by its making, as many sites do; its ETag tells what it shows."""
        section = hub // self.world.parameters.hosts
        if request.target == f"{hub_path(section)}?page=2":
            return _page(request, older_html(self.world, section), self._founded)
        return _page(request, hub_html(self.world, hub, time, request_number), self._founded)

    @property
    def _founded(self) -> float:
        return self.epoch - OLD_DAYS * self.world.parameters.seconds_per_day


def _page(request: Request, html: str, made_at: float) -> Answer:
    body = html.encode()
    validators = {"ETag": body_etag(body), "Last-Modified": http_date(made_at)}
    return unless_current(request, Answer(200, body, HTML), validators)
