"""The index of what searchers ask for: what measuring gains costs, and how large it gets.

Part 1: pages go through the pipeline of a crawl in batches, as its planner learns from them: HTML to text,
shingles and sketch, comparison with the copy, terms, the page's record, beliefs, and the rows in SQLite; with
and without measuring the gain of each visit, in turns. What Scrapy does is not among it. A tenth of a page
changes each time, and searchers ask for half of its words. Bar: measuring takes at most 8 % of the time of
the pipeline without it (the paper: 7 to 8 % of indexing). Told as well: its share of reading alone (text,
sketch, terms).

Part 2: 100,000 terms, pages in SQLite, with TF-IDF and, with 30 links on each page, with in-links; memory of
what a crawl keeps, size of what is kept with a page, time and memory of fitting all maps and counting links,
time of the pipeline for a page, and of a search. Bars: a crawl keeps at most 500 bytes a term, whatever the
number of pages, and with in-links 12 bytes a page; fitting takes at most 600 MB; a page takes at most twice
as long as among a hundredth of the pages.

    python benchmarks/search_index.py [--pages 1000000] [--part 1] [--scoring in-links]
"""

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from shingling import page_versions
from twisted.internet.defer import Deferred

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.commands.answers import search
from scrapy_freshness.content.measure import ContentOptions, hash_bytes, measure_html
from scrapy_freshness.content.shingles import words
from scrapy_freshness.crawl.fitting import Fit, fit
from scrapy_freshness.crawl.searchers import Index, Searchers
from scrapy_freshness.crawl.visiting import PageVisit
from scrapy_freshness.model import Batch, Outcome, PageRecord, QueryTerms
from scrapy_freshness.planning.after_visit import updated_record
from scrapy_freshness.planning.comparing import compared
from scrapy_freshness.planning.learners import learner_for
from scrapy_freshness.planning.learning import note_beliefs
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.planning.visits import Report, Upkeep, Visit, visit_record
from scrapy_freshness.search.asked import AskedTerms
from scrapy_freshness.search.index import SearchIndex
from scrapy_freshness.search.links import InLinks, pack_links
from scrapy_freshness.search.scoring import SCORINGS, Scoring
from scrapy_freshness.search.workload import PageTerms
from scrapy_freshness.storage.store import Store

N_TERMS = 100_000
MOST_SHARE = 0.08
LINKS_ON_PAGE = 30
MOST_BYTES_PER_TERM = 500
MOST_BYTES_PER_PAGE = 12  #: with in-links
MOST_FITTING_BYTES = 600e6
MOST_SLOWER = 2.0
FINGERPRINT_STEP = 7919
BATCH = 128
REPETITIONS = 15
OPTIONS = ContentOptions()
UPKEEP = Upkeep()
DAY = 86400.0


def drawn_page(rng: np.random.Generator, numbers: NDArray[np.int64], count: int) -> PageTerms:
    """A page with so many terms, of which the first are the more frequent."""
    places = (len(numbers) ** rng.random(count)).astype(int) - 1
    terms, tf = np.unique(numbers[places], return_counts=True)
    return PageTerms(terms.astype(np.int32), tf.astype(np.uint16), 2 * count)


def asked_for(terms: Sequence[str]) -> AskedTerms:
    ids = np.random.default_rng(1).permutation(len(terms)) + 1
    order = ids.argsort()
    names = [terms[place] for place in order.tolist()]
    return AskedTerms.of(QueryTerms(term_id=np.sort(ids), terms=names, frequency=np.ones(len(terms))))


