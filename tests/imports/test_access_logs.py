"""Access logs of all dialects: what counts as a click, what does not, what is bad."""

import tracemalloc

import pytest

from scrapy_freshness.imports import access_log
from scrapy_freshness.imports.access_log import AccessLog
from scrapy_freshness.imports.clicks import ClickBatch
from scrapy_freshness.imports.contract import Parsed

NOW = 1_794_900_000.0
SITE = "https://www.example.com"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"
AT = "17/Nov/2026:05:05:06 +0100"


def line(
    request: str = "GET /a HTTP/1.1",
    status: int = 200,
    agent: str | None = BROWSER,
    at: str = AT,
    host: str = "",
) -> bytes:
    text = f'{host}203.0.113.9 - jo smith [{at}] "{request}" {status} 512'
    return (text if agent is None else f'{text} "https://r.example/?q=\\"x\\"" "{agent}"').encode() + b"\n"


def parsed(block: bytes, *, base_url: str = SITE, with_bots: bool = False) -> Parsed[ClickBatch]:
    parser = AccessLog(NOW, base_url=base_url, with_bots=with_bots).parser(block)
    assert parser is not None
    return parser.parse(block)


@pytest.mark.parametrize("agent", [BROWSER, None], ids=["combined", "common"])
def test_clicks_are_the_pages_that_people_were_shown(agent: str | None) -> None:
    block = b"".join(
        [
            line(agent=agent),
            line('GET /b?c=\\"d HTTP/2.0', 304, agent=agent),
            line("POST /a HTTP/1.1", agent=agent),
            line("HEAD /a HTTP/1.1", agent=agent),
            line(status=404, agent=agent),
            line("-", 408, agent=agent),
            line(agent=agent, at="17/Nov/2026:03:05:07 -0100").replace(b"\n", b"\r\n"),
        ]
    )
    found = parsed(block)

    assert found.batch.urls == [f"{SITE}/a", f'{SITE}/b?c=\\"d']
    assert found.batch.url.tolist() == [0, 1, 0]
    assert found.batch.time.tolist() == [1794888306.0, 1794888306.0, 1794888307.0]
    assert found.batch.ignored == {"no GET that was answered with a page": 4}
    assert (found.lines, found.bad) == (7, [])


@pytest.mark.parametrize(
    ("agent", "is_bot"),
    [
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", True),
        ("Scrapy/2.19.0 (+https://scrapy.org)", True),
        ("python-requests/2.34", True),
        ("curl/8.9", True),
        ("-", True),
        ("Mozilla/5.0 (Linux; Android 14; CUBOT KINGKONG) Chrome/140.0", False),
        (BROWSER, False),
    ],
)
def test_bots_are_told_by_their_names(agent: str, is_bot: bool) -> None:
    assert len(parsed(line(agent=agent)).batch.url) == (0 if is_bot else 1)
    assert len(parsed(line(agent=agent), with_bots=True).batch.url) == 1


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("a.example:443", "https://a.example/x"),
        ("a.example:80", "http://a.example/x"),
        ("a.example:8080", "https://a.example:8080/x"),
        ("a.example", "https://a.example/x"),
        ("[2001:db8::1]:80", "http://[2001:db8::1]/x"),
    ],
)
def test_virtual_hosts_in_front_are_hosts(host: str, url: str) -> None:
    block = line("GET /x HTTP/1.1", host=f"{host} ").replace(b"jo smith", b"-") * 3

    assert parsed(block, base_url="").batch.urls == [url]


def test_a_user_with_a_space_is_no_virtual_host() -> None:
    assert parsed(line() + line().replace(b"jo smith", b"-")).batch.urls == [f"{SITE}/a"]


def test_absolute_targets_are_taken_as_they_are() -> None:
    assert parsed(line("GET http://b.example/x HTTP/1.1")).batch.urls == ["http://b.example/x"]


def test_bad_lines_are_told_by_number_and_reason() -> None:
    bad = [
        b"\n",
        b"garbage \xff\0\n",
        line(at="17/Foo/2026:05:05:06 +0100"),
        line(at="17/Nov/2036:05:05:06 +0100"),
        line(at="yesterday"),
        b'x - - [17/Nov/2026:05:05:06 +0100] "GET /' + b"a" * 200_000 + b"\n",
    ]
    found = parsed(b"".join([line(), *bad, line()]))

    assert len(found.batch.url) == 2
    assert found.lines == 8
    assert [(each.line, each.reason) for each in found.bad] == [
        (2, "no line of an access log"),
        (3, "no usable time"),
        (4, "time in the future"),
        (5, "no usable time"),
        (6, "no line of an access log"),
    ]


@pytest.mark.parametrize("most", [1, 3])
def test_lines_that_can_be_used_are_never_bad_however_many_times_and_agents_there_are(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(access_log, "_MOST_REMEMBERED", most)
    agents = (BROWSER, "Googlebot/2.1", "curl/8.9", "Opera/9.80")
    good = b"".join(
        line(agent=agent, at=f"17/Nov/2026:05:05:{second:02} +0100")
        for second in range(10)
        for agent in agents
    )
    found = parsed(good + b"garbage\n" + good)

    assert len(found.batch.url) == found.batch.ignored["by bots"] == 40
    assert [(each.line, each.reason) for each in found.bad] == [(40, "no line of an access log")]


def test_long_user_agents_are_not_remembered() -> None:
    lines = [line(agent=f"{BROWSER} {number} {'x' * 10_000}") for number in range(100)]
    parser = AccessLog(NOW, base_url=SITE).parser(lines[0])
    assert parser is not None
    tracemalloc.start()
    try:
        for each in lines:
            assert len(parser.parse(each).batch.url) == 1
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()


def test_without_a_host_and_without_a_base_url_nothing_is_a_click() -> None:
    found = parsed(line() * 2, base_url="")

    assert len(found.batch.url) == 0
    assert {each.reason for each in found.bad} == {"no host (--base-url says which)"}


@pytest.mark.parametrize(
    "head", [b"", b"url,time\n", b'{"url": 1}\n', b"\x00\x01", b'[17/Nov/2026] "GET / x"\n']
)
def test_other_files_are_not_taken_for_access_logs(head: bytes) -> None:
    assert AccessLog(NOW).parser(head) is None
