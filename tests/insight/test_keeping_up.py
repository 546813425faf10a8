"""The question of whether a crawl keeps up has an answer in every situation."""

from typing import Any

import pytest

from scrapy_freshness.insight.keeping_up import Standing, verdict
from scrapy_freshness.insight.spending import Spending

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
        "due_hosts": 2,
        "freshness": 0.9,
        "uniform_freshness": 0.7,
        "spent": spent(0.98),
        "delay_seconds": 0.0,
        "blocked_hosts": 0,
        "has_threshold": False,
    }
    return Standing(**{**usual, **fields})


def spent(share: float, budget: float = 1.0, seconds: float = 3600.0) -> Spending:
    return Spending(
        fetches=round(share * budget * seconds),
        seconds=seconds,
        budget_per_second=budget,
        is_since_start=seconds < 3600,
    )


@pytest.mark.parametrize(
    ("fields", "level", "headline"),
    [
        ({}, "good", "The crawl is keeping up"),
        ({"is_running": False}, "bad", "The crawl is not running"),
        ({"is_running": False, "updated_at": None}, "bad", "The crawl is not running"),
        ({"pages": 0, "freshness": None}, "busy", "Nothing has been fetched yet"),
        ({"never_fetched": 200}, "busy", "Still getting to know the site"),
        ({"due": 300, "spent": spent(0.6)}, "bad", "Its hosts hold the crawl up"),
        ({"due": 300, "spent": spent(0.2, seconds=60.0)}, "busy", "It is catching up"),
        ({"due": 300}, "busy", "It is catching up"),
        ({"due": 300, "spent": spent(0.98, budget=100.0)}, "good", "The crawl is keeping up"),
        ({"spent": spent(0.1)}, "good", "The crawl is keeping up"),
        ({"freshness": 0.6}, "busy", "Visiting page after page in turn would do better"),
        ({"freshness": 0.69}, "busy", "Pages change faster than this crawl can follow"),
    ],
)
def test_the_answer(fields: dict[str, Any], level: str, headline: str) -> None:
    answer = verdict(standing(**fields), NOW)

    assert (answer.level, answer.headline) == (level, headline)
    assert ("still current" in " ".join(answer.sentences)) == (fields.get("freshness", 0.9) is not None)
    has_settled = headline not in (
        "The crawl is not running",
        "Nothing has been fetched yet",
        "Still getting to know the site",
    )
    assert ("in turn, with as many visits, would give 70 %" in " ".join(answer.sentences)) == has_settled


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"delay_seconds": 1.0}, "DOWNLOAD_DELAY lets each host be asked only once every 1 s."),
        ({"blocked_hosts": 2}, "2 hosts in back-off after refusals."),
        ({}, "hosts answer slowly, or too few requests may run at once (CONCURRENT_REQUESTS)."),
    ],
)
def test_why_fewer_fetches_are_made_than_the_budget_allows(fields: dict[str, Any], cause: str) -> None:
    """The crawl of a new user: a delay of 1 s, 167 pages due, and less fresh than visiting in turn."""
    crawl = standing(
        pages=800,
        due=167,
        due_hosts=18,
        freshness=0.607,
        uniform_freshness=0.6,
        spent=spent(0.69, 20.0),
        **fields,
    )

    answer = verdict(crawl, NOW)

    assert answer.sentences[:3] == [
        "Only 69 % of the budget of 20/s was spent in the last hour, so a larger budget would not help:",
        cause,
        "167 of 800 pages are due now, on 18 hosts.",
    ]


@pytest.mark.parametrize("due", [0, 43, 100, 250])
def test_the_answer_does_not_follow_the_number_of_pages_due_at_a_moment(due: int) -> None:
    """A crawl at its hosts' delays: every few seconds, others of its pages are due."""
    crawl = standing(pages=540, due=due, freshness=0.65, uniform_freshness=0.66, spent=spent(0.53, 20.0))

    assert verdict(crawl, NOW).headline == "Its hosts hold the crawl up"


def test_a_threshold_leaves_budget_over() -> None:
    crawl = standing(freshness=0.75, spent=spent(0.3), has_threshold=True)

    answer = verdict(crawl, NOW)

    assert answer.headline == "Pages change faster than this crawl can follow"
    assert answer.sentences[0].startswith("No other page is worth a visit yet")


def test_a_crawl_that_needs_less_than_its_budget_says_so() -> None:
    answer = verdict(standing(spent=spent(0.1, seconds=600.0)), NOW)

    assert answer.sentences[0] == (
        "No other page is worth a visit yet: 10 % of the budget of 1/s was spent since the start 10 min ago."
    )
