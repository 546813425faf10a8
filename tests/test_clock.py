"""Time never runs backwards, and goes on at the right speed whatever happens to the machine's clock."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.clock import Clock, ManualClock, SystemClock


class Machine:
    """A machine's two clocks, moved by hand."""

    def __init__(self) -> None:
        self.passed = 0.0  # since it was started
        self.set_at = 1_700_000_000.0  # what the wall clock would have shown at the start

    @property
    def wall(self) -> float:
        return self.set_at + self.passed

    def clock(self, monkeypatch: pytest.MonkeyPatch) -> SystemClock:
        # Of this module only: timers of threads that run elsewhere in the process would never ring again.
        clocks = SimpleNamespace(time=lambda: self.wall, monotonic=lambda: self.passed)
        monkeypatch.setattr("scrapy_freshness.clock.time", clocks)
        return SystemClock()


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_the_system_clock_tells_unix_time(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = machine.clock(monkeypatch)
    machine.passed += 60

    assert clock.now() == pytest.approx(1_700_000_060.0, abs=1e-6)


def test_a_step_backwards_does_not_stop_the_clock(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = machine.clock(monkeypatch)
    before = clock.now()
    machine.set_at -= 3600
    at_once = clock.now()
    machine.passed += 10

    assert at_once >= before
    assert clock.now() - before == pytest.approx(10, abs=1e-6)


def test_a_step_forwards_is_time_that_passed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that was suspended: its monotonic clock stood still."""
    clock = machine.clock(monkeypatch)
    before = clock.now()
    machine.set_at += 7200

    assert clock.now() - before == pytest.approx(7200, abs=1e-6)


def test_a_step_backwards_that_is_undone_leaves_no_trace(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = machine.clock(monkeypatch)
    for _ in range(3):
        machine.set_at -= 3600
        machine.passed += 1
        clock.now()
        machine.set_at += 3600
        machine.passed += 1

    assert clock.now() == pytest.approx(machine.wall, abs=1e-6)


def test_looking_at_the_clock_often_does_not_make_it_fast(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two clocks are read one after the other and have different grains; errors must not add up."""
    clock = machine.clock(monkeypatch)
    rng = np.random.default_rng(1)
    start = machine.wall
    for between in rng.exponential(1e-3, 20_000).tolist():
        machine.passed += between
        machine.set_at = 1_700_000_000.0 + float(rng.uniform(0, 1e-6))
        clock.now()

    assert clock.now() - start == pytest.approx(machine.passed, abs=1e-5)


@given(
    st.lists(st.tuples(st.floats(0, 1e4), st.floats(-1e6, 1e6)), max_size=30),
)
def test_the_system_clock_never_runs_backwards_nor_slower_than_time(
    events: list[tuple[float, float]],
) -> None:
    machine = Machine()
    with pytest.MonkeyPatch.context() as monkeypatch:
        clock = machine.clock(monkeypatch)
        last = clock.now()
        for passed, jump in events:
            machine.passed += passed
            machine.set_at += jump
            now = clock.now()

            assert now - last >= passed - 1e-5
            last = now


def test_the_real_clocks_agree_with_the_system_clock() -> None:
    clock: Clock = SystemClock()
    before = time.time()
    now = clock.now()

    assert before - 1e-3 <= now
    assert clock.now() >= now


def test_a_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(100.0)
    assert clock.now() == clock.now() == 100.0

    clock.advance_to(130.0)
    assert clock.now() == 130.0


def test_a_manual_clock_refuses_to_go_back() -> None:
    clock = ManualClock(100.0)

    with pytest.raises(ValueError, match="forwards"):
        clock.advance_to(99.0)
