"""The living site over real sockets."""

import socket
import threading
from http.client import HTTPConnection, IncompleteRead, RemoteDisconnected

import pytest
from living_site.model import Redirection
from living_site.oddities import LONG_PATH_LENGTH, ODDITIES
from living_site.pages import page_html
from living_site.parameters import Character, WorldParameters
from living_site.running import RunningSite
from living_site.server import CannotBindError, bind_all

WAIT_SECONDS = 60


def host_of(site, character):
    return next(host for host in site.world.hosts if host.character is character)


def connect(site, character=Character.STRONG_ETAG):
    host = host_of(site, character)
    return HTTPConnection(host.address, host.port, timeout=WAIT_SECONDS)


def ask(site, path, character=Character.STRONG_ETAG, method="GET", headers=None):
    """Return the response and the body of one request on a connection of its own."""
    connection = connect(site, character)
    try:
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def send_raw(site, data, character=Character.STRONG_ETAG):
    """Return everything that comes back for some bytes after which nothing more is said."""
    host = host_of(site, character)
    with socket.create_connection((host.address, host.port), timeout=WAIT_SECONDS) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while part := connection.recv(65_536):
            received += part
        return received


def logged(site, path):
    """Return the log entries of a path, once there is one."""
    for _ in range(WAIT_SECONDS * 100):
        entries = [entry for entry in site.log.entries if entry.path == path]
        if entries:
            return entries
        threading.Event().wait(0.01)
    raise AssertionError(f"{path} is not in the log")


def test_every_root_answers(site):
    for host in site.world.hosts:
        connection = HTTPConnection(host.address, host.port, timeout=WAIT_SECONDS)
        for _ in range(20):
            try:
                connection.request("GET", "/")
                response = connection.getresponse()
                body = response.read()
            except RemoteDisconnected:
                connection.close()
                continue
            if response.status == 200 or host.character is not Character.FLAKY:
                break
        assert response.status == 200
        assert host.character.encode() in body
        connection.close()


def test_one_connection_carries_many_requests(site):
    connection = connect(site)
    connection.connect()
    first_socket = connection.sock
    for path in ("/", "/articles/", "/nowhere", "/articles/1"):
        connection.request("GET", path)
        response = connection.getresponse()
        assert response.status == (404 if path == "/nowhere" else 200)
        assert len(response.read()) == int(response.headers["Content-Length"])
        assert connection.sock is first_socket
    connection.close()


def test_requests_sent_at_once_are_answered_in_order(site):
    request = b"GET /%b HTTP/1.1\r\nHost: a\r\n%b\r\n"
    received = send_raw(
        site, request % (b"articles/1", b"") + request % (b"articles/2", b"Connection: close\r\n")
    )

    assert received.count(b"HTTP/1.1 200 OK") == 2
    assert received.index(b"Articles 1") < received.index(b"Articles 2")


def test_a_page_is_served_as_it_was_at_the_logged_time(site):
    host = host_of(site, Character.NO_VALIDATORS)
    fastest = sorted(site.world.documents, key=lambda page: -page.change_rate)
    for page in [page for page in fastest if page.host is host][:4]:
        for number in range(5):
            _, body = ask(site, f"{page.path}?{number}", Character.NO_VALIDATORS)
            (entry,) = [
                entry for entry in logged(site, f"{page.path}?{number}") if entry.host == host.address
            ]
            assert body.decode() == page_html(site.world, page, entry.answered)


def test_an_http_1_0_connection_is_closed_unless_asked_otherwise(site):
    assert b"Connection: close" in send_raw(site, b"GET / HTTP/1.0\r\n\r\n")
    both = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n"
    assert send_raw(site, both).count(b"HTTP/1.1 200 OK") == 2


def test_a_validator_saves_the_body(site):
    slowest = min(site.world.documents, key=lambda page: page.change_rate)
    path = "/articles/" if slowest.host.character is not Character.STRONG_ETAG else slowest.path
    response, body = ask(site, path)
    again, nothing = ask(site, path, headers={"If-None-Match": response.headers["ETag"]})

    assert (response.status, again.status) == (200, 304)
    assert again.headers["ETag"] == response.headers["ETag"]
    assert body
    assert not nothing
    assert [entry.conditional for entry in logged(site, path)[-2:]] == [False, True]
    assert logged(site, path)[-2].body_bytes == len(body)


def test_a_date_saves_the_body(site):
    response, _ = ask(site, "/", Character.LAST_MODIFIED)
    since = {"If-Modified-Since": response.headers["Last-Modified"]}

    assert response.headers["ETag"] is None
    assert ask(site, "/", Character.LAST_MODIFIED, headers=since)[0].status == 304


