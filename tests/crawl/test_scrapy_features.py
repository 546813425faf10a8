"""What Scrapy offers works as ever with the add-on, and each setting of ours does what it says."""

import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from crawling import FOLLOW, Crawled, crawl, logged, start_crawl
from site_under_test import Answer, Page, Site, html

from scrapy_freshness.model import Outcome
from scrapy_freshness.storage.page_reports import find_pages, page_visits

COMPONENTS = {
    "SCHEDULER": "scrapy_freshness.crawl.scheduler.FreshnessScheduler",
    "EXTENSIONS": {"scrapy_freshness.crawl.extension.Freshness": 0},
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
        "scrapy_freshness.crawl.robots.FreshRobotsTxtMiddleware": 100,
        "scrapy_freshness.crawl.downloader.FreshnessDownloaderMiddleware": 555,
    },
    "SPIDER_MIDDLEWARES": {"scrapy_freshness.crawl.output.FreshnessSpiderMiddleware": -100},
    "ITEM_PIPELINES": {"scrapy_freshness.crawl.pipeline.FreshnessPipeline": 10},
}


def changing(*links: str) -> Page:
    """A page with another text at each visit."""
    return lambda headers, count: Answer(html(*links, text=f"version {count}"))


def visits(done: Crawled) -> list[tuple[str, Outcome]]:
    """URL and outcome of every visit in the database."""
    path = done.database_url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT url, outcome FROM visit JOIN page USING (page_id) ORDER BY visit.id"
        )
        return [(url, Outcome(outcome)) for url, outcome in rows]


def gaps(times: Iterable[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(times)]


# Ends


def test_closespider_settings_end_a_crawl_that_would_go_on_for_ever(site: Site, tmp_path: Path) -> None:
    failing = FOLLOW.replace("    yield {", '    raise RuntimeError("no")\n        yield {')
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "pagecount": ({"CLOSESPIDER_PAGECOUNT": 5}, FOLLOW),
        "itemcount": ({"CLOSESPIDER_ITEMCOUNT": 3}, FOLLOW),
        "timeout": ({"CLOSESPIDER_TIMEOUT": 2}, FOLLOW),
        "errorcount": ({"CLOSESPIDER_ERRORCOUNT": 3}, failing),
    }
    site.pages |= {f"/{name}": changing() for name in cases}
    running = {
        name: start_crawl(tmp_path / name, site.url(f"/{name}"), spider=spider, settings=settings)
        for name, (settings, spider) in cases.items()
    }
    for name, each in running.items():
        done = each.wait()

        assert done.returncode == 0
        assert done.stat("finish_reason") == f"closespider_{name}"
        assert len(visits(done)) == len(site.asked(f"/{name}")) >= (1 if name == "timeout" else 3)


def test_one_ctrl_c_ends_visits_that_are_under_way_and_writes_everything(site: Site, tmp_path: Path) -> None:
    site.pages |= {f"/{number}": Answer(html(), delay=0.3) for number in range(12)}
    urls = [site.url(f"/{number}") for number in range(12)]
    running = start_crawl(tmp_path, *urls, settings={"FRESHNESS_FLUSH_INTERVAL": "1h"})
    running.wait_until(lambda: len(site.log) > 15)
    running.interrupt()
    done = running.wait()

    assert done.returncode == 0
    assert done.stat("finish_reason") == "shutdown"
    assert "Traceback" not in done.log
    assert "ERROR" not in done.log
    assert len(visits(done)) == len(site.log)
    with done.store() as store:
        assert not store.is_locked()


