"""Trust in the signals of a host: recovered from simulated visits, bounded, forgetful and kept."""

import numpy as np
import pytest

from scrapy_freshness.estimation.host_signals import WINDOW, Cell, HostSignals, Trust, trust_in
from scrapy_freshness.model import SignalSource


def visits(
    host: HostSignals,
    rng: np.random.Generator,
    recall: float,
    precision: float,
    count: int,
    noise: float = 0.0,
) -> None:
    """Visits to 60 pages whose rates differ by a factor of 200, and are known up to some noise.

    Without recall the signals lie: every page is announced every three days, whatever it does.
    """
    rates, errors = 10 ** rng.uniform(-2, 0.3, 60), np.exp(noise * rng.standard_normal(60))
    for number in rng.integers(0, 60, count).tolist():
        x = float(
            rng.exponential(np.sqrt(rates[number]))
        )  # slow pages are visited more often than they change
        true = int(rng.poisson(recall * x))
        false_rate = recall * (1 - precision) / precision if recall else 1 / (3 * rates[number])
        false = int(rng.poisson(false_rate * x))
        changed = true > 0 or rng.random() > np.exp(-(1 - recall) * x)
        host.add(x * errors[number], (min(true + false, 255), 0, 0, 0), bool(changed))


def drawn_trust(seed: int, recall: float, precision: float, count: int = 1000, noise: float = 0.0) -> Trust:
    host = HostSignals()
    visits(host, np.random.default_rng(seed), recall, precision, count, noise)
    return trust_in([host])


@pytest.mark.parametrize(
    ("recall", "precision"), [(0.98, 0.98), (0.5, 0.98), (0.1, 0.98), (0.7, 0.5), (0.0, 0.0)]
)
def test_precision_and_recall_are_known_to_a_twentieth_after_a_thousand_visits(
    recall: float, precision: float
) -> None:
    found = [drawn_trust(seed, recall, precision, noise=0.3) for seed in range(10)]
    errors = np.array([
        (each.precision.value[0, 0] - precision, each.recall.value[0, 0] - recall) for each in found
    ])  # fmt: skip

    assert np.abs(errors).mean(axis=0) == pytest.approx([0, 0], abs=0.05)


def test_nine_of_ten_intervals_contain_the_truth_also_when_old_visits_have_faded() -> None:
    for count in (300, 2000):
        found = [drawn_trust(seed, 0.6, 0.6, count) for seed in range(40)]
        for shares in zip(*((each.precision, each.recall) for each in found), strict=True):
            covered = [share.low[0, 0] <= 0.6 <= share.high[0, 0] for share in shares]
            assert np.mean(covered) >= 0.9 - 3 * np.sqrt(0.09 / 40)
            widths = [share.high[0, 0] - share.low[0, 0] for share in shares]
            assert np.mean(widths) < 0.3


def test_pages_of_very_different_rates_unmask_signals_that_come_by_the_clock() -> None:
    """On one page alone, signals at a constant rate are as good an explanation of changes as time is."""
    rng = np.random.default_rng(2)
    host = HostSignals()
    for _ in range(500):
        rate, days = float(10 ** rng.uniform(-3, 0)), int(rng.integers(1, 4))
        host.add(rate * days, (days, 0, 0, 0), bool(rng.random() < -np.expm1(-rate * days)))

    trust = trust_in([host])

    assert trust.precision.value[0, 0] < 0.05
    assert trust.recall.value[0, 0] < 0.2


def announced_by_the_clock(seed: int, recall: float, *, tells_pace: bool) -> tuple[HostSignals, float]:
    """False signals come for every page at the same rate; also returns the precision of all signals."""
    rng, host, true_signals = np.random.default_rng(seed), HostSignals(), 0
    rates, errors = 10 ** rng.uniform(-3.3, -1.3, 200), np.exp(0.3 * rng.standard_normal(200))
    for number in rng.integers(0, 200, 2500).tolist():
        rate = float(rates[number])
        seconds = float(rng.exponential(1.5 / np.sqrt(rate * 0.01)))
        true, false = int(rng.poisson(recall * rate * seconds)), int(rng.poisson(0.005 * seconds))
        changed = true > 0 or rng.random() > np.exp(-(1 - recall) * rate * seconds)
        believed = rate * float(errors[number])
        signals = (min(true + false, 255), 0, 0, 0)
        host.add(believed * seconds, signals, bool(changed), rate=believed if tells_pace else 1.0)
        true_signals += true
    return host, true_signals / float(host.heard[0])


def test_false_signals_that_do_not_follow_the_changes_are_known_by_the_pace_of_pages() -> None:
    """One precision for all pages would be far too low, because it is not the same for all of them."""
    for tells_pace in (True, False):
        errors = []
        for seed in range(10):
            host, precision = announced_by_the_clock(seed, 0.5, tells_pace=tells_pace)
            found = trust_in([host])
            errors.append((found.precision.value[0, 0] - precision, found.recall.value[0, 0] - 0.5))
        bias = np.mean(errors, axis=0)
        assert (np.abs(bias) < 0.05).all() if tells_pace else (bias < -0.1).all(), bias


