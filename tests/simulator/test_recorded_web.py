"""What a fetch of a recorded page sees at any time."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from recorded_histories import documents, fragments, hubs, same, webs

from scrapy_freshness.content.shingles import shingles
from scrapy_freshness.content.sketch import sketch
from scrapy_freshness.errors import TraceError
from scrapy_freshness.simulator.recorded import load_web, web_of
from scrapy_freshness.simulator.recorded_page import GONE, RecordedPage
from scrapy_freshness.simulator.trace import Kind, Link, Version
from scrapy_freshness.simulator.trace_io import write_trace

DAY = 86400.0


def page_of(*versions: tuple[float, Kind, str | None], url: str | None = None) -> RecordedPage:
    return RecordedPage.of(
        [
            Version(page="a:1", url=url, at=at, kind=kind, lines=None if text is None else (text,))
            for at, kind, text in versions
        ],
        shingle_words=2,
    )


@given(versions=documents("a:1"))
def test_a_fetch_sees_the_last_version_that_was_recorded(versions: list[Version]) -> None:
    page = RecordedPage.of(versions)
    for now in np.arange(-1, 32, 0.5).tolist():
        before = [number for number, version in enumerate(versions) if version.at <= now]
        assert page.version_at(now) == (before[-1] if before else -1)
        assert page.versions_at(np.array([now])).tolist() == [page.version_at(now)]


@given(versions=documents("a:1"))
def test_equal_texts_are_equal_contents(versions: list[Version]) -> None:
    page = RecordedPage.of(versions)
    for one, version in enumerate(versions):
        for other, another in enumerate(versions[:one]):
            if not any(each.kind is Kind.TECH for each in versions):
                assert (page.contents[one] == page.contents[other]) == (version.lines == another.lines)
    assert [content == GONE for content in page.contents] == [v.kind is Kind.GONE for v in versions]


@given(versions=documents("a:1"))
def test_divergence_is_the_exact_jaccard_distance(versions: list[Version]) -> None:
    page = RecordedPage.of([v for v in versions if v.kind is not Kind.TECH] or versions[:1], shingle_words=2)
    versions = [v for v in versions if v.kind is not Kind.TECH] or versions[:1]
    for copy, one in enumerate(versions):
        for live, other in enumerate(versions):
            a, b = fragments(one, 2), fragments(other, 2)
            expected = 1.0 - (len(a & b) / len(a | b) if a | b else 1.0)
            if Kind.GONE in (one.kind, other.kind):
                expected = float(one.kind is not other.kind)
            assert page.divergence(copy, live) == pytest.approx(expected)


@given(versions=hubs("a:1"))
def test_the_links_of_a_hub_are_kept(versions: list[Version]) -> None:
    page = RecordedPage.of(versions)
    links = page.links
    if links is None:
        return
    scores_of = np.split(links.scores, links.offsets[1:-1])
    for number, version in enumerate(versions):
        shown = [links.urls[link] for link in links.on(number)]
        scores = [None if np.isnan(score) else score for score in scores_of[number]]
        assert shown == [link.url for link in version.links or ()]
        assert scores == [link.score for link in version.links or ()]
        assert len(page.fragments(number)) == len(set(shown))
        for other in range(number):
            assert (page.contents[number] == page.contents[other]) == same(
                *(None if v.kind is Kind.GONE else v for v in (version, versions[other]))
            )
    for link, url in enumerate(links.urls):
        shown_at = [v for v in versions if url in {each.url for each in v.links or ()}]
        places = [[each.url for each in v.links or ()].index(url) + 1 for v in shown_at]
        scores_of = [each.score for v in shown_at for each in v.links or () if each.url == url]
        assert (links.first_seen[link], links.last_seen[link]) == (shown_at[0].at, shown_at[-1].at)
        assert links.best_rank[link] == min(places)
        if None not in scores_of:
            assert links.best_score[link] == max(each for each in scores_of if each is not None)


def test_a_page_that_goes_back_and_forth_has_two_contents() -> None:
    page = page_of((0, Kind.FIRST, "A"), (1, Kind.CHANGE, "B"), (2, Kind.CHANGE, "A"), (3, Kind.CHANGE, "B"))

    assert page.contents.tolist() == [0, 1, 0, 1]
    assert page.change_times.tolist() == [1, 2, 3]


def test_noise_has_other_bytes_and_the_same_content() -> None:
    page = page_of((0, Kind.FIRST, "A"), (1, Kind.NOISE, "A"))

    assert page.contents.tolist() == [0, 0]
    assert page.bodies.tolist() == [0, 1]
    assert page.change_times.tolist() == []


def test_another_reading_is_no_change() -> None:
    page = page_of(
        (0, Kind.FIRST, "one two three"),
        (1, Kind.TECH, "one two"),
        (2, Kind.CHANGE, "one two four"),
        (3, Kind.CHANGE, "one two"),
        (4, Kind.CHANGE, "one two three"),
    )

    # In the other reading the first text stands for something else.
    assert page.contents.tolist() == [0, 0, 2, 0, 4]
    assert page.bodies.tolist() == [0, 0, 1, 2, 3]
    # The copy of version 0 is compared as it would be read at version 2.
    assert page.divergence(0, 2) == page.divergence(1, 2) == pytest.approx(1 / 2)


def test_links_that_are_read_in_another_way_are_no_change() -> None:
    links = [(Link("p"),), (Link("p", "title"),), (Link("q"),)]
    kinds = [Kind.FIRST, Kind.TECH, Kind.CHANGE]
    page = RecordedPage.of(
        [
            Version(page="a:1", at=float(n), kind=kind, links=each)
            for n, (kind, each) in enumerate(zip(kinds, links, strict=True))
        ]
    )

    assert page.contents.tolist() == [0, 0, 2]


def test_a_page_that_is_gone_has_no_content() -> None:
    page = page_of((0, Kind.FIRST, "A"), (1, Kind.GONE, None), (2, Kind.FIRST, "A"))

    assert page.contents.tolist() == [0, GONE, 0]
    assert page.change_times.tolist() == [1, 2]
    assert page.fragments(1).size == 0
    assert page.divergence(0, 1) == page.divergence(1, 2) == 1.0
    assert page.contents_of(np.array([-1, 0, 1])).tolist() == [GONE, 0, GONE]


def test_fragments_and_sketches_are_those_of_the_crawl() -> None:
    text = "it rains in spain mainly on the plain " * 3
    page = page_of((0, Kind.FIRST, text))

    assert page.fragments(0).tolist() == shingles(text, 2).tolist()
    assert page.sketch(0, 4).tolist() == sketch(shingles(text, 2), 4).tolist()
    assert page.sketch(0, 4) is page.sketch(0, 4), "made once"


@pytest.mark.parametrize(
    ("url", "host"),
    [("https://WWW.x.example:8/a", "www.x.example"), (None, "a"), ("no address", "a"), ("http://[", "a")],
)
def test_a_page_has_a_host(url: str | None, host: str) -> None:
    assert page_of((0, Kind.FIRST, "A"), url=url).host == host


def test_a_page_lasts_as_long_as_the_record_of_its_source() -> None:
    versions = [
        Version(page=name, at=at, kind=Kind.FIRST, lines=("x",))
        for name, at in (("a:1", 5.0), ("a:2", 9.0), ("b:1", 7.0))
    ]
    web = web_of(versions)

    assert [page.until for page in web.pages] == [9, 9, 7]
    assert (web.start, web.end) == (5, 9)
    assert web.sources == ["a", "b"]
    assert [page.name for page in web.of_source("a").pages] == ["a:1", "a:2"]


def test_aligned_sources_begin_in_the_same_week_at_their_hour_of_the_week() -> None:
    times = {"a:1": 3 * DAY, "a:2": 80 * DAY, "b:1": 101.5 * DAY}
    versions = [
        Version(page=name, at=at + late, kind=Kind.CHANGE, lines=(str(late),))
        for name, at in times.items()
        for late in (0, DAY)
    ]
    aligned = web_of(versions).aligned()

    starts = [page.times[0] / DAY for page in aligned.pages]
    assert starts == [3, 80, 3.5]
    assert [page.until / DAY for page in aligned.pages] == [81, 81, 4.5]


def test_links_move_with_the_source_of_their_hub() -> None:
    versions = [
        Version(page=page, at=at, kind=Kind.CHANGE, links=(Link("p", born=at - DAY),) if at % 7 else ())
        for page, at in (("a:1", 0.0), ("b:1", 70 * DAY), ("b:1", 71 * DAY))
    ]
    links = web_of(versions).aligned().pages[1].links
    assert links is not None

    assert (links.first_seen.tolist(), links.last_seen.tolist()) == ([1 * DAY], [1 * DAY])
    assert links.born.tolist() == [0.0]


@given(history=webs())
def test_a_web_is_the_same_after_it_was_written_and_read(
    history: list[list[Version]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("trace") / "web.jsonl.gz"
    versions = [version for page in history for version in page]
    write_trace(path, versions)
    one, other = web_of(versions), load_web(path)

    for page, again in zip(one.pages, other.pages, strict=True):
        assert page.name == again.name
        for name in ("times", "contents", "bodies", "texts"):
            assert getattr(page, name).tolist() == getattr(again, name).tolist()


def test_a_web_without_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no page"):
        web_of([])
