"""The budget is a constant rate for all fetches together, and one host's slowness is nobody else's.

The long run is counted on the server's log. A busy machine delivers requests late, and then many at once, so
in short windows the times count at which the crawler let them go; a quarter more than the rate is let pass.
"""

import os
import signal
import time
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from crawling import STAMPED, STAMPING, RunningCrawl, start_crawl
from site_under_test import Answer, Asked, Site, html

from scrapy_freshness.content.measure import ContentOptions, measure_html

RATE = 20
SECONDS = 15

PAUSING = (
    STAMPING
    + """
    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.started, signal=scrapy.signals.engine_started)
        return spider

    def started(self):
        from scrapy.utils.asyncio import call_later
        call_later(3, self.crawler.engine.pause)
        call_later(6, self.crawler.engine.unpause)
"""
)


def most_in_any(window_seconds: float, times: list[float]) -> int:
    """The largest number of requests that begin within a window of time."""
    return max(bisect_right(times, start + window_seconds) - index for index, start in enumerate(times))


def fetches(site: Site, *hosts: int) -> list[Asked]:
    addresses = {f"127.0.0.{host + 1}" for host in hosts}
    return sorted((asked for asked in site.log if asked.host in addresses), key=lambda asked: asked.at)


@pytest.fixture(scope="module")
def paced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Crawls with disturbances of all kinds, each on hosts of its own, all at the same time."""
    folder = tmp_path_factory.mktemp("pace")
    links = [f"/{number}" for number in range(60)]
    with Site(hosts=6) as site:
        site.pages |= {"/": html(*links, "/moved", "/flaky"), **{link: html() for link in links}}
        site.pages |= {
            "/robots.txt": "User-agent: *\nAllow: /",
            "/moved": Answer(status=302, headers={"Location": "/1"}),
            "/flaky": lambda headers, count: Answer(html(), 500 if count % 2 else 200),
            "127.0.0.5/1": lambda headers, count: (
                Answer("busy", 503, {"Retry-After": "3"}) if count == 1 else Answer(html())
            ),
            "127.0.0.6/robots.txt": Answer("User-agent: *\nAllow: /", delay=4),
        }

        def begin(name: str, *hosts: int, spider: str = STAMPING, rate: int = RATE) -> RunningCrawl:
            settings = {
                "CLOSESPIDER_TIMEOUT": SECONDS,
                "FRESHNESS_BUDGET": f"{rate}/s",
                "FRESHNESS_BACKOFF_MAX": "3s",
                "ROBOTSTXT_OBEY": True,
                "LOG_LEVEL": "INFO",
                **STAMPED,
            }
            urls = [site.url(path, host=host) for path in ("/", *links[:5]) for host in hosts]
            return start_crawl(folder / name, *urls, spider=spider, settings=settings)

        running = [
            begin("steady", 0, 1),
            begin("paused", 2, spider=PAUSING),
            begin("refused", 4),
            begin("robots", 5, rate=2),
        ]
        stopped = begin("stopped", 3)
        stopped.wait_until(lambda: len(fetches(site, 3)) > RATE)
        os.kill(stopped.pid, signal.SIGSTOP)
        time.sleep(4)
        os.kill(stopped.pid, signal.SIGCONT)
        for each in [*running, stopped]:
            assert each.wait().returncode == 0
        yield site


def test_the_long_run_rate_is_the_budget(paced: Site) -> None:
    times = [asked.at for asked in fetches(paced, 0, 1)]
    # Not from the very beginning, when there is only a start page to fetch.
    times = [at for at in times if at > times[0] + 1]

    # A machine with more to do than it can stops a process for longer than the pace makes up for.
    stops = [gap for earlier, later in pairwise(times) if (gap := later - earlier) > 5 / RATE]
    working_seconds = times[-1] - times[0] - sum(stops)
    assert working_seconds > SECONDS / 2
    # A busy machine loses places; benchmarks/budget.py measures the rate to a per mille.
    assert 0.6 * RATE < (len(times) - 1 - len(stops)) / working_seconds <= 1.02 * RATE
    paths = {asked.path for asked in fetches(paced, 0, 1)}
    assert paths >= {"/robots.txt", "/moved", "/flaky"}


@pytest.mark.parametrize(
    ("hosts", "pause_seconds", "rate"),
    [((0, 1), 0, RATE), ((2,), 2.5, RATE), ((3,), 3, RATE), ((4,), 2.5, RATE), ((5,), 2.5, 2)],
    ids=["steady", "engine paused", "process stopped", "host backed off", "slow robots.txt"],
)
def test_no_window_has_more_fetches_than_the_budget(
    paced: Site, hosts: tuple[int, ...], pause_seconds: float, rate: int
) -> None:
    times = sorted(float(asked.headers["X-Sent-At"]) for asked in fetches(paced, *hosts))

    longest_gap = max(later - earlier for earlier, later in pairwise(times))
    assert longest_gap >= pause_seconds
    assert len(times) > rate * 5
    for window_seconds in (1, 2, 5):
        # The +1 is the fetch that opens the window.
        assert most_in_any(window_seconds, times) <= 1.25 * rate * window_seconds + 1


def test_a_long_page_does_not_stop_the_crawl_while_it_is_measured(tmp_path: Path) -> None:
    spider = """
    import time
    import scrapy
    from scrapy.utils.asyncio import create_looping_call

    class LongSpider(scrapy.Spider):
        name = "long"

        def parse(self, response):
            if not hasattr(self, "ticks"):
                self.ticks = []
                create_looping_call(lambda: self.ticks.append(time.process_time())).start(0.002)

        def closed(self, reason):
            gaps = [later - earlier for earlier, later in zip(self.ticks, self.ticks[1:])]
            self.crawler.stats.set_value("longest_gap", max(gaps))
    """
    row = "<tr><td class=a>some words {}</td><td><b style='x'>bold</b> text</td></tr>"
    body = "<table>" + "".join(row.format(number) for number in range(15_000))
    exclude = {"*": ("nav",)}
    begun = time.process_time()  # what others do on the machine is no matter
    assert measure_html(body, options=ContentOptions(max_body_chars=2_000_000, exclude=exclude)).sketch.size
    measuring_seconds = time.process_time() - begun
    with Site() as site:
        site.pages |= {"/": lambda headers, count: Answer(f"{body}{count}")}
        running = start_crawl(
            tmp_path, site.url(), spider=spider, settings={"FRESHNESS_EXCLUDE_CSS": exclude}
        )
        running.wait_until(lambda: len(site.log) == 3)
        running.interrupt()  # while it measures the third version
        done = running.wait()

    assert done.returncode == 0
    assert "Traceback" not in done.log
    assert done.stat("freshness/visits/changed") == 2
    assert done.stat("freshness/visits/abandoned") == 0
    assert done.stat("longest_gap") < measuring_seconds / 3


def test_a_slow_host_does_not_delay_a_fast_one(tmp_path: Path) -> None:
    links = {
        host: [f"/{host}/{number}" for number in range(count)]
        for host, count in (("fast", 100), ("slow", 40))
    }
    with Site(hosts=3) as site:
        slow = [site.url(link, host=host) for host in (1, 2) for link in links["slow"]]
        site.pages["/"] = html(*slow, *links["fast"])
        site.pages |= {link: html() for link in links["fast"]}
        for link in links["slow"]:
            site.pages[f"127.0.0.2{link}"] = html()
            site.pages[f"127.0.0.3{link}"] = Answer(html(), delay=600)
        settings = {
            "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
            # Not longer than the machine is up: Scrapy's first request to a host waits for that, too.
            "DOWNLOAD_SLOTS": {"127.0.0.2": {"delay": 50, "jitter": 0}},
            "FRESHNESS_BUDGET": "50/s",
            "DOWNLOAD_TIMEOUT": 600,
        }
        running = start_crawl(tmp_path, site.url(), settings=settings)
        running.wait_until(lambda: {asked.path for asked in fetches(site, 0)} >= set(links["fast"]))
        polite, sluggish = len(fetches(site, 1)), len(fetches(site, 2))
        running.kill()

    # Both were being asked all the while, as often as they can be.
    assert (polite, sluggish) == (1, 4)