def test_two_ctrl_c_do_no_harm(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html("/slow"), "/slow": Answer(html(), delay=20)}
    running = start_crawl(tmp_path, site.url())
    running.wait_until(lambda: bool(site.asked("/slow")) and len(site.asked("/")) > 3)
    running.interrupt()
    running.wait_until(lambda: "Received SIGINT" in running.log())
    time.sleep(0.1)
    running.interrupt()
    running.wait()
    site.pages["/slow"] = html()

    done = crawl(tmp_path)

    assert done.returncode == 0
    assert site.url("/slow") in {url for url, _ in visits(done)}
    with closing(sqlite3.connect(tmp_path / "freshness.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_cron_runs_visit_everything_once_and_then_what_is_due(site: Site, tmp_path: Path) -> None:
    links = [f"/{number}" for number in range(20)]
    site.pages |= {"/": html(*links), **{link: html() for link in links}}
    settings = {"FRESHNESS_MIN_INTERVAL": "1h", "FRESHNESS_BUDGET": "100/s", "FRESHNESS_SIGNALS": False}

    first = crawl(tmp_path, site.url(), settings=settings)
    assert Counter(asked.path for asked in site.log) == Counter(["/", *links])
    assert first.stat("finish_reason") == "finished"

    # A start URL is asked for by the spider, everything else has just been visited.
    second = crawl(tmp_path, site.url(), settings=settings)
    assert [asked.path for asked in site.log[21:]] == ["/"]
    assert second.stat("finish_reason") == "finished"

    with closing(sqlite3.connect(tmp_path / "freshness.db")) as connection, connection:
        connection.execute("UPDATE page SET last_visit_at = last_visit_at - 7200 WHERE url LIKE '%/1_'")
    crawl(tmp_path, site.url(), settings=settings)
    assert sorted(asked.path for asked in site.log[22:]) == sorted(["/", *links[10:]])


def test_a_cron_run_does_not_wait_for_a_host_that_wants_an_hour(site: Site, tmp_path: Path) -> None:
    links = [f"/{number}" for number in range(20)]
    site.pages |= {"/": html(*links, "/other"), "/other": html()}
    site.pages |= {link: Answer("busy", 503, {"Retry-After": "3600"}) for link in links}
    settings = {"FRESHNESS_STOP_WHEN": "idle", "FRESHNESS_BACKOFF_MAX": "1h", "FRESHNESS_BUDGET": "20/s"}

    done = start_crawl(tmp_path, site.url(), settings=settings).wait()

    assert done.stat("finish_reason") == "finished"
    # What could not be visited is known, and waits for the next run.
    with done.store() as store:
        assert store.page_count("follow") == 22
    assert len(site.log) < 22


# Politeness


@pytest.fixture(scope="module")
def polite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Crawled]]:
    """Two crawls: one with delays on hosts 1 to 3, one with AutoThrottle on hosts 4 (fast) and 5 (slow)."""
    folder = tmp_path_factory.mktemp("polite")
    links = ["/a", "/b", "/c", "/d", "/e", "/f"]
    with Site(hosts=5) as site:
        site.pages |= {"/": changing(*links), **{link: changing() for link in links}}
        site.pages |= {f"127.0.0.5{path}": Answer(html(*links), delay=0.8) for path in ["/", *links]}
        site.pages["/moved"] = Answer(status=302, headers={"Location": "/a"})
        site.pages["/flaky"] = lambda headers, count: Answer(html(), 200 if count % 2 else 500)
        delays = {
            "DOWNLOAD_DELAY": 0.25,
            "DOWNLOAD_SLOTS": {"127.0.0.2": {"delay": 0.5}, "127.0.0.3": {"delay": 0, "concurrency": 4}},
        }
        throttle = {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.1}
        both = {"DOWNLOAD_DELAY_JITTER": 0, "DOWNLOAD_HANDLERS": {"http": "spider_of_test.Stamping"}}
        urls = [site.url("/", host=host) for host in range(5)]
        others = [site.url("/moved"), site.url("/flaky")]
        delayed, throttled = (
            start_crawl(folder / name, *some, spider=STAMPING, settings={**both, **settings})
            for name, some, settings in (
                ("delays", [*urls[:3], *others], delays),
                ("auto", urls[3:], throttle),
            )
        )
        delayed.wait_until(lambda: len(sendings(site, 1)) > 12 and len(sendings(site, 2)) > 6)
        delayed.interrupt()
        throttled.wait_until(lambda: len(sendings(site, 5)) > 6)
        throttled.interrupt()
        throttled.wait()
        yield site, delayed.wait()


#: Writes on every request when it was sent: at a busy server requests arrive late, and then many at once.
STAMPING = (
    """
import time
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler

class Stamping(HTTP11DownloadHandler):
    async def download_request(self, request):
        request.headers["X-Sent-At"] = repr(time.time())
        return await super().download_request(request)
"""
    + FOLLOW
)


def sendings(site: Site, host: int) -> list[float]:
    address = f"127.0.0.{host}"
    return sorted(float(asked.headers["X-Sent-At"]) for asked in site.log if asked.host == address)


def test_download_delays_hold_between_all_requests_to_a_host(polite: tuple[Site, Crawled]) -> None:
    site, done = polite

    for host, delay in ((1, 0.25), (2, 0.5)):
        assert min(gaps(sendings(site, host))) > delay - 0.1
    assert len(sendings(site, 3)) > 2 * len(sendings(site, 1))
    assert done.stat("freshness/fetches/retry") > 0
    assert done.stat("freshness/fetches/redirect") > 0


def test_autothrottle_slows_down_for_a_slow_host(polite: tuple[Site, Crawled]) -> None:
    site, _ = polite

    assert min(gaps(sendings(site, 5)[3:])) > 0.5
    # On a busy machine no host is fast.
    assert len(sendings(site, 4)) > 1.5 * len(sendings(site, 5))


def test_robots_txt_is_obeyed_at_every_visit(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/robots.txt": "User-agent: *\nDisallow: /no",
        "/": changing("/no", "/ok"),
        "/no": html(),
        "/ok": html(),
    }
    settings = {"ROBOTSTXT_OBEY": True}

    first = crawl(tmp_path, site.url(), settings=settings, until=site.seen({"/": 4, "/ok": 4}))

    assert not site.asked("/no")
    assert len(site.asked("/robots.txt")) == first.stat("freshness/fetches/robots") == 1
    assert first.stat("freshness/fetches") == len(site.log)
    assert first.stat("freshness/visits/ignored") > 0
    with first.store() as store:
        (forbidden,) = find_pages(store, site.url("/no"))
        assert {visit.reason for visit in page_visits(store, forbidden.page_id)} == {
            "Forbidden by robots.txt"
        }

    # What is forbidden later is not visited any more; what was is looked at when its pause has ended.
    site.pages["/robots.txt"] = "User-agent: *\nDisallow: /ok"
    asked = len(site.asked("/ok"))
    crawl(tmp_path, site.url(), settings=settings, until=site.seen({"/no": 1, "/": len(site.asked("/")) + 4}))

    assert len(site.asked("/ok")) == asked
    assert site.asked("/no")


def test_no_request_overtakes_a_slow_robots_txt(site: Site, tmp_path: Path) -> None:
    site.pages["/robots.txt"] = Answer("User-agent: *\nDisallow: /no", delay=0.5)
    forbidden = [f"/no/{number}" for number in range(6)]
    site.pages |= dict.fromkeys([*forbidden, "/ok"], html())
    urls = [site.url(path) for path in (*forbidden, "/ok")]

    done = crawl(tmp_path, *urls, settings={"ROBOTSTXT_OBEY": True}, until=site.seen({"/ok": 4}))

    assert done.stat("robotstxt/forbidden") >= len(forbidden)
    assert {each.path for each in site.log} == {"/robots.txt", "/ok"}


