"""The world of the longevity paper: equal numbers of refreshes, and who is less stale for it."""

import numpy as np
import pytest

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.simulate import simulate
from scrapy_freshness.simulator.worlds.contract import Size
from scrapy_freshness.simulator.worlds.longevity import DAY, OFFLINE, Longevity

SIZE = Size(30, 5.0, 30.0)


def stale(*policies: str, learn: bool = False, repeat: int = 2, size: Size = SIZE, **options):
    """Staleness of each policy, one for each web, and refreshes."""
    results = simulate(
        "longevity", Longevity(**options), [size], policies, seed=2, repeat=repeat, learn=learn
    )
    return {each.policy: np.array(each.values) for each in results}, {
        each.policy: each.fetches for each in results
    }


def test_who_knows_more_is_less_stale_with_the_same_number_of_refreshes() -> None:
    """Figure 6: the page as it is, its mean curve, which pages ever change, nothing."""
    found, fetches = stale("fs-d", "fs-s", "longevity-curve", "uniform-dynamic", "uniform")
    mean = {policy: values.mean() for policy, values in found.items()}

    assert mean["fs-d"] < mean["fs-s"] < mean["uniform-dynamic"] < mean["uniform"]
    assert mean["fs-d"] < mean["longevity-curve"] < mean["uniform-dynamic"]
    assert fetches.pop("fs-d") <= 76, "it does not refresh what has not changed"
    for policy, made in fetches.items():
        assert made == pytest.approx(5.0 * 15.0, rel=0.05), policy


def test_learned_curves_and_bounds_beat_refreshing_all_pages_equally() -> None:
    found, fetches = stale("longevity-curve", "longevity-bounds", "uniform", learn=True, repeat=1)

    assert found["longevity-curve"].mean() < found["uniform"].mean()
    assert found["longevity-bounds"].mean() < found["uniform"].mean()
    assert max(fetches.values()) < 1.15 * min(fetches.values())


def test_learned_curves_leave_pages_alone_that_never_change() -> None:
    """Half of the pages; after the warm-up they take less than a tenth of the refreshes."""
    size, threshold = Size(60, 6.0, 60.0), 0.5 * DAY
    shares = []
    for web in range(3):
        drawn = Longevity().draw(size, np.random.default_rng([2, web]))
        fetches = drawn.at_threshold("longevity-curve", threshold, learn=True)
        pages = fetches.pages[fetches.times > 30 * DAY]
        shares.append(np.mean(~drawn.ever_changes[pages]))

    assert max(shares) < 0.1


def test_a_budget_does_about_as_well_as_the_threshold_that_spends_it() -> None:
    by_budget, fetches = stale("longevity-curve", "longevity-bounds", learn=True, pace="budget")

    assert fetches == {"longevity-curve": 75.0, "longevity-bounds": 75.0}
    uniform, _ = stale("uniform")
    for policy, values in by_budget.items():
        assert values.mean() < uniform["uniform"].mean(), policy


def test_all_references_play() -> None:
    size = Size(10, 3.0, 15.0)
    found, _ = stale(*OFFLINE, "cgm", "fixed", "greedy", repeat=1, size=size)

    assert all(0 <= values[0] < 1 for values in found.values())


def test_a_web_of_static_pages_is_never_stale() -> None:
    """One page, drawn static: nobody has anything to refresh."""
    seed = next(
        seed
        for seed in range(20)
        if len(Longevity().draw(Size(1, 1.0, 10.0), np.random.default_rng([seed, 0]))._pages[0].times) == 1
    )
    results = simulate(
        "longevity",
        Longevity(),
        [Size(1, 1.0, 10.0)],
        ["uniform-dynamic", "fs-d", "fs-s", "hs-s", "longevity-curve"],
        seed=seed,
        repeat=1,
        learn=False,
    )

    assert [each.mean for each in results] == [0.0] * 5


@pytest.mark.parametrize(
    ("world", "policy", "reason"),
    [
        (Longevity(), "longevity-bounds", "--learn"),
        (Longevity(), "echo-newpages", "no policy"),
        (Longevity(warm_up=0.99), "uniform", "--warm-up"),
    ],
)
def test_what_cannot_be_played_is_refused(world: Longevity, policy: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        world.check(policy, Size(5, 1.0, 5.0), learn=False)
