"""Policies on recorded pages: what they get to see, how they are judged, what they are compared with."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from drawn_records import DAY, poisson_hub, poisson_page, poisson_web

from scrapy_freshness.config import Config
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.estimation.change_rate import PriorPoints, estimate_change_rates
from scrapy_freshness.planning import learners
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.learning import RateLearner
from scrapy_freshness.planning.policy import POLICY_NAMES, Policy
from scrapy_freshness.simulator.comparison import compared
from scrapy_freshness.simulator.contest import RIVAL_NAMES
from scrapy_freshness.simulator.optimum import optimum
from scrapy_freshness.simulator.recorded import web_of
from scrapy_freshness.simulator.recorded_beliefs import recorded_beliefs
from scrapy_freshness.simulator.replay import Outcome, Replay, check_name, learning
from scrapy_freshness.simulator.trace import Kind, Version

NAMES = [name.replace("-J", "-2") for name in (*POLICY_NAMES, *RIVAL_NAMES)]
RATES = [0.05] * 12 + [2.0] * 12


def learner_for(policy: Policy) -> Learner:
    return RateLearner(partial(estimate_change_rates, prior=PriorPoints()))


def per_second(per_day: float) -> float:
    return per_day / DAY


@pytest.fixture(scope="module")
def replay() -> Replay:
    return Replay.of(poisson_web(RATES, 60.0, seed=1))


@pytest.mark.parametrize(
    "name", [name for name in NAMES if not name.startswith(("echo", "longevity-bounds"))]
)
def test_every_policy_can_be_replayed_with_known_rates(replay: Replay, name: str) -> None:
    outcome = replay.run(name, per_second(10))
    freshness = outcome.measures["freshness"]

    assert freshness is not None
    assert 0.3 < freshness < 1
    if not name.startswith("cost"):  # these spend what is worth its cost, and no more
        assert outcome.fetches == pytest.approx(600, rel=0.05)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("echo")])
@pytest.mark.parametrize("learn", [False, True], ids=["known", "learned"])
def test_policies_for_sources_leave_everything_alone_where_there_are_none(
    replay: Replay, name: str, learn: bool
) -> None:
    outcome = replay.run(name, per_second(10), learner_for=learners.learner_for if learn else None)

    assert outcome.fetches == 0


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("echo", "holistic"))])
@pytest.mark.parametrize("learn", [False, True], ids=["known", "learned"])
def test_policies_for_sources_poll_hubs_where_links_appear(name: str, learn: bool) -> None:
    rng = np.random.default_rng(3)
    busy, quiet = poisson_hub("a:busy", 20.0, 30.0, rng), poisson_hub("a:quiet", 0.5, 30.0, rng)
    web = web_of([*busy, *quiet])

    outcome = Replay.of(web).run(name, per_second(12), learner_for=learners.learner_for if learn else None)

    assert outcome.measures["profit"] is not None
    assert outcome.measures["profit"] > Replay.of(web).run("uniform", per_second(12)).measures["profit"]


def test_to_policies_for_pages_hubs_are_pages() -> None:
    """They visit all of them: hubs have no importance only to who values links."""
    rng = np.random.default_rng(4)
    hubs = [poisson_hub(f"a:{n}", 4.0, 20.0, rng) for n in range(4)]

    outcome = Replay.of(web_of(version for hub in hubs for version in hub)).run(
        "greedy", per_second(16), learner_for=learner_for
    )

    assert outcome.profit is not None
    assert (outcome.profit.had.sum(axis=1) > 0).all()


def test_the_promise_is_kept_by_who_knows_the_rates(replay: Replay) -> None:
    """Where changes really are Poisson processes."""
    promise = replay.run("optimum", per_second(12)).measures["freshness"]
    beliefs = recorded_beliefs(replay.web, replay.start, replay.end, frozenset())

    assert promise == pytest.approx(optimum(beliefs, per_second(12)).accuracy)
    for name in ("lds", "greedy"):
        outcome = replay.run(name, per_second(12))
        assert outcome.freshness is not None
        assert outcome.freshness.share == pytest.approx(promise, abs=0.02)


def test_who_knows_is_fresher_than_who_learns_and_both_than_uniform(replay: Replay) -> None:
    known = replay.run("greedy", per_second(12))
    learned = replay.run("greedy", per_second(12), learner_for=learner_for)
    uniform = replay.run("uniform", per_second(12))

    cost = compared(learned, known, has_hubs=False)
    gain = compared(learned, uniform, has_hubs=False)
    for row, sign in ((cost, -1), (gain, 1)):
        assert row["freshness_diff"] is not None
        assert row["freshness_diff_stderr"] is not None
        assert sign * row["freshness_diff"] > row["freshness_diff_stderr"]


def churning_page(name: str, days: float) -> list[Version]:
    """A page of 60 words of which one is replaced every so many days."""
    words = [f"{name}-{n}" for n in range(60)]
    versions = []
    for number in range(int(30 / days) + 1):
        words[7 * number % 60] = f"{name}-{60 + number}"
        text = (" ".join(words),)
        versions.append(Version(page=name, at=DAY * days * number, kind=Kind.CHANGE, lines=text))
    return versions


def told(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.fetches, *outcome.measures.values()


@pytest.mark.parametrize(
    ("policy", "settings"),
    [
        ("cost", {"crawl_cost": 20.0}),
        ("cost", {"stale_cost_per_second": 1.0}),
        ("cost-risk-bounded", {"stale_limit_seconds": 3600.0}),
        ("longevity-bounds", {"longevity_risk": 1.5}),
        ("longevity-bounds", {"longevity_learning": 1.0}),
        ("longevity-curve", {"sketch_size": 2}),
        ("longevity-curve", {"profile_length": 2}),
        ("holistic", {"min_interval_seconds": 5 * DAY}),
    ],
    ids=str,
)
def test_policies_are_those_of_the_settings(policy: str, settings: dict[str, float]) -> None:
    replay = Replay.of(web_of(version for n in range(5) for version in churning_page(f"a:{n}", 1 + n)))
    by_default, by_settings = (
        replay.run(policy, per_second(5), config=config, learner_for=learning(config))
        for config in (Config(), Config(**settings))
    )

    assert told(by_settings) != told(by_default)


def test_the_budget_has_the_part_of_the_threshold_and_links_cost_a_poll(replay: Replay) -> None:
    config = Config(threshold=1e9, participation=True, query_importance=True)

    assert told(replay.run("greedy", per_second(3), config=config, learner_for=learning(config))) == told(
        replay.run("greedy", per_second(3), learner_for=learning(Config()))
    )


def test_only_what_comes_after_the_warm_up_is_judged() -> None:
    """Pages that change in the first half only are fresh in the second, and fetches of then do not count."""
    rng = np.random.default_rng(2)
    pages = [poisson_page(f"a:{n}", 5.0, 20.0, rng) for n in range(5)]
    pages.append([Version(page="a:5", at=DAY * at, kind=Kind.CHANGE, lines=(str(at),)) for at in (0, 40)])
    web = web_of(version for page in pages for version in page)
    cold, warm = (Replay.of(web, warm_up=share).run("uniform", per_second(10)) for share in (0.0, 0.5))

    assert (cold.fetches, warm.fetches) == (400, 201), "one is made at the very moment"
    assert cold.measures["freshness"] is not None
    assert cold.measures["freshness"] < 0.8
    assert warm.measures["freshness"] == pytest.approx(1.0, abs=0.02)
    assert warm.freshness is not None
    assert warm.freshness.possible.sum() == pytest.approx(6 * 20 * DAY)


def test_copies_of_the_start_are_held_during_the_warm_up() -> None:
    web = poisson_web([0.0] * 5, 40.0, seed=3)
    never_again = Replay.of(web, warm_up=0.5).run("nutch-adaptive", per_second(0.05))

    assert never_again.measures["freshness"] == 1.0


def test_nobody_fetches_a_page_whose_record_has_ended() -> None:
    rng = np.random.default_rng(4)
    pages = [poisson_page(f"a:{n}", 1.0, 20.0, rng) for n in range(3)]
    pages += [poisson_page(f"b:{n}", 1.0, 60.0, rng) for n in range(3)]
    replay = Replay.of(web_of(version for page in pages for version in page), whole=True)
    waste = {}
    for name in ("greedy", "uniform", "lds", "fixed", "proportional", "nutch-adaptive"):
        outcome = replay.run(name, per_second(6))
        assert outcome.fetches == pytest.approx(360, rel=0.05)
        waste[name] = outcome.measures["wasted_fetches"]

    # After 20 days three pages share what six had: each is fetched twice a day and changes once.
    assert waste["uniform"] == pytest.approx((1 / 3) * np.exp(-1) + (2 / 3) * np.exp(-0.5), abs=0.08)


def test_pages_that_appear_late_are_found(replay: Replay) -> None:
    rng = np.random.default_rng(5)
    pages = [poisson_page("a:1", 1.0, 60.0, rng)]
    pages += [poisson_page(f"a:late{n}", 1.0, 60.0, rng, first_day=10.0 + n) for n in range(4)]
    whole = Replay.of(web_of(version for page in pages for version in page), whole=True)

    for name in ("greedy", "uniform", "lds", "fixed"):
        outcome = whole.run(name, per_second(20))
        assert outcome.freshness is not None
        shares = outcome.freshness.had.sum(axis=1) / outcome.freshness.possible.sum(axis=1)
        assert shares.min() > 0.7, name


def test_the_schedule_begins_with_what_appears(replay: Replay) -> None:
    rng = np.random.default_rng(7)
    pages = [poisson_page(f"a:{n}", 2.0, 60.0, rng) for n in range(5)]
    pages.append(poisson_page("a:late", 0.0, 60.0, rng, first_day=30.0))
    whole = Replay.of(web_of(version for page in pages for version in page), whole=True)
    outcome = whole.run("lds", per_second(5))

    assert outcome.freshness is not None
    late = outcome.freshness.had[-1].sum() / outcome.freshness.possible[-1].sum()
    assert late > 1 - 0.25 / 30, "it has its copy after one tick, a fifth of a day"


def test_links_are_judged_where_there_are_hubs() -> None:
    rng = np.random.default_rng(6)
    hubs = [poisson_hub(f"a:{n}", rate, 30.0, rng) for n, rate in enumerate((2.0, 20.0))]
    outcome = Replay.of(web_of(version for hub in hubs for version in hub)).run("uniform", per_second(24))
    row = compared(outcome, outcome, has_hubs=True)

    assert outcome.profit is not None
    assert row["profit"] == pytest.approx(outcome.profit.share)
    assert row["profit_stderr"] == outcome.profit.stderr
    assert (row["profit_diff"], row["profit_diff_stderr"]) == (0.0, 0.0)


def test_rivals_can_be_run_as_they_are_shipped(replay: Replay) -> None:
    assert replay.run_as_shipped("fixed").fetches == 60 * len(replay.web.pages)


@pytest.mark.parametrize("per_day", [1e-3, 1e9])
def test_budgets_of_no_fetch_and_of_far_too_many_are_refused(replay: Replay, per_day: float) -> None:
    with pytest.raises(ConfigError, match=r"a budget of .*/day makes .* in the 60 days of the record"):
        replay.check_budget(per_second(per_day))


def test_a_record_of_one_moment_is_refused() -> None:
    with pytest.raises(ConfigError, match="only one point in time"):
        Replay.of(web_of([Version(page="a:1", at=5.0, kind=Kind.FIRST, lines=("x",))]))


def test_names_are_checked_before_anything_is_run() -> None:
    for name in (*NAMES, "optimum"):
        check_name(name)
    with pytest.raises(ConfigError, match=r"no policy 'best': choose from .*greedy.*nutch-adaptive.*optimum"):
        check_name("best")
