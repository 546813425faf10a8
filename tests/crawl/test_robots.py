"""robots.txt is read again and again, by whoever the project wants to read it."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from crawling import FOLLOW, crawl, start_crawl
from site_under_test import Answer, Page, Site, html

SCRAPYS_ROBOTS = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
OUR_ROBOTS = "scrapy_freshness.crawl.robots.FreshRobotsTxtMiddleware"
OWN_ROBOTS = """
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware

class OwnRobots(RobotsTxtMiddleware):
    pass
"""


def changing(*links: str) -> Page:
    """A page with another text at each visit."""
    return lambda headers, count: Answer(html(*links, text=f"version {count}"))


def test_what_changes_in_robots_txt_is_obeyed(site: Site, tmp_path: Path) -> None:
    """What it forbids later is left alone, a sitemap named later is found; each reading is a fetch."""
    site.pages |= {"/robots.txt": "User-agent: *\nAllow: /", "/": changing("/later"), "/later": changing()}
    running = start_crawl(
        tmp_path, site.url(), settings={"ROBOTSTXT_OBEY": True, "FRESHNESS_ROBOTS_MAX_AGE": "0.5s"}
    )
    running.wait_until(site.seen({"/": 4, "/later": 4}))

    site.pages["/robots.txt"] = f"User-agent: *\nDisallow: /later\nSitemap: {site.url('/map.xml')}"
    running.wait_until(site.seen({"/robots.txt": len(site.asked("/robots.txt")) + 2}))
    asked = len(site.asked("/later"))
    running.wait_until(site.seen({"/": len(site.asked("/")) + 10, "/map.xml": 1}))
    running.interrupt()
    done = running.wait()

    assert len(site.asked("/later")) == asked
    assert done.stat("freshness/fetches/robots") == len(site.asked("/robots.txt"))
    assert done.stat("freshness/fetches") == len(site.log)


def test_robots_txt_holds_while_it_cannot_be_read_again(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/robots.txt": "User-agent: *\nDisallow: /no",
        "/": changing("/no"),
        "/no": html(),
    }
    settings = {
        "ROBOTSTXT_OBEY": True,
        "RETRY_ENABLED": False,
        "FRESHNESS_ROBOTS_MAX_AGE": "0.3s",
        "FRESHNESS_GONE_RECHECK": "0.1s",
        "FRESHNESS_GONE_RECHECK_MAX": "0.1s",
    }
    running = start_crawl(tmp_path, site.url(), settings=settings)
    running.wait_until(site.seen({"/": 3}))
    for trouble in (Answer("oops", 500), Answer(close=True)):
        site.pages["/robots.txt"] = trouble
        running.wait_until(site.seen({"/robots.txt": len(site.asked("/robots.txt")) + 3}))
    assert not site.asked("/no")

    site.pages["/robots.txt"] = Answer("none", 404)
    running.wait_until(site.seen({"/no": 1}))
    running.interrupt()
    running.wait()


def test_a_robots_txt_that_could_not_be_read_at_first_is_read_later(site: Site, tmp_path: Path) -> None:
    def robots(headers: Mapping[str, str], count: int) -> Answer:
        return Answer(close=True) if count == 0 else Answer("User-agent: *\nDisallow: /no")

    site.pages |= {"/robots.txt": robots, "/": changing("/no"), "/no": changing()}
    settings = {"ROBOTSTXT_OBEY": True, "RETRY_ENABLED": False, "FRESHNESS_ROBOTS_MAX_AGE": "0.5s"}

    running = start_crawl(tmp_path, site.url(), settings=settings)
    running.wait_until(site.seen({"/robots.txt": 2}))
    running.wait_until(site.seen({"/": len(site.asked("/")) + 2}))
    asked = len(site.asked("/no"))
    running.wait_until(site.seen({"/": len(site.asked("/")) + 10}))
    running.interrupt()
    running.wait()

    assert len(site.asked("/no")) == asked


@pytest.mark.parametrize("reactor", ["asyncioreactor.AsyncioSelectorReactor", "selectreactor.SelectReactor"])
def test_many_requests_wait_for_one_reading(site: Site, tmp_path: Path, reactor: str) -> None:
    """Some reactors let them go on before the reading has quite ended."""
    pages = [f"/{number}" for number in range(6)]
    robots = Answer("User-agent: *\nDisallow: /no", delay=0.4)
    site.pages |= {"/robots.txt": robots, **{path: changing() for path in pages}}
    settings = {
        "ROBOTSTXT_OBEY": True,
        "FRESHNESS_ROBOTS_MAX_AGE": "0.3s",
        "TWISTED_REACTOR": f"twisted.internet.{reactor}",
    }

    done = crawl(
        tmp_path,
        *[site.url(path) for path in [*pages, "/no"]],
        settings=settings,
        process_class="CrawlerProcess",
        until=site.seen({"/robots.txt": 4, **dict.fromkeys(pages, 4)}),
    )

    assert "Traceback" not in done.log
    assert done.stat("freshness/visits/failed") == 0
    assert not site.asked("/no")


@pytest.mark.parametrize(
    ("middlewares", "expected"),
    [
        ({}, OUR_ROBOTS),
        ({SCRAPYS_ROBOTS: 150}, OUR_ROBOTS),
        ({SCRAPYS_ROBOTS: None}, ""),
        ({SCRAPYS_ROBOTS: None, "spider_of_test.OwnRobots": 100}, "spider_of_test.OwnRobots"),
        ({SCRAPYS_ROBOTS: None, OUR_ROBOTS: 120}, OUR_ROBOTS),
    ],
)
def test_the_project_keeps_its_own_reader_of_robots_txt(
    site: Site, tmp_path: Path, middlewares: dict[str, int | None], expected: str
) -> None:
    site.pages |= {"/": html()}
    settings = {"ROBOTSTXT_OBEY": True, "DOWNLOADER_MIDDLEWARES": middlewares}

    done = crawl(tmp_path, site.url(), spider=OWN_ROBOTS + FOLLOW, settings=settings)

    enabled = done.log.split("Enabled downloader middlewares:")[1].split("]")[0]
    assert re.findall(r"'([^']*Robots[^']*)'", enabled) == [expected] * bool(expected)
    assert len(site.asked("/robots.txt")) == bool(expected)
