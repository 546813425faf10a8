"""What clicks tell reaches pages and sources, in one unit, and what was given counts more."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from clicked_web import HUB, START, WEEK, click_table, drawn_clicks, fill, number_of, page
from sqlalchemy import func, select
from test_click_sums import import_clicks

from scrapy_freshness.estimation.change_rate import PriorPoints
from scrapy_freshness.imports.estimates import refresh_estimates
from scrapy_freshness.imports.page_rates import importances_of, write_changed
from scrapy_freshness.model import Batch, PageKind
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.importances import Importances
from scrapy_freshness.planning.learners import ESTIMATORS, learner_for
from scrapy_freshness.planning.link_learner import LinkLearner
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.storage import importance_rows
from scrapy_freshness.storage.estimate_rows import load_page_clicks
from scrapy_freshness.storage.importance_rows import Given, ImportanceRule, give_importances
from scrapy_freshness.storage.schema import page_feed
from scrapy_freshness.storage.store import Store


def importances(store: Store, spider: str = "news") -> dict[int, float]:
    ids, values = store.load_importances(spider)
    return dict(zip(ids.tolist(), values.tolist(), strict=True))


def test_importances_are_requests_per_second(store: Store, tmp_path: Path) -> None:
    fill(store)
    rows = [("https://a.example/old", START + 60.0 * number, 1.0) for number in range(7 * 1440)]
    import_clicks(store, click_table(tmp_path / "clicks.csv", rows))
    before = store.revision("news")
    done = refresh_estimates(store)
    found = importances(store)

    assert found[2] == pytest.approx(1 / 60, rel=0.01)
    assert importances(store, "shop")[(1 << 40) + 1] == pytest.approx(1 / 60, rel=0.01)
    assert 0 < found[3] < found[2] / 100
    assert found[3] < found[4] < found[2]  # of another host nothing is known
    assert done.pages == 5
    assert store.revision("news") > before
    assert refresh_estimates(store).pages == 0

    new = Importances()
    new.be_told({}, [], store.load_groups("news"))
    of_a, of_c = (new.of(0, f"https://{host}/", host) for host in ("a.example", "c.example"))
    assert of_a == pytest.approx((found[1] + found[2] + found[3]) / 3, rel=0.05)
    assert of_c == pytest.approx(found[4], rel=0.05)


def test_what_was_given_counts_more_than_clicks(store: Store, tmp_path: Path) -> None:
    fill(store)
    rules = [
        ImportanceRule(number_of("https://a.example/old"), False, "https://a.example/old", 9.0),
        ImportanceRule(number_of("https://a.example/later"), False, "https://a.example/later", 8.0),
        ImportanceRule(1, True, "https://a.example/", 2.0),
        ImportanceRule(2, True, "https://a.example/q", 3.0),
    ]
    with store.writing() as connection:
        assert give_importances(connection, {rule.fingerprint: rule for rule in rules}) == Given(1, 3)
    import_clicks(store, click_table(tmp_path / "clicks.csv", [("https://a.example/quiet", START, 5.0)]))
    store.save("news", Batch(pages=[page(7, "https://a.example/later")]))
    refresh_estimates(store)
    found = importances(store)

    assert [found[number] for number in (1, 2, 3, 7)] == [2.0, 9.0, 3.0, 8.0]
    assert found[4] < 1.0


def rules_of(numbers: Iterable[int], importance: float) -> dict[int, ImportanceRule]:
    urls = [f"https://a.example/later/{number}" for number in numbers]
    return {number_of(url): ImportanceRule(number_of(url), False, url, importance) for url in urls}


def test_importances_that_are_kept_can_be_given_anew_and_make_room_when_their_pages_are_found(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importance_rows, "MOST_RULES", 5)
    fill(store)

    def given(rules: dict[int, ImportanceRule]) -> Given:
        with store.writing() as connection:
            return give_importances(connection, rules)

    assert given(rules_of(range(4), 2.0)) == Given(0, 4, 0)
    assert given(rules_of(range(4), 3.0)) == Given(0, 4, 0)
    assert given(rules_of(range(3, 6), 4.0)) == Given(0, 2, 1)
    assert sorted(rule.importance for rule in store.load_rules()) == [3.0, 3.0, 3.0, 4.0, 4.0]

    store.save("news", Batch(pages=[page(20 + n, f"https://a.example/later/{n}") for n in range(3)]))
    assert given(rules_of(range(5, 8), 5.0)) == Given(0, 3, 0)
    assert given(rules_of(range(1), 6.0)) == Given(1, 0, 0)
    refresh_estimates(store)
    found = importances(store)

    assert [found[20 + n] for n in range(3)] == [6.0, 3.0, 3.0]
    assert sorted(rule.importance for rule in store.load_rules()) == [4.0, 4.0, 5.0, 5.0, 5.0]


def test_pages_that_a_crawl_finds_meanwhile_are_estimated_the_next_time(sqlite_store: Store) -> None:
    fill(sqlite_store)
    given = Importances()
    given.be_told({}, [("https://a.example/", 2.0)], {})
    with sqlite_store.reading() as connection:
        pages = load_page_clicks(connection, "news")
    meanwhile = [page(number, f"https://a.example/{number}") for number in (0, 7)]
    sqlite_store.save("news", Batch(pages=meanwhile))
    estimated = importances_of(pages, None, "clicks")

    assert write_changed(sqlite_store, "news", pages, *estimated, given) == 3
    assert importances(sqlite_store) == {0: 1.0, 1: 2.0, 2: 2.0, 3: 2.0, 4: 1.0, 7: 1.0}


def test_clicks_that_waited_are_given_to_the_page_when_it_is_found(
    sqlite_store: Store, tmp_path: Path
) -> None:
    fill(sqlite_store)
    rows = [("https://a.example/old", START, 10.0), ("https://a.example/later", START + WEEK / 2, 1000.0)]
    import_clicks(sqlite_store, click_table(tmp_path / "clicks.csv", rows))
    refresh_estimates(sqlite_store)
    before = importances(sqlite_store)[2]
    sqlite_store.save("news", Batch(pages=[page(7, "https://a.example/later")]))
    refresh_estimates(sqlite_store)

    assert importances(sqlite_store)[7] > 10 * before


def test_equal_pages_are_asked_for_as_often_as_clicks_say_on_average(
    sqlite_store: Store, tmp_path: Path
) -> None:
    """So that they can be weighed against new pages, of which clicks tell what they earn."""
    fill(sqlite_store)
    refresh_estimates(sqlite_store, "equal")
    assert set(importances(sqlite_store).values()) == {1.0}

    rows = [("https://a.example/old", START + 60.0 * number, 1.0) for number in range(7 * 1440)]
    import_clicks(sqlite_store, click_table(tmp_path / "clicks.csv", rows))
    refresh_estimates(sqlite_store, "equal")
    (common,) = set(importances(sqlite_store).values())
    new = Importances()
    new.be_told({}, [], sqlite_store.load_groups("news"))

    assert common == pytest.approx(1 / 60 / 3, rel=0.01)  # of the three pages of the host with a log
    assert new.of(0, "https://a.example/new", "a.example") == pytest.approx(common)

    sqlite_store.save("news", Batch(shown=[(3, START)]))
    refresh_estimates(sqlite_store, "feeds")
    found = importances(sqlite_store)
    assert np.mean(list(found.values())) == pytest.approx(common)
    assert found[3] == pytest.approx(2 * found[2])


def test_links_to_a_page_make_it_important(sqlite_store: Store) -> None:
    fill(sqlite_store)
    sqlite_store.save("news", Batch(pages=[page(7, "https://a.example/liked", in_links=14)]))
    refresh_estimates(sqlite_store, "links")
    found = importances(sqlite_store)

    assert found[7] == pytest.approx(15 * found[2])
    assert np.mean(list(found.values())) == pytest.approx(1.0)


def test_pages_that_feeds_show_are_important_and_ever_less_so(store: Store) -> None:
    fill(store)
    store.save("news", Batch(shown=[(2, START), (2, START + 5.0), (3, START), (4, START - WEEK)]))
    refresh_estimates(store, "feeds")
    found = importances(store)

    assert [found[number] / found[1] for number in (2, 3, 4)] == pytest.approx([3.0, 2.0, 1.5])
    assert np.mean(list(found.values())) == pytest.approx(1.0)
    assert set(importances(store, "shop").values()) == {1.0}  # that spider polls no feed
    assert refresh_estimates(store, "feeds").pages == 0

    store.save("news", Batch(shown=[(4, START + 3 * WEEK)]))
    refresh_estimates(store, "feeds")
    found = importances(store)
    assert [found[number] / found[1] for number in (2, 3, 4)] == pytest.approx([1.25, 1.125, 2.0625])


def test_feeds_count_in_any_order_and_not_for_pages_that_are_forgotten(store: Store) -> None:
    fill(store)
    weeks = [0.0, 3.0, 1.0, -80.0, 2.0]
    for week in weeks:
        store.save("news", Batch(shown=[(2, START + week * WEEK)]))
    store.save("news", Batch(shown=[(3, START + week * WEEK) for week in weeks]))
    with store.reading() as connection:
        pages = load_page_clicks(connection, "news")
    last = int(START // WEEK) + 3

    assert pages.feed_week.tolist() == [0, last, last, 0]
    assert pages.feeds.tolist() == [0.0, 1.875, 1.875, 0.0]

    store.forget(host="a.example")
    with store.reading() as connection:
        assert connection.scalar(select(func.count()).select_from(page_feed)) == 0


def test_what_feeds_have_shown_says_nothing_where_clicks_count(sqlite_store: Store, tmp_path: Path) -> None:
    fill(sqlite_store)
    sqlite_store.save("news", Batch(shown=[(2, START)]))
    refresh_estimates(sqlite_store)
    assert set(importances(sqlite_store).values()) == {1.0}

    import_clicks(sqlite_store, click_table(tmp_path / "c.csv", [("https://a.example/quiet", START, 99.0)]))
    refresh_estimates(sqlite_store)
    found = importances(sqlite_store)
    assert found[3] > found[2] == found[1]


def test_with_another_setting_pages_are_equal_again_whatever_a_crawl_remembers(store: Store) -> None:
    fill(store)
    assert not store.has_estimates()
    store.save("news", Batch(pages=[page(7, "https://a.example/liked", in_links=14)]))
    refresh_estimates(store, "links")
    assert store.has_estimates()
    (remembered,) = store.load_records([7])
    refresh_estimates(store, "equal")
    store.save("news", Batch(pages=[remembered]))

    assert remembered.importance > 1.0
    assert not store.has_estimates()
    assert set(importances(store).values()) == {1.0}


def test_a_source_earns_what_its_pages_were_clicked(store: Store, tmp_path: Path) -> None:
    profit, life, n_new = 12.0, 2 * 3600.0, 150
    fill(store, n_new)
    clicks = drawn_clicks(np.random.default_rng(1), n_new, profit, life)
    import_clicks(store, click_table(tmp_path / "clicks.csv", clicks))
    assert refresh_estimates(store).sources == 1

    learner = LinkLearner(ESTIMATORS["mle"](PriorPoints(), False))
    (hub,) = store.load_records([HUB])
    assert learner.prior(hub)["profit"] == 1.0  # as assumed
    learner.be_told(store.load_groups("news"))
    found = learner.prior(hub)
    unknown = learner.prior(replace(hub, page_id=99))
    elsewhere = learner.prior(replace(hub, page_id=99, host="b.example"))
    no_source = learner.prior(replace(hub, kind=PageKind.PAGE))

    assert found["profit"] == pytest.approx(profit, rel=0.1)
    assert 1 / found["decay"] == pytest.approx(life, rel=0.15)
    assert unknown["profit"] == elsewhere["profit"] == pytest.approx(profit / 2, rel=0.1)
    assert no_source["profit"] == 0.0


def test_entries_of_a_feed_are_worth_what_those_before_were_clicked(
    sqlite_store: Store, tmp_path: Path
) -> None:
    fill(sqlite_store, 150, PageKind.FEED)
    clicks = drawn_clicks(np.random.default_rng(1), 150, 12.0, 2 * 3600.0)
    import_clicks(sqlite_store, click_table(tmp_path / "clicks.csv", clicks))
    refresh_estimates(sqlite_store)

    policy = policy_named("holistic")
    planner = Planner(policy, Hosts(5.0, 60.0), learner_for(policy))
    planner.told.groups_are(sqlite_store.load_groups("news"))
    (feed,) = sqlite_store.load_records([HUB])
    found = planner.beliefs_of_links(feed)

    assert found == {"profit": pytest.approx(12.0, rel=0.1), "decay": pytest.approx(1 / 7200, rel=0.15)}
    unknown = planner.beliefs_of_links(replace(feed, page_id=99))
    assert unknown["profit"] == pytest.approx(6.0, rel=0.1)