# Filters, retries, sessions


def test_requests_that_end_before_they_are_sent_leave_no_trace_in_the_budget(
    site: Site, tmp_path: Path
) -> None:
    spider = """
    import scrapy

    class ForbiddenSpider(scrapy.Spider):
        name = "forbidden"

        def parse(self, response):
            for number in range(40):
                yield scrapy.Request(response.urljoin(f"/no/{number}"), meta={"freshness": False})
            yield response.follow("/ok")
    """
    site.pages |= {"/robots.txt": "User-agent: *\nDisallow: /no/", "/": html(), "/ok": html()}

    enough = site.seen({"/ok": 4})
    done = crawl(tmp_path, site.url(), spider=spider, until=enough, settings={"ROBOTSTXT_OBEY": True})

    assert done.stat("robotstxt/forbidden") == 40
    assert done.stat("freshness/fetches") == len(site.log)


def test_depth_limit_holds_for_links_found_at_any_visit(site: Site, tmp_path: Path) -> None:
    site.pages |= {f"/{number}": changing(f"/{number + 1}") for number in range(5)}

    crawl(tmp_path, site.url("/0"), settings={"DEPTH_LIMIT": 2}, until=site.seen({"/2": 4}))

    assert not site.asked("/3")


def test_pages_outside_allowed_domains_are_left_alone(site: Site, tmp_path: Path) -> None:
    spider = FOLLOW.replace('name = "follow"', 'name = "follow"\n    allowed_domains = DOMAINS')
    site.pages |= {
        "/": changing(site.url("/there", host=1), site.url("/far", host=2), "/moved"),
        "/there": html(),
        "/moved": Answer(status=302, headers={"Location": site.url("/far", host=2)}),
        "/far": html(),
    }

    both = spider.replace("DOMAINS", '["127.0.0.1", "127.0.0.2"]')
    # A redirect that leads away ends its visit, and is tried again later, ever more rarely.
    settings = {"FRESHNESS_GONE_RECHECK": "0.2s", "FRESHNESS_GONE_RECHECK_MAX": "0.5s"}
    crawl(tmp_path, site.url(), spider=both, until=site.seen({"/there": 3, "/moved": 3}), settings=settings)

    asked = len(site.asked("/there"))
    one = spider.replace("DOMAINS", '["127.0.0.1"]')
    enough = site.seen({"/": len(site.asked("/")) + 6, "/moved": len(site.asked("/moved")) + 2})
    done = crawl(tmp_path, site.url(), spider=one, until=enough, settings=settings)

    assert len(site.asked("/there")) == asked
    assert not site.asked("/far")
    assert done.stat("freshness/visits/ignored") > 0
    assert done.stat("freshness/visits/abandoned") <= 2  # those that were open at the end


def test_retries_belong_to_one_visit(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/heals": lambda headers, count: Answer("oops", 500) if count < 2 else Answer(html()),
        "/drops": lambda headers, count: Answer(close=True) if count < 1 else Answer(html()),
        "/never": Answer("oops", 502),
    }
    urls = [site.url("/heals"), site.url("/drops"), site.url("/never")]

    done = crawl(tmp_path, *urls, settings={"RETRY_TIMES": 2, "FRESHNESS_BACKOFF": "10s"})

    assert [len(site.asked(path)) for path in ("/heals", "/drops", "/never")] == [3, 2, 3]
    assert done.stat("retry/count") == done.stat("freshness/fetches/retry") == 5
    assert done.stat("retry/max_reached") == 1
    assert sorted(visits(done)) == sorted(
        [(urls[0], Outcome.FIRST), (urls[1], Outcome.FIRST), (urls[2], Outcome.FAILED)]
    )


