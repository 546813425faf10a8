"""Learners: what visits and signals teach, what is shared among siblings, and what outlives a restart."""

from collections.abc import Sequence

import numpy as np
import pytest

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.estimation.history import extended
from scrapy_freshness.estimation.pooled import Pooled
from scrapy_freshness.estimation.signal_counts import N_SOURCES, extended_counts
from scrapy_freshness.model import PageRecord, SignalSource
from scrapy_freshness.planning.learner import Columns, Learner, QuietVisit
from scrapy_freshness.planning.learners import ESTIMATORS, learner_for
from scrapy_freshness.planning.learning import PooledLearner, note_beliefs
from scrapy_freshness.planning.policy import PolicyOptions, policy_named
from scrapy_freshness.planning.signal_learner import SignalLearner
from scrapy_freshness.planning.signal_trust import signal_trust

HOUR = 3600.0


def page(number: int, host: str = "a.example") -> PageRecord:
    return PageRecord(page_id=number, fingerprint=number, url=f"http://{host}/news/{number}", host=host)


def visited(
    learner: Learner,
    pages: Sequence[PageRecord],
    rng: np.random.Generator,
    *,
    recall: float | Sequence[float],
    false_rate: float | Sequence[float],
    visits: int = 64,
) -> Columns:
    """Visits at random intervals to pages that change every ten hours, with signals of some quality.

    Recall and false rate are those of the first source, or of one source after the other.
    """
    recalls, false_rates = (np.append(each, np.zeros(N_SOURCES))[:N_SOURCES] for each in (recall, false_rate))
    for _ in range(visits):
        for record in pages:
            seconds = float(rng.exponential(5 * HOUR))
            changes = int(rng.poisson(seconds / (10 * HOUR)))
            announced = rng.multinomial(changes, np.append(recalls, 1 - recalls.sum()))[:N_SOURCES]
            counts = (announced + rng.poisson(false_rates * seconds)).tolist()
            record.signalled = extended_counts(record.signalled, record.history, changes > 0, counts)
            record.history = extended(record.history, seconds, changes > 0)
            record.beliefs = {"seconds_between": seconds, "signals_between": sum(counts)} | {
                f"heard_{source}": count for source, count in enumerate(counts)
            }
        found = learner.learn(pages)
        note_beliefs(pages, found)
    return found


def learned(learner: Learner, pages: Sequence[PageRecord]) -> Columns:
    """Beliefs after the planner has noted them."""
    found = learner.learn(pages)
    note_beliefs(pages, found)
    return found


def test_honest_signals_are_trusted_and_made_up_ones_are_not() -> None:
    rng = np.random.default_rng(5)
    learner = SignalLearner(PooledLearner(Pooled()))
    honest = [page(number, "honest.example") for number in range(40)]
    lying = [page(number, "lying.example") for number in range(40)]

    trusted = visited(learner, honest, rng, recall=0.9, false_rate=0.01 / HOUR)
    doubted = visited(learner, lying, rng, recall=0.0, false_rate=0.3 / HOUR)

    assert trusted["recall"].mean() == pytest.approx(0.9, abs=0.1)
    assert trusted["false_rate"].mean() == pytest.approx(0.01 / HOUR, abs=0.02 / HOUR)
    assert doubted["recall"].mean() < 0.15
    assert doubted["false_rate"].mean() == pytest.approx(0.3 / HOUR, rel=0.15)
    for found in (trusted, doubted):
        assert found["change_rate"].mean() == pytest.approx(0.1 / HOUR, rel=0.25)


def test_each_source_of_a_host_is_trusted_by_its_own_record() -> None:
    """Pings that are honest beside a sitemap that makes everything up."""
    rng = np.random.default_rng(9)
    learner = SignalLearner(PooledLearner(Pooled()))
    pages = [page(number) for number in range(40)]

    found = visited(learner, pages, rng, recall=[0, 0, 0.8], false_rate=[0.3 / HOUR, 0, 0])

    sitemap, ping = found["weight_0"], found["weight_2"]
    mean = np.log1p(found["recall"] * found["change_rate"] / found["false_rate"])
    assert found["recall"].mean() == pytest.approx(0.8, abs=0.1)
    assert found["false_rate"].mean() == pytest.approx(0.3 / HOUR, rel=0.15)
    assert np.median(sitemap * mean) < 0.1
    assert np.median(ping * mean) > 2
    new = learner.prior(page(99))
    assert new["weight_2"] > 10 * new["weight_0"]


def test_a_new_page_starts_with_the_record_of_its_host() -> None:
    rng = np.random.default_rng(6)
    learner = SignalLearner(PooledLearner(Pooled()))
    before = learner.prior(page(99))
    visited(learner, [page(number) for number in range(30)], rng, recall=0.8, false_rate=0.0)

    after, elsewhere = learner.prior(page(99)), learner.prior(page(99, "b.example"))

    assert before["recall"] == elsewhere["recall"] < 0.01
    assert after["recall"] == pytest.approx(0.8, abs=0.1)
    assert after["change_rate"] > 3 * before["change_rate"]


def test_changes_that_are_told_of_after_their_visits_are_announced_changes() -> None:
    """Half of the changes are told of before the visit that finds them, the others right after it."""
    rng = np.random.default_rng(6)
    late, deaf = (SignalLearner(PooledLearner(Pooled())) for _ in range(2))
    for _ in range(1500):
        seconds = float(rng.exponential(5 * HOUR))
        changed, is_heard = bool(rng.random() < -np.expm1(-seconds / (10 * HOUR))), bool(rng.random() < 0.5)
        for learner in (late, deaf):
            visited_once(learner, seconds, changed=changed, signals=int(changed and is_heard))
        if changed and not is_heard:
            late.told_afterwards("a.example", SignalSource.SITEMAP, QuietVisit(seconds, 0.1 / HOUR, changed))

    assert shown_recall(late) > 0.9
    assert shown_recall(deaf) < 0.6


