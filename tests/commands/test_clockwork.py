"""Pages that change by the clock, as `scrapy freshness show` tells it."""

from collections.abc import Callable

import numpy as np
import pytest
from answering import Answer
from small_web import HOUR, NOW, page

from scrapy_freshness.insight.clockwork import hourly_changes
from scrapy_freshness.model import Batch, Outcome, VisitRecord
from scrapy_freshness.storage.store import Store

DAY = 24 * HOUR
NEWS = "http://a.example/news"


def visits_of(changes: np.ndarray, *, every: float, days: int, page_id: int = 1) -> list[VisitRecord]:
    """Visits at a constant distance to a page that changes at these times."""
    start = NOW - days * DAY
    times = np.arange(start, NOW, every)
    found = np.histogram(changes, times)[0] > 0
    outcomes = [Outcome.FIRST, *np.where(found, Outcome.CHANGED, Outcome.UNCHANGED).tolist()]
    return [
        VisitRecord(page_id=page_id, at=float(at), outcome=Outcome(outcome))
        for at, outcome in zip(times, outcomes, strict=True)
    ]


def changes_at(hour: float, days: int) -> np.ndarray:
    midnight = (NOW - days * DAY) // DAY * DAY
    return midnight + np.arange(days + 1) * DAY + hour * HOUR


def test_a_page_that_changes_every_morning_is_found_out() -> None:
    hourly = hourly_changes(visits_of(changes_at(6.5, 40), every=3 * HOUR, days=40))

    assert hourly is not None
    assert len(hourly) == 24
    assert np.mean(hourly) == pytest.approx(1)
    assert 5 <= int(np.argmax(hourly)) <= 8


def test_changes_at_random_have_no_hours() -> None:
    rng = np.random.default_rng(1)
    found = [
        hourly_changes(visits_of(np.sort(rng.uniform(NOW - 40 * DAY, NOW, 60)), every=3 * HOUR, days=40))
        for _ in range(20)
    ]

    assert found.count(None) >= 19


@pytest.mark.parametrize(("every", "days"), [(3 * HOUR, 3), (DAY, 60)])
def test_few_visits_or_rare_ones_tell_nothing(every: float, days: int) -> None:
    assert hourly_changes(visits_of(changes_at(6.5, days), every=every, days=days)) is None


def test_no_visits_tell_nothing() -> None:
    assert hourly_changes([]) is None


def test_people_are_told_the_hours(freshness: Callable[..., Answer], web_url: str) -> None:
    record = page(NEWS, 60 * DAY, HOUR, page_id=77)
    visits = visits_of(changes_at(6.5, 40), every=3 * HOUR, days=40, page_id=77)
    with Store.open(web_url) as store:
        store.save("news", Batch(pages=[record], visits=visits))

    assert "of the changes come from" in freshness("show", NEWS).out
    (shown,) = freshness("show", NEWS, "--json").json["pages"]
    assert len(shown["hourly_changes"]) == 24
    assert len(shown["log"]) == 20
