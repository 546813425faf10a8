"""Pages learn from their siblings, exactly as much as they should, and forget without a trace."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.estimation.change_rate import PriorPoints, RateEstimate, estimate_change_rates
from scrapy_freshness.estimation.history import extended
from scrapy_freshness.estimation.pooled import Group, Pooled

DAY = 86400.0
NEWS = ("example.com", "example.com/news/*")
TERMS = ("example.com", "example.com/terms/*")


def drawn_history(rng: np.random.Generator, rate: float, visits: int, mean_wait: float = DAY) -> bytes:
    history = b""
    for wait in rng.exponential(mean_wait, visits):
        history = extended(history, float(wait), bool(rng.random() < -np.expm1(-rate * wait)))
    return history


def learn(pool: Pooled, groups: list[Group], histories: list[bytes]) -> RateEstimate:
    estimate = pool.estimate(groups, histories)
    pool.learn(groups, None, estimate)
    return estimate


def some_pages(count: int = 60) -> tuple[list[Group], list[bytes]]:
    rng = np.random.default_rng(7)
    groups = [NEWS if page % 3 else TERMS for page in range(count)]
    rates = [1 / DAY if group is NEWS else 0.005 / DAY for group in groups]
    return groups, [drawn_history(rng, rate, 10) for rate in rates]


def test_a_page_that_was_never_visited_starts_with_the_rate_of_its_siblings() -> None:
    pool = Pooled()
    learn(pool, *some_pages())

    new = pool.estimate([NEWS, TERMS], [b"", b""])

    assert new.low[0] < 1 / DAY < new.high[0]
    assert new.low[1] < 0.005 / DAY < new.high[1]
    assert new.rate[0] > 2 * new.rate[1]
    # Its first observation moves it less than a page of an unknown kind.
    surprise = extended(b"", 3 * DAY, changed=False)
    ours, unknown = pool.estimate([NEWS], [surprise]), Pooled().estimate([NEWS], [surprise])
    assert ours.rate[0] > 1.5 * unknown.rate[0]


def test_groups_are_asked_from_the_inside_out() -> None:
    pool = Pooled(power=1.0)
    learn(pool, [("slow.example", "slow.example/*")] * 40, [extended(b"", 900 * DAY, changed=False)] * 40)
    learn(pool, [NEWS] * 40, [extended(extended(b"", DAY, True), DAY / 2, True)] * 40)

    estimate = pool.estimate(
        [NEWS, ("example.com", "example.com/other/*"), ("example.com",), ("else.example",)], [b""] * 4
    )
    news, sibling, host, stranger = np.sqrt(estimate.low * estimate.high)

    assert sibling == pytest.approx(host, rel=1e-9)
    assert news > 1 / DAY / 3
    assert stranger < host < news


def test_the_learned_prior_is_the_distribution_that_the_rates_were_drawn_from() -> None:
    rng = np.random.default_rng(11)
    rates = np.exp(rng.normal(np.log(0.1 / DAY), 0.8, 300))
    histories = [drawn_history(rng, rate, 40, mean_wait=5 * DAY) for rate in rates]
    pool, groups = Pooled(), [NEWS] * len(rates)
    previous = learn(pool, groups, histories)
    for _ in range(3):
        present = pool.estimate(groups, histories, previous)
        pool.learn(groups, previous, present)
        previous = present

    new = pool.estimate([NEWS], [b""])

    assert np.sqrt(new.low[0] * new.high[0]) == pytest.approx(0.1 / DAY, rel=0.25)
    assert np.log(new.high[0] / new.low[0]) / 3.29 == pytest.approx(0.8, abs=0.25)


def test_pages_with_few_visits_are_predicted_better_than_each_alone() -> None:
    """Log-likelihood of the next visit, of hosts whose pages are alike and hosts that differ."""
    rng = np.random.default_rng(13)
    pool, alone, pooled = Pooled(), [], []
    for host in range(30):
        center = rng.normal(np.log(0.05 / DAY), 2)
        rates = np.exp(rng.normal(center, 0.5, 20))
        groups: list[Group] = [(f"h{host}.example",)] * 20
        histories = [drawn_history(rng, rate, 3, mean_wait=4 * DAY) for rate in rates]
        learn(pool, groups, histories)
        changed = rng.random(20) < -np.expm1(-rates * 7 * DAY)
        for found, rate in (
            (pooled, pool.estimate(groups, histories).rate),
            (alone, estimate_change_rates(histories, PriorPoints()).rate),
        ):
            found.extend(np.where(changed, np.log(-np.expm1(-rate * 7 * DAY)), -rate * 7 * DAY).tolist())

    gain = np.array(pooled) - np.array(alone)
    assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))


def test_a_page_learns_nothing_from_itself() -> None:
    pool, history = Pooled(), [extended(b"", 30 * DAY, changed=True)]
    previous = learn(pool, [NEWS], history)
    first = previous.rate[0]
    for _ in range(50):
        present = pool.estimate([NEWS], history, previous)
        pool.learn([NEWS], previous, present)
        previous = present

    assert present.rate[0] == pytest.approx(first, rel=1e-9)


def test_what_was_learned_can_be_taken_out_exactly() -> None:
    groups, histories = some_pages()
    pool = Pooled()
    kept = learn(pool, groups[:40], histories[:40])
    before = pool.estimate(groups, histories)

    removed = learn(pool, groups[40:], histories[40:])
    assert pool.estimate(groups, histories).rate != pytest.approx(before.rate, rel=1e-3)
    pool.learn(groups[40:], removed, None)

    assert pool.estimate(groups, histories).rate == pytest.approx(before.rate, rel=1e-9)
    pool.learn(groups[:40], kept, None)
    assert pool.estimate(groups, histories).rate == pytest.approx(
        Pooled().estimate(groups, histories).rate, rel=1e-9
    )


def test_a_thousand_visits_leave_as_much_as_the_last_one() -> None:
    rng = np.random.default_rng(17)
    busy, once = Pooled(), Pooled()
    previous, history = None, b""
    for _ in range(1000):
        history = extended(history, float(rng.exponential(DAY)), bool(rng.random() < 0.5))
        present = busy.estimate([NEWS], [history], previous)
        busy.learn([NEWS], previous, present)
        previous = present
    once.learn([NEWS], None, previous)

    assert busy.estimate([NEWS], [b""]).rate == pytest.approx(once.estimate([NEWS], [b""]).rate, rel=1e-6)


def test_pages_learned_together_or_one_by_one_leave_the_same() -> None:
    groups, histories = some_pages()
    estimate = Pooled().estimate(groups, histories)
    together, singly = Pooled(), Pooled()
    together.learn(groups, None, estimate)
    for page in range(len(groups)):
        part = RateEstimate(*(each[page : page + 1] for each in (estimate.rate, estimate.low, estimate.high)))
        singly.learn([groups[page]], None, part)

    assert together.estimate(groups, histories).rate == pytest.approx(
        singly.estimate(groups, histories).rate, rel=1e-9
    )


def test_what_was_learned_survives_a_restart() -> None:
    groups, histories = some_pages()
    pool, restarted = Pooled(), Pooled()
    previous = learn(pool, groups, histories)

    restarted.restore(pool.state())

    assert restarted.estimate(groups, histories, previous).rate == pytest.approx(
        pool.estimate(groups, histories, previous).rate, rel=1e-5
    )
    assert {len(packed) for packed in pool.state().values()} == {196}


def test_groups_beyond_the_limit_use_the_one_around_theirs() -> None:
    pool = Pooled(max_groups=3)  # everything, the host and one pattern
    groups, histories = some_pages()
    previous = learn(pool, groups, histories)

    assert len(pool.state()) == 3
    last = pool.estimate([groups[1], ("example.com",)], [b"", b""])
    assert last.rate[0] == pytest.approx(last.rate[1], rel=1e-9)
    pool.learn(groups, previous, None)
    assert pool.estimate([NEWS], [b""]).rate == pytest.approx(Pooled().estimate([NEWS], [b""]).rate)


def test_no_pages_have_no_estimates_and_teach_nothing() -> None:
    pool = Pooled()
    pool.learn([], None, pool.estimate([], []))

    assert len(pool.estimate([], []).rate) == 0
    assert len(pool.state()) == 1


@given(
    seen=st.lists(st.tuples(st.floats(0, 1e12), st.booleans()), max_size=40),
    first_seconds=st.floats(1e-3, 1e10),
)
def test_estimates_are_positive_and_in_order_whatever_was_seen(
    seen: list[tuple[float, bool]], first_seconds: float
) -> None:
    history = b""
    for elapsed, changed in seen:
        history = extended(history, elapsed, changed)
    estimate = Pooled().estimate([NEWS], [history], first_seconds=first_seconds)

    assert 0 < estimate.low[0] <= estimate.rate[0] <= estimate.high[0] < np.inf
    assert estimate.low[0] < estimate.high[0]
    assert 0 < estimate.mean_rate[0] < np.inf
    assert 0 < estimate.doubt[0] < np.inf
