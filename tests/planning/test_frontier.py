"""The lazy arg max over the page table: exact, polite, and cheap because most pages sleep."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning_world import columns_of

from scrapy_freshness.model import PageRecord, PageStatus
from scrapy_freshness.planning.frontier import Frontier
from scrapy_freshness.planning.table import PageTable
from scrapy_freshness.value.contract import Beliefs, FloatArray
from scrapy_freshness.value.greedy import Greedy
from scrapy_freshness.value.uniform import Uniform


class CountingGreedy(Greedy):
    """GREEDY that counts the pages it evaluates."""

    def __init__(self) -> None:
        self.evaluated = 0

    def value(self, beliefs: Beliefs, elapsed: FloatArray) -> FloatArray:
        self.evaluated += len(elapsed)
        return super().value(beliefs, elapsed)


def page(number: int, **columns) -> PageRecord:
    columns = {"status": PageStatus.ACTIVE, "last_visit_at": 0.0, "change_rate": 0.01} | columns
    host = columns.pop("host", "a")
    return PageRecord(page_id=number, fingerprint=number, url=str(number), host=host, **columns)


def table_of(pages: list[PageRecord], now: float = 0.0) -> PageTable:
    table = PageTable()
    table.load(columns_of(pages), now, {"change_rate": 0.01})
    return table


def frontier_of(pages, now=0.0, price=0.0, model=None, floor=0.0, min_interval=0.0) -> Frontier:
    frontier = Frontier(table_of(pages, now), model or Greedy(), floor, min_interval)
    frontier.start(price, now, floor=floor)
    return frontier


def table(frontier: Frontier) -> PageTable:
    return frontier._table


def take(frontier: Frontier, now: float, count: int = 1, full: tuple[str, ...] = ()) -> list[int]:
    """Rows of the best pages; asks again while waking times are being computed."""
    hosts = table(frontier).hosts
    full_hosts = np.array([host in full for host in hosts], np.bool_)
    for _ in range(1000):
        rows, _ = frontier.take_best(now, count, full_hosts)
        if len(rows) or frontier.is_exhausted:
            return rows.tolist()
    raise AssertionError("neither a page nor an end")


random_pages = st.lists(
    st.builds(
        lambda importance, rate, last: page(0, importance=importance, change_rate=rate, last_visit_at=last),
        st.floats(2**-7, 100, width=32),
        st.floats(2**-17, 8, width=32),
        st.floats(0, 90),
    ),
    min_size=1,
    max_size=40,
)


@given(pages=random_pages, price=st.sampled_from([0.0, 1e-6, 0.1, 10.0, 1e9]), count=st.integers(1, 5))
def test_the_pages_taken_are_the_best_whatever_the_price_so_far(
    pages: list[PageRecord], price: float, count: int
) -> None:
    frontier = frontier_of(pages, now=90.0, price=price)
    values = frontier.values(np.arange(len(pages)), 100.0)

    taken: list[int] = []
    while rows := take(frontier, 100.0, count):
        taken += rows

    assert sorted(taken) == list(range(len(pages)))
    best_first = values[taken]
    # A rung that is too high is lowered in steps; pages between two steps may change places.
    for earlier, later in pairwise(best_first):
        assert later <= earlier * (1 / 0.8 + 1e-9)
    assert best_first[0] == values.max()


def test_a_page_that_is_taken_is_not_taken_again_until_it_is_released() -> None:
    frontier = frontier_of([page(0), page(1)])

    assert sorted(take(frontier, 10.0) + take(frontier, 10.0)) == [0, 1]
    assert take(frontier, 1e6) == []
    frontier.release(np.array([1]), 20.0)
    assert take(frontier, 1e6) == [1]


def test_no_page_of_a_full_host_is_taken() -> None:
    frontier = frontier_of([page(0, importance=100.0, host="full"), page(1, host="free")])

    assert take(frontier, 10.0, count=2, full=("full",)) == [1]
    assert take(frontier, 10.0, full=("full",)) == []
    assert take(frontier, 10.0) == [0]


def test_full_hosts_do_not_lower_the_rung_for_nothing() -> None:
    """Otherwise all pages would be awake, and evaluated one by one, when the hosts have room again."""
    model = CountingGreedy()
    pages = [page(number, change_rate=1e-4 * (number + 1), host="full") for number in range(2000)]
    frontier = frontier_of(pages, price=1.0, model=model)
    for now in range(100, 200):
        assert take(frontier, float(now), full=("full",)) == []

    model.evaluated = 0
    take(frontier, 200.0)
    assert model.evaluated < 2 * len(pages)


def test_a_resting_page_is_not_taken_before_its_time() -> None:
    frontier = frontier_of([page(0, importance=1e6), page(1)])
    assert take(frontier, 10.0) == [0]
    frontier.rest(0, until=500.0)

    assert take(frontier, 499.0) == [1]
    frontier.release(np.array([1]), 499.0)
    assert take(frontier, 500.0) == [0]


def test_a_page_that_rests_for_ever_is_never_taken() -> None:
    frontier = frontier_of([page(0)])
    take(frontier, 10.0)
    frontier.rest(0, until=np.inf)

    assert take(frontier, 1e12) == []
    assert frontier.is_exhausted


def test_pages_loaded_with_a_time_before_which_they_rest_keep_it() -> None:
    frontier = frontier_of([page(0, not_before=300.0, importance=1e6), page(1)])

    assert take(frontier, 299.0) == [1]
    assert take(frontier, 300.0) == [0]


def test_suspended_pages_are_never_taken() -> None:
    frontier = frontier_of([page(0, status=PageStatus.SUSPENDED), page(1)], price=1.0)

    assert take(frontier, 1e9, count=2) == [1]
    assert take(frontier, 1e9) == []
    assert frontier.is_exhausted
    assert frontier.next_wake(0.0, np.zeros(1, np.bool_)) == np.inf


def test_a_page_rests_between_visits() -> None:
    frontier = frontier_of([page(0, last_visit_at=100.0)], now=100.0, min_interval=60.0)

    assert take(frontier, 159.9) == []
    assert frontier.is_exhausted
    assert frontier.next_wake(0.0, np.zeros(1, np.bool_)) == 160.0
    assert take(frontier, 160.0) == [0]


def test_new_pages_are_worth_their_limit_times_the_weight_of_their_priority() -> None:
    new = {"status": PageStatus.NEW, "last_visit_at": None}
    pages = [page(0, **new), page(1, priority=100, **new), page(2, priority=-100, **new), page(3)]
    frontier = frontier_of(pages)

    values = frontier.values(np.arange(4), 1e9)
    assert values.tolist() == pytest.approx([100.0, 100 * np.e, 100 / np.e, 100.0])
    assert take(frontier, 50.0, count=4) == [1, 0, 2, 3]


@pytest.mark.parametrize("last_visit_at", [None, 0.0])
def test_a_tombstone_whose_time_has_come_is_worth_a_crawl(last_visit_at: float | None) -> None:
    gone = page(0, status=PageStatus.GONE, importance=1e-6, last_visit_at=last_visit_at, not_before=500.0)
    frontier = frontier_of([gone, page(1, importance=5.0)], price=3.0)

    assert take(frontier, 499.0, count=2) == [1]
    assert take(frontier, 500.0) == [0]


def test_a_tombstone_whose_time_came_while_the_crawl_was_off_is_looked_at() -> None:
    gone = page(0, status=PageStatus.GONE, importance=1e-6, not_before=50.0)
    frontier = frontier_of([gone, *(page(number) for number in range(1, 4))], now=100.0, price=3.0)

    assert 0 in take(frontier, 100.0, count=4)


def test_a_tombstone_that_was_given_back_is_still_due() -> None:
    gone = page(0, status=PageStatus.GONE, importance=1e-6, not_before=50.0)
    frontier = frontier_of([gone], now=100.0, price=3.0)
    assert take(frontier, 100.0) == [0]
    frontier.release(np.array([0]), 101.0)

    assert take(frontier, 101.0) == [0]


def test_nothing_below_the_floor_is_taken_except_new_pages() -> None:
    pages = [page(0, importance=1.0), page(1, status=PageStatus.NEW, last_visit_at=None, importance=1e-9)]
    frontier = frontier_of(pages, floor=50.0)

    assert take(frontier, 10.0, count=2) == [1]
    as_stored = float(np.float32(0.01))
    beliefs = Beliefs(importance=np.ones(1), change_rate=np.array([as_stored]))
    reached = float(Greedy().elapsed_at(beliefs, 50.0)[0])
    assert take(frontier, reached - 1) == []
    assert frontier.next_wake(0.0, np.zeros(1, np.bool_)) == pytest.approx(reached)
    assert take(frontier, reached + 1e-3) == [0]


@given(rate=st.floats(2**-17, 8, width=32), last=st.floats(0, 2e9), share=st.floats(0.01, 0.99))
def test_a_page_that_wakes_at_its_very_time_is_worth_the_floor(
    rate: float, last: float, share: float
) -> None:
    """Times have few digits behind the point in this century, so the value at that time is rounded."""
    frontier = frontier_of([page(0, change_rate=rate, last_visit_at=last)], now=last, floor=share / rate)
    due = frontier.next_wake(0.0, np.zeros(1, np.bool_))

    if due < last + 30 / rate and due - last > 1.0:
        assert take(frontier, due) == [0]


def test_a_page_that_is_awake_too_early_sleeps_until_it_is_worth_the_floor() -> None:
    frontier = frontier_of([page(0), page(1)], floor=20.0)
    due = frontier.next_wake(0.0, np.zeros(1, np.bool_))
    table(frontier).wake[0] = 1.0

    assert take(frontier, 1.0) == []
    assert frontier.is_exhausted
    assert frontier.next_wake(0.0, np.zeros(1, np.bool_)) == due
    assert take(frontier, due) == [0]


def test_a_page_that_rested_and_is_not_worth_the_floor_can_be_woken_again() -> None:
    frontier = frontier_of([page(0), page(1)], floor=20.0)
    frontier.rest(0, until=1.0)

    assert take(frontier, 1.0) == []
    assert not table(frontier).resting[0]


def test_the_price_follows_the_values_of_visits() -> None:
    frontier = frontier_of([page(0)])
    frontier.chosen(8.0)
    assert frontier.price == 8.0

    for _ in range(200):
        frontier.chosen(2.0)
    assert frontier.price == pytest.approx(2.0, rel=1e-3)


def test_next_wake_leaves_full_hosts_out() -> None:
    pages = [page(0, host="a"), page(1, host="b", last_visit_at=30.0)]
    frontier = frontier_of(pages, now=30.0, min_interval=60.0)

    assert frontier.next_wake(0.0, np.array([False, False])) == 60.0
    assert frontier.next_wake(0.0, np.array([True, False])) == 90.0
    assert frontier.next_wake(0.0, np.array([True, True])) == np.inf
    assert frontier_of([]).next_wake(0.0, np.zeros(0, np.bool_)) == np.inf


def test_most_pages_sleep() -> None:
    """In the long run a visit costs the evaluation of a few dozen pages out of thousands."""
    rng = np.random.default_rng(3)
    model = CountingGreedy()
    pages = [
        page(number, importance=float(rng.uniform()), change_rate=float(rng.uniform(1e-3, 1)))
        for number in range(5000)
    ]
    frontier = frontier_of(pages, model=model, price=0.0)
    for tick in range(1, 3001):
        if tick == 1000:
            model.evaluated = 0
        (row,) = take(frontier, tick / 10)
        table(frontier).last_visit[row] = tick / 10
        frontier.release(np.array([row]), tick / 10)

    assert model.evaluated / 2000 < 150


def test_the_rung_comes_down_quickly_after_a_price_that_is_far_too_high() -> None:
    model = CountingGreedy()
    frontier = frontier_of([page(number) for number in range(5000)], model=model, price=1e15)

    rows, calls = [], 0
    while len(rows) == 0:
        rows, _ = frontier.take_best(100.0, 1, np.zeros(1, np.bool_))
        calls += 1

    assert calls <= 5


def test_a_table_of_more_rows_than_one_look_takes_is_looked_at_in_turn(monkeypatch) -> None:
    monkeypatch.setattr("scrapy_freshness.planning.frontier._WINDOW", 10)
    pages = [page(number, importance=number + 1.0) for number in range(35)]
    frontier = frontier_of(pages)

    taken = [row for _ in range(4) for row in take(frontier, 100.0)]
    assert taken == [9, 19, 29, 34], "the best of each part"
    while rows := take(frontier, 100.0):
        taken += rows
    assert sorted(taken) == list(range(35))


def test_more_pages_than_one_call_evaluates_all_get_their_turn(monkeypatch) -> None:
    monkeypatch.setattr("scrapy_freshness.planning.frontier._MAX_EVALUATED", 10)
    new = {"status": PageStatus.NEW, "last_visit_at": None}
    frontier = frontier_of([page(number, **new) for number in range(45)])

    taken: list[int] = []
    while rows := take(frontier, 1.0, count=3):
        taken += rows

    assert sorted(taken) == list(range(45))


def test_uniform_takes_the_page_that_waited_longest() -> None:
    pages = [page(number, last_visit_at=float(at)) for number, at in enumerate([5, 1, 3])]
    frontier = frontier_of(pages, now=10.0, model=Uniform())

    assert take(frontier, 10.0, count=3) == [1, 2, 0]


def test_an_empty_table_has_nothing_to_choose() -> None:
    frontier = frontier_of([])

    assert take(frontier, 1.0) == []
    assert frontier.is_exhausted
