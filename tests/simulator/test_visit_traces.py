"""Our own visits as recorded versions: what happened when, and how far the page moved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.model import Outcome, VisitRecord
from scrapy_freshness.simulator.recorded_page import RecordedPage
from scrapy_freshness.simulator.trace import Kind, Version
from scrapy_freshness.simulator.visit_trace import N_FRAGMENTS, SHINGLE_WORDS, visit_versions

HOUR = 3600.0


def versions_of(*visits: tuple[Outcome, float | None]) -> list[Version]:
    """Versions that hourly visits with these outcomes and divergences make."""
    log = [
        VisitRecord(page_id=7, at=number * HOUR, outcome=outcome, divergence=divergence)
        for number, (outcome, divergence) in enumerate(visits)
    ]
    return list(visit_versions("news:7", "http://x/", log))


def summary(versions: list[Version]) -> list[tuple[float, str]]:
    return [(version.at / HOUR, version.kind.value) for version in versions]


outcomes = st.tuples(st.sampled_from(Outcome), st.one_of(st.none(), st.floats(0, 1)))


def test_changes_and_absences_are_versions() -> None:
    versions = versions_of(
        (Outcome.FIRST, None),
        (Outcome.UNCHANGED, 0.0),
        (Outcome.NOT_MODIFIED, None),
        (Outcome.CHANGED, 0.3),
        (Outcome.FAILED, None),
        (Outcome.IGNORED, None),
        (Outcome.GONE, None),
        (Outcome.GONE, None),
        (Outcome.UNCHANGED, 0.0),
        (Outcome.MOVED, None),
    )

    assert summary(versions) == [(0, "first"), (3, "change"), (6, "gone"), (8, "first"), (9, "gone")]
    assert versions[3].lines == versions[1].lines, "it came back as it was"
    assert {version.url for version in versions} == {"http://x/"}


@given(visits=st.lists(outcomes, max_size=12))
def test_every_log_is_a_valid_history(visits: list[tuple[Outcome, float | None]]) -> None:
    versions = versions_of(*visits)
    is_there = False
    lines = None
    for version in versions:
        assert (version.kind is Kind.FIRST) == (not is_there)
        assert (version.lines is None) == (version.kind is Kind.GONE)
        if version.kind is Kind.CHANGE:
            assert version.lines != lines
        is_there = version.kind is not Kind.GONE
        lines = version.lines or lines
    n_found = sum(outcome in (Outcome.FIRST, Outcome.CHANGED) for outcome, _ in visits)
    assert sum(version.kind is Kind.CHANGE for version in versions) <= n_found


@given(divergence=st.floats(0, 1))
def test_texts_diverge_by_what_was_measured(divergence: float) -> None:
    page = RecordedPage.of(
        versions_of((Outcome.FIRST, None), (Outcome.CHANGED, divergence)), shingle_words=SHINGLE_WORDS
    )

    assert page.contents.tolist() == [0, 1]
    assert page.divergence(0, 1) == pytest.approx(divergence, abs=2 / N_FRAGMENTS)


def test_a_change_that_was_not_measured_replaces_everything() -> None:
    page = RecordedPage.of(versions_of((Outcome.FIRST, None), (Outcome.CHANGED, None)))

    assert page.divergence(0, 1) == 1.0


def test_a_part_of_the_page_churns() -> None:
    page = RecordedPage.of(versions_of((Outcome.FIRST, None), *[(Outcome.CHANGED, 0.25)] * 5))

    assert page.divergence(0, 5) == pytest.approx(0.25, abs=2 / N_FRAGMENTS)
    assert len(set(page.contents.tolist())) == 6


@pytest.mark.parametrize("outcome", [Outcome.CHANGED, Outcome.UNCHANGED, Outcome.NOT_MODIFIED])
def test_a_log_whose_beginning_was_pruned_begins_with_a_page_that_was_there(outcome: Outcome) -> None:
    (version,) = versions_of((outcome, 0.1))

    assert version.kind is Kind.FIRST
    assert version.carry


def test_a_page_that_was_never_seen_has_no_history() -> None:
    assert versions_of((Outcome.FAILED, None), (Outcome.GONE, None), (Outcome.MOVED, None)) == []


def test_a_clock_that_was_set_back_does_not_unsort_the_history() -> None:
    log = [
        VisitRecord(page_id=7, at=at, outcome=outcome)
        for at, outcome in ((100.0, Outcome.FIRST), (50.0, Outcome.CHANGED), (120.0, Outcome.CHANGED))
    ]

    assert [version.at for version in visit_versions("a:1", None, log)] == [100, 100, 120]
