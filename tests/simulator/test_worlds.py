"""Every world passes the same examination; one that is added is examined without being registered."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.simulator.simulate import Result, simulate
from scrapy_freshness.simulator.worlds import world_named, world_names
from scrapy_freshness.simulator.worlds.contract import Size, World, made_world, option_names

each_world = pytest.mark.parametrize("name", world_names())

#: Small enough to be played in a moment.
SMALL = {"poisson": Size(20, 10.0, 10.0), "cost": Size(5, 1.0, 60.0), "longevity": Size(8, 3.0, 12.0)}


def small(name: str) -> Size:
    """A size of a few pages, about 100 crawls."""
    usual = world_named(name).usual
    return SMALL.get(name) or Size(10, 10 * usual.rate / usual.pages, 10 * usual.pages / usual.rate)


def played(name: str, *policies: str, seed: int = 1, repeat: int = 2, learn: bool = False) -> list[Result]:
    world = made_world(world_named(name), {})
    return simulate(name, world, [small(name)], policies, seed=seed, repeat=repeat, learn=learn)


def test_there_are_worlds() -> None:
    assert {"cost", "longevity", "poisson"} <= set(world_names())
    with pytest.raises(ConfigError, match=r"no world 'web'.*poisson"):
        world_named("web")


@each_world
def test_a_world_says_what_it_is(name: str) -> None:
    world = world_named(name)

    assert is_dataclass(world)
    assert world.time_unit.endswith("s")
    assert len({metric.name for metric in world.metrics}) == len(world.metrics) > 0
    assert all(metric.meaning for metric in world.metrics)
    assert world.__doc__
    for written, (field, default, help_) in option_names(world).items():
        assert written.startswith("--")
        assert help_[-1] == "."
        assert made_world(world, {field: str(default)}) == made_world(world, {})
    assert {each.name for each in fields(world)} & {"pages", "rate", "horizon", "seed", "repeat"} == set()


@each_world
def test_the_usual_policies_can_be_played_and_are_measured_by_every_metric(name: str) -> None:
    world = world_named(name)
    results = played(name, *world.usual.policies)

    assert {each.policy for each in results} == set(world.usual.policies)
    assert {each.metric for each in results} == {metric.name for metric in world.metrics}
    assert all(len(each.values) == 2 and each.fetches >= 0 for each in results)
    first = world.metrics[0].name
    assert all(np.isfinite(each.mean) for each in results if each.metric == first)


@each_world
def test_the_same_seed_gives_the_same_numbers_whoever_else_plays(name: str) -> None:
    _, first, other, *_ = world_named(name).usual.policies
    alone, among, later = (
        next(each for each in results if each.policy == first)
        for results in (played(name, first), played(name, other, first), played(name, first, seed=2))
    )

    assert alone.values == among.values
    assert alone.values != later.values
    assert played(name, first, repeat=1)[0].values == alone.values[:1]


@each_world
def test_unknown_policies_are_refused_with_the_names_of_all(name: str) -> None:
    world: World = made_world(world_named(name), {})

    with pytest.raises(ConfigError, match=rf"no policy 'best'.*{world.usual.policies[0]}"):
        world.check("best", small(name), learn=False)
    for policy in world.usual.policies:
        world.check(policy, small(name), learn=False)
        assert policy in world.policy_names()


@each_world
def test_options_that_cannot_be_used_are_refused_by_name(name: str) -> None:
    for written, (field, _, _) in option_names(world_named(name)).items():
        with pytest.raises(ConfigError, match=written):
            made_world(world_named(name), {field: "£"})


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ((0, 1.0, 1.0), "empty"),
        ((-3, 1.0, 1.0), "empty"),
        ((5, 0.0, 1.0), "--rate"),
        ((5, float("nan"), 1.0), "--rate"),
        ((5, 1.0, -1.0), "--horizon"),
        ((5, 1.0, float("inf")), "--horizon"),
        ((5, 0.1, 1.0), "0.1 crawls"),
        ((5, 1e9, 1e9), "1e[+]18 crawls"),
    ],
)
def test_impossible_sizes_are_refused(size: tuple[int, float, float], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        Size(*size)


def test_nothing_is_played_if_anything_cannot_be() -> None:
    shares: list[float] = []
    world = made_world(world_named("poisson"), {})

    with pytest.raises(ConfigError, match="no policy"):
        simulate(
            "poisson",
            world,
            [small("poisson")],
            ["greedy", "best"],
            seed=0,
            repeat=1,
            learn=False,
            progress=shares.append,
        )
    assert shares == []
    for repeat, policies in ((0, ["greedy"]), (1, [])):
        with pytest.raises(ConfigError, match=r"--repeat|--policy"):
            simulate("poisson", world, [small("poisson")], policies, seed=0, repeat=repeat, learn=False)


def test_progress_adds_up_to_the_whole() -> None:
    shares: list[float] = []
    simulate(
        "poisson",
        made_world(world_named("poisson"), {}),
        [small("poisson"), Size(10, 5.0, 10.0)],
        ["greedy", "optimum"],
        seed=0,
        repeat=2,
        learn=False,
        progress=shares.append,
    )

    assert sum(shares) == pytest.approx(1.0)
    assert len(shares) > 8