class Pipeline:
    """What a crawl does with the pages that it has fetched."""

    def __init__(self, store: Store, index: Index, scoring: Scoring) -> None:
        self._store = store
        self._learner = learner_for(policy_named("user-centric"), measures_gains=True)
        crawler: Any = SimpleNamespace(
            stats=SimpleNamespace(inc_value=lambda name: None), spidercls=SimpleNamespace(name="bench")
        )
        never: Any = lambda work: Deferred()  # noqa: E731  nothing is fitted meanwhile
        self._searchers = Searchers(crawler, ManualClock(), SimpleNamespace(), scoring, in_background=never)  # type: ignore[arg-type]
        self._index = index

    def measure(self, is_on: bool) -> None:
        """Whether gains are measured from now on."""
        meter = self._index.meter if is_on else None
        self._searchers._index = Index(self._index.asked, meter, self._index.links, self._index.pages)

    def reading(self, html: str) -> None:
        """Read one page."""
        measured = measure_html(html, options=OPTIONS)
        _ = measured.sketch
        self._searchers.read(measured)

    def run(self, records: Sequence[PageRecord], pages: Sequence[str], now: float) -> list[PageRecord]:
        """Take in a batch of pages."""
        after, visits = [], []
        for record, html in zip(records, pages, strict=True):
            body_hash = hash_bytes(html.encode())
            measured = measure_html(html, options=OPTIONS)
            _, moved_by = compared(record, measured, min_divergence=0.0, size=64)
            report = Report(
                outcome=Outcome.FIRST if record.last_visit_at is None else Outcome.CHANGED,
                at=now,
                http_status=200,
                measurement=measured,
                body_hash=body_hash,
                divergence=moved_by,
                body_bytes=len(html),
            )
            visit = PageVisit(Visit(row=0, record=record, opened_at=now, value=0.0), slot=record.host)
            visit.terms, visit.output_ended = self._searchers.read(measured), True
            self._searchers.measure(visit, report)
            after.append(updated_record(record, report, UPKEEP))
            visits.append(visit_record(record, report))
        self._searchers.settle(after)
        note_beliefs(after, self._learner.learn(after))
        self._store.save("bench", Batch(pages=after, visits=visits))
        return after


def page_record(number: int) -> PageRecord:
    return PageRecord(
        page_id=number,
        fingerprint=number * FINGERPRINT_STEP,
        url=f"https://www.example.com/articles/{number}",
        host="www.example.com",
    )


def small_index(rng: np.random.Generator, asked: AskedTerms, numbers: Any, scoring: Scoring) -> Index:
    """An index of other pages."""
    index = SearchIndex(asked.workload.frequency, scoring)
    for page in range(20_000):
        index.refresh(page, drawn_page(rng, numbers, 100))
    links = InLinks(np.arange(1, BATCH + 1) * FINGERPRINT_STEP)
    index.set_links(np.floor(rng.pareto(1.1, 20_000)))
    index.refit()
    return Index(asked, index.meter, links if scoring.uses_links else None, 20_000)


def cpu_micros(work: Any) -> tuple[Any, float]:
    gc.collect()
    begin = time.process_time()
    done = work()
    return done, (time.process_time() - begin) * 1e6


def part_1(console: Console) -> bool:
    rng = np.random.default_rng(2026)
    table = Table("page", "score", "terms", "pipeline, us", "with gains, us", "share", "of reading", "")
    table.title = f"CPU time per page, medians of {REPETITIONS} batches of {BATCH}"
    passed = True
    for n_words, length in (500, 10_000), (3000, 60_000):
        forth = page_versions(rng, n_words, length)
        versions = [*forth, *forth[-2:0:-1]]  # there and back, always a tenth of the page
        texts = [measure_html(version, options=OPTIONS).passages[0].text for version in forth]
        vocabulary = sorted({word for text in texts for word in words(text)})
        wanted = [word for word in vocabulary if rng.random() < 0.5]
        asked = asked_for([*wanted, *(f"other{number}" for number in range(N_TERMS - len(wanted)))])
        numbers = np.array([asked.workload.number(word) for word in wanted])
        for name, scoring in SCORINGS.items():
            index = small_index(rng, asked, numbers, scoring)
            with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/bench.db") as store:
                pipeline = Pipeline(store, index, scoring)
                plain, measured, reading = timed(pipeline, versions)
            on_page = len(asked.workload.terms_in(texts[0]).terms)
            share = (measured - plain) / plain
            passed &= share <= MOST_SHARE
            table.add_row(
                f"{n_words} words, {len(versions[0]) / 1000:.0f} KB",
                name,
                f"{on_page}",
                f"{plain:.0f}",
                f"{measured:.0f}",
                f"{share:.1%}",
                f"{(measured - plain) / reading:.1%}",
                verdict(share <= MOST_SHARE),
            )
    console.print(table)
    return passed


