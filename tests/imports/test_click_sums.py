"""Clicks are added up, exactly, in any order and however the import is interrupted, on both databases."""

import random
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from clicked_web import START, WEEK, click_table, fill, number_of
from sqlalchemy import select

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.errors import StorageError
from scrapy_freshness.imports import click_sink, clicked
from scrapy_freshness.imports import stream as streams
from scrapy_freshness.imports.access_log import AccessLog
from scrapy_freshness.imports.click_sink import ClickSink
from scrapy_freshness.imports.click_tables import table_formats
from scrapy_freshness.imports.run import Imported, import_file
from scrapy_freshness.model import ImportProgress
from scrapy_freshness.storage import click_rows
from scrapy_freshness.storage.schema import click_span, page_click, source_click, waiting_click
from scrapy_freshness.storage.store import Store

NOW = START + 4 * WEEK


def import_clicks(store: Store, path: Path, sink: ClickSink | None = None) -> Imported:
    formats = [AccessLog(NOW, base_url="https://a.example"), *table_formats(NOW, None)]
    known = store.load_imports("clicks")
    sink = sink or ClickSink(store, number_of)
    return import_file(str(path), "clicks", formats, sink, known, ManualClock(NOW))


def rows_of(store: Store, table: object) -> list[tuple[object, ...]]:
    with store.reading() as connection:
        return sorted(tuple(row) for row in connection.execute(select(table)))  # type: ignore[call-overload]


