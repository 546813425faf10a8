"""Links of hubs: which appeared, when they were found and what that was worth, against slow counting."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_histories import SlowJudge, fetches, webs

from scrapy_freshness.simulator.judgement import judge
from scrapy_freshness.simulator.link_metrics import (
    LinkFinds,
    link_delay_seconds,
    link_profits,
    new_links_found,
    profit,
)
from scrapy_freshness.simulator.recorded import web_of
from scrapy_freshness.simulator.trace import Kind, Link, Version
from scrapy_freshness.simulator.trial import Trial

horizon = st.tuples(st.integers(0, 20), st.integers(1, 20)).map(lambda each: (each[0], sum(each)))
LIFE = 7.0


def trial_of(
    history: list[list[Version]], fetched: list[tuple[int, float]], start: float, end: float
) -> Trial:
    pages, times = np.array([*zip(*fetched, strict=True)] if fetched else [[], []])
    web = web_of(version for page in history for version in page)
    return Trial(web, pages.astype(int), times.astype(float), start, end)


def hub(
    *versions: tuple[float, str], name: str = "a:1", scores: dict[str, float] | None = None
) -> list[Version]:
    """A hub that shows links of one letter at some times."""
    return [
        Version(
            page=name,
            at=at,
            kind=Kind.CHANGE,
            links=tuple(Link(letter, score=(scores or {}).get(letter)) for letter in letters),
        )
        for at, letters in versions
    ]


def worth_of(versions: list[Version]) -> dict[str, float]:
    """What each link of a hub is worth; 1 in the mean."""
    links = [(place, link) for version in versions for place, link in enumerate(version.links or (), 1)]
    by_score = any(link.score is not None for _, link in links)
    worth: dict[str, float] = {}
    for place, link in links:
        one = max(link.score or 0.0, 0.0) if by_score else 1 / place
        worth[link.url] = max(worth.get(link.url, 0.0), one)
    total = sum(worth.values())
    return {url: each * len(worth) / total if total else 1.0 for url, each in worth.items()}


def appearances(history: list[list[Version]]) -> dict[str, tuple[float, bool, float]]:
    """Of each link: when it appeared, whether it was there before the record, what it is worth."""
    seen: dict[str, list[tuple[float, bool, float]]] = {}
    for versions in history:
        worth = worth_of(versions)
        for version in versions:
            for link in version.links or ():
                event = (version.at, version is not versions[0], worth[link.url])
                seen.setdefault(link.url, []).append(event)
    # Of several hubs with the first appearance, the first one of the web tells the profit.
    firsts = {url: min(events, key=lambda event: event[:2]) for url, events in seen.items()}
    return {url: (at, not is_new, worth) for url, (at, is_new, worth) in firsts.items()}


@given(history=webs(with_hubs=True), fetched=fetches(), span=horizon)
def test_finds_are_exact(
    history: list[list[Version]], fetched: list[tuple[int, float]], span: tuple[int, int]
) -> None:
    finds = LinkFinds.of(trial_of(history, fetched, *span))
    slow = SlowJudge(history, [(page, int(at)) for page, at in fetched if at >= span[0]], *span)
    for _ in slow.seconds():
        pass
    new = {
        url: (at, worth)
        for url, (at, was_there, worth) in appearances(history).items()
        if span[0] < at <= span[1] and not was_there
    }
    found = {url: slow.found[url] for url in new if url in slow.found}
    delays = sorted(found[url] - new[url][0] for url in found)
    total = sum(worth for _, worth in new.values())

    assert len(finds.appeared) == len(new)
    assert sorted(finds.delays) == delays
    if new:
        assert new_links_found(finds) == pytest.approx(len(found) / len(new))
        earned = sum(new[url][1] * math.exp(-(found[url] - new[url][0]) / LIFE) for url in found)
        expected = earned / total if total else math.nan
        assert profit(finds, LIFE) == pytest.approx(expected, nan_ok=True)
    else:
        assert math.isnan(new_links_found(finds))
        assert math.isnan(profit(finds, LIFE))
    if delays:
        assert link_delay_seconds(finds, 50) == pytest.approx(np.median(delays))
    else:
        assert math.isnan(link_delay_seconds(finds, 50))


def test_who_looks_at_every_version_at_once_earns_everything() -> None:
    history = [hub((0, "ab"), (5, "bc"), (7, "d"), (9, "e"), scores={"c": 5, "d": 1, "e": 3})]
    instant = judge(trial_of(history, [(0, at) for at in (5, 7, 9)], 0, 20))

    assert instant["new_links_found"] == instant["profit"] == 1.0
    assert instant["link_delay_seconds_p50"] == instant["link_delay_seconds_p90"] == 0.0


def test_a_link_that_left_before_the_visit_is_never_found() -> None:
    finds = LinkFinds.of(trial_of([hub((0, "a"), (5, "b"), (6, "c"))], [(0, 8.0)], 0, 10))

    assert new_links_found(finds) == 0.5
    assert finds.delays.tolist() == [2.0]


def test_a_link_that_comes_back_is_not_new() -> None:
    finds = LinkFinds.of(trial_of([hub((0, "a"), (2, "b"), (4, "a"), (6, "ab"))], [], 1, 10))

    assert finds.appeared.tolist() == [2.0]


def test_a_link_on_two_hubs_is_found_on_either() -> None:
    history = [hub((0, "a"), (4, "x")), hub((0, "b"), (6, "bx"), name="a:2")]
    finds = LinkFinds.of(trial_of(history, [(1, 7.0)], 0, 10))

    assert finds.appeared.tolist() == [4.0]
    assert finds.found.tolist() == [7.0]


def test_links_that_a_hub_has_from_its_beginning_do_not_count() -> None:
    finds = LinkFinds.of(trial_of([hub((3, "ab"), (5, "abc"))], [], 0, 10))

    assert finds.appeared.tolist() == [5.0]


def test_a_link_that_another_hub_begins_with_is_not_new() -> None:
    history = [hub((0, "a"), (4, "x")), hub((4, "x"), (8, "xy"), name="a:2")]

    assert LinkFinds.of(trial_of(history, [], 0, 10)).appeared.tolist() == [8.0]


def test_a_fetch_of_a_hub_that_is_not_there_yet_finds_nothing() -> None:
    finds = LinkFinds.of(trial_of([hub((5, "a"), (6, "ab"))], [(0, 1.0), (0, 8.0)], 0, 10))

    assert finds.found.tolist() == [8.0]


def test_a_hub_that_counts_in_thousands_weighs_no_more_than_one_that_has_ranks() -> None:
    (votes,) = web_of(hub((0, "ab"), (1, "ba"), scores={"a": 1000.0, "b": 3000.0})).pages
    (ranks,) = web_of(hub((0, "abc"), (1, "bac"))).pages
    (none,) = web_of(hub((0, "ab"), scores={"a": 0.0, "b": -5.0})).pages
    assert votes.links is not None
    assert ranks.links is not None
    assert none.links is not None

    assert link_profits(votes.links).tolist() == [0.5, 1.5]
    assert link_profits(ranks.links) == pytest.approx(np.array([1, 1, 1 / 3]) * 9 / 7)
    assert link_profits(none.links).tolist() == [1, 1]


def test_profit_fades_with_the_documented_life() -> None:
    late = LinkFinds(np.array([0.0]), np.array([5 * 3600.0]), np.array([2.0]), np.array([0]))

    assert profit(late) == pytest.approx(math.exp(-1))
    with pytest.raises(ValueError, match="above 0"):
        profit(late, 0.0)


def test_documents_have_no_links() -> None:
    page = [Version(page="a:2", at=float(at), kind=Kind.CHANGE, lines=("x",)) for at in (0, 9)]

    assert "profit" not in judge(trial_of([page], [], 0, 9))
    mixed = judge(trial_of([hub((0, "a"), (4, "ab")), page], [(0, 5), (1, 5)], 0, 9))
    assert mixed["new_links_found"] == 1.0
