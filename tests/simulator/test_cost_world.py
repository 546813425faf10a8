"""The world of the cost paper: what it states, as far as it can be reproduced."""

import numpy as np
import pytest

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.simulate import Result, simulate
from scrapy_freshness.simulator.worlds.contract import Size, made_world
from scrapy_freshness.simulator.worlds.cost import CostWorld, prior_points
from scrapy_freshness.value.cost import optimal_ratio


def played(
    *policies: str, pages: int = 40, hours: float = 1000.0, repeat: int = 3, learn: bool = False, **options
) -> dict[tuple[str, str], Result]:
    world = made_world(CostWorld, {name: str(each) for name, each in options.items()})
    results = simulate(
        "cost", world, [Size(pages, pages / 8, hours)], policies, seed=5, repeat=repeat, learn=learn
    )
    return {(each.policy, each.metric): each for each in results}


def within(result: Result, expected: float, error: float = 0.0) -> bool:
    """Whether a mean is within three standard errors, ours and one of what is expected."""
    return abs(result.mean - expected) <= 3 * np.hypot(result.stderr, error)


def test_known_rates_cost_what_the_formula_says() -> None:
    """Section 5.1, known: interval 8 h, a share 1 - e^(-1/3) = 28.3 % of the intervals has a change."""
    found = played("fixed", "cost", "optimum", pages=30, hours=500.0, repeat=3)
    r = 1 / 3

    assert within(found["fixed", "cost_per_hour"], (1 - (1 - np.exp(-r)) / r) + 1 / 8)
    assert within(found["fixed", "changed_share"], 1 - np.exp(-r))
    assert found["fixed", "very_stale_share"].mean == 0
    best = found["optimum", "cost_per_hour"].mean
    ratio = float(optimal_ratio(np.array([1 / 24]))[0])
    assert best == pytest.approx((1 - (1 - np.exp(-ratio)) / ratio) + 1 / (24 * ratio))
    assert within(found["cost", "cost_per_hour"], best)
    assert found["cost", "cost_per_hour"].fetches == pytest.approx(
        found["optimum", "cost_per_hour"].fetches, rel=0.02
    )


@pytest.mark.parametrize(
    ("hours", "pages", "very_stale", "of_changed", "cost", "changed"),
    [(1000.0, 40, 0.055, 0.18, 0.292, 0.309), (12_000.0, 12, 0.013, 0.047, 0.277, 0.286)],
)
def test_estimated_rates_cost_what_an_independent_implementation_found(
    hours: float, pages: int, very_stale: float, of_changed: float, cost: float, changed: float
) -> None:
    """Shares of very stale intervals, of all and of those with a change; the paper has 1,000 hours."""
    found = played("proportional", pages=pages, hours=hours, learn=True)

    assert within(found["proportional", "very_stale_share"], very_stale, 0.001)
    assert within(found["proportional", "very_stale_share_of_changed"], of_changed, 0.003)
    assert within(found["proportional", "cost_per_hour"], cost, 0.001)
    assert within(found["proportional", "changed_share"], changed, 0.002)


def test_learned_optimal_intervals_cost_less_than_a_fixed_share_of_the_learned_period() -> None:
    found = played("cost", "proportional", "cost-risk-bounded", pages=15, hours=500.0, repeat=2, learn=True)
    cost, proportional, bounded = (
        found[policy, "cost_per_hour"] for policy in ("cost", "proportional", "cost-risk-bounded")
    )

    assert cost.mean < proportional.mean
    assert bounded.mean < proportional.mean
    for metric in ("very_stale_share", "very_stale_share_of_changed"):
        assert found["cost-risk-bounded", metric].mean < found["cost", metric].mean
    assert found["cost-risk-bounded", "very_stale_share"].mean < 0.02


def test_pages_that_change_too_often_are_left_alone() -> None:
    found = played("cost", "optimum", hours=100.0, period=0.5, repeat=1)

    assert found["cost", "cost_per_hour"].fetches == found["optimum", "cost_per_hour"].fetches == 0
    assert found["optimum", "cost_per_hour"].mean == 1.0
    assert np.isnan(found["cost", "changed_share"].mean)


def test_policies_with_a_budget_spend_it_and_rivals_do_as_they_please() -> None:
    found = played("greedy", "lds", "stormcrawler-adaptive", hours=200.0, repeat=1)

    assert found["greedy", "cost_per_hour"].fetches == 1000
    assert found["lds", "cost_per_hour"].fetches == 1000
    assert found["stormcrawler-adaptive", "cost_per_hour"].fetches < 1000


def test_pages_that_differ_are_crawled_at_their_own_intervals() -> None:
    found = played("cost", "fixed", "optimum", pages=20, hours=200.0, spread=1.0, repeat=2)

    assert found["cost", "cost_per_hour"].mean < found["fixed", "cost_per_hour"].mean
    assert found["cost", "cost_per_hour"].mean == pytest.approx(
        found["optimum", "cost_per_hour"].mean, rel=0.1
    )


def test_policies_that_need_to_know_more_are_refused() -> None:
    with pytest.raises(ConfigError, match="no policy 'echo-newpages'"):
        CostWorld().check("echo-newpages", Size(5, 1.0, 5.0), learn=True)


@pytest.mark.parametrize("written", ["1", "1,2,3", "0,57", "a,b", "1,inf"])
def test_priors_that_cannot_be_read_are_refused(written: str) -> None:
    with pytest.raises(ValueError, match="two numbers"):
        prior_points(written)