def timed(pipeline: Pipeline, versions: Sequence[str]) -> tuple[float, float, float]:
    """Time of a page without and with measuring, in turns, and of reading it."""
    records = [page_record(number) for number in range(1, BATCH + 1)]
    times: dict[bool, list[float]] = {False: [], True: []}
    reading = []
    for round_ in range(2 * REPETITIONS + 6):
        # The same version may not be at the same place in both turns' rounds: each has all of them.
        pages = [versions[(number + round_) % len(versions)] for number in range(BATCH)]
        is_on = round_ % 2 == 1
        pipeline.measure(is_on)
        now = (round_ + 1) * DAY
        records, micros = cpu_micros(lambda p=pages, r=records, n=now: pipeline.run(r, p, n))
        if round_ >= 6:  # before that there is nothing to compare with, and caches are cold
            times[is_on].append(micros / BATCH)
            _, micros = cpu_micros(lambda p=pages: [pipeline.reading(html) for html in p])
            reading.append(micros / BATCH)
    return median(times[False]), median(times[True]), median(reading)


def filled(store: Store, asked: AskedTerms, n_pages: int, scoring: Scoring, console: Console) -> int:
    """Fill a database; returns bytes that are kept of the pages for searchers."""
    rng = np.random.default_rng(7)
    numbers = rng.permutation(len(asked))
    kept = [asked.kept(drawn_page(rng, numbers, 220)) for _ in range(5000)]
    n_bytes = 0
    for start in track(range(0, n_pages, 5000), f"Filling {n_pages:,} pages", console=console):
        pages = []
        for number in range(start + 1, min(start + 5000, n_pages) + 1):
            record = page_record(number)
            record.terms = kept[number % len(kept)]
            if scoring.uses_links:
                linked = rng.integers(1, n_pages + 1, LINKS_ON_PAGE) * FINGERPRINT_STEP
                record.links = pack_links(linked.tolist(), record.fingerprint)
            n_bytes += len(record.terms) + len(record.links)
            pages.append(record)
        store.save("bench", Batch(pages=pages))
    return n_bytes


class Found(NamedTuple):
    """What an index of some pages takes."""

    bytes_per_page: float  #: in the database
    in_memory: int
    links_in_memory: int  #: among it
    fitting_seconds: float
    fitting_bytes: int
    update_micros: float
    search_seconds: float


