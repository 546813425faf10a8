"""A database in which the hubs of the press are known, as after a click log that is long enough.

What a crawl has to find out is how many stories each hub brings, and how fast they leave it. It is told that
nobody needs a story twice.
"""

from subprocess import run
from sys import executable
from tempfile import NamedTemporaryFile

from scrapy import Request
from scrapy.utils.request import fingerprint

from press.world import PressWorld
from scrapy_freshness.model import Batch, PageKind, PageRecord
from scrapy_freshness.storage.store import Store


def write_known_hubs(world: PressWorld, database_url: str, spider: str, now: float) -> None:
    """Write all hubs, never polled, with their true profits and decays."""
    graph = world.graph
    usual_rate = float(graph.link_rate.mean())
    pages = [
        PageRecord(
            page_id=number + 1,
            fingerprint=int.from_bytes(fingerprint(Request(url))[:8], "big", signed=True),
            url=url,
            host=url.split("/")[2].partition(":")[0],
            kind=PageKind.SOURCE,
            importance=0.0,  # they are read for their links only
            discovered_at=now,
            beliefs={
                "link_rate": usual_rate,
                "profit": float(graph.profit[number]),
                "decay": float(graph.decay[number]),
            },
        )
        for number, url in enumerate(world.hubs)
    ]
    with Store.open(database_url) as store:
        store.save(spider, Batch(pages=pages))
    with NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("url,importance\n")
        file.writelines(f"{host.site_url}/story/*,1e-9\n" for host in world.newspapers)
        file.flush()
        command = ["freshness", "import", "importance", file.name, "--database", database_url]
        run([executable, "-m", "scrapy", *command], check=True, capture_output=True)
