"""What the commands that ask something of a crawl have in common."""

from collections.abc import Iterable

from scrapy_freshness.commands.context import Context
from scrapy_freshness.commands.lookup import pages_of
from scrapy_freshness.insight.human import count, safe
from scrapy_freshness.storage.inspection import crawling
from scrapy_freshness.storage.page_reports import PageReport
from scrapy_freshness.storage.store import Store


def pages_meant(store: Store, urls: Iterable[str]) -> list[PageReport]:
    """The pages of some URLs, of every spider, each once; all of them must be known."""
    found = {page.page_id: page for url in urls for page in pages_of(store, url)}
    return list(found.values())


def print_wish(
    context: Context, store: Store, pages: list[PageReport], how: str, **more: float | None
) -> None:
    """Tell what was asked for, and who is there to grant it."""
    running = crawling(store)
    if context.as_json:
        wished = [
            {"url": page.url, "spider": page.spider, "running": page.spider in running} for page in pages
        ]
        context.print_json({**more, "pages": wished})
        return
    for spider in sorted({page.spider for page in pages}):
        own = [page.url for page in pages if page.spider == spider]
        named = own[0] if len(own) == 1 else count(len(own), "page")
        then = "the crawl is told" if spider in running else "as soon as the spider crawls again"
        context.say(f"{safe(named)} is to be {how} by {safe(spider)}: {then}.")
