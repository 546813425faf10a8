"""A database with pages that are clicked: two hosts, two spiders, a hub with new pages."""

from pathlib import Path

import numpy as np
from scrapy import Request
from scrapy.utils.request import fingerprint

from scrapy_freshness.model import Batch, PageKind, PageRecord
from scrapy_freshness.storage.store import Store

WEEK = 604_800.0
START = 2967 * WEEK  #: a Thursday in November 2026
HUB = 1


def number_of(url: str) -> int:
    return int.from_bytes(fingerprint(Request(url))[:8], "big", signed=True)


def page(page_id: int, url: str, **fields: object) -> PageRecord:
    host = url.split("/")[2]
    return PageRecord(page_id=page_id, fingerprint=number_of(url), url=url, host=host, **fields)  # type: ignore[arg-type]


def fill(store: Store, n_new: int = 0, kind: PageKind = PageKind.SOURCE) -> None:
    """A hub, three old pages of which two spiders know one, and new pages, found on the hub hour by hour."""
    store.save(
        "news",
        Batch(
            pages=[
                page(HUB, "https://a.example/hub", kind=kind),
                page(2, "https://a.example/old"),
                page(3, "https://a.example/quiet"),
                page(4, "https://b.example/unlogged"),
                *(
                    page(10 + n, f"https://a.example/new/{n}", found_on=HUB, discovered_at=START + 3600.0 * n)
                    for n in range(n_new)
                ),
            ]
        ),
    )
    store.save("shop", Batch(pages=[page(store.next_page_id("shop"), "https://a.example/old")]))


def click_table(path: Path, rows: list[tuple[str, float, float]]) -> Path:
    """A file of clicks: address, time, count."""
    lines = [f"{url},{time!r},{count!r}\n" for url, time, count in rows]
    path.write_text("url,time,count\n" + "".join(lines))
    return path


def drawn_clicks(
    rng: np.random.Generator, n_new: int, profit: float, life: float
) -> list[tuple[str, float, float]]:
    """Clicks on new pages: so many each on average, at ages that are exponentially distributed."""
    rows = []
    for n in range(n_new):
        ages = rng.exponential(life, rng.poisson(profit))
        rows += [(f"https://a.example/new/{n}", START + 3600.0 * n + age, 1.0) for age in ages.tolist()]
    return sorted(rows, key=lambda row: row[1])
