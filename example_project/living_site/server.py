"""The living site on sockets: HTTP/1.1 with keep-alive on all of its loopback addresses."""

import asyncio
import socket
import threading
from asyncio import StreamReader, StreamWriter
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from living_site.model import Host
from living_site.request_log import Entry, RequestLog
from living_site.wire import Answer, BadRequest, Framing, Request, body_length, parse_request, serialise

HEAD_LIMIT_BYTES = 65_536
BODY_LIMIT_BYTES = 1_000_000
TICK_SECONDS = 0.05
"""How often the log is written and the wish to stop is looked at."""

LINGER_SECONDS = 1.0
PORT_ATTEMPTS = 50
NOT_UNDERSTOOD = Request(method="", target="", path="", headers={}, keeps_alive=False)


class Hosts(Protocol):
    """Who answers at which address."""

    def host(self, address: str) -> Host:
        """Return the host at a loopback address."""
        ...


class Answering(Protocol):
    """Decides what a request gets: `living_site.answers.Responder`, or that of another site."""

    @property
    def world(self) -> Hosts:
        """The hosts."""
        ...

    @property
    def epoch(self) -> float:
        """Unix time of the world's time 0."""
        ...

    def delay_seconds(self, host: Host) -> float:
        """Return how long a host thinks before it looks at a page."""
        ...

    def answer(self, request: Request, host: Host, time: float, request_number: int) -> Answer:
        """Return the answer of a host to its n-th request, given at `time`."""
        ...


class CannotBindError(OSError):
    """The site's addresses cannot all be bound on one port."""


def bind_all(addresses: list[str], port: int) -> list[socket.socket]:
    """Return a listening socket for each address, all on one port; port 0 stands for any that is free."""
    for _ in range(PORT_ATTEMPTS if port == 0 else 1):
        bound: list[socket.socket] = []
        try:
            for address in addresses:
                common_port = bound[0].getsockname()[1] if bound else port
                bound.append(socket.create_server((address, common_port), backlog=1024))
        except OSError as error:
            for opened in bound:
                opened.close()
            reason = error
        else:
            return bound
    hint = "every address of 127.0.0.0/8 must be on the loopback interface, as it is on Linux and Windows"
    raise CannotBindError(
        f"cannot listen on {addresses[0]} to {addresses[-1]}, port {port}: {reason} ({hint})"
    )


class Server:
    """Serves a world until it is told to stop."""

    def __init__(self, responder: Answering, log: RequestLog, now: Callable[[], float]) -> None:
        self._responder = responder
        self._log = log
        self._now = now
        self._request_counts: Counter[str] = Counter()
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, listening: list[socket.socket], stop: threading.Event) -> None:
        """Answer requests and write the log until `stop` is set; then close every connection and socket."""
        servers = [
            await asyncio.start_server(self._serve_connection, sock=sock, limit=HEAD_LIMIT_BYTES)
            for sock in listening
        ]
        try:
            while not stop.is_set():
                await asyncio.sleep(TICK_SECONDS)
                if unwritten := self._log.take_unwritten():
                    await asyncio.to_thread(self._log.write, unwritten)
        finally:
            for server in servers:
                server.close()
            await asyncio.sleep(TICK_SECONDS)  # Connections just accepted are not in the set before this.
            open_connections = list(self._connections)
            for connection in open_connections:
                connection.cancel()
            await asyncio.gather(*open_connections)

    async def _serve_connection(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        host = self._responder.world.host(writer.get_extra_info("sockname")[0])
        try:
            while await self._serve_request(host, reader, writer):
                pass
            writer.close()
            await writer.wait_closed()
        except (ConnectionError, asyncio.CancelledError):
            pass  # The client is gone, or the site stops: either way there is nobody to answer.
        finally:
            writer.transport.abort()
            self._connections.discard(task)

    async def _serve_request(self, host: Host, reader: StreamReader, writer: StreamWriter) -> bool:
        """Answer one request; return whether the connection stays open for another."""
        try:
            request = await _read_request(reader)
        except asyncio.IncompleteReadError:
            return False  # The client has no more requests.
        except BadRequest as bad:
            request, answer = NOT_UNDERSTOOD, Answer(bad.status)
            now = self._now()
            self._note(host, request, answer, now, now)
        else:
            answer = await self._answer(host, request, reader)
        if answer.status == 0:
            return False
        keeps_alive = request.keeps_alive and answer.framing in (Framing.LENGTH, Framing.CHUNKED)
        date, head_only = self._responder.epoch + self._now(), request.method == "HEAD"
        writer.write(serialise(answer, date=date, head_only=head_only, keeps_alive=keeps_alive))
        await writer.drain()
        if request is NOT_UNDERSTOOD:
            await _linger(reader, writer)
        return keeps_alive

    async def _answer(self, host: Host, request: Request, reader: StreamReader) -> Answer:
        """Return the answer to a request, once the host has thought about it, and note both."""
        number = self._request_counts[host.address]
        self._request_counts[host.address] += 1
        arrived = answered = self._now()
        answer = Answer(0)
        try:
            delay_seconds = self._responder.delay_seconds(host)
            if delay_seconds:
                await asyncio.sleep(delay_seconds)
                answered = self._now()
            # Who hung up during the delay gets, and is noted to have got, nothing.
            if not (delay_seconds and reader.at_eof()):
                answer = self._responder.answer(request, host, answered, number)
        finally:
            self._note(host, request, answer, arrived, answered)
        return answer

    def _note(self, host: Host, request: Request, answer: Answer, arrived: float, answered: float) -> None:
        """Log a request and its answer."""
        self._log.add(
            Entry(
                time=arrived,
                answered=answered,
                host=host.address,
                method=request.method,
                path=request.target,
                status=answer.status,
                conditional=request.is_conditional,
                body_bytes=0 if request.method == "HEAD" else len(answer.body),
            )
        )


async def _read_request(reader: StreamReader) -> Request:
    """Return the next request of a connection, having skipped its body; raise `BadRequest` for nonsense."""
    try:
        request = parse_request(await reader.readuntil(b"\r\n\r\n"))
    except asyncio.LimitOverrunError:
        raise BadRequest(431) from None
    length = body_length(request)
    if length > BODY_LIMIT_BYTES:
        raise BadRequest(413)
    await reader.readexactly(length)
    return request


async def _linger(reader: StreamReader, writer: StreamWriter) -> None:
    """Hear a client out for a moment before closing, or the reset would swallow the answer it has got."""
    writer.write_eof()
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while await reader.read(HEAD_LIMIT_BYTES):
                pass
