"""A small HTTP server on the crawl's reactor for strangers: one short request a connection, read with limits.

twisted.web parses; what it is too generous with is bounded here. Headers are limited by it to 16 kB. Bodies
stay in memory, so there is a limit for each and for all that are being received. A request that does not
arrive in time is cut off, however it drips.
"""

import os
import socket
import sys
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol

from scrapy.utils.asyncio import CallLaterResult, call_later
from scrapy.utils.defer import deferred_from_coro
from twisted.internet import protocol
from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IAddress
from twisted.python.failure import Failure
from twisted.web import http

from scrapy_freshness.crawl.throttle import sender_of
from scrapy_freshness.errors import ConfigError

#: Connections at a time: of all senders, and of one.
_MOST_CONNECTIONS, _MOST_OF_A_SENDER = 128, 32
#: Bytes of all bodies that are being received or answered.
_MOST_HELD_BYTES = 67_108_864
#: What is still read, and thrown away, of a body that was refused: the sender is to see the answer first.
_MOST_DRAINED_BYTES = 33_554_432
_LONGEST_TARGET = 8192


class Ping(NamedTuple):
    """A request of a stranger."""

    sender: str  #: as in `throttle.sender_of`
    method: str
    path: str
    query: str
    headers: Callable[[str], str]  #: the first value of a header, "" if there is none
    body: bytes


class Reply(NamedTuple):
    """What it is answered with."""

    status: int
    text: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "text/plain; charset=utf-8"


class Desk(Protocol):
    """Who answers."""

    def refusal(self, sender: str) -> Reply | None:
        """Return why a request is refused before its body is received; None if it is not."""

    def lost(self, counted_as: str) -> None:
        """Hear of a request that was refused for its form."""

    async def answer(self, ping: Ping) -> Reply:
        """Return the answer to a request."""


class PingServer(protocol.Factory):
    """Listens from `listen` to `close`."""

    noisy = False

    def __init__(
        self,
        desk: Desk,
        *,
        most_bytes: int,
        timeout_seconds: float,
        setting: str = "FRESHNESS_PING_LISTEN",
    ) -> None:
        self.desk = desk
        self._setting = setting  #: that chose the address, for messages
        self.most_bytes = most_bytes
        self.timeout_seconds = timeout_seconds
        self.held_bytes = 0
        self._port: Any = None  #: twisted's, while it listens
        self._channels: set[_Channel] = set()
        self._connections: Counter[str] = Counter()  #: by sender

    def check(self, host: str, port: int) -> None:
        """See that an address can be had at this moment; raises ConfigError if not."""
        if "twisted.internet.reactor" not in sys.modules:
            raise ConfigError(
                f"{self._setting} cannot be {host}:{port} without reactor: see TWISTED_REACTOR_ENABLED"
            )
        try:
            with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
                if os.name == "posix":  # as Twisted does it
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, port))
                probe.listen()
        except OSError as error:
            raise self._refused(host, port, error) from None

    def listen(self, host: str, port: int) -> str:
        """Begin to take connections; returns the address, and raises ConfigError if it cannot be had."""
        from twisted.internet import reactor  # installed by Scrapy at run time, so never imported earlier

        listen: Any = reactor.listenTCP
        try:
            self._port = listen(port, self, interface=host)
        except (CannotListenError, OSError) as error:
            raise self._refused(host, port, getattr(error, "socketError", error)) from None
        address = self._port.getHost()
        return f"[{address.host}]:{address.port}" if ":" in address.host else f"{address.host}:{address.port}"

    def _refused(self, host: str, port: int, reason: object) -> ConfigError:
        return ConfigError(
            f"{self._setting} cannot be {host}:{port}: {reason}; choose another port, or end the "
            "program that has it"
        )

    def close(self) -> "Deferred[object]":
        """Take no more connections and cut those there are; fires when the port is free."""
        port, self._port = self._port, None
        for channel in list(self._channels):
            channel.cut()
        return succeed(None) if port is None else maybeDeferred(port.stopListening)

    def buildProtocol(self, addr: IAddress | None) -> protocol.Protocol | None:  # noqa: N802
        sender = sender_of(str(getattr(addr, "host", "")))
        if len(self._channels) >= _MOST_CONNECTIONS or self._connections[sender] >= _MOST_OF_A_SENDER:
            self.desk.lost("too_many_connections")
            return None  # Twisted closes the connection
        channel = _Channel()
        channel.server, channel.sender = self, sender
        channel.factory = self
        return channel

    def opened(self, channel: "_Channel") -> None:
        self._channels.add(channel)
        self._connections[channel.sender] += 1

    def closed(self, channel: "_Channel") -> None:
        self._channels.discard(channel)
        self._connections[channel.sender] -= 1
        if not self._connections[channel.sender]:
            del self._connections[channel.sender]

    def log(self, request: http.Request) -> None:
        """twisted.web would have a line for each request; there are stats instead."""


