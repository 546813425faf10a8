"""Which requests are at hand for a visit: those the spider made, or what the database knows of them."""

import pytest
from scrapy import Request, Spider

from scrapy_freshness.crawl.originals import Originals
from scrapy_freshness.crawl.requests import (
    NotPersistableError,
    moved_request,
    request_from_json,
    request_to_json,
)
from scrapy_freshness.model import UNSEEN


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


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        ("http://a.example/new", {"Cookie", "Authorization", "cookies"}),
        ("http://a.example:80/new", {"Cookie", "Authorization", "cookies"}),
        ("http://a.example:8000/", {"Cookie", "cookies"}),
        ("https://a.example/", {"Cookie", "cookies"}),
        ("http://b.example/", set()),
        ("https://www.a.example/", set()),
    ],
)
def test_secrets_are_kept_for_the_server_that_they_are_meant_for(target: str, kept: set[str]) -> None:
    spider = Spider(name="shop")
    headers = {"Authorization": "Bearer 1", "Cookie": "a=b", "Accept-Language": "de"}
    request = Request("http://a.example/", headers=headers, cookies={"sid": "1"})
    text = request_to_json(request, spider, ())

    moved = request_from_json(target, moved_request(text, request.url, target), spider)

    secrets = {name for name in ("Authorization", "Cookie") if name in moved.headers}
    assert secrets | ({"cookies"} if moved.cookies else set()) == kept
    assert moved.headers["Accept-Language"] == b"de"


def test_what_is_no_secret_moves_as_it_is() -> None:
    assert moved_request(None, "http://a.example/", "http://b.example/") is None
    assert moved_request(UNSEEN, "http://a.example/", "http://b.example/") == UNSEEN