@pytest.mark.parametrize("recall", [0.98, 0.5])
def test_changes_that_are_announced_after_the_visit_that_found_them_are_announced(recall: float) -> None:
    """A third of the single signals comes after the visit that they could have announced."""
    errors = []
    for seed in range(10):
        rng, host = np.random.default_rng(seed), HostSignals()
        for _ in range(1500):
            x = float(rng.exponential(0.7))
            true, false = int(rng.poisson(recall * x)), int(rng.poisson(0.1 * x))
            changed = true > 0 or rng.random() > np.exp(-(1 - recall) * x)
            is_afterwards = true + false == 1 and rng.random() < 1 / 3
            host.add(x, (0 if is_afterwards else true + false, 0, 0, 0), bool(changed))
            if is_afterwards:
                host.told_afterwards(SignalSource.SITEMAP, x, bool(changed))
        found, precision = trust_in([host]), recall / (recall + 0.1)
        errors.append((found.precision.value[0, 0] - precision, found.recall.value[0, 0] - recall))

    assert np.abs(errors).mean(axis=0) == pytest.approx([0, 0], abs=0.05)


def test_who_was_never_visited_in_silence_cannot_be_told_afterwards() -> None:
    host = HostSignals()
    host.add(0.5, (1, 0, 0, 0), changed=True)
    before = host.pack()

    host.told_afterwards(SignalSource.SITEMAP, 0.5, changed=True)

    assert host.pack() == before


def test_what_is_known_of_a_host_does_not_depend_on_the_others() -> None:
    hosts = [announced_by_the_clock(1, 0.5, tells_pace=True)[0], HostSignals()]
    visits(hosts[1], np.random.default_rng(5), 0.5, 0.7, 300)

    together, alone = trust_in(hosts), [trust_in([host]) for host in hosts]

    for number, own in enumerate(alone):
        for found, known in ((together.precision, own.precision), (together.recall, own.recall)):
            for end, own_end in zip(found, known, strict=True):
                np.testing.assert_allclose(end[number], own_end[0], atol=2e-3)


def test_a_host_that_turns_is_found_out_after_a_window_of_signals() -> None:
    """Honest, lying, honest again: after 500 signals it is half believed, after 1,000 three quarters."""
    rng = np.random.default_rng(3)
    host, precisions = HostSignals(), []
    for recall, precision in ((0.9, 0.9), (0.0, 0.0), (0.9, 0.9)):
        for _ in range(2):
            goal = host.heard[0] + WINDOW
            while host.heard[0] < goal:
                visits(host, rng, recall, precision, 10)
            precisions.append(float(trust_in([host]).precision.value[0, 0]))

    assert precisions[1] > 0.85
    assert precisions[2] < 0.5
    assert precisions[3] < 0.25
    assert precisions[4] > 0.4
    assert precisions[5] > 0.65


def test_rare_signals_are_not_forgotten_for_visits_without_any() -> None:
    host = HostSignals()
    for _ in range(100):
        host.add(0.2, (0, 0, 1, 0), changed=True)
    before = trust_in([host]).precision
    for _ in range(2000):
        host.add(0.2, (0, 0, 0, 0), changed=False)

    after = trust_in([host])

    assert after.precision.value[0, 2] == pytest.approx(before.value[0, 2], abs=0.02)
    assert after.recall.value[0, 2] > 0.3, "signals are rare, but so are changes"


def test_what_is_kept_is_what_was_known() -> None:
    host = HostSignals()
    visits(host, np.random.default_rng(5), 0.5, 0.7, 800)
    host.delays.add(12, x=0.1, changed=False, silent=0.5, precision=np.full(4, 0.8))

    packed = host.pack()
    again = HostSignals.unpack(packed)

    assert again is not None
    assert len(packed) < 1000
    assert again.visits == 800
    assert again.delays.heeding_helps == pytest.approx(host.delays.heeding_helps)
    np.testing.assert_allclose(again.heard, host.heard)
    np.testing.assert_allclose(trust_in([again]).precision.value, trust_in([host]).precision.value, rtol=1e-4)
    visits(again, np.random.default_rng(6), 0.5, 0.7, 10)
    visits(host, np.random.default_rng(6), 0.5, 0.7, 10)
    np.testing.assert_allclose(trust_in([again]).recall.value, trust_in([host]).recall.value, rtol=1e-3)


@pytest.mark.parametrize("packed", [b"", b"\x01", b"\x01" + bytes(60), bytes(48)])
def test_what_is_damaged_or_of_another_version_is_not_read(packed: bytes) -> None:
    assert HostSignals.unpack(packed) is None


def test_cells_are_numbered_both_ways() -> None:
    for x in (1e-6, 0.1, 1.0, 50.0):
        for signals in ((0, 0, 0, 0), (1, 0, 0, 3), (0, 255, 255, 0)):
            for changed in (False, True):
                for rate in (0.0, 1e-6, 0.1, 50.0):
                    cell = Cell.of(x, signals, changed, rate)
                    assert Cell.numbered(cell.number) == cell
                    assert cell.number < 2**16


def test_weights_stay_small_however_many_visits_come() -> None:
    host = HostSignals()
    for _ in range(20_000):
        host.add(1.0, (1, 0, 0, 0), changed=True)

    (_, sums), = host.cells()  # fmt: skip
    assert sums == pytest.approx([WINDOW, WINDOW, WINDOW, 0, 0, 0], rel=1e-3)