def test_a_login_keeps_its_session_through_all_visits(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class LoginSpider(scrapy.Spider):
        name = "login"

        async def start(self):
            yield scrapy.FormRequest(self.site + "/login", formdata={"user": "me"}, callback=self.after_login)

        def after_login(self, response):
            yield response.follow("/private", callback=self.parse_private)

        def parse_private(self, response):
            yield {"url": response.url, "text": response.xpath("string(//p)").get()}
    """

    def private(headers: Mapping[str, str], count: int) -> Answer:
        if "session=secret" not in headers.get("Cookie", ""):
            return Answer("who are you?", 403)
        return Answer(html(text=f"secret {count}"), headers={"Set-Cookie": f"seen={count}"})

    site.pages |= {"/login": Answer(html(), headers={"Set-Cookie": "session=secret"}), "/private": private}

    enough = site.seen({"/private": 4})
    done = crawl(tmp_path, spider=spider, arguments={"site": site.url("")}, until=enough)

    assert [asked.method for asked in site.asked("/login")] == ["POST"]
    assert len(done.items) == len(site.asked("/private")) > 2
    assert {asked.status for asked in site.asked("/private")} == {200}


def test_visits_are_never_answered_by_scrapys_cache_and_its_answers_cost_no_budget(
    site: Site, tmp_path: Path
) -> None:
    spider = """
    import scrapy

    class CachedSpider(scrapy.Spider):
        name = "cached"

        def parse(self, response):
            yield {"url": response.url, "text": response.css("p::text").get()}
            for number in range(5):
                url = response.urljoin(f"/untracked/{number}")
                yield scrapy.Request(url, self.parse_other, meta={"freshness": False})
            yield scrapy.Request(self.busy, self.parse_other, meta={"freshness": False, "dont_retry": True})

        def parse_other(self, response):
            pass
    """
    site.pages |= {
        "/": changing(),
        "/busy": Answer("busy", 503),
        "/same": html(),
        "/moved": Answer(status=302, headers={"Location": "/same"}),
    }
    site.pages |= {f"/untracked/{number}": html() for number in range(5)}
    urls = [site.url(), site.url("/same"), site.url("/moved")]
    options: dict[str, Any] = {
        "spider": spider,
        "settings": {"HTTPCACHE_ENABLED": True},
        "arguments": {"busy": site.url("/busy", host=1)},
    }

    enough = site.seen({"/": 4, "/same": 6, "/moved": 3, "/busy": 1})
    first = crawl(tmp_path, *urls, until=enough, **options)
    asked = len(site.log)
    again = crawl(tmp_path, *urls, until=site.seen({"/": len(site.asked("/")) + 4}), **options)

    assert first.stat("httpcache/hit") == 0
    assert len([item for item in first.items if item["url"] == site.url()]) >= 3
    # The cache has what is not kept fresh, and what it has says nothing of how a host is now.
    assert again.stat("httpcache/hit") == 6
    assert [done.stat("freshness/backed_off") for done in (first, again)] == [1, 0]
    assert [len(site.asked(f"/untracked/{number}")) for number in range(5)] == [1] * 5
    assert first.stat("freshness/fetches") + again.stat("freshness/fetches") == len(site.log)
    assert again.stat("freshness/fetches") == len(site.log) - asked


def test_jobdir_keeps_requests_that_are_not_tracked(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class JobSpider(scrapy.Spider):
        name = "job"

        async def start(self):
            for number in range(20):
                yield scrapy.Request(self.site + f"/once/{number}", meta={"freshness": False})
                yield scrapy.Request(self.site + f"/tracked/{number}")

        def parse(self, response):
            yield {"url": response.url}
    """
    site.pages |= {f"/{kind}/{number}": html() for kind in ("once", "tracked") for number in range(20)}
    settings = {
        "JOBDIR": str(tmp_path / "job"),
        "FRESHNESS_STOP_WHEN": "idle",
        "FRESHNESS_MIN_INTERVAL": "1h",
        "FRESHNESS_SIGNALS": False,
    }
    options: dict[str, Any] = {"spider": spider, "arguments": {"site": site.url("")}}
    running = start_crawl(tmp_path, settings={**settings, "DOWNLOAD_DELAY": 0.2}, **options)
    running.wait_until(lambda: len(site.log) > 4)
    running.interrupt()
    running.wait()
    assert len(site.log) < 20

    done = crawl(tmp_path, settings=settings, **options)

    assert done.stat("finish_reason") == "finished"
    assert Counter(asked.path for asked in site.log) == Counter(list(site.pages))


@pytest.mark.parametrize("end", ["interrupt", "kill"])
def test_untracked_requests_that_were_not_sent_are_made_after_a_restart(
    site: Site, tmp_path: Path, end: str
) -> None:
    spider = """
    import scrapy

    class PostSpider(scrapy.Spider):
        name = "post"

        def parse(self, response):
            for number in range(30):
                url = response.urljoin(f"/api/{number}")
                yield scrapy.Request(url, method="POST", callback=self.parse_api)

        def parse_api(self, response):
            yield {"url": response.url}
            if response.url.endswith("/29"):  # sent first
                for number in range(10):
                    url = response.urljoin(f"/next/{number}")
                    yield scrapy.Request(url, method="POST", priority=-1, callback=self.parse_next)

        def parse_next(self, response):
            yield {"url": response.url}
    """
    first = {f"/api/{number}" for number in range(30)}
    then = {f"/next/{number}" for number in range(10)}
    site.pages |= {"/": html(), **{path: html() for path in first | then}}
    settings = {"FRESHNESS_BUDGET": "20/s"}
    running = start_crawl(tmp_path, site.url(), spider=spider, settings=settings)
    many = 32 if end == "interrupt" else 12
    running.wait_until(lambda: len({asked.path for asked in site.log}) > many)
    if end == "interrupt":
        running.interrupt()
        running.wait()
    else:
        running.kill()
    assert not {asked.path for asked in site.log} >= then

    crawl(tmp_path, site.url(), spider=spider)
    assert {asked.path for asked in site.log} == {"/", *first, *then}

    asked_before = len(site.log)
    crawl(tmp_path, site.url(), spider=spider)
    assert {asked.path for asked in site.log[asked_before:]} == {"/"}


def test_a_host_in_its_pause_does_not_hold_up_untracked_requests_of_others(
    site: Site, tmp_path: Path
) -> None:
    spider = """
    import scrapy

    class PostSpider(scrapy.Spider):
        name = "post"

        async def start(self):
            for number in range(200):
                yield scrapy.FormRequest(self.busy + f"/busy/{number}", formdata={"a": "b"}, priority=1)
            for number in range(5):
                yield scrapy.FormRequest(self.idle + f"/idle/{number}", formdata={"a": "b"})

        def parse(self, response):
            yield {"url": response.url}
    """
    busy = {f"/busy/{number}" for number in range(200)}
    site.pages |= {f"/idle/{number}": html() for number in range(5)}
    site.pages |= {path: Answer("busy", 429, {"Retry-After": "3600"}) for path in busy}
    settings = {"JOBDIR": str(tmp_path / "job")}
    options: dict[str, Any] = {
        "spider": spider,
        "arguments": {"busy": site.url(""), "idle": site.url("", host=1)},
    }
    running = start_crawl(tmp_path, settings=settings, **options)
    running.wait_until(lambda: sum(asked.path.startswith("/idle") for asked in site.log) == 5)
    running.interrupt()
    running.wait()
    assert sum(asked.path in busy for asked in site.log) < 20

    site.pages |= {path: html() for path in busy}
    asked_before = len(site.log)
    crawl(tmp_path, settings={**settings, "FRESHNESS_BACKOFF_MAX": "0.2s"}, **options)

    # Those that were put aside have been kept.
    assert {asked.path for asked in site.log[asked_before:]} == busy


# Installation


def test_switched_off_it_is_plain_scrapy(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html("/a"), "/a": html()}

    done = start_crawl(tmp_path, site.url(), settings={"FRESHNESS_ENABLED": False}).wait()

    assert done.stat("finish_reason") == "finished"
    assert len(site.log) == done.stat("scheduler/dequeued") == 2
    assert "FreshnessScheduler" not in done.log
    assert not [name for name in done.stats if name.startswith("freshness/")]
    assert not list(tmp_path.glob("*.db*"))


def test_components_can_be_listed_by_hand(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/robots.txt": "User-agent: *\nDisallow: /no", "/": changing("/a", "/no"), "/a": html()}
    by_hand = {"ADDONS": {}, "ROBOTSTXT_OBEY": True, **COMPONENTS}

    done = crawl(tmp_path / "all", site.url(), settings=by_hand, until=site.seen({"/": 4, "/a": 4}))
    off = start_crawl(tmp_path / "off", site.url(), settings={**by_hand, "FRESHNESS_ENABLED": False}).wait()

    assert done.stat("freshness/visits/changed") > 1
    assert done.stat("freshness/visits/unchanged") > 1
    assert off.stat("finish_reason") == "finished"
    assert off.stat("item_scraped_count") == 2
    assert not (tmp_path / "off" / "freshness.db").exists()
    assert site.asked("/no") == [], "robots.txt holds whether the add-on is on or off"


@pytest.mark.parametrize("component", ["SCHEDULER", "DOWNLOADER_MIDDLEWARES"])
def test_a_component_without_the_extension_says_what_is_missing(
    site: Site, tmp_path: Path, component: str
) -> None:
    site.pages |= {"/": html()}

    done = start_crawl(tmp_path, site.url(), settings={"ADDONS": {}, component: COMPONENTS[component]}).wait()

    assert "scrapy_freshness.crawl.extension.Freshness is missing from EXTENSIONS" in done.log
    assert 'ADDONS = {"scrapy_freshness.Addon": 500}' in done.log


def test_the_project_keeps_its_own_scheduler_and_places(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy
    from scrapy.core.scheduler import Scheduler

    class OwnScheduler(Scheduler):
        def enqueue_request(self, request):
            self.crawler.stats.inc_value("own/enqueued")
            return super().enqueue_request(request)

    class OwnMiddleware:
        def process_request(self, request):
            request.headers["X-Own"] = "yes"

    class OwnPipeline:
        def process_item(self, item):
            return {**item, "own": True}

    class OwnSpider(scrapy.Spider):
        name = "own"

        def parse(self, response):
            yield {"url": response.url}
            yield response.follow("/once", meta={"freshness": False})
    """
    ours = "scrapy_freshness.crawl.downloader.FreshnessDownloaderMiddleware"
    site.pages |= {"/": changing(), "/once": html()}
    settings = {
        "SCHEDULER": "spider_of_test.OwnScheduler",
        "DOWNLOADER_MIDDLEWARES": {"spider_of_test.OwnMiddleware": 1, ours: 2},
        "ITEM_PIPELINES": {"spider_of_test.OwnPipeline": 5},
    }

    enough = site.seen({"/": 4})
    done = crawl(tmp_path, site.url(), spider=spider, settings=settings, until=enough)

    assert done.stat("own/enqueued") > 1
    assert {asked.headers.get("X-Own") for asked in site.log} == {"yes"}
    assert all(item["own"] for item in done.items)
    middlewares = done.log.split("Enabled downloader middlewares:")[1].split("]")[0]
    assert middlewares.index("OwnMiddleware") < middlewares.index(ours) < middlewares.index("RetryMiddleware")


def test_spiders_that_share_a_database_keep_their_pages_apart(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html("/a"), "/a": html(), "/b": html()}
    other = FOLLOW.replace('"follow"', '"other"')
    crawl(tmp_path, site.url(), settings={"FRESHNESS_MIN_INTERVAL": "1h"})
    asked = len(site.log)

    done = crawl(tmp_path, site.url(), site.url("/b"), spider=other)

    assert sorted(each.path for each in site.log[asked:]) == ["/", "/a", "/b"]
    assert done.stat("freshness/visits/first") == 3
    with done.store() as store:
        assert (store.page_count("follow"), store.page_count("other")) == (2, 3)
        records = store.load_records(store.load_pages("follow").page_id.tolist())
    assert {record.visits for record in records} == {1}


def test_every_reactor_will_do(site: Site, tmp_path: Path) -> None:
    reactors: dict[str, tuple[str, dict[str, Any]]] = {
        "select": ("CrawlerProcess", {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}),
        "epoll": ("CrawlerProcess", {"TWISTED_REACTOR": "twisted.internet.epollreactor.EPollReactor"}),
        "deferreds": ("CrawlerProcess", {}),
        "none": ("AsyncCrawlerProcess", {"TWISTED_REACTOR_ENABLED": False}),
    }
    running = {}
    for name, (process_class, settings) in reactors.items():
        site.pages |= {
            f"/{name}/": changing("flaky", "gone"),
            # Long enough to be measured in a thread.
            f"/{name}/flaky": lambda headers, count: Answer(
                html(text="long " * 25_000), 500 if count == 0 else 200, delay=0.1
            ),
        }
        running[name] = start_crawl(
            tmp_path / name,
            site.url(f"/{name}/"),
            process_class=process_class,
            settings=settings,
        )
    for name, each in running.items():
        each.wait_until(site.seen({f"/{name}/": 5, f"/{name}/flaky": 4, f"/{name}/gone": 1}))
        each.interrupt()
        done = each.wait()

        assert done.returncode == 0
        assert done.stat("freshness/visits/changed") > 2
        assert done.stat("freshness/visits/unchanged") > 0
        assert done.stat("freshness/visits/gone") == done.stat("retry/count") == 1
        asked = [each for each in site.log if each.path.startswith(f"/{name}/")]
        # A visit whose page is with the spider, or not asked for yet, when the crawl closes is made again by
        # the next one.
        abandoned = done.stat("freshness/visits/abandoned")
        assert len(visits(done)) <= len(asked) - 1 <= len(visits(done)) + abandoned
        assert abandoned <= 1
        assert "Traceback" not in done.log


# What users can connect to, and settings


def test_signals_tell_what_became_of_pages(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy
    from scrapy_freshness.crawl import signals

    class ListeningSpider(scrapy.Spider):
        name = "listening"

        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            for name in ("changed", "unchanged", "gone"):
                handler = getattr(spider, f"on_{name}")
                crawler.signals.connect(handler, signal=getattr(signals, f"page_{name}"))
            return spider

        def on_changed(self, visit, response, spider):
            self.note("changed", visit, response, spider)

        def on_unchanged(self, visit, response, spider):
            self.note("unchanged", visit, response, spider)

        def on_gone(self, visit, response, spider):
            self.note("gone", visit, response, spider)
            raise RuntimeError("a handler that fails")

        def note(self, name, visit, response, spider):
            assert spider is self
            self.logger.info("heard %s %s %s", name, visit.url, response.status)

        def parse(self, response):
            pass
    """
    site.pages |= {"/changes": changing(), "/stays": html()}
    urls = [site.url("/changes"), site.url("/stays"), site.url("/gone")]

    enough = site.seen({"/changes": 4, "/stays": 4, "/gone": 1})
    done = crawl(tmp_path, *urls, spider=spider, until=enough)

    heard = Counter(line.split("heard ")[1] for line in done.log.splitlines() if "heard " in line)
    expected = Counter[str]()
    for url, outcome in visits(done):
        kind = {Outcome.FIRST: "changed", Outcome.UNCHANGED: "unchanged"}.get(outcome, outcome.name.lower())
        expected[f"{kind} {url} {404 if kind == 'gone' else 200}"] += 1
    assert heard == expected
    assert {line.split()[0] for line in heard} == {"changed", "unchanged", "gone"}


def test_errbacks_hear_of_failures_and_of_nothing_else(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class ErrorSpider(scrapy.Spider):
        name = "errors"
        handle_httpstatus_list = [418]

        async def start(self):
            for path in ("fine", "teapot", "missing", "broken", "dropped", "late", "noted"):
                errback = self.noted if path == "noted" else self.failed
                yield scrapy.Request(f"{self.site}/{path}", errback=errback)

        def parse(self, response):
            yield {"url": response.url, "status": response.status}

        def failed(self, failure):
            self.logger.info("failed %s %s", failure.request.url, type(failure.value).__name__)

        def noted(self, failure):
            yield {"url": failure.request.url, "status": failure.value.response.status}
            yield scrapy.Request(self.site + "/instead")
    """
    site.pages |= {
        "/fine": html(),
        "/teapot": Answer("short and stout", 418),
        "/broken": Answer("oops", 500),
        "/dropped": Answer(close=True),
        "/late": Answer(html(), delay=30),
        "/noted": Answer("no", 403),
        "/instead": html(),
    }

    seen = site.seen({"/fine": 4, "/instead": 4, "/teapot": 1, "/missing": 1, "/broken": 1, "/dropped": 1})
    late = logged(tmp_path, "DownloadTimeoutError")
    done = crawl(
        tmp_path,
        spider=spider,
        arguments={"site": site.url("")},
        settings={"RETRY_ENABLED": False, "DOWNLOAD_TIMEOUT": 2},
        until=lambda: seen() and late(),
    )

    failed = {
        tuple(line.split("failed ")[1].split()) for line in done.log.splitlines() if "failed http" in line
    }
    assert {(url.removeprefix(site.url("")), error) for url, error in failed} == {
        ("/missing", "HttpError"),
        ("/broken", "HttpError"),
        ("/dropped", "DownloadFailedError"),
        ("/late", "DownloadTimeoutError"),
    }
    assert {(item["url"].removeprefix(site.url("")), item["status"]) for item in done.items} == {
        ("/fine", 200),
        ("/teapot", 418),
        ("/noted", 403),
        ("/instead", 200),
    }


def test_asynchronous_callbacks_are_waited_for(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy
    from scrapy.utils.asyncio import sleep

    class SlowPipeline:
        async def process_item(self, item):
            await sleep(0.1)
            return item

    class AsyncSpider(scrapy.Spider):
        name = "async"
        custom_settings = {"ITEM_PIPELINES": {"spider_of_test.SlowPipeline": 100}}

        async def parse(self, response):
            await sleep(0.1)
            yield {"url": response.url, "previous": response.meta["freshness_visit"].previous_visit_at}
            yield response.follow("/coroutine", callback=self.parse_coroutine)
            await sleep(0.1)

        async def parse_coroutine(self, response):
            await sleep(0.05)
            return [{"url": response.url, "previous": None}]
    """
    site.pages |= {"/": changing(), "/coroutine": changing()}

    done = crawl(tmp_path, site.url(), spider=spider, until=site.seen({"/": 4, "/coroutine": 4}))

    for path in ("/", "/coroutine"):
        assert len(done.items_of(site.url(path))) == len(site.asked(path)) > 2
        # The next visit begins only after the pipeline has the items of the last.
        assert min(gaps(asked.at for asked in site.asked(path))) > 0.1
    previous = [item["previous"] for item in done.items_of(site.url("/"))]
    assert previous[0] is None
    assert previous[1:] == sorted(previous[1:])


FIELDS = """
import scrapy

class ShopSpider(scrapy.Spider):
    name = "shop"

    def parse(self, response):
        price, noise = response.css("b::text").get(), response.css("i::text").get()
        yield {"url": response.url, "price": price, "noise": noise}
"""


def shop(prices: list[int]) -> Page:
    """A page with a price that changes now and then, and something else that changes all the time."""
    return lambda headers, count: Answer(
        f"<b>{prices[min(count, len(prices) - 1)]}</b><i>seen {count} times</i>"
    )


def test_settings_decide_what_counts_as_a_change_and_which_items_are_emitted(
    site: Site, tmp_path: Path
) -> None:
    words = " ".join(f"word{number}" for number in range(200))
    etag = {"ETag": '"the same"'}
    site.pages |= {
        "/price": shop([5, 5, 5, 6, 6]),
        "/css": shop([5, 5, 5, 6, 6]),
        "/little": lambda headers, count: Answer(html(text=f"{words} {count}")),
        "/much": lambda headers, count: Answer(
            html(text=" ".join(f"{word}{count}" for word in words.split()))
        ),
        "/same": lambda headers, count: (
            Answer(status=304) if "If-None-Match" in headers else Answer(html(), headers=etag)
        ),
    }
    cases: dict[str, tuple[list[str], dict[str, Any]]] = {
        "fields": (["/price"], {"FRESHNESS_FRAGMENT_FIELDS": ["price"], "FRESHNESS_ITEM_FIELD": "known"}),
        "exclude": (["/css"], {"FRESHNESS_EXCLUDE_CSS": {"*": ["i"]}}),
        "include": (["/css"], {"FRESHNESS_INCLUDE_CSS": {"127.0.0.3": ["b"], "example.com": ["i"]}}),
        "divergence": (["/little", "/much"], {"FRESHNESS_MIN_DIVERGENCE": 0.5}),
        "callback": (["/same"], {"FRESHNESS_SKIP_UNCHANGED": False, "FRESHNESS_AUDIT_SHARE": 0}),
        "emit": (
            ["/same"],
            {
                "FRESHNESS_SKIP_UNCHANGED": False,
                "FRESHNESS_EMIT_UNCHANGED": True,
                "FRESHNESS_ITEM_FIELD": "known",
            },
        ),
    }
    running, enough = {}, {}
    for host, (name, (paths, settings)) in enumerate(cases.items()):
        urls = [site.url(path, host=host % 3) for path in paths]
        enough[name] = site.seen({f"127.0.0.{host % 3 + 1}{path}": 7 for path in paths})
        running[name] = start_crawl(tmp_path / name, *urls, spider=FIELDS, settings=settings)
    done = {}
    for name, each in running.items():
        each.wait_until(enough[name])
        each.interrupt()
        done[name] = each.wait()

    prices = done["fields"].items
    assert [item["price"] for item in prices] == ["5", "6"]
    assert [item["known"]["changed"] for item in prices] == [True, True]
    assert prices[0]["known"]["previous_visit_at"] is None
    assert prices[1]["known"]["previous_visit_at"] < time.time()
    assert prices[1]["known"]["divergence"] == 1
    assert done["fields"].stat("freshness/items_unchanged") > 1

    for name in ("exclude", "include"):
        assert [item["price"] for item in done[name].items] == ["5", "6"]
        assert done[name].stat("freshness/visits/unchanged") > 1

    divergence = Counter((url.rpartition("/")[2], outcome) for url, outcome in visits(done["divergence"]))
    assert divergence["little", Outcome.CHANGED] == 0
    assert divergence["little", Outcome.UNCHANGED] > 1
    assert divergence["much", Outcome.CHANGED] > 1
    assert divergence["much", Outcome.UNCHANGED] == 0

    # The callback has a page to look at, never an empty 304.
    assert done["callback"].stat("freshness/items_unchanged") > 1
    assert len(done["callback"].items) == 1
    assert len(done["emit"].items) == done["emit"].stat("freshness/fetches/page") > 2
    assert [item["known"]["changed"] for item in done["emit"].items[:3]] == [True, False, False]


# Habits of spiders and components


def test_a_copy_of_a_responses_request_is_a_request_like_any_other(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class PagingSpider(scrapy.Spider):
        name = "paging"
        handle_httpstatus_list = [403]

        def parse(self, response):
            yield response.follow("/1", callback=self.parse_list, errback=self.failed)
            yield response.follow("/forbidden", callback=self.parse_forbidden)

        def parse_list(self, response):
            yield {"url": response.url}
            number = int(response.url.rpartition("/")[2])
            yield response.request.replace(url=response.urljoin(f"/{number % 3 + 1}"))

        def parse_forbidden(self, response):
            yield response.follow("/allowed", callback=self.parse_allowed, meta=response.meta)

        def parse_allowed(self, response):
            yield {"url": response.url}

        def failed(self, failure):
            pass
    """
    site.pages |= {"/": html(), "/1": html(), "/2": html(), "/3": html(), "/allowed": html()}
    site.pages["/forbidden"] = Answer(html(), 403)

    enough = site.seen({f"/{name}": 3 for name in ("1", "2", "3", "allowed")})
    done = crawl(tmp_path, site.url(), spider=spider, until=enough)

    with done.store() as store:
        assert store.page_count("paging") == 6
    # Pages that lead to each other in a circle are not fetched in a circle.
    assert sorted(item["url"] for item in done.items) == [
        site.url(f"/{name}") for name in ("1", "2", "3", "allowed")
    ]
    assert done.stat("freshness/untracked") == done.stat("freshness/not_persistable") == 0


def test_what_a_callback_downloads_itself_is_no_part_of_the_visit(site: Site, tmp_path: Path) -> None:
    spider = """
    import copy
    import scrapy

    class InlineSpider(scrapy.Spider):
        name = "inline"

        async def parse(self, response):
            request = scrapy.Request(response.urljoin("/api"), meta=copy.deepcopy(response.meta))
            api = await self.crawler.engine.download_async(request)
            gone = scrapy.Request(response.urljoin("/gone"), meta=response.meta)
            await self.crawler.engine.download_async(gone)
            yield {"url": response.url, "api": api.status}
    """
    site.pages |= {"/": html(), "/api": changing()}

    done = crawl(tmp_path, site.url(), spider=spider, until=site.seen({"/": 5}))

    assert done.items == [{"url": site.url(), "api": 200}]
    assert [len(site.asked("/api")), len(site.asked("/gone"))] == [1, 1]
    assert done.stat("freshness/fetches/other") == 2
    assert {outcome for _, outcome in visits(done)} == {Outcome.FIRST, Outcome.UNCHANGED}


def test_one_fault_of_a_spider_is_complained_about_once(site: Site, tmp_path: Path) -> None:
    spider = """
    from functools import partial

    import scrapy

    class LambdaSpider(scrapy.Spider):
        name = "lambdas"

        def parse(self, response):
            for number in range(15):
                yield response.follow(f"/{number}", callback=lambda response, number=number: None)
            for number in range(15, 30):
                yield response.follow(f"/{number}", callback=partial(self.parse_number, number=number))

        def parse_number(self, response, number):
            pass
    """
    site.pages |= {"/": html(), **{f"/{number}": html() for number in range(30)}}

    done = crawl(tmp_path, site.url(), spider=spider)

    assert len(site.log) == 31
    assert done.stat("freshness/not_persistable") == 30
    assert done.log.count("is crawled once and not kept fresh") == 30
    (warning,) = [line for line in done.log.splitlines() if "WARNING: " in line and "not kept fresh" in line]
    assert "use cb_kwargs instead of functools.partial or lambda" in warning


def test_the_target_of_permanent_redirects_becomes_known_once(site: Site, tmp_path: Path) -> None:
    to_new = Answer(status=301, headers={"Location": "/new"})
    site.pages |= {
        "/": html("/old", "/older", "/oldest"),
        "/old": to_new,
        "/older": to_new,
        "/oldest": to_new,
        "/new": Answer(html("/new", "/old"), delay=0.05),
    }

    done = crawl(tmp_path, site.url(), until=site.seen({"/new": 8}))

    assert done.stat("freshness/flush_failed") == 0
    assert [len(site.asked(path)) for path in ("/old", "/older", "/oldest")] == [1, 1, 1]
    with done.store() as store:
        assert store.page_count("follow") == 5


def test_components_that_replace_requests_and_answers_do_not_end_visits(site: Site, tmp_path: Path) -> None:
    spider = """
    import gc
    import scrapy
    from scrapy.downloadermiddlewares.retry import get_retry_request
    from scrapy.exceptions import DropItem
    from scrapy_freshness.crawl.extension import Freshness

    class Render:
        \"\"\"Sends pages through another URL.\"\"\"

        def process_request(self, request):
            if "/page" in request.url:
                return request.replace(url=request.url.replace("/page", "/rendered"))
            if "/anew" in request.url:
                return scrapy.Request(request.url.replace("/anew", "/forgetful"))

    class Captcha:
        def __init__(self, crawler):
            self.crawler = crawler

        @classmethod
        def from_crawler(cls, crawler):
            return cls(crawler)

        def process_response(self, request, response):
            if b"captcha" not in response.body:
                return response
            return get_retry_request(request, spider=self.crawler.spider, reason="captcha") or response

    class Early:
        def process_item(self, item):
            if "2" in item["url"]:
                raise DropItem("never mind")
            return dict(item)

    class BusySpider(scrapy.Spider):
        name = "busy"

        def parse(self, response):
            yield {"url": response.url}
            yield from response.follow_all(css="a")

        def closed(self, reason):
            gc.collect()
            self.logger.info("still owned: %d", len(self.crawler.get_extension(Freshness).owners))
    """
    links = [f"/page/{number}" for number in range(4)]
    site.pages |= {"/": html(*(f"/anew/{number}" for number in range(10)), *links)}
    site.pages |= {f"/forgetful/{number}": html() for number in range(10)}
    for number in range(4):
        site.pages[f"/rendered/{number}"] = lambda headers, count: Answer(
            html(text=f"version {count}" if count % 2 else "captcha")
        )
    settings = {
        "DOWNLOADER_MIDDLEWARES": {"spider_of_test.Render": 300, "spider_of_test.Captcha": 543},
        "ITEM_PIPELINES": {"spider_of_test.Early": 5},
        "FRESHNESS_BUDGET": "100/s",
    }

    # More often than a slot has room for requests that got lost on the way.
    enough = site.seen({link.replace("page", "rendered"): 14 for link in links})
    done = crawl(tmp_path, site.url(), spider=spider, settings=settings, until=enough)

    assert not any(site.asked(link) for link in links)
    assert done.stat("freshness/fetches") == len(site.log)
    assert done.stat("freshness/visits/changed") > 16
    assert done.stat("freshness/visits/abandoned") <= 8 + 10  # a new request knows nothing of its visit
    # Items that another pipeline dropped or replaced first are not remembered.
    assert int(done.log.rpartition("still owned: ")[2].split()[0]) <= 4
