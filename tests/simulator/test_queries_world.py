"""The world of searchers: what is known, what is learned, and that it pays to look at what they see."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.search.index import SearchIndex
from scrapy_freshness.search.quality import quality, query_scores
from scrapy_freshness.search.scoring import SCORINGS, TfIdf
from scrapy_freshness.simulator.evolving_text import WEEK, Language, TextShape, drawn_histories
from scrapy_freshness.simulator.queries_corpus import Corpus, drawn_corpus
from scrapy_freshness.simulator.queries_hindsight import update_gains
from scrapy_freshness.simulator.queries_quality import QualityJudge
from scrapy_freshness.simulator.queries_world import QueriesRound, drawn_round
from scrapy_freshness.simulator.searched_web import SearchedWeb, page_terms
from scrapy_freshness.simulator.web import Fetches
from scrapy_freshness.simulator.worlds import world_named
from scrapy_freshness.simulator.worlds.contract import Size, made_world

SHAPE = TextShape(pages=80, horizon=24 * WEEK)


@cache
def corpus(seed: int = 1) -> Corpus:
    return drawn_corpus(np.random.default_rng(seed), SHAPE, queries=80)


def test_the_same_seed_draws_the_same_pages() -> None:
    one, same = (drawn_corpus(np.random.default_rng(4), SHAPE, queries=40) for _ in range(2))

    assert np.array_equal(one.terms, same.terms)
    assert np.array_equal(one.updates.times, same.updates.times)
    assert one.log.queries == same.log.queries


def test_updates_are_of_all_sizes() -> None:
    moved = np.concatenate([corpus(seed).moved for seed in (1, 2)])
    moved = moved[moved > 0]

    assert np.mean(moved < 0.1) > 0.1
    assert np.mean(moved > 0.4) > 0.1
    assert moved.max() <= 1


def test_a_version_has_the_terms_of_its_text() -> None:
    rng = np.random.default_rng(1)
    language = Language(SHAPE, rng)
    texts = [text for history in drawn_histories(SHAPE, language, rng) for text in history.texts]
    drawn = corpus(1)

    assert drawn.length.tolist() == [len(text) for text in texts]
    for version in range(0, len(texts), 50):
        _, tf = drawn.postings(version)
        counts = np.unique(texts[version], return_counts=True)[1].tolist()
        assert all(each in counts for each in tf.tolist())


def test_term_frequencies_are_sums_over_queries() -> None:
    log = corpus().log
    term = log.queries[3][0]
    expected = sum(f for query, f in zip(log.queries, log.frequency, strict=True) if term in query)

    assert log.term_frequency[term] == pytest.approx(expected)
    assert log.frequency.sum() == pytest.approx(1)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_copies_that_are_renewed_at_every_update_are_perfect(scoring: str) -> None:
    drawn = corpus()
    order = np.argsort(drawn.updates.times, kind="stable")
    all_updates = Fetches(drawn.updates.owners[order], drawn.updates.times[order])
    judge = QualityJudge(drawn, SCORINGS[scoring], samples=6)

    assert judge.qualities(all_updates) == pytest.approx(np.ones(6))
    assert judge.quality(Fetches(np.empty(0, np.int64), np.empty(0))) < 0.95


def test_quality_is_that_of_the_copies_at_the_time() -> None:
    """By hand, at one time, for a crawler that fetched all pages once."""
    drawn = corpus()
    fetches = Fetches(np.arange(80), np.linspace(0, 10 * WEEK, 80))
    judge = QualityJudge(drawn, TfIdf(), samples=3)
    now = float(judge.times[1])
    first = drawn.tf_table(drawn.first[:-1])
    weight = TfIdf().weight(np.count_nonzero(first, axis=1), 80)

    def scores(times: np.ndarray) -> np.ndarray:
        table, lengths = np.zeros((drawn.log.terms, 80)), np.zeros(80)
        for page in range(80):
            version = drawn.version(page, float(times[page]))
            terms, tf = drawn.postings(version)
            table[terms, page], lengths[page] = tf, drawn.length[version]
        return query_scores(TfIdf().base(table, lengths, drawn.links), drawn.log.queries, weight, TfIdf())

    expected = quality(scores(fetches.times), scores(np.full(80, now)), drawn.log.frequency)
    assert judge.qualities(fetches)[1] == pytest.approx(expected)


def test_a_fetch_measures_what_its_index_says() -> None:
    drawn = corpus()
    web = SearchedWeb(drawn, TfIdf())
    page = int(np.argmax(drawn.updates.counts))
    first = web.look(page, 0.0)
    again = web.look(page, drawn.horizon)

    index = SearchIndex(drawn.log.term_frequency, TfIdf())
    for number, version in enumerate(drawn.first[:-1].tolist()):
        index.refresh(number, page_terms(drawn, version))
    index.refit()
    assert first.quality_gain == 0
    assert first.page_quality == pytest.approx(index.page_quality(page))
    change = index.refresh(page, page_terms(drawn, drawn.version(page, drawn.horizon)))
    assert again.quality_gain == pytest.approx(index.gain(change))
    assert web.look(page, drawn.horizon).quality_gain == 0


def test_gains_of_updates_go_with_what_is_lost_without_them() -> None:
    """Pages whose updates gain most, all together, are those whose stale copies cost most."""
    drawn = corpus(2)
    judge = QualityJudge(drawn, TfIdf(), samples=4)
    gains = np.array([gains.sum() for gains in update_gains(drawn, TfIdf())])
    order = np.argsort(drawn.updates.times, kind="stable")
    owners, times = drawn.updates.owners[order], drawn.updates.times[order]
    some = np.argsort(-gains)[np.r_[0:10, 30:80:5]]
    lost = [1 - judge.quality(Fetches(owners[owners != page], times[owners != page])) for page in some]

    assert spearmanr(gains[some], lost).statistic > 0.7


@pytest.mark.parametrize("scoring", SCORINGS)
def test_it_pays_to_look_at_what_searchers_see(scoring: str) -> None:
    """Learned from visits alone, with two fetches of a page on average."""
    losses = {"user-centric": [], "uniform": []}
    for seed in range(3):
        played = QueriesRound(corpus(seed), scoring, samples=8)
        for policy, lost in losses.items():
            lost.append(1 - played.play(policy, 160 / (24 * WEEK), learn=policy != "uniform").quality)

    assert sum(losses["user-centric"]) < 0.95 * sum(losses["uniform"])


def test_who_knows_everything_does_better_by_what_is_noticed_than_by_all_updates() -> None:
    played = QueriesRound(corpus(3), "in-links", samples=8)
    rate = 160 / (24 * WEEK)
    lost = {policy: 1 - played.play(policy, rate).quality for policy in ("user-centric", "greedy", "sbr-0.3")}

    assert lost["user-centric"] < min(lost["greedy"], lost["sbr-0.3"])


def test_the_best_threshold_is_the_best() -> None:
    played = QueriesRound(corpus(3), "tf-idf", samples=4)
    rate = 80 / (24 * WEEK)

    best = played.play("ebr", rate)

    assert best.fetches == 80
    assert best.quality >= max(played.play(f"ebr-{theta}", rate).quality for theta in (0.1, 0.5, 1.0))


@pytest.mark.parametrize("policy", ["lds", "nutch-adaptive", "proportional"])
def test_rules_of_other_crawlers_make_as_many_fetches(policy: str) -> None:
    played = QueriesRound(corpus(3), "tf-idf", samples=4).play(policy, 160 / (24 * WEEK))

    assert played.fetches == pytest.approx(160, rel=0.1)
    assert 0 < played.quality < 1


def test_references_know_the_updates_where_others_learn() -> None:
    world = made_world(world_named("queries"), {})
    drawn = world.draw(Size(20, 5.0, 6.0), np.random.default_rng(1))
    known, learned = (drawn.play("sbr-0.3", learn=learn, advance=lambda share: None) for learn in (0, 1))

    assert known == learned


def test_nothing_to_find_is_perfect() -> None:
    drawn = drawn_round(np.random.default_rng(0), pages=2, horizon_seconds=3 * WEEK, queries=1)

    assert drawn.play("uniform", 1 / WEEK).quality == 1


def test_what_cannot_be_played_is_refused() -> None:
    played = QueriesRound(corpus(), "tf-idf", samples=2)

    with pytest.raises(ConfigError, match="hindsight"):
        played.play("sbr-0.5", 1 / WEEK, learn=True)
    with pytest.raises(ConfigError, match="no policy"):
        played.play("nonsense", 1 / WEEK)
    with pytest.raises(ConfigError, match="no scoring"):
        drawn_round(np.random.default_rng(1), pages=10, scoring="pagerank")
