"""Waste is told in fetches: what a host takes of the budget, whatever its pages are."""

import numpy as np

from scrapy_freshness.dashboard.hosts_table import HostSums
from scrapy_freshness.storage.reports import HostTaken


def test_a_host_that_takes_twenty_fetches_a_visit_wastes_more_than_one_with_more_visits() -> None:
    columns = {
        "host": np.array([0, 1, 1], np.int32),
        "kind": np.array([0, 0, 2], np.uint8),
        "importance": np.ones(3),
        "visits": np.array([10, 20, 20]),
        "changes": np.array([0, 2, 2]),
    }
    taken = {
        "loops.example": HostTaken(fetches=210, redirects=200, retries=0, fruitful=0),
        "calm.example": HostTaken(fetches=41, redirects=0, retries=0, fruitful=6),
        "pushes.example": HostTaken(fetches=1, redirects=0, retries=0, fruitful=9),
    }

    sums = HostSums.of(
        columns,
        ["loops.example", "calm.example", "pushes.example", "never-asked.example"],
        taken,
        freshness=np.array([np.nan, 0.5, 0.7]),
        is_new=np.array([True, False, False]),
        is_due=np.array([False, True, False]),
    )

    assert sums.wasted.tolist() == [210, 35, 0, 0]
    assert sums.fetches.tolist() == [210, 41, 1, 0]
    assert sums.redirects.tolist() == [200, 0, 0, 0]
    assert sums.pages.tolist() == [1, 1, 0, 0]
    assert sums.visits.tolist() == [10, 40, 0, 0]
    assert (sums.waste.fetches, sums.waste.wasted, sums.waste.redirects) == (252, 245, 200)
