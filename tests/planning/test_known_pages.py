"""How many pages of a host are known, whatever is found and forgotten."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from planning_world import columns_of

from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named

HOSTS = ["a.example", "b.example", "c.example"]


def page(number: int, host: str) -> PageRecord:
    return PageRecord(page_id=number, fingerprint=number, url=f"http://{host}/{number}", host=host)


@given(st.lists(st.sampled_from(HOSTS)), st.lists(st.sampled_from([*HOSTS, "forget"]), max_size=40))
def test_pages_of_a_host_are_counted(loaded: list[str], then: list[str]) -> None:
    policy = policy_named("greedy")
    planner = Planner(policy, Hosts(5.0, 60.0), learner_for(policy))
    planner.load(columns_of([page(number, host) for number, host in enumerate(loaded)]), len(loaded), 0.0)
    planner.start(0.0)
    rng = np.random.default_rng(1)
    for number, event in enumerate(then, len(loaded)):
        if event != "forget":
            planner.discover(page(number, event), 0.0)
        elif len(planner):
            planner.forget(int(rng.integers(len(planner))))

    for host in [*HOSTS, "d.example"]:
        assert planner.known.count_pages(host) == len(planner.known.rows_of_host(host))
