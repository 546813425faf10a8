"""A rule-driven spider: the articles of all hosts."""

from typing import Any

from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class ArticlesSpider(CrawlSpider):
    """Goes from the first front page to every other, through the lists of articles to the articles."""

    name = "articles"
    rules = (
        Rule(LinkExtractor(allow=r"^http://127\.\d+\.\d+\.\d+:\d+/$")),
        Rule(LinkExtractor(allow=r"/articles/(list/\d+/)?$")),
        Rule(LinkExtractor(allow=r"/articles/\d+$"), callback="parse_article"),
    )

    def __init__(self, site: str = "http://127.0.0.2:8800", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [f"{site.rstrip('/')}/"]

    def parse_article(self, response: Response) -> dict[str, Any]:
        """Return an article."""
        return {
            "url": response.url,
            "title": response.css("h1::text").get(),
            "text": " ".join(response.css("main p::text").getall()),
            "quotes": response.css("span.text::text").getall(),
        }
