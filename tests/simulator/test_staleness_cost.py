"""Costs and very stale intervals, against a second count and the paper's formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.simulator.staleness_cost import CrawlIntervals
from scrapy_freshness.simulator.streams import poisson_events

times = st.lists(st.floats(0.01, 99.9), max_size=8, unique=True).map(lambda each: np.array(sorted(each)))


@given(changes=times, crawls=times)
def test_staleness_is_what_a_clock_counts(changes: np.ndarray, crawls: np.ndarray) -> None:
    found = CrawlIntervals.of([changes], [crawls], 0.0, 100.0)

    stale = 0.0
    for begin, end in zip([0.0, *crawls], [*crawls, 100.0], strict=True):
        within = changes[(changes > begin) & (changes < end)]
        stale += end - within[0] if len(within) else 0.0
    assert found.stale_seconds.sum() == pytest.approx(stale)
    assert found.crawls == len(crawls)
    assert found.cost_per_second(3.0, 2.0) == pytest.approx((3 * len(crawls) + 2 * stale) / 100)


def test_regular_crawls_cost_what_the_formula_says() -> None:
    """Section 3.1 with r = 1/2: (1 - (1 - e^-r)/r) Cs + Cc/(r period); a share 1 - e^-r has a change."""
    changes = poisson_events(np.full(4000, 1.0), 50.0, np.random.default_rng(4))
    crawls = [np.arange(0.5, 50.0, 0.5)] * 4000
    found = CrawlIntervals.of([changes.of(page) for page in range(4000)], crawls, 0.0, 50.0)

    staleness = 1 - (1 - np.exp(-0.5)) / 0.5
    assert found.cost_per_second(0.0, 1.0) == pytest.approx(staleness, abs=0.003)
    assert found.cost_per_second(1.0, 0.0) == pytest.approx(2.0, rel=0.02)
    assert found.changed_share == pytest.approx(1 - np.exp(-0.5), abs=0.004)
    assert found.very_stale_share(0.3) == pytest.approx(1 - np.exp(-0.2), abs=0.004)
    of_changed = (1 - np.exp(-0.2)) / (1 - np.exp(-0.5))
    assert found.very_stale_share_of_changed(0.3) == pytest.approx(of_changed, abs=0.006)
    assert found.very_stale_share(0.5) == 0


def test_nothing_can_be_said_of_no_intervals() -> None:
    found = CrawlIntervals.of([np.array([1.0])], [np.empty(0)], 0.0, 4.0)

    assert np.isnan(found.changed_share)
    assert np.isnan(found.very_stale_share(1.0))
    assert found.cost_per_second(1.0, 1.0) == pytest.approx(0.75)
