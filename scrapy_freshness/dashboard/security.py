"""Who may see the dashboard, and what a browser may do with its pages.

Addresses and titles of crawled pages are written by strangers. So nothing but our own files is run or shown
(Content-Security-Policy), no other site may frame a page, and what is asked of us must be asked under our
own name: a foreign name that leads to this machine (DNS rebinding) is refused.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrapy_freshness.units import is_loopback

COOKIE = "freshness_dashboard"
#: Seconds until a browser is asked for the token again.
_COOKIE_SECONDS = 30 * 86400
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, our own forms would have the origin "null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Door:
    """Who may come in."""

    host: str  #: address that is listened on
    token: str | None = None  #: to be shown by whoever wants to see anything
    other_hosts: Collection[str] = ()  #: names by which the dashboard is reached, through a proxy say
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    def knows_host(self, header: str) -> bool:
        """Whether a request is meant for us.

        Who comes from elsewhere shows the token, which a browser keeps for the name that it was given
        under: there any name will do.
        """
        name = _host_name(header)
        if name is None:
            return False
        if not self.is_local and self.token is not None:
            return True
        return is_loopback(name) or name in (self.host.lower(), *map(str.lower, self.other_hosts))

    def takes_token(self, shown: str) -> bool:
        """Whether this is the token."""
        return self.token is not None and hmac.compare_digest(shown.encode(), self.token.encode())

    def cookie(self) -> str:
        """What a browser gets for the token: it cannot be turned back into it."""
        return hmac.new((self.token or "").encode(), b"cookie", hashlib.sha256).hexdigest()

    def lets_in(self, connection: HTTPConnection) -> bool:
        """Whether a request may see anything."""
        if self.token is None:
            return True
        kind, _, shown = connection.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.takes_token(shown.strip()):
            return True
        return hmac.compare_digest(connection.cookies.get(COOKIE, "").encode(), self.cookie().encode())

    def form_key(self) -> str:
        """What our own forms carry and no other site can know."""
        return hmac.new(self._secret, b"form", hashlib.sha256).hexdigest()

    def takes_form(self, headers: Headers, key: str) -> bool:
        """Whether a form was sent from one of our own pages."""
        origin = headers.get("origin")
        is_ours = origin is None or origin.partition("://")[2] == headers.get("host", "")
        is_near = headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
        return is_ours and is_near and hmac.compare_digest(key.encode(), self.form_key().encode())


class Guard:
    """Stands before the app: refuses what `Door` refuses, and adds the headers to every answer."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                is_ours = scope["path"].startswith("/static/")  # nothing in it is about the crawl
                headers.setdefault("Cache-Control", "no-cache" if is_ours else "no-store")
            await send(message)

        answer = self._answer(HTTPConnection(scope))
        await (answer or self._app)(scope, receive, send_with_headers)

    def _answer(self, connection: HTTPConnection) -> Response | None:
        """The answer to a request that goes no further."""
        if not self._door.knows_host(connection.headers.get("host", "")):
            return PlainTextResponse(
                "This is not the name of this dashboard. If you reach it through a proxy, start it with "
                "--allow-host NAME.\n",
                421,
            )
        shown = connection.query_params.get("token")
        if shown is not None and connection.scope["method"] == "GET" and self._door.takes_token(shown):
            return letting_in(self._door, _without_token(connection))
        is_open = connection.url.path.startswith("/static/") or connection.url.path == "/token"
        if is_open or self._door.lets_in(connection):
            return None
        return RedirectResponse("/token", 303) if connection.scope["method"] == "GET" else _refused()


def letting_in(door: Door, target: str) -> Response:
    """An answer that lets a browser in from now on."""
    answer = RedirectResponse(target, 303)
    answer.set_cookie(COOKIE, door.cookie(), max_age=_COOKIE_SECONDS, httponly=True, samesite="strict")
    return answer


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(24)


def _host_name(header: str) -> str | None:
    """The name in a Host header, without the port; None if it is none.

    >>> _host_name("[::1]:8321"), _host_name("LocalHost:8321"), _host_name("a b"), _host_name("")
    ('::1', 'localhost', None, None)
    """
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port
    except ValueError:
        return None
    is_plain = parts.netloc == header and not any(char.isspace() for char in header) and "@" not in header
    return parts.hostname if is_plain else None


def _without_token(connection: HTTPConnection) -> str:
    query = parse_qs(connection.url.query)
    query.pop("token")
    rest = urlencode(query, doseq=True)
    # A path that begins with two slashes would lead to another host.
    return "/" + connection.url.path.lstrip("/") + (f"?{rest}" if rest else "")


def _refused() -> Response:
    return PlainTextResponse("The token is missing.\n", 401)
