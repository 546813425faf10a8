"""Dates mean what they say, with the precision they have, however they are written."""

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.signals.dates import read_date

DAY = 86_400.0
MINUTES_AND_SECONDS = datetime(2026, 11, 17, 4, 5, 6, tzinfo=UTC).timestamp()
MIDNIGHT = datetime(2026, 11, 17, tzinfo=UTC).timestamp()

SECONDS = [
    "2026-11-17T04:05:06Z",
    "2026-11-17t04:05:06z",
    "2026-11-17T04:05:06+00:00",
    "2026-11-17T04:05:06-00:00",
    "2026-11-17T05:05:06+01:00",
    "2026-11-17T05:05:06+0100",
    "2026-11-17T05:05:06+01",
    "2026-11-16T23:05:06-05:00",
    "2026-11-17T04:05:06",
    "2026-11-17 04:05:06",
    "2026-11-17T04:05:06 +0000",
    "2026-11-17 04:05:06 UTC",
    "2026-11-17 04:05:06 +0000 UTC",
    "2026/11/17 04:05:06",
    "2026-11-17T4:05:06Z",
    "\n   2026-11-17T04:05:06Z\t ",
    "20261117T040506Z",
    "20261117040506",
    "Tue, 17 Nov 2026 04:05:06 GMT",
    "Tue, 17 Nov 2026 04:05:06 UT",
    "Tue, 17 Nov 2026 04:05:06 +0000",
    "Tue, 17 Nov 2026 04:05:06 Z",
    "Tue, 17 Nov 2026 04:05:06",
    "Mon, 16 Nov 2026 23:05:06 EST",
    "Mon, 16 Nov 2026 20:05:06 PST",
    "17 Nov 2026 04:05:06 GMT",
    "17 Nov 26 04:05:06 GMT",
    "Tuesday, 17-Nov-26 04:05:06 GMT",
    "Tue Nov 17 04:05:06 2026",
    "Tue Nov 17 04:05:06 UTC 2026",
    "Tue, 17 November 2026 04:05:06 GMT",
    "tue, 17 nov 2026 04:05:06 gmt",
    "Tue,17 Nov 2026 04:05:06 GMT",
    "Tue, 17 Nov 2026 05:05:06 +0100 (CET)",
    "Tue, 17 Nov 2026 05:05:06 GMT+0100",
    "November 17, 2026 4:05:06 AM",
    "Nov 17, 2026, 04:05:06",
    "1794888306",
]
OTHERS = {
    "2026": (datetime(2026, 1, 1, tzinfo=UTC).timestamp(), 365 * DAY),
    "2024": (datetime(2024, 1, 1, tzinfo=UTC).timestamp(), 366 * DAY),
    "2026-11": (datetime(2026, 11, 1, tzinfo=UTC).timestamp(), 30 * DAY),
    "2024-02": (datetime(2024, 2, 1, tzinfo=UTC).timestamp(), 29 * DAY),
    "2026-11-17": (MIDNIGHT, DAY),
    "2026-1-7": (datetime(2026, 1, 7, tzinfo=UTC).timestamp(), DAY),
    "2026/11/17": (MIDNIGHT, DAY),
    "2026.11.17": (MIDNIGHT, DAY),
    "20261117": (MIDNIGHT, DAY),
    "2026-11-17Z": (MIDNIGHT, DAY),
    "2026-11-17T": (MIDNIGHT, DAY),
    "2026-11-17+02:00": (MIDNIGHT - 7200, DAY),
    "17 Nov 2026": (MIDNIGHT, DAY),
    "17th November 2026": (MIDNIGHT, DAY),
    "November 17, 2026": (MIDNIGHT, DAY),
    "Nov. 17, 2026": (MIDNIGHT, DAY),
    "2026-11-17T04:05Z": (MINUTES_AND_SECONDS - 6, 60.0),
    "2026-11-17 04:05": (MINUTES_AND_SECONDS - 6, 60.0),
    "Nov 17, 2026 at 4:05 pm": (MINUTES_AND_SECONDS - 6 + DAY / 2, 60.0),
    "Nov 17, 2026 12:05 AM": (MIDNIGHT + 300, 60.0),
    "2026-11-17T24:00:00Z": (MIDNIGHT + DAY, 1.0),
    "2026-12-31T23:59:60Z": (datetime(2027, 1, 1, tzinfo=UTC).timestamp(), 1.0),
    "2026-11-17T04:05:06.5Z": (MINUTES_AND_SECONDS + 0.5, 0.1),
    "2026-11-17T04:05:06,25+00:00": (MINUTES_AND_SECONDS + 0.25, 0.01),
    "2026-11-17T04:05:06.123456789123Z": (MINUTES_AND_SECONDS + 0.123456789, 1e-9),
    "1794888306250": (MINUTES_AND_SECONDS + 0.25, 0.001),
    "Sat, 01 Jan 94 00:00:00 GMT": (datetime(1994, 1, 1, tzinfo=UTC).timestamp(), 1.0),
}
NONE = [
    "", " ", "0", "-1", "yesterday", "now", "0000-00-00", "0000-00-00T00:00:00Z", "0001-01-01T00:00:00Z",
    "1970-01-01", "1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 GMT", "1989-12-31", "2026-13-01",
    "2026-02-30", "2026-11-00", "2026-11-17T25:00:00Z", "2026-11-17T04:60:00Z", "2026-11-17T04:05:61Z",
    "2026-11-17T24:00:01Z", "2026-11-17T04:05:06+99:00", "11/12/2026", "17.11.2026", "2026-W47",
    "2026-11-17T04:05:06Z trailing", "Nov 17, 2026 13:05 PM", "99999999999999999999", "x" * 100_000,
    "31 Feb 2026 00:00:00 GMT", "2026-11-1704:05:06 or so", "\x00", "٢٠٢٦-١١-١٧",
]  # fmt: skip


