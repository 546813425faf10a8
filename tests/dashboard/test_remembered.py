"""Answers that take long are remembered; who has no time goes without."""

from collections.abc import Iterator
from threading import Event

import pytest

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.dashboard.remembered import Remembered


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000.0)


@pytest.fixture
def remembered(clock: ManualClock) -> Iterator[Remembered]:
    remembered = Remembered(clock, lambda: 0.0)
    yield remembered
    remembered.close()


def test_who_has_no_time_has_the_answer_when_it_is_there(remembered: Remembered) -> None:
    may_go_on = Event()

    def slow() -> int:
        may_go_on.wait()
        return 7

    at_first = remembered.soon("budgets", slow, patience=0.01)
    may_go_on.set()
    waited_for = remembered.answer("budgets", slow)

    assert (at_first, waited_for, remembered.soon("budgets", slow, patience=0.0)) == (None, 7, 7)


def test_who_has_no_patience_begins_nothing(remembered: Remembered) -> None:
    asked: list[int] = []

    assert remembered.soon("price", lambda: asked.append(1), patience=0.0) is None
    assert remembered.answer("budgets", lambda: 7) == 7, "all that is made, is made one after the other"
    assert asked == []


def test_an_answer_that_takes_a_moment_is_given_at_once(remembered: Remembered) -> None:
    assert remembered.soon("budgets", lambda: 7, patience=60.0) == 7


def test_an_answer_is_given_again_for_a_while(remembered: Remembered, clock: ManualClock) -> None:
    before = remembered.answer("price", lambda: 1), remembered.answer("price", lambda: 2)
    clock.advance(100.0)

    assert (before, remembered.last("price"), remembered.last("budgets")) == ((1, 1), 1, None)
    assert remembered.answer("price", lambda: 3) == 3


def test_what_is_begun_is_there_when_it_is_asked_for(remembered: Remembered) -> None:
    remembered.begin("price", lambda: 1)

    assert remembered.answer("price", lambda: 2) == 1
