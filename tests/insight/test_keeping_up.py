"""The question of whether a crawl keeps up has an answer in every situation."""

from typing import Any

import pytest

from scrapy_freshness.insight.keeping_up import Compared, Standing, is_held_up, verdict
from scrapy_freshness.insight.reach import Reach
from scrapy_freshness.insight.spending import Spending
from scrapy_freshness.insight.what_if import Prospect
from scrapy_freshness.storage.live_reports import FreshnessPoint

NOW = 100_000.0
#: Pages that could take any number of visits, and pages that are visited as often as they may be.
LIMITLESS = Reach(visits_per_second=1000.0, ready=900, new=0)
SATED = Reach(visits_per_second=0.1, ready=5, new=0)
SATED_PAGES = Reach(visits_per_second=100 / 3600, ready=2, new=0)
NOTHING_READY = Reach(visits_per_second=0.5, ready=0, new=0)
BEHIND = Compared(freshness=0.6, uniform_freshness=0.7)


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
        "compared": Compared(freshness=0.8, uniform_freshness=0.7),
        "spent": spent(0.98),
        "delay_seconds": 0.0,
        "blocked_hosts": 0,
        "reach": LIMITLESS,
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
        ({"spent": spent(0.1), "reach": SATED}, "good", "The crawl is keeping up"),
        (
            {"freshness": 0.6, "spent": spent(0.1), "reach": SATED},
            "busy",
            "Pages change faster than this crawl can follow",
        ),
        ({"compared": BEHIND}, "busy", "Visiting page after page in turn would do better"),
        ({"freshness": 0.5}, "busy", "Pages change faster than this crawl can follow"),
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
        ({"delay_seconds": 1.0}, "each host is asked only once every 1 s (DOWNLOAD_DELAY, AutoThrottle)."),
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
        compared=Compared(freshness=0.607, uniform_freshness=0.6),
        spent=spent(0.69, 20.0),
        **fields,
    )

    answer = verdict(crawl, NOW)

    assert answer.sentences[:3] == [
        "Only 69 % of the budget of 20/s was spent in the last hour, so a larger budget would not help:",
        cause,
        "167 of 800 pages are due now, on 18 hosts.",
    ]


def prospects(*freshness: float, in_turn: float = 0.5) -> list[Prospect]:
    """At a quarter of the budget, a half, all of it, twice and four times as much."""
    return [
        Prospect(budget_per_second=factor, freshness=each, uniform_freshness=in_turn)
        for factor, each in zip((0.25, 0.5, 1.0, 2.0, 4.0), freshness, strict=True)
    ]


@pytest.mark.parametrize(
    ("found", "remedy"),
    [
        (
            prospects(0.5, 0.6, 0.7, 0.81, 0.9),
            'FRESHNESS_BUDGET = "2/s": about 81 % would be expected in the long run',
        ),
        (
            prospects(0.5, 0.6, 0.7, 0.75, 0.79),
            'FRESHNESS_BUDGET = "2/s": about 75 % would be expected in the long run, with 4/s about 79 %',
        ),
    ],
)
def test_larger_budgets_are_named_up_to_the_first_that_keeps_copies_fresh(
    found: list[Prospect], remedy: str
) -> None:
    answer = verdict(standing(freshness=0.69, prospects=found), NOW)

    assert answer.remedy is not None
    assert f"{answer.remedy.setting}: {answer.remedy.outcome}" == remedy
    assert "last chart" not in " ".join(answer.sentences), "the remedy says so"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"freshness": 0.5, "is_running": False},
        {"freshness": 0.5, "due": 300, "spent": spent(0.5)},
        {"freshness": 0.5, "spent": spent(0.1), "reach": SATED},
        {"freshness": 0.6, "compared": BEHIND},
    ],
)
def test_a_larger_budget_is_named_only_where_it_helps(fields: dict[str, Any]) -> None:
    assert verdict(standing(prospects=prospects(0.5, 0.6, 0.7, 0.8, 0.9), **fields), NOW).remedy is None


def test_a_crawl_that_is_level_with_visiting_in_turn_says_so() -> None:
    answer = verdict(standing(compared=Compared(freshness=0.71, uniform_freshness=0.72)), NOW)

    assert answer.sentences[0] == "It spends its budget of 1/s."
    assert answer.sentences[-1] == (
        "Visiting page after page in turn, with as many visits, would do about as well: 72 %; "
        "the crawl had 71 % in the last hour."
    )


