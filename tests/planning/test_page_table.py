"""The columns of the page table: loading, growing, and how many bytes a page takes."""

import tracemalloc

import numpy as np
import pytest
from planning_world import columns_of, new_page, new_planner

from scrapy_freshness.model import PageColumns, PageRecord, PageStatus
from scrapy_freshness.planning.table import PageTable, priority_factor

PRIOR = {"change_rate": 1.0}


def test_rows_keep_their_numbers_and_contents_while_the_table_grows() -> None:
    table = PageTable()
    for number in range(3000):
        record = new_page(number, f"{number % 7}.example", importance=number / 10, priority=number % 3)
        record.page_id = number + 1
        assert table.add(record, {"change_rate": 1 / (number + 1)}, now=float(number)) == number

    assert len(table) == 3000
    rows = np.arange(3000)
    assert np.array_equal(table.page_id[rows], rows + 1)
    assert np.allclose(table.importance[rows], rows / 10)
    assert np.allclose(table.change_rate[rows], 1 / (rows + 1))
    assert np.array_equal(table.wake[rows], rows)
    assert np.isnan(table.last_visit[rows]).all()
    assert not table.taken[rows].any()
    assert not table.resting[rows].any()
    assert [table.hosts[host] for host in table.host[rows[:8]]] == [f"{n % 7}.example" for n in range(8)]
    assert np.allclose(table.first_factor[rows], np.exp(rows % 3 / 100))


def test_columns_grow_one_after_the_other() -> None:
    """Copying all of ten million pages in one call would stop the reactor for too long."""
    table = PageTable()
    copied = []
    for number in range(5000):
        before = [id(getattr(table, name)) for name in PageTable.__annotations__]
        table.add(new_page(number), {"change_rate": 1.0}, now=0.0)
        after = [id(getattr(table, name)) for name in PageTable.__annotations__]
        copied.append(sum(a != b for a, b in zip(before, after, strict=True)))

    assert max(copied) <= 2
    assert sum(copied) < 300


def test_pages_can_be_added_to_those_that_were_loaded() -> None:
    known = [
        PageRecord(page_id=5, fingerprint=1, url="u", host="b", last_visit_at=3.0, status=PageStatus.ACTIVE),
        PageRecord(page_id=6, fingerprint=2, url="v", host="a", priority=50),
    ]
    table = PageTable()
    assert table.load(columns_of(known), now=10.0, prior=PRIOR) == 0

    row = table.add(new_page(3, "c"), {"change_rate": 0.5}, now=10.0)

    assert row == 2
    assert [table.hosts[host] for host in table.host[:3]] == ["b", "a", "c"]
    assert table.last_visit[0] == 3.0
    assert table.first_factor[:3].tolist() == pytest.approx([1, np.exp(0.5), 1])


def test_visits_in_the_future_are_counted_and_taken_as_now() -> None:
    """The machine's clock was set back between two runs."""
    known = [
        PageRecord(page_id=n, fingerprint=n, url="u", host="a", last_visit_at=at, status=PageStatus.ACTIVE)
        for n, at in enumerate([5.0, 10.0, 11.0, 1e9])
    ]
    table = PageTable()

    assert table.load(columns_of(known), now=10.0, prior=PRIOR) == 2
    assert table.last_visit[:4].tolist() == [5.0, 10.0, 10.0, 10.0]


@pytest.mark.parametrize(("priority", "factor"), [(0, 1), (100, np.e), (-100, 1 / np.e), (10**9, np.exp(50))])
def test_the_priority_of_a_request_weighs_its_first_visit(priority: int, factor: float) -> None:
    assert priority_factor(np.array([priority])) == pytest.approx([factor])


@pytest.mark.parametrize("status", [PageStatus.ACTIVE, PageStatus.NEW])
def test_a_known_page_takes_at_most_120_bytes(status: PageStatus) -> None:
    """Also one that was not visited yet and has a priority, as with DEPTH_PRIORITY."""
    count = 200_000
    rng = np.random.default_rng(1)
    pages = PageColumns(
        hosts=[f"{number}.example" for number in range(5000)],
        page_id=np.arange(count),
        fingerprint=rng.integers(-(2**63), 2**63 - 1, count),
        host=rng.integers(0, 5000, count).astype(np.int32),
        status=np.full(count, status, np.uint8),
        kind=np.zeros(count, np.uint8),
        priority=np.full(count, -3, np.int32),
        importance=np.ones(count, np.float32),
        discovered_at=np.zeros(count),
        last_visit_at=np.full(count, 0.0 if status is PageStatus.ACTIVE else np.nan),
        not_before=np.zeros(count),
        failures=np.zeros(count, np.int32),
        change_rate=np.full(count, 1e-5, np.float32),
    )
    tracemalloc.start()
    try:
        planner = new_planner(rate=10.0)
        planner.load(pages, count, 1.0)
        planner.start(1.0)
        planner.wanted(1e6)
        for number in range(1000):
            planner.discover(new_page(number), 1e6)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(planner) == count + 1000
    assert held / count <= 120


def test_a_belief_that_all_pages_share_takes_no_room_until_one_differs() -> None:
    table = PageTable({"recall", "link_rate"})
    for number in range(100):
        table.add(new_page(number), {"change_rate": 1.0, "recall": 0.25}, now=0.0)
    assert not hasattr(table, "recall")
    assert table.beliefs(slice(100)).need("recall").tolist() == [0.25] * 100

    table.believe(np.array([3, 5]), {"recall": np.array([0.25, 0.5]), "link_rate": np.zeros(2)})
    for number in range(100, 1000):
        table.add(new_page(number), {"change_rate": 1.0, "recall": number / 1000}, now=0.0)

    assert not hasattr(table, "link_rate")
    found = table.beliefs(np.arange(1000)).need("recall")
    expected = np.concatenate([np.full(100, 0.25), np.arange(100, 1000) / 1000])
    expected[5] = 0.5
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_signals_take_room_once_one_is_heard() -> None:
    table = PageTable({"signals"})
    for number in range(10):
        table.add(new_page(number), {"change_rate": 1.0}, now=0.0)
    table.last_visit[:10] = 5.0
    assert table.beliefs(slice(10)).need("signals").tolist() == [0] * 10
    assert table.signals_of(3).only is None

    rows, sources = np.array([3, 4, 4]), np.array([0, 1, 1])
    table.hear(rows, sources, np.array([False, False, True]), np.full(3, 64.0))

    assert table.beliefs(slice(10)).need("signals").tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    assert table.signals_of(3) == ((1, 0, 0, 0), (0, 0, 0, 0), 12)
    assert table.signals_of(4) == ((0, 1, 0, 0), (0, 1, 0, 0), None)
    table.forget_signals(4)
    assert not any(table.signals_of(4).signals + table.signals_of(4).late)
