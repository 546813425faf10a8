"""What do new links cost?  Reading links off a page, and the set of all links of a host.

* Reading: all links of a front page of 100 kB with 240 links, by the package's reader, by lxml and by a
  regular expression; then their keys, and which of them are new.
* The set: a host of a million links. Bytes that a flush writes when ten links are new, time to load the set
  and to ask it, and how many of a million links that were never seen are taken for known ones.

    python benchmarks/hub_links.py [--links 1000000]
"""

import argparse
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lxml.html
import numpy as np

from scrapy_freshness.config import Config
from scrapy_freshness.model import Batch, LinkSegment
from scrapy_freshness.sources.keys import link_keys
from scrapy_freshness.sources.links import LinkReader
from scrapy_freshness.sources.seen import SeenLinks
from scrapy_freshness.storage.store import Store

_HREF = re.compile(rb"<a\s[^>]*?href\s*=\s*[\"']?([^\"'>\s]+)", re.IGNORECASE)
HOST = "news.example"


def front_page(stories: int = 200) -> bytes:
    """A page of about 100 kB."""
    items = "".join(
        f'<div class="card"><h2><a href="/news/2026/{number}/a-long-title-of-a-story.html?utm_source=home">'
        f"Title {number}</a></h2><p>{'word ' * 60}</p></div>"
        for number in range(stories)
    )
    sections = "".join(f'<a href="/section/{number}/">Section {number}</a>' for number in range(40))
    script = f"<script>{'var x = 1;' * 1500}</script>"
    return f"<html><head>{script}</head><body><nav>{sections}</nav>{items}</body></html>".encode()


def milliseconds(work: Callable[[], object], repeat: int = 20) -> float:
    """The shortest of some times."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def reading() -> None:
    config, page, url = Config(), front_page(), "https://news.example/"
    reader = LinkReader(config.boilerplate_css)
    links = [link.url for link in reader.read(page, url)]
    seen = SeenLinks()
    seen.add(link_keys(links, config.link_rules).tolist())
    keys = link_keys(links, config.link_rules)
    ways = {
        "the package's reader": lambda: reader.read(page, url),
        "lxml, hrefs only": lambda: [each.get("href") for each in lxml.html.fromstring(page).iter("a")],
        "a regular expression, hrefs only": lambda: _HREF.findall(page),
        "their keys": lambda: link_keys(links, config.link_rules),
        "which are new": lambda: seen.unseen(keys),
    }
    print(f"page of {len(page) / 1000:.0f} kB with {len(links)} links")
    for name, work in ways.items():
        print(f"  {name}: {milliseconds(work):.2f} ms")


def remembering(count: int) -> None:
    seen = SeenLinks()
    start = time.perf_counter()
    keys = link_keys((f"https://{HOST}/story/{number}" for number in range(count)), ())
    print(f"{count:,} links: keys in {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    for part in np.array_split(keys, max(count // 100, 1)):
        seen.add(part.tolist())
    print(f"  added, a hundred at a time, in {time.perf_counter() - start:.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "freshness.db"
        with Store.open(f"sqlite:///{path}") as store:
            store.save("news", Batch(seen_links=_segments(seen)))
            flushes = []
            for _ in range(100):
                seen.add(np.random.default_rng(len(flushes)).integers(0, 2**63, 10).tolist())
                segments = _segments(seen)
                flushes.append(sum(len(segment.packed) for segment in segments))
                store.save("news", Batch(seen_links=segments))
            print(f"  a flush with 10 new links writes {np.mean(flushes):.0f} bytes, {max(flushes)} at most")
            start = time.perf_counter()
            again = SeenLinks(store.load_links("news", HOST))
            print(f"  loaded in {1000 * (time.perf_counter() - start):.0f} ms")
        print(f"  {path.stat().st_size / len(again):.1f} bytes a link in SQLite")
    unknown = link_keys((f"https://{HOST}/never/{number}" for number in range(count)), ())
    start = time.perf_counter()
    mistaken = int(np.count_nonzero(~again.unseen(unknown)))
    seconds = time.perf_counter() - start
    print(f"  of {count:,} links never seen {mistaken} are taken for known ones")
    print(f"  asked in {1e6 * seconds / count:.2f} us each")
    missed = int(np.count_nonzero(again.unseen(keys)))
    print(f"  of {count:,} known links {missed} are taken for new ones")


def _segments(seen: SeenLinks) -> list[LinkSegment]:
    return [LinkSegment(host=HOST, number=number, packed=packed) for number, packed in seen.take_changed()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=int, default=1_000_000)
    options = parser.parse_args()
    reading()
    remembering(options.links)


if __name__ == "__main__":
    main()
