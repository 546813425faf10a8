"""What takes long and can wait keeps no answer waiting."""

from pathlib import Path

from crawling import FOLLOW, crawl
from site_under_test import Answer, Site, html

#: Whoever assesses the copies does not come to an end before the crawl does.
SLOW = """
import threading
from scrapy_freshness.planning.planner import Planner

is_over = threading.Event()
Planner.assessment = lambda *args: lambda: is_over.wait(300) and None
"""
CLOSED = """
    def closed(self, reason):
        is_over.set()
"""


def test_long_pages_are_measured_while_the_copies_are_assessed(site: Site, tmp_path: Path) -> None:
    words = "some words on this page " * 6000
    site.pages |= {
        "/": html("/long"),
        "/long": lambda headers, count: Answer(html(text=f"{words} version {count}")),
    }

    done = crawl(tmp_path, site.url(), spider=SLOW + FOLLOW + CLOSED, until=site.seen({"/long": 4}))

    assert done.returncode == 0
    assert len(done.items_of(site.url("/long"))) >= 3
