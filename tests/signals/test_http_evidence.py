"""Headers say when a page changed and how long it stays; by the server's clock, and some say nothing."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.signals.http_hints import http_hints

NOW = 1_794_900_000.0
HOUR = 3600.0


def date(at: float) -> str:
    return formatdate(at, usegmt=True)


def test_last_modified_is_when_the_page_changed() -> None:
    hints = http_hints({"last-modified": date(NOW - HOUR), "date": date(NOW)}, NOW)

    assert hints.last_modified == (NOW - HOUR, 1.0)
    assert hints.fresh_until is None


def test_dates_are_read_by_the_clock_of_the_server() -> None:
    hints = http_hints({"last-modified": date(NOW + HOUR), "date": date(NOW + 2 * HOUR)}, NOW)

    assert hints.last_modified == (NOW - HOUR, 1.0)


def test_an_answer_from_a_cache_is_as_old_as_it_says() -> None:
    headers = {
        "last-modified": date(NOW - HOUR),
        "date": date(NOW - 600),
        "age": "600",
        "cache-control": "max-age=900",
    }
    hints = http_hints(headers, NOW)

    assert hints.last_modified == (NOW - HOUR, 1.0)
    assert hints.fresh_until == NOW + 300


@pytest.mark.parametrize("headers", [{"last-modified": date(NOW)}, {"last-modified": date(NOW + HOUR)},
                                     {"last-modified": date(NOW - 5), "date": date(NOW - 5)}])  # fmt: skip
def test_a_page_that_was_made_for_the_request_says_nothing(headers: dict[str, str]) -> None:
    assert http_hints(headers, NOW).last_modified is None


LIFETIMES = {
    "max-age=60": 60.0,
    "public, MAX-AGE = 60, s-maxage=5": 60.0,
    'max-age="60"': 60.0,
    "max-age=60, max-age=5": 60.0,
    "max-age=0": 0.0,
    "max-age=99999999999999999999999": 366 * 86_400.0,
    "max-age=60, no-cache": None,
    "no-store": None,
    "max-age=x": None,
    "max-age=-1": None,
    "max-age": None,
    "x-max-age=60": None,
    "": None,
}


@pytest.mark.parametrize(("value", "seconds"), LIFETIMES.items(), ids=LIFETIMES.keys())
def test_cache_control_says_how_long_a_page_stays(value: str, seconds: float | None) -> None:
    hints = http_hints({"cache-control": value}, NOW)

    assert hints.lifetime_seconds == seconds
    assert hints.fresh_until == (None if seconds is None else NOW + seconds)


def test_expires_counts_from_the_date_of_the_answer() -> None:
    server = NOW + 5 * HOUR
    hints = http_hints({"expires": date(server + 60), "date": date(server)}, NOW)

    assert hints.fresh_until == NOW + 60
    assert http_hints({"expires": date(NOW + 60)}, NOW).fresh_until is None  # by which clock?
    assert http_hints({"expires": "0", "date": date(NOW)}, NOW).fresh_until is None
    assert http_hints({"expires": date(NOW - 60), "date": date(NOW)}, NOW).fresh_until == NOW


NAMES = st.sampled_from(["date", "age", "expires", "last-modified", "cache-control"])
VALUES = st.text() | st.just(date(NOW)) | st.text(st.sampled_from('max-age=0123456789", '))


@given(st.dictionaries(NAMES, VALUES))
def test_no_headers_are_an_error(headers: dict[str, str]) -> None:
    http_hints(headers, NOW)
