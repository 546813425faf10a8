"""A visit is lost only if nothing is left of it, and then nothing of it comes later."""

import textwrap
from pathlib import Path

from crawling import FOLLOW, crawl
from site_under_test import Answer, Site, html

#: What takes an hour elsewhere takes half a second here.
SOON = textwrap.dedent("""
    from scrapy_freshness.crawl import extension, visiting

    extension._HOUSEKEEPING_SECONDS = 0.1
    visiting._LOST_SECONDS = 0.5
""")


def test_a_visit_that_waits_for_its_host_is_not_lost(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/busy": Answer("busy", 503, {"Retry-After": "3"}),
        "/moved": Answer(status=302, headers={"Location": site.url("/target", host=1)}, delay=0.5),
        "/target": html(),
    }
    settings = {"FRESHNESS_BACKOFF_MAX": "3s", "FRESHNESS_MIN_INTERVAL": "1h"}

    urls = [site.url("/busy", host=1), site.url("/moved")]
    done = crawl(tmp_path, *urls, spider=SOON + FOLLOW, settings=settings, until=site.seen({"/target": 1}))

    assert site.asked("/target")[0].at - site.asked("/busy")[0].at > 2
    assert done.stat("freshness/visits/lost") == 0
    assert done.stat("freshness/visits/first") == len(done.items_of(site.url("/target", host=1))) == 1
    assert len(site.asked("/moved")) == len(site.asked("/target")) == 1


def test_a_visit_whose_items_are_in_a_slow_pipeline_is_not_lost(site: Site, tmp_path: Path) -> None:
    spider = SOON + textwrap.dedent("""
    import asyncio

    class SlowPipeline:
        async def process_item(self, item):
            await asyncio.sleep(2)
            return item
    """)
    site.pages |= {"/": html()}
    settings = {"ITEM_PIPELINES": {"spider_of_test.SlowPipeline": 300}, "FRESHNESS_MIN_INTERVAL": "1s"}

    done = crawl(tmp_path, site.url(), spider=spider + FOLLOW, settings=settings, until=site.seen({"/": 2}))

    assert done.stat("freshness/visits/lost") == done.stat("freshness/visits/failed") == 0
    assert done.stat("freshness/visits/first") == len(done.items) == 1


#: A spider middleware that lets no item pass.
THIEF = textwrap.dedent("""
    class Thief:
        def process_spider_output(self, response, result):
            return []

        async def process_spider_output_async(self, response, result):
            async for each in result:
                if not isinstance(each, dict):
                    yield each
""")


def test_a_visit_whose_items_a_spider_middleware_drops_is_not_lost(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": lambda headers, count: Answer(html(text=f"version {count}"))}
    settings = {"SPIDER_MIDDLEWARES": {"spider_of_test.Thief": 0}}

    spider = SOON + THIEF + FOLLOW
    done = crawl(tmp_path, site.url(), spider=spider, settings=settings, until=site.seen({"/": 4}))

    assert done.items == []
    assert done.stat("freshness/visits/lost") == done.stat("freshness/visits/failed") == 0
    assert done.stat("freshness/visits/changed") >= 2


def test_nothing_is_kept_of_visits_that_are_lost(site: Site, tmp_path: Path) -> None:
    spider = SOON + "import gc\n" + THIEF
    closing = """
    def closed(self, reason):
        gc.collect()
        kept = [each for each in gc.get_objects() if type(each) is visiting.PageVisit]
        self.logger.info("visits kept: %d", len(kept))
    """
    site.pages |= {"/": lambda headers, count: Answer(html(text=f"version {count}"))}
    settings = {"SPIDER_MIDDLEWARES": {"spider_of_test.Thief": -1000}}

    done = crawl(
        tmp_path, site.url(), spider=spider + FOLLOW + closing, settings=settings, until=site.seen({"/": 4})
    )

    assert done.stat("freshness/visits/lost") >= 3
    assert done.stat("freshness/visits/failed") == done.stat("freshness/visits/lost")
    assert int(done.log.split("visits kept: ")[1].split()[0]) <= 1


def test_a_visit_whose_end_raised_is_closed_later(site: Site, tmp_path: Path) -> None:
    spider = SOON + textwrap.dedent("""
    import itertools
    from scrapy_freshness.crawl.searchers import Searchers

    measure, turns = Searchers.measure, itertools.count()

    def failing(searchers, page, report):
        if next(turns) < 2:  # when the item is done, and when the callback is
            raise RuntimeError("a report that nobody has thought of")
        measure(searchers, page, report)

    Searchers.measure = failing
    """)
    site.pages |= {"/": html()}

    done = crawl(tmp_path, site.url(), spider=spider + FOLLOW, until=site.seen({"/": 3}))

    assert done.stat("freshness/visits/lost") == done.stat("freshness/visits/failed") == 1
