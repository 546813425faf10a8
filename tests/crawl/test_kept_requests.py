"""Which requests are at hand for a visit: those the spider made, or what the database knows of them."""

import json

import pytest
from scrapy import Request, Spider

from scrapy_freshness.crawl.originals import Originals
from scrapy_freshness.crawl.requests import NotPersistableError, described_anew, request_to_json


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


def described(**kept: object) -> str:
    return json.dumps(kept, separators=(",", ":"))


def test_what_a_callback_says_last_of_a_page_replaces_all_but_its_depth_and_its_mark() -> None:
    known = described(cb_kwargs={"price": 1, "old": True}, meta={"depth": 2, "freshness": "source", "a": 1})
    said = described(callback="parse", cb_kwargs={"price": 2}, headers={"X": ["y"]}, meta={"depth": 5})

    anew = described_anew(known, said)

    assert anew is not None
    assert json.loads(anew) == {
        "callback": "parse",
        "cb_kwargs": {"price": 2},
        "headers": {"X": ["y"]},
        "meta": {"depth": 2, "freshness": "source"},
    }
    assert described_anew(anew, said) is anew
    assert described_anew(described(headers={"X": ["y"]}), described(meta={"depth": 1})) is None


@pytest.mark.parametrize(
    "known",
    [
        described(dont_filter=True, meta={"category": "news"}),
        described(meta={"category": "news", "is_start_request": True}),
        described(callback="parse_list", meta={"category": "news"}),
    ],
)
def test_links_to_start_pages_and_for_other_callbacks_say_nothing_new(known: str) -> None:
    assert described_anew(known, described(meta={"depth": 3})) is known
    assert described_anew(known, None) is known


def test_a_start_request_says_something_new() -> None:
    said = described(meta={"is_start_request": True})
    assert described_anew(described(meta={"is_start_request": True, "a": 1}), said) == said
