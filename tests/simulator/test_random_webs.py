"""Webs drawn at random have the distributions that the papers ask for, and are drawn fast."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.echo_graph import drawn_echo_graph
from scrapy_freshness.simulator.instances import (
    SIGNALS,
    Instance,
    corrupted,
    cost_instance,
    deterministic_instance,
    drawn_events,
    drawn_instance,
)
from scrapy_freshness.simulator.streams import EventStream, delayed, divided, merged, poisson_events

WEB = deterministic_instance()


def rng(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def ascends(stream: EventStream) -> bool:
    return all(np.all(np.diff(stream.of(page)) >= 0) for page in range(len(stream)))


def test_events_are_a_poisson_process_of_each_pages_rate() -> None:
    rates = np.array([0.0, 0.01, 0.5, 20.0])
    stream = poisson_events(rates, 5000.0, rng(1))

    assert np.all(np.abs(stream.counts - rates * 5000) <= 4 * np.sqrt(rates * 5000))
    assert ascends(stream)
    assert 0 <= stream.times.min() <= stream.times.max() <= 5000
    for page in (2, 3):
        assert stats.kstest(np.diff(stream.of(page)), "expon", args=(0, 1 / rates[page])).pvalue > 0.001


def test_counts_of_many_pages_scatter_as_they_must() -> None:
    counts = poisson_events(np.full(5000, 0.3), 100.0, rng(2)).counts

    assert counts.mean() == pytest.approx(30, abs=4 * np.sqrt(30 / 5000))
    assert counts.var() == pytest.approx(30, rel=0.1)


def test_events_are_divided_by_the_shares_of_their_pages_in_order() -> None:
    stream = poisson_events(np.full(3, 2.0), 2000.0, rng(3))
    chances = np.array([[0.0, 0.25, 1.0], [0.5, 0.25, 0.0]])
    one, other = divided(stream, chances, rng(4))

    assert one.counts[0] == other.counts[2] == 0
    for part, page, share in ((one, 1, 0.25), (other, 0, 0.5), (other, 1, 0.25)):
        assert part.counts[page] == pytest.approx(share * stream.counts[page], abs=4 * np.sqrt(1000))
        assert np.all(np.isin(part.of(page), stream.of(page)))
        assert np.all(np.diff(part.of(page)) > 0)
    assert np.array_equal(one.of(2), stream.of(2))
    assert not np.isin(one.of(1), other.of(1)).any()


@given(st.lists(st.lists(st.floats(0, 10), max_size=5), min_size=1, max_size=6), st.randoms())
def test_merged_streams_have_all_events_of_both(pages: list[list[float]], random: object) -> None:
    def stream(lists: list[list[float]]) -> EventStream:
        starts = np.concatenate([[0], np.cumsum([len(each) for each in lists])])
        return EventStream(np.array([time for each in lists for time in sorted(each)]), starts)

    both = merged(stream(pages), stream(pages[::-1]))

    for page, (one, other) in enumerate(zip(pages, pages[::-1], strict=True)):
        assert both.of(page).tolist() == sorted(one + other)


def test_delays_move_events_into_the_future_and_out_of_the_horizon() -> None:
    stream = EventStream(np.array([1.0, 2.0, 9.0, 3.0]), np.array([0, 3, 4]))

    moved = delayed(stream, np.array([5.0, 0.5, 2.0, 0.0]), 10.0)

    assert moved.of(0).tolist() == [2.5, 6.0]
    assert moved.of(1).tolist() == [3.0]


def test_rates_and_importances_are_uniform_and_signals_as_the_setting_says() -> None:
    webs = {signals: drawn_instance(20_000, signals, rng(5)) for signals in SIGNALS}

    for web in webs.values():
        assert np.array_equal(web.change_rate, webs["none"].change_rate), "the same pages in all settings"
        assert np.array_equal(web.importance, webs["none"].importance)
    assert stats.kstest(webs["none"].change_rate, "uniform").pvalue > 0.001
    assert stats.kstest(webs["none"].importance, "uniform").pvalue > 0.001
    for signals in ("partial", "noisy", "delayed", "corrupted"):
        assert stats.kstest(webs[signals].recall, stats.beta(0.25, 0.25).cdf).pvalue > 0.001
    for signals in ("noisy", "delayed", "corrupted", "lying"):
        assert stats.kstest(webs[signals].false_rate, stats.uniform(0.1, 0.5).cdf).pvalue > 0.001
    for signals in ("none", "partial"):
        assert not webs[signals].false_rate.any()
    for signals in ("none", "lying"):
        assert not webs[signals].recall.any()


def test_unknown_signals_are_refused() -> None:
    with pytest.raises(ConfigError, match="no signals 'smoke': choose one of none, partial"):
        drawn_instance(3, "smoke", rng(1))  # type: ignore[arg-type]


def test_true_signals_come_at_the_time_of_their_change_and_false_ones_at_any() -> None:
    web = Instance(np.ones(2), np.array([1.0, 1.0]), np.array([0.3, 1.0]), np.array([0.5, 0.0]))
    events = drawn_events(web, 4000.0, rng(6))

    true = np.isin(events.signals.of(0), events.changes.of(0))
    assert np.count_nonzero(true) == pytest.approx(1200, abs=4 * np.sqrt(1200))
    assert np.count_nonzero(~true) == pytest.approx(2000, abs=4 * np.sqrt(2000))
    assert np.array_equal(events.signals.of(1), events.changes.of(1))


def test_late_signals_are_six_ticks_late_on_average() -> None:
    web = Instance(np.ones(1), np.array([0.001]), np.ones(1), np.zeros(1))
    events = drawn_events(web, 1e7, rng(7), late_by=0.01)

    count = len(events.signals.times)
    late = events.signals.times - events.changes.times[:count]
    assert late.mean() / 0.01 == pytest.approx(6, abs=4 * np.sqrt(6 / count))
    assert np.allclose(late / 0.01, np.round(late / 0.01), atol=1e-4)


def test_the_deterministic_web_is_the_known_one() -> None:
    i = np.arange(100)

    assert WEB.change_rate == pytest.approx((i + 0.5) / 100)
    assert WEB.importance == pytest.approx(0.6180339887498949 * (i + 1) % 1)
    assert WEB.recall == pytest.approx(0.7548776662466927 * (i + 1) % 1)
    assert WEB.false_rate == pytest.approx(0.1 + 0.5 * (0.5698402909980532 * (i + 1) % 1))


@given(share=st.floats(0, 1), seed=st.integers(0, 100))
def test_corruption_mixes_precision_and_recall_with_noise(share: float, seed: int) -> None:
    web = drawn_instance(50, "noisy", rng(seed))
    believed = corrupted(web, share, rng(seed, 1))
    noise = rng(seed, 1).random(50)

    assert believed.recall == pytest.approx((1 - share) * web.recall + share * noise)
    sure = believed.recall > 1e-6
    assert believed.precision[sure] == pytest.approx(((1 - share) * web.precision + share * noise)[sure])
    assert np.array_equal(believed.change_rate, web.change_rate)
    assert np.all(believed.false_rate >= 0)
    assert np.all(np.isfinite(believed.false_rate))


def test_too_much_noise_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"from 0 to 1, got 1\.5"):
        corrupted(WEB, 1.5, rng(1))


def test_pages_without_signals_have_no_precision() -> None:
    silent = Instance(np.ones(2), np.ones(2), np.zeros(2), np.array([0.0, 3.0]))

    assert silent.precision.tolist() == [0, 0]


def test_pages_of_the_cost_paper_change_once_a_day() -> None:
    assert cost_instance(5, rng(1)).change_rate == pytest.approx(1 / 86400)
    spread = cost_instance(5000, rng(1), period_seconds=3600.0, spread=0.5)
    assert np.median(spread.change_rate) == pytest.approx(1 / 3600, rel=0.05)
    assert np.std(np.log(spread.change_rate)) == pytest.approx(0.5, rel=0.05)


def test_a_thousand_pages_and_a_thousand_units_of_time_are_drawn_in_a_moment() -> None:
    """Half a million changes and more signals; a fifth of a second of CPU when the machine is idle."""
    web = drawn_instance(1000, "noisy", rng(8))
    took = []
    for _ in range(3):
        start = time.process_time()
        events = drawn_events(web, 1000.0, rng(9))
        took.append(time.process_time() - start)

    assert len(events.changes.times) > 400_000
    assert min(took) < 1.0


def test_webs_are_reproducible_from_the_seed() -> None:
    one, same, other = (drawn_events(WEB, 100.0, rng(seed)) for seed in (1, 1, 2))

    assert np.array_equal(one.signals.times, same.signals.times)
    assert not np.array_equal(one.changes.times, other.changes.times)


def test_an_echo_graph_has_the_links_it_was_asked_for() -> None:
    graph = drawn_echo_graph(10, 200, 0.5, 100_000.0, rng(10))

    assert graph.link_rate.sum() == pytest.approx(0.5)
    assert len(graph.births.times) == pytest.approx(50_000, abs=4 * np.sqrt(50_000))
    assert np.bincount(graph.host).tolist() == [20] * 10
    assert np.sort(graph.link_rate)[-20:].sum() > 0.4 * 0.5, "a tenth of the sources has most of the links"
    halved = np.log(2) / graph.decay / 3600
    assert 6 <= halved.min() < halved.max() <= 48


def test_links_earn_what_their_source_does_on_average() -> None:
    graph = drawn_echo_graph(1, 20, 1.0, 100_000.0, rng(11))
    most = int(np.argmax(graph.births.counts))
    some = slice(graph.births.starts[most], graph.births.starts[most + 1])

    assert graph.link_profit[some].mean() == pytest.approx(graph.profit[most], rel=0.1)


def test_a_source_shows_its_latest_links() -> None:
    graph = drawn_echo_graph(1, 5, 0.05, 50_000.0, rng(12))
    for source in range(5):
        born = graph.births.of(source)
        now = 40_000.0
        shown = graph.shown(source, -np.inf, now)
        so_far = np.count_nonzero(born <= now)
        if len(shown) < so_far:
            assert 10 <= len(shown) <= 50
        assert np.array_equal(graph.births.times[shown], born[so_far - len(shown) : so_far])
        since = float(born[max(so_far - 5, 0)])
        assert len(graph.shown(source, since, now)) == min(4, max(so_far - 1, 0))


def test_links_that_nobody_polled_in_time_are_lost() -> None:
    graph = drawn_echo_graph(1, 3, 1.0, 5000.0, rng(13))
    often, seldom = (
        len(
            np.unique(
                np.concatenate(
                    [graph.shown(s, -np.inf, t) for s in range(3) for t in np.arange(every, 5000.0, every)]
                )
            )
        )
        for every in (5.0, 1000.0)
    )

    assert seldom < 0.5 * often
