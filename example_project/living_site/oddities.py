"""The pages of an odd host: answers that are hard to digest, each for a reason of its own."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from living_site.wire import Answer, Framing

NO_HEADERS: Mapping[str, str] = {}
HTML = {"Content-Type": "text/html; charset=utf-8"}
LONG_PATH_LENGTH = 10_000
ENDLESS = re.compile(r"/endless/([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class OddPage:
    """A title for the link to an odd page, and its answer for the size a big page should have."""

    title: str
    answer: Callable[[int], Answer]


def _html(body: bytes, framing: Framing = Framing.LENGTH, headers: Mapping[str, str] = NO_HEADERS) -> Answer:
    """Return an answer that says it is HTML in UTF-8."""
    return Answer(200, body, {**HTML, **headers}, framing)


def _big(size: int) -> Answer:
    """Return a page of `size` bytes."""
    paragraph = b"<p>" + b"much more of the same " * 40 + b"</p>\n"
    return _html((paragraph * (size // len(paragraph) + 1))[:size])


def _long_link(_size: int) -> Answer:
    """Return a page that links to a URL of ten thousand characters, which the host answers with 404."""
    return _html(f'<p>Long way <a href="/{"x" * LONG_PATH_LENGTH}">ahead</a></p>'.encode())


ODDITIES = {
    "/broken": OddPage(
        "Broken HTML",
        lambda _: _html(
            b'<html><body><p>Open <b>and <i>never</b> closed <a href="/articles/1>quote</p <div <<'
        ),
    ),
    "/wrong-charset": OddPage(
        "Windows-1252 that says it is UTF-8",
        lambda _: _html("<p>Caf\xe9 cr\xe8me \u2013 \u201cd\xe9j\xe0 vu\u201d</p>".encode("cp1252")),
    ),
    "/unknown-charset": OddPage(
        "A charset that does not exist",
        lambda _: Answer(200, b"<p>Plain words</p>", {"Content-Type": "text/html; charset=klingon-8"}),
    ),
    "/big": OddPage("A big page", _big),
    "/empty": OddPage("An empty body", lambda _: _html(b"")),
    "/binary": OddPage("Bytes that say they are HTML", lambda _: _html(bytes(range(256)) * 16)),
    "/image.png": OddPage(
        "An image", lambda _: Answer(200, b"\x89PNG\r\n\x1a\n" + bytes(64), {"Content-Type": "image/png"})
    ),
    "/untyped": OddPage("No content type", lambda _: Answer(200, b"<p>What am I?</p>")),
    "/chunked": OddPage("A chunked body", lambda _: _html(b"<p>In one chunk</p>", Framing.CHUNKED)),
    "/unframed": OddPage(
        "A body that ends with the connection", lambda _: _html(b"<p>Until the end</p>", Framing.CLOSE)
    ),
    "/truncated": OddPage("Half of a body", lambda _: _html(b"<p>Half of</p>", Framing.TRUNCATED)),
    "/strange-validators": OddPage(
        "Validators against the rules",
        lambda _: _html(b"<p>Strange</p>", headers={"ETag": "unquoted, \xe9", "Last-Modified": "yesterday"}),
    ),
    "/injection": OddPage(
        "Line breaks in a redirection",
        lambda _: Answer(302, headers={"Location": "/articles/1?a=%0d%0aSet-Cookie:%20b=c"}),
    ),
    "/long-link": OddPage("A link of ten thousand characters", _long_link),
    "/endless/1": OddPage("A redirection without end", lambda _: _endless(1)),
}


def odd_answer(path: str, big_page_bytes: int) -> Answer | None:
    """Return what an odd host answers at one of its odd paths, None at any other path."""
    if match := ENDLESS.fullmatch(path):
        return _endless(int(match[1]))
    oddity = ODDITIES.get(path)
    return oddity.answer(big_page_bytes) if oddity else None


def _endless(step: int) -> Answer:
    """Return a redirection to the next step of a way that has no end."""
    location = f"/endless/{step + 1}"
    return Answer(302, headers={"Location": location})
