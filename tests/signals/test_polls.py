"""From poll to poll only what has moved is a signal, and only where dates tell something."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sources import NOW, SITE, dated, read, urlset

from scrapy_freshness.signals.contract import Entry, Findings, Kind, Moment, Oddity, Role
from scrapy_freshness.signals.poll import Outcome, Poll, Verdict
from scrapy_freshness.signals.seen import Seen, difference, key_of

DAY = 86_400.0


def page(number: int, at: float | None = None) -> Entry:
    url = f"{SITE}/{number}"
    return Entry(url, None if at is None else Moment(at, 1.0), key=url)


def polled(
    pages: list[Entry], before: Seen | None = None, *, kind: Kind = Kind.SITEMAP, now: float = NOW
) -> tuple[list[Entry], Outcome]:
    """New entries and outcome of a poll that read these entries, in three pieces."""
    poll = Poll(before or Seen())
    third = len(pages) // 3 + 1
    new = [each for start in range(0, len(pages), third) for each in poll.add(pages[start : start + third])]
    return new, poll.end(Findings(kind), now)


TIMES = st.one_of(st.none(), st.integers(1, 5), st.integers(1, 2**33))
POLLS = st.dictionaries(st.integers(0, 12), TIMES)


def seen_of(pages: dict[int, int | None]) -> Seen:
    return polled([page(*each) for each in pages.items()])[1].seen


@given(POLLS, POLLS)
def test_the_difference_is_that_of_two_dictionaries(before: dict, after: dict) -> None:
    found = difference(seen_of(before), seen_of(after))
    keys = {number: key_of(page(number)) for number in before | after}
    clipped = {number: min(at or 0, 2**32 - 1) for number, at in after.items()}

    assert set(found.new.tolist()) == {keys[number] for number in after.keys() - before.keys()}
    assert set(found.vanished.tolist()) == {keys[number] for number in before.keys() - after.keys()}
    assert set(found.moved.tolist()) == {
        keys[number] for number in after if before.get(number) and clipped[number] > before[number]
    }
    both = [number for number in before if before[number] and after.get(number)]
    assert len(found.moved) + found.stayed == len(both)


@given(POLLS, POLLS)
def test_a_poll_finds_piece_by_piece_what_the_difference_finds(before: dict, after: dict) -> None:
    was, will_be = seen_of(before), seen_of(after)
    found = difference(was, will_be)
    new, outcome = polled([page(*each) for each in after.items()], was)

    assert {key_of(each) for each in new} == set(found.new.tolist())
    assert outcome.vanished == len(found.vanished)
    if outcome.verdict is Verdict.USABLE:
        assert {key_of(each) for each in outcome.moved} == set(found.moved.tolist())


@given(POLLS)
def test_what_was_seen_survives_storage_in_twelve_bytes_an_entry(pages: dict) -> None:
    seen = seen_of(pages)
    packed = seen.packed()
    again = Seen.unpacked(packed)

    assert len(packed) == 8 + 12 * len(pages)
    assert again.keys.tolist() == seen.keys.tolist()
    assert again.seconds.tolist() == seen.seconds.tolist()
    assert len(Seen.unpacked(b"")) == 0


@given(st.binary(min_size=1))
def test_bytes_that_were_not_packed_are_refused(packed: bytes) -> None:
    try:
        seen = Seen.unpacked(packed)
    except ValueError:
        return
    assert seen.packed()[4:] == packed[4:]


def test_a_page_whose_date_moved_is_a_signal_and_a_page_never_seen_is_new() -> None:
    _, first = polled([page(1, NOW - DAY), page(2, NOW - DAY), page(3), page(4, NOW - 5)])
    new, second = polled([page(1, NOW - 60), page(2, NOW - DAY), page(3, NOW), page(5, NOW)], first.seen)

    assert first.moved == []
    assert new == [page(5, NOW)]
    assert second.moved == [page(1, NOW - 60)]  # neither a first date nor one that stayed is a signal
    assert second.vanished == 1
    assert polled([page(1, NOW - 60)], second.seen)[1].moved == []


def test_a_date_that_goes_back_is_no_signal() -> None:
    _, first = polled([page(1, NOW)])

    assert polled([page(1, NOW - DAY)], first.seen)[1].moved == []


def test_a_page_named_twice_is_one_page_with_its_latest_date() -> None:
    alternate = Entry(f"{SITE}/1", key=f"{SITE}/1", role=Role.ALTERNATE)
    _, first = polled([page(1, NOW - DAY)])
    new, second = polled([alternate, page(1, NOW - 60), page(1, NOW - 90), page(2), page(2)], first.seen)

    assert new == [page(2)]
    assert second.moved == [page(1, NOW - 60)]
    assert len(second.seen) == 2


def spread(end: int, begin: int = 0) -> list[Entry]:
    """Pages with dates hours apart."""
    return [page(number, NOW - 600 * DAY + 7200 * number) for number in range(begin, end)]


VERDICTS = {
    "dates of their own": (spread(100), Verdict.USABLE),
    "no dates": ([page(number) for number in range(100)], Verdict.NO_DATES),
    "one date": ([page(number, NOW - DAY) for number in range(100)], Verdict.SAME),
    "one date for nearly all": (spread(9) + [page(n, NOW - DAY) for n in range(9, 100)], Verdict.SAME),
    "one date for many": (spread(30) + [page(n, NOW - DAY) for n in range(30, 100)], Verdict.USABLE),
    "each when it was written": ([page(n, NOW - 100 + n) for n in range(100)], Verdict.EARLY),
    "too few to tell": ([page(number, NOW - 5) for number in range(9)], Verdict.USABLE),
    "empty": ([], Verdict.NO_DATES),
}


@pytest.mark.parametrize(("pages", "verdict"), VERDICTS.values(), ids=VERDICTS.keys())
def test_dates_are_judged_at_first_sight(pages: list[Entry], verdict: Verdict) -> None:
    new, outcome = polled(pages)

    assert outcome.verdict is verdict
    assert new == pages  # new pages are news whatever their dates are worth


def test_a_sitemap_whose_dates_are_always_now_gives_no_signals() -> None:
    seen = Seen()
    for hour in range(5):
        now = NOW + 3600 * hour
        pages = [page(number, now - 100 + number) for number in range(100 + hour)]
        new, outcome = polled(pages, seen, now=now)
        seen = outcome.seen

        assert outcome.verdict is (Verdict.TOGETHER if hour else Verdict.EARLY)
        assert outcome.moved == []
        assert new == pages[99 + hour :] if hour else pages


def test_a_sitemap_with_the_date_of_its_making_gives_no_signals() -> None:
    seen = Seen()
    for day in range(5):
        pages = [page(number, NOW + day * DAY) for number in range(100)]
        _, outcome = polled(pages, seen, now=NOW + day * DAY)
        seen = outcome.seen

        assert outcome.verdict is Verdict.SAME
        assert outcome.moved == []


def test_beside_a_common_date_a_date_of_its_own_is_a_signal() -> None:
    """A site that was moved to another system, where pages have been edited since."""
    _, first = polled([page(number, NOW - 9 * DAY) for number in range(100)])
    pages = [page(number, NOW - 9 * DAY) for number in range(99)]
    _, second = polled([*pages, page(99, NOW - 60)], first.seen)

    assert second.verdict is Verdict.SAME
    assert second.moved == [page(99, NOW - 60)]


def test_dates_in_the_future_are_recognised() -> None:
    body = urlset(
        *(dated(number, f"2031-01-{number % 28 + 1:02}") for number in range(50)), dated(50, "2026")
    )
    entries, findings = read(body)
    poll = Poll(Seen())
    new = poll.add(entries)

    assert findings.oddities[Oddity.FUTURE_DATE] == 50
    assert poll.end(findings, NOW).verdict is Verdict.FUTURE
    assert len(new) == 51


def test_a_busy_feed_of_the_last_hour_is_believed() -> None:
    pages = [page(number, NOW - 10 * number) for number in range(100)]

    assert polled(pages, kind=Kind.FEED)[1].verdict is Verdict.USABLE


def test_a_feed_is_remembered_beyond_its_window() -> None:
    _, first = polled(spread(30), kind=Kind.FEED)
    _, second = polled(spread(50, 20), first.seen, kind=Kind.FEED)
    new, third = polled([*spread(50, 25), page(3, NOW)], second.seen, kind=Kind.FEED)

    assert len(second.seen) == 50
    assert new == []
    assert third.moved == [page(3, NOW)]


def test_the_memory_of_a_feed_is_bounded_and_keeps_the_latest() -> None:
    seen = Seen()
    for start in range(0, 6000, 100):
        seen = polled(spread(start + 100, start), seen, kind=Kind.FEED)[1].seen

    assert len(seen) == 2000
    assert seen.seconds.min() == int(spread(4001, 4000)[0].latest.at)
    assert np.all(np.diff(seen.keys.astype(object)) > 0)


def test_what_could_not_be_read_this_time_is_not_forgotten() -> None:
    _, first = polled(spread(100))
    poll = Poll(first.seen)
    poll.add(spread(40))
    findings = Findings(Kind.SITEMAP)
    findings.oddities[Oddity.BROKEN] = 1
    outcome = poll.end(findings, NOW)

    assert len(outcome.seen) == 100
    assert len(Poll(first.seen).end(Findings(), NOW).seen) == 100  # an error page instead of the sitemap
    assert len(polled(spread(40), first.seen)[1].seen) == 40