def visited_once(learner: SignalLearner, seconds: float, *, changed: bool, signals: int) -> None:
    """A visit to a page that is known to change every ten hours."""
    record = page(1, "a.example")
    record.change_rate, record.history = 0.1 / HOUR, extended(b"", seconds, changed)
    record.beliefs = {"seconds_between": seconds, "signals_between": signals, "heard_0": signals}
    learner.learn([record])


def shown_recall(learner: SignalLearner) -> float:
    (row,) = signal_trust(learner.take_groups())
    return row.recall.value


def test_recall_is_not_overrated_as_long_as_the_rates_of_pages_are_hardly_known() -> None:
    """Who visits pages as soon as they are announced sees few silent changes, and waits long for others."""
    shown = []
    for seed in range(3):
        rng, learner = np.random.default_rng(seed), SignalLearner(PooledLearner(Pooled()))
        pages, rates = [page(number) for number in range(300)], 10 ** rng.uniform(-2, 0, 300) / HOUR
        for _ in range(4):
            for first in range(0, 300, 30):
                for record, rate in zip(pages[first : first + 30], rates[first : first + 30], strict=True):
                    wait = float(rng.exponential(2 / rate))
                    seconds, is_heard = min(wait, 20 * HOUR), wait < 20 * HOUR
                    changed = is_heard or bool(rng.random() < -np.expm1(-0.5 * rate * seconds))
                    counts = (int(is_heard), 0, 0, 0)
                    record.signalled = extended_counts(record.signalled, record.history, changed, counts)
                    record.history = extended(record.history, seconds, changed)
                    record.beliefs = {
                        "seconds_between": seconds, "signals_between": is_heard, "heard_0": is_heard
                    }  # fmt: skip
                learned(learner, pages[first : first + 30])
        shown.append(shown_recall(learner))

    assert np.mean(shown) == pytest.approx(0.5, abs=0.05)


def test_how_late_signals_are_is_shown_as_the_planner_knows_it() -> None:
    learner = SignalLearner(PooledLearner(Pooled()))
    for number in range(60):
        record = page(number)
        record.history = extended(b"", HOUR, False)
        record.beliefs = {"seconds_between": HOUR, "signals_between": 1, "heard_0": 1, "only_signal": 12}
        learner.learn([record])

    groups = learner.take_groups()
    again = SignalLearner(PooledLearner(Pooled()))
    again.restore(groups)

    (row,) = signal_trust(groups)
    assert row.deaf_seconds == learner.deaf_seconds("a.example")[0] == again.deaf_seconds("a.example")[0]


def test_on_a_host_that_was_never_heard_pages_are_what_they_are_without_listening() -> None:
    rng = np.random.default_rng(7)
    record, same = page(1), page(1)
    listening = visited(SignalLearner(PooledLearner(Pooled())), [record], rng, recall=0.0, false_rate=0.0)
    same.history = record.history
    deaf = learned(PooledLearner(Pooled()), [same])

    assert listening["change_rate"] == pytest.approx(deaf["change_rate"], rel=0.05)
    assert listening["recall"][0] < 0.01


def test_a_learner_that_was_restored_goes_on_as_if_nothing_had_happened() -> None:
    rng = np.random.default_rng(8)
    policy = policy_named("greedy-ncis")
    pages = [page(number) for number in range(20)]
    first = learner_for(policy, estimator="pooled")
    visited(first, pages, rng, recall=0.7, false_rate=0.05 / HOUR)
    kept = dict(first.take_groups())

    second = learner_for(policy, estimator="pooled")
    second.restore({**kept, "not ours": b"?", '["rates"]': b"damaged"} | kept)

    assert second.prior(page(99)) == pytest.approx(first.prior(page(99)), rel=0.02)
    assert first.take_groups() == {}
    expected, found = first.learn(pages), second.learn(pages)
    for name, column in expected.items():
        np.testing.assert_allclose(found[name], column, rtol=0.02)


def test_each_policy_gets_what_its_model_needs() -> None:
    planners_own = {"signals"}
    for name in ("greedy", "uniform", "greedy-cis", "greedy-ncis", "cost"):
        policy = policy_named(name)
        for estimator in ESTIMATORS:
            found = learner_for(policy, estimator=estimator).learn([page(1)])
            assert policy.model.needs - planners_own <= found.keys()


def test_what_nothing_measures_cannot_be_learned() -> None:
    with pytest.raises(ConfigError, match="user-centric cannot learn"):
        learner_for(policy_named("user-centric"))


def test_what_a_crawl_measures_can_be_learned() -> None:
    weighed = PolicyOptions(query_importance=True)
    for policy in (
        policy_named("user-centric"),
        policy_named("user-centric-linear"),
        policy_named("greedy", weighed),
    ):
        learner = learner_for(policy, estimator="mle", measures_gains=True)
        assert policy.model.needs <= learner.learn([page(1)]).keys()
        assert policy.model.needs <= learner.prior(page(1)).keys()


def test_an_estimator_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match="no estimator 'guess': choose one of pooled, mle"):
        learner_for(policy_named("greedy"), estimator="guess")
