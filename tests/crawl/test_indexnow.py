"""IndexNow over real HTTP: what a host submits with its key is visited again, anything else is not."""

import socket
from pathlib import Path

import pytest
from crawling import STAMPED, STAMPING, crawl
from pinging import KEY, PingedCrawl, changing, signals_heard
from site_under_test import Answer, Site, html

REFUSED = "freshness/pings/refused"


def key_file(site: Site, host: int = 0, text: str = KEY) -> None:
    site.pages[f"127.0.0.{host + 1}/{KEY}.txt"] = Answer(text + "\n", headers={"Content-Type": "text/plain"})


@pytest.fixture
def pages(site: Site) -> Site:
    """Two pages that change at every look."""
    site.pages["/"] = changing("/news", "/other")
    site.pages["/news"] = site.pages["/other"] = changing()
    return site


def test_a_submitted_page_has_a_signal_once_its_key_is_read(pages: Site, tmp_path: Path) -> None:
    key_file(pages)
    pinged = PingedCrawl(tmp_path, pages.url("/"), settings={"FRESHNESS_ANNOUNCED_PAGES": False})
    pinged.wait_for_fetches(pages, "/news", 2)

    assert pinged.submit(pages, "/news") == 202
    pinged.running.wait_until(lambda: pinged.submit(pages, "/news", "/never-seen") == 200)
    pinged.wait_for_fetches(pages, "/news", 2)
    done = pinged.stop()

    assert len(pages.asked(f"/{KEY}.txt")) == 1
    assert pages.asked("/never-seen") == []
    assert signals_heard(done, pages.url("/news")) >= 2
    assert signals_heard(done, pages.url("/other")) == 0
    assert done.stat("freshness/signals/heard") == signals_heard(done, pages.url("/news"))
    assert done.stat("freshness/signals/refused") >= 1
    assert done.stat("freshness/fetches/ping") == done.stat("freshness/pings/key_files") == 1
    assert done.returncode == 0
    assert "Traceback" not in done.log


def test_a_key_in_the_settings_costs_no_fetch(pages: Site, tmp_path: Path) -> None:
    keys = {pages.url("").split("/")[2]: KEY}
    pinged = PingedCrawl(tmp_path, pages.url("/"), settings={"FRESHNESS_PING_KEYS": keys})
    pinged.wait_for_fetches(pages, "/news", 2)

    assert pinged.submit(pages, "/news") == 200
    assert pinged.submit(pages, "/other", key="another-key") == 403
    pinged.wait_for_fetches(pages, "/news", 2)
    done = pinged.stop()

    assert signals_heard(done, pages.url("/news")) == 1
    assert signals_heard(done, pages.url("/other")) == 0
    assert done.stat(f"{REFUSED}/wrong_key") == 1
    assert done.stat("freshness/fetches/ping") == 0


def test_a_wrong_key_says_nothing(pages: Site, tmp_path: Path) -> None:
    key_file(pages, text="somebody-elses-key")
    pinged = PingedCrawl(tmp_path, pages.url("/"))
    pinged.wait_for_fetches(pages, "/news")

    assert pinged.submit(pages, "/news") == 202
    pinged.running.wait_until(lambda: pinged.submit(pages, "/news") == 403)
    done = pinged.stop()

    assert len(pages.asked(f"/{KEY}.txt")) == 1
    assert done.stat(f"{REFUSED}/wrong_key") >= 2
    assert done.stat("freshness/signals/heard") == 0


def test_a_redirected_or_missing_key_file_shows_no_key(pages: Site, tmp_path: Path) -> None:
    key_file(pages, host=1)
    pages.pages[f"127.0.0.1/{KEY}.txt"] = Answer(
        status=302, headers={"Location": pages.url(f"/{KEY}.txt", 1)}
    )
    pinged = PingedCrawl(tmp_path, pages.url("/"))
    pinged.wait_for_fetches(pages, "/news")

    assert pinged.submit(pages, "/news") == 202
    pinged.running.wait_until(lambda: pinged.submit(pages, "/news") == 403)
    pinged.stop()

    assert pages.asked(f"/{KEY}.txt", host=1) == []


def test_hosts_without_pages_are_refused_and_never_asked(pages: Site, tmp_path: Path) -> None:
    key_file(pages, host=1)
    pinged = PingedCrawl(tmp_path, pages.url("/"))
    pinged.wait_for_fetches(pages, "/news")

    assert pinged.submit(pages, "/news", host=1) == 422
    foreign = [pages.url("/news"), pages.url("/news", 1)]
    assert pinged.submit(pages, "/news", urlList=foreign) == 422
    elsewhere = {"keyLocation": pages.url(f"/{KEY}.txt", 1)}
    assert pinged.submit(pages, "/news", **elsewhere) == 422
    # Another port of a known host may be another server.
    assert pinged.request("GET", f"/indexnow?key={KEY}&url=http://127.0.0.1:9/")[0] == 422
    done = pinged.stop()

    assert pages.asked(f"/{KEY}.txt") == []
    assert done.stat(f"{REFUSED}/unknown_host") == 2


