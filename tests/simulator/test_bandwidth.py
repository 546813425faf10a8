"""Rates that change: every crawl that they allow is made, at its time, by all policies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.bandwidth import Bandwidth
from scrapy_freshness.simulator.changing import ChangingWeb, numbered
from scrapy_freshness.simulator.contest import Contest, enter
from scrapy_freshness.simulator.instances import drawn_events, drawn_instance
from scrapy_freshness.simulator.run import ticks_at

changes = st.lists(st.tuples(st.floats(0.5, 20), st.floats(0, 30)), min_size=1, max_size=6)


def of_steps(steps: list[tuple[float, float]]) -> Bandwidth:
    times = np.cumsum([0.0] + [length for length, _ in steps[:-1]])
    return Bandwidth(tuple(zip(times.tolist(), [rate for _, rate in steps], strict=True)))


@given(steps=changes, end=st.floats(1, 100))
def test_the_number_of_crawls_is_the_area_under_the_rate(
    steps: list[tuple[float, float]], end: float
) -> None:
    bandwidth = of_steps(steps)
    ticks = bandwidth.ticks(0.0, end)
    area = bandwidth.mean(0.0, end) * end

    assert area - 1 - 1e-6 <= len(ticks) <= area + 1e-6
    assert np.all(np.diff(ticks) > 0)
    assert np.all((ticks > 0) & (ticks <= end * (1 + 1e-9)))
    # Up to each tick, the area is a whole number.
    for number, tick in enumerate(ticks[:50].tolist(), 1):
        assert bandwidth.mean(0.0, tick) * tick == pytest.approx(number)


@given(rate=st.floats(0.1, 50), start=st.floats(0, 1e6), length=st.floats(1, 50))
def test_a_constant_rate_is_that_of_a_crawl(rate: float, start: float, length: float) -> None:
    ticks = Bandwidth(((start, rate),)).ticks(start, start + length)

    assert ticks == pytest.approx(ticks_at(rate, start, start + length))


def test_another_unit_of_time_changes_nothing() -> None:
    bandwidth = Bandwidth(((0.0, 5.0), (3.0, 1.0)))

    assert bandwidth.scaled(60.0).ticks(0.0, 600.0) == pytest.approx(60 * bandwidth.ticks(0.0, 10.0))


@pytest.mark.parametrize("bad", [(), ((0.0, 1.0), (0.0, 2.0)), ((5.0, 1.0), (1.0, 2.0)), ((0.0, -1.0),)])
def test_rates_that_make_no_sense_are_refused(bad: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ConfigError):
        Bandwidth(bad)


@pytest.mark.parametrize("policy", ["greedy", "lds", "uniform"])
def test_a_higher_rate_makes_fresher_at_once_and_a_lower_one_staler(policy: str) -> None:
    rng = np.random.default_rng(3)
    instance = drawn_instance(80, "none", rng)
    web = ChangingWeb(drawn_events(instance, 120.0, rng).changes, numbered(instance.importance))
    contest = Contest(
        web=web,
        fetches_per_second=20.0,
        start=0.0,
        end=120.0,
        truth=instance.beliefs,
        bandwidth=Bandwidth(((0.0, 10.0), (40.0, 40.0), (80.0, 10.0))),
    )
    fetches = enter(contest, policy)

    low, high, again = (
        web.freshness(fetches, begin, begin + 25.0, first_copy_at=0.0) for begin in (15.0, 55.0, 95.0)
    )
    assert len(fetches) == contest.fetches == 40 * 60
    assert high > low + 0.1
    assert high > again + 0.1
