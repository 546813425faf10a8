"""Rates that visits have shown: right in the mean, whoever decides when to visit, whatever signals say."""

import numpy as np

from scrapy_freshness.estimation.shown_rates import shown_rates

USUAL = 0.01


def shown(
    seconds: list[float], signals: list[int], changed: list[bool], pages: list[int], precision: float = 0.9
) -> list[float]:
    """Rates of pages, half of whose changes are announced."""
    n = np.array(signals, np.float64)
    count = max(pages) + 1
    rates = shown_rates(
        np.array(seconds),
        n * precision,
        -n * np.log1p(-precision),
        np.array(changed),
        np.array(pages),
        np.full(count, USUAL),
        np.full(count, 0.5),
    )
    return rates.tolist()


def test_pages_that_wait_without_a_signal_are_no_more_overrated_than_those_that_got_one() -> None:
    """Rates are Gamma distributed, and a page is visited as soon as a signal comes, or after a while."""
    rng = np.random.default_rng(1)
    rates = rng.gamma(0.5, USUAL / 0.5, 4000)
    waits = rng.exponential(1 / np.maximum(0.5 * rates, 1e-9))
    signalled = waits < 150
    seconds = np.where(signalled, waits, 150.0)
    changed = signalled | (rng.random(4000) < -np.expm1(-0.5 * rates * seconds))

    found = np.array(
        shown(seconds.tolist(), [int(each) for each in signalled], changed.tolist(), list(range(4000)), 0.999)
    )

    for chosen in (signalled, ~signalled):
        ratio = (found * seconds)[chosen].sum() / (rates * seconds)[chosen].sum()
        assert 0.85 < ratio < 1.15


def test_signals_that_were_false_say_nothing_of_the_rate() -> None:
    assert shown([100.0], [3], [False], [0]) == shown([100.0], [0], [False], [0])
    (doubtful,), (sure,) = (shown([100.0], [3], [True], [0], precision) for precision in (0.1, 0.9))
    assert doubtful < sure


def test_pages_do_not_disturb_each_other() -> None:
    together = shown([100.0, 20.0, 50.0], [0, 2, 1], [True, True, False], [0, 1, 1])

    assert together[0] == shown([100.0], [0], [True], [0])[0]
    assert together[1] == shown([20.0, 50.0], [2, 1], [True, False], [0, 0])[0]


def test_a_page_that_was_often_visited_is_known_by_its_own_visits() -> None:
    rng = np.random.default_rng(2)
    changed = (rng.random(2000) < -np.expm1(-0.3)).tolist()

    (rate,) = shown([1.0] * 2000, [0] * 2000, changed, [0] * 2000)

    # Without a signal ever, all changes are the silent half: c counts what is to be expected of them.
    assert 0.24 < rate < 0.3
