"""Waste is told with what it consists of, and what could be done about it."""

import pytest

from scrapy_freshness.insight.waste import Waste


@pytest.mark.parametrize(
    ("redirects", "retries", "advice"),
    [
        (336, 10, "FRESHNESS_DENY"),
        (20, 10, "price of looking"),
        (20, 300, "RETRY_TIMES"),
        (0, 0, "price of looking"),
    ],
)
def test_the_largest_kind_of_waste_has_an_advice(redirects: int, retries: int, advice: str) -> None:
    assert advice in Waste(fetches=686, wasted=486, redirects=redirects, retries=retries).advice


@pytest.mark.parametrize(
    ("wasted", "redirects", "retries", "parts"),
    [
        (5, 0, 0, ""),
        (5, 5, 0, "5 followed redirects"),
        (5, 2, 0, "2 followed redirects, and 3 failed or found nothing new"),
        (5, 4, 3, "4 followed redirects, and 1 tried again"),
        (0, 3, 0, ""),
    ],
)
def test_the_parts_make_up_the_whole(wasted: int, redirects: int, retries: int, parts: str) -> None:
    assert Waste(fetches=9, wasted=wasted, redirects=redirects, retries=retries).parts == parts


def test_waste_without_redirects_and_retries_may_be_failures() -> None:
    waste = Waste(fetches=9, wasted=5, redirects=0, retries=0)

    assert (waste.parts, "failed" in waste.advice) == ("", True)


def test_nothing_is_wasted_without_fetches() -> None:
    waste = Waste(fetches=0, wasted=0, redirects=0, retries=0)

    assert waste.in_all == "Of 0 fetches so far, 0 % brought nothing new"
    assert waste.parts_in_shares == ""
