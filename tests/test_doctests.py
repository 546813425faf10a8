"""Every example in a docstring of the package runs."""

import doctest
import importlib
import pkgutil

import pytest

import scrapy_freshness

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(scrapy_freshness.__path__, "scrapy_freshness.")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name))

    assert failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = [
        example
        for name in MODULES
        for found in finder.find(importlib.import_module(name))
        for example in found.examples
    ]

    assert len(examples) > 50
