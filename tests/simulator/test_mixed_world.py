"""The world with documents to be kept fresh and sources of new pages."""

import numpy as np
import pytest

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.simulator.echo_graph import drawn_echo_graph
from scrapy_freshness.simulator.known import KnownTruth
from scrapy_freshness.simulator.mixed_web import judged_apart
from scrapy_freshness.simulator.run import crawl, ticks_at
from scrapy_freshness.simulator.web import Fetches
from scrapy_freshness.simulator.worlds.contract import Size
from scrapy_freshness.simulator.worlds.mixed import HOUR, Mixed, MixedRound
from scrapy_freshness.value.contract import Beliefs

SIZE = Size(30, 6.0, 48.0)
DAY = 24 * HOUR


def drawn(**options: float) -> MixedRound:
    return Mixed(**options).draw(SIZE, np.random.default_rng(3))


def fresh(web: MixedRound, policy: str, *, learn: bool = False) -> float:
    return web.play(policy, learn=learn, advance=lambda done: None).measures["fresh"]


def test_requests_are_those_of_documents_and_of_new_pages_together() -> None:
    web = drawn().web
    graph, documents = web.news.graph, web.documents
    start, end, story = 10 * HOUR, 40 * HOUR, int(np.argmax(web.news.graph.link_profit))
    story_born = float(graph.births.times[story])
    assert start < story_born < end
    found_at = story_born + HOUR
    page, times = web.n_sources + 4, (12 * HOUR, 30 * HOUR)
    log = [(found_at, web.n_sources + 30 + story), *((time, page) for time in times)]
    log.sort()
    fetches = Fetches(np.array([page for _, page in log]), np.array([time for time, _ in log]))

    judged = web.judged(fetches, start, end, first_copy_at=0.0)

    # An oracle that steps through the time: every copy of the start, and two later ones of one page.
    steps = np.linspace(start, end, 20_001)
    met = 0.0
    for number, address in enumerate(documents.addresses):
        changes = documents.changes.of(number)
        copies = np.array([0.0, *(times if number == 4 else ())])
        copy = copies[np.searchsorted(copies, steps, side="right") - 1]
        is_fresh = np.searchsorted(changes, copy, side="right") == np.searchsorted(
            changes, steps, side="right"
        )
        met += address.importance * float(is_fresh.mean()) * (end - start)
    left = graph.link_profit[story] * np.exp(-graph.decay[graph.births.owners[story]] * HOUR)
    assert judged.fresh == pytest.approx(met + left, rel=2e-3)
    appears = (graph.births.times >= start) & (graph.births.times <= end)
    importance = sum(address.importance for address in documents.addresses)
    assert judged.made == pytest.approx(importance * (end - start) + graph.link_profit[appears].sum())


def test_two_crawls_of_a_part_each_are_judged_as_one_of_the_whole() -> None:
    web = drawn().web
    whole = Fetches(np.array([web.n_sources, 0, web.n_sources + 31]), np.array([20.0, 21.0, 22.0]) * HOUR)
    documents = Fetches(np.array([0]), np.array([20 * HOUR]))
    news = Fetches(np.array([0, web.n_sources + 1]), np.array([21.0, 22.0]) * HOUR)

    together = web.judged(whole, 10 * HOUR, 40 * HOUR, first_copy_at=0.0)
    apart = judged_apart(web, documents, news, 10 * HOUR, 40 * HOUR, first_copy_at=0.0)

    assert (together.fresh, together.made) == (apart.fresh, apart.made)


def test_half_of_the_requests_are_for_new_pages_and_appear_by_day() -> None:
    web = Mixed(rhythm=0.7).draw(Size(900, 6.0, 480.0), np.random.default_rng(5)).web
    graph = web.news.graph
    times = graph.births.times % DAY
    by_day = np.count_nonzero((times > DAY / 4) & (times < 3 * DAY / 4)) / len(times)

    documents = sum(address.importance for address in web.documents.addresses) * 480 * HOUR
    assert documents / (documents + graph.link_profit.sum()) == pytest.approx(0.5, abs=0.05)
    assert by_day == pytest.approx(0.5 + 0.7 / np.pi, abs=0.02)


@pytest.mark.parametrize("learn", [False, True])
def test_one_price_for_all_is_better_than_bad_quotas(learn: bool) -> None:
    web = drawn()

    shares = {policy: fresh(web, policy, learn=learn) for policy in ("holistic", "quota-0", "quota-100")}

    assert shares["holistic"] > max(shares["quota-0"], shares["quota-100"]) + 0.02


def test_who_knows_how_often_pages_change_does_not_ask_their_siblings() -> None:
    """Without doubt, signals and siblings, the policy for documents is the plain one."""
    drawn_web, per_second, end = drawn(), SIZE.rate / HOUR, SIZE.horizon * HOUR
    web, nothing = drawn_web.web, Fetches(np.empty(0, np.int64), np.empty(0))
    truth = KnownTruth(Beliefs(importance=drawn_web.importance, change_rate=drawn_web.change_rate))
    planner = Planner(policy_named("greedy"), Hosts(5.0, HOUR), truth, crawls_per_second=per_second)
    documents = crawl(web.documents, planner, ticks_at(per_second, 0.0, end), start=0.0)
    plain = judged_apart(web, documents, nothing, 0.25 * end, 0.9 * end, first_copy_at=0.0)

    assert fresh(drawn_web, "quota-100") == pytest.approx(plain.fresh / plain.made)


@pytest.mark.parametrize("policy", ["quota-101", "quota-half", "greedy"])
def test_what_is_no_quota_is_refused(policy: str) -> None:
    with pytest.raises(ConfigError, match=policy):
        Mixed().check(policy, SIZE, learn=False)


def test_pages_that_are_linked_twice_are_one_page_that_leaves_both_sources() -> None:
    graph = drawn_echo_graph(2, 8, 0.01, DAY, np.random.default_rng(4), shared=0.4, stay_seconds=HOUR)
    first, numbers = graph.first_link, np.arange(len(graph.link_profit))
    assert first is not None

    copies = numbers[first != numbers]
    assert len(copies) / (len(numbers) - len(copies)) == pytest.approx(0.4 * 3 / 4, abs=0.07)
    assert np.all(graph.births.times[copies] > graph.births.times[first[copies]])
    hosts = graph.host[graph.births.owners]
    assert np.array_equal(hosts[copies], hosts[first[copies]])
    assert np.all(graph.link_profit[copies] == 0)
    assert np.all(graph.gone_at <= graph.births.times + HOUR)
    for now in ticks_at(1 / HOUR, 0.0, DAY).tolist():
        shown = graph.shown(3, -1.0, now)
        assert np.all(first[shown] == shown)


@pytest.mark.parametrize("news", [0.0, 1.0])
@pytest.mark.parametrize("policy", ["holistic", "quota-50"])
def test_all_requests_may_be_of_one_kind(news: float, policy: str) -> None:
    assert 0.1 < fresh(drawn(news=news), policy) <= 1


def test_without_any_request_nothing_can_be_said() -> None:
    web = drawn(news=1.0).web
    nothing = Fetches(np.empty(0, np.int64), np.empty(0))

    assert np.isnan(web.judged(nothing, 0.0, 1e-9, first_copy_at=0.0).share)
