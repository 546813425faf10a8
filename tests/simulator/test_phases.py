"""Contests that begin at several times, and policies that have one price instead of a rate."""

import numpy as np
import pytest
from drawn_records import DAY, poisson_hub, poisson_web

from scrapy_freshness.config import Config
from scrapy_freshness.planning.policy import POLICY_NAMES
from scrapy_freshness.simulator.contest import takes_price
from scrapy_freshness.simulator.phases import at_phases, together
from scrapy_freshness.simulator.recorded import web_of
from scrapy_freshness.simulator.replay import Outcome, Replay, learning

PER_DAY = 8.0


@pytest.fixture(scope="module")
def replay() -> Replay:
    return Replay.of(poisson_web([0.05] * 6 + [2.0] * 6, 40.0, seed=3))


def run(replay: Replay) -> Outcome:
    return replay.run("fixed", PER_DAY / DAY)


def test_one_phase_is_the_contest_itself(replay: Replay) -> None:
    assert at_phases(replay, PER_DAY / DAY, 1, run).measures == run(replay).measures


def test_several_phases_are_the_mean_of_contests_that_begin_later(replay: Replay) -> None:
    between = len(replay.web.pages) / PER_DAY * DAY
    outcomes = [run(replay.later(phase * between / 4)) for phase in range(4)]

    found = at_phases(replay, PER_DAY / DAY, 4, run)

    assert found.freshness is not None
    shares = [outcome.freshness.share for outcome in outcomes if outcome.freshness is not None]
    assert found.freshness.share == pytest.approx(np.mean(shares), abs=0.01)
    assert found.measures["freshness"] == pytest.approx(np.mean(shares))
    assert len(set(shares)) > 1


def test_what_nobody_has_measured_has_no_mean() -> None:
    promised = Outcome(None, {"freshness": 0.5, "profit": None})

    mean = together([promised, promised])

    assert (mean.fetches, mean.freshness) == (None, None)
    assert mean.measures == {"freshness": 0.5, "profit": None}


def test_with_one_price_a_policy_makes_as_many_fetches_and_is_as_fresh() -> None:
    replay = Replay.of(poisson_web([0.05] * 6 + [2.0] * 6, 20.0, seed=3))
    paced, priced = (
        replay.run("holistic", PER_DAY / DAY, learner_for=learning(Config()), by_price=by_price)
        for by_price in (False, True)
    )

    assert priced.fetches == pytest.approx(paced.fetches, rel=0.02)
    assert priced.freshness is not None
    assert paced.freshness is not None
    assert (priced.freshness - paced.freshness).share > -0.03


def test_policies_with_a_cost_or_a_schedule_of_their_own_take_no_price() -> None:
    ours = {name.replace("-J", "-2") for name in POLICY_NAMES}

    assert {name for name in ours if not takes_price(name)} == {
        "cost",
        "cost-risk-bounded",
        "echo-greedy",
        "echo-newpages",
        "echo-schedule",
        "longevity-bounds",
        "uniform",
    }


@pytest.mark.parametrize("policy", ["echo-greedy", "echo-newpages", "holistic"])
def test_the_whole_budget_is_spent_on_hubs_that_show_more_links_than_there_are_fetches(policy: str) -> None:
    rng = np.random.default_rng(2)
    hubs = Replay.of(web_of(version for n in range(3) for version in poisson_hub(f"h:{n}", 40.0, 5.0, rng)))

    outcome = hubs.run(policy, 12 / DAY, learner_for=learning(Config()))

    assert outcome.fetches == pytest.approx(12 * (hubs.end - hubs.start) / DAY, abs=2)


def test_hubs_are_polled_at_one_price_too() -> None:
    """A poll that is due at the very time at which it is worth the price, but for rounding, is made."""
    rng = np.random.default_rng(4)
    hubs = Replay.of(
        web_of(version for n in range(4) for version in poisson_hub(f"h:{n}", 4.0 * (n + 1), 6.0, rng))
    )
    paced, priced = (
        hubs.run("holistic", 40 / DAY, learner_for=learning(Config()), by_price=by_price)
        for by_price in (False, True)
    )

    assert priced.fetches == pytest.approx(paced.fetches, rel=0.01)
    assert priced.profit is not None
    assert paced.profit is not None
    assert (priced.profit - paced.profit).share > -0.03


def test_where_no_price_makes_as_many_fetches_the_rate_is_constant() -> None:
    """Pages that never change and are all alike are due at the same time."""
    still = Replay.of(poisson_web([0.0] * 30, 20.0, seed=1), whole=True)

    outcome = still.run("greedy", 1 / DAY, learner_for=learning(Config()), by_price=True)

    assert not outcome.by_price
    assert outcome.fetches == pytest.approx((still.end - still.start) / DAY, abs=1)