def test_ten_thousand_urls_come_at_once_and_the_budget_holds(pages: Site, tmp_path: Path) -> None:
    numbers = range(100)
    pages.pages["/"] = changing(*(f"/{number}" for number in numbers))
    pages.pages |= {f"/{number}": changing() for number in numbers}
    keys = {pages.url("").split("/")[2]: KEY}
    settings = {
        "FRESHNESS_PING_KEYS": keys,
        "FRESHNESS_BUDGET": "100/s",
        "FRESHNESS_PING_RATE": "1/h",
        "FRESHNESS_ANNOUNCED_PAGES": False,
        **STAMPED,
    }
    pinged = PingedCrawl(tmp_path, pages.url("/"), spider=STAMPING, settings=settings)
    pinged.running.wait_until(pages.seen({f"/{number}": 1 for number in numbers}))

    assert pinged.submit(pages, *(f"/{number}" for number in range(10_000))) == 200
    # The sender has used up its share of the hour, and of more.
    assert pinged.submit(pages, *(f"/{number}" for number in range(10_000))) == 429
    twice = {f"/{number}": len(pages.asked(f"/{number}")) + 2 for number in (0, 50, 99)}
    pinged.running.wait_until(pages.seen(twice))
    done = pinged.stop()

    times = sorted(float(asked.headers["X-Sent-At"]) for asked in pages.log)
    assert all(late - early > 0.8 for early, late in zip(times, times[100:], strict=False))
    assert done.stat("freshness/signals/heard") == 100
    assert 0 < done.stat("freshness/signals/refused") <= 9900  # it may end before it has looked at all
    assert done.stat(f"{REFUSED}/too_often") == 1


def test_a_port_in_use_is_one_clear_error(pages: Site, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = crawl(tmp_path, pages.url("/"), settings={"FRESHNESS_PING_LISTEN": address})

    assert done.returncode == 1
    assert f"The crawl cannot start: FRESHNESS_PING_LISTEN cannot be {address}" in done.log
    assert "Traceback" not in done.log.split("FRESHNESS_PING_LISTEN")[0]
    assert pages.log == []


def test_without_a_reactor_there_is_one_clear_error(pages: Site, tmp_path: Path) -> None:
    settings = {"FRESHNESS_PING_LISTEN": "127.0.0.1:0", "TWISTED_REACTOR_ENABLED": False}
    done = crawl(tmp_path, pages.url("/"), settings=settings)

    assert done.returncode == 1
    assert "FRESHNESS_PING_LISTEN cannot be 127.0.0.1:0 without reactor" in done.log
    assert pages.log == []


def test_the_select_reactor_takes_pings_too(pages: Site, tmp_path: Path) -> None:
    settings = {
        "FRESHNESS_PING_KEYS": {pages.url("").split("/")[2]: KEY},
        "FRESHNESS_ANNOUNCED_PAGES": False,
        "TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor",
    }
    pinged = PingedCrawl(tmp_path, pages.url("/"), settings=settings, process_class="CrawlerProcess")
    pinged.wait_for_fetches(pages, "/news", 2)

    assert pinged.submit(pages, "/news") == 200
    assert (
        pinged.submit(pages, *(f"/{'x' * 200}{number}" for number in range(500))) == 200
    )  # read in a thread
    pinged.wait_for_fetches(pages, "/news", 2)  # meanwhile they are looked up
    done = pinged.stop()

    assert done.stat("freshness/signals/heard") == 1
    assert done.stat("freshness/signals/refused") == 500
    assert "Traceback" not in done.log


def test_the_port_is_free_when_the_crawl_has_ended(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = html()
    pinged = PingedCrawl(tmp_path, site.url("/"))
    with socket.create_connection(pinged.address):  # a client that never says anything
        pinged.wait_for_fetches(site, "/")
        done = pinged.stop()

    assert done.returncode == 0
    assert "Traceback" not in done.log
    socket.create_server(pinged.address).close()


def test_without_the_setting_nothing_listens(site: Site, tmp_path: Path) -> None:
    site.pages["/"] = html()

    assert "Taking pings" not in crawl(tmp_path, site.url("/")).log


def test_a_page_that_nobody_links_to_is_visited_when_it_is_submitted(pages: Site, tmp_path: Path) -> None:
    pages.pages["/hidden"] = html(text="hidden")
    keys = {pages.url("").split("/")[2]: KEY}
    pinged = PingedCrawl(tmp_path, pages.url("/"), settings={"FRESHNESS_PING_KEYS": keys})
    pinged.wait_for_fetches(pages, "/news")

    assert pinged.submit(pages, "/hidden") == 200
    pinged.wait_for_fetches(pages, "/hidden")
    done = pinged.stop()

    assert done.stat("freshness/signals/new") == 1
