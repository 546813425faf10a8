"""A crawl that runs takes over what is imported meanwhile: importances of pages, profits of sources."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from twisted.internet.defer import Deferred, fail, succeed

from scrapy_freshness.config import Config
from scrapy_freshness.crawl.configured import new_planner
from scrapy_freshness.crawl.lessons import Lessons
from scrapy_freshness.imports.estimates import refresh_estimates
from scrapy_freshness.model import Batch, PageKind, PageRecord
from scrapy_freshness.planning.link_learner import PROFIT_STATE
from scrapy_freshness.planning.told import Told
from scrapy_freshness.planning.visits import Upkeep
from scrapy_freshness.storage.estimate_rows import replace_groups
from scrapy_freshness.storage.importance_rows import (
    GIVEN,
    ImportanceRule,
    announce,
    give_importances,
    write_importances,
)
from scrapy_freshness.storage.store import Store


def at_once(work: Callable[[], Any]) -> "Deferred[Any]":
    try:
        return succeed(work())
    except Exception as error:
        return fail(error)


def page(number: int, **fields: Any) -> PageRecord:
    url = f"http://a.example/{number}"
    return PageRecord(page_id=number, fingerprint=number, url=url, host="a.example", **fields)


def test_what_is_imported_reaches_a_crawl_that_runs(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "scrapy_freshness.crawl.lessons")
    config = Config(database_url=sqlite_url)
    with Store.open(sqlite_url) as store:
        store.save("news", Batch(pages=[page(1), page(2), page(3, kind=PageKind.SOURCE)]))
        planner = new_planner(config, Upkeep.of(config), lambda pages: None)
        planner.load(store.load_pages("news"), 4, 0.0)
        planner.start(0.0)
        lessons = Lessons(config, "news", planner, at_once)
        lessons.ask(0.0)
        caplog.clear()

        with store.writing() as connection:
            write_importances(connection, [(2, 0.25, GIVEN)])
            rules = [
                ImportanceRule(9, False, "http://a.example/9", 4.0),
                ImportanceRule(5, True, "http://b", 3.0),
            ]
            give_importances(connection, {rule.fingerprint: rule for rule in rules})
            state = {'["profits"]': PROFIT_STATE.pack(7.0, 0.01, 0.0, 0.0)}
            replace_groups(connection, "news", ("profits",), state)
        lessons.ask(60.0)
        unsaved = planner.discover(page(4), 61.0)
        lessons.ask(120.0)

    page_ids, importances = planner.told.importances
    assert dict(zip(page_ids.tolist(), importances.tolist(), strict=True)) == {
        1: 1.0,
        2: 0.25,
        3: 1.0,
        4: 1.0,
    }
    assert unsaved.page_id == 4
    source = planner._table.beliefs(np.array([2]))
    assert source.need("profit").tolist() == [7.0]
    assert source.need("decay") == pytest.approx([0.01])
    assert lessons.importances.of(9, "http://a.example/9", "a.example") == 4.0
    assert lessons.importances.of(8, "http://b.example/", "b.example") == 3.0
    assert caplog.messages == ["Importances of 1 pages are others now"]


def test_importances_are_copied_only_if_something_is_new(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(database_url=sqlite_url)
    copies = []
    present = Told.importances.fget
    monkeypatch.setattr(Told, "importances", property(lambda told: copies.append(1) or present(told)))
    with Store.open(sqlite_url) as store:
        store.save("news", Batch(pages=[page(1), page(2)]))
        planner = new_planner(config, Upkeep.of(config), lambda pages: None)
        planner.load(store.load_pages("news"), 3, 0.0)
        planner.start(0.0)
        lessons = Lessons(config, "news", planner, at_once)
        for minute in range(5):
            lessons.ask(60.0 * minute)
        before = len(copies)
        with store.writing() as connection:
            write_importances(connection, [(2, 0.25, GIVEN)])
            announce(connection)
        for minute in range(5, 9):
            lessons.ask(60.0 * minute)

    assert (before, len(copies)) == (0, 1)
    assert planner.told.importances[1].tolist() == [1.0, 0.25]


def test_a_database_that_fails_is_asked_again(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    config = Config(database_url=sqlite_url)
    planner = new_planner(config, Upkeep.of(config), lambda pages: None)
    lessons = Lessons(config, "news", planner, at_once)
    lessons.ask(0.0)
    lessons.ask(60.0)

    assert len([line for line in caplog.messages if "could not be read" in line]) == 2


def test_estimates_of_another_setting_are_taken_back_once(sqlite_url: str) -> None:
    config = Config(database_url=sqlite_url, log_push_seconds=60.0)
    with Store.open(sqlite_url) as store:
        store.save("news", Batch(pages=[page(1), page(2)], links={1: 3}))
        refresh_estimates(store, "links")
        planner = new_planner(config, Upkeep.of(config), lambda pages: None)
        planner.load(store.load_pages("news"), 3, 0.0)
        planner.start(0.0)
        before = planner.told.importances[1].tolist()
        lessons = Lessons(config, "news", planner, at_once)
        lessons.ask(0.0)
        lessons.ask(60.0)
        revision = store.revision("news")
        lessons.ask(120.0)

        assert before == pytest.approx([1.6, 0.4])
        assert planner.told.importances[1].tolist() == [1.0, 1.0]
        assert store.revision("news") == revision
