"""From what visits gained to what is believed: learners of the user-centric policies."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from scrapy_freshness.estimation.change_rate import PriorPoints, estimate_change_rates
from scrapy_freshness.model import Outcome, PageRecord
from scrapy_freshness.planning.after_visit import updated_record
from scrapy_freshness.planning.gain_learner import (
    ChangeWorthLearner,
    GainLearner,
    GainRecorder,
    LinearGainLearner,
)
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learner import Learner
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.learning import RateLearner
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import PolicyOptions, policy_named
from scrapy_freshness.planning.visits import Report, Upkeep
from scrapy_freshness.simulator.run import crawl, ticks_at
from scrapy_freshness.simulator.web import Address, Look

DAY = 86400.0


def rates() -> RateLearner:
    return RateLearner(partial(estimate_change_rates, prior=PriorPoints(DAY, 10 * DAY)))


def after_visits(
    learner: Learner, gains: list[float | None], *, every: float = DAY, quality: float | None = 1.0
) -> PageRecord:
    """A page's record as the planner has it after a first visit and one for each gain."""
    record = PageRecord(page_id=1, fingerprint=1, url="http://a.example/", host="a.example")
    for number, gain in enumerate([None, *gains]):
        outcome = Outcome.FIRST if number == 0 else Outcome.CHANGED if gain else Outcome.UNCHANGED
        report = Report(
            outcome=outcome,
            at=number * every,
            quality_gain=gain,
            page_quality=quality if number == 0 else None,
        )
        record = updated_record(record, report, Upkeep())
        columns = {name: float(column[0]) for name, column in learner.learn([record]).items()}
        rate_names = ("change_rate", "change_rate_low", "change_rate_high")
        known = {name: columns.pop(name) for name in rate_names}
        record = replace(record, beliefs=columns, **known)
    return record


def test_the_paper_takes_the_mean_of_gain_over_time_waited() -> None:
    learned = after_visits(LinearGainLearner(rates()), [2.0, 0.0, 4.0], every=10.0)

    assert learned.beliefs["gain"] == pytest.approx((0.2 + 0.0 + 0.4) / 3)
    assert learned.beliefs["gain_refreshes"] == 3


def test_a_window_forgets_what_is_long_ago() -> None:
    long_ago: list[float | None] = [100.0] * 10 + [1.0] * 60
    for learner in (LinearGainLearner(rates(), window=5), GainLearner(rates(), window=5)):
        remembered = after_visits(learner, long_ago, every=10.0).beliefs["gain"]
        everything = after_visits(type(learner)(rates()), long_ago, every=10.0).beliefs["gain"]
        assert remembered < everything / 3


def test_by_the_paper_a_page_that_gained_nothing_is_given_up() -> None:
    assert after_visits(LinearGainLearner(rates()), [0.0]).beliefs["gain"] == 0
    assert after_visits(LinearGainLearner(rates(), prior_refreshes=0.5), [0.0]).beliefs["gain"] > 0


def test_a_page_that_gained_nothing_is_not_given_up() -> None:
    once, often = (after_visits(GainLearner(rates()), [0.0] * count).beliefs for count in (1, 30))

    assert 0 < often["gain"] < once["gain"]
    assert often["noticed_rate"] > 0


def test_gains_are_learned_with_the_rate_of_what_is_noticed() -> None:
    learned = after_visits(GainLearner(rates()), ([0.0] * 9 + [5.0]) * 30)

    assert learned.beliefs["noticed_rate"] * DAY == pytest.approx(-np.log(0.9), rel=0.1)
    assert learned.beliefs["gain"] * DAY == pytest.approx(5 * -np.log(0.9), rel=0.1)


def test_visits_without_a_measure_teach_nothing() -> None:
    measured = after_visits(GainLearner(rates()), [1.0, 1.0])
    unmeasured = after_visits(GainLearner(rates()), [1.0, 1.0, None, None])

    for name in ("gain_refreshes", "gain_seconds", "gain_sum"):
        assert unmeasured.beliefs[name] == measured.beliefs[name]
    assert "quality_gain" not in unmeasured.beliefs


def test_what_is_measured_reaches_the_learner_once() -> None:
    record = PageRecord(page_id=1, fingerprint=1, url="", host="", last_visit_at=5.0)
    report = Report(outcome=Outcome.CHANGED, at=12.0, quality_gain=0.25, page_quality=3.0)

    after = updated_record(record, report, Upkeep())

    measured = {"quality_gain": 0.25, "waited_seconds": 7.0, "page_quality": 3.0}
    assert after.beliefs == measured | {"seconds_between": 7.0}
    assert record.beliefs == {}
    first = updated_record(
        replace(record, last_visit_at=None), replace(report, outcome=Outcome.FIRST), Upkeep()
    )
    assert first.beliefs == {"page_quality": 3.0}, "a first copy replaces none"


def test_good_pages_are_expected_to_gain_more() -> None:
    learner = GainLearner(rates())
    good, bad = (after_visits(learner, [], quality=quality).beliefs["gain"] for quality in (8.0, 0.5))

    assert good > bad > 0


def test_a_visit_without_a_measure_changes_nothing_but_the_change_rate() -> None:
    """A new page is believed to change for searchers as one of which only the change rate is known."""
    learner = GainLearner(rates())
    before = learner.prior(PageRecord(page_id=1, fingerprint=1, url="http://a.example/", host="a.example"))
    seen = after_visits(learner, [], quality=None)

    for name in ("noticed_rate", "gain"):
        assert seen.beliefs[name] / seen.change_rate == pytest.approx(before[name] / before["change_rate"])


