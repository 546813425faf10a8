"""When a page becomes a hub, is retired, and comes back."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.model import HubRecord, HubState
from scrapy_freshness.sources.candidates import Candidates
from scrapy_freshness.sources.rules import HubRules, due_hubs, evidence_of_age, looked_at, polled

DAY = 86400.0
RULES = HubRules()


def hub(**fields: object) -> HubRecord:
    return HubRecord(page_id=1, url="http://a.example/news", **{"found": "link", **fields})  # type: ignore[arg-type]


def after(
    found: list[int], record: HubRecord | None = None, every: float = DAY, start: float = 0.0
) -> HubRecord:
    """A hub after polls at equal times that found so many new links each."""
    record = record or hub()
    for number, new_links in enumerate(found):
        record = polled(record, new_links, 50, number * every, RULES)
    return record


def test_any_evidence_of_age_is_enough() -> None:
    assert evidence_of_age({"history": 4 * DAY, "last-modified": None}, RULES) == "history"
    assert evidence_of_age({"history": 0.0, "last-modified": 9 * DAY}, RULES) == "last-modified"
    assert evidence_of_age({"history": 2 * DAY, "sitemap": 1 * DAY}, RULES) == ""


def test_the_first_poll_tells_what_is_there_not_what_is_new() -> None:
    assert after([40]).new_links == 0
    assert after([40]).state is HubState.ACTIVE
    assert after([40, 3, 2]).new_links == 5


def test_a_hub_without_new_links_is_retired_after_many_polls_and_some_days() -> None:
    assert after([0] * 10).state is HubState.ACTIVE
    assert after([0] * 11).state is HubState.RETIRED
    assert after([0] * 50, every=60.0).state is HubState.ACTIVE  # within an hour
    assert after([0] * 5 + [1] + [0] * 6).state is HubState.ACTIVE


def test_main_pages_and_what_the_spider_has_marked_are_never_retired() -> None:
    for found in ("root", "spider"):
        assert after([0] * 99, hub(found=found)).state is HubState.ACTIVE


def test_a_retired_hub_is_looked_at_ever_more_rarely_until_it_shows_something() -> None:
    record = after([0] * 11)
    looks = [record.next_look_at]
    for _ in range(8):
        record = polled(record, 0, 50, record.next_look_at, RULES)
        looks.append(record.next_look_at)
    pauses = np.diff(looks)
    assert (pauses[:5] == DAY * 2.0 ** np.arange(1, 6)).all()
    assert pauses[-1] == 60 * DAY

    assert due_hubs([record], record.next_look_at - 1) == {}
    assert due_hubs([record], record.next_look_at) == {1: record.next_look_at}
    revived = polled(record, 2, 50, record.next_look_at, RULES)
    assert (revived.state, revived.barren, revived.next_look_at) == (HubState.ACTIVE, 0, 0.0)


def test_no_look_is_due_at_once_after_a_visit_that_saw_nothing() -> None:
    root = after([3], hub(found="root"))
    assert root.next_look_at == RULES.refresh_seconds
    assert looked_at(root, 100.0, RULES) is root  # not due
    assert looked_at(root, 2 * DAY, RULES).next_look_at == 2 * DAY + RULES.refresh_seconds

    retired = after([0] * 11)
    again = looked_at(retired, retired.next_look_at, RULES)
    assert (again.state, again.rests) == (HubState.RETIRED, 2)
    assert again.next_look_at == retired.next_look_at + 2 * DAY
    assert (again.polls, again.barren) == (retired.polls, retired.barren)

    active = after([3])
    assert looked_at(active, 9 * DAY, RULES) is active


@given(st.lists(st.integers(0, 3), max_size=60), st.floats(1.0, 10 * DAY))
def test_polls_add_up(found: list[int], every: float) -> None:
    record = after(found, every=every)

    assert record.polls == len(found)
    assert record.new_links == sum(found[1:])
    assert record.state is not HubState.RETIRED or record.barren >= RULES.patience_polls


def test_links_of_a_main_page_grow_old_while_it_shows_them() -> None:
    nav, story, later = (np.array([key], np.uint64) for key in (1, 2, 3))
    shown = Candidates().shown(np.concatenate((nav, story)), 0.0, keep_seconds=DAY)
    shown = shown.shown(nav, DAY, keep_seconds=DAY)
    shown = shown.shown(np.concatenate((nav, later)), 3 * DAY, keep_seconds=DAY)

    assert shown.seconds_shown(nav, 3 * DAY) == [3 * DAY]
    assert shown.seconds_shown(story, 3 * DAY) == shown.seconds_shown(later, 3 * DAY) == [0.0]
    assert len(shown) == 2


def test_damaged_candidates_begin_anew() -> None:
    assert len(Candidates.unpacked(b"half an ent")) == 0
