"""What each request gets: a decision from the world, the request and the time, without any I/O."""

from dataclasses import dataclass, replace

from living_site.announcements import announcement
from living_site.chance import stream
from living_site.model import Host, Oddity, Page, Redirection
from living_site.oddities import odd_answer
from living_site.pages import page_html
from living_site.parameters import Character
from living_site.submitter import indexnow_key
from living_site.trouble import trouble
from living_site.validators import body_etag, is_current, page_validators
from living_site.wire import Answer, Request
from living_site.world import World

HTML = {"Content-Type": "text/html; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class Responder:
    """Answers requests truthfully, or as untruthfully as the character of the host demands."""

    world: World
    epoch: float
    """Unix time of the world's time 0, for the dates in answers."""

    hub_url: str = ""
    """The WebSub hub that feeds and the documents of announcing hosts name; empty for none."""

    shows_keys: bool = False
    """Whether hosts that announce show their IndexNow keys."""

    def delay_seconds(self, host: Host) -> float:
        """Return how long a host thinks before it looks at a page."""
        return self.world.parameters.slow_seconds if host.character is Character.SLOW else 0.0

    def answer(self, request: Request, host: Host, time: float, request_number: int) -> Answer:
        """Return the answer of a host to its n-th request, given at `time`."""
        troubled = trouble(self.world.parameters, host, request.path, request_number, self.epoch + time)
        if troubled is not None:
            return troubled
        if request.method not in ("GET", "HEAD"):
            return Answer(405, headers={"Allow": "GET, HEAD"})
        page = self.world.page(host.address, request.path) or self.world.post(
            host.address, request.path, time
        )
        if page is None:
            return self._announcement(request, host, time)
        return self._page(request, page, time, request_number)

    def _announcement(self, request: Request, host: Host, time: float) -> Answer:
        """Return a robots.txt, a sitemap, a feed, a step of an endless redirection, or a 404."""
        if self.shows_keys and request.path == f"/{indexnow_key(self.world, host)}.txt":
            return Answer(200, f"{indexnow_key(self.world, host)}\n".encode(), {"Content-Type": "text/plain"})
        found = announcement(self.world, host, request.path, time, self.epoch, self.hub_url)
        if found is not None:
            return unless_current(request, found, {"ETag": body_etag(found.body)})
        odd = self._oddity(request.path) if host.character is Character.ODD else None
        return odd or missing(404)

    def _page(self, request: Request, page: Page, time: float, request_number: int) -> Answer:
        """Return a page, or whatever stands in its place."""
        if isinstance(page, Redirection):
            return Answer(page.status, headers={"Location": page.location})
        if isinstance(page, Oddity):
            return self._oddity(page.path) or missing(404)
        status = self.world.status_at(page, time)
        if status != 200:
            return missing(status)
        nonce = self._nonce(page.host, time, request_number) if page.host.character is Character.NOISY else ""
        body = page_html(self.world, page, time, nonce).encode()
        validators = page_validators(self.world, page, body, time, self.epoch)
        return unless_current(request, Answer(200, body, {**HTML, **self._hub_links(page)}), validators)

    def _hub_links(self, page: Page) -> dict[str, str]:
        """Return the header by which a document names its hub, if it has one."""
        if not self.hub_url or page.host.character is not Character.ANNOUNCING or page.kind != "document":
            return {}
        return {"Link": f'<{self.hub_url}>; rel="hub", <{page.url}>; rel="self"'}

    def _oddity(self, path: str) -> Answer | None:
        """Return the answer at an odd path."""
        return odd_answer(path, self.world.parameters.big_page_bytes)

    def _nonce(self, host: Host, time: float, request_number: int) -> str:
        """Return a text that differs for every request."""
        random = stream(self.world.parameters.seed, host.address, "nonce", request_number)
        return f"{self.epoch + time:.6f}-{random.getrandbits(64):016x}"


def unless_current(request: Request, answer: Answer, validators: dict[str, str]) -> Answer:
    """Return an answer with its validators, or a 304 if they show that the client has it already."""
    if is_current(request, validators):
        return Answer(304, headers=validators)
    return replace(answer, headers={**answer.headers, **validators})


def missing(status: int) -> Answer:
    """Return the page that says that there is no page."""
    return Answer(status, b"<!doctype html><title>Gone</title><p>There is nothing here.</p>\n", HTML)
