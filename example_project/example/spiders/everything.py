"""A spider that wants it all: every page of every host."""

from collections.abc import Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor


class EverythingSpider(Spider):
    """Follows every link between the hosts of the living site, from the front page that names them all."""

    name = "everything"
    hosts = LinkExtractor(allow=r"^http://127\.\d+\.\d+\.\d+:\d+/")

    def __init__(self, site: str = "http://127.0.0.2:8800", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [f"{site.rstrip('/')}/"]

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        """Yield what a page says and the pages it links to."""
        if not isinstance(response, TextResponse):
            return
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from response.follow_all(self.hosts.extract_links(response), callback=self.parse)
