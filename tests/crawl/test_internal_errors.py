"""A part of the crawl that raises what nobody expects is logged and counted, and the crawl goes on."""

import http.client
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from crawling import FOLLOW, crawl, start_crawl
from site_under_test import Site, html

LISTENING = re.compile(r"Telling metrics at http://([\d.]+):(\d+)/metrics")


def visits_kept(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "freshness.db")) as connection:
        (count,) = connection.execute("SELECT count(*) FROM visit").fetchone()
        return int(count)


def test_a_loop_goes_on_after_an_exception_in_any_of_its_parts(site: Site, tmp_path: Path) -> None:
    spider = """
    import itertools
    from scrapy_freshness.crawl.saving import Saving
    from scrapy_freshness.crawl.wishes import Wishes

    flush, look, turns = Saving.flush, Wishes.look, itertools.count()

    def failing_flush(saving, now):
        if next(turns) < 3:
            raise RuntimeError("not now")
        flush(saving, now)

    def failing_look(wishes):
        raise RuntimeError("never")

    Saving.flush, Wishes.look = failing_flush, failing_look
    """
    site.pages |= {"/": html()}

    running = start_crawl(tmp_path, site.url(), spider=_before(spider))
    running.wait_until(lambda: bool(site.log))
    running.wait_until(lambda: visits_kept(tmp_path) > 2)  # by a flush and not by the end of the crawl
    running.interrupt()
    done = running.wait()

    assert done.returncode == 0
    assert done.stat("freshness/internal_errors") > 3
    assert visits_kept(tmp_path) == len(site.log)
    assert "RuntimeError: not now" in done.log


def test_a_page_that_cannot_be_learned_from_costs_only_its_own_lesson(site: Site, tmp_path: Path) -> None:
    spider = """
    from scrapy_freshness.planning.learning import RateLearner

    learn = RateLearner.learn

    def failing_learn(learner, pages):
        if any(page.url.endswith("/bad") for page in pages):
            raise RuntimeError("a history that nobody has thought of")
        return learn(learner, pages)

    RateLearner.learn = failing_learn
    """
    site.pages |= {"/": html("/bad", "/good"), "/bad": html(), "/good": html()}

    enough = site.seen({"/": 4, "/bad": 4, "/good": 4})
    done = crawl(tmp_path, site.url(), spider=_before(spider), until=enough)

    assert done.returncode == 0
    assert done.stat("freshness/not_learned") == len(site.asked("/bad"))
    assert visits_kept(tmp_path) == len(site.log)
    with done.store() as store:
        rates = {
            record.url.removeprefix(site.url("")): record.change_rate
            for record in store.load_records(store.load_pages("follow").page_id.tolist())
        }
    assert rates["/good"] > 0


def test_a_crawl_that_ends_writes_what_it_can_and_closes_its_database(site: Site, tmp_path: Path) -> None:
    spider = """
    from scrapy_freshness.crawl.visiting import Visits
    from scrapy_freshness.planning.planner import Planner

    def failing(*args):
        raise RuntimeError("at the end")

    def close(visits):
        Planner.settle = failing
        failing()

    Visits.close_waiting = close
    """
    site.pages |= {"/": html()}

    done = crawl(tmp_path, site.url(), spider=_before(spider), until=site.seen({"/": 3}))

    assert done.returncode == 0
    assert done.stat("finish_reason") == "shutdown"
    assert done.stat("freshness/internal_errors") >= 2
    assert "RuntimeError: at the end" in done.log
    with done.store() as store:
        assert not store.is_locked()


def test_a_log_of_visits_that_cannot_be_shortened_is_no_flush_that_failed(site: Site, tmp_path: Path) -> None:
    spider = """
    from scrapy_freshness.crawl import extension
    from scrapy_freshness.errors import StorageError
    from scrapy_freshness.storage.store import Store

    def failing_prune(store, before):
        raise StorageError("not this time")

    extension._HOUSEKEEPING_SECONDS = 0.1
    Store.prune_visits = failing_prune
    """
    site.pages |= {"/": html()}

    done = crawl(tmp_path, site.url(), spider=_before(spider), until=site.seen({"/": 4}))

    assert done.stat("freshness/prune_failed") >= 1
    assert "The log of visits could not be shortened; that is tried again: not this time" in done.log
    assert done.stat("freshness/flush_failed") == 0


def test_a_crawl_that_has_written_nothing_for_long_is_not_well(site: Site, tmp_path: Path) -> None:
    spider = """
    from scrapy_freshness.crawl.saving import Saving

    def failing_flush(saving, now):
        raise RuntimeError("never")

    Saving.flush = failing_flush
    """
    site.pages |= {"/": html()}
    settings = {"FRESHNESS_METRICS_LISTEN": "127.0.0.1:0", "FRESHNESS_FLUSH_INTERVAL": "0.05s"}
    running = start_crawl(tmp_path, site.url(), spider=_before(spider), settings=settings)
    running.wait_until(lambda: LISTENING.search(running.log()) is not None)
    host, port = LISTENING.findall(running.log())[0]

    def health() -> tuple[int, str]:
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        try:
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    running.wait_until(lambda: health()[1].startswith("nothing has been written"))
    assert health()[0] == 503
    running.interrupt()
    running.wait()


def _before(changes: str) -> str:
    """A spider in whose process parts of the crawl are others."""
    lines = [line[4:] for line in changes.splitlines()]
    return "\n".join(lines) + FOLLOW
