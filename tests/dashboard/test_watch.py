"""What the dashboard sees is that of a moment ago."""

import numpy as np
from lively_web import NOW, SPIDER

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.config import Config
from scrapy_freshness.dashboard.watch import Watch
from scrapy_freshness.estimation.sibling_pace import SiblingPaces
from scrapy_freshness.model import Batch
from scrapy_freshness.storage.store import Store


def test_what_siblings_show_is_seen_before_all_pages_are_read_anew(lively_url: str) -> None:
    paces = SiblingPaces()
    pages, begin, end = np.arange(99), np.full(99, NOW - 8 * 3600), np.full(99, NOW - 1)
    paces.observe(np.zeros(99, np.intp), pages, begin, end, pages >= 0, np.full(99, 0.05))
    state = paces.pack(0)
    assert state is not None
    clock = ManualClock(NOW)
    with Store.open_readonly(lively_url) as store, Store.open(lively_url) as crawl:
        watch = Watch(store, Config(database_url=lively_url), clock, lambda: 0.0)
        before = watch.sight(SPIDER)
        crawl.save(SPIDER, Batch(groups={'["siblings", "static.example"]': state}))
        clock.advance(30)
        after = watch.sight(SPIDER)
        watch.close()
    host = before.census.columns["host"] == before.census.hosts.index("static.example")

    assert after.census is before.census, "nothing else has happened"
    assert np.nanmedian(after.outlook.believed("pace")[host]) > 1.5
    assert np.nanmedian(after.value[host]) > 1.2 * np.nanmedian(before.value[host])
