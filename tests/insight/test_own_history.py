"""Which of the policies that were tried was ahead, and whether that means something."""

import pytest

from scrapy_freshness.insight.own_history import Result, Trial, lead_at


def result(policy: str, freshness: float | None, budget: float = 1.0, stderr: float | None = 0.01) -> Result:
    return Result(policy=policy, budget_per_second=budget, freshness=freshness, stderr=stderr)


def trial(*results: Result) -> Trial:
    return Trial(results=results, pages=9, days=1.0)


@pytest.mark.parametrize(("behind", "is_clear"), [(0.60, True), (0.69, False)])
def test_a_lead_is_clear_if_it_is_more_than_its_error(behind: float, is_clear: bool) -> None:
    lead = lead_at(trial(result("uniform", behind), result("holistic", 0.7), result("optimum", 0.9)), 1.0)

    assert lead is not None
    assert (lead.first.policy, lead.second.policy) == ("holistic", "uniform")
    assert lead.error == pytest.approx(0.0283, abs=1e-4)
    assert lead.is_clear == is_clear


def test_the_budget_next_to_the_present_one_counts() -> None:
    low = [result("uniform", 0.5, 0.5), result("holistic", 0.4, 0.5)]
    high = [result("uniform", 0.6, 2.0), result("holistic", 0.8, 2.0)]

    lead = lead_at(trial(*low, *high), 0.6)

    assert lead is not None
    assert lead.first is low[0]


def test_without_a_rival_nobody_leads() -> None:
    assert lead_at(trial(), 1.0) is None
    assert (
        lead_at(trial(result("holistic", 0.7), result("optimum", 0.9), result("uniform", None)), 1.0) is None
    )


def test_without_an_error_a_lead_is_not_clear() -> None:
    lead = lead_at(trial(result("uniform", 0.1, stderr=None), result("holistic", 0.7)), 1.0)

    assert lead is not None
    assert lead.error is None
    assert not lead.is_clear
