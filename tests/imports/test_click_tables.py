"""Tables of clicks: plain ones, and the exports of Matomo and Search Console as these write them."""

import numpy as np
import pytest

from scrapy_freshness.imports.click_tables import table_formats
from scrapy_freshness.imports.clicks import ClickBatch, Span
from scrapy_freshness.imports.contract import Parsed

NOW = 1_794_900_000.0
DAY = 86_400.0
NOVEMBER = Span(1_793_491_200.0, 30 * DAY)


def parsed(text: str, period: Span | None = None) -> tuple[str, Parsed[ClickBatch]]:
    """The name of the format that recognises a text, and what it reads."""
    block = text.encode()
    for format_ in table_formats(NOW, period):
        parser = format_.parser(block)
        if parser is not None:
            lines = block.splitlines(keepends=True)
            return format_.name, parser.parse(b"".join(lines[parser.header_lines :]))
    raise AssertionError("not recognised")


def clicks_of(batch: ClickBatch) -> list[tuple[str, float, float, float]]:
    urls = [batch.urls[number] for number in batch.url]
    return list(zip(urls, batch.time.tolist(), batch.seconds.tolist(), batch.clicks.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("url,time,count\nhttps://a.example/x,2026-11-17T04:05:06Z,3\n", "csv"),
        ("Timestamp;Page;Hits\n1794888306;https://a.example/x;3\n", "csv"),
        ("https://a.example/x\t2026-11-17 05:05:06+01:00\t3", "csv"),
        ('{"url": "https://a.example/x", "time": 1794888306, "count": 3}\n', "jsonl"),
        ('{"page": "https://a.example/x", "ts": 1794888306.0, "clicks": 3.0}\n', "jsonl"),
    ],
)
def test_plain_tables(text: str, name: str) -> None:
    found = parsed(text)

    assert found[0] == name
    assert clicks_of(found[1].batch) == [("https://a.example/x", 1794888306.0, 1.0, 3.0)]
    assert found[1].bad == []


def test_matomo_by_day() -> None:
    name, found = parsed(
        "date,label,nb_visits,nb_hits,sum_time_spent,exit_rate,metadata_url,metadata_segment\n"
        "2026-11-16,/x,4,7,120,50%,https://a.example/x,pageUrl==https%253A\n"
        '2026-11-17,"/y, z",1,2,10,0%,"https://a.example/y,z",\n'
        "2026-11-17,Others,1,2,10,0%,,\n"
    )

    assert name == "matomo"
    assert clicks_of(found.batch) == [
        ("https://a.example/x", 1_794_787_200.0, DAY, 7.0),
        ("https://a.example/y,z", 1_794_873_600.0, DAY, 2.0),
    ]
    assert [each.reason for each in found.bad] == ["no usable URL"]


def test_an_export_without_times_needs_the_period() -> None:
    text = 'Top pages,Clicks,Impressions,CTR,Position\nhttps://a.example/,"1,200",9000,13%,2.1\nhttps://a.example/b,0,1,0%,9\n'
    name, refused = parsed(text)
    _, found = parsed(text, NOVEMBER)

    assert name == "search-console"
    assert {each.reason for each in refused.bad} == {"no time (--period says when the clicks were made)"}
    assert clicks_of(found.batch) == [("https://a.example/", *NOVEMBER, 1200.0)]


def test_search_console_by_day_and_matomo_translated() -> None:
    name, found = parsed(
        "date,page,clicks,impressions,ctr,position\n2026-11-17,https://a.example/,5,9,0.5,1\n"
    )
    assert (name, found.batch.seconds.tolist()) == ("search-console", [DAY])

    name, found = parsed("Label,Pageviews,Metadata: url\n/x,5,https://a.example/x\n", NOVEMBER)
    assert (name, found.batch.clicks.tolist()) == ("matomo", [5.0])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("https://a.example/,2036-01-01,1", "time in the future"),
        ("https://a.example/,99999999999999,1", "no usable time"),
        ("https://a.example/,1970-01-01,1", "no usable time"),
        ("https://a.example/,2026-11-17,-1", "impossible number of clicks"),
        ("https://a.example/,2026-11-17,nan", "impossible number of clicks"),
        ("https://a.example/,2026-11-17,many", "no number"),
        ("javascript:alert(1),2026-11-17,1", "no usable URL"),
        (f"https://a.example/{'x' * 3000},2026-11-17,1", "no usable URL"),
    ],
)
def test_rows_that_cannot_be_used(row: str, reason: str) -> None:
    _, found = parsed(f"url,time,count\n{row}\nhttps://a.example/,2026-11-17,1\n")

    assert [each.reason for each in found.bad] == [reason]
    assert np.array_equal(found.batch.clicks, [1.0])
