"""What visits to siblings found counts for the next visit, and not for what happens in the long run."""

from dataclasses import replace

import numpy as np
import pytest

from scrapy_freshness.estimation.sibling_pace import SiblingPaces
from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.model import PageColumns, PageStatus
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.planner import UNKNOWN_PAGE, Planner
from scrapy_freshness.planning.policy import policy_named

NOW, PRICE, N_PAGES = 10_000.0, 500.0, 30
POLICY = policy_named("holistic")


@pytest.fixture
def groups() -> dict[str, bytes]:
    """The pages of the busy host have all changed where that was hardly expected."""
    paces = SiblingPaces()
    pages = np.arange(40)
    paces.observe(
        np.zeros(40, np.intp), pages, np.full(40, 5_000.0), np.full(40, 9_000.0), pages >= 0, np.full(40, 0.1)
    )
    state = paces.pack(0)
    assert state is not None
    return {'["siblings", "busy"]': state}


@pytest.fixture
def columns(rng: np.random.Generator) -> PageColumns:
    n = 2 * N_PAGES
    rates = np.geomspace(1e-5, 1e-3, n)
    return PageColumns(
        hosts=["busy", "quiet"],
        page_id=np.arange(n) + 1,
        fingerprint=np.arange(n),
        host=np.arange(n, dtype=np.int32) % 2,
        status=np.full(n, PageStatus.ACTIVE, np.uint8),
        kind=np.zeros(n, np.uint8),
        priority=np.zeros(n, np.int32),
        importance=np.ones(n, np.float32),
        discovered_at=np.zeros(n),
        last_visit_at=rng.uniform(4_000.0, 6_000.0, n),
        not_before=np.zeros(n),
        failures=np.zeros(n, np.int32),
        change_rate=rates.astype(np.float32),
        beliefs={"mean_rate": (1.2 * rates).astype(np.float32), "doubt": np.full(n, 0.3, np.float32)},
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def terms(groups: dict[str, bytes]) -> Terms:
    return Terms(
        policy=POLICY,
        budget_per_second=0.02,
        price=PRICE,
        min_interval=1.0,
        prior=learner_for(POLICY).prior(UNKNOWN_PAGE),
        blocked_until={},
        siblings=groups,
    )


def test_values_are_those_of_the_planner(
    columns: PageColumns, terms: Terms, groups: dict[str, bytes]
) -> None:
    planner = Planner(POLICY, Hosts(5.0, 60.0), learner_for(POLICY))
    planner.load(columns, 1_000, NOW, groups)
    planner.start(NOW, price=PRICE)
    outlook = Outlook(terms, columns, NOW)
    alone = Outlook(replace(terms, siblings={}), columns, NOW)

    assert outlook.values() == pytest.approx(planner._frontier.values(np.arange(2 * N_PAGES), NOW), rel=1e-6)
    assert outlook.values()[::2].sum() > 1.5 * alone.values()[::2].sum()
    assert outlook.next_visits()[::2].sum() < alone.next_visits()[::2].sum()


def test_in_the_long_run_siblings_change_as_expected(columns: PageColumns, terms: Terms) -> None:
    outlook, alone = (Outlook(each, columns, NOW) for each in (terms, replace(terms, siblings={})))

    assert outlook.believed("pace")[::2].min() > 1.5
    assert outlook.long_run_price() == pytest.approx(alone.long_run_price())
    assert outlook.price_on("busy", 0.01) == pytest.approx(alone.price_on("busy", 0.01))
    assert outlook.long_run_intervals(PRICE) == pytest.approx(alone.long_run_intervals(PRICE))
    assert outlook.visits_per_second(PRICE) == pytest.approx(alone.visits_per_second(PRICE))
    assert outlook.values_after(3600.0) == pytest.approx(alone.values_after(3600.0))
