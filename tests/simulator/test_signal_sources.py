"""Several sources of signals: what is true of a copy that has heard them, and what knowing them is worth."""

from dataclasses import replace

import numpy as np
import pytest

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.estimation.signal_delays import Delays
from scrapy_freshness.simulator.changing import ChangingWeb, numbered
from scrapy_freshness.simulator.contest import Contest, enter
from scrapy_freshness.simulator.instances import Instance, drawn_events, drawn_instance
from scrapy_freshness.simulator.simulate import simulate
from scrapy_freshness.simulator.streams import EventStream
from scrapy_freshness.simulator.worlds.contract import Size
from scrapy_freshness.simulator.worlds.poisson import Poisson
from scrapy_freshness.value.ncis import Ncis


def heard_until(signals: EventStream, now: float, sources: int) -> np.ndarray:
    """Signals of each source (columns) of each page (rows) up to a time."""
    assert signals.kinds is not None
    place = signals.owners * sources + signals.kinds
    return np.bincount(place[signals.times <= now], minlength=len(signals) * sources).reshape(-1, sources)


def test_copies_are_as_fresh_as_the_signals_of_all_sources_say() -> None:
    """By Monte Carlo: pages that are all alike, looked at once, sorted by what was heard of them."""
    pages, now = 200_000, 1.5
    ones = np.ones(pages)
    recall, false = np.array([[0.5], [0.2]]) * ones, np.array([[0.1], [0.6]]) * ones
    instance = Instance(ones, 0.7 * ones, recall.sum(axis=0), false.sum(axis=0), recall, false)
    events = drawn_events(instance, now, np.random.default_rng(3))
    heard = heard_until(events.signals, now, 2)
    weighed = heard[:, 0] * instance.weights["weight_0"] + heard[:, 1] * instance.weights["weight_1"]
    promised = Ncis().freshness(replace(instance.beliefs, signals=weighed), now * ones)
    is_fresh = events.changes.counts == 0

    for case in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 1)):
        alike = (heard == case).all(axis=1)
        expected = promised[alike][0]
        error = np.sqrt(expected * (1 - expected) / np.count_nonzero(alike))
        assert np.ptp(promised[alike]) < 1e-12
        assert is_fresh[alike].mean() == pytest.approx(expected, abs=4 * error)


def test_the_value_of_two_sources_is_about_that_of_one_that_stands_for_both() -> None:
    """By Monte Carlo: the exact value of crawling whenever the effective age reaches a threshold.

    The one source has their recall and false rate. It is exact for sources of the same quality, and too low
    by a few per cent for sources of very different ones.
    """
    rng = np.random.default_rng(5)
    for false, low, high in (((0.15, 0.15), -0.01, 0.01), ((0.05, 0.25), -0.05, 0.01)):
        rate, recall, nu = 0.5, np.array([0.25, 0.25]), np.array(false)
        alpha, gamma = (1 - recall.sum()) * rate, recall * rate + nu
        jumps, threshold = np.log(gamma / nu), 1.5
        exact = threshold_value(alpha, gamma, jumps, threshold, rng)
        page = Instance(np.ones(1), np.full(1, rate), np.full(1, recall.sum()), np.full(1, nu.sum())).beliefs
        told = Ncis().value(page, np.full(1, threshold / alpha))[0]
        assert low < told / exact - 1 < high


def threshold_value(
    alpha: float, gamma: np.ndarray, jumps: np.ndarray, threshold: float, rng: np.random.Generator
) -> float:
    """w - exp(-threshold) * psi of a process that grows at rate alpha and jumps with the signals."""
    runs = 40_000
    age, time, fresh = np.zeros(runs), np.zeros(runs), np.zeros(runs)
    going = np.arange(runs)
    while len(going):
        wait = rng.exponential(1 / gamma.sum(), len(going))
        source = rng.choice(len(gamma), len(going), p=gamma / gamma.sum())
        room = (threshold - age[going]) / alpha
        lasted = np.minimum(wait, room)
        fresh[going] += np.exp(-age[going]) * -np.expm1(-alpha * lasted) / alpha
        time[going] += lasted
        age[going] += alpha * lasted + np.where(wait < room, jumps[source], 0.0)
        going = going[(wait < room) & (age[going] < threshold)]
    return float(np.mean(fresh - np.exp(-threshold) * time))