def part_2(console: Console, n_pages: int, scorings: Sequence[Scoring]) -> bool:
    names = (
        "score",
        "pages",
        "kept with a page",
        "a crawl keeps",
        "fitting, s",
        "fitting, MB",
        "a page, us",
        "search, s",
    )
    table = Table(*names)
    table.title = f"An index of {N_TERMS:,} terms (CPU times)"
    fine = True
    for scoring in scorings:
        first_micros = None
        for count in (max(n_pages // 100, 1000), n_pages):
            found = in_process(index_of, count, scoring)
            table.add_row(
                scoring.name,
                f"{count:,}",
                f"{found.bytes_per_page:,.0f} bytes",
                f"{found.in_memory / 1e6:.0f} MB",
                f"{found.fitting_seconds:.1f}",
                f"{found.fitting_bytes / 1e6:,.0f}",
                f"{found.update_micros:.0f}",
                f"{found.search_seconds:.1f}",
            )
            first_micros = first_micros or found.update_micros
            fine &= found.in_memory - found.links_in_memory <= MOST_BYTES_PER_TERM * N_TERMS
            fine &= found.links_in_memory <= MOST_BYTES_PER_PAGE * count
            fine &= found.fitting_bytes <= MOST_FITTING_BYTES
            fine &= found.update_micros <= MOST_SLOWER * first_micros
    console.print(table)
    console.print(
        f"Bars: {MOST_BYTES_PER_TERM} bytes a term, {MOST_BYTES_PER_PAGE} bytes a page with in-links, "
        f"{MOST_FITTING_BYTES / 1e6:.0f} MB, {MOST_SLOWER:.0f} times: {verdict(fine)}"
    )
    return fine


def in_process(work: Callable[..., Found], *arguments: object) -> Found:
    """Do it in a process of its own: what was in memory before says nothing about its peak."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def index_of(count: int, scoring: Scoring) -> Found:
    asked = asked_for([f"word{number}" for number in range(N_TERMS)])
    versions = page_versions(np.random.default_rng(2026), 500, 10_000)
    with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/bench.db") as store:
        n_bytes = filled(store, asked, count, scoring, Console(width=120))
        before = peak_bytes()
        done, micros = cpu_micros(lambda: fit(store, "bench", asked, scoring))
        more = peak_bytes() - before
        assert isinstance(done, Fit)
        index = Index(asked, done.meter(asked, scoring), done.links, done.pages)
        pipeline = Pipeline(store, index, scoring)
        pipeline.measure(True)
        update = median(updates(pipeline, versions, count))
        ids = asked.term_id[np.argsort(-done.maps.results)[[5, 50]]]
        _, searching = cpu_micros(
            lambda: search(store, None, ids, scoring, limit=10, advance=lambda pages: None)
        )
    in_links = size_of(index) - size_of(replace(index, links=None))
    return Found(n_bytes / count, size_of(index), in_links, micros / 1e6, more, update, searching / 1e6)


def updates(pipeline: Pipeline, versions: Sequence[str], n_pages: int) -> Iterator[float]:
    """Time of a page, in batches of pages from all over the database."""
    rng = np.random.default_rng(3)
    for round_ in range(8):
        numbers = rng.choice(n_pages, BATCH, replace=False) + 1
        records = [page_record(int(number)) for number in numbers]
        for again in range(2):
            pages = [versions[(round_ + again + number) % len(versions)] for number in range(BATCH)]
            now = (2 * round_ + again + 1) * DAY
            records, micros = cpu_micros(lambda r=records, p=pages, n=now: pipeline.run(r, p, n))
        yield micros / BATCH


def peak_bytes() -> int:
    """Of this process alone: what `getrusage` tells is inherited from who started it."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return int(line.split()[1]) * 1024


def size_of(index: Index) -> int:
    """Bytes of all arrays and texts that an index holds."""
    seen: set[int] = set()

    def size(value: Any) -> int:
        if id(value) in seen:
            return 0
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            return value.nbytes
        if isinstance(value, str):
            return sys.getsizeof(value)
        if isinstance(value, tuple):
            return sum(map(size, value)) + sys.getsizeof(value)
        slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        names = [*slots, *getattr(value, "__dict__", ())]
        ours = type(value).__module__.startswith("scrapy_freshness")
        return sum(size(getattr(value, name)) for name in names) if ours else 0

    return size(index)


def verdict(passed: bool) -> str:
    return "PASS" if passed else "FAIL"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--part", type=int, choices=(1, 2), help="one part only")
    parser.add_argument("--scoring", choices=SCORINGS, help="part 2 with one scoring only")
    options = parser.parse_args()
    console = Console(width=120)
    scorings = [SCORINGS[options.scoring]] if options.scoring else list(SCORINGS.values())
    parts = {1: lambda: part_1(console), 2: lambda: part_2(console, options.pages, scorings)}
    results = [work() for number, work in parts.items() if options.part in (None, number)]
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
