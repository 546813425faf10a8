"""Links that come by the clock: learned for each host, and followed."""

import numpy as np
import pytest

from scrapy_freshness.estimation.change_rate import PriorPoints
from scrapy_freshness.estimation.polls import extended_polls
from scrapy_freshness.estimation.rhythm import DAY, HOUR
from scrapy_freshness.model import Outcome, PageKind, PageRecord
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import ESTIMATORS
from scrapy_freshness.planning.link_learner import LinkLearner
from scrapy_freshness.planning.link_rhythm import HostRhythm
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.planning.visits import Report

#: Links an hour from midnight to noon, and from noon to midnight.
NIGHT, DAYTIME = 1.0, 9.0


def drawn(rng: np.random.Generator, hour: float, *, by_clock: bool = True) -> int:
    rate = (NIGHT if hour % 24 < 12 else DAYTIME) if by_clock else (NIGHT + DAYTIME) / 2
    return int(rng.poisson(rate))


def learned(*, days: int = 14, by_clock: bool = True) -> HostRhythm:
    rng, rhythm = np.random.default_rng(7), HostRhythm()
    for hour in range(24 * days):
        rhythm.add(hour * HOUR, (hour + 1) * HOUR, drawn(rng, hour, by_clock=by_clock), 5 / HOUR)
    return rhythm


def test_the_hours_of_the_day_are_learned_and_kept() -> None:
    found = HostRhythm.unpacked(learned().packed()).rhythm()

    assert found is not None
    night, daytime = found.relative[:12].mean(), found.relative[12:].mean()
    assert (night, daytime) == (pytest.approx(0.2, abs=0.06), pytest.approx(1.8, abs=0.06))


def test_what_does_not_follow_the_clock_has_no_rhythm() -> None:
    assert learned(by_clock=False).rhythm() is None
    assert learned(days=2).rhythm() is None
    assert HostRhythm.unpacked(b"damaged").rhythm() is None


def source_polled_hourly(learner: LinkLearner, hours: int) -> PageRecord:
    rng = np.random.default_rng(3)
    page = PageRecord(
        page_id=1, fingerprint=1, url="http://a.example/", host="a.example", kind=PageKind.SOURCE
    )
    for hour in range(hours):
        page.last_visit_at = (hour + 1) * HOUR
        page.polls = extended_polls(page.polls, HOUR, drawn(rng, hour))
        page.beliefs = {name: float(values[0]) for name, values in learner.learn([page]).items()}
    return page


def new_learner() -> LinkLearner:
    return LinkLearner(ESTIMATORS["mle"](PriorPoints(), False))


def test_the_mean_rate_does_not_depend_on_the_hour() -> None:
    learner = new_learner()
    # The last thirty polls have seen more nights than days, or the other way round.
    at_noon, at_midnight = (
        source_polled_hourly(learner, 24 * 20 + hour).beliefs["link_rate"] * HOUR for hour in (12, 24)
    )
    assert learner.rhythm_of("a.example") is not None
    assert at_noon == pytest.approx(5.0, rel=0.35)
    assert at_midnight == pytest.approx(5.0, rel=0.35)

    again = new_learner()
    again.restore(learner.take_groups())
    assert again.rhythm_of("a.example") is not None
    assert "link_rhythm" not in str(learner.take_groups())


def test_a_source_is_polled_more_often_at_its_hours() -> None:
    policy, learner = policy_named("holistic"), new_learner()
    source_polled_hourly(learner, 24 * 20)
    planner = Planner(policy, Hosts(5.0, 60.0), learner, crawls_per_second=12 / DAY)
    for number in (2, 3):  # one that follows the clock, and one of a host that nothing is known of
        planner.discover(
            PageRecord(
                page_id=0,
                fingerprint=number,
                url=f"http://{number}/",
                host="a.example" if number == 2 else "b.example",
                kind=PageKind.SOURCE,
                importance=0.0,
                beliefs={"link_rate": 5 / HOUR, "profit": 1.0, "decay": 1 / DAY},
            ),
            0.0,
        )
    records: dict[int, PageRecord] = {}
    polls = []
    for now in np.arange(0.0, 20 * DAY, DAY / 12).tolist():
        records |= {record.page_id: record for record in planner.take_updates()[0]}
        wanted = planner.wanted(now)
        planner.supply(wanted, [records[page_id] for page_id in wanted])
        visit = planner.begin_visit(now, lambda host, at: at)
        if visit is not None:
            polls.append((visit.record.fingerprint, now))
            hours = np.arange((visit.record.last_visit_at or now) // HOUR, now // HOUR) % 24
            by_hour = (
                np.where(hours < 12, NIGHT, DAYTIME) if visit.record.fingerprint == 2 else 5.0 + 0 * hours
            )
            found = round(float(by_hour.sum()))
            planner.end_visit(visit, Report(outcome=Outcome.CHANGED, at=now, new_links=found))
            planner.settle(now)

    by_clock = np.array([at for number, at in polls if number == 2]) % DAY
    assert np.count_nonzero(by_clock >= DAY / 2) > 1.5 * np.count_nonzero(by_clock < DAY / 2)