@pytest.mark.parametrize("text", SECONDS)
def test_a_second_is_the_same_however_it_is_written(text: str) -> None:
    assert read_date(text) == (MINUTES_AND_SECONDS, 1.0)


@pytest.mark.parametrize(("text", "expected"), OTHERS.items(), ids=list(OTHERS))
def test_a_date_is_as_exact_as_it_is_written(text: str, expected: tuple[float, float]) -> None:
    moment = read_date(text)

    assert moment is not None
    assert moment.at == pytest.approx(expected[0], abs=1e-6)
    assert moment.resolution == pytest.approx(expected[1])


@pytest.mark.parametrize("text", NONE, ids=lambda text: ascii(text)[:30])
def test_what_is_no_date_or_has_two_meanings_is_none(text: str) -> None:
    assert read_date(text) is None


MOMENTS = st.floats(631_152_000 + DAY, 4_260_000_000).map(
    lambda seconds: datetime.fromtimestamp(seconds, UTC)
)
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(MOMENTS, ZONES, st.sampled_from(["T", " "]), st.sampled_from(["auto", "seconds", "milliseconds"]))
def test_python_and_we_agree_on_iso_dates(
    moment: datetime, zone: timezone, separator: str, spec: str
) -> None:
    text = moment.astimezone(zone).isoformat(separator, spec)

    assert read_date(text).at == pytest.approx(datetime.fromisoformat(text).timestamp(), abs=1e-6)


@given(MOMENTS, ZONES)
def test_python_and_we_agree_on_mail_dates(moment: datetime, zone: timezone) -> None:
    local = moment.replace(microsecond=0).astimezone(zone)

    assert read_date(format_datetime(local)) == (local.timestamp(), 1.0)
    assert read_date(str(int(moment.timestamp()))) == (moment.replace(microsecond=0).timestamp(), 1.0)


@given(st.text() | st.from_regex(r"[0-9A-Z :T,.+-]{1,40}", fullmatch=True))
def test_any_text_is_read_without_an_error(text: str) -> None:
    moment = read_date(text)

    assert moment is None or (moment.at > 0 and moment.resolution > 0)
