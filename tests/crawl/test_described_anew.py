"""What is kept of a known page when the spider asks for it once more."""

import json

import pytest

from scrapy_freshness.crawl.requests import described_anew


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
