"""Puts the example project on the import path and runs its living site for the tests that need sockets."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLE_PROJECT = Path(__file__).resolve().parents[2] / "example_project"
sys.path.insert(0, str(EXAMPLE_PROJECT))

from living_site.parameters import WorldParameters  # noqa: E402
from living_site.running import RunningSite  # noqa: E402


@pytest.fixture(scope="session")
def example_project() -> Path:
    """Return the folder of the example project."""
    return EXAMPLE_PROJECT


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    """Run a site with one host of each character, and a few more."""
    with RunningSite(
        WorldParameters(seed=5, pages_per_host=9, slow_seconds=0.1, big_page_bytes=300_000)
    ) as running:
        yield running
