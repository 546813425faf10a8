"""`scrapy freshness sources`, and what `why` says of hubs."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from answering import Answer
from small_web import HOUR, NOW, page
from test_command_docs import documented, paths

from scrapy_freshness.config import Config
from scrapy_freshness.insight.believed_sources import BelievedSources
from scrapy_freshness.insight.case import case_of
from scrapy_freshness.insight.hub_reasons import hub_sentences
from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.insight.reach import reach_of
from scrapy_freshness.model import Batch, CrawlState, HubRecord, HubState, PageKind, PageStatus, SourceRecord
from scrapy_freshness.planning.learning import group_name
from scrapy_freshness.planning.link_learner import PROFIT_STATE
from scrapy_freshness.storage.hub_reports import hubs as stored_hubs
from scrapy_freshness.storage.store import Store

Run = Callable[..., Answer]

HOME = "http://a.example/"
PROFIT = 86400.0
#: Path -> links an hour, profit, and where the hub stands.
HUBS: dict[str, tuple[float, float, HubState]] = {
    "": (10.0, PROFIT, HubState.ACTIVE),
    "rare": (0.001, PROFIT, HubState.ACTIVE),
    "cheap": (10.0, 1.0, HubState.ACTIVE),
    "retired": (1.0, PROFIT, HubState.RETIRED),
    "trial": (1.0, PROFIT, HubState.TRIAL),
    "gone": (1.0, PROFIT, HubState.ACTIVE),
}


@pytest.fixture
def hubs_url(sqlite_url: str) -> str:
    """A database with hubs of every sort, and a feed."""
    pages, hubs = [], []
    for number, (path, (per_hour, profit, state)) in enumerate(HUBS.items(), start=1):
        beliefs = {"link_rate": per_hour / HOUR, "profit": profit, "decay": 1 / 86400}
        status = PageStatus.GONE if path == "gone" else PageStatus.ACTIVE
        fields: dict[str, Any] = {"kind": PageKind.SOURCE, "importance": 0.0, "status": status}
        pages.append(page(HOME + path, HOUR, HOUR, page_id=number, beliefs=beliefs, **fields))
        hubs.append(
            HubRecord(
                page_id=number,
                url=HOME + path,
                found="link" if path else "root",
                found_on=HOME if path else "",
                evidence="history" if path else "",
                state=state,
                is_unseen=True,
                polls=30,
                shown=50,
                new_links=100 - number,
                barren=12,
                last_poll_at=NOW - HOUR,
                next_look_at=NOW + 5 * HOUR,
            )
        )
    earns = {"yield_rate": 0.05, "yield_seconds": HOUR, "patience_seconds": 86400.0}
    feed = page(HOME + "feed", HOUR, HOUR, page_id=99, kind=PageKind.FEED, beliefs=earns)
    quiet = page(
        HOME + "map", HOUR, HOUR, page_id=98, kind=PageKind.SITEMAP, beliefs=earns | {"yield_rate": 0.0}
    )
    sources = [
        SourceRecord(
            page_id=99, url=feed.url, kind=feed.kind, found="page", format="feed", polls=4, new_pages=10
        ),
        SourceRecord(page_id=98, url=quiet.url, kind=quiet.kind, found="robots", format="sitemap", barren=3),
    ]
    clicked = {group_name("profits", ("a.example", "99")): PROFIT_STATE.pack(50.0, 1 / HOUR, 9.0, 450.0)}
    state = CrawlState(
        spider="news",
        policy="holistic",
        budget_per_second=0.1,
        started_at=NOW - HOUR,
        updated_at=NOW - 5,
        price=5000.0,
    )
    with Store.open(sqlite_url) as store:
        batch = Batch(pages=[*pages, feed, quiet], hubs=hubs, sources=sources, state=state, groups=clicked)
        store.save("news", batch)
    return sqlite_url


def test_every_hub_is_told_with_what_it_brings_and_why(freshness: Run, hubs_url: str) -> None:
    found = freshness("sources", "--json", url=hubs_url).json
    hubs = {hub["url"].removeprefix(HOME): hub for hub in found["hubs"]}
    why = {path: hub["why"] for path, hub in hubs.items()}

    assert [hub["url"].removeprefix(HOME) for hub in found["hubs"]] == list(HUBS)
    assert [path for path, hub in hubs.items() if hub["is_polled"]] == [""]
    assert "a new link every 6 min" in why[""]
    assert why["rare"].endswith("at most, less than a fetch (5,000)")
    assert why["cheap"].endswith("at most, less than a fetch (5,000)")
    assert why["retired"] == "no new link in 12 polls: looked at again in 5 h"
    assert "first time" in why["trial"]
    assert "gone" in why["gone"]
    # lambda P/mu * R1(mu I) = price, independently of the code that inverts it.
    interval = hubs[""]["interval_seconds"]
    bound = 10 / HOUR * PROFIT * 86400
    assert bound * (1 - (1 + interval / 86400) * math.exp(-interval / 86400)) == pytest.approx(5000, rel=1e-3)
    assert hubs[""]["budget_share"] == pytest.approx((1 / interval + 10 / HOUR) / 0.1, rel=1e-3)


@pytest.mark.parametrize("policy", ["holistic", "echo-schedule"])
def test_a_hub_alone_is_explained_as_among_all_sources(
    hubs_url: str, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    config = Config(database_url=hubs_url)
    with Store.open(hubs_url) as store:
        state = store.load_state("news")
        assert state is not None
        store.save("news", Batch(state=replace(state, policy=policy)))
        everyone = BelievedSources(store, config, "news", NOW)
        expected = {}
        for report in stored_hubs(store):
            case = everyone.hub(report)
            assert case is not None
            expected[report.page_id] = hub_sentences(case, NOW)
        terms = Terms.of(store, config, "news")
        outlook = Outlook(terms, store.load_pages("news"), NOW)
        others = terms, outlook, reach_of(outlook, floor=terms.policy.pacing.floor, now=NOW)
        monkeypatch.delattr(Store, "load_pages")  # of which there may be millions
        records = store.load_records(list(expected))
        cases = {record.page_id: case_of(store, config, record, "news", NOW, others) for record in records}

    assert all(expected.values())
    assert {page_id: case.hub_sentences for page_id, case in cases.items()} == expected


def test_feeds_are_told_with_what_they_bring_and_why(freshness: Run, hubs_url: str) -> None:
    settings = {"FRESHNESS_HUBS": True}
    feed, sitemap = freshness("sources", "--json", url=hubs_url, settings=settings).json["announcing"]

    assert feed["pages_per_poll"] == 2.5
    assert (feed["profit"], feed["decay"]) == (50.0, pytest.approx(1 / HOUR))
    assert feed["why"] == "what it tells in a day is worth 4,320 visits"
    # y W * R1(I/W) = 1 price, independently of the code that inverts it; W = pages / budget.
    wait, interval = 8 / 0.1, feed["interval_seconds"]
    assert 0.05 * wait * (1 - (1 + interval / wait) * math.exp(-interval / wait)) == pytest.approx(
        1, rel=1e-3
    )
    assert feed["budget_share"] == pytest.approx(1 / interval / 0.1)
    assert (sitemap["profit"], sitemap["decay"]) == (None, None)
    assert sitemap["interval_seconds"] == 86400.0
    assert sitemap["why"].startswith("nothing of worth in 3 polls")


def test_all_that_is_told_is_documented(freshness: Run, hubs_url: str) -> None:
    told = set(paths(freshness("sources", "--json", url=hubs_url).json))

    assert told == documented("sources")


def test_people_get_tables(freshness: Run, hubs_url: str) -> None:
    out = freshness("sources", url=hubs_url).out

    for expected in (HOME, "retired", "10/h", "1 hub of 6 polled", "feed", "2.5"):
        assert expected in out
    unknown = freshness("sources", "--host", "b.example", url=hubs_url)
    assert (unknown.exit_code, unknown.err) == (2, "scrapy freshness: no host b.example is known\n")


def test_why_explains_hubs(freshness: Run, hubs_url: str) -> None:
    words = " ".join(freshness("why", HOME + "retired", "--json", url=hubs_url).json["pages"][0]["sentences"])
    assert "It is a hub: http://a.example/ links to it, and it is old enough (by history)." in words
    assert "It is not polled for links: no new link in 12 polls" in words

    words = freshness("why", HOME, url=hubs_url).out
    assert "main page of its host" in words
    assert "It is polled about every" in words


def test_a_policy_without_links_takes_hubs_for_pages(freshness: Run, hubs_url: str) -> None:
    with Store.open(hubs_url) as store:
        state = store.load_state("news")
        assert state is not None
        state.policy = "greedy"
        store.save("news", Batch(state=state, fetches={(1, "page"): 1}))
    hub = freshness("sources", "--json", url=hubs_url).json["hubs"][0]

    assert hub["link_rate"] is None
    assert hub["why"] == "to the policy greedy it is a page like others"
