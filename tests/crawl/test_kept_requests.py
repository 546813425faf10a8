"""Which requests are at hand for a visit: those the spider made, or what the database knows of them."""

import pytest
from scrapy import Request, Spider

from scrapy_freshness.crawl.originals import Originals
from scrapy_freshness.crawl.requests import NotPersistableError, request_to_json


class ShopRequest(Request):
    attributes = (*Request.attributes, "shop")

    def __init__(self, url: str, *, shop: object = None, **options: object) -> None:
        super().__init__(url, **options)
        self.shop = shop


def test_a_request_is_kept_for_one_visit_and_if_there_is_room() -> None:
    first, again, other = (Request("http://a.example/") for _ in range(3))
    originals = Originals(room=1)
    originals.keep(1, first)
    originals.keep(1, again)
    originals.keep(2, other)

    assert originals.take(2) is None
    assert originals.take(1) is again
    assert originals.take(1) is None


def test_a_subclass_whose_attributes_cannot_be_kept_is_not_asked_again() -> None:
    spider = Spider(name="shop")
    kept = request_to_json(ShopRequest("http://a.example/", shop="books"), spider, ("*",))

    assert kept is not None
    assert '"shop":"books"' in kept
    with pytest.raises(NotPersistableError):
        request_to_json(ShopRequest("http://a.example/", shop=object()), spider, ("*",))
