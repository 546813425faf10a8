"""Bad input, each with a clear outcome: pages, servers, spiders, databases and clocks that misbehave."""

import gzip
import random
import re
import resource
import socket
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from crawling import FOLLOW, Crawled, RunningCrawl, crawl, start_crawl
from site_under_test import Answer, Page, Site, html

from scrapy_freshness.model import PageRecord, PageStatus
from scrapy_freshness.storage.page_reports import page_visits

LINKS_ONLY = """
import scrapy

class LinksSpider(scrapy.Spider):
    name = "links"

    def parse(self, response):
        yield {"url": response.url, "bytes": len(response.body)}
        if response.url.endswith("/"):
            yield from response.follow_all(css="a", callback=self.parse)
"""

CHARSETS = ["bogus", "utf-16", "utf-7", "base64", "idna", "undefined"]
LONG_PATH = "/long/" + "x" * 10_000


def raw(*headers: bytes, status: bytes = b"200 OK", body: bytes = b"<p>words</p>") -> Answer:
    """An answer whose every byte is chosen."""
    length = b"Content-Length: %d" % len(body)
    return Answer(raw=b"\r\n".join([b"HTTP/1.1 " + status, *headers, length, b"", body]))


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def bad_pages() -> dict[str, Page | Answer | str]:
    """Pages that each go wrong in their own way."""
    binary = random.Random(7).randbytes(20_000)
    pages: dict[str, Page | Answer | str] = {
        "/broken": "<html><p>one<b>two</p><table><div>three</b></tr><!-- <a href='/'>" + "<div>" * 3000,
        "/empty": "",
        "/binary": Answer(binary),
        "/untyped": raw(b"X-Nothing: here"),
        "/loop": Answer(status=302, headers={"Location": "/loop"}),
        "/ftp": Answer(status=301, headers={"Location": "ftp://127.0.0.1/x"}),
        "/file": Answer(status=302, headers={"Location": "file:///etc/passwd"}),
        "/script": Answer(status=302, headers={"Location": "javascript:alert(1)"}),
        "/999": Answer("go away", 999),
        "/304": Answer(status=304),
        "/304-later": lambda headers, count: Answer(status=304) if count else Answer(html()),
        "/truncated": Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<p>half a pa"),
        "/cut-gzip": Answer(gzip.compress(html().encode())[:-20], headers={"Content-Encoding": "gzip"}),
        "/no-gzip": Answer("<p>plain words</p>", headers={"Content-Encoding": "gzip"}),
        "/no-http": Answer(raw=b"220 mail.example ESMTP\r\n"),
        "/dropped": Answer(close=True),
        "/silent": Answer(html(), delay=60),
        "/etag-cr": raw(b'ETag: "a\rX-Evil: 1"'),
        "/etag-lf": raw(b'ETag: "a\nX-Evil: 1"'),
        "/etag-fold": raw(b'ETag: "a\r\n X-Evil: 1"'),
        "/etag-nul": raw(b'ETag: "a\x00b"', b"Last-Modified: \x1b[31mred\x7f"),
        "/etag-long": raw(b'ETag: "' + b"e" * 5_000 + b'"', b"Last-Modified: " + b"m" * 5_000),
        "/etag-latin": raw('ETag: "\xe9t\xe9"'.encode("latin-1")),
        "/huge-header": raw(b"X-Huge: " + b"h" * 500_000),
        "/location": raw(b"Location: /target\x00\x1b[31m\tmore", status=b"302 Found"),
        LONG_PATH: html(),
    }
    for charset in CHARSETS:
        body = html(text="gr\xfcn").encode("latin-1") + b"\xff\xfe\x00"
        pages[f"/charset-{charset}"] = Answer(body, headers={"Content-Type": f"text/html; charset={charset}"})
    return pages


RETRY_AFTER = {
    "/busy-huge": b"99999999999999999999",
    "/busy-negative": b"-5",
    "/busy-date": b"Fri, 31 Dec 9999 23:59:59 GMT",
    "/busy-control": b"5\x00\x1b[31m",
    "/busy-fold": b"5\r\n X-Evil: 1",
}