def test_it_pays_to_tell_sources_apart() -> None:
    gains = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        instance = drawn_instance(100, "noisy", rng, sources=3)
        events = drawn_events(instance, 60.0, rng)
        contest = Contest(
            web=ChangingWeb(events.changes, numbered(instance.importance)),
            fetches_per_second=20.0,
            start=0.0,
            end=60.0,
            signals=events.signals,
            truth=instance.beliefs,
            weights=instance.weights,
        )
        told, alike = (
            contest.web.freshness(enter(each, "greedy-ncis"), 0.0, 60.0, first_copy_at=0.0)  # type: ignore[attr-defined]
            for each in (contest, replace(contest, weights={}))
        )
        gains.append(told - alike)

    assert np.mean(gains) > 0.004


def learned_gains(world: Poisson, *policies: str, repeat: int = 2, size: Size | None = None) -> np.ndarray:
    """By how much the first policy is fresher than the second, both learning, one number a web."""
    size = size or Size(20, 10.0, 30.0)
    results = simulate("poisson", world, [size], policies, seed=3, repeat=repeat, learn=True)
    heard, deaf = (np.array(each.values) for each in results)
    return heard - deaf


@pytest.mark.parametrize("sources", [1, 4])
def test_who_learns_what_each_source_is_worth_is_fresher_than_who_is_deaf(sources: int) -> None:
    gains = learned_gains(Poisson(signals="noisy", sources=sources), "greedy-ncis", "greedy")

    assert np.mean(gains) > 0.01


@pytest.mark.parametrize("signals", ["partial", "noisy"])
def test_the_default_is_fresher_where_signals_tell_something(signals: str) -> None:
    gains = learned_gains(Poisson(signals=signals), "holistic", "greedy-expected")

    assert np.mean(gains) > 0.005


def test_the_default_loses_nothing_where_signals_lie() -> None:
    """In the long run: that they lie takes a while to be found out."""
    world, size = Poisson(signals="lying"), Size(20, 20.0, 60.0)
    gains = learned_gains(world, "holistic", "greedy-expected", repeat=3, size=size)

    assert np.mean(gains) > -2 * np.std(gains, ddof=1) / np.sqrt(len(gains)) - 0.002


def test_who_learns_how_late_signals_are_is_fresher_than_who_heeds_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, size = Poisson(signals="delayed"), Size(20, 20.0, 30.0)
    learned = learned_gains(world, "greedy-expected-ncis", "greedy-expected", repeat=3, size=size)
    monkeypatch.setattr(Delays, "deaf_seconds", lambda delays: (0.0,) * 4)
    heeding = learned_gains(world, "greedy-expected-ncis", "greedy-expected", repeat=3, size=size)

    assert np.mean(learned - heeding) > 0
    assert np.mean(heeding) > 0, "late signals are better than none"


def test_one_source_is_drawn_as_before_there_were_several() -> None:
    one, two = (drawn_instance(50, "noisy", np.random.default_rng(2), sources=n) for n in (1, 2))

    assert np.array_equal(one.recall, two.recall)
    assert two.source_recall is not None
    np.testing.assert_allclose(two.source_recall.sum(axis=0), two.recall)
    assert one.weights == {}


def test_signals_that_cannot_be_false_are_sure_whatever_others_say() -> None:
    instance = drawn_instance(20, "partial", np.random.default_rng(2), sources=2)

    for weight in instance.weights.values():
        assert np.all(np.isfinite(weight) & (weight >= 0))


@pytest.mark.parametrize(("policy", "signals"), [("optimum", "noisy"), ("greedy", "corrupted")])
def test_what_nobody_knows_of_several_sources_is_refused(policy: str, signals: str) -> None:
    with pytest.raises(ConfigError, match="--sources 2: nobody knows"):
        Poisson(signals=signals, sources=2).check(policy, Size(10, 1.0, 10.0), learn=False)