class _Request(http.Request):
    """One request: its body in memory, or none of it."""

    channel: Any  #: the `_Channel`; None when the sender has hung up

    def gotLength(self, length: int | None) -> None:  # noqa: N802
        """All headers are here; `length` bytes of body follow, or chunks if it is None."""
        self._pieces: list[bytes] = []
        self._received = 0
        channel, server = self.channel, self.channel.server
        reply = server.desk.refusal(channel.sender)
        if reply is not None:
            channel.refuse(reply)
        elif (length or 0) > server.most_bytes:
            channel.refuse(_TOO_LARGE, "too_large")
        elif server.held_bytes + (length or 0) > _MOST_HELD_BYTES:
            channel.refuse(_BUSY, "busy")

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802
        self._received += len(data)
        channel, server = self.channel, self.channel.server
        if channel.is_refused:
            if self._received > _MOST_DRAINED_BYTES:
                channel.cut()
        elif self._received > server.most_bytes:  # in chunks, whose sum nobody told
            channel.refuse(_TOO_LARGE, "too_large")
        elif server.held_bytes + len(data) > _MOST_HELD_BYTES:
            channel.refuse(_BUSY, "busy")
        else:
            channel.hold(len(data))
            self._pieces.append(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:  # noqa: N802
        """All of it is here."""
        self.method, self.uri, self.clientproto = command, path, version
        channel = self.channel
        channel.arrived()
        if channel.is_refused:
            channel.loseConnection()
            return
        if len(path) > _LONGEST_TARGET:
            channel.refuse(_TOO_LONG, "malformed")
            channel.loseConnection()
            return
        target, _, query = path.decode("latin-1").partition("?")
        ping = Ping(
            channel.sender, command.decode("latin-1"), target, query, self._first, b"".join(self._pieces)
        )
        self._pieces = []
        answered = deferred_from_coro(self._answer(ping))
        answered.addErrback(self._failed)

    async def _answer(self, ping: Ping) -> None:
        self._end(await self.channel.server.desk.answer(ping))

    def _failed(self, failure: Failure) -> None:
        self._log.failure("A ping could not be answered", failure)
        self._end(Reply(500))

    def _end(self, reply: Reply) -> None:
        if self.channel is not None:  # else the sender has hung up
            self.channel.reply(reply._replace(text="") if self.method == b"HEAD" else reply)
            self.channel.loseConnection()

    def _first(self, name: str) -> str:
        values = self.requestHeaders.getRawHeaders(name, [])
        return str(values[0]) if values else ""


class _Channel(http.HTTPChannel):
    """One connection, for one request."""

    requestFactory = _Request  # noqa: N815
    timeOut = None  # noqa: N815  of twisted.web, which starts again with every byte
    transport: Any
    server: PingServer
    sender: str

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.is_refused = False
        self._is_malformed = False
        self._held = 0
        self._deadline: CallLaterResult | None = None

    def connectionMade(self) -> None:  # noqa: N802
        super().connectionMade()  # type: ignore[no-untyped-call]
        self.server.opened(self)
        self._deadline = call_later(self.server.timeout_seconds, self._too_slow)

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:  # noqa: N802
        self.arrived()
        self.server.closed(self)
        self.server.held_bytes -= self._held
        self._held = 0
        super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def lineLengthExceeded(self, line: bytes) -> None:  # noqa: N802
        self._respondToBadRequestAndDisconnect()

    def headerReceived(self, line: bytes) -> bool:  # noqa: N802
        try:
            return bool(super().headerReceived(line))  # type: ignore[no-untyped-call]
        except ValueError:  # a length of thousands of digits, which Python does not read
            self._respondToBadRequestAndDisconnect()
            return False

    def checkPersistence(self, request: http.Request, version: bytes) -> bool:  # noqa: N802
        """One request a connection: nothing can be smuggled behind it."""
        return False

    def hold(self, count: int) -> None:
        """Count bytes that are kept until the request is answered."""
        self._held += count
        self.server.held_bytes += count

    def arrived(self) -> None:
        """The request is complete, or the sender has gone."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def refuse(self, reply: Reply, counted_as: str = "") -> None:
        """Answer before the body is here; what comes of it is thrown away."""
        self.is_refused = True
        if counted_as:
            self.server.desk.lost(counted_as)
        self.reply(reply)

    def reply(self, reply: Reply) -> None:
        body = reply.text.encode()
        headers = [
            ("Content-Type", reply.content_type),
            ("X-Content-Type-Options", "nosniff"),  # a challenge is sent back as it came
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
            *reply.headers,
        ]
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        head = f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\n{lines}\r\n"
        self.transport.write(head.encode("latin-1") + body)

    def cut(self) -> None:
        """End the connection at once."""
        self.transport.abortConnection()

    def _too_slow(self) -> None:
        self._deadline = None
        if not self.is_refused:
            self.refuse(Reply(408, "too slow\n"), "too_slow")
        self.loseConnection()  # type: ignore[no-untyped-call]
        self._deadline = call_later(1.0, self._give_up)

    def _give_up(self) -> None:
        self._deadline = None
        self.cut()

    def _respondToBadRequestAndDisconnect(self) -> None:  # noqa: N802
        """What twisted.web cannot parse is counted, once."""
        if not self._is_malformed:
            self._is_malformed = True
            self.server.desk.lost("malformed")
        super()._respondToBadRequestAndDisconnect()  # type: ignore[no-untyped-call]


_BUSY = Reply(503, "busy\n", (("Retry-After", "10"),))
_TOO_LARGE = Reply(413, "too large\n")
_TOO_LONG = Reply(414, "the address is too long\n")
