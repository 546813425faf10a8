"""Measures of fetches of a recorded web, against a judge that walks through time second by second."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_histories import SlowJudge, fetches, fragments, webs

from scrapy_freshness.simulator.judgement import judge
from scrapy_freshness.simulator.metrics import (
    fragment_freshness,
    freshness,
    mean_age_seconds,
    wasted_fetches,
)
from scrapy_freshness.simulator.recorded import RecordedWeb, web_of
from scrapy_freshness.simulator.trace import Kind, Version
from scrapy_freshness.simulator.trial import Trial

WORDS = 2
web = st.one_of(webs(), webs(with_hubs=True))
horizon = st.tuples(st.integers(0, 20), st.integers(1, 20)).map(lambda each: (each[0], sum(each)))


def made(history: list[list[Version]]) -> RecordedWeb:
    return web_of((version for page in history for version in page), shingle_words=WORDS)


def trial_of(
    history: list[list[Version]], fetched: list[tuple[int, int]], span: tuple[int, int], first_copies: bool
) -> tuple[Trial, SlowJudge]:
    pages, times = np.array([*zip(*fetched, strict=True)] if fetched else [[], []])
    trial = Trial(made(history), pages.astype(int), times.astype(float), *map(float, span), first_copies)
    return trial, SlowJudge(history, fetched, *span, first_copies)


def page_of(*versions: tuple[float, str | None], name: str = "a:1") -> list[Version]:
    """A page with some texts at some times; None: it is gone."""
    return [
        Version(
            page=name,
            at=at,
            kind=Kind.CHANGE if text is not None else Kind.GONE,
            lines=None if text is None else (text,),
        )
        for at, text in versions
    ]


def trial(
    history: list[list[Version]], fetched: list[tuple[int, float]], start: float, end: float, **options: bool
) -> Trial:
    pages, times = np.array([*zip(*fetched, strict=True)] if fetched else [[], []])
    return Trial(made(history), pages.astype(int), times.astype(float), start, end, **options)


def agree(ours: float, total: float, count: float) -> bool:
    return bool(np.isnan(ours)) if count == 0 else ours == pytest.approx(total / count, abs=1e-12)


@given(history=web, fetched=fetches(), span=horizon, first_copies=st.booleans())
def test_freshness_is_exact(
    history: list[list[Version]], fetched: list[tuple[int, int]], span: tuple[int, int], first_copies: bool
) -> None:
    trial, slow = trial_of(history, fetched, span, first_copies)
    counted = [second for second in slow.seconds() if second.live is not None]

    assert agree(freshness(trial), sum(second.is_same for second in counted), len(counted))


@given(history=web, fetched=fetches(), span=horizon, first_copies=st.booleans())
def test_fragment_freshness_is_exact(
    history: list[list[Version]], fetched: list[tuple[int, int]], span: tuple[int, int], first_copies: bool
) -> None:
    trial, slow = trial_of(history, fetched, span, first_copies)
    counted = [second for second in slow.seconds() if second.live is not None]
    total = 0.0
    for second in counted:
        held, live = fragments(second.copy, WORDS), fragments(second.live, WORDS)
        alike = len(held & live) / len(held | live) if held | live else float(second.copy is not None)
        total += 1.0 if second.is_same else alike

    assert agree(fragment_freshness(trial), total, len(counted))


@given(history=web, fetched=fetches(), span=horizon, first_copies=st.booleans())
def test_the_mean_age_is_exact(
    history: list[list[Version]], fetched: list[tuple[int, int]], span: tuple[int, int], first_copies: bool
) -> None:
    trial, slow = trial_of(history, fetched, span, first_copies)
    counted = [second for second in slow.seconds() if second.live is not None]
    total = sum(0 if second.is_same else second.at + 0.5 - second.since for second in counted)

    assert agree(mean_age_seconds(trial), total, len(counted))


@given(history=web, fetched=fetches(), span=horizon, first_copies=st.booleans())
def test_wasted_fetches_are_counted(
    history: list[list[Version]], fetched: list[tuple[int, int]], span: tuple[int, int], first_copies: bool
) -> None:
    trial, slow = trial_of(history, fetched, span, first_copies)
    made_fetches = sum(span[0] <= at <= span[1] for _, at in fetched)
    for _ in slow.seconds():
        pass

    assert trial.n_fetches == made_fetches
    assert agree(wasted_fetches(trial), slow.wasted, made_fetches)


def freshness_bound(
    web: RecordedWeb, n_fetches: int, start: float, end: float, *, first_copies: bool = True
) -> float:
    """A freshness that so many fetches never exceed, not even those of someone who knows the future.

    What a page shows for the first time can be held only by a fetch while it shows it, so that every fetch
    makes at most one such spell fresh: the longest ones do best. What it shows again is counted as
    fresh without a fetch, which makes the bound loose for pages that go back and forth.
    """
    nothing = np.empty(0)
    spans = Trial(web, nothing.astype(np.int64), nothing, start, end, first_copies).spans
    seconds = np.where(spans.is_there, spans.seconds, 0.0)
    if not seconds.any():
        return float("nan")
    contents = np.concatenate(
        [page.contents_of(spans.live[spans.page == number]) for number, page in enumerate(web.pages)]
    )
    spells = np.stack([spans.page, contents])
    is_begin = np.ones(len(seconds), bool)
    is_begin[1:] = np.any(spells[:, 1:] != spells[:, :-1], axis=0)
    (begins,) = is_begin.nonzero()
    lengths = np.add.reduceat(seconds, begins)
    _, firsts = np.unique(spells[:, begins], axis=1, return_index=True)
    is_free = np.ones(len(begins), bool)
    is_free[firsts] = spans.is_same[begins[firsts]]
    longest = np.sort(lengths[~is_free])[::-1][:n_fetches]
    return float((lengths[is_free].sum() + longest.sum()) / seconds.sum())


@given(history=webs(), fetched=fetches(), span=horizon, first_copies=st.booleans())
def test_nobody_is_fresher_than_the_bound(
    history: list[list[Version]], fetched: list[tuple[int, int]], span: tuple[int, int], first_copies: bool
) -> None:
    fetched = [(page, at) for page, at in fetched if at >= span[0]]
    trial, _ = trial_of(history, fetched, span, first_copies)
    bound = freshness_bound(trial.web, trial.n_fetches, trial.start, trial.end, first_copies=first_copies)

    assert np.isnan(bound) == np.isnan(freshness(trial))
    assert np.isnan(bound) or freshness(trial) <= bound + 1e-12


def test_the_bound_is_reached_by_who_fetches_the_longest_spells_when_they_begin() -> None:
    history = [page_of((0, "A"), (3, "B"), (4, "C"), (9, "D"), (10, "E"))]
    best = trial(history, [(0, 4)], 0, 10)

    assert freshness(best) == freshness_bound(best.web, 1, 0, 10) == pytest.approx(0.8)


@given(history=webs(), fetched=fetches(), span=horizon)
def test_the_order_of_the_log_does_not_matter(
    history: list[list[Version]], fetched: list[tuple[int, int]], span: tuple[int, int]
) -> None:
    one, _ = trial_of(history, fetched, span, True)
    other, _ = trial_of(history, fetched[::-1], span, True)

    assert judge(one) == judge(other)


def test_a_page_that_returns_to_the_content_of_the_copy_is_fresh_again() -> None:
    reverting = trial([page_of((0, "A"), (2, "B"), (5, "A"), (10, "A"))], [], 0, 10)

    assert freshness(reverting) == pytest.approx(0.7)
    assert mean_age_seconds(reverting) == pytest.approx(3**2 / 2 / 10)


def test_noise_and_other_readings_leave_a_copy_fresh() -> None:
    versions = page_of((0, "A"), (2, "A"), (5, "A as it is read later"), (10, "A as it is read later"))
    history = [
        Version(page=v.page, at=v.at, kind=kind, lines=v.lines)
        for v, kind in zip(versions, (Kind.FIRST, Kind.NOISE, Kind.TECH, Kind.NOISE), strict=True)
    ]
    fetched = trial([history], [(0, 3), (0, 7)], 0, 10)

    assert freshness(fetched) == fragment_freshness(fetched) == 1.0
    assert mean_age_seconds(fetched) == 0.0
    assert wasted_fetches(fetched) == 1.0


def test_a_page_does_not_count_while_it_is_gone() -> None:
    history = [page_of((0, "A"), (4, None), (8, "A"), (10, "A"))]

    assert freshness(trial(history, [], 0, 10)) == 1.0
    # Who found it gone has no copy when it comes back.
    assert freshness(trial(history, [(0, 5)], 0, 10)) == pytest.approx(4 / 6)
    assert wasted_fetches(trial(history, [(0, 5), (0, 6)], 0, 10)) == 0.5


def test_a_page_counts_from_its_first_version_until_the_record_of_its_source_ends() -> None:
    history = [
        page_of((0, "A"), (6, "B")),
        page_of((4, "C"), (10, "D"), name="a:2"),
        page_of((0, "E"), (2, "F"), name="b:1"),
    ]

    spans = trial(history, [], 0, 20).spans
    assert [spans.seconds[(spans.page == page) & spans.is_there].sum() for page in range(3)] == [10, 6, 2]
    assert freshness(trial(history, [], 0, 20)) == pytest.approx((6 + 0 + 2) / 18)


def test_pages_count_by_their_importance() -> None:
    history = [page_of((0, "A"), (10, "A")), page_of((0, "A"), (5, "B"), (10, "B"), name="a:2")]
    both = trial(history, [], 0, 10)

    assert freshness(both) == pytest.approx(0.75)
    assert freshness(both, np.array([1.0, 3.0])) == pytest.approx((1 + 3 * 0.5) / 4)
    assert fragment_freshness(both, np.array([0.0, 1.0])) == pytest.approx(0.5)
    assert mean_age_seconds(both, np.array([1.0, 0.0])) == 0.0


def test_who_never_fetches_has_nothing_without_first_copies() -> None:
    history = [page_of((0, "A"), (10, "B"))]
    idle = trial(history, [], 2, 10, first_copies=False)

    assert judge(idle) == {
        "freshness": 0.0,
        "fragment_freshness": 0.0,
        "mean_age_seconds": 4.0,
        "wasted_fetches": None,
    }


def test_fetches_before_the_start_make_the_copies_at_the_start() -> None:
    history = [page_of((0, "A"), (5, "B"), (20, "B"))]
    early = trial(history, [(0, 2)], 10, 20, first_copies=False)

    assert freshness(early) == 0.0
    assert mean_age_seconds(early) == pytest.approx((5 + 15) / 2)
    assert early.n_fetches == 0


def test_what_cannot_be_said_is_none() -> None:
    measures = judge(trial([page_of((30, "A"), (40, "B"))], [], 0, 10))

    assert measures["freshness"] is None
    assert measures["wasted_fetches"] is None


@pytest.mark.parametrize(
    ("pages", "times", "start", "end", "reason"),
    [
        ([0], [1.0], 5.0, 5.0, "ends after it starts"),
        ([0], [1.0, 2.0], 0.0, 5.0, "1 pages for 2 times"),
        ([1], [1.0], 0.0, 5.0, "0 to 0"),
        ([-1], [1.0], 0.0, 5.0, "0 to 0"),
    ],
)
def test_impossible_trials_are_refused(
    pages: list[int], times: list[float], start: float, end: float, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        Trial(made([page_of((0, "A"))]), np.array(pages), np.array(times), start, end)