def test_a_learner_that_is_restored_expects_the_same_of_pages() -> None:
    learner = GainLearner(rates())
    for number in (1.0, 2.0, 4.0):
        after_visits(learner, [0.01 * number] * 20, quality=number)
    restored, groups = GainLearner(rates()), learner.take_groups()
    restored.restore(groups)
    new = PageRecord(page_id=9, fingerprint=9, url="", host="")

    assert restored.prior(new) == learner.prior(new)
    assert restored.prior(new)["gain"] < GainLearner(rates()).prior(new)["gain"] / 2
    assert set(learner.take_groups()) < set(groups)
    restored.restore({name: state[:-1] for name, state in groups.items()})
    assert restored.prior(new) == learner.prior(new)


def test_the_mean_of_the_paper_is_restored() -> None:
    learner, restored = LinearGainLearner(rates()), LinearGainLearner(rates())
    after_visits(learner, [2.0, 4.0], every=10.0)
    restored.restore(learner.take_groups())
    new = PageRecord(page_id=9, fingerprint=9, url="", host="")

    assert restored.prior(new)["gain"] == pytest.approx(0.3)


def test_what_was_measured_is_kept_whatever_the_policy() -> None:
    learned = after_visits(GainRecorder(rates()), [2.0, 0.0, 4.0], every=10.0).beliefs
    asked_later = GainLearner(rates())
    same = after_visits(GainLearner(rates()), [2.0, 0.0, 4.0], every=10.0).beliefs
    unmeasured = after_visits(GainRecorder(rates()), [None, None], quality=None).beliefs

    sums = ("gain_refreshes", "gain_seconds", "gain_sum", "gain_squares", "gain_changes", "page_quality")
    assert {name: learned[name] for name in sums} == {name: same[name] for name in sums}
    assert set(learned) == set(sums)
    assert unmeasured == {}
    page = PageRecord(page_id=1, fingerprint=1, url="", host="", beliefs=learned, change_rate=0.1)
    assert asked_later.learn([page])["gain_refreshes"][0] == 3


def test_a_page_weighs_by_what_its_changes_cost() -> None:
    learner = ChangeWorthLearner(rates())
    cheap = after_visits(learner, [0.01] * 30).beliefs["query_weight"]
    dear = after_visits(learner, [1.0] * 30).beliefs["query_weight"]
    new = PageRecord(page_id=9, fingerprint=9, url="", host="")

    assert dear > 4 * cheap
    assert learner.prior(new)["query_weight"] == 1.0


class TwoKinds:
    """Every second page gains at every fetch after a change each day; the others never gain."""

    first_linked = None

    def __init__(self, pages: int) -> None:
        self.addresses = [Address(f"http://a.example/{page}", "a.example") for page in range(pages)]
        self._seen = np.zeros(pages)

    def appears_at(self, page: int) -> float:
        return 0.0

    def look(self, page: int, now: float) -> Look:
        days = float(now // DAY)
        gain = 1.0 if page % 2 and days > self._seen[page] else 0.0
        self._seen[page] = days
        return Look(int(days) if page % 2 else 0, page_quality=1.0, quality_gain=gain)


@pytest.mark.parametrize(
    ("policy", "learner"), [("user-centric", GainLearner), ("user-centric-linear", LinearGainLearner)]
)
def test_the_planner_visits_what_gains(policy: str, learner: type[GainLearner | LinearGainLearner]) -> None:
    planner = Planner(policy_named(policy), Hosts(5.0, 60.0), learner(rates()), crawls_per_second=10 / DAY)
    fetches = crawl(TwoKinds(20), planner, ticks_at(10 / DAY, 0.0, 60 * DAY), start=0.0)
    visits = np.bincount(fetches.pages, minlength=20)

    assert visits[1::2].sum() > 4 * visits[::2].sum()
    if policy == "user-centric":
        assert np.all(visits > 0), "nobody is given up"


class ChangingAlike(TwoKinds):
    """Every page changes every four days; searchers notice it of every second page only."""

    def look(self, page: int, now: float) -> Look:
        versions = float((now / DAY + page / 5) // 4)
        gain = 1.0 if page % 2 and versions > self._seen[page] else 0.0
        self._seen[page] = versions
        return Look(int(versions), page_quality=1.0, quality_gain=gain)


def test_by_query_importance_the_default_policy_visits_what_is_asked_for() -> None:
    asked_for, others = {}, {}
    for query_importance in (False, True):
        policy = policy_named("holistic", PolicyOptions(query_importance=query_importance))
        learner = learner_for(policy, measures_gains=True)
        planner = Planner(policy, Hosts(5.0, 60.0), learner, crawls_per_second=5 / DAY)
        fetches = crawl(ChangingAlike(10), planner, ticks_at(5 / DAY, 0.0, 40 * DAY), start=0.0)
        visits = np.bincount(fetches.pages, minlength=10)
        asked_for[query_importance], others[query_importance] = visits[1::2].sum(), visits[::2].sum()

    assert asked_for[False] == pytest.approx(others[False], rel=0.1)
    assert asked_for[True] > 1.5 * others[True] > 0