def test_head_is_get_without_the_body(site):
    head, nothing = ask(site, "/quotes/", method="HEAD")
    get, body = ask(site, "/quotes/")

    assert head.status == 200
    assert nothing == b""
    assert head.headers["Content-Length"] == str(len(body))
    assert head.headers["ETag"] == get.headers["ETag"]


def test_other_methods_are_refused_and_their_body_is_skipped(site):
    connection = connect(site)
    for method in ("POST", "PUT", "BREW"):
        connection.request(method, "/", body=b"GET / HTTP/1.1\r\n\r\n")
        response = connection.getresponse()
        response.read()
        assert response.status == 405
        assert response.headers["Allow"] == "GET, HEAD"
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    connection.close()


def test_redirections_lead_where_the_world_says(site):
    redirections = [page for page in site.world.pages if isinstance(page, Redirection)]
    assert {page.status for page in redirections} == {301, 302, 307, 308}
    assert any(page.location.startswith("http://") for page in redirections)
    for page in redirections:
        response, _ = ask(site, page.path, Character.REDIRECTING)
        assert (response.status, response.headers["Location"]) == (page.status, page.location)


def test_a_flaky_host_fails_and_goes_on(site):
    outcomes = set()
    for _ in range(300):
        try:
            response, _ = ask(site, "/articles/1", Character.FLAKY)
        except RemoteDisconnected:
            outcomes.add(0)
        else:
            outcomes.add(response.status)

    assert outcomes == {0, 200, 429, 500, 503}
    assert {entry.status for entry in logged(site, "/articles/1") if entry.host.endswith(".8")} == outcomes


def test_a_slow_host_answers_with_the_page_as_it_is_after_the_delay(site):
    response, _ = ask(site, "/articles/2", Character.SLOW)
    host = host_of(site, Character.SLOW)
    (entry,) = [entry for entry in logged(site, "/articles/2") if entry.host == host.address]

    assert response.status == 200
    assert entry.answered > entry.time


def test_who_hangs_up_on_a_slow_host_has_got_nothing(site):
    host = host_of(site, Character.SLOW)
    with socket.create_connection((host.address, host.port), timeout=WAIT_SECONDS) as connection:
        connection.sendall(b"GET /articles/3?impatient HTTP/1.1\r\nHost: a\r\n\r\n")

    assert [entry.status for entry in logged(site, "/articles/3?impatient")] == [0]


@pytest.mark.parametrize("path", sorted(ODDITIES.keys() - {"/truncated"}))
def test_odd_pages_are_served_as_odd_as_they_are(site, path):
    response, body = ask(site, path, Character.ODD)

    assert response.status == (302 if path in ("/injection", "/endless/1") else 200)
    if path == "/big":
        assert len(body) == site.world.parameters.big_page_bytes


def test_a_truncated_body_ends_before_its_promised_length(site):
    with pytest.raises(IncompleteRead):
        ask(site, "/truncated", Character.ODD)


def test_a_very_long_url_is_only_not_found(site):
    assert ask(site, "/" + "x" * LONG_PATH_LENGTH, Character.ODD)[0].status == 404


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505),
        (b"GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET http://[ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
        (b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431),
    ],
)
def test_nonsense_is_refused_and_harms_nobody(site, data, status):
    assert send_raw(site, data).startswith(b"HTTP/1.1 %d " % status)
    assert ask(site, "/")[0].status == 200


def test_half_a_request_harms_nobody(site):
    assert send_raw(site, b"GET / HTTP/1.1\r\nHo") == b""
    assert ask(site, "/")[0].status == 200


def test_a_stopped_site_leaves_nothing_running():
    threads_before = set(threading.enumerate())
    parameters = WorldParameters(pages_per_host=3, slow_seconds=60.0)
    site = RunningSite(parameters)
    with site:
        idle, waiting = connect(site), connect(site, Character.SLOW)
        idle.connect()
        waiting.request("GET", "/?waiting")
        ask(site, "/")
        assert site.is_serving
        addresses = [host.address for host in site.world.hosts]
        with pytest.raises(CannotBindError, match=f"port {site.port}"):
            bind_all(addresses, site.port)

    assert not site.is_serving
    assert not set(threading.enumerate()) - threads_before
    assert [entry.status for entry in site.log.entries if entry.path == "/?waiting"] in ([0], [])
    assert idle.sock.recv(1) == b""
    for listening in bind_all(addresses, site.port):
        listening.close()
    idle.close()
    waiting.close()
    site.stop()
