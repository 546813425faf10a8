"""What a person reads is close to the number, and short."""

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.insight.human import (
    clipped,
    duration,
    every,
    expected,
    moment,
    number,
    rate,
    relative,
    safe,
    share,
    size,
    span,
)

SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "y": 365.25 * 86400.0}
BYTES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}

positive = st.floats(1e-3, 1e12)
anything = st.floats(allow_nan=True, allow_infinity=True)


def read(text: str, units: dict[str, float]) -> float:
    figure, unit = text.split()
    return float(figure.replace(",", "")) * units[unit]


@given(positive)
def test_a_duration_reads_back_within_six_per_cent(seconds: float) -> None:
    assert math.isclose(read(duration(seconds), SECONDS), seconds, rel_tol=0.06)


@given(positive, positive)
def test_durations_keep_their_order(one: float, other: float) -> None:
    shorter, longer = sorted((one, other))

    assert read(duration(shorter), SECONDS) <= 1.02 * read(duration(longer), SECONDS)


@given(anything)
def test_a_duration_is_short_whatever_the_number(seconds: float) -> None:
    assert len(duration(seconds)) <= 12 or abs(seconds) > 1e15


@given(positive)
def test_the_past_and_the_future_mirror_each_other(seconds: float) -> None:
    now = 1e9
    ago, ahead = relative(now - seconds, now), relative(now + seconds, now)

    assert (ago == ahead == "now") or (ago.removesuffix(" ago") == ahead.removeprefix("in "))


@given(positive, positive)
def test_what_is_expected_is_due_or_ahead(time: float, now: float) -> None:
    text = expected(time, now)

    assert (text == "due") == (time <= now)


@given(anything, anything)
def test_any_time_can_be_told(time: float, now: float) -> None:
    assert relative(time, now)
    assert moment(time)


@given(st.floats(1e-9, 1e3), st.floats(1, 10), st.floats(1, 10))
def test_a_rate_is_the_time_between_with_its_interval(per_second: float, below: float, above: float) -> None:
    text = every(per_second, per_second / below, per_second * above)

    match = re.fullmatch(r"every (.+) \((.+)\)", text)
    assert match is not None
    assert match[1] == duration(1 / per_second)
    assert match[2].endswith(duration(below / per_second))


def test_a_rate_of_nothing_is_no_time() -> None:
    assert every(0.0) == every(math.nan) == "–"


@given(positive)
def test_a_span_of_one_length_is_that_length(seconds: float) -> None:
    assert span(seconds, seconds) == duration(seconds)


@given(st.floats(1e-4, 1e9))
def test_events_per_time_read_back(per_second: float) -> None:
    figure, unit = rate(per_second).split("/")

    assert math.isclose(float(figure.replace(",", "")) / SECONDS[unit], per_second, rel_tol=0.06)


@given(st.integers(0, 10**17))
def test_a_size_reads_back(n_bytes: int) -> None:
    assert math.isclose(read(size(n_bytes), BYTES), n_bytes, rel_tol=0.06)


@given(st.floats(0, 1))
def test_a_share_is_never_rounded_to_nothing(value: float) -> None:
    assert (share(value) == "0 %") == (value == 0)


@given(anything)
def test_any_number_is_short(value: float) -> None:
    assert len(number(value)) <= 15


@given(st.text())
def test_safe_text_is_printable_and_stays_so(text: str) -> None:
    assert safe(text).isprintable()
    assert safe(safe(text)) == safe(text)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_is_left_as_it_is(text: str) -> None:
    assert safe(text) == text


@given(st.text(max_size=50), st.integers(3, 60))
def test_clipped_text_keeps_both_ends(text: str, length: int) -> None:
    short = clipped(text, length)

    assert len(short) <= max(length, 0)
    assert text.startswith(short.split("…")[0]) or "…" in text
    assert text.endswith(short.split("…")[-1]) or "…" in text
