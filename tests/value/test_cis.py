"""GREEDY-CIS and GREEDY-CIS+: the paper's closed form, and whom they believe."""

import numpy as np
import pytest
from believed import page, value
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.value.cis import Cis, CisPlus
from scrapy_freshness.value.greedy import Greedy


def test_the_spot_value() -> None:
    assert value(Cis(), 3.0, change_rate=0.5, recall=0.5, signals=0) == pytest.approx(0.55679411, abs=1e-8)


@given(rate=st.floats(1e-9, 1e6), recall=st.floats(0.001, 0.999), changes=st.floats(0.1, 100))
def test_it_is_the_closed_form_of_the_paper(rate: float, recall: float, changes: float) -> None:
    alpha, gamma, elapsed = (1 - recall) * rate, recall * rate, changes / rate
    expected = -np.expm1(-changes) / rate + np.exp(-alpha * elapsed) * np.expm1(-gamma * elapsed) / gamma

    found = value(Cis(), elapsed, change_rate=rate, recall=recall, signals=0)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12 / rate)


@given(recall=st.floats(0.001, 1), elapsed=st.floats(0, 1e9), signals=st.floats(0.01, 9))
def test_a_signal_means_stale(recall: float, elapsed: float, signals: float) -> None:
    beliefs = page(importance=3.0, change_rate=2.0, recall=recall, signals=signals)

    assert value(Cis(), elapsed, importance=3.0, change_rate=2.0, recall=recall, signals=signals) == 1.5
    assert Cis().freshness(beliefs, np.array([elapsed]))[0] == 0
    assert Cis().elapsed_at(beliefs, 1.5)[0] == 0
    assert Cis().elapsed_at(beliefs, 1.51)[0] == np.inf


def test_with_all_changes_announced_a_page_is_left_alone_until_its_signal() -> None:
    assert value(Cis(), 1e9, recall=1.0, signals=0) == 0
    assert Cis().elapsed_at(page(recall=1.0, signals=0), 1e-9)[0] == np.inf


@given(elapsed=st.floats(1e-3, 100), signals=st.integers(0, 2))
def test_cis_plus_is_cis_on_good_pages_and_greedy_on_others(elapsed: float, signals: int) -> None:
    """Precision is recall/(recall + nu) here."""
    for recall, nu, is_good in (
        (0.61, 0.25, True),
        (0.61, 0.27, False),
        (0.59, 0.01, False),
        (1.0, 0.0, True),
    ):
        columns = {"recall": recall, "signals": signals}
        expected = value(Cis() if is_good else Greedy(), elapsed, **columns)
        assert value(CisPlus(), elapsed, false_rate=nu, **columns) == pytest.approx(expected, rel=1e-12)


def test_the_thresholds_of_cis_plus_can_be_chosen() -> None:
    columns = {"recall": 0.5, "false_rate": 0.5, "signals": 1.0}

    assert value(CisPlus(), 0.1, **columns) < 0.1
    assert value(CisPlus(least_precision=0.4, least_recall=0.4), 0.1, **columns) == 1
