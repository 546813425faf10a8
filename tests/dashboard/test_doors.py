"""Who is let in, and what nobody can do from outside."""

import http.client
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from lively_web import NOW
from serving import served

from scrapy_freshness.dashboard.page_list import cell
from scrapy_freshness.dashboard.security import COOKIE, Door
from scrapy_freshness.storage.page_reports import find_pages
from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.wishes import page_wishes

Answer = tuple[int, dict[str, str], str]


def ask(address: str, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
    """One request, as raw as a stranger may send it."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text


def form(**fields: str) -> str:
    return urlencode(fields)


def key_in(text: str) -> str:
    found = re.search(r'name="key" value="(\w+)"', text)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def token_address(lively_file: Path) -> Iterator[str]:
    """A dashboard that asks for a token, as one that is reached from elsewhere does."""
    with served(f"sqlite:///{lively_file}", Door("0.0.0.0", "let-me-in")) as (address, _):
        yield address


def test_every_answer_forbids_what_pages_do_not_need(lively: str) -> None:
    for path in ("/", "/nowhere", "/static/dashboard.css", "/pages/999999"):
        _, headers, _ = ask(lively, path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == ("no-cache" if path.startswith("/static/") else "no-store")
        assert "server" not in headers or "uvicorn" not in headers["server"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost@evil.example", "", "a b"]
)
def test_other_names_that_lead_here_are_refused(lively: str, host: str) -> None:
    assert ask(lively, "/", Host=host)[0] in (400, 421)


@pytest.mark.parametrize("host", ["localhost:8321", "127.0.0.1", "[::1]:8321"])
def test_names_of_this_machine_are_welcome(lively: str, host: str) -> None:
    assert ask(lively, "/", Host=host)[0] == 200


def test_a_name_that_was_allowed_is_welcome() -> None:
    door = Door("127.0.0.1", other_hosts=("crawl.example",))

    assert door.knows_host("crawl.example:443")
    assert not door.knows_host("other.example")


def test_without_the_token_nothing_is_shown(token_address: str) -> None:
    status, headers, text = ask(token_address, "/pages")

    assert (status, headers["location"]) == (303, "/token")
    assert "news.example" not in text
    for path in ("/pages.csv", "/live/now", "/pages/1?token=wrong", "/live/policies"):
        assert ask(token_address, path)[0] == 303
    assert ask(token_address, "/pages", Cookie=f"{COOKIE}=let-me-in")[0] == 303
    assert ask(token_address, "/pages", Authorization="Bearer wrong")[0] == 303
    assert ask(token_address, "/policies", "POST", form(stop="1"))[0] == 401


def test_the_token_lets_in_by_link_by_form_and_by_header(token_address: str) -> None:
    status, headers, _ = ask(token_address, "/pages?q=news&token=let-me-in")
    assert (status, headers["location"]) == (303, "/pages?q=news")
    cookie = headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    shown = headers["set-cookie"].split(";")[0]
    assert ask(token_address, "/pages?q=news", Cookie=shown)[0] == 200

    assert ask(token_address, "/token", "POST", form(token="wrong"))[0] == 401
    status, headers, _ = ask(token_address, "/token", "POST", form(token="let-me-in"))
    assert (status, headers["location"]) == (303, "/")
    assert ask(token_address, "/pages", Authorization="Bearer let-me-in")[0] == 200
    assert ask(token_address, "//evil.example/?token=let-me-in")[1]["location"] == "/evil.example/"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2fconfig.py",
        "/static//etc/passwd",
        "/static/%00",
        "/pages/1%00",
        "/pages/99999999999999999999999999",
        "/pages/-1",
        "/pages/9223372036854775808",
        "/pages/" + "9" * 5000,
    ],
)
def test_paths_lead_nowhere_else(lively: str, path: str) -> None:
    status, _, text = ask(lively, path)

    assert status == 404
    assert "import" not in text


@pytest.mark.parametrize(
    "query",
    [
        "q=' OR 1=1 --",
        "host=' OR 1=1 --",
        "host=x'; DROP TABLE page; --",
        "status=1 OR 1=1",
        "kind=x",
        "sort=page_id; DROP TABLE page",
        "order=desc; DROP TABLE page",
        "page=1e9",
        "page=-5",
        "page=٣",
        "spider=' OR 1=1 --",
        "q=%00",
        "q=(a%2B)%2B%24&regex=1",
    ],
)
def test_parameters_are_values_and_never_sql(lively: str, query: str) -> None:
    status, _, text = ask(lively, "/pages?" + query.replace(" ", "%20").replace("٣", "%D9%A3"))

    assert status == 200
    if "OR 1=1" in query and not query.startswith(("status", "spider")):
        assert "No page passes these filters" in text


def test_a_part_of_the_table_that_does_not_exist_leads_back(lively: str) -> None:
    text = ask(lively, "/pages?page=99999&sort=url")[2]

    assert "The table ends before its part 99,999" in text
    assert 'href="?sort=url"' in text


def test_forms_of_other_sites_are_refused(lively: str) -> None:
    key = key_in(ask(lively, "/policies")[2])
    fields = form(key=key, stop="1")

    assert ask(lively, "/policies", "POST", form(stop="1"))[0] == 403
    assert ask(lively, "/policies", "POST", form(key="0" * 64, stop="1"))[0] == 403
    assert ask(lively, "/policies", "POST", fields, Origin="http://evil.example")[0] == 403
    for origin in ("http://[", "null", "", f"{lively}.evil.example", f"{lively}@evil.example"):
        assert ask(lively, "/policies", "POST", fields, Origin=origin)[0] == 403
    assert ask(lively, "/policies", "POST", fields, Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(lively, "/policies", "POST", fields + "&x=" + "y" * 20_000)[0] == 413
    assert ask(lively, "/policies", "POST", fields, Origin=lively)[0] == 303


def test_a_dashboard_that_only_reads_suggests_commands_and_takes_no_wishes(lively: str) -> None:
    text = ask(lively, "/pages/1")[2]
    key = key_in(ask(lively, "/policies")[2])

    assert "scrapy freshness visit https://news.example/items/0" in text
    assert "Forget this page" not in text
    assert ask(lively, "/pages/1", "POST", form(key=key, action="forget"))[0] == 403


def test_wishes_reach_the_crawl_if_that_is_allowed(lively_url: str) -> None:
    with served(lively_url, may_act=True) as (address, _):
        text = ask(address, "/pages/1")[2]
        key = key_in(text)
        assert "Forget this page" in text
        assert ask(address, "/pages/1", "POST", form(action="visit"))[0] == 403
        for fields in ({"action": "visit"}, {"action": "pin", "every": "2h"}, {"action": "forget"}):
            status, headers, _ = ask(address, "/pages/1", "POST", form(key=key, **fields))
            assert (status, headers["location"]) == (303, f"/pages/1?done={fields['action']}")
        assert "not granted yet: forget" in ask(address, "/pages/1?done=forget")[2]
        assert ask(address, "/pages/1", "POST", form(key=key, action="pin", every="soon"))[0] == 400
        assert ask(address, "/pages/1", "POST", form(key=key, action="drop"))[0] == 400
        for number in ("99999", "9223372036854775808"):
            assert ask(address, f"/pages/{number}", "POST", form(key=key, action="visit"))[0] == 404
    with Store.open_readonly(lively_url) as store:
        assert [wish.kind.name for wish in page_wishes(store, 1)] == ["FORGET", "PIN", "VISIT"]
        (page,) = find_pages(store, "https://news.example/items/0")
        assert page.pinned_seconds == 7200.0
        assert {wish.asked_at for wish in page_wishes(store, 1)} == {NOW}


def test_the_dashboard_pins_what_the_command_does_and_takes_what_it_shows(lively_url: str) -> None:
    with served(lively_url, may_act=True) as (address, _):
        for every in ("0.1s", "11000d", "0", "1e300d"):
            text = ask(address, "/pages/1")[2]
            status, _, refusal = ask(
                address, "/pages/1", "POST", form(key=key_in(text), action="pin", every=every)
            )
            assert status == 400
            assert "from 1s to 3650d" in refusal
        for every, seconds in (("5000s", 5000.0), ("3e8s", 3e8), ("1.5s", 1.5)):
            key = key_in(ask(address, "/pages/1")[2])
            for shown in (every, None):
                fields = {"key": key, "action": "pin", "every": shown or every_in(text)}
                assert ask(address, "/pages/1", "POST", form(**fields))[0] == 303
                with Store.open(lively_url) as store:
                    assert store.load_records([1])[0].pinned_seconds == seconds
                text = ask(address, "/pages/1")[2]


def every_in(text: str) -> str:
    """What the form for pins is filled with."""
    found = re.search(r'name="every" value="([^"]*)"', text)
    assert found
    return found[1]


def test_errors_are_pages_without_details(lively: str) -> None:
    status, _, text = ask(lively, "/nowhere")
    assert status == 404
    assert "To the overview" in text
    assert ask(lively, "/", "DELETE")[0] == 405


def test_a_cell_is_never_a_formula(lively: str) -> None:
    """Spreadsheets run what begins with one of these."""
    assert [cell(text) for text in ("=1+1", "+1", "-1", "@x", "http://a/")] == [
        *("'=1+1", "'+1", "'-1", "'@x"),
        "http://a/",
    ]
    status, headers, text = ask(lively, "/pages.csv?q=news.example&sort=url")
    assert status == 200
    assert headers["content-disposition"] == 'attachment; filename="pages.csv"'
    assert len(text.splitlines()) == 43
