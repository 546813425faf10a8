"""The question of whether a crawl keeps up has an answer in every situation."""

from typing import Any

import pytest

from scrapy_freshness.insight.keeping_up import Standing, verdict

NOW = 100_000.0


def standing(**fields: Any) -> Standing:
    usual: dict[str, Any] = {
        "spider": "news",
        "is_running": True,
        "updated_at": NOW - 1,
        "started_at": NOW - 9000,
        "pages": 1000,
        "never_fetched": 0,
        "due": 3,
        "freshness": 0.9,
        "uniform_freshness": 0.7,
        "budget_per_second": 1.0,
        "budget_used": 0.98,
        "blocked_hosts": 0,
    }
    return Standing(**{**usual, **fields})


@pytest.mark.parametrize(
    ("fields", "level", "headline"),
    [
        ({}, "good", "The crawl is keeping up"),
        ({"is_running": False}, "bad", "The crawl is not running"),
        ({"is_running": False, "updated_at": None}, "bad", "The crawl is not running"),
        ({"pages": 0, "freshness": None}, "busy", "Nothing has been fetched yet"),
        ({"never_fetched": 200}, "busy", "Still getting to know the site"),
        ({"due": 300, "budget_used": 0.2}, "bad", "Something holds the crawl up"),
        ({"due": 300, "budget_used": 0.2, "started_at": NOW - 60}, "busy", "It is catching up"),
        ({"due": 300}, "busy", "It is catching up"),
        ({"due": 300, "budget_per_second": 100.0}, "good", "The crawl is keeping up"),
    ],
)
def test_the_answer(fields: dict[str, Any], level: str, headline: str) -> None:
    answer = verdict(standing(**fields), NOW)

    assert (answer.level, answer.headline) == (level, headline)
    assert ("90 %" in " ".join(answer.sentences)) == (fields.get("freshness", 0.9) is not None)
    has_settled = headline not in (
        "The crawl is not running",
        "Nothing has been fetched yet",
        "Still getting to know the site",
    )
    assert ("70 %" in " ".join(answer.sentences)) == has_settled
