"""HTTP/1.1 on the wire: bytes to a request, an answer to bytes, dates to text and back."""

import re
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import formatdate, parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus
from urllib.parse import urlsplit

TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
BODILESS = {204, 304}


class BadRequest(Exception):  # noqa: N818 - named after the status it leads to
    """A request that cannot be understood; the connection is closed after the answer."""

    def __init__(self, status: int = 400) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """A request head that was understood. Header names are in lower case."""

    method: str
    target: str
    path: str
    headers: dict[str, str]
    keeps_alive: bool

    @property
    def is_conditional(self) -> bool:
        """Whether the client says which copy it holds."""
        return "if-none-match" in self.headers or "if-modified-since" in self.headers


class Framing(StrEnum):
    """How the end of a body is told."""

    LENGTH = "length"
    CHUNKED = "chunked"
    CLOSE = "close"
    """The end of the connection is the end of the body."""
    TRUNCATED = "truncated"
    """Content-Length promises twice the body; the connection ends early."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request gets. Status 0 stands for a connection closed without an answer."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    framing: Framing = Framing.LENGTH


def parse_request(head: bytes) -> Request:
    """Return the request in the bytes up to the empty line; raise `BadRequest` if there is none.

    >>> parse_request(b"GET /a?b=1 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n").path
    '/a'
    """
    request_line, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    match request_line.split(" "):
        case [method, target, version] if TOKEN.fullmatch(method):
            pass
        case _:
            raise BadRequest
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise BadRequest(505 if version.startswith("HTTP/") else 400)
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not TOKEN.fullmatch(name) or "\n" in value or "\0" in value:
            raise BadRequest
        key, text = name.lower(), value.strip(" \t")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    if version == "HTTP/1.1" and "host" not in headers:
        raise BadRequest
    connection = headers.get("connection", "").lower()
    keeps_alive = "close" not in connection if version == "HTTP/1.1" else "keep-alive" in connection
    return Request(method, target, _path(target), headers, keeps_alive)


def body_length(request: Request) -> int:
    """Return how many bytes of body follow a request's head; raise `BadRequest` if that cannot be told."""
    if "transfer-encoding" in request.headers:
        raise BadRequest(501)
    text = request.headers.get("content-length", "0")
    if not text.isascii() or not text.isdigit():
        raise BadRequest
    return int(text)


def serialise(answer: Answer, *, date: float, head_only: bool, keeps_alive: bool) -> bytes:
    """Return the bytes of an answer given at `date`, a Unix time."""
    reason = HTTPStatus(answer.status).phrase
    headers = {"Date": http_date(date), "Server": "living-site", **answer.headers}
    body = answer.body
    if answer.status not in BODILESS:
        match answer.framing:
            case Framing.LENGTH:
                headers["Content-Length"] = str(len(body))
            case Framing.TRUNCATED:
                headers["Content-Length"] = str(2 * len(body))
            case Framing.CHUNKED:
                headers["Transfer-Encoding"] = "chunked"
                body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    headers["Connection"] = "keep-alive" if keeps_alive else "close"
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    start = f"HTTP/1.1 {answer.status} {reason}\r\n{head}\r\n".encode("latin-1")
    return start if head_only or answer.status in BODILESS else start + body


def http_date(unix_time: float) -> str:
    """Return a Unix time as HTTP writes it, cut to the second.

    >>> http_date(784111777.9)
    'Sun, 06 Nov 1994 08:49:37 GMT'
    """
    return formatdate(int(unix_time), usegmt=True)


def parse_http_date(text: str) -> float | None:
    """Return the Unix time of an HTTP date, None for anything else.

    >>> parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), parse_http_date("yesterday")
    (784111777.0, None)
    """
    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _path(target: str) -> str:
    """Return the path of a request target in origin or absolute form."""
    if target.startswith("/"):
        return target.partition("?")[0]
    try:
        parts = urlsplit(target)
    except ValueError:
        raise BadRequest from None
    if parts.scheme != "http":
        raise BadRequest
    return parts.path or "/"
