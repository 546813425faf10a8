"""What a page's record says after a visit, for each way in which a visit can end."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning_world import columns_of

from scrapy_freshness.content.measure import ContentOptions, Measurement, measure_text
from scrapy_freshness.content.profiles import unpack
from scrapy_freshness.estimation.history import observations
from scrapy_freshness.model import Outcome, PageRecord, PageStatus
from scrapy_freshness.planning.after_visit import longest_pauses, updated_record
from scrapy_freshness.planning.comparing import compared, was_honest
from scrapy_freshness.planning.visits import Report, Upkeep, Visit, visit_record

UPKEEP = Upkeep(
    gone_recheck_seconds=100.0, gone_recheck_max_seconds=1000.0, backoff_seconds=5.0, backoff_max_seconds=60.0
)
NEW = PageRecord(page_id=3, fingerprint=9, url="http://a.example/", host="a.example")
KNOWN = replace(
    NEW,
    status=PageStatus.ACTIVE,
    last_visit_at=1000.0,
    last_change_at=900.0,
    visits=4,
    changes=2,
    etag='"1"',
    last_modified="yesterday",
    content_hash=77,
    http_status=200,
)


def content(text: str) -> Measurement:
    return measure_text(text, options=ContentOptions())


def after(record: PageRecord, outcome: Outcome, at: float = 1060.0, **seen) -> PageRecord:
    return updated_record(record, Report(outcome=outcome, at=at, **seen), UPKEEP)


def test_the_first_copy() -> None:
    found = content("some words that make a page")
    record = after(NEW, Outcome.FIRST, http_status=200, etag='"a"', last_modified="today", measurement=found)

    assert record.status is PageStatus.ACTIVE
    assert (record.visits, record.changes, record.failures) == (1, 0, 0)
    assert record.last_visit_at == record.last_change_at == 1060.0
    assert (record.etag, record.last_modified, record.http_status) == ('"a"', "today", 200)
    assert record.content_hash == found.content_hash
    assert record.history == b"", "there was nothing to compare with"
    assert [profile.base_at for profile in unpack(record.profiles)] == [1060.0]


def test_a_change() -> None:
    found = content("other words")
    record = after(KNOWN, Outcome.CHANGED, measurement=found, etag='"2"')

    assert (record.visits, record.changes) == (5, 3)
    assert record.last_visit_at == record.last_change_at == 1060.0
    assert observations(record.history).tolist() == [-60.0]
    assert (record.etag, record.last_modified) == ('"2"', None)
    assert record.content_hash == found.content_hash


def test_the_same_content() -> None:
    record = after(KNOWN, Outcome.UNCHANGED, etag='"2"', measurement=content("x"))

    assert (record.visits, record.changes, record.last_change_at) == (5, 2, 900.0)
    assert observations(record.history).tolist() == [60.0]
    assert record.etag == '"2"'


def test_a_304_keeps_the_validators() -> None:
    record = after(KNOWN, Outcome.NOT_MODIFIED, http_status=304)

    assert (record.etag, record.last_modified, record.content_hash) == ('"1"', "yesterday", 77)
    assert observations(record.history).tolist() == [60.0]
    assert record.last_visit_at == 1060.0


def test_tombstones_are_looked_at_ever_more_rarely() -> None:
    record, waits = KNOWN, []
    for number in range(7):
        at = 2000.0 * (number + 1)
        record = after(record, Outcome.GONE, at=at, http_status=404)
        waits.append(record.not_before - at)

    assert waits == [100, 200, 400, 800, 1000, 1000, 1000]
    assert record.status is PageStatus.GONE
    assert record.last_visit_at == 1000.0, "the last visit that saw content"
    assert (record.etag, record.content_hash) == ('"1"', 77), "the copy is still there"


def test_a_page_that_failed_before_it_was_gone_begins_with_the_shortest_wait() -> None:
    failing = after(after(KNOWN, Outcome.FAILED), Outcome.FAILED)

    assert after(failing, Outcome.GONE, at=2000.0).not_before == 2100.0


def test_a_tombstone_that_cannot_be_looked_at_is_not_tried_more_often() -> None:
    gone = after(after(KNOWN, Outcome.GONE), Outcome.GONE)

    record = after(gone, Outcome.FAILED, at=2000.0)

    assert record.status is PageStatus.GONE
    assert record.not_before == 2400.0


def test_a_page_that_is_back_is_active_again() -> None:
    gone = after(KNOWN, Outcome.GONE)
    record = after(gone, Outcome.CHANGED, at=5000.0, measurement=content("back"))

    assert (record.status, record.failures, record.not_before) == (PageStatus.ACTIVE, 0, 0.0)
    assert observations(record.history).tolist() == [-4000.0]


def test_a_page_that_moved_is_looked_at_ever_more_rarely_until_it_is_back() -> None:
    record, waits = after(KNOWN, Outcome.FAILED), []
    for outcome in (Outcome.MOVED, Outcome.MOVED, Outcome.FAILED, Outcome.MOVED):
        record = after(record, outcome, at=5000.0, http_status=200)
        waits.append(record.not_before - 5000.0)
        assert record.status is PageStatus.MOVED

    assert waits == [100, 200, 400, 800]
    assert record.history == KNOWN.history
    assert after(record, Outcome.GONE, at=6000.0).not_before == 6100.0
    back = after(record, Outcome.UNCHANGED, at=6000.0)
    assert (back.status, back.failures, back.not_before) == (PageStatus.ACTIVE, 0, 0.0)


@pytest.mark.parametrize(
    ("sent", "got", "verdict"),
    [
        ({"etag": '"1"'}, {"etag": '"1"'}, False),
        ({"etag": '"1"'}, {"etag": '"2"'}, None),
        ({"etag": '"1"', "last_modified": "today"}, {"etag": '"2"', "last_modified": "today"}, None),
        ({"etag": None, "last_modified": "today"}, {"last_modified": "today"}, False),
        ({"etag": None, "last_modified": "today"}, {"last_modified": "now"}, None),
    ],
)
def test_a_304_was_false_if_other_content_has_the_validator_that_was_sent(
    sent: dict[str, str | None], got: dict[str, str], verdict: bool | None
) -> None:
    record = replace(KNOWN, **sent)
    report = Report(outcome=Outcome.CHANGED, at=5000.0, **got)

    assert was_honest(record, report, changed=True) is verdict
    assert was_honest(record, report, changed=False) is True


def test_failures_pause_the_page_ever_longer() -> None:
    record, pauses = KNOWN, []
    for _ in range(6):
        record = after(record, Outcome.FAILED, at=5000.0)
        pauses.append(record.not_before - 5000.0)

    assert pauses == [5, 10, 20, 40, 60, 60]
    assert record.status is PageStatus.ACTIVE
    assert (record.visits, record.failures, record.last_visit_at) == (10, 6, 1000.0)
    assert record.history == KNOWN.history, "a failure tells nothing about changes"
    assert after(record, Outcome.UNCHANGED).failures == 0


def test_a_new_page_that_fails_stays_new() -> None:
    assert after(NEW, Outcome.FAILED).status is PageStatus.NEW


def test_a_request_that_was_never_sent_is_no_visit() -> None:
    record = after(KNOWN, Outcome.IGNORED, at=5000.0)

    assert (record.visits, record.http_status) == (4, 200)


def test_requests_that_are_stopped_are_tried_ever_more_rarely() -> None:
    """A site may forbid a hundred thousand pages for ever; what it allows one day later is tried that day."""
    record, waits = NEW, []
    for _ in range(6):
        record = after(record, Outcome.IGNORED, at=5000.0)
        waits.append(record.not_before - 5000.0)

    assert waits == [100, 200, 400, 800, 1000, 1000]
    assert record.status is PageStatus.NEW


def test_with_a_small_budget_what_is_stopped_waits_as_long_as_pages_usually_do() -> None:
    stopped = updated_record(KNOWN, Report(outcome=Outcome.IGNORED, at=0.0), UPKEEP, 400.0)

    assert stopped.not_before == 400.0


def test_what_was_stopped_is_tried_soon_after_a_restart() -> None:
    """The settings may be others: `ROBOTSTXT_OBEY`, the allowed domains."""
    once = after(NEW, Outcome.IGNORED)
    often = replace(once, failures=8)

    assert longest_pauses(columns_of([once, often]), UPKEEP).tolist() == [5, 60]


def test_the_spider_sees_a_page_again_whose_callback_failed() -> None:
    failed = after(KNOWN, Outcome.CHANGED, callback_failed=True)

    assert failed.run_callback
    assert not after(failed, Outcome.UNCHANGED).run_callback


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("record", [NEW, KNOWN], ids=["new", "known"])
def test_the_record_that_the_visit_opened_with_stays_as_it_was(outcome: Outcome, record: PageRecord) -> None:
    before = replace(record)
    changed = after(record, outcome, measurement=content("x"))

    assert record == before
    identity = ("page_id", "fingerprint", "url", "host", "request", "importance")
    assert all(getattr(changed, name) == getattr(record, name) for name in identity)


@pytest.mark.parametrize("damaged", [b"1234567", b"1"])
def test_a_damaged_history_does_not_stop_the_crawl(damaged: bytes) -> None:
    record = after(replace(KNOWN, history=damaged), Outcome.CHANGED)

    assert observations(record.history).tolist() == [-60.0]


def test_damaged_profiles_begin_anew() -> None:
    record = after(replace(KNOWN, profiles=b"\x01nonsense"), Outcome.CHANGED, measurement=content("a b"))

    assert [profile.base_at for profile in unpack(record.profiles)] == [1060.0]


def test_profiles_note_the_last_visit_of_each_version() -> None:
    """Visits that find the same version cost nothing; the last of them is noted with the next change."""
    record = after(NEW, Outcome.FIRST, at=0.0, measurement=content("one two three"))
    for at in (10.0, 20.0, 30.0):
        before = record.profiles
        record = after(record, Outcome.UNCHANGED, at=at, measurement=content("one two three"))
        assert record.profiles == before
    record = after(record, Outcome.CHANGED, at=40.0, measurement=content("four five six"))

    first, second = unpack(record.profiles)
    assert first.elapsed.tolist() == [30.0, 40.0]
    assert first.divergence.tolist() == [0.0, 1.0]
    assert second.base_at == 40.0


def test_content_is_compared_with_the_copy() -> None:
    words = [f"w{number}" for number in range(100)]
    copy = content(" ".join(words))
    record = after(NEW, Outcome.FIRST, at=0.0, measurement=copy)
    near = content(" ".join([*words[:-1], "other"]))
    far = content("nothing in common with the copy at all")

    assert compared(NEW, copy, min_divergence=0.5, size=64) == (True, None)
    assert compared(record, copy, min_divergence=0.0, size=64) == (False, 0.0)
    assert compared(record, far, min_divergence=0.5, size=64) == (True, 1.0)
    changed, moved_by = compared(record, near, min_divergence=0.0, size=64)
    assert changed
    assert moved_by is not None
    assert moved_by < 0.2
    assert compared(record, near, min_divergence=0.5, size=64) == (False, moved_by)


def test_without_a_readable_profile_another_hash_is_a_change() -> None:
    record = replace(KNOWN, profiles=b"nonsense")

    assert compared(record, content("x"), min_divergence=0.5, size=64) == (True, None)


def test_the_log_says_what_the_visit_saw() -> None:
    report = Report(
        outcome=Outcome.CHANGED, at=5.0, http_status=200, divergence=0.25, body_bytes=10, latency_seconds=0.5
    )
    line = visit_record(KNOWN, report)

    assert (line.page_id, line.at, line.outcome, line.http_status) == (3, 5.0, Outcome.CHANGED, 200)
    assert (line.divergence, line.body_bytes, line.latency_seconds) == (0.25, 10, 0.5)


def test_a_visit_shows_itself() -> None:
    visit = Visit(row=0, record=KNOWN, opened_at=1.0, value=2.0)

    assert repr(visit) == "<Visit 3 http://a.example/ open>"
    assert visit.previous_visit_at == 1000.0


@given(st.lists(st.tuples(st.sampled_from(Outcome), st.floats(0, 1e6)), max_size=30))
def test_no_course_of_events_breaks_a_record(events: list[tuple[Outcome, float]]) -> None:
    record, now = NEW, 0.0
    for outcome, passed in events:
        now += passed
        if outcome.saw_content:
            outcome = Outcome.FIRST if record.last_visit_at is None else outcome
        record = after(record, outcome, at=now)

        if outcome is not Outcome.IGNORED:
            assert record.not_before <= now + longest_pauses(columns_of([record]), UPKEEP)[0]
        assert record.changes <= record.visits
        assert np.isfinite(observations(record.history)).all()
        assert (record.status is PageStatus.NEW) <= (record.last_visit_at is None)


def test_a_page_that_goes_on_failing_is_asked_as_rarely_as_one_that_is_gone() -> None:
    record, pauses = KNOWN, []
    for _ in range(22):
        record = after(record, Outcome.FAILED, at=5000.0)
        pauses.append(record.not_before - 5000.0)

    assert pauses[15:] == [60, 120, 240, 480, 960, 1000, 1000]


def test_a_pause_may_be_as_long_as_the_page_has_reason_for() -> None:
    pages = [
        replace(KNOWN, page_id=1, failures=16),
        replace(KNOWN, page_id=2, failures=17),
        replace(KNOWN, page_id=3, failures=1, status=PageStatus.GONE),
    ]

    assert longest_pauses(columns_of(pages), UPKEEP).tolist() == [60, 1000, 1000]
