"""What strangers send to the endpoint: each has its status, is counted, and leaves the crawl as it was."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pinging import KEY, PingedCrawl, changing
from site_under_test import Site

MOST_BYTES = 10_485_760
TOKEN = "x" * 32

#: Name of the stat -> request and the status that it gets.
REQUESTS = {
    "unknown method": (b"BREW /indexnow HTTP/1.1\r\nHost: x\r\n\r\n", 405, "method"),
    "put": (b"PUT /indexnow HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", 405, "method"),
    "head": (b"HEAD /indexnow HTTP/1.1\r\nHost: x\r\n\r\n", 405, "method"),
    "another path": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not_found"),
    "climbing path": (b"GET /indexnow/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not_found"),
    "escaped path": (b"GET /%2e%2e/indexnow HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not_found"),
    "absolute target": (b"GET http://x/indexnow HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not_found"),
    "websub, which is off": (f"GET /websub/{TOKEN} HTTP/1.1\r\nHost: x\r\n\r\n".encode(), 404, "not_found"),
    "no query": (b"GET /indexnow HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed"),
    "not JSON": (b"POST /indexnow HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", 400, "malformed"),
    "nested JSON": (
        b"POST /indexnow HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n" + b"[" * 60_000,
        400,
        "malformed",
    ),
    "long address": (b"GET /indexnow?" + b"a" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, "malformed"),
    "not HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 400, "malformed"),
    "header without a name": (b"GET /indexnow HTTP/1.1\r\n: x\r\n\r\n", 400, "malformed"),
    "bare newline in a header": (b"GET /indexnow HTTP/1.1\r\nA: b\x00c\r\n\r\n", 400, "malformed"),
    "two lengths": (
        b"POST /indexnow HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\nhi",
        400,
        "malformed",
    ),
    "length and chunks": (
        b"POST /indexnow HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        "malformed",
    ),
    "negative length": (b"POST /indexnow HTTP/1.1\r\nContent-Length: -2\r\n\r\nhi", 400, "malformed"),
    "absurd length": (
        b"POST /indexnow HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\nA: b\r\n\r\nhi",
        400,
        "malformed",
    ),
    "bad chunk": (b"POST /indexnow HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "malformed"),
    "many headers": (
        b"GET /indexnow HTTP/1.1\r\n" + b"A: b\r\n" * 600 + b"\r\n",
        400,
        "malformed",
    ),
    "large header": (b"GET /indexnow HTTP/1.1\r\nA: " + b"b" * 20_000 + b"\r\n\r\n", 400, "malformed"),
    "huge body": (
        b"POST /indexnow HTTP/1.1\r\nHost: x\r\nContent-Length: 10485761\r\n\r\n" + b"a" * (MOST_BYTES + 1),
        413,
        "too_large",
    ),
    "endless body": (
        b"POST /indexnow HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n" + b"a" * 1000,
        413,
        "too_large",
    ),
    "huge chunks": (
        b"POST /indexnow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        + (b"100000\r\n" + b"a" * 0x100000 + b"\r\n") * 11
        + b"0\r\n\r\n",
        413,
        "too_large",
    ),
}


@pytest.fixture(params=["1s"])
def quick(request: pytest.FixtureRequest, site: Site, tmp_path: Path) -> Iterator[PingedCrawl]:
    site.pages["/"] = changing()
    settings = {"FRESHNESS_PING_TIMEOUT": request.param, "FRESHNESS_PING_RATE": "1000/s"}
    pinged = PingedCrawl(tmp_path, site.url("/"), settings=settings)
    pinged.wait_for_fetches(site, "/")
    yield pinged
    pinged.running.kill()


@pytest.mark.parametrize("quick", ["5s"], indirect=True)  # megabytes take their time on a busy machine
def test_every_request_that_cannot_be_taken_gets_its_status(quick: PingedCrawl, site: Site) -> None:
    expected: dict[str, int] = {}
    for name, (request, status, counted_as) in REQUESTS.items():
        answer = quick.raw(request)
        assert answer.split(b" ", 2)[:2] == [b"HTTP/1.1", b"%d" % status], (name, answer[:300])
        expected[counted_as] = expected.get(counted_as, 0) + 1
    quick.wait_for_fetches(site, "/")
    done = quick.stop()

    counted = {name: done.stat(f"freshness/pings/refused/{name}") for name in expected}
    assert counted == expected
    assert done.stat("freshness/pings/refused/too_slow") == 0
    assert done.stat("freshness/pings/accepted") == 0
    assert done.returncode == 0
    assert "Traceback" not in done.log
    assert {asked.path for asked in site.log} == {"/"}


def test_who_drips_is_cut_off(quick: PingedCrawl, site: Site) -> None:
    with socket.create_connection(quick.address, timeout=60) as sock:
        answer = b""
        sock.settimeout(0.1)
        for _ in range(200):
            try:
                sock.sendall(b"G")
                answer += (piece := sock.recv(1000))
                if not piece:
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("the connection was never cut")
    with socket.create_connection(quick.address, timeout=60) as sock:
        sock.sendall(b"POST /indexnow HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        assert sock.recv(1000).startswith(b"HTTP/1.1 408 ")
        assert sock.recv(1000) == b""
    done = quick.stop()

    assert done.stat("freshness/pings/refused/too_slow") == 2
    assert "Traceback" not in done.log


def answers(pinged: PingedCrawl) -> bool:
    try:
        return pinged.request("GET", "/nothing")[0] == 404
    except OSError:
        return False


def test_who_opens_many_connections_leaves_room_for_others(quick: PingedCrawl, site: Site) -> None:
    held = [socket.create_connection(quick.address, timeout=60) for _ in range(60)]
    quick.wait_for_fetches(site, "/", 2)
    for sock in held:
        sock.close()
    quick.running.wait_until(lambda: answers(quick))
    done = quick.stop()

    assert done.stat("freshness/pings/refused/too_many_connections") >= 1
    assert done.returncode == 0


def test_who_hangs_up_early_is_no_trouble(quick: PingedCrawl, site: Site) -> None:
    body = b'{"host": "x", "key": "%s", "urlList": ["http://x/%s"]}' % (KEY.encode(), b"a" * 60_000)
    head = b"POST /indexnow HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    for part in (head[:10], head, head + body[:1000], head + body):
        quick.raw(part, wait=False)
    quick.wait_for_fetches(site, "/", 3)
    done = quick.stop()

    assert done.returncode == 0
    assert "Traceback" not in done.log
    assert "Unhandled" not in done.log


def test_who_comes_too_often_is_sent_away(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = changing()
    pinged = PingedCrawl(tmp_path, site.url("/"), settings={"FRESHNESS_PING_RATE": "1/s"})
    pinged.wait_for_fetches(site, "/")
    statuses = [pinged.request("GET", "/nothing")[0] for _ in range(40)]
    done = pinged.stop()

    assert statuses[:10] == [404] * 10
    assert statuses.count(429) == done.stat("freshness/pings/refused/too_often") >= 20
