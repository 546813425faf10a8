"""Every value model passes the same examination; one that is added is examined without being registered."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest
from believed import any_page, many_pages, page
from hypothesis import given, settings
from hypothesis import strategies as st

import scrapy_freshness.value
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.value.contract import Beliefs, ValueModel
from scrapy_freshness.value.cost import RiskBounded
from scrapy_freshness.value.holistic import Holistic
from scrapy_freshness.value.ncis import NcisApprox

METHODS = [name for name, _ in inspect.getmembers(ValueModel, inspect.isfunction) if not name.startswith("_")]
COLUMNS = {each.name for each in fields(Beliefs)}
#: Models that do not come without arguments.
WITH_ARGUMENTS: dict[type, list[ValueModel]] = {
    NcisApprox: [NcisApprox(1), NcisApprox(3)],
    RiskBounded: [RiskBounded(3600.0, 0.05), RiskBounded(0.0, 0.5, crawl_seconds=60.0)],
}


def all_models() -> list[type[ValueModel]]:
    """Classes of the package that offer what the contract asks for."""
    found = []
    for module in pkgutil.iter_modules(scrapy_freshness.value.__path__, "scrapy_freshness.value."):
        for _, each in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            is_model = all(hasattr(each, name) for name in METHODS) and each is not ValueModel
            if is_model and each.__module__ == module.name:
                found.append(each)
    return found


MODELS = all_models()
EXAMINED = [model for kind in MODELS for model in WITH_ARGUMENTS.get(kind) or [kind()]]
each_model = pytest.mark.parametrize("model", EXAMINED, ids=lambda m: type(m).__name__)

times = st.floats(0, 1e12)
prices = st.floats(1e-30, 1e12)


def value(model: ValueModel, beliefs: Beliefs, elapsed: float) -> float:
    return float(model.value(beliefs, np.array([elapsed]))[0])


def test_the_models_of_all_policies_are_examined() -> None:
    assert {type(policy_named(name).model) for name in ("greedy", "uniform")} <= set(MODELS)
    assert set(METHODS) == {"value", "first_value", "elapsed_at", "sooner", "freshness"}
    assert len(MODELS) >= 15


@each_model
@settings(max_examples=30)
@given(beliefs=any_page(), earlier=times, later=times)
def test_the_value_is_finite_and_never_falls(
    model: ValueModel, beliefs: Beliefs, earlier: float, later: float
) -> None:
    earlier, later = sorted((earlier, later))
    low, high = value(model, beliefs, earlier), value(model, beliefs, later)

    assert 0 <= low <= high * (1 + 1e-12)
    assert high < np.inf


@each_model
@settings(max_examples=30)
@given(beliefs=any_page(), elapsed=times, more=st.one_of(st.integers(1, 3), st.floats(0, 100)))
def test_a_signal_never_lowers_the_value(
    model: ValueModel, beliefs: Beliefs, elapsed: float, more: float
) -> None:
    signalled = replace(beliefs, signals=beliefs.need("signals") + more)

    assert value(model, beliefs, elapsed) <= value(model, signalled, elapsed) * (1 + 1e-12)
    assert model.freshness(beliefs, np.array([elapsed])) >= model.freshness(signalled, np.array([elapsed]))


@each_model
@settings(max_examples=30)
@given(beliefs=any_page(), elapsed=times)
def test_a_first_copy_is_worth_at_least_as_much_as_another(
    model: ValueModel, beliefs: Beliefs, elapsed: float
) -> None:
    # The interest in an ephemeral page may have faded before its first copy is made.
    if "age" not in model.needs or beliefs.need("is_source")[0]:
        assert model.first_value(beliefs)[0] >= value(model, beliefs, elapsed) * (1 - 1e-12)
    assert 0 <= model.first_value(beliefs)[0] < np.inf


@each_model
@settings(max_examples=30)
@given(beliefs=any_page(), price=prices)
def test_the_value_reaches_a_price_when_it_was_said_to(
    model: ValueModel, beliefs: Beliefs, price: float
) -> None:
    elapsed = float(model.elapsed_at(beliefs, price)[0])

    if elapsed == 0:
        assert value(model, beliefs, 0.0) >= price
    elif np.isinf(elapsed):
        assert value(model, beliefs, 1e250) <= price
    else:  # a value may also jump over the price
        assert value(model, beliefs, elapsed * (1 - 1e-9)) <= price * (1 + 1e-7)
        assert value(model, beliefs, elapsed * (1 + 1e-9)) >= price * (1 - 1e-7)


@each_model
@settings(max_examples=30)
@given(beliefs=any_page(), price=st.just(0.0) | st.floats(1e-300, 1e12), more=st.floats(1, 10))
def test_a_higher_price_is_reached_later(
    model: ValueModel, beliefs: Beliefs, price: float, more: float
) -> None:
    sooner = model.elapsed_at(beliefs, price)[0]

    assert 0 <= sooner <= model.elapsed_at(beliefs, price * more)[0] * (1 + 1e-6)


@each_model
@settings(max_examples=30)
@given(beliefs=any_page(), share=st.floats(1e-6, 0.9), more=st.integers(1, 3))
def test_a_signal_brings_the_time_of_a_price_nearer_by_what_it_is_worth(
    model: ValueModel, beliefs: Beliefs, share: float, more: int
) -> None:
    price = share * value(model, beliefs, 1e9 / beliefs.change_rate[0])
    signalled = replace(beliefs, signals=beliefs.need("signals") + more)
    before, after = (float(model.elapsed_at(each, price)[0]) for each in (beliefs, signalled))
    sooner = float(model.sooner(beliefs, np.array([before]), np.array([float(more)]))[0])

    assert sooner <= before * (1 + 1e-12)
    if isinstance(model, Holistic) and beliefs.need("is_source")[0]:
        # A source that is a page as well may be waited for by either: it may wake too early, never too late.
        assert after >= sooner - 1e-6 * abs(before)
    elif before < np.inf:
        assert after == pytest.approx(max(sooner, 0.0), rel=1e-6, abs=1e-6 * before)


@each_model
@settings(max_examples=30)
@given(beliefs=any_page(), earlier=times, later=times)
def test_freshness_falls_from_one_to_nothing(
    model: ValueModel, beliefs: Beliefs, earlier: float, later: float
) -> None:
    earlier, later = sorted((earlier, later))
    visited = replace(beliefs, signals=np.zeros(1))

    assert model.freshness(visited, np.array([0.0]))[0] == 1
    fresh = [model.freshness(beliefs, np.array([elapsed]))[0] for elapsed in (earlier, later)]
    assert 1 >= fresh[0] >= fresh[1] - 1e-15 >= -1e-15


def looks_at_each_page_alone(model: ValueModel) -> None:
    beliefs, elapsed = many_pages()
    together = model.value(beliefs, elapsed), model.first_value(beliefs), model.elapsed_at(beliefs, 0.01)
    for number in range(0, len(elapsed), 12):
        rows = slice(number, number + 1)
        alone = beliefs.at(rows)
        assert model.value(alone, elapsed[rows])[0] == together[0][number]
        assert model.first_value(alone)[0] == together[1][number]
        assert model.elapsed_at(alone, 0.01)[0] == together[2][number]


def ignores_the_order_of_pages(model: ValueModel) -> None:
    beliefs, elapsed = many_pages()
    order = np.random.default_rng(5).permutation(len(elapsed))
    shuffled = beliefs.at(order)

    assert np.array_equal(model.value(shuffled, elapsed[order]), model.value(beliefs, elapsed)[order])
    assert np.array_equal(model.elapsed_at(shuffled, 1.0), model.elapsed_at(beliefs, 1.0)[order])


def leaves_its_arguments_alone(model: ValueModel) -> None:
    beliefs, elapsed = many_pages()
    for column in (elapsed, *(beliefs.need(name) for name in COLUMNS)):
        column.flags.writeable = False
    model.value(beliefs, elapsed)
    model.first_value(beliefs)
    model.elapsed_at(beliefs, 1.0)
    model.sooner(beliefs, elapsed, np.ones(len(elapsed)))
    model.freshness(beliefs, elapsed)


def takes_no_pages(model: ValueModel) -> None:
    none, nothing = many_pages()[0].at(slice(0)), np.empty(0)
    answers = (
        model.value(none, nothing),
        model.first_value(none),
        model.elapsed_at(none, 1.0),
        model.sooner(none, nothing, nothing),
        model.freshness(none, nothing),
    )
    assert [len(answer) for answer in answers] == [0, 0, 0, 0, 0]


def takes_pages_of_no_importance(model: ValueModel) -> None:
    beliefs = replace(many_pages()[0], importance=np.zeros(300), gain=np.zeros(300), profit=np.zeros(300))
    elapsed = np.full(300, 5.0)
    assert np.all(model.value(beliefs, elapsed) >= 0)
    assert np.all(model.first_value(beliefs) >= 0)
    assert np.all(model.elapsed_at(beliefs, 1.0) >= 0)


def the_price_of_nothing_is_reached_at_once(model: ValueModel) -> None:
    beliefs, _ = many_pages()
    assert not model.elapsed_at(beliefs, 0.0).any()


def needs_what_it_says_and_nothing_else(model: ValueModel) -> None:
    beliefs, elapsed = many_pages()
    assert model.needs <= COLUMNS
    always = {"importance", "change_rate"}
    enough = replace(beliefs, **dict.fromkeys(COLUMNS - always - model.needs))
    assert np.array_equal(model.value(enough, elapsed), model.value(beliefs, elapsed))
    assert np.array_equal(model.first_value(enough), model.first_value(beliefs))
    assert np.array_equal(model.elapsed_at(enough, 1.0), model.elapsed_at(beliefs, 1.0))
    more = np.ones(len(elapsed))
    assert np.array_equal(model.sooner(enough, elapsed, more), model.sooner(beliefs, elapsed, more))
    assert np.array_equal(model.freshness(enough, elapsed), model.freshness(beliefs, elapsed))
    # Missing if nothing is polled, and if nobody watches siblings.
    for name in model.needs - {"poll_bound", "pace"}:
        lacking = replace(beliefs, **{name: None})
        with pytest.raises(ValueError, match=name):
            (model.elapsed_at(lacking, 1.0), model.first_value(lacking))


def follows_any_page_for_any_time(model: ValueModel) -> None:
    """All corners of what the contract allows, at 25 times: finite, growing, without a warning."""
    rng = np.random.default_rng(3)
    corner = {
        "importance": [0.0, 1e-12, 1.0, 1e12],
        "change_rate": [1e-12, 1e-6, 1.0, 1e6],
        "mean_rate": [1e-12, 1e-6, 1.0, 1e6],
        "doubt": [0.0, 1e-12, 1e-3, 1.0, 2.0, 100.0],
        "recall": [0.0, 1e-300, 1e-12, 0.5, 1 - 1e-12, 1.0],
        "false_rate": [0.0, 1e-12, 1.0, 1e6],
        "signals": [0.0, 0.5, 1.0, 2.0, 100.0, 1e6],
        "plateau": [0.0, 1e-12, 0.5, 1.0],
        "stages": [1.0, 2.0, 10.0, 64.0, 1e4],
        "patience": [1.0, 100.0, np.inf],
        "gain": [0.0, 1e-12, 1e6],
        "query_weight": [1e-3, 1.0, 1e3],
        "noticed_rate": [1e-12, 1.0, 1e6],
        "decay": [1e-12, 1.0, 1e6],
        "link_rate": [0.0, 1e-12, 1.0, 1e6],
        "leaving": [0.0, 1e-12, 1.0, 1e6],
        "profit": [0.0, 1e-6, 1e6],
        "interval": [1e-6, 1.0, 1e12, np.inf],
        "is_source": [0.0, 1.0],
        "age": [0.0, 1.0, 1e12],
        "price": [0.0, 1e-9, 1.0, 1e9],
    }
    beliefs = Beliefs(**{name: rng.choice(choices, 600) for name, choices in corner.items()})
    before = np.zeros(600)
    for elapsed in [0.0, *np.logspace(-12, 12, 25)]:
        values = model.value(beliefs, np.full(600, elapsed))
        assert np.all(np.isfinite(values) & (values >= before * (1 - 1e-12)))
        before = values
    for price in (1e-30, 1e-3, 1.0, 1e9):
        assert np.all(model.elapsed_at(beliefs, price) >= 0)


@each_model
@pytest.mark.parametrize(
    "check",
    [
        looks_at_each_page_alone,
        ignores_the_order_of_pages,
        leaves_its_arguments_alone,
        takes_no_pages,
        takes_pages_of_no_importance,
        the_price_of_nothing_is_reached_at_once,
        needs_what_it_says_and_nothing_else,
        follows_any_page_for_any_time,
    ],
    ids=lambda check: check.__name__,
)
def test_value_model(model: ValueModel, check: Callable[[ValueModel], None]) -> None:
    check(model)


def test_some_pages_are_chosen_from_all_columns() -> None:
    beliefs, _ = many_pages()
    some = beliefs.at(np.array([3, 1]))

    assert len(some) == 2
    for name in COLUMNS:
        assert np.array_equal(some.need(name), beliefs.need(name)[[3, 1]], equal_nan=True)
    assert page().at([0]).recall is None
