"""What the pages of a crawl could take is what their own intervals leave of the time."""

from dataclasses import replace

import pytest

from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.insight.reach import reach_of
from scrapy_freshness.insight.rows import columns_of, row_of
from scrapy_freshness.model import PageKind, PageRecord, PageStatus
from scrapy_freshness.planning.policy import policy_named

NOW, HOUR = 1e6, 3600.0
TERMS = Terms(
    policy=policy_named("greedy"),
    budget_per_second=1.0,
    price=1.0,
    min_interval=HOUR,
    prior={"change_rate": 1 / 2400},
    blocked_until={},
)


def pages(count: int, *, age: float | None, **fields: object) -> list[PageRecord]:
    usual = {"status": PageStatus.ACTIVE if age is not None else PageStatus.NEW, "change_rate": 1 / 2400}
    last_visit_at = None if age is None else NOW - age
    return [
        PageRecord(
            page_id=number,
            fingerprint=number,
            url=f"http://a.example/{number}",
            host="a.example",
            last_visit_at=last_visit_at,
            **{**usual, **fields},
        )
        for number in range(count)
    ]


def outlook_on(*records: PageRecord, terms: Terms = TERMS) -> Outlook:
    return Outlook(terms, columns_of([row_of(record, "news") for record in records]), NOW)


def test_each_page_takes_a_visit_in_its_shortest_interval() -> None:
    visited = (
        pages(60, age=0.5 * HOUR) + pages(30, age=2 * HOUR) + pages(10, age=2 * HOUR, pinned_seconds=4 * HOUR)
    )

    reach = reach_of(outlook_on(*visited), floor=0.0, now=NOW)

    assert reach.visits_per_second == pytest.approx((90 + 10 / 4) / HOUR)
    assert (reach.ready, reach.new) == (30, 0)


def test_what_may_not_be_visited_does_not_count() -> None:
    resting = pages(5, age=2 * HOUR, not_before=NOW + 60)
    new = pages(7, age=None) + pages(3, age=None, not_before=NOW + 60)
    others = pages(2, age=None, kind=PageKind.SITEMAP) + pages(4, age=2 * HOUR, kind=PageKind.FEED)
    gone = pages(6, age=2 * HOUR, status=PageStatus.GONE) + pages(8, age=2 * HOUR, importance=0.0)

    reach = reach_of(outlook_on(*resting, *new, *others, *gone), floor=0.0, now=NOW)

    assert (reach.ready, reach.new) == (0, 7)
    assert reach.visits_per_second == pytest.approx(5 / HOUR)


@pytest.mark.parametrize(("due", "counts"), [(5, False), (20, True)])
def test_below_a_threshold_pages_wait_for_their_value(due: int, counts: bool) -> None:
    terms = replace(TERMS, min_interval=1.0)
    outlook = outlook_on(*pages(due, age=48 * HOUR), *pages(100 - due, age=10.0), terms=terms)
    floor = float(outlook.values_after(HOUR)[0])

    reach = reach_of(outlook, floor=floor, now=NOW)

    assert reach.ready == due
    assert reach.visits_per_second == pytest.approx(100 / HOUR if counts else 0.0, rel=1e-3)
