"""Policies and rivals on the same web, with the same number of fetches."""

import numpy as np
import pytest

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.changing import ChangingWeb, numbered
from scrapy_freshness.simulator.contest import RIVAL_NAMES, Contest, enter
from scrapy_freshness.simulator.instances import deterministic_instance, drawn_events, drawn_instance
from scrapy_freshness.simulator.streams import event_stream

HORIZON = 40.0


def drawn_contest(seed: int, signals="noisy", pages: int = 60, rate: float = 20.0) -> Contest:
    rng = np.random.default_rng(seed)
    instance = drawn_instance(pages, signals, rng)
    events = drawn_events(instance, HORIZON, rng)
    return Contest(
        web=ChangingWeb(events.changes, numbered(instance.importance)),
        fetches_per_second=rate,
        start=0.0,
        end=HORIZON,
        signals=events.signals,
        truth=instance.beliefs,
    )


def accuracy(contest: Contest, policy: str) -> float:
    assert isinstance(contest.web, ChangingWeb)
    return contest.web.freshness(enter(contest, policy), 0.0, HORIZON, first_copy_at=0.0)


def test_the_deterministic_instance_is_crawled_as_published() -> None:
    instance = deterministic_instance()
    contest = Contest(
        web=ChangingWeb(event_stream([np.empty(0)] * 100), numbered(instance.importance)),
        fetches_per_second=100.0,
        start=0.0,
        end=20.0,
        truth=instance.beliefs,
    )

    fetches = enter(contest, "greedy")

    assert fetches.pages[:10].tolist() == [96, 99, 91, 83, 75, 94, 96, 86, 78, 70]
    assert fetches.pages.sum() == 117393


def test_who_weighs_noisy_signals_is_fresher_than_who_ignores_or_obeys_them() -> None:
    contests = [drawn_contest(seed, pages=30, rate=10.0) for seed in range(6)]
    weighed, ignored, obeyed = (
        np.array([accuracy(contest, policy) for contest in contests])
        for policy in ("greedy-ncis", "greedy", "greedy-cis")
    )

    for others in (ignored, obeyed):
        gains = weighed - others
        assert gains.mean() > 3 * gains.std(ddof=1) / np.sqrt(len(gains))


@pytest.mark.parametrize("name", ["greedy", "greedy-cis-plus", "greedy-ncis-approx-1", "uniform", "lds"])
def test_everybody_makes_the_same_number_of_fetches(name: str) -> None:
    contest = drawn_contest(3)

    assert len(enter(contest, name)) == contest.fetches == 800


@pytest.mark.parametrize("name", ["fixed", "nutch-adaptive", "stormcrawler-adaptive", "proportional"])
def test_rivals_without_a_budget_are_scaled_to_the_same_number_of_fetches(name: str) -> None:
    contest = drawn_contest(4, signals="none")

    assert name in RIVAL_NAMES
    assert len(enter(contest, name)) == pytest.approx(contest.fetches, rel=0.05)


def test_an_unknown_policy_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(ConfigError, match=r"no policy 'best'.*greedy-ncis.*nutch-adaptive"):
        enter(drawn_contest(1), "best")


def test_nobody_knows_the_truth_about_a_web_that_does_not_tell_it() -> None:
    contest = drawn_contest(1)
    blind = Contest(web=contest.web, fetches_per_second=1.0, start=0.0, end=HORIZON)

    with pytest.raises(ConfigError, match="--learn"):
        enter(blind, "greedy")
