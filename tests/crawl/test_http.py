"""What answers do to visits: validators, tombstones, back-off, redirects."""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping
from email.utils import formatdate
from pathlib import Path

from crawling import Crawled, crawl
from site_under_test import Answer, Page, Site, html

from scrapy_freshness.model import PageRecord, PageStatus
from scrapy_freshness.storage import page_reports
from scrapy_freshness.storage.reports import taken_by_hosts


def page_record(done: Crawled, url: str) -> PageRecord:
    with done.store() as store:
        (found,) = page_reports.find_pages(store, url)
        (record,) = store.load_records([found.page_id])
        return record


def with_etag(versions: list[str]) -> Page:
    """A page with an ETag that answers 304 when it is asked with the right one."""

    def answer(headers: Mapping[str, str], count: int) -> Answer:
        text = versions[min(count, len(versions) - 1)]
        tag = f'"{text}"'
        if headers.get("If-None-Match") == tag:
            return Answer(status=304, headers={"ETag": tag})
        return Answer(html(text=text), headers={"ETag": tag})

    return answer


def test_a_304_is_an_unchanged_visit_without_the_callback(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": with_etag(["one"])}

    done = crawl(tmp_path, site.url(), until=site.seen({"/": 4}), settings={"FRESHNESS_AUDIT_SHARE": 0})

    assert done.stat("freshness/visits/not_modified") == len(site.asked("/")) - 1 > 1
    assert len(done.items) == 1
    assert all(asked.headers["If-None-Match"] == '"one"' for asked in site.asked("/")[1:])
    assert page_record(done, site.url()).history


def test_a_date_is_sent_back_as_the_server_wrote_it(site: Site, tmp_path: Path) -> None:
    written = "Sat, 07 Nov 2026 10:00:00 GMT"
    site.pages |= {"/": Answer(html(), headers={"Last-Modified": written})}

    crawl(tmp_path, site.url(), until=site.seen({"/": 4}))

    assert {asked.headers.get("If-Modified-Since") for asked in site.asked("/")[1:]} == {written}


def test_a_host_whose_304s_lie_is_not_asked_with_validators_any_more(site: Site, tmp_path: Path) -> None:
    def lie(headers: Mapping[str, str], count: int) -> Answer:
        if "If-None-Match" in headers:
            return Answer(status=304)
        return Answer(html(text=f"version {count}"), headers={"ETag": '"always the same"'})

    site.pages |= {"/": lie}

    settings = {"FRESHNESS_AUDIT_SHARE": 1e-6}
    done = crawl(tmp_path, site.url(), until=site.seen({"/": 8}), settings=settings)

    # The first 304 is audited at once: it hides a change.
    conditional = ["If-None-Match" in asked.headers for asked in site.asked("/")]
    assert conditional[:3] == [False, True, False]
    assert not any(conditional[3:])
    with done.store() as store:
        (host,) = store.load_hosts()
    assert (host.audits, host.false_not_modified) == (1, 1)
    assert len(done.items) > 3


def test_fields_and_not_the_page_around_them_tell_whether_a_304_was_false(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class ShopSpider(scrapy.Spider):
        name = "shop"

        def parse(self, response):
            visit = response.meta["freshness_visit"]
            self.logger.info("told %s %s", visit.changed, visit.divergence)
            yield {"url": response.url, "price": response.css("b::text").get()}
    """

    def noisy(price: Callable[[int], int]) -> Page:
        def answer(headers: Mapping[str, str], count: int) -> Answer:
            if headers.get("If-None-Match") == 'W/"1"':
                return Answer(status=304, headers={"ETag": 'W/"1"'})
            body = f"<b>{price(count)}</b> seen {count} times"
            return Answer(body, headers={"ETag": 'W/"1"'})

        return answer

    site.pages |= {"127.0.0.1/": noisy(lambda count: 5), "127.0.0.2/": noisy(lambda count: count)}
    settings = {"FRESHNESS_FRAGMENT_FIELDS": ["price"], "FRESHNESS_AUDIT_SHARE": 0.5}

    def audited() -> bool:
        whole = Counter(asked.host for asked in site.log if asked.status == 200)
        return whole["127.0.0.1"] > 3 and whole["127.0.0.2"] > 1

    done = crawl(tmp_path, site.url(), site.url(host=1), spider=spider, until=audited, settings=settings)

    with done.store() as store:
        honest, liar = store.load_hosts()
    assert honest.audits > 1
    assert honest.false_not_modified == 0
    assert liar.false_not_modified == liar.audits > 0
    assert {line.split("told ")[1] for line in done.log.splitlines() if "told " in line} == {"None None"}
    assert [item["price"] for item in done.items_of(site.url())] == ["5"]


def test_validators_are_in_no_copy_of_a_request(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class PagingSpider(scrapy.Spider):
        name = "paging"

        def parse(self, response):
            yield {"url": response.url}
            if response.css("a"):
                yield response.request.replace(url=response.urljoin("/older"), meta={})
    """
    dates = [f"Sun, {day} Nov 2026 10:00:00 GMT" for day in (15, 16)]

    def newest(headers: Mapping[str, str], count: int) -> Answer:
        version = min(count, 1)
        links = ["/older"] * version
        return Answer(html(*links, text=f"version {version}"), headers={"Last-Modified": dates[version]})

    def older(headers: Mapping[str, str], count: int) -> Answer:
        return Answer(status=304) if "If-Modified-Since" in headers else Answer(html())

    site.pages |= {"/": newest, "/older": older}

    done = crawl(tmp_path, site.url(), spider=spider, until=site.seen({"/": 3, "/older": 1}))

    assert "If-Modified-Since" in site.asked("/")[1].headers
    assert done.items_of(site.url("/older"))
    assert {asked.status for asked in site.asked("/older")} == {200}


def test_gone_pages_become_tombstones_and_revive(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/": html("/page"),
        "/page": lambda headers, count: (
            Answer(html(text=f"alive at {count}")) if count in (0, 4) else Answer("gone", 410)
        ),
    }
    settings = {"FRESHNESS_GONE_RECHECK": "0.4s", "FRESHNESS_GONE_RECHECK_MAX": "10s"}

    done = crawl(tmp_path, site.url(), until=site.seen({"/page": 5}), settings=settings)

    times = [asked.at for asked in site.asked("/page")]
    # Looks at a tombstone are ever further apart.
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert gaps[1] >= 0.4
    assert gaps[2] >= 0.8
    assert gaps[3] >= 1.6
    texts = [item["text"] for item in done.items_of(site.url("/page"))]
    assert texts == ["alive at 0", "alive at 4"]


def test_a_page_that_never_was_is_remembered_as_gone(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html("/missing")}

    done = crawl(tmp_path, site.url(), until=site.seen({"/": 6, "/missing": 1}))

    assert len(site.asked("/missing")) == 1
    assert page_record(done, site.url("/missing")).status is PageStatus.GONE


def test_bad_answers_that_are_retried_do_not_end_the_visit(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class Stubborn:
        def process_response(self, request, response):
            return request.replace(dont_filter=True) if response.status == 429 else response

    class SomeSpider(scrapy.Spider):
        name = "some"

        def parse(self, response):
            for path in ("/moment", "/busy", "/gone"):
                yield response.follow(path, self.parse_page)
            yield response.follow("/told", self.parse_page, meta={"handle_httpstatus_list": [404]})

        def parse_page(self, response):
            yield {"url": response.url, "text": response.text, "status": response.status}
    """

    def at_first(status: int) -> Page:
        return lambda headers, count: Answer("not yet", status) if count == 0 else Answer("here it is")

    site.pages |= {"/": html(), "/moment": at_first(404), "/busy": at_first(429)}
    settings = {
        "RETRY_HTTP_CODES": [404, 500],
        "FRESHNESS_FRAGMENT_FIELDS": ["text"],
        "DOWNLOADER_MIDDLEWARES": {"spider_of_test.Stubborn": 540},
    }
    paths = {"/moment": 2, "/busy": 2, "/gone": 3, "/told": 3}

    done = crawl(tmp_path, site.url(), spider=spider, until=site.seen(paths | {"/": 4}), settings=settings)

    assert {path: len(site.asked(path)) for path in ("/gone", "/told")} == {"/gone": 3, "/told": 3}
    for path in ("/moment", "/busy"):
        assert page_record(done, site.url(path)).status is PageStatus.ACTIVE
        assert [item["text"] for item in done.items_of(site.url(path))][:1] == ["here it is"]
    for path in ("/gone", "/told"):
        assert page_record(done, site.url(path)).status is PageStatus.GONE
    assert [item["status"] for item in done.items_of(site.url("/told"))] == [404]
    assert done.items_of(site.url("/gone")) == []


def test_a_busy_host_is_left_alone_as_long_as_it_asks(site: Site, tmp_path: Path) -> None:
    def busy(headers: Mapping[str, str], count: int) -> Answer:
        if count == 1:
            return Answer("busy", 503, {"Retry-After": "2"})
        if count == 2:
            now = time.time()
            dates = {"Retry-After": formatdate(now + 3, usegmt=True), "Date": formatdate(now, usegmt=True)}
            return Answer("busy", 429, dates)
        return Answer(html())

    site.pages |= {"/": busy, "/other": html()}

    urls = [site.url(), site.url("/other", host=1)]
    done = crawl(tmp_path, *urls, until=site.seen({"127.0.0.1/": 4}))

    times = [asked.at for asked in site.asked("/", host=0)]
    assert times[2] - times[1] >= 2
    assert times[3] - times[2] >= 2.9
    assert done.stat("freshness/backed_off") == 2
    assert done.stat("retry/count") == 0
    # Another host is not affected.
    assert sum(times[1] < asked.at < times[3] for asked in site.asked("/other", host=1)) > 3


def test_refusals_without_a_date_double_the_pause(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": Answer("no", 503)}

    settings = {"FRESHNESS_BACKOFF": "0.4s", "FRESHNESS_BACKOFF_MAX": "2s"}
    crawl(tmp_path, site.url(), until=site.seen({"/": 4}), settings=settings)

    times = [asked.at for asked in site.asked("/")]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    for gap, least in zip(gaps[:3], [0.4, 0.8, 1.6], strict=True):
        assert gap >= least


def test_a_host_that_does_not_answer_is_left_alone(site: Site, tmp_path: Path) -> None:
    links = [f"/{number}" for number in range(20)]
    site.pages |= {link: html() for link in links}
    site.pages |= {f"127.0.0.2{link}": Answer(close=True) for link in links}
    urls = [site.url(link, host) for link in links for host in (0, 1)]
    settings = {"FRESHNESS_BACKOFF": "1s", "FRESHNESS_BACKOFF_MAX": "1h"}

    def pauses() -> list[float]:
        times = [asked.at for asked in site.log if asked.host == "127.0.0.2"]
        return [begun for begun, ended in itertools.pairwise(times) if ended - begun >= 1.0]

    done = crawl(tmp_path / "dead", *urls, until=lambda: len(pauses()) > 1, settings=settings)

    # It takes a moment until the first visits have failed; then it is tried once after each pause.
    later = Counter(asked.host for asked in site.log if asked.at > pauses()[0])
    assert later["127.0.0.2"] < 0.1 * later["127.0.0.1"]
    assert done.stat("freshness/backed_off") >= 2
    with done.store() as store:
        (host,) = [record for record in store.load_hosts() if record.host == "127.0.0.2"]
    assert host.failures >= 2
    # A single page that is broken is no reason to leave its host alone.
    site.pages |= {"/": html("/bad", *links), "/bad": Answer("oops", 500)}
    bad = crawl(tmp_path / "bad", site.url(), until=site.seen({"/bad": 6}))
    assert bad.stat("freshness/backed_off") == 0


def test_a_temporary_redirect_belongs_to_the_page_asked_for(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/from": Answer(status=302, headers={"Location": site.url("/to", host=1)}),
        "/to": lambda headers, count: Answer(html(text=f"v{count}"), headers={"ETag": f'"{count}"'}),
    }

    done = crawl(tmp_path, site.url("/from"), until=site.seen({"/to": 4}))

    # The crawl may end on the way from the one to the other.
    assert len(site.asked("/from")) - len(site.asked("/to")) in (0, 1)
    assert not any("If-None-Match" in asked.headers for asked in site.log)
    record = page_record(done, site.url("/from"))
    assert record.status is PageStatus.ACTIVE
    assert record.etag is None
    assert record.changes == len(site.asked("/to")) - 1


def test_every_request_counts_for_the_host_that_took_it(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/loop": Answer(status=302, headers={"Location": site.url("/loop")}),
        "/down": Answer(status=500),
        "/calm": html(),
    }
    urls = [site.url("/loop"), site.url("/down"), site.url("/calm", host=1)]
    settings = {"REDIRECT_MAX_TIMES": 9, "RETRY_TIMES": 2}

    done = crawl(tmp_path, *urls, until=site.seen({"/loop": 10, "/down": 3, "/calm": 1}), settings=settings)

    with done.store() as store:
        taken = taken_by_hosts(store, *store.spiders())
    hosts = ["127.0.0.1", "127.0.0.2"]
    asked = [sum(each.host == host for each in site.log) for host in hosts]
    assert [taken[host].fetches for host in hosts] == asked
    assert taken[hosts[0]].redirects >= 9
    assert taken[hosts[0]].retries >= 2
    assert (taken[hosts[0]].fruitful, taken[hosts[1]].fruitful) == (0, 1)


def test_a_permanent_redirect_moves_the_page(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/old": lambda headers, count: (
            Answer(html(text="before"), headers={"ETag": '"old"'})
            if count == 0
            else Answer(status=301, headers={"Location": site.url("/new", host=1)})
        ),
        "/new": lambda headers, count: Answer(html(text=f"after {count}")),
    }

    done = crawl(tmp_path, site.url("/old"), until=site.seen({"/new": 4}))

    assert len(site.asked("/old")) == 2
    # The validator of the old page does not leak to the new one.
    assert "If-None-Match" in site.asked("/old")[1].headers
    assert not any("If-None-Match" in asked.headers for asked in site.asked("/new"))
    assert page_record(done, site.url("/old")).status is PageStatus.MOVED
    moved = page_record(done, site.url("/new", host=1))
    assert moved.host == "127.0.0.2"
    assert moved.status is PageStatus.ACTIVE
    assert [item["text"] for item in done.items][:2] == ["before", "after 0"]


def test_a_permanent_redirect_that_is_turned_round_brings_the_page_back(site: Site, tmp_path: Path) -> None:
    def to(path: str) -> Answer:
        return Answer(status=301, headers={"Location": path})

    def version(name: str) -> Page:
        return lambda headers, count: Answer(html(text=f"{name} {count}"))

    site.pages |= {"/": html("/a", "/itself"), "/a": to("/b"), "/b": version("b")}
    site.pages["/itself"] = lambda headers, count: Answer(html()) if count % 2 else to("/itself")
    first = crawl(tmp_path, site.url(), until=site.seen({"/itself": 5, "/b": 3}))
    assert page_record(first, site.url("/a")).status is PageStatus.MOVED
    assert len(site.asked("/a")) == 1
    # A page that redirects to itself (to set a cookie) has not moved.
    assert page_record(first, site.url("/itself")).status is PageStatus.ACTIVE

    site.pages |= {"/a": version("a"), "/b": to("/a")}
    done = crawl(tmp_path, site.url(), until=site.seen({"/a": 6}))

    assert page_record(done, site.url("/a")).status is PageStatus.ACTIVE
    assert page_record(done, site.url("/b")).status is PageStatus.MOVED
    assert done.items_of(site.url("/a"))


def test_a_page_that_moved_is_looked_at_now_and_then_without_the_spider(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/old": lambda headers, count: Answer(
            status=302 if count == 3 else 301, headers={"Location": "/new"}
        ),
        "/new": html(text="stays as it is"),
    }
    settings = {"FRESHNESS_GONE_RECHECK": "0.4s", "FRESHNESS_GONE_RECHECK_MAX": "10s"}

    done = crawl(tmp_path, site.url("/old"), until=site.seen({"/old": 5}), settings=settings)

    times = [asked.at for asked in site.asked("/old")]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    for gap, least in zip(gaps[:3], [0.4, 0.8, 1.6], strict=True):
        assert gap >= least
    # Once when it moved, and once when the redirect was for the time being: then it has a copy of its own.
    assert len(done.items) == 2
    assert done.stat("freshness/visits/moved") >= 3


def test_server_errors_are_failed_visits_with_growing_pauses(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html("/bad"), "/bad": Answer("oops", 500)}

    done = crawl(tmp_path, site.url(), until=site.seen({"/bad": 5}), settings={"RETRY_TIMES": 1})

    assert done.stat("freshness/visits/failed") >= 2
    # The crawl may end before a retry is sent: no failed visit yet.
    assert len(site.asked("/bad")) // 2 == done.stat("freshness/visits/failed")
    record = page_record(done, site.url("/bad"))
    assert record.failures == done.stat("freshness/visits/failed")
    assert record.http_status == 500


def test_byte_noise_is_not_a_change_and_binary_bodies_are_compared_whole(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/noisy": lambda headers, count: Answer(
            f"<html><!-- {count} --><script>x={count}</script><body><p data-n='{count}'>same text</p></body>"
        ),
        "/picture": lambda headers, count: Answer(
            b"\x89PNG\r\n\x1a\n" + bytes([0, min(count, 2)]), headers={"Content-Type": "image/png"}
        ),
    }

    enough = site.seen({"/noisy": 4, "/picture": 5})
    done = crawl(tmp_path, site.url("/noisy"), site.url("/picture"), until=enough)

    assert page_record(done, site.url("/noisy")).changes == 0
    assert page_record(done, site.url("/picture")).changes == 2


def test_a_permanent_redirect_to_a_denied_url_ends_the_page(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/old": Answer(status=308, headers={"Location": "/denied"}),
        "/denied": html(text="seen once"),
        "/other": html(),
    }

    urls = [site.url("/old"), site.url("/other")]
    until = site.seen({"/denied": 1, "/other": 6})
    done = crawl(tmp_path, *urls, until=until, settings={"FRESHNESS_DENY": ["denied"]})

    assert len(site.asked("/denied")) == 1
    assert [item["text"] for item in done.items_of(site.url("/denied"))] == ["seen once"]
    assert done.returncode == 0
