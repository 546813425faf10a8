"""The spider of Scrapy's tutorial: one item for each quote, from page to page."""

from collections.abc import Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response


class QuotesSpider(Spider):
    """Follows the "next" links of a host's pages of quotes."""

    name = "quotes"

    def __init__(self, site: str = "http://127.0.0.2:8800", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [f"{site.rstrip('/')}/quotes/page/1/"]

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        """Yield the quotes of a page, then the next page."""
        for quote in response.css("div.quote"):
            yield {
                "text": quote.css("span.text::text").get(),
                "author": quote.css("small.author::text").get(),
                "tags": quote.css("span.tags b::text").getall(),
            }
        next_page = response.css("li.next a::attr(href)").get()
        if next_page is not None:
            yield response.follow(next_page, callback=self.parse)
