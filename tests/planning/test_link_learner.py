"""Link rates of sources: from their own polls, and before those from the polls of others."""

import numpy as np
import pytest

from scrapy_freshness.estimation.change_rate import PriorPoints
from scrapy_freshness.estimation.polls import extended_polls
from scrapy_freshness.estimation.stays import counted_stays
from scrapy_freshness.model import PageKind, PageRecord
from scrapy_freshness.planning.learners import ESTIMATORS
from scrapy_freshness.planning.link_learner import LinkLearner

HOUR = 3600.0


def source(page_id: int, host: str = "a.example") -> PageRecord:
    return PageRecord(
        page_id=page_id, fingerprint=page_id, url=f"http://{host}/{page_id}", host=host, kind=PageKind.SOURCE
    )


def new_learner() -> LinkLearner:
    learner = LinkLearner(ESTIMATORS["mle"](PriorPoints(), False))
    learner.expect(30 * HOUR)
    return learner


def polled(learner: LinkLearner, page: PageRecord, links: int) -> float:
    """Poll a source after an hour; returns its link rate, per hour."""
    page.polls = extended_polls(page.polls, HOUR, links)
    columns = learner.learn([page])
    page.beliefs = {name: float(column[0]) for name, column in columns.items()}
    return page.beliefs["link_rate"] * HOUR


def expected(learner: LinkLearner, host: str = "a.example") -> float:
    return learner.prior(source(99, host))["link_rate"] * HOUR


def test_a_source_has_the_rate_of_its_own_polls() -> None:
    learner, page = new_learner(), source(1)

    assert [polled(learner, page, links) for links in (4, 2, 0)] == pytest.approx([4, 3, 2])


def test_before_anything_is_known_many_links_are_expected() -> None:
    assert expected(new_learner()) == pytest.approx(1)


def test_what_is_not_known_is_expected_to_be_as_good_as_where_a_typical_link_comes_from() -> None:
    learner = new_learner()
    for number in range(200):
        polled(learner, source(number), links=1)
    for number in range(200, 210):
        polled(learner, source(number), links=20)

    assert expected(learner) == pytest.approx((200 * 1 + 10 * 400) / (200 + 10 * 20), rel=0.02)


def test_sources_of_the_same_host_count_more_than_others() -> None:
    learner = new_learner()
    for number in range(50):
        polled(learner, source(number, "busy.example"), links=30)
        polled(learner, source(100 + number, "quiet.example"), links=1)

    assert expected(learner, "quiet.example") < expected(learner, "other.example")
    assert expected(learner, "other.example") < expected(learner, "busy.example")


def test_a_source_that_changes_replaces_what_it_has_taught() -> None:
    learner, rng = new_learner(), np.random.default_rng(1)
    pages = [source(number) for number in range(20)]
    for _ in range(50):
        for page in pages:
            polled(learner, page, links=int(rng.poisson(3)))

    assert expected(learner) == pytest.approx(3, rel=0.2)


def test_what_sources_have_taught_is_kept() -> None:
    first, second = new_learner(), new_learner()
    for number in range(20):
        polled(first, source(number), links=8)
    second.restore(first.take_groups())

    assert expected(second) == pytest.approx(expected(first))
    assert first.take_groups() == {}


def test_a_page_that_is_no_source_has_no_links() -> None:
    learner = new_learner()
    page = PageRecord(page_id=1, fingerprint=1, url="http://a.example/1", host="a.example")

    assert learner.prior(page)["link_rate"] == learner.prior(page)["profit"] == 0
    assert learner.learn([page])["link_rate"].tolist() == [0]


def test_a_page_that_becomes_a_source_is_believed_to_be_like_others() -> None:
    learner = LinkLearner(ESTIMATORS["mle"](PriorPoints(), False), profit=3.0, decay=0.5)
    page = PageRecord(page_id=1, fingerprint=1, url="http://a.example/", host="a.example")
    page.beliefs = {name: float(values[0]) for name, values in learner.learn([page]).items()}
    page.kind = PageKind.SOURCE
    found = learner.learn([page])

    assert (found["profit"][0], found["decay"][0]) == (3.0, 0.5)
    assert found["link_rate"][0] > 0


def test_links_that_leave_are_learned_of_and_made_up_for() -> None:
    plain, wise = new_learner(), LinkLearner(ESTIMATORS["mle"](PriorPoints(), False), with_leaving=True)
    one, other = source(1), source(1)
    for _ in range(20):
        other.beliefs |= counted_stays(other.beliefs, young=4, left=2, seconds=HOUR)
        seen, true = polled(plain, one, links=4), polled(wise, other, links=4)

    assert "leaving" not in one.beliefs
    assert other.beliefs["leaving"] * HOUR == pytest.approx(np.log(2), rel=0.05)
    assert true == pytest.approx(seen * np.log(2) / 0.5, rel=0.05), "half of them were missed on average"
    assert wise.prior(source(2))["link_rate"] > plain.prior(source(2))["link_rate"]
