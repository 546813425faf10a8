"""When contests on recorded pages take place."""

from itertools import pairwise

import numpy as np
import pytest
from drawn_records import DAY
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.simulator.contest_time import brought_together, contest_span, time_blocks
from scrapy_freshness.simulator.recorded import RecordedWeb, web_of
from scrapy_freshness.simulator.trace import Kind, Version


def web_of_spans(*spans: tuple[str, float, float]) -> RecordedWeb:
    """Pages that are seen first and last on these days."""
    return web_of(
        Version(page=page, at=DAY * at, kind=Kind.CHANGE, lines=(str(at),))
        for page, first, last in spans
        for at in (first, last)
    )


def begins(web: RecordedWeb) -> list[float]:
    return [float(page.times[0]) / DAY for page in web.pages]


def test_sources_that_were_recorded_at_once_stay_where_they_are() -> None:
    web = web_of_spans(("a:1", 0, 100), ("b:1", 50, 200), ("c:1", 90, 95))

    assert begins(brought_together(web)) == [0, 50, 90]
    assert begins(brought_together(web, aligned=True)) == [0, 1, 6]


@pytest.mark.parametrize("first", [100, 700])
def test_sources_that_never_were_recorded_at_once_are_aligned(first: int) -> None:
    web = web_of_spans(("a:1", 0, 100), ("b:1", first, 800))

    assert begins(brought_together(web)) == [0, first % 7]
    assert begins(brought_together(web, aligned=False)) == [0, first]


def test_a_contest_lasts_while_half_of_the_pages_are_there() -> None:
    one = web_of_spans(("a:1", 0, 1), ("a:2", 10, 20), ("a:3", 30, 40), ("a:4", 35, 99))
    several = web_of_spans(("a:1", 0, 50), ("b:1", 1, 60), ("c:1", 2, 900))

    assert contest_span(one) == (30 * DAY, 99 * DAY), "pages last as long as the record of their source"
    assert contest_span(several) == (1 * DAY, 60 * DAY)
    assert contest_span(several, whole=True) == (0, 900 * DAY)


def test_a_contest_of_pages_that_never_meet_is_all_of_the_record() -> None:
    web = web_of_spans(("a:1", 0, 10), ("b:1", 20, 30), ("c:1", 40, 50))

    assert contest_span(web_of_spans(("a:1", 0, 10), ("b:1", 20, 30))) == (20 * DAY, 30 * DAY)
    assert contest_span(web) == (20 * DAY, 30 * DAY)
    assert contest_span(web_of_spans(("a:1", 5, 5), ("b:1", 5, 5))) == (5 * DAY, 5 * DAY)


spans = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=6)


@given(spans=spans, start=st.integers(0, 40), count=st.integers(1, 7))
def test_in_every_block_of_time_pages_are_there_for_as_long(
    spans: list[tuple[int, int]], start: int, count: int
) -> None:
    web = web_of_spans(*((f"{n}:1", first, first + length) for n, (first, length) in enumerate(spans)))
    end = float(DAY * (start + 20))
    edges = time_blocks(web, float(DAY * start), end, count)

    assert (len(edges), edges[0], edges[-1]) == (count + 1, DAY * start, end)
    assert edges == sorted(edges)
    seconds = np.array(
        [
            sum(
                max(min(DAY * (first + length), right) - max(DAY * first, left), 0.0)
                for first, length in spans
            )
            for left, right in pairwise(edges)
        ]
    )
    assert seconds == pytest.approx(seconds.mean(), abs=1e-3)
