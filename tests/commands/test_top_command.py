"""`scrapy freshness top`: crawls live in the terminal."""

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from answering import Answer
from small_web import FAILING, NOW, PRICE, SLOW, fill

from scrapy_freshness.commands.top import Watch
from scrapy_freshness.model import Batch, CrawlState, FreshnessRecord, PageStatus
from scrapy_freshness.storage.store import Store

Run = Callable[..., Answer]


def watched(url: str) -> None:
    """The small web, with what a crawl of the last hour notes about itself."""
    fill(url)
    minute = int(NOW // 60)
    with Store.open(url) as store:
        store.save(
            "news",
            Batch(
                freshness=[
                    FreshnessRecord(
                        minute=minute - ago,
                        freshness=0.5 + ago / 1000,
                        uniform_freshness=0.4,
                        pages=9,
                        price=PRICE,
                    )
                    for ago in (2, 1, 0)
                ]
            ),
        )


def test_one_look_tells_all(freshness: Run, database_url: str) -> None:
    watched(database_url)
    out = freshness("top", "--spider", "news", url=database_url).out

    assert "news: not running, wrote 5 s ago" in out
    assert "of 1/s: 0.5 fetches a second" in out  # 10 fetches in this half minute, 20 in the other
    assert "50 % expected, 40 % page by page in turn" in out
    assert "50 % to 50.2 %" in out
    assert "1 new, 8 active, 1 gone, 1 suspended, 1 moved" in out
    assert "1 host in back-off: paused.example (in 3 min)" in out
    assert out.index(FAILING) < out.index(SLOW)  # the latest visit first


def test_what_programs_get(freshness: Run, web_url: str) -> None:
    state = freshness("top", "--json").json

    assert [crawl["spider"] for crawl in state["spiders"]] == ["news", "shop"]
    assert state["spiders"][0]["budget_used"] == pytest.approx(0.5)
    assert state["spiders"][1]["budget_used"] is None
    assert state["hosts"][0] == {
        "host": "a.example",
        "visits": 2,
        "changed": 1,
        "failed": 0,
        "latency_seconds": pytest.approx(0.2),
    }
    assert [visit["outcome"] for visit in state["visits"]] == ["failed", "not_modified", "changed"]


def test_a_crawl_that_has_just_begun_is_measured_from_its_beginning(web_url: str) -> None:
    with Store.open(web_url) as store:
        fields = {"policy": "greedy", "budget_per_second": 1.0, "price": 1.0}
        state = CrawlState(spider="news", started_at=NOW - 30, updated_at=NOW, **fields)
        store.save("news", Batch(state=state))
        store.lock("news")
        (crawl, _) = Watch(store).look(NOW)["spiders"]

    assert crawl["running"]
    assert crawl["fetches_per_second"] == pytest.approx(1.0)


def test_a_look_reads_what_is_new(web_url: str) -> None:
    with Store.open(web_url) as store:
        watch = Watch(store)
        before = watch.look(NOW)["spiders"][0]["pages"]
        store.forget(url=SLOW)
        soon, later = (watch.look(NOW + seconds)["spiders"][0]["pages"] for seconds in (1.0, 1000.0))

    assert (before["active"], soon["active"], later["active"]) == (8, 8, 7)


def test_a_database_without_anything_is_told(freshness: Run, sqlite_url: str) -> None:
    Store.open(sqlite_url).close()

    assert "No spider has crawled with this database yet." in freshness("top", url=sqlite_url).out


def test_a_spider_is_not_said_to_be_new_because_others_made_all_visits_lately(
    freshness: Run, web_url: str
) -> None:
    assert "None of the last 500 visits" in freshness("top", "--spider", "shop").out
    with Store.open(web_url) as store:
        page = replace(store.load_records([1])[0], page_id=store.next_page_id("new"), status=PageStatus.NEW)
        store.save("new", Batch(pages=[page]))

    assert "No page has been visited yet." in freshness("top", "--spider", "new").out


def test_nonsense_is_refused(freshness: Run) -> None:
    for interval in ("0s", "1e-9s", "1e300d", "5parsecs"):
        answer = freshness("top", "--interval", interval)
        assert (answer.exit_code, answer.out) == (2, "")
        assert f"--interval cannot be '{interval}': write a duration such as" in answer.err
    assert "no spider nobody is known" in freshness("top", "--spider", "nobody").err


@pytest.mark.parametrize("key", ["q", "\x03"], ids=["q", "Ctrl-C"])
def test_a_key_ends_it_and_the_terminal_is_as_before(web_url: str, tmp_path: Path, key: str) -> None:
    terminal, other_end = pty.openpty()
    command = ["freshness", "top", "--interval", "0.1s", "--database", web_url]
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "scrapy", *command],
        cwd=tmp_path,
        env={**os.environ, "TERM": "xterm", "LINES": "30"},
        stdin=other_end,
        stdout=other_end,
        stderr=other_end,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # Ctrl-C reaches whose terminal it is
    )
    os.close(other_end)
    try:
        shown = read_until(terminal, "latest visits")
        os.write(terminal, key.encode())
        shown += read_until(terminal, None)
        assert process.wait(60) == 0
    finally:
        process.kill()
        os.close(terminal)

    assert "\x1b[?1049h" in shown  # a screen of its own
    assert shown.rindex("\x1b[?1049l") > shown.rindex("\x1b[?1049h")  # and back
    assert "Traceback" not in shown


def read_until(terminal: int, text: str | None) -> str:
    """Read what a program writes until a text is there, or until it ends."""
    shown, deadline = "", time.monotonic() + 60
    while text is None or text not in shown:
        assert time.monotonic() < deadline, shown
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # how Linux tells that nobody is at the other end any more
            piece = b""
        if not piece:
            assert text is None, shown
            break
        shown += piece.decode(errors="replace")
    return shown
