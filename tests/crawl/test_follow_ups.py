"""What a callback asks for beside pages (a price, by POST) is asked for at each visit that it sees."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from crawling import crawl
from site_under_test import Answer, Site, html

SPIDER = """
import scrapy

class PriceSpider(scrapy.Spider):
    name = "price"

    def parse(self, response):
        for _ in range(2):  # the same twice
            url = response.urljoin("/price")
            yield scrapy.FormRequest(url, formdata={"of": "it"}, callback=self.parse_price)
        yield response.follow("/once", callback=self.parse_once, meta={"freshness": False})

    def parse_price(self, response):
        yield {"url": response.url}
        yield scrapy.FormRequest(response.urljoin("/stock"), formdata={"of": "it"}, callback=self.parse_stock)

    def parse_stock(self, response):
        # Back to where it came from: no visit goes round in a circle.
        yield scrapy.FormRequest(response.urljoin("/price"), formdata={"of": "it"}, callback=self.parse_price)

    def parse_once(self, response):
        pass
"""


@pytest.mark.parametrize("settings", [{}, {"JOBDIR": "job"}], ids=["memory", "disk"])
def test_follow_ups_are_sent_once_for_each_visit_that_the_spider_sees(
    site: Site, tmp_path: Path, settings: dict[str, Any]
) -> None:
    site.pages |= {"/": lambda headers, count: Answer(html(text=f"version {count}"))}
    site.pages |= dict.fromkeys(["/price", "/stock", "/once"], html())

    enough = site.seen({"/": 6, "/stock": 5})
    done = crawl(tmp_path, site.url(), spider=SPIDER, settings=settings, until=enough)

    asked = Counter(each.path for each in site.log)
    seen = done.stat("freshness/visits/first") + done.stat("freshness/visits/changed")
    assert 5 <= seen <= asked["/"]
    for path in ("/price", "/stock"):
        assert seen - 1 <= asked[path] <= asked["/"]  # the last may end with the crawl
    assert asked["/once"] == 1
    assert done.stat("dupefilter/filtered") >= 3 * (seen - 2)


@pytest.mark.parametrize("settings", [{}, {"JOBDIR": "job"}], ids=["memory", "disk"])
def test_a_follow_up_that_waits_is_not_asked_for_again(
    site: Site, tmp_path: Path, settings: dict[str, Any]
) -> None:
    spider = SPIDER.replace('response.urljoin("/price")', "self.shop")
    site.pages |= {
        "/": lambda headers, count: Answer(html(text=f"version {count}")),
        "/price": lambda headers, count: (
            Answer("busy", 503, {"Retry-After": "2"}) if count == 0 else Answer(html())
        ),
        "/once": html(),
        "/stock": html(),
    }
    arguments = {"shop": site.url("/price", host=1), "start_urls": [site.url()]}
    settings = settings | {"FRESHNESS_BACKOFF_MAX": "2s", "RETRY_ENABLED": False}

    done = crawl(
        tmp_path, spider=spider, arguments=arguments, settings=settings, until=site.seen({"/price": 3})
    )

    first, second = site.asked("/price")[:2]
    meanwhile = [each for each in site.asked("/") if first.at < each.at < second.at]
    assert len(meanwhile) > 3
    assert len(site.asked("/price")) < len(meanwhile)
    assert done.returncode == 0


@pytest.mark.parametrize("settings", [{}, {"JOBDIR": "job"}], ids=["memory", "disk"])
def test_what_a_follow_up_redirects_to_is_its_answer_at_every_visit(
    site: Site, tmp_path: Path, settings: dict[str, Any]
) -> None:
    spider = SPIDER.replace('"/once"', '"/sheet"').replace(', meta={"freshness": False}', "")
    site.pages |= {
        "/": lambda headers, count: Answer(html(text=f"version {count}")),
        "/price": Answer(status=302, headers={"Location": site.url("/sheet")}),
        "/sheet": html(),
        "/stock": html(),
    }

    enough = site.seen({"/": 6, "/stock": 4})
    done = crawl(tmp_path, site.url(), spider=spider, settings=settings, until=enough)

    assert len(done.items_of(site.url("/sheet"))) >= len(site.asked("/stock")) >= 4
    assert done.stat("freshness/fetches") == len(site.log)
    with done.store() as store:
        assert store.page_count("price") == 2


def test_a_login_that_redirects_to_a_known_page_reaches_its_callback(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class LoginSpider(scrapy.Spider):
        name = "login"

        async def start(self):
            yield scrapy.FormRequest(self.site + "/login", formdata={"user": "me"}, callback=self.logged_in)

        def logged_in(self, response):
            yield {"url": response.url, "by": "login"}
            yield response.follow("/home", self.parse_home, meta=response.meta)

        def parse_home(self, response):
            yield {"url": response.url, "by": "page"}
    """
    site.pages |= {"/login": Answer(status=302, headers={"Location": "/home"}), "/home": html()}

    for times in (1, 2):
        enough = site.seen({"/home": 4 * times, "/login": times})
        done = crawl(tmp_path, spider=spider, arguments={"site": site.url("")}, until=enough)
        assert [item["by"] for item in done.items].count("login") == times

    assert [item["by"] for item in done.items].count("page") == 1