def test_clicks_are_kept_by_page_and_week(store: Store, tmp_path: Path) -> None:
    fill(store)
    rows = [
        ("https://a.example/old", START, 8.0),
        ("http://a.example/old?utm_source=x", START + 2 * WEEK, 1.0),
        ("https://a.example/old#part", START + WEEK, 2.0),
        ("https://a.example/quiet", START - 100 * WEEK, 5.0),
        ("https://a.example/unknown", START + WEEK, 3.0),
        ("https://a.example/picture.png", START, 9.0),
        ("https://other.example/", START, 9.0),
    ]
    random.Random(1).shuffle(rows)
    sink = ClickSink(store, number_of)
    for number, row in enumerate(rows):  # each in a file of its own, so that the database adds them up
        import_clicks(store, click_table(tmp_path / f"{number}.csv", [row]), sink)
    week = int(START // WEEK)
    twice = (1 << 40) + 1  # the page as the other spider knows it

    assert rows_of(store, page_click) == [
        (2, week + 2, 4.0),
        (3, week - 100, 5.0),
        (twice, week + 2, 4.0),
    ]
    assert rows_of(store, waiting_click) == [
        (number_of("https://a.example/unknown"), week + 1, 3.0, "https://a.example/unknown")
    ]
    assert sink.counts == {"clicks on known pages": 16, "clicks on other addresses": 21}


def test_clicks_on_new_pages_are_kept_by_source_and_age(sqlite_store: Store, tmp_path: Path) -> None:
    fill(sqlite_store, n_new=2)
    import_clicks(
        sqlite_store,
        click_table(
            tmp_path / "clicks.csv",
            [
                ("https://a.example/new/0", START + 10.0, 1.0),
                ("https://a.example/new/1", START + 3600.0 + 1300.0, 2.0),
                ("https://a.example/new/1", START, 4.0),  # before it was found
                ("https://a.example/new/1", START + 80 * 3600.0, 9.0),  # too old
                ("https://a.example/new/0", START - 3 * 86_400.0, 9.0),  # no new page then
            ],
        ),
    )

    assert rows_of(sqlite_store, source_click) == [(1, 0, 5.0), (1, 1, 2.0)]
    ((_, start, end),) = rows_of(sqlite_store, click_span)
    assert (start, end) == (START - 3 * 86_400.0, START + 80 * 3600.0 + 1.0)


def log_of(n_lines: int) -> bytes:
    rng = random.Random(n_lines)
    agents = ("Mozilla/5.0 Firefox/140.0", "Googlebot/2.1")
    lines = []
    for number in range(n_lines):
        path = rng.choice(["/old", "/quiet", "/new/0", "/new/1", "/lost"])
        lines.append(
            f"10.0.0.1 - - [05/Nov/2026:{number // 60 % 24:02}:{number % 60:02}:07 +0000] "
            f'"GET {path} HTTP/1.1" {rng.choice([200, 304, 404])} 5 "-" "{rng.choice(agents)}"\n'
        )
    return "".join(lines).encode()


class Killed(BaseException):
    """The process ends here."""


class KilledSink(ClickSink):
    """Dies at its second save, before or after the transaction."""

    saves = 0
    after = False

    def save(self, progress: ImportProgress) -> None:
        self.saves += 1
        if self.saves == 2 and not self.after:
            raise Killed
        super().save(progress)
        if self.saves == 2:
            raise Killed


def everything(store: Store) -> list[list[tuple[object, ...]]]:
    return [rows_of(store, table) for table in (page_click, waiting_click, source_click, click_span)]


def test_an_import_that_is_killed_again_and_again_has_the_same_sums(
    store: Store, tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(click_sink, "_ENOUGH_CLICKS", 100)
    log = tmp_path / "access.log"
    log.write_bytes(log_of(2000))
    fill(store, n_new=2)
    kills = 0
    for number in range(100):
        sink = KilledSink(store, number_of)
        sink.after = bool(number % 2)
        try:
            import_clicks(store, log, sink)
            break
        except Killed:
            kills += 1
    with Store.open(f"{sqlite_url}-whole") as other:
        fill(other, n_new=2)
        whole = import_clicks(other, log)
        assert everything(store) == everything(other)

    assert kills > 3
    assert import_clicks(store, log).lines == 0
    (progress,) = store.load_imports("clicks")
    assert (progress.lines, progress.position) == (whole.lines, log.stat().st_size)
    assert progress.counts == whole.progress.counts


def test_two_imports_of_a_file_at_once_do_not_count_it_twice(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(click_sink, "_ENOUGH_CLICKS", 100)
    log = tmp_path / "access.log"
    log.write_bytes(log_of(1000))
    fill(store)

    class Overtaken(ClickSink):
        """Another process imports the file when this one is about to write for the first or second time."""

        saves = 0
        when = 1

        def save(self, progress: ImportProgress) -> None:
            self.saves += 1
            if self.saves == self.when:
                import_clicks(store, log)
            super().save(progress)

    for when in (1, 2):
        log.write_bytes(log_of(1000 * when))
        sink = Overtaken(store, number_of)
        sink.when = when
        with pytest.raises(StorageError, match=r"access\.log is being imported by another process"):
            import_clicks(store, log, sink)
    assert sum(progress.lines for progress in store.load_imports("clicks")) == 3000


def test_spans_are_merged_and_do_not_become_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click_rows, "MOST_SPANS", 3)
    hours = [(3600.0 * hour, 3600.0 * hour + 1) for hour in (0, 1, 10, 20, 22.5, 40)]

    assert click_rows.merged(hours) == [(0.0, 36_001.0), (72_000.0, 81_001.0), (144_000.0, 144_001.0)]


def test_addresses_that_wait_do_not_become_many(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click_rows, "MOST_WAITING", 2)
    fill(sqlite_store)
    rows = [(f"https://a.example/{number}", START, float(number)) for number in range(1, 6)]
    import_clicks(sqlite_store, click_table(tmp_path / "clicks.csv", rows))
    with sqlite_store.writing() as connection:
        click_rows.prune_waiting(connection)

    assert sorted(row[2] for row in rows_of(sqlite_store, waiting_click)) == [4.0, 5.0]


def test_of_addresses_that_wait_those_are_kept_that_are_clicked_most_whenever_that_was(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click_rows, "MOST_WAITING", 3)
    fill(store)
    rows = [
        ("https://a.example/last-year", START - 70 * WEEK, 1e9),
        ("https://a.example/last-month", START - 4 * WEEK, 160.0),
        ("https://a.example/last-week", START - WEEK, 1e6),
        ("https://a.example/today", START, 1.0),
        ("https://a.example/today-too", START, 2.0),
    ]
    import_clicks(store, click_table(tmp_path / "clicks.csv", rows))
    with store.writing() as connection:
        click_rows.prune_waiting(connection)

    assert {row[3].rpartition("/")[2] for row in rows_of(store, waiting_click)} == {
        "last-week",
        "last-month",
        "today-too",
    }


def test_addresses_that_wait_are_dropped_during_a_long_import(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click_rows, "MOST_WAITING", 3)
    monkeypatch.setattr(click_sink, "MOST_WAITING", 3)
    fill(sqlite_store)
    sink = ClickSink(sqlite_store, number_of)
    for part in range(5):
        rows = [(f"https://a.example/{part}/{number}", START, 1.0) for number in range(2)]
        import_clicks(sqlite_store, click_table(tmp_path / f"{part}.csv", rows), sink)

        assert len(rows_of(sqlite_store, waiting_click)) <= 7


def test_sums_are_the_same_if_addresses_are_forgotten_after_every_block(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clicked, "_MOST_BYTES", 1)
    monkeypatch.setattr(streams, "BLOCK_BYTES", 1000)
    fill(sqlite_store)
    sink = ClickSink(sqlite_store, number_of)
    names = ["old", "quiet", "lost", *(f"{number}.png" for number in range(100))] * 2
    rows = [(f"https://a.example/{name}", START, 1.0) for name in names]
    import_clicks(sqlite_store, click_table(tmp_path / "clicks.csv", rows), sink)

    assert [row[2] for row in rows_of(sqlite_store, page_click)] == [2.0, 2.0, 2.0]
    assert [row[2] for row in rows_of(sqlite_store, waiting_click)] == [2.0]
    assert sink.counts == {"clicks on known pages": 4, "clicks on other addresses": 202}
    assert len(sink._addresses) == 0


def by_hand(rows: Iterable[tuple[str, float, float]], week: int) -> dict[str, float]:
    """The second way to add up clicks that count half as much for each week."""
    sums: dict[str, float] = defaultdict(float)
    for url, time, count in rows:
        sums[url] += count * 0.5 ** (week - time // WEEK)
    return dict(sums)


def test_sums_are_those_that_are_made_by_hand(sqlite_store: Store, tmp_path: Path) -> None:
    fill(sqlite_store)
    rng = random.Random(3)
    rows = [
        (
            rng.choice(["https://a.example/old", "https://a.example/quiet"]),
            START + rng.uniform(-40, 3) * WEEK,
            1.0,
        )
        for _ in range(500)
    ]
    for part in range(5):
        import_clicks(sqlite_store, click_table(tmp_path / f"{part}.csv", rows[part::5]))
    week = int(START // WEEK) + 3
    kept = {row[0]: row[2] * 0.5 ** (week - row[1]) for row in rows_of(sqlite_store, page_click)}  # type: ignore[operator]

    assert kept[2] == pytest.approx(by_hand(rows, week)["https://a.example/old"], rel=1e-9)
    assert kept[3] == pytest.approx(by_hand(rows, week)["https://a.example/quiet"], rel=1e-9)
