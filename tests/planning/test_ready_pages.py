"""Pages whose records are at hand: the best of a free host first, those of busy hosts later."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning_world import new_page

from scrapy_freshness.planning.ready import CROWD, ReadyPage, ReadyPages

HOSTS = ("a", "b", "c")


class BusyHosts:
    """Hosts that are busy until a certain time, and who asked about them."""

    def __init__(self) -> None:
        self.until: dict[str, float] = {}
        self.asked: list[str] = []

    def __call__(self, host: str, now: float) -> float:
        self.asked.append(host)
        return self.until.get(host, 0.0)


def page(value: float, host: str = "a", row: int = 0, turn: int = 0) -> ReadyPage:
    return ReadyPage(turn, -value, row, new_page(row, host))


def test_the_best_page_comes_first() -> None:
    ready = ReadyPages()
    for row, (value, host) in enumerate([(1.0, "a"), (5.0, "b"), (3.0, "a"), (4.0, "b")]):
        ready.add(page(value, host, row))

    taken = [ready.take(0.0, BusyHosts()) for _ in range(5)]

    assert [each and each.value for each in taken] == [5.0, 4.0, 3.0, 1.0, None]


def test_what_was_chosen_earlier_comes_earlier_whatever_it_was_worth_then() -> None:
    ready = ReadyPages()
    ready.add(page(9.0, "a", 1, turn=2))
    ready.add(page(1.0, "a", 2, turn=1))
    ready.add(page(2.0, "b", 3, turn=1))
    ready.add(page(1.0, "b", 4, turn=2))

    assert ready.hurry(4, "b")
    assert not ready.hurry(4, "a")
    assert [ready.take(0.0, BusyHosts()).row for _ in range(4)] == [4, 3, 2, 1]


def test_pages_of_a_busy_host_wait_and_come_back() -> None:
    ready, hosts = ReadyPages(), BusyHosts()
    ready.add(page(9.0, "a", 1))
    ready.add(page(1.0, "b", 2))
    hosts.until["a"] = 10.0

    first = ready.take(0.0, hosts)
    assert first is not None
    assert first.record.host == "b"
    assert ready.take(0.0, hosts) is None
    assert (len(ready), ready.available()) == (1, 0)
    assert ready.next_at(0.0) == 10.0
    assert ready.take(9.9, hosts) is None

    back = ready.take(10.0, hosts)
    assert back is not None
    assert back.value == 9.0
    assert ready.next_at(10.0) == float("inf")


def test_a_busy_host_is_asked_about_once_and_not_again_before_its_time() -> None:
    ready, hosts = ReadyPages(), BusyHosts()
    for row in range(5):
        ready.add(page(float(row), "a", row))
    hosts.until["a"] = 10.0
    for now in range(10):
        ready.take(float(now), hosts)

    assert hosts.asked == ["a"]


def test_a_host_that_gets_room_is_asked_about_before_its_time() -> None:
    ready, hosts = ReadyPages(), BusyHosts()
    ready.add(page(1.0, "a", 1))
    ready.add(page(2.0, "a", 2))
    hosts.until["a"] = 10.0
    assert ready.take(0.0, hosts) is None

    ready.freed("b")
    ready.freed("a")
    assert ready.take(1.0, hosts) is None  # it has not
    assert (ready.available(), ready.next_at(1.0)) == (0, 10.0)

    hosts.until["a"] = 0.0
    ready.freed("a")
    assert (ready.available(), ready.next_at(2.0)) == (2, 2.0)
    assert [ready.take(2.0, hosts).row for _ in range(2)] == [2, 1]
    assert ready.next_at(2.0) == float("inf")


def test_a_host_is_crowded_if_it_is_busy_and_many_of_its_pages_wait() -> None:
    ready, hosts = ReadyPages(), BusyHosts()
    for row in range(CROWD):
        ready.add(page(1.0, "a", row))
    assert not ready.is_crowded("a")

    hosts.until["a"] = 5.0
    ready.take(0.0, hosts)
    assert ready.is_crowded("a")
    assert ready.crowded_hosts() == ["a"]
    assert not ready.is_crowded("b")

    ready.take(5.0, hosts)
    assert not ready.is_crowded("a")
    assert ready.crowded_hosts() == []


def test_pages_of_equal_value_are_all_handed_out() -> None:
    ready, hosts = ReadyPages(), BusyHosts()
    for row in range(20):
        ready.add(page(1.0, HOSTS[row % 3], 20 - row))
    taken = [ready.take(0.0, hosts) for _ in range(20)]

    assert sorted(each.row for each in taken if each) == list(range(1, 21))
    assert len(ready) == 0


@pytest.mark.parametrize("value", [float("inf"), 0.0, -1.0])
def test_any_value_will_do(value: float) -> None:
    ready = ReadyPages()
    ready.add(page(value))

    assert ready.take(0.0, BusyHosts()) == page(value)


operations = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(HOSTS), st.integers(0, 5)),
        st.tuples(st.just("take"), st.floats(0, 3), st.floats(0, 4)),
        st.tuples(st.just("free"), st.sampled_from(HOSTS), st.just(0)),
    ),
    max_size=60,
)


@given(operations=operations)
def test_it_chooses_as_looking_at_all_pages_would(operations: list[tuple[str, object, object]]) -> None:
    """After each visit its host is busy for a while, as with a download delay, or until it is free."""
    ready, hosts, pages, now = ReadyPages(), BusyHosts(), {}, 0.0
    for row, (what, first, second) in enumerate(operations):
        if what == "add":
            pages[row] = page(float(second), str(first), row, turn=row // 10)
            ready.add(pages[row])
        elif what == "free":
            hosts.until[str(first)] = 0.0
            ready.freed(str(first))
        else:
            now += float(first)
            free = [each for each in pages.values() if hosts.until.get(each.record.host, 0.0) <= now]
            best = min(free, default=None, key=lambda each: (each.place, each.record.host, each.row))
            taken = ready.take(now, hosts)

            assert (taken and taken.place) == (best and best.place)
            if taken is not None:
                del pages[taken.row]
                hosts.until[taken.record.host] = now + float(second)

        assert len(ready) == len(pages)
        waiting = sum(hosts.until.get(each.record.host, 0.0) > now for each in pages.values())
        assert len(pages) - waiting <= ready.available() <= len(pages)
        if pages and ready.available() == 0:
            assert ready.next_at(now) == min(hosts.until[each.record.host] for each in pages.values())
