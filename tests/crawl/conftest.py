"""Crawl tests drive real Scrapy, in processes of their own, against a real local web server."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[2] / "example_project"))

from site_under_test import Site


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(hosts=3) as running:
        yield running
