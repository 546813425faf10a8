"""A number is read alike by all imports, and where it may be two, it is none."""

import pytest

from scrapy_freshness.imports.clicks import ClickRows, clicks_of
from scrapy_freshness.imports.importance import formats, importance_of
from scrapy_freshness.imports.numerals import DOUBTFUL_COUNT
from scrapy_freshness.imports.queries import QueryRows, count_of


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1200", 1200),
        ("1.5", 1.5),
        ("1,5", 1.5),
        ("0.125", 0.125),
        ("0,125", 0.125),
        ("1200.125", 1200.125),
        ("1,200.5", 1200.5),
        ("1.200,5", 1200.5),
        ("1,234,567", 1234567),
        ("1.234.567", 1234567),
        ("1'234'567", 1234567),
        ("1 200", 1200),
        ("1\u00a0200", 1200),
        ("1\u202f200,25", 1200.25),
        ("2.5e3", 2500),
    ],
)
def test_all_imports_read_a_number_alike(text: str, meant: float) -> None:
    assert [read(text) for read in (clicks_of, count_of, importance_of)] == [meant] * 3


@pytest.mark.parametrize("text", ["1,200", "1.200"])
def test_counts_are_taken_to_have_no_thousandths_and_that_is_told(text: str) -> None:
    assert [clicks_of(text), count_of(text)] == [1200, 1200]
    assert QueryRows().add(["shoes", text]) == DOUBTFUL_COUNT
    assert ClickRows(2e9).add(["http://a.example/", "2026-11-17", text]) == DOUBTFUL_COUNT


@pytest.mark.parametrize("text", ["", "1200", "3.14", "0.125", "1.2345", "1,234,567", "1 200", "1.200,5"])
def test_of_other_counts_nothing_is_told(text: str) -> None:
    assert QueryRows().add(["shoes", text]) is None
    assert ClickRows(2e9).add(["http://a.example/", "2026-11-17", text]) is None


def test_an_importance_may_have_thousandths_behind_a_point_as_programs_write_them() -> None:
    assert importance_of("1.200") == 1.2
    with pytest.raises(ValueError, match="ambiguous number"):
        importance_of("1,200")


@pytest.mark.parametrize("text", ["", "many", "1,20,300", "1.2.3", "1,200,30", "12,34,567", "1.200.5", "1 2"])
def test_what_is_no_number_is_refused(text: str) -> None:
    for read in (clicks_of, count_of, importance_of):
        if text or read is importance_of:
            with pytest.raises(ValueError, match="no number"):
                read(text)


def test_numbers_in_json_are_what_they_are() -> None:
    json_lines = formats()[0]
    block = (
        b'{"url": "http://a.example/", "importance": 1.234}\n{"url": "http://a.example/b", "importance": 3}'
    )
    parser = json_lines.parser(block)
    assert parser is not None

    assert [each.importance for each in parser.parse(block).batch] == [1.234, 3.0]