def test_before_there_are_means_to_compare_it_is_told_by_expectation() -> None:
    found = prospects(0.5, 0.6, 0.7, 0.8, 0.9, in_turn=0.685)
    level = verdict(standing(freshness=0.69, compared=None, prospects=found), NOW)
    ahead = verdict(
        standing(freshness=0.69, compared=None, prospects=prospects(0.5, 0.6, 0.7, 0.8, 0.9)), NOW
    )

    assert level.sentences[-1] == (
        "Visiting page after page in turn would do about as well in the long run: 68.5 %, beside 70 %."
    )
    assert ahead.sentences[0] == "It spends 1/s where that is worth most."


@pytest.mark.parametrize("due", [0, 43, 100, 250])
def test_the_answer_does_not_follow_the_number_of_pages_due_at_a_moment(due: int) -> None:
    """A crawl at its hosts' delays: every few seconds, others of its pages are due."""
    crawl = standing(pages=540, due=due, freshness=0.65, spent=spent(0.53, 20.0))

    assert verdict(crawl, NOW).headline == "Its hosts hold the crawl up"


@pytest.mark.parametrize(
    ("share", "reach", "held_up"),
    [
        (0.5, LIMITLESS, True),
        (0.95, LIMITLESS, False),
        (0.1, SATED, False),
        (0.05, SATED, True),
        (0.05, Reach(visits_per_second=0.1, ready=0, new=0), False),  # all at once, not long ago
        (0.05, Reach(visits_per_second=0.0, ready=0, new=900), True),
        (0.05, Reach(visits_per_second=0.0, ready=0, new=9), False),
    ],
)
def test_hosts_hold_up_what_the_pages_could_take(share: float, reach: Reach, held_up: bool) -> None:
    assert is_held_up(spent(share), reach) == held_up


def test_nobody_blames_the_hosts_for_the_shortest_interval_of_pages() -> None:
    """100 pages that change every 40 minutes, FRESHNESS_MIN_INTERVAL of an hour, a budget of 1/s."""
    crawl = standing(pages=100, due=0, freshness=0.52, spent=spent(0.028), reach=SATED_PAGES)

    answer = verdict(crawl, NOW)

    assert answer.level == "busy"
    assert answer.sentences[0] == (
        "Pages are visited as often as FRESHNESS_MIN_INTERVAL and pins allow: "
        "2.8 % of the budget of 1/s was spent in the last hour."
    )
    assert "larger budget" not in " ".join(answer.sentences)


def test_hosts_that_take_no_more_do_no_harm_to_fresh_copies() -> None:
    answer = verdict(standing(spent=spent(0.6)), NOW)

    assert answer.level == "good"
    assert answer.sentences[0].startswith("Its hosts take no more: 60 % of the budget")


def test_a_threshold_leaves_budget_over() -> None:
    below = Reach(visits_per_second=0.0, ready=3, new=0)

    answer = verdict(standing(freshness=0.75, spent=spent(0.3), reach=below), NOW)

    assert answer.headline == "Pages change faster than this crawl can follow"
    assert answer.sentences[0].startswith("No other page is worth a visit yet")


def test_a_crawl_that_needs_less_than_its_budget_says_so() -> None:
    answer = verdict(standing(spent=spent(0.1, seconds=600.0), reach=NOTHING_READY), NOW)

    assert answer.sentences[0] == (
        "No other page is worth a visit yet: 10 % of the budget of 1/s was spent since the start 10 min ago."
    )


def test_a_burst_is_no_reason_to_visit_in_turn() -> None:
    """The copies are less fresh for some minutes than visiting in turn would have them in the long run."""
    minutes = [
        FreshnessPoint(
            at=60.0 * minute, freshness=0.6 if minute > 50 else 0.9, uniform_freshness=0.8, price=1.0
        )
        for minute in range(60)
    ]
    found = Compared.over(minutes)
    assert found == Compared(freshness=pytest.approx(0.855), uniform_freshness=pytest.approx(0.8))

    answer = verdict(standing(freshness=0.6, compared=found), NOW)

    assert answer.headline == "Pages change faster than this crawl can follow"
    assert "would give 80 %; the crawl had 85.5 % in the last hour." in answer.sentences[-1]


def test_a_few_minutes_are_not_compared() -> None:
    minute = FreshnessPoint(at=0.0, freshness=0.5, uniform_freshness=0.8, price=1.0)

    assert Compared.over([minute] * 29) is None
    assert Compared.over([minute] * 30) is not None


@pytest.mark.parametrize(("span", "words"), [(3600, "hour"), (86400, "day"), (600, "10 min")])
def test_the_time_that_is_counted_is_named(span: float, words: str) -> None:
    spending = Spending(
        fetches=1, seconds=span - 30, budget_per_second=1.0, is_since_start=False, span=float(span)
    )

    assert spending.when == f"in the last {words}"
