"""What a crawl spent is counted once, if somebody has counted it already."""

import pytest

from scrapy_freshness.insight.spending import spending
from scrapy_freshness.model import Batch
from scrapy_freshness.storage.reports import Activity
from scrapy_freshness.storage.store import Store

NOW = 1_800_000_030.0


@pytest.mark.parametrize(("started_at", "fetches"), [(NOW - 7200, 8), (None, 8), (NOW - 600, 5)])
def test_what_is_given_is_that_of_the_whole_span(
    sqlite_url: str, started_at: float | None, fetches: int
) -> None:
    with Store.open(sqlite_url) as store:
        store.save("news", Batch(fetches={(int(NOW // 60) - 1, "page"): 5}))
        spent = spending(
            store,
            "news",
            budget_per_second=1.0,
            started_at=started_at,
            now=NOW,
            activity=Activity(visits={}, fetches={"page": 6, "robots": 2}),
        )

    assert spent.fetches == fetches