@dataclass(frozen=True)
class Outcomes:
    """What became of all bad pages: after one look at each, and after some more."""

    site: Site
    first: Crawled
    again: Crawled
    first_asked: list[str]  #: paths, of the first look
    records: Mapping[str, PageRecord]  #: by path or, for other sites, by URL; after the first look
    later: Mapping[str, PageRecord]  #: the same after more looks

    def items(self, path: str) -> int:
        return len(self.first.items_of(self.site.url(path)))

    def reasons(self, record: PageRecord) -> set[str | None]:
        """Why the visits of a page have failed."""
        with self.first.store() as store:
            return {visit.reason for visit in page_visits(store, record.page_id)}


def records_of(done: Crawled, site: Site) -> dict[str, PageRecord]:
    with done.store() as store:
        records = store.load_records(store.load_pages("links").page_id.tolist())
    return {record.url.removeprefix(site.url("")): record for record in records}


READABLE = ["/broken", "/empty", "/binary", "/untyped", "/cut-gzip"]
ETAGS = ["/etag-cr", "/etag-lf", "/etag-fold", "/etag-nul", "/etag-long", "/etag-latin"]
#: Path -> HTTP status that is remembered.
NO_ANSWERS = {
    "/loop": None,
    "/ftp": 301,
    "/file": 302,
    "/script": None,
    "/999": 999,
    "/304": 304,
    "/truncated": None,
    "/no-gzip": None,
    "/no-http": None,
    "/dropped": None,
    "/silent": None,
    "/huge-header": None,
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    folder = tmp_path_factory.mktemp("bad")
    with Site(hosts=2) as site:
        pages = bad_pages()
        elsewhere = [f"http://127.0.0.1:{unused_port()}/refused", "http://no-such-host.invalid/"]
        busy = [site.url(path, host=1) for path in RETRY_AFTER]
        site.pages |= pages
        for path, value in RETRY_AFTER.items():
            site.pages[path] = raw(b"Retry-After: " + value, status=b"503 Busy")
        site.pages["/"] = html(*pages, *elsewhere, *busy)
        settings = {
            "DOWNLOAD_TIMEOUT": 1.5,
            "DNS_TIMEOUT": 3,
            "RETRY_ENABLED": False,
            "REDIRECT_MAX_TIMES": 4,
            "URLLENGTH_LIMIT": 0,
            # Scrapy's own look for a meta refresh fails on charsets that are none.
            "METAREFRESH_ENABLED": False,
            "FRESHNESS_BACKOFF": "0.1s",
            "FRESHNESS_BACKOFF_MAX": "0.3s",
            "FRESHNESS_BUDGET": "200/s",
        }
        first = crawl(folder, site.url(), spider=LINKS_ONLY, settings=settings)
        first_asked = [asked.path for asked in site.log]
        records = records_of(first, site)
        asked_once = Counter(first_asked)
        more = {path: asked_once[path] + 1 for path in (*READABLE, *NO_ANSWERS, *ETAGS, "/304-later")}
        more["/loop"] = 2 * asked_once["/loop"] + 1  # after a second way round
        again = crawl(folder, site.url(), spider=LINKS_ONLY, settings=settings, until=site.seen(more))
        yield Outcomes(site, first, again, first_asked, records, records_of(again, site))


def test_one_look_at_every_bad_page_comes_to_an_end(outcomes: Outcomes) -> None:
    assert outcomes.first.returncode == 0
    assert outcomes.first.stat("finish_reason") == "finished"
    assert outcomes.first.stat("freshness/visits/abandoned") == 0
    assert outcomes.first.stat("freshness/flush_failed") == 0
    asked = {asked.path for asked in outcomes.site.log}
    assert asked >= set(bad_pages()) | set(RETRY_AFTER)


@pytest.mark.parametrize("path", READABLE)
def test_a_page_that_can_be_read_somehow_is_a_page(outcomes: Outcomes, path: str) -> None:
    record, later = outcomes.records[path], outcomes.later[path]

    assert record.status is PageStatus.ACTIVE
    assert record.content_hash is not None
    assert outcomes.items(path) == 1
    assert later.visits > record.visits
    assert later.changes == 0


@pytest.mark.parametrize("charset", CHARSETS)
def test_a_wrong_charset_is_no_obstacle(outcomes: Outcomes, charset: str) -> None:
    record = outcomes.records[f"/charset-{charset}"]

    assert record.status is PageStatus.ACTIVE
    assert outcomes.items(f"/charset-{charset}") == 1
    assert outcomes.first.stat("freshness/bodies_not_decoded") == 3  # base64, idna, undefined


@pytest.mark.parametrize(("path", "status"), NO_ANSWERS.items())
def test_an_answer_that_is_none_is_a_failed_visit(outcomes: Outcomes, path: str, status: int | None) -> None:
    record, later = outcomes.records[path], outcomes.later[path]

    assert record.status is PageStatus.NEW
    assert record.failures >= 1
    assert record.http_status == status
    assert record.content_hash is None
    assert outcomes.items(path) == 0
    # It is tried again.
    assert later.visits > record.visits
    assert later.failures == later.visits


def test_a_host_that_does_not_exist_or_refuses_is_a_failed_visit(outcomes: Outcomes) -> None:
    others = [record for url, record in outcomes.records.items() if url.startswith("http")]
    unreachable = [record for record in others if "/busy" not in record.url]

    assert len(unreachable) == 2
    for record in unreachable:
        assert record.failures >= 1
        assert record.http_status is None
    assert {reason for record in unreachable for reason in outcomes.reasons(record)} == {
        "connection refused",
        "DNS lookup failed",
    }


def test_an_endless_redirect_is_followed_as_far_as_scrapy_allows(outcomes: Outcomes) -> None:
    times = outcomes.first_asked.count("/loop")
    assert times == 5 * outcomes.records["/loop"].visits  # the page and REDIRECT_MAX_TIMES targets
    assert outcomes.later["/loop"].failures == outcomes.later["/loop"].visits
    assert outcomes.reasons(outcomes.later["/loop"]) == {"max redirections reached"}
    assert outcomes.later["/loop"].not_before > 0  # it rests ever longer, as other pages that fail


def test_a_304_to_a_request_without_validators_does_not_say_unchanged(outcomes: Outcomes) -> None:
    record, later = outcomes.records["/304-later"], outcomes.later["/304-later"]

    assert record.status is later.status is PageStatus.ACTIVE
    assert later.last_visit_at == record.last_visit_at
    assert later.failures > 0
    assert later.content_hash == record.content_hash


@pytest.mark.parametrize("path", ETAGS)
def test_validators_are_sent_back_only_if_they_are_harmless(outcomes: Outcomes, path: str) -> None:
    allowed = {
        "/etag-cr": {None, '"a X-Evil: 1"'},  # Twisted takes it for a space
        "/etag-lf": {None, '"a'},  # the line ends where it ends; what follows is another header
        "/etag-fold": {None, '"a X-Evil: 1"'},  # a folded line is one line, as HTTP used to have it
        "/etag-latin": {'"\xe9t\xe9"'},
    }
    asked = outcomes.site.asked(path)

    assert len(asked) > 1
    assert {each.headers.get("If-None-Match") for each in asked[1:]} <= allowed.get(path, {None})
    assert {each.headers.get("If-Modified-Since") for each in asked} == {None}


def test_no_header_can_be_smuggled_into_requests(outcomes: Outcomes) -> None:
    assert not [asked for asked in outcomes.site.log if "X-Evil" in asked.headers]
    targets = {asked.path for asked in outcomes.site.log if asked.path.startswith("/target")}
    assert targets == {"/target%00%1B[31mmore"} or targets == {"/target%00%1B%5B31mmore"}


def test_no_retry_after_stops_a_host_longer_than_the_limit(outcomes: Outcomes) -> None:
    with outcomes.first.store() as store:
        (host,) = [each for each in store.load_hosts() if each.host == "127.0.0.2"]
    visited = [asked.at for asked in outcomes.site.log if asked.host == "127.0.0.2"]
    assert 0 < host.blocked_until < max(visited) + 5
    # Every page of the host has its turn, each after a pause.
    assert {asked.path for asked in outcomes.site.log if asked.host == "127.0.0.2"} == set(RETRY_AFTER)


def test_a_url_of_ten_kilobytes_is_fetched_once_and_not_tracked(outcomes: Outcomes) -> None:
    assert len(outcomes.site.asked(LONG_PATH)) == 1
    assert LONG_PATH not in outcomes.later
    assert outcomes.items(LONG_PATH) == 1


# A page of fifty megabytes


def test_of_a_page_of_fifty_megabytes_the_beginning_is_compared(site: Site, tmp_path: Path) -> None:
    filler = "all work and no play " * 2_400_000
    versions = [
        f"<html><body><p>{beginning}</p><p>{filler}</p><p>{end}</p></body></html>"
        for beginning, end in (("one", "end"), ("one", "another end"), ("two", "end of all"))
    ]
    site.pages |= {"/big": lambda headers, count: Answer(versions[min(count, 2)]), "/small": html()}
    urls = [site.url("/big"), site.url("/small")]

    runs = [crawl(tmp_path, *urls, spider=LINKS_ONLY) for _ in versions]

    assert [len(site.asked(path)) for path in ("/big", "/small")] == [3, 3]
    assert [run.stat("freshness/bodies_cut") for run in runs] == [1, 1, 1]
    record = records_of(runs[-1], site)["/big"]
    assert (record.visits, record.changes) == (3, 1)
    assert [item["bytes"] for item in runs[-1].items_of(urls[0])] == [len(versions[0]), len(versions[2])]
    assert len(runs[-1].items_of(urls[1])) == 1


# Spiders


def test_a_spider_may_yield_garbage_and_its_pages_are_still_visited(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class GarbageSpider(scrapy.Spider):
        name = "garbage"

        async def start(self):
            for name in ("nothing", "things", "number", "later", "late_error", "forged"):
                yield scrapy.Request(self.site + name, getattr(self, name))
            yield {"url": "from start"}
            yield 7
            yield scrapy.Request(self.site + "forged_at_once", self.nothing, meta={
                "freshness_visit": "no visit", "freshness_paid": True, "freshness": "yes",
            })
            raise RuntimeError("start() has had enough")

        def nothing(self, response):
            pass

        def things(self, response):
            yield None
            yield 7
            yield ["a", "list"]
            yield object()
            yield {"url": response.url}

        def number(self, response):
            return 17

        async def later(self, response):
            raise ValueError("before anything was yielded")

        async def late_error(self, response):
            yield {"url": response.url}
            raise ValueError("after an item")

        def forged(self, response):
            # The visit of this page does not end because another request carries it.
            yield scrapy.Request(self.site + "other", self.nothing, meta=dict(response.meta))
            yield scrapy.Request(self.site + "third", self.nothing, meta={"freshness_visit": object()})
    """
    names = [
        "nothing",
        "things",
        "number",
        "later",
        "late_error",
        "forged",
        "forged_at_once",
        "other",
        "third",
    ]
    site.pages |= {f"/{name}": html() for name in names}
    running = start_crawl(
        tmp_path,
        spider=spider,
        arguments={"site": site.url()},
        settings={"FEEDS": {}, "FRESHNESS_MIN_INTERVAL": "0.1s"},
    )

    running.wait_until(lambda: all(len(site.asked(f"/{name}")) > 2 for name in names))
    running.interrupt()
    done = running.wait()

    assert done.returncode == 0
    assert "start() has had enough" in done.log
    with done.store() as store:
        assert store.page_count("garbage") == len(names)
    # The spider has not seen pages on which it fails: it is shown them again.
    assert done.stat("freshness/callback_failed") > 3
    assert done.stat("freshness/visits/unchanged") > len(names)


# Databases


def integrity(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "freshness.db")) as connection:
        return [row for (row,) in connection.execute("PRAGMA integrity_check")]


def visits_kept(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "freshness.db")) as connection:
        (count,) = connection.execute("SELECT count(*) FROM visit").fetchone()
        return int(count)


@dataclass(frozen=True)
class Troubles:
    """Crawls whose databases could not be written for a while, or for good."""

    site: Site
    folder: Path
    done: Mapping[str, Crawled]


@pytest.fixture(scope="module")
def troubles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Troubles]:
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs a limit on the size of files")
    folder = tmp_path_factory.mktemp("troubles")
    with Site() as site:
        running: dict[str, RunningCrawl] = {}
        flush_intervals = {"locked": "0.3s", "closed": "0.3s", "freed": "0.05s", "full": "0.05s"}
        for name, flush_interval in flush_intervals.items():
            site.pages[f"/{name}"] = html()
            settings = {"FRESHNESS_FLUSH_INTERVAL": flush_interval, "LOG_LEVEL": "INFO"}
            running[name] = start_crawl(folder / name, site.url(f"/{name}"), settings=settings)
        for name, each in running.items():
            each.wait_until(lambda name=name: len(site.asked(f"/{name}")) > 3)  # type: ignore[misc]
        with locked(folder / "locked"), locked(folder / "closed"):
            fill_disk(running["full"].pid, folder / "full")
            fill_disk(running["freed"].pid, folder / "freed")
            _wait_for_refusals(site, running["freed"], folder / "freed", refusals=3)
            free_disk(running["freed"].pid)
            # SQLite itself waits for ten seconds before it gives up.
            running["closed"].interrupt()
            _wait_for_refusals(site, running["locked"], folder / "locked", refusals=1)
            running["closed"].wait_until(
                lambda: "could not be written and are kept" in running["closed"].log()
            )
        for name in ("freed", "locked"):
            asked = len(site.asked(f"/{name}"))
            running[name].wait_until(lambda name=name, asked=asked: visits_kept(folder / name) > asked)  # type: ignore[misc]
            running[name].interrupt()
        yield Troubles(site, folder, {name: each.wait() for name, each in running.items()})


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the right to write to a database, as another program would."""
    with closing(sqlite3.connect(folder / "freshness.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def _wait_for_refusals(site: Site, running: RunningCrawl, folder: Path, refusals: int) -> None:
    """Wait until flushes have failed; the crawl goes on, and nothing is written."""
    kept, asked = visits_kept(folder), len(site.asked(f"/{folder.name}"))
    running.wait_until(lambda: running.log().count("could not be written and are kept") >= refusals)
    running.wait_until(lambda: len(site.asked(f"/{folder.name}")) > asked + 2)
    assert visits_kept(folder) == kept


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("locked", "is locked by another program"),
        ("closed", "is locked by another program"),  # and a Ctrl-C while it was
        ("freed", "the disk reports an error or is full"),
    ],
)
def test_visits_are_kept_until_the_database_can_be_written_again(
    troubles: Troubles, name: str, message: str
) -> None:
    done = troubles.done[name]

    assert done.returncode == 0
    assert done.stat("freshness/flush_failed") >= 1
    assert message in done.log
    assert visits_kept(troubles.folder / name) == len(troubles.site.asked(f"/{name}"))
    assert integrity(troubles.folder / name) == ["ok"]
    assert "Traceback" not in done.log


def test_visits_are_written_once_and_with_their_pages_whatever_becomes_of_reads(
    site: Site, tmp_path: Path
) -> None:
    spider = """
    import itertools
    from scrapy_freshness.errors import StorageError
    from scrapy_freshness.storage.store import Store

    save, load_records, reads = Store.save, Store.load_records, itertools.count()

    def checked_save(store, spider, batch):
        if {visit.page_id for visit in batch.visits} - {page.page_id for page in batch.pages}:
            print("a visit without its page")
        save(store, spider, batch)

    def failing_load(store, page_ids):
        if next(reads) % 20 == 10:
            raise StorageError("this time not")
        return load_records(store, page_ids)

    Store.save, Store.load_records = checked_save, failing_load
    """
    links = [f"/{number}" for number in range(200)]
    site.pages |= {"/": html(*links), **{link: html() for link in links}}
    settings = {"FRESHNESS_CACHE_PAGES": 1, "FRESHNESS_BUDGET": "100/s"}

    whole = textwrap.dedent(spider) + FOLLOW
    done = crawl(tmp_path, site.url(), spider=whole, until=lambda: len(site.log) > 500, settings=settings)

    assert done.stat("freshness/read_failed") > 2
    assert "a visit without its page" not in done.log
    assert visits_kept(tmp_path) == len(site.log)


def test_a_crawl_whose_database_cannot_be_written_for_long_closes_itself(troubles: Troubles) -> None:
    done = troubles.done["full"]

    assert done.stat("finish_reason") == "freshness_database_failed"
    assert "The database has failed for 3 s: closing the crawl" in done.log  # sixty flush intervals
    assert 0 < visits_kept(troubles.folder / "full") < len(troubles.site.asked("/full"))
    (lost,) = re.findall(r"(\d+) visits are lost and will be made again", done.log)
    assert int(lost) > 0
    assert integrity(troubles.folder / "full") == ["ok"]
    assert "Traceback" not in done.log


def fill_disk(pid: int, folder: Path) -> None:
    """No file of a process may grow beyond what the database has written ahead so far."""
    size = (folder / "freshness.db-wal").stat().st_size
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def free_disk(pid: int) -> None:
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def scrapy_runspider(folder: Path, *start_urls: str, database: Path) -> "subprocess.CompletedProcess[str]":
    """The same crawl by Scrapy's own command."""
    folder.mkdir(exist_ok=True)
    urls = f"    start_urls = {list(start_urls)}"
    (folder / "spider.py").write_text(FOLLOW.replace('    name = "follow"', f'    name = "follow"\n{urls}'))
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
    (folder / "settings.py").write_text(
        'ADDONS = {"scrapy_freshness.Addon": 500}\nTELNETCONSOLE_ENABLED = False\n'
    )
    options = {"FRESHNESS_DATABASE_URL": f"sqlite:///{database}", "FRESHNESS_STOP_WHEN": "idle"}
    arguments = [word for name, value in options.items() for word in ("-s", f"{name}={value}")]
    return subprocess.run(
        [sys.executable, "-m", "scrapy", "runspider", "spider.py", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_second_crawl_on_the_same_database_is_refused(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html(), "/second": html()}
    running = start_crawl(tmp_path / "first", site.url())
    database = tmp_path / "first" / "freshness.db"
    running.wait_until(lambda: len(site.log) > 1)

    refused = crawl(
        tmp_path / "second", site.url("/second"), settings={"FRESHNESS_DATABASE_URL": f"sqlite:///{database}"}
    )
    by_command = scrapy_runspider(tmp_path / "third", site.url("/second"), database=database)
    asked = len(site.log)
    running.wait_until(lambda: len(site.log) > asked + 2)
    running.interrupt()
    first = running.wait()

    for code, log in ((refused.returncode, refused.log), (by_command.returncode, by_command.stderr)):
        assert code == 1
        (line,) = [line for line in log.splitlines() if "The crawl cannot start" in line]
        assert f"{database} is in use by another crawl (process {running.pid})" in line
        assert "FRESHNESS_DATABASE_URL" in line
        assert "the direct cause of the following exception" not in log
    assert not site.asked("/second")
    assert first.returncode == 0
    assert first.stat("freshness/flush_failed") == 0
    assert integrity(tmp_path / "first") == ["ok"]
    # Nobody is in the way any more.
    assert crawl(tmp_path / "first", site.url("/second")).returncode == 0
    assert site.asked("/second")


@pytest.mark.parametrize(
    ("setting", "value", "remedy"),
    [
        ("FRESHNESS_BUDGET", "bad", 'write a rate above 0 such as "2/s"'),
        ("FRESHNESS_POLICY", "nope", "uniform"),
    ],
)
def test_a_value_that_cannot_be_used_stops_the_crawl_with_one_line(
    site: Site, tmp_path: Path, setting: str, value: str, remedy: str
) -> None:
    done = crawl(tmp_path, site.url(), settings={setting: value})

    (line,) = [line for line in done.log.splitlines() if "The crawl cannot start" in line]
    assert setting in line
    assert repr(value) in line
    assert remedy in line
    assert done.returncode == 1
    assert not site.log


def damage_all(path: Path) -> None:
    path.write_text("Dear diary, " * 1000)


def damage_pages(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[3 * 4096 :] = b"\xa5" * (len(content) - 3 * 4096)
    path.write_bytes(content)


def damage_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE page_detail")
        connection.execute("DROP TABLE host")


@pytest.mark.parametrize("damage", [damage_all, damage_pages, damage_tables])
def test_a_damaged_database_is_refused_and_left_as_it_is(
    site: Site, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    site.pages |= {"/": html()}
    crawl(tmp_path, site.url())
    database = tmp_path / "freshness.db"
    damage(database)
    before, asked = database.read_bytes(), len(site.log)

    done = crawl(tmp_path, site.url())

    assert done.returncode == 1
    assert len([line for line in done.log.splitlines() if "The crawl cannot start: database" in line]) == 1
    assert database.read_bytes() == before
    assert len(site.log) == asked


def test_damaged_rows_cost_what_was_learned_but_not_the_page(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html("/a"), "/a": html()}
    crawl(tmp_path, site.url())
    with closing(sqlite3.connect(tmp_path / "freshness.db")) as connection, connection:
        connection.execute("UPDATE page_detail SET history = x'010203', profiles = x'01ffffff'")
        connection.execute("UPDATE page SET change_rate = -1")
        connection.execute("UPDATE page_detail SET request = '{not json' WHERE page_id = 2")

    done = crawl(tmp_path, site.url(), until=site.seen({"/": 6}))

    assert done.returncode == 0
    assert done.stat("freshness/callback_missing") == 1
    assert "Traceback" not in done.log


# Clocks


def test_a_clock_that_was_ahead_leaves_no_page_behind(site: Site, tmp_path: Path) -> None:
    answers: dict[str, Page] = {
        "/": lambda headers, count: Answer(html("/bad", "/gone", text=f"version {count}")),
        "/bad": lambda headers, count: Answer("oops", 500) if count == 0 else Answer(html()),
        "/gone": lambda headers, count: Answer("gone", 410) if count == 0 else Answer(html()),
        "/busy": lambda headers, count: Answer("busy", 503) if count == 0 else Answer(html()),
    }
    site.pages |= answers
    settings = {
        "RETRY_ENABLED": False,
        "FRESHNESS_BACKOFF_MAX": "1s",
        "FRESHNESS_GONE_RECHECK": "0.5s",
        "FRESHNESS_GONE_RECHECK_MAX": "1s",
    }
    urls = [site.url(), site.url("/busy", host=1)]
    crawl(tmp_path, *urls, settings=settings)
    year = 365 * 86400
    with closing(sqlite3.connect(tmp_path / "freshness.db")) as connection, connection:
        connection.execute(
            "UPDATE page SET last_visit_at = last_visit_at + ?, discovered_at = discovered_at + ?",
            (year, year),
        )
        connection.execute("UPDATE page SET not_before = not_before + ? WHERE not_before > 0", (year,))
        connection.execute(
            "UPDATE host SET blocked_until = blocked_until + ? WHERE blocked_until > 0", (year,)
        )
        connection.execute("UPDATE visit SET at = at + ?", (year,))
        connection.execute(
            "UPDATE crawl SET started_at = started_at + ?, updated_at = updated_at + ?", (year, year)
        )
    asked = len(site.log)

    running = start_crawl(tmp_path, spider=FOLLOW, settings=settings, arguments={"start_urls": []})
    running.wait_until(lambda: {each.path for each in site.log[asked:]} == set(answers))
    running.interrupt()
    done = running.wait()

    assert "visits in the future" in done.log
    with done.store() as store:
        records = store.load_records(store.load_pages("follow").page_id.tolist())
    assert {record.status for record in records} == {PageStatus.ACTIVE}
    assert all(record.last_visit_at is not None and record.last_visit_at < time.time() for record in records)
