"""The hub of the living site keeps to WebSub: it sends only what was subscribed to, and meant."""

import hmac
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from living_site.sending import send
from living_site.websub_hub import WebSubHub

TOPIC = "http://127.0.0.2:1/articles/1"


class Listener:
    """A subscriber that says yes to questions about its topic, and keeps what it is sent."""

    def __init__(self) -> None:
        self.means_it = True
        self.received: list[tuple[bytes, dict[str, str]]] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                query = parse_qs(urlsplit(self.path).query)
                challenge = query["hub.challenge"][0].encode()
                self._answer(200 if listener.means_it else 404, challenge)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                listener.received.append((body, dict(self.headers.items())))
                self._answer(202)

            def _answer(self, status: int, body: bytes = b"") -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/callback"


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.02,))
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.fixture
def hub() -> Iterator[WebSubHub]:
    with WebSubHub() as running:
        yield running


def ask(hub: WebSubHub, listener: Listener, mode: str = "subscribe", **fields: str) -> int:
    form = {"hub.callback": listener.url, "hub.mode": mode, "hub.topic": TOPIC, "hub.secret": "s", **fields}
    return send("POST", hub.url, urlencode(form).encode()).status


def wait_for(hub: WebSubHub, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(hub.subscribers(TOPIC)) != count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_who_has_subscribed_gets_signed_content(hub: WebSubHub, listener: Listener) -> None:
    assert ask(hub, listener) == 202
    wait_for(hub, 1)

    assert hub.publish(TOPIC, b"content", "text/html") == [202]
    ((body, headers),) = listener.received
    assert body == b"content"
    assert headers["X-Hub-Signature"] == "sha256=" + hmac.new(b"s", b"content", "sha256").hexdigest()
    assert headers["Link"] == f'<{hub.url}>; rel="hub", <{TOPIC}>; rel="self"'

    ask(hub, listener, "unsubscribe")
    wait_for(hub, 0)
    assert hub.publish(TOPIC, b"more", "text/html") == []


def test_who_did_not_mean_it_gets_nothing(hub: WebSubHub, listener: Listener) -> None:
    listener.means_it = False
    assert ask(hub, listener) == 202
    hub.stop()  # waits for its questions
    assert hub.subscribers(TOPIC) == []
    hub.start()


def test_requests_that_are_not_complete_are_refused(hub: WebSubHub, listener: Listener) -> None:
    assert ask(hub, listener, "borrow") == 400
    assert ask(hub, listener, **{"hub.topic": ""}) == 400
    assert ask(hub, listener, **{"hub.callback": "ftp://a.example"}) == 400
    assert hub.topics == []


def test_nothing_is_sent_after_the_lease_unless_asked_to(hub: WebSubHub, listener: Listener) -> None:
    hub.longest_lease_seconds = 0
    ask(hub, listener)
    wait_for(hub, 1)

    assert hub.publish(TOPIC, b"late", "text/html") == []
    assert hub.publish(TOPIC, b"late", "text/html", past_lease=True) == [202]
    assert hub.publish(TOPIC, b"forged", "text/html", past_lease=True, secret="x") == [202]
    assert listener.received[1][1]["X-Hub-Signature"] != listener.received[0][1]["X-Hub-Signature"]
    assert hub.replay(TOPIC) == [202]
    assert listener.received[2] == listener.received[1]


def test_nobody_there_is_status_0() -> None:
    assert send("GET", "http://127.0.0.1:1/").status == 0
