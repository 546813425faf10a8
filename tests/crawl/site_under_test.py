"""A small web server whose every answer a test decides."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


@dataclass(frozen=True)
class Answer:
    """What the server sends."""

    body: bytes | str = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    close: bool = False  #: drop the connection without an answer
    delay: float = 0.0  #: seconds until the answer begins
    raw: bytes | None = None  #: sent as it is, in place of the rest; then the connection is closed


@dataclass(frozen=True)
class Asked:
    """One line of the server's log."""

    at: float
    host: str
    method: str
    path: str
    headers: Mapping[str, str]
    status: int


#: Makes the answer to a request from its headers and the number of earlier requests for the path.
Page = Callable[[Mapping[str, str], int], Answer]


def html(*links: str, text: str = "some words on this page") -> str:
    """A page with a text and links."""
    anchors = "".join(f'<a href="{link}">a link</a> ' for link in links)
    return f"<html><head><title>t</title></head><body><p>{text}</p>{anchors}</body></html>"


class Site:
    """Serves ``pages`` (path -> answer, text or function) on loopback addresses; a context manager."""

    def __init__(self, hosts: int = 1) -> None:
        self.pages: dict[str, Page | Answer | str] = {}
        self.log: list[Asked] = []
        self._addresses = [f"127.0.0.{number + 1}" for number in range(hosts)]
        self._counts: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()
        self.stopped = threading.Event()  #: ends the delays of answers
        self._servers: list[ThreadingHTTPServer] = []

    def __enter__(self) -> Self:
        handler = _handler_for(self)
        self._servers.append(_Server((self._addresses[0], 0), handler))
        self.port = self._servers[0].server_address[1]
        self._servers.extend(_Server((address, self.port), handler) for address in self._addresses[1:])
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopped.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def url(self, path: str = "/", host: int = 0) -> str:
        return f"http://{self._addresses[host]}:{self.port}{path}"

    def asked(self, path: str, host: int | None = None) -> list[Asked]:
        """Requests for a path, in order."""
        address = None if host is None else self._addresses[host]
        return [each for each in self.log if each.path == path and address in (None, each.host)]

    def seen(self, counts: Mapping[str, int]) -> Callable[[], bool]:
        """A condition: each path (as in ``pages``, also of one host) was asked for so often, or more."""

        def is_true() -> bool:
            paths = Counter(each.path for each in self.log) + Counter(
                f"{each.host}{each.path}" for each in self.log
            )
            return all(paths[path] >= count for path, count in counts.items())

        return is_true

    def answer(self, host: str, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        with self._lock:
            count = self._counts.get((host, path), 0)
            self._counts[host, path] = count + 1
        page = self.pages.get(f"{host}{path}", self.pages.get(path))
        if page is None:
            answer = Answer("not here", 404)
        elif isinstance(page, str):
            answer = Answer(page)
        elif isinstance(page, Answer):
            answer = page
        else:
            answer = page(headers, count)
        self.log.append(Asked(time.time(), host, method, path, headers, 0 if answer.close else answer.status))
        return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that are killed leave broken connections behind."""


def _handler_for(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            host = self.headers["Host"].partition(":")[0]
            answer = site.answer(host, self.command, self.path, dict(self.headers.items()))
            site.stopped.wait(answer.delay)
            if answer.close or answer.raw is not None:
                self.wfile.write(answer.raw or b"")
                self.close_connection = True
                return
            body = answer.body.encode() if isinstance(answer.body, str) else answer.body
            self.send_response_only(answer.status)
            headers = {"Content-Type": "text/html; charset=utf-8", **answer.headers}
            if answer.status == 304:
                headers.pop("Content-Type")
                body = b""
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_POST = do_HEAD = do_GET  # noqa: N815  names that http.server asks for

        def log_message(self, *args: object) -> None:
            """The site keeps its own log."""

    return Handler
