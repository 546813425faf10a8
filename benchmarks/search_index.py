"""The index of what searchers ask for: what measuring gains costs, and how large it gets.

Part 1: pages are indexed (HTML to text, shingles and sketch, terms, postings), with and without measuring the
gain of each refresh, in turns. Gains are measured in batches, as in section 5.2 of the user-centric paper;
one by one is told as well. Bar: measuring takes at most 8 % of the time of indexing (the paper's figure).

Part 2: an index of 100,000 terms is filled with 1,000,000 pages; memory, time of an update and of renewing
all maps. Bars: at most 8 bytes a posting; an update takes at most twice as long as in an index of a hundredth
of the pages.

    python benchmarks/search_index.py [--pages 1000000]
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from shingling import page_versions

from scrapy_freshness.content.measure import ContentOptions, measure_html
from scrapy_freshness.content.shingles import words
from scrapy_freshness.search.index import SearchIndex
from scrapy_freshness.search.postings import Change
from scrapy_freshness.search.scoring import SCORINGS, Scoring, TfIdf
from scrapy_freshness.search.workload import PageTerms, Workload

N_TERMS = 100_000
MOST_SHARE = 0.08
MOST_BYTES = 8.0
MOST_SLOWER = 2.0
BATCH = 32
REPETITIONS = 25
OPTIONS = ContentOptions()


class Site:
    """Versions of a page, a workload that asks for half of its words, and an index with other pages."""

    def __init__(self, rng: np.random.Generator, n_words: int, length: int, scoring: Scoring) -> None:
        forth = page_versions(rng, n_words, length)
        self.versions = [*forth, *forth[-2:0:-1]]  # there and back, always a tenth of the page
        texts = [measure_html(version, options=OPTIONS).passages[0].text for version in forth]
        vocabulary = sorted({word for text in texts for word in words(text)})
        asked = [word for word in vocabulary if rng.random() < 0.5]
        others = {f"other{number}": 1.0 for number in range(N_TERMS - len(asked))}
        self.workload = Workload.of(dict.fromkeys(asked, 1.0) | others)
        self.index = SearchIndex(self.workload.frequency, scoring)
        numbers = np.array([self.workload.number(word) for word in asked])
        for page in range(1, 20_001):
            self.index.refresh(page, drawn_page(rng, numbers, 100))
        self.index.set_links(np.floor(rng.pareto(1.1, 20_001)))
        self.index.refit()

    def indexed(self, number: int) -> Change:
        """Index the next version of the page."""
        measured = measure_html(self.versions[number % len(self.versions)], options=OPTIONS)
        assert len(measured.sketch)
        terms = self.workload.terms_in(measured.passages[0].text)
        return self.index.refresh(0, terms)


def drawn_page(rng: np.random.Generator, numbers: NDArray[np.int64], count: int) -> PageTerms:
    """A page with so many terms, of which the first are the more frequent."""
    places = (len(numbers) ** rng.random(count)).astype(int) - 1
    terms, tf = np.unique(numbers[places], return_counts=True)
    return PageTerms(terms.astype(np.int32), tf.astype(np.uint16), 2 * count)


def part_1(console: Console) -> bool:
    rng = np.random.default_rng(2026)
    table = Table(
        "page", "score", "terms changed", "indexing, us", "measuring, us", "share", "one by one", ""
    )
    table.title = f"CPU time per page, medians of {REPETITIONS}; gains in batches of {BATCH}"
    passed = True
    for n_words, length in (500, 10_000), (3000, 60_000):
        for name, scoring in SCORINGS.items():
            site = Site(rng, n_words, length, scoring)
            changes = [site.indexed(number) for number in range(2 * BATCH)][BATCH:]
            works = (
                partial(each, site.indexed, range(BATCH)),
                partial(site.index.gains, changes),
                partial(each, site.index.gain, changes),
            )
            rounds = [[micros(work) for work in works] for _ in range(REPETITIONS)]
            indexing, measuring, one_by_one = (median(column) for column in zip(*rounds, strict=True))
            fine = measuring <= MOST_SHARE * indexing
            passed &= fine
            table.add_row(
                f"{n_words} words, {len(site.versions[0]) / 1000:.0f} KB",
                name,
                f"{median(len(change.terms) for change in changes):.0f}",
                f"{indexing:.0f}",
                f"{measuring:.1f}",
                f"{measuring / indexing:.1%}",
                f"{one_by_one / indexing:.0%}",
                verdict(fine),
            )
    console.print(table)
    return passed


def each(work: Callable[[Any], object], items: Iterable[Any]) -> None:
    for item in items:
        work(item)


def micros(work: Callable[[], object]) -> float:
    """CPU time of a page of the batch."""
    begin = time.process_time()
    work()
    return (time.process_time() - begin) / BATCH * 1e6


def part_2(console: Console, pages: int) -> bool:
    rng = np.random.default_rng(7)
    numbers = rng.permutation(N_TERMS)
    drawn = [drawn_page(rng, numbers, 300) for _ in range(2000)]
    table = Table("pages", "postings", "memory", "bytes a posting", "update, us", "all maps renewed, s")
    table.title = f"An index of {N_TERMS:,} terms (CPU times)"
    found = []
    for count in (pages // 100, pages):
        index = SearchIndex(np.ones(N_TERMS), TfIdf())
        for page in track(range(count), f"Filling {count:,} pages", console=console):
            index.refresh(page, drawn[page % len(drawn)])
        begin = time.process_time()
        index.refit()
        refit = time.process_time() - begin
        updated = rng.integers(count, size=20_000).tolist()
        begin = time.process_time()
        for page in updated:
            index.refresh(page, drawn[(page * 7 + 1) % len(drawn)])
        update = (time.process_time() - begin) / len(updated) * 1e6
        postings = index.postings
        found.append((postings.bytes / postings.size, update))
        table.add_row(
            f"{count:,}",
            f"{postings.size:,}",
            f"{postings.bytes / 1e6:,.0f} MB",
            f"{postings.bytes / postings.size:.2f}",
            f"{update:.0f}",
            f"{refit:.1f}",
        )
    console.print(table)
    (_, first), (size, last) = found
    fine = size <= MOST_BYTES and last <= MOST_SLOWER * first
    console.print(f"Bars: {MOST_BYTES:.0f} bytes a posting, {MOST_SLOWER:.0f} times: {verdict(fine)}")
    return fine


def verdict(passed: bool) -> str:
    return "PASS" if passed else "FAIL"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=1_000_000)
    options = parser.parse_args()
    console = Console(width=120)
    results = [part_1(console), part_2(console, options.pages)]
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
