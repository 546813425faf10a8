"""What announcing hosts say about their documents, and that the site knows how true it is."""

import json
import subprocess
import sys
from itertools import pairwise
from math import inf, isnan
from pathlib import Path

import pytest
from living_site.answers import Responder
from living_site.model import Document, Host
from living_site.parameters import Character, Manner, WorldParameters
from living_site.sayings import Saying, SignalTruth, claimed_at, sayings, signal_truth
from living_site.wire import Request
from living_site.world import World

from scrapy_freshness.signals.poll import Poll, Verdict
from scrapy_freshness.signals.reading import read_source
from scrapy_freshness.signals.seen import Seen

EPOCH = 1_700_000_000.0
SPAN = 0.0, 2000.0


@pytest.fixture(scope="module")
def world() -> World:
    """A world with one announcing host of each manner."""
    manners = tuple(Manner)
    return World(
        WorldParameters(
            seed=4,
            characters=(Character.ANNOUNCING,) * len(manners),
            sitemaps=manners,
            pages_per_host=40,
            fastest_change_rate=0.1,
        )
    )


def host_of(world: World, manner: Manner) -> Host:
    return next(host for host in world.hosts if host.manner is manner)


def documents(world: World, host: Host) -> list[Document]:
    return [page for page in world.pages_of(host) if isinstance(page, Document)]


def truth_of(world: World, manner: Manner, **options: float) -> SignalTruth:
    return signal_truth(world, host_of(world, manner), *SPAN, **options)


def test_worlds_that_name_no_manner_are_as_they_always_were() -> None:
    parameters = WorldParameters(seed=3)
    before = {name: value for name, value in parameters.to_json().items() if "sitemap" not in name}

    assert {host.manner for host in World(parameters).hosts} == {Manner.PERFECT}
    assert WorldParameters.from_json(before) == parameters
    world = World(parameters)
    page = world.documents[0]
    assert claimed_at(world, page, 50.0) == world.changed_at(page, 50.0)


def test_manners_do_not_touch_what_happens(world: World) -> None:
    honest = World(WorldParameters(**{**vars(world.parameters), "sitemaps": (Manner.PERFECT,)}))

    for page, same in zip(world.documents, honest.documents, strict=True):
        assert world.change_times(page, *SPAN) == honest.change_times(same, *SPAN)


@pytest.mark.parametrize("manner", [manner for manner in Manner if manner is not Manner.NOW], ids=str)
def test_a_date_moves_when_something_is_said_and_only_then(world: World, manner: Manner) -> None:
    for page in documents(world, host_of(world, manner))[:15]:
        said = sayings(world, page, 0.0, 300.0)
        assert [saying.at for saying in said] == sorted(saying.at for saying in said)
        at_first = claimed_at(world, page, 0.0)
        for saying, next_saying in pairwise([*said, Saying(300.0, 0.0, True)]):
            between = (saying.at + next_saying.at) / 2
            assert claimed_at(world, page, between) == saying.claimed != at_first


def test_perfect_hosts_say_everything_and_nothing_else(world: World) -> None:
    truth = truth_of(world, Manner.PERFECT)

    assert (truth.precision, truth.recall) == (1.0, 1.0)
    assert truth.changes > 500


def test_partial_hosts_say_their_share(world: World) -> None:
    truth = truth_of(world, Manner.PARTIAL)

    assert truth.precision == 1.0
    assert truth.recall == pytest.approx(world.parameters.announced_share, abs=0.05)
    assert truth.told_changes == truth.sayings


@pytest.mark.parametrize(("manner", "recall"), [(Manner.NOISY, 0.5), (Manner.FALSE, 1.0)])
def test_made_up_changes_cost_precision(world: World, manner: Manner, recall: float) -> None:
    truth = truth_of(world, manner)
    n_false = truth.sayings - truth.true_sayings
    expected = 40 * (SPAN[1] - SPAN[0]) * world.parameters.false_signal_rate

    assert n_false == pytest.approx(expected, rel=0.1)
    assert truth.precision == truth.told_changes / (truth.told_changes + n_false)
    assert truth.recall == pytest.approx(recall, abs=0.05)


def test_delayed_hosts_tell_of_everything_but_not_at_once(world: World) -> None:
    delay = world.parameters.announcement_delay_seconds

    assert truth_of(world, Manner.DELAYED).recall == 1.0
    assert truth_of(world, Manner.DELAYED, within_seconds=delay - 0.001).recall == 0.0


def test_stale_sitemaps_tell_the_last_change_before_they_are_written(world: World) -> None:
    truth = truth_of(world, Manner.STALE)
    half = truth_of(world, Manner.STALE, within_seconds=world.parameters.sitemap_seconds / 2)

    assert (truth.precision, truth.recall) == (1.0, 1.0)
    assert truth.sayings < truth.changes
    assert half.recall == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("manner", [Manner.SAME, Manner.NOW])
def test_dates_that_all_pages_share_mean_nothing(world: World, manner: Manner) -> None:
    truth = truth_of(world, manner)

    assert truth.recall == 1.0
    assert truth.precision < 0.1


def test_where_nothing_happens_nothing_is_known(world: World) -> None:
    truth = signal_truth(world, host_of(world, Manner.PERFECT), 5.0, 5.0, within_seconds=inf)

    assert isnan(truth.precision)
    assert isnan(truth.recall)


@pytest.mark.parametrize(
    ("manner", "verdict"),
    [
        (Manner.SAME, Verdict.SAME),
        (Manner.NOW, Verdict.SAME),
        (Manner.PERFECT, Verdict.USABLE),
        (Manner.NOISY, Verdict.USABLE),
    ],
)
def test_a_poll_of_the_sitemap_finds_out_the_liars(world: World, manner: Manner, verdict: Verdict) -> None:
    host, responder = host_of(world, manner), Responder(world, EPOCH)
    path = "/sitemap-articles.xml.gz"
    seen, outcomes = Seen(), []
    for time in (500.0, 520.0):
        body = responder.answer(Request("GET", path, path, {}, keeps_alive=True), host, time, 0).body
        reading = read_source(body, host.site_url + path, now=EPOCH + time)
        poll = Poll(seen)
        for entries in reading:
            poll.add(entries)
        outcomes.append(poll.end(reading.findings, EPOCH + time))
        seen = outcomes[-1].seen

    assert outcomes[-1].verdict is verdict
    said = {page.url for page in documents(world, host) if sayings(world, page, 500.0, 520.0)}
    moved = {entry.url for entry in outcomes[-1].moved}
    if verdict is Verdict.USABLE:
        assert moved == {url for url in said if "/articles/" in url}
    else:
        assert moved == set()


def test_the_command_line_tells_the_truth(example_project: Path, world: World) -> None:
    options = "--characters announcing,announcing --sitemaps partial,same --seed 4 --signal-truth 100"
    command = [sys.executable, "-m", "living_site", *options.split()]
    told = subprocess.run(command, cwd=example_project, capture_output=True, text=True, check=True).stdout
    partial, same = map(json.loads, told.splitlines())

    assert (partial["manner"], same["manner"]) == ("partial", "same")
    assert partial["precision"] == 1.0
    assert 0.3 < partial["recall"] < 0.7
    assert same["precision"] < 0.1
