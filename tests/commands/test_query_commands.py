"""`scrapy freshness queries` and `search`: what is in the index, and what is not."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from answering import Answer
from small_web import FAST, SLOW

from scrapy_freshness.model import Batch
from scrapy_freshness.search.touched import pack_touched, unpack_touched
from scrapy_freshness.storage.store import Store


def test_terms_are_listed_by_what_is_at_risk(freshness: Callable[..., Answer]) -> None:
    answer = freshness("queries", "--spider", "news", "--json").json
    (news,) = answer["spiders"]
    by_term = {each["term"]: each for each in news["queries"]}

    assert answer["terms"] == 2
    assert (news["pages"], news["scoring"]) == (2, "tf-idf")
    assert (by_term["rain"]["results"], by_term["tokyo"]["results"]) == (2, 1)
    assert by_term["rain"]["frequency"] == pytest.approx(0.75)
    assert sum(each["quality"] for each in news["queries"]) == pytest.approx(1.0)
    assert news["at_risk"] > 0
    by_name = freshness("queries", "--sort", "term", "--json").json["spiders"][0]["queries"]
    assert [each["term"] for each in by_name] == ["rain", "tokyo"]
    told = freshness("queries").out
    assert "news: 2 terms on 2 pages, by tf-idf" in told
    assert "shop: no page was read for what searchers ask for yet." in told


def test_no_more_than_everything_is_at_risk(freshness: Callable[..., Answer], web_url: str) -> None:
    """What visits have gained may be more than searchers find of the page now."""
    with Store.open(web_url) as store:
        records = [each for each in store.load_records(range(1, 99)) if each.url in (SLOW, FAST)]
        for record in records:
            record.beliefs = {
                **record.beliefs,
                "gain_refreshes": 9.0,
                "gain_seconds": 9e4,
                "gain_sum": 9e9,
                "gain_squares": 9e18,
            }
        store.save("news", Batch(pages=records))
    (news,) = freshness("queries", "--spider", "news", "--json").json["spiders"]

    assert 0.5 < news["at_risk"] <= 1
    for each in news["queries"]:
        assert each["at_risk"] <= each["quality"] * (1 + 1e-12)


def test_a_search_finds_pages_that_have_all_terms(freshness: Callable[..., Answer]) -> None:
    both = freshness("search", "Rain, TOKYO snow", "--json").json
    one = freshness("search", "rain", "--limit", "1", "--json").json

    assert [each["url"] for each in both["results"]] == [SLOW]
    assert both["not_indexed"] == ["snow"]
    assert (one["total"], one["pages"], [each["url"] for each in one["results"]]) == (2, 2, [FAST])
    assert "Not indexed, since nobody asks for it: snow" in freshness("search", "rain snow").out
    assert "0 results" in freshness("search", "rain", "--spider", "shop").out


def test_what_cannot_be_searched_is_told_in_one_line(freshness: Callable[..., Answer]) -> None:
    for arguments, words in [
        (("search", "???"), "'???' has no words to search for"),
        (("search", ""), "'' has no words"),
        (("search", "snow"), "nobody asks for snow, so that pages were not read for it"),
        (("queries", "--spider", "nobody"), "no spider nobody is known"),
        (("search", "rain", "-s", "FRESHNESS_QUERY_SCORING=best"), "choose one of tf-idf, in-links"),
    ]:
        answer = freshness(*arguments)

        assert answer.exit_code in (1, 2)
        assert words in answer.err
        assert answer.err.count("\n") == 1


def test_the_index_is_rebuilt_and_cleared(freshness: Callable[..., Answer]) -> None:
    rebuilt = freshness("queries", "--rebuild", "--json").json["rebuilt"]

    assert {each["spider"]: (each["pages"], each["terms_found"]) for each in rebuilt} == {
        "news": (2, 2),
        "shop": (0, 0),
    }
    assert "news: 2 terms of 2 found on 2 pages, by tf-idf." in freshness("queries", "--rebuild").out
    assert freshness("queries", "--clear").out == "Forgot 2 terms.\n"
    assert "no queries are known" in freshness("queries").err
    assert freshness("show", SLOW, "--json").json["pages"][0]["searchers"] is None


def test_neither_is_done_while_a_crawl_runs(freshness: Callable[..., Answer], web_url: str) -> None:
    with Store.open(web_url) as crawl:
        crawl.lock("news")
        assert "a crawl is using database" in freshness("queries", "--clear").err
        assert freshness("queries").exit_code == 0


def test_show_tells_what_searchers_noticed(freshness: Callable[..., Answer], web_url: str) -> None:
    told = freshness("show", SLOW).out

    assert "2 terms that they ask for; the change found 60 min ago touched 1 term" in told
    assert re.search(r"^term +gain +of the change\n─+\nrain ", told, re.MULTILINE)
    assert "1 term that they ask for; no change that they would notice yet" in freshness("show", FAST).out

    with Store.open(web_url) as store:
        (record,) = (each for each in store.load_records(range(1, 99)) if each.url == SLOW)
        record.touched = pack_touched([unpack_touched(record.touched).at], *np.empty((3, 0), int))[0]
        store.save("news", Batch(pages=[record]))
    told = freshness("show", SLOW).out
    assert "the change found 60 min ago touched none of their results" in " ".join(told.split())
    assert "of the change" not in told
