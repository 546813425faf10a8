"""Any existing spider works unchanged, and its pages are visited again with what they need."""

from pathlib import Path

from crawling import Crawled, crawl, start_crawl
from site_under_test import Answer, Site, html

from scrapy_freshness.model import PageKind


def test_pages_that_a_spider_fetched_are_visited_again_and_again(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html("/a"), "/a": html()}

    done = crawl(tmp_path, site.url(), until=site.seen({"/": 4, "/a": 4}))

    assert done.stat("freshness/discovered") == 2


def test_unchanged_pages_do_not_reach_the_spider_again(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html()}

    done = crawl(tmp_path, site.url(), until=site.seen({"/": 4}))

    assert len(done.items) == 1
    assert done.stat("freshness/visits/unchanged") == len(site.asked("/")) - 1


def test_changed_pages_reach_the_spider_each_time(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": lambda headers, count: Answer(html(text=f"version {count} of the text"))}

    done = crawl(tmp_path, site.url(), until=site.seen({"/": 4}))

    assert len(done.items) > 2
    assert {item["text"] for item in done.items} == {
        f"version {count} of the text" for count in range(len(done.items))
    }
    assert [item["changed"] for item in done.items] == [True] * len(done.items)


def test_a_link_that_appears_later_is_followed(site: Site, tmp_path: Path) -> None:
    site.pages |= {
        "/": lambda headers, count: Answer(html(*["/new"] * (count > 1), text=f"{count}")),
        "/new": html(),
    }

    done = crawl(tmp_path, site.url(), until=site.seen({"/new": 1}))

    assert done.items_of(site.url("/new"))


def test_revisits_have_callback_cb_kwargs_and_meta_after_a_restart(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class DetailSpider(scrapy.Spider):
        name = "detail"

        def parse(self, response):
            yield scrapy.Request(
                response.urljoin("/detail"), self.parse_detail, headers={"X-Asked": "politely"},
                cb_kwargs={"shelf": 3}, meta={"colour": "red", "depth": 7},
            )

        def parse_detail(self, response, shelf):
            yield {"url": response.url, "shelf": shelf, "colour": response.meta["colour"],
                   "depth": response.meta["depth"]}
    """
    site.pages |= {
        "/": html(),
        "/detail": lambda headers, count: Answer(html(text=f"version {count}")),
    }
    first = crawl(tmp_path, site.url(), spider=spider)
    assert len(first.items) == 1

    # The second run never yields the page: its start URL is another one.
    site.pages["/other"] = Answer("nothing", 404)
    enough = site.seen({"/detail": 4, "/other": 1})
    second = crawl(tmp_path, site.url("/other"), spider=spider, until=enough)

    assert len(second.items) > 1
    # One Scrapy counts from the request that the spider yields, so the stored depth is one more.
    assert {(item["shelf"], item["colour"]) for item in second.items} == {(3, "red")}
    assert len({item["depth"] for item in second.items}) == 1
    assert {asked.headers.get("X-Asked") for asked in site.asked("/detail")} == {"politely"}


def test_revisits_are_made_as_the_spider_has_asked_last(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class DetailSpider(scrapy.Spider):
        name = "detail"

        def parse(self, response):
            yield response.follow("/detail", self.parse_detail, headers={"X-Token": "old"})
            yield response.follow("/", self.parse_detail)

        def parse_detail(self, response):
            yield {"url": response.url}
    """
    changed = spider.replace(
        'headers={"X-Token": "old"}', 'headers={"X-Token": "new"}, cb_kwargs={"shelf": 3}'
    ).replace("self, response):\n            yield {", "self, response, shelf):\n            yield {")
    assert "response, shelf" in changed
    site.pages |= {path: lambda headers, count: Answer(html(text=f"{count}")) for path in ("/", "/detail")}
    crawl(tmp_path, site.url(), spider=spider, until=site.seen({"/": 2, "/detail": 2}))
    site.log.clear()

    done = crawl(tmp_path, site.url(), spider=changed, until=site.seen({"/": 3, "/detail": 5}))

    tokens = [asked.headers["X-Token"] for asked in site.asked("/detail")]
    assert tokens == sorted(tokens, reverse=True)
    assert tokens.count("new") >= 3
    assert len(done.items_of(site.url("/"))) == 0, "a link to the start page makes another callback's of it"


def test_known_pages_follow_what_spider_and_settings_say_of_them_later(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class ListSpider(scrapy.Spider):
        name = "list"
        meta = {}

        async def start(self):
            yield scrapy.Request(self.start_urls[0], meta=self.meta, dont_filter=True)

        def parse(self, response):
            yield response.follow("/item")
            yield response.follow("/kept", meta={"freshness": True})
    """
    marked = spider.replace("meta = {}", 'meta = {"freshness": "source"}')
    pages = ("/", "/item", "/kept")
    site.pages |= {path: lambda headers, count: Answer(html(text=f"{count}")) for path in pages}
    crawl(tmp_path, site.url(), spider=spider, until=site.seen({"/item": 2, "/kept": 2}))

    def kinds(done: Crawled) -> dict[str, PageKind]:
        with done.store() as store:
            records = store.load_records(store.load_pages("list").page_id.tolist())
        return {record.url.removeprefix(site.url("")): record.kind for record in records}

    site.log.clear()
    deny = {"FRESHNESS_DENY": ["/item", "/kept"]}
    denied = crawl(
        tmp_path, site.url(), spider=marked, settings=deny, until=site.seen({"/": 5, "/item": 1, "/kept": 5})
    )
    assert len(site.asked("/item")) == 1, "it is crawled once, as all that is not tracked"
    assert denied.stat("freshness/visits/ignored") >= 1
    assert "/item and perhaps others that are known are not visited: FRESHNESS_DENY" in denied.log
    assert kinds(denied) == {"/": PageKind.SOURCE, "/item": PageKind.PAGE, "/kept": PageKind.PAGE}

    site.log.clear()
    allowed = crawl(tmp_path, site.url(), spider=spider, until=site.seen({"/": 2, "/item": 3}))
    assert kinds(allowed)["/"] is PageKind.PAGE


def test_the_first_visit_is_made_with_the_very_request_that_the_spider_made(
    site: Site, tmp_path: Path
) -> None:
    spider = """
    import scrapy

    class ShopRequest(scrapy.Request):
        attributes = (*scrapy.Request.attributes, "shop")

        def __init__(self, *args, shop=None, **kwargs):
            super().__init__(*args, **kwargs)
            self.shop = shop

    class ShopSpider(scrapy.Spider):
        name = "shop"

        def parse(self, response):
            meta = {"_shelf": 3, "colour": "red"}
            self.made = ShopRequest(response.urljoin("/detail"), self.parse_detail, meta=meta, shop="books")
            self.made.note = "not copied by Scrapy, either"
            yield self.made

        def parse_detail(self, response):
            request, meta = response.request, response.meta
            yield {"url": response.url, "is_very": request is self.made, "shop": request.shop,
                   "shelf": meta.get("_shelf"), "colour": meta.get("colour")}
    """
    site.pages |= {"/": html(), "/detail": lambda headers, count: Answer(html(text=f"version {count}"))}
    some = {"FRESHNESS_META_KEYS": ["_shelf"]}

    enough = site.seen({"/detail": 4})
    done = crawl(tmp_path, site.url(), spider=spider, until=enough, settings=some)

    first, *later = [(item["is_very"], item["shop"], item["shelf"], item["colour"]) for item in done.items]
    assert first == (True, "books", 3, "red")
    assert len(later) > 1
    assert set(later) == {(False, "books", 3, None)}


def test_requests_that_are_not_pages_keep_their_ordinary_ways(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class MixedSpider(scrapy.Spider):
        name = "mixed"

        async def start(self):
            yield scrapy.Request(self.start_urls[0] + "again", dont_filter=True, callback=self.seen)
            yield scrapy.Request(self.start_urls[0] + "post", method="POST", body="x=1", callback=self.seen)
            yield scrapy.Request(self.start_urls[0] + "off", meta={"freshness": False}, callback=self.seen)
            yield scrapy.Request(self.start_urls[0] + "lambda", callback=lambda response: self.seen(response))
            yield scrapy.Request(self.start_urls[0] + "denied", callback=self.seen)
            yield scrapy.Request(self.start_urls[0] + "hooked", callback=self.seen)
            yield scrapy.Request(self.start_urls[0] + "kept", callback=self.seen)

        def freshness_track(self, request):
            return False if "hooked" in request.url else None

        def seen(self, response):
            yield {"url": response.url}
    """
    names = ["again", "post", "off", "lambda", "denied", "hooked", "kept"]
    site.pages |= {f"/{name}": html() for name in names}
    # The start request of "again" is tracked like any start request; to be left alone it says so.
    done = crawl(
        tmp_path,
        site.url(),
        spider=spider.replace("dont_filter=True,", 'dont_filter=True, meta={"freshness": False},'),
        settings={"FRESHNESS_DENY": ["/denied$"]},
        until=site.seen({**{f"/{name}": 1 for name in names}, "/kept": 6}),
    )

    assert {item["url"] for item in done.items} == {site.url(f"/{name}") for name in names}
    assert {name for name in names if len(site.asked(f"/{name}")) > 1} == {"kept"}
    assert done.stat("freshness/not_persistable") == 1
    assert "is crawled once and not kept fresh" in done.log


def test_a_spider_that_filters_nothing_fetches_what_it_yields(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class PollSpider(scrapy.Spider):
        name = "poll"
        custom_settings = {"FRESHNESS_DENY": ["."]}

        def parse(self, response):
            if response.meta.get("round", 0) < 3:
                meta = {"round": response.meta.get("round", 0) + 1}
                yield response.request.replace(dont_filter=True, meta=meta)
            else:
                yield {"url": response.url}
    """
    site.pages |= {"/": html()}

    done = crawl(tmp_path, site.url(), spider=spider)

    assert len(site.asked("/")) == 4
    assert len(done.items) == 1


def test_crawl_spiders_keep_their_rules(site: Site, tmp_path: Path) -> None:
    spider = """
    from scrapy.linkextractors import LinkExtractor
    from scrapy.spiders import CrawlSpider, Rule

    class RuledSpider(CrawlSpider):
        name = "ruled"
        rules = [Rule(LinkExtractor(allow="/item"), callback="parse_item")]

        def parse_item(self, response):
            yield {"url": response.url, "link_text": response.meta["link_text"]}
    """
    site.pages |= {
        "/": html("/item1", "/other"),
        "/item1": lambda headers, count: Answer(html(text=f"v{count}")),
    }

    done = crawl(tmp_path, site.url(), spider=spider, until=site.seen({"/item1": 4}))

    assert len(done.items_of(site.url("/item1"))) > 1
    assert {item["link_text"] for item in done.items} == {"a link"}
    assert not site.asked("/other")


def test_meta_copied_from_a_response_does_not_confuse_visits(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class CopySpider(scrapy.Spider):
        name = "copy"

        def parse(self, response):
            yield {"url": response.url}
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link, meta=response.meta)
    """
    site.pages |= {"/": html("/a", "/b"), "/a": html(), "/b": html()}

    done = crawl(tmp_path, site.url(), spider=spider)

    assert sorted(item["url"] for item in done.items) == [site.url("/"), site.url("/a"), site.url("/b")]
    assert done.stat("freshness/visits/first") == 3


def test_a_callback_that_raises_sees_its_page_again(site: Site, tmp_path: Path) -> None:
    spider = """
    import pathlib
    import scrapy

    class ShakySpider(scrapy.Spider):
        name = "shaky"

        def parse(self, response):
            marker = pathlib.Path("failed-once")
            if not marker.exists():
                marker.touch()
                raise RuntimeError("on a bad day")
            yield {"url": response.url}
    """
    site.pages |= {"/": html()}

    done = crawl(tmp_path, site.url(), spider=spider, until=site.seen({"/": 5}))

    assert done.stat("freshness/callback_failed") == 1
    assert len(done.items) == 1


def test_an_item_that_a_pipeline_fails_on_is_made_again(site: Site, tmp_path: Path) -> None:
    spider = """
    import pathlib
    import scrapy

    class Store:
        def process_item(self, item):
            marker = pathlib.Path("failed-once")
            if not marker.exists():
                marker.touch()
                raise OSError("the shop's database is down")
            return item

    class ShopSpider(scrapy.Spider):
        name = "shop"
        custom_settings = {"ITEM_PIPELINES": {"spider_of_test.Store": 300}}

        def parse(self, response):
            yield {"url": response.url}
    """
    site.pages |= {"/": html()}

    done = crawl(tmp_path, site.url(), spider=spider, until=site.seen({"/": 5}))

    assert done.stat("freshness/callback_failed") == 1
    assert len(done.items) == 1
    assert done.stat("freshness/visits/unchanged") > 1


def test_a_callback_that_is_gone_suspends_its_pages(site: Site, tmp_path: Path) -> None:
    spider = """
    import scrapy

    class OldSpider(scrapy.Spider):
        name = "same"

        def parse(self, response):
            yield response.follow("/detail", callback=self.parse_detail)

        def parse_detail(self, response):
            yield {"url": response.url, "by": "parse_detail"}
    """
    site.pages |= {"/": html(), "/detail": lambda headers, count: Answer(html(text=f"v{count}"))}
    crawl(tmp_path, site.url(), spider=spider)

    renamed = spider.replace("parse_detail", "parse_page")
    # Another text, so that the callback runs; late, so that the stored page comes first.
    site.pages["/"] = Answer(html(text="another text"), delay=0.5)
    done = crawl(tmp_path, site.url(), spider=renamed, until=site.seen({"/detail": 4}))

    assert done.stat("freshness/callback_missing") == 1
    assert "waits until the spider yields it again" in done.log
    assert [item["by"] for item in done.items[1:]] == ["parse_page"] * (len(done.items) - 1)
    assert len(done.items) > 1


def test_a_renamed_spider_is_told_how_to_take_over_its_pages(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html()}
    crawl(tmp_path, site.url())

    from crawling import FOLLOW

    done = crawl(tmp_path, site.url(), spider=FOLLOW.replace('"follow"', '"followed"'))

    assert "scrapy freshness db adopt" in done.log


def test_a_killed_crawl_goes_on_where_it_was(site: Site, tmp_path: Path) -> None:
    links = [f"/{number}" for number in range(30)]
    site.pages |= {"/": html(*links), **{link: html() for link in links}}
    running = start_crawl(tmp_path, site.url(), settings={"FRESHNESS_BUDGET": "10/s"})
    running.wait_until(lambda: len(site.log) > 10)
    running.kill()

    site.pages["/never-yields"] = html()
    done = crawl(tmp_path, site.url("/never-yields"), settings={"FRESHNESS_SIGNALS": False})

    assert {asked.path for asked in site.log} >= set(links)
    with done.store() as store:
        assert store.page_count("follow") == 32


def test_a_crawl_that_tracks_nothing_ends_by_itself(site: Site, tmp_path: Path) -> None:
    site.pages |= {"/": html("/a"), "/a": html()}

    done = start_crawl(tmp_path, site.url(), settings={"FRESHNESS_DENY": ["."]}).wait()

    assert {item["url"] for item in done.items} == {site.url(), site.url("/a")}
    assert done.returncode == 0
