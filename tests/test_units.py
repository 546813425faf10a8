"""What users may write in settings, and what is refused."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness import units

SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "week": 604800}
positive = st.floats(min_value=1e-6, max_value=1e9)
refusals = (ValueError, TypeError)
anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.binary(max_size=4),
    st.lists(st.one_of(st.integers(), st.text(max_size=3)), max_size=3),
    st.dictionaries(st.text(max_size=3), st.one_of(st.integers(), st.text(max_size=3)), max_size=2),
    st.from_regex(r"-?[0-9]{1,320}(\.[0-9]+)?(e[0-9]{1,3})? ?(/?[a-zA-Z]{0,5})", fullmatch=True),
    st.just(10**400),
)


@given(number=positive, unit=st.sampled_from(sorted(SECONDS)))
def test_a_rate_is_a_number_per_time_unit(number: float, unit: str) -> None:
    assert units.rate(f"{number!r}/{unit}") == pytest.approx(number / SECONDS[unit])
    assert units.rate(f" {number!r} / {unit.upper()} ") == pytest.approx(number / SECONDS[unit])


@given(number=positive)
def test_a_bare_number_is_a_rate_per_second(number: float) -> None:
    assert units.rate(number) == units.rate(repr(number)) == number


@given(number=positive, unit=st.sampled_from(sorted(SECONDS)))
def test_a_duration_is_a_number_of_time_units(number: float, unit: str) -> None:
    assert units.duration(f"{number!r} {unit}") == pytest.approx(number * SECONDS[unit])
    assert units.duration(f"{number!r}{unit}") == pytest.approx(number * SECONDS[unit])


@given(number=st.integers(1, 10**5), unit=st.sampled_from(["", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB"]))
def test_a_size_is_a_whole_number_of_bytes(number: int, unit: str) -> None:
    factor = {"": 1, "b": 1, "k": 1000, "m": 1000**2, "g": 1000**3}[unit[:1].lower()]
    if "i" in unit:
        factor = {"K": 2**10, "M": 2**20, "G": 2**30}[unit[0]]

    assert units.size(f"{number}{unit}") == units.size(f"{number} {unit}") == number * factor


@pytest.mark.parametrize(
    ("parse", "written"),
    [
        *((units.rate, text) for text in ["0/s", "-1/s", "1/fortnight", "1/s/s", "2/", "", "nan", "inf"]),
        *((units.duration, text) for text in ["-1s", "1 parsec", "soon", "", "1e308w", "1.2.3s", None, True]),
        *((units.size, text) for text in ["0", "-5", "1 MiBi", "much", "0.4", "1" + "0" * 308 + "GB", None]),
        *((units.share, number) for number in [-0.1, 1.1, "half", float("nan"), None, True, 10**400]),
        *((units.positive_int, number) for number in [0, -1, 1.5, "a", float("inf"), None, True, 10**400]),
        *((units.switch, text) for text in ["yes", "on", "", None, 2, 1.5]),
        *((units.words, value) for value in [5, [1], b"ab", [b"a"]]),
        *((units.patterns, value) for value in ["(", [")"], [5], 5]),
        *((units.selectors, value) for value in [["main"], "main", None, {"a": 5}, {"a": [5]}]),
        *((units.text, value) for value in [5, None, b"a"]),
        *((units.choice("a", "b"), value) for value in ["c", "", None, ["a"]]),
        (units.duration, "5 parsecs"),
        (units.rate, "2/parsec"),
        (units.size, "5 lb"),
        *((units.numbers(0, 9), value) for value in [-1, 9.5, "x", float("nan"), None]),
        *((units.durations(1, 60), value) for value in ["0.5s", "2min", "1e300d", "soon", "5 parsecs", None]),
        *((units.whole(2, 9), value) for value in [1, 10, 2.5, "x", None]),
    ],
)
def test_nonsense_is_refused(parse, written) -> None:
    with pytest.raises(refusals):
        parse(written)


@given(value=anything)
def test_a_parser_returns_something_sensible_or_refuses(value: object) -> None:
    sensible = {
        units.rate: lambda got: 0 < got < math.inf,
        units.duration: lambda got: 0 <= got < math.inf,
        units.size: lambda got: isinstance(got, int) and got >= 1,
        units.share: lambda got: 0 <= got <= 1,
        units.positive_int: lambda got: isinstance(got, int) and got >= 1,
        units.switch: lambda got: got in (True, False),
        units.words: lambda got: all(isinstance(word, str) for word in got),
        units.patterns: lambda got: all(isinstance(pattern, re.Pattern) for pattern in got),
        units.selectors: lambda got: all(isinstance(word, str) for each in got.values() for word in each),
        units.text: lambda got: isinstance(got, str),
    }
    for parse, is_sensible in sensible.items():
        try:
            got = parse(value)
        except refusals:
            continue
        assert is_sensible(got)


@pytest.mark.parametrize(("written", "means"), [("True", True), ("0", False), (False, False), (" 1 ", True)])
def test_a_switch_is_read_as_scrapy_reads_it(written: object, means: bool) -> None:
    assert units.switch(written) is means


@given(st.lists(st.text(st.characters(exclude_characters=",", exclude_categories=("Z", "C")), min_size=1)))
def test_words_may_be_a_list_or_separated_by_commas(several: list[str]) -> None:
    assert units.words(several) == units.words(" , ".join(several)) == tuple(several)


def test_one_string_is_one_regular_expression() -> None:
    (pattern,) = units.patterns(r"a,b\.html$")

    assert pattern.search("/a,b.html")
    assert units.patterns(None) == units.patterns("") == units.patterns([]) == ()


def test_selectors_are_kept_by_domain() -> None:
    assert units.selectors({"*": "nav, footer", "a.example": ["main"]}) == {
        "*": ("nav", "footer"),
        "a.example": ("main",),
    }


def test_every_parser_that_refuses_without_words_has_a_remedy() -> None:
    assert all(remedy.startswith("write ") for remedy in units.REMEDY.values())
    with pytest.raises(ValueError, match="choose one of a, b"):
        units.choice("a", "b")("c")
    with pytest.raises(ValueError, match="whole number from 2 to 9"):
        units.whole(2, 9)("1")
    with pytest.raises(ValueError, match="at least 0 and at most 9"):
        units.numbers(0, 9)("10")
    with pytest.raises(ValueError, match=r'such as "30s".*, from 0.5s to 2d'):
        units.durations(0.5, 172_800)("1e-9s")
    assert (units.whole(0, 9)("0"), units.durations(1, 60)("1min")) == (0, 60.0)
