"""A WebSub hub (W3C Recommendation, 2018): takes subscriptions, asks whether they were meant, sends content.

It keeps to the rules unless it is asked not to: tests have it sign with a wrong secret, send a second time,
or after the lease has ended.
"""

import hmac
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlencode, urlsplit

from living_site.sending import send

LONGEST_BODY = 65_536


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Who gets a topic, and until when (monotonic seconds)."""

    callback: str
    secret: str
    expires: float


@dataclass(frozen=True, slots=True)
class Delivery:
    """A request by which content was sent, as it was sent."""

    callback: str
    body: bytes
    headers: dict[str, str]


class WebSubHub:
    """Runs a hub from `start` to `stop`, or for the length of a `with` block, on a port of its own."""

    def __init__(self, *, longest_lease_seconds: float = 864_000.0, address: str = "127.0.0.1") -> None:
        self.longest_lease_seconds = longest_lease_seconds
        self.denies = False
        """Whether subscriptions are denied."""
        self.requests: list[dict[str, str]] = []
        """The forms of all requests that subscribers made, in order."""
        self._address = address
        self._subscribers: dict[str, dict[str, Subscriber]] = {}  # by topic and callback
        self._last: dict[str, list[Delivery]] = {}  # by topic
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The address that pages name."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/hub"

    @property
    def topics(self) -> list[str]:
        """What somebody is subscribed to."""
        with self._lock:
            return [topic for topic, subscribers in self._subscribers.items() if subscribers]

    def subscribers(self, topic: str) -> list[Subscriber]:
        """Return who is subscribed to a topic, also if the lease has ended."""
        with self._lock:
            return list(self._subscribers.get(topic, {}).values())

    def start(self) -> Self:
        """Listen; requests are taken from the moment this returns."""
        self._server = ThreadingHTTPServer((self._address, 0), _handler_for(self))
        self._server.daemon_threads = True
        self._asking = ThreadPoolExecutor(2, thread_name_prefix="websub-hub")
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End all threads and connections."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._asking.shutdown()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def publish(
        self,
        topic: str,
        body: bytes,
        content_type: str,
        *,
        secret: str | None = None,
        past_lease: bool = False,
    ) -> list[int]:
        """Send the content of a topic to its subscribers and return the statuses of their answers.

        A secret in place of theirs makes a wrong signature; past the lease, nothing should be sent.
        """
        deliveries = []
        for subscriber in self.subscribers(topic):
            if subscriber.expires <= time.monotonic() and not past_lease:
                continue
            headers = {
                "Content-Type": content_type,
                "Link": f'<{self.url}>; rel="hub", <{topic}>; rel="self"',
            }
            if subscriber.secret:
                key = (subscriber.secret if secret is None else secret).encode()
                headers["X-Hub-Signature"] = f"sha256={hmac.new(key, body, 'sha256').hexdigest()}"
            deliveries.append(Delivery(subscriber.callback, body, headers))
        self._last[topic] = deliveries
        return self.replay(topic)

    def replay(self, topic: str) -> list[int]:
        """Send once more, byte by byte, what was sent last, and return the statuses."""
        statuses = []
        for delivery in self._last.get(topic, []):
            status = send("POST", delivery.callback, delivery.body, delivery.headers).status
            if status == 410:  # the subscriber says that this has ended
                with self._lock:
                    self._subscribers[topic].pop(delivery.callback, None)
            statuses.append(status)
        return statuses

    def accept(self, form: dict[str, str]) -> int:
        """Take a subscriber's request and return the status; whether it was meant is asked afterwards."""
        self.requests.append(form)
        callback, topic = form.get("hub.callback", ""), form.get("hub.topic", "")
        is_complete = urlsplit(callback).scheme == "http" and bool(topic)
        if not is_complete or form.get("hub.mode") not in ("subscribe", "unsubscribe"):
            return 400
        self._asking.submit(self._ask, form)
        return 202

    def _ask(self, form: dict[str, str]) -> None:
        """Ask a subscriber whether its request was meant (section 5.3), and act on it if so."""
        callback, topic, mode = form["hub.callback"], form["hub.topic"], form["hub.mode"]
        wished = form.get("hub.lease_seconds", "")
        lease_seconds = min(float(wished) if wished.isdigit() else 864_000.0, self.longest_lease_seconds)
        challenge = token_urlsafe(16)
        query = {"hub.mode": mode, "hub.topic": topic, "hub.challenge": challenge}
        if mode == "subscribe":
            query["hub.lease_seconds"] = str(int(lease_seconds))
        if self.denies:
            query = {"hub.mode": "denied", "hub.topic": topic, "hub.reason": "not for you"}
        heard = send("GET", f"{callback}{'&' if urlsplit(callback).query else '?'}{urlencode(query)}")
        if self.denies or not 200 <= heard.status < 300 or heard.body.decode("utf-8", "replace") != challenge:
            return
        subscriber = Subscriber(callback, form.get("hub.secret", ""), time.monotonic() + lease_seconds)
        with self._lock:
            subscribers = self._subscribers.setdefault(topic, {})
            if mode == "subscribe":
                subscribers[callback] = subscriber
            else:
                subscribers.pop(callback, None)


def _handler_for(hub: WebSubHub) -> type[BaseHTTPRequestHandler]:
    """Return a request handler that hands forms to a hub."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > LONGEST_BODY:
                self.send_error(413)
                return
            form = parse_qs(self.rfile.read(length).decode("utf-8", "replace"), keep_blank_values=True)
            status = hub.accept({name: values[0] for name, values in form.items()})
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    return Handler
