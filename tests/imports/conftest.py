"""One database is enough where the other cannot differ."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from scrapy_freshness.storage.store import Store


@pytest.fixture
def sqlite_store(sqlite_url: str) -> Iterator[Store]:
    """An open, empty store."""
    with Store.open(sqlite_url) as opened:
        yield opened
