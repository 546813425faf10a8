"""Every value model passes the same examination; a new one is examined without being registered."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scrapy_freshness.value
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.value.contract import Beliefs, ValueModel

METHODS = [name for name, _ in inspect.getmembers(ValueModel, inspect.isfunction) if not name.startswith("_")]


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
each_model = pytest.mark.parametrize("model", [kind() for kind in MODELS], ids=lambda m: type(m).__name__)

importances = st.floats(1e-12, 1e9)
rates = st.floats(1e-12, 1e6)
times = st.floats(0, 1e9)


def page(importance: float, rate: float) -> Beliefs:
    return Beliefs(np.array([importance]), np.array([rate]))


def many_pages(count: int = 500) -> tuple[Beliefs, np.ndarray]:
    rng = np.random.default_rng(11)
    beliefs = Beliefs(10 ** rng.uniform(-6, 6, count), 10 ** rng.uniform(-9, 2, count))
    return beliefs, 10 ** rng.uniform(-3, 8, count)


def at(beliefs: Beliefs, chosen: object) -> Beliefs:
    return Beliefs(beliefs.importance[chosen], beliefs.change_rate[chosen])


def test_the_models_of_all_policies_are_examined() -> None:
    assert {type(policy_named(name).model) for name in ("greedy", "uniform")} <= set(MODELS)
    assert set(METHODS) == {"value", "first_value", "elapsed_at", "freshness"}


@each_model
@given(importance=importances, rate=rates, earlier=times, later=times)
def test_the_value_is_finite_and_never_falls(
    model: ValueModel, importance: float, rate: float, earlier: float, later: float
) -> None:
    earlier, later = sorted((earlier, later))
    beliefs = page(importance, rate)
    low, high = (model.value(beliefs, np.array([elapsed]))[0] for elapsed in (earlier, later))

    assert 0 <= low <= high * (1 + 1e-12)
    assert high < np.inf


@each_model
@given(importance=importances, rate=rates, elapsed=times)
def test_a_first_copy_is_worth_at_least_as_much_as_a_new_one(
    model: ValueModel, importance: float, rate: float, elapsed: float
) -> None:
    beliefs = page(importance, rate)

    assert model.first_value(beliefs)[0] >= model.value(beliefs, np.array([elapsed]))[0]
    assert model.first_value(beliefs)[0] < np.inf


@each_model
@given(importance=importances, rate=rates, price=st.floats(1e-30, 1e12))
def test_the_value_reaches_a_price_when_it_was_said_to(
    model: ValueModel, importance: float, rate: float, price: float
) -> None:
    beliefs = page(importance, rate)
    elapsed = model.elapsed_at(beliefs, price)

    if np.isinf(elapsed[0]):
        assert model.value(beliefs, np.array([1e15 / rate]))[0] <= price
    else:
        assert model.value(beliefs, elapsed)[0] == pytest.approx(price, rel=1e-8)


@each_model
@given(importance=importances, rate=rates, price=st.floats(0, 1e12), more=st.floats(1, 10))
def test_a_higher_price_is_reached_later(
    model: ValueModel, importance: float, rate: float, price: float, more: float
) -> None:
    beliefs = page(importance, rate)
    sooner = model.elapsed_at(beliefs, price)[0]

    assert 0 <= sooner <= model.elapsed_at(beliefs, price * more)[0] * (1 + 1e-9)


@each_model
@given(rate=rates, earlier=times, later=times)
def test_freshness_falls_from_one_to_nothing(
    model: ValueModel, rate: float, earlier: float, later: float
) -> None:
    earlier, later = sorted((earlier, later))
    beliefs = page(1.0, rate)

    assert model.freshness(beliefs, np.array([0.0]))[0] == 1
    fresh = [model.freshness(beliefs, np.array([elapsed]))[0] for elapsed in (earlier, later)]
    assert 1 >= fresh[0] >= fresh[1] >= 0


def looks_at_each_page_alone(model: ValueModel) -> None:
    beliefs, elapsed = many_pages()
    together = model.value(beliefs, elapsed), model.first_value(beliefs), model.elapsed_at(beliefs, 0.01)
    for number in range(0, len(elapsed), 50):
        alone = at(beliefs, slice(number, number + 1))
        assert model.value(alone, elapsed[number : number + 1])[0] == together[0][number]
        assert model.first_value(alone)[0] == together[1][number]
        assert model.elapsed_at(alone, 0.01)[0] == together[2][number]


def ignores_the_order_of_pages(model: ValueModel) -> None:
    beliefs, elapsed = many_pages()
    order = np.random.default_rng(5).permutation(len(elapsed))
    shuffled = at(beliefs, order)

    assert np.array_equal(model.value(shuffled, elapsed[order]), model.value(beliefs, elapsed)[order])
    assert np.array_equal(model.elapsed_at(shuffled, 1.0), model.elapsed_at(beliefs, 1.0)[order])


def leaves_its_arguments_alone(model: ValueModel) -> None:
    beliefs, elapsed = many_pages()
    for column in (beliefs.importance, beliefs.change_rate, elapsed):
        column.flags.writeable = False
    model.value(beliefs, elapsed)
    model.first_value(beliefs)
    model.elapsed_at(beliefs, 1.0)
    model.freshness(beliefs, elapsed)


def takes_no_pages(model: ValueModel) -> None:
    none, nothing = Beliefs(np.empty(0), np.empty(0)), np.empty(0)
    answers = (
        model.value(none, nothing),
        model.first_value(none),
        model.elapsed_at(none, 1.0),
        model.freshness(none, nothing),
    )
    assert [len(answer) for answer in answers] == [0, 0, 0, 0]


def takes_pages_of_no_importance(model: ValueModel) -> None:
    beliefs = page(0.0, 0.1)
    assert model.value(beliefs, np.array([5.0]))[0] >= 0
    assert model.first_value(beliefs)[0] >= 0
    assert model.elapsed_at(beliefs, 1.0)[0] >= 0


def the_price_of_nothing_is_reached_at_once(model: ValueModel) -> None:
    assert model.elapsed_at(page(1.0, 0.1), 0.0)[0] == 0


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
    ],
    ids=lambda check: check.__name__,
)
def test_value_model(model: ValueModel, check: Callable[[ValueModel], None]) -> None:
    check(model)
