"""A crawl on a manual clock hears what the living site says, and the site knows what could be heard."""

import pytest
from living_site.announcements import SITEMAPS
from living_site.freshness import mean_freshness
from living_site.hearing import requests_by_page, truth_as_heard
from living_site.model import Document
from living_site.parameters import Character, Manner, WorldParameters
from living_site.request_log import Entry
from living_site.sayings import announcing_hosts
from living_site.world import World
from twin import TwinCrawl, twin_crawl

SECONDS = 300.0
SETTINGS = {"FRESHNESS_GONE_RECHECK": "24s", "FRESHNESS_GONE_RECHECK_MAX": "1440s"}


def world_of(manner: Manner) -> World:
    return World(
        WorldParameters(
            seed=3,
            characters=(Character.ANNOUNCING,),
            pages_per_host=90,
            slowest_change_rate=0.002,
            fastest_change_rate=0.1,
            sitemaps=(manner,),
        )
    )


def crawled(world: World, policy: str) -> TwinCrawl:
    return twin_crawl(world, SETTINGS | {"FRESHNESS_POLICY": policy}, 0.7 * world.total_change_rate, SECONDS)


@pytest.mark.parametrize("manner", [Manner.PERFECT, Manner.PARTIAL, Manner.DELAYED, Manner.STALE])
def test_who_listens_has_fresher_copies_and_learns_how_true_signals_are(manner: Manner) -> None:
    world = world_of(manner)
    deaf, listening = crawled(world, "greedy"), crawled(world, "greedy-ncis")
    fresh = {
        crawl: mean_freshness(world, found.fetches, SECONDS / 3, SECONDS)
        for crawl, found in (("deaf", deaf), ("listening", listening))
    }
    (host,) = announcing_hosts(world)
    heard = truth_as_heard(world, host, listening.visits(), listening.polls)
    (trust,) = listening.trust

    assert fresh["listening"] > fresh["deaf"] + 0.01
    assert heard.precision == 1.0
    assert trust.precision.value > 0.95
    assert trust.signals >= 0.98 * heard.sayings, "and some were heard after the visit"
    if manner is Manner.PARTIAL:
        assert trust.recall.value == pytest.approx(0.5, abs=0.15)
    else:
        # All changes are told of, if not before they are found; 300 visits do not show it for sure.
        assert trust.recall.value > max(0.8, heard.recall)


@pytest.mark.parametrize("manner", [Manner.SAME, Manner.NOW])
def test_dates_that_lie_are_not_used(manner: Manner) -> None:
    found = crawled(world_of(manner), "greedy-ncis")

    assert found.trust == []
    assert sum(map(len, found.polls.values())) < 30


def test_what_could_be_heard_is_counted_from_the_requests() -> None:
    world = world_of(Manner.PERFECT)
    (host,) = announcing_hosts(world)
    page = max(world.documents, key=lambda page: page.change_rate)
    path = next(path for path, prefix in SITEMAPS.items() if page.path.startswith(prefix))
    first, second, third = world.change_times(page, 0.0, 1000.0)[:3]
    before = (first + second) / 2

    def entry(path: str, time: float) -> Entry:
        return Entry(time, time, host.address, "GET", path, 200, False, 1)

    # Visited; told of the first change and visited; not told of the second.
    log = [entry(page.path, 0.0), entry(path, before), entry(page.path, before)]
    log += [entry(page.path, (second + third) / 2)]
    visits, polls = requests_by_page(world, host, log)
    truth = truth_as_heard(world, host, visits, polls)

    assert list(visits) == [page]
    assert isinstance(page, Document)
    assert (truth.sayings, truth.true_sayings, truth.told_changes, truth.changes) == (1, 1, 1, 2)
