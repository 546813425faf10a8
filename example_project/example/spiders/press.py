"""A spider that reads the newspapers of the press: hubs for their links, stories once each."""

from collections.abc import Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response
from w3lib.url import url_query_cleaner


class PressSpider(Spider):
    """Follows the stories of the hubs that are known, or that are named: `-a hubs=URL,URL`."""

    name = "press"

    def __init__(self, hubs: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._hubs = [url for url in hubs.split(",") if url]

    async def start(self) -> Any:
        """Ask for the hubs."""
        for url in self._hubs:
            yield Request(url, meta={"freshness": "source"})

    def parse(self, response: Response) -> Iterator[Request]:
        """Yield the stories of a hub, without what tells one hub or reader from another."""
        for href in response.css("main a::attr(href)").re(r"^/story/.*"):
            yield response.follow(url_query_cleaner(href), callback=self.parse_story)

    def parse_story(self, response: Response) -> Iterator[dict[str, Any]]:
        """Yield what a story says."""
        yield {"url": response.url, "title": response.css("h1::text").get()}
