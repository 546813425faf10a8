"""Trace files: what is written is read back, in every form that the format knows."""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from recorded_histories import documents, hubs

from scrapy_freshness.errors import TraceError
from scrapy_freshness.simulator.trace import Kind, Link, Version
from scrapy_freshness.simulator.trace_encode import line_edits, trace_lines
from scrapy_freshness.simulator.trace_io import read_trace, write_trace

texts = st.lists(st.text(st.characters(exclude_characters="\n"), max_size=3), min_size=1, max_size=8)
some_text = texts.map(tuple)
numbers = st.one_of(st.none(), st.floats(-1e9, 1e9), st.integers(-(10**6), 10**6).map(float))
some_links = st.lists(
    st.builds(Link, st.text(max_size=2), st.one_of(st.none(), st.text(max_size=2)), numbers, numbers),
    max_size=5,
).map(tuple)


@st.composite
def any_page(draw: st.DrawFn, name: str) -> list[Version]:
    """A page with any text or links at all."""
    is_hub = draw(st.booleans())
    times = sorted(draw(st.lists(st.floats(0, 1e10), min_size=1, max_size=6)))
    versions: list[Version] = []
    for at in times:
        before = versions[-1] if versions else None
        can_rest = before is not None and before.kind is not Kind.GONE
        kind = draw(st.sampled_from([*Kind] if can_rest else [Kind.FIRST, Kind.CHANGE]))
        lines = draw(some_text) if not is_hub else None
        links = draw(some_links) if is_hub else None
        if kind is Kind.GONE:
            lines = links = None
        elif kind is Kind.NOISE and before is not None:
            lines, links = before.lines, before.links
        url = draw(st.one_of(st.none(), st.text(max_size=5)))
        carry = draw(st.booleans())
        versions.append(Version(page=name, url=url, at=at, kind=kind, lines=lines, links=links, carry=carry))
    return versions


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traces")


def rows(versions: list[Version]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in trace_lines(versions)]


def document(*texts: str) -> list[Version]:
    """A page that has one text after the other."""
    return [
        Version(page="a:1", at=float(at), kind=Kind.CHANGE, lines=tuple(text.split("\n")))
        for at, text in enumerate(texts)
    ]


@given(one=any_page("a:1"), other=any_page("b:1"), suffix=st.sampled_from(["", ".gz"]))
def test_what_is_written_is_read_back(
    folder: Path, one: list[Version], other: list[Version], suffix: str
) -> None:
    path = folder / f"any.jsonl{suffix}"

    assert write_trace(path, one + other) == len(one + other)
    assert list(read_trace(path)) == one + other


@given(versions=st.one_of(documents("a:1"), hubs("a:1")))
def test_plausible_histories_survive(folder: Path, versions: list[Version]) -> None:
    write_trace(folder / "plausible.jsonl", versions)

    assert list(read_trace(folder / "plausible.jsonl")) == versions


@given(before=some_text, after=some_text)
def test_edits_make_one_text_of_another(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    lines = list(before)
    for index, removed, added in reversed(line_edits(before, after)):
        lines[index : index + removed] = added

    assert tuple(lines) == after


def test_edits_of_huge_texts_take_no_time() -> None:
    before = tuple(str(number) for number in range(20_000))
    after = before[::-1]

    assert line_edits(before, after) == [[0, 20_000, list(after)]]


def test_a_small_change_of_a_long_text_is_a_small_difference() -> None:
    lines = [f"this is line {number}" for number in range(50)]
    before, after = "\n".join(lines), "\n".join([*lines[:20], "that is line 20", *lines[21:]])
    written = rows(document(before, after, before))

    assert written[1]["delta"] == [[20, 1, ["that is line 20"]]]
    assert written[2]["same"] == 0
    assert "text" not in written[1]


def test_a_title_that_is_edited_is_added_again() -> None:
    links = [(Link("p", "one", 1), Link("q", "two", 2)), (Link("q", "2", 3), Link("p", "one", 1))]
    versions = [
        Version(page="a:1", at=float(at), kind=Kind.CHANGE, links=each) for at, each in enumerate(links)
    ]
    written = rows(versions)

    assert written[0]["add"] == {"0": ["p", "one"], "1": ["q", "two"]}
    assert written[1]["add"] == {"2": ["q", "2"]}
    assert written[1]["rank"] == [2, 0]
    assert written[1]["score"] == [3, 1]


def test_times_and_scores_are_whole_numbers_where_they_can_be() -> None:
    version = Version(page="a:1", at=5.0, kind=Kind.FIRST, links=(Link("p", None, 7.0, 1.5),))

    assert list(trace_lines([version])) == [
        '{"page":"a:1","url":null,"t":5,"kind":"first","add":{"0":["p",null,1.5]},"rank":[0],"score":[7]}\n'
    ]


def test_every_form_of_the_format_is_read(tmp_path: Path) -> None:
    """Rows as other programs may write them."""
    path = tmp_path / "forms.jsonl"
    forms = [
        {"page": "a:1", "url": "http://x/", "t": 1, "kind": "first", "carry": True, "text": "one\ntwo"},
        {"page": "a:1", "t": 2, "kind": "change", "delta": [[0, 1, []], [2, 0, ["three", "four"]]]},
        {"page": "a:1", "t": 3, "kind": "noise"},
        {"page": "a:1", "t": 4, "kind": "tech", "same": 0},
        {"page": "a:1", "t": 5, "kind": "gone"},
        {"page": "a:1", "url": "http://y/", "t": 6, "kind": "first", "same": 1, "comment": "passed over"},
        {"page": "a:1", "t": 7, "kind": "noise", "text": "two\nthree\nfour"},
        {
            "page": "b:1",
            "t": 1,
            "kind": "first",
            "add": {"4": ["p", "P", 9], "5": ["q", "Q"]},
            "rank": [5, 4],
        },
        {"page": "b:1", "t": 2, "kind": "change", "add": {"5": ["q", "q"]}, "rank": [5], "score": [2]},
        {"page": "b:1", "t": 2.5, "kind": "change", "links": [["r", "R", None, 3], ["p"]]},
        {"page": "b:1", "t": 2.5, "kind": "noise"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in forms))
    versions = list(read_trace(path))

    texts = ["one\ntwo", "two\nthree\nfour", "two\nthree\nfour", "one\ntwo", None] + ["two\nthree\nfour"] * 2
    assert [version.text for version in versions[:7]] == texts
    assert [version.url for version in versions] == ["http://x/"] * 5 + ["http://y/"] * 2 + [None] * 4
    assert [version.carry for version in versions] == [True] + [False] * 10
    assert [version.at for version in versions] == [1, 2, 3, 4, 5, 6, 7, 1, 2, 2.5, 2.5]
    assert [version.links for version in versions[7:]] == [
        (Link("q", "Q", None, None), Link("p", "P", None, 9)),
        (Link("q", "q", 2, None),),
        (Link("r", "R", None, 3), Link("p")),
        (Link("r", "R", None, 3), Link("p")),
    ]


def test_the_same_history_is_the_same_file(tmp_path: Path) -> None:
    for name in ("one.jsonl.gz", "two.jsonl.gz"):
        write_trace(tmp_path / name, document("A", "B"))

    assert (tmp_path / "one.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()


def test_a_compressed_file_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(gzip.compress("".join(trace_lines(document("A", "B"))).encode()))

    assert [version.text for version in read_trace(path)] == ["A", "B"]


def test_only_as_much_is_read_as_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(trace_lines(document("A"))) + "rubbish\n")
    versions = read_trace(path)

    assert next(versions).text == "A"
    versions.close()  # type: ignore[attr-defined]


def test_escaped_lines_are_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    versions = document("Käse \u202e\x9b", "half of a pair \ud800")
    path.write_text("".join(trace_lines(versions, only_ascii=True)), encoding="ascii")

    assert list(read_trace(path)) == versions


def test_half_of_a_surrogate_pair_is_written_as_an_escape(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    write_trace(path, document("ä \ud800", "ä"))

    assert path.read_text("utf-8").count("\\ud800") == 1
    assert list(read_trace(path)) == document("ä \ud800", "ä")


@pytest.mark.parametrize("times", [(2.0, 1.0), (1.0, 0.0)])
def test_versions_that_run_back_in_time_are_not_written(times: tuple[float, float]) -> None:
    versions = [Version(page="a:1", at=at, kind=Kind.CHANGE, lines=("x",)) for at in times]

    with pytest.raises(TraceError, match="page 'a:1' is earlier than the one before"):
        list(trace_lines(versions))


def test_pages_that_are_mixed_up_are_not_written() -> None:
    versions = [Version(page=page, at=0.0, kind=Kind.FIRST, lines=("x",)) for page in ("a", "b", "a")]

    with pytest.raises(TraceError, match="page 'a' comes twice"):
        list(trace_lines(versions))


def test_a_version_without_content_is_not_written() -> None:
    with pytest.raises(TraceError, match="neither lines nor links"):
        list(trace_lines([Version(page="a", at=0.0, kind=Kind.CHANGE)]))


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"nowhere/trace\.gz cannot be written: No such file"):
        write_trace(tmp_path / "nowhere" / "trace.gz", document("A"))


def test_zstd_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.zst"
    write_trace(path, document("A", "B"))
    packed = path.read_bytes()

    assert (
        zstandard.ZstdDecompressor().stream_reader(packed).read()
        == "".join(trace_lines(document("A", "B"))).encode()
    )
    assert list(read_trace(path)) == document("A", "B")


def test_zstd_of_other_programs_is_read(tmp_path: Path) -> None:
    """Several frames, as pzstd and appending write them, of a text that is longer than any buffer."""
    versions = document(*(f"{number}\n{'x' * number}" for number in range(1000)))
    lines = [line.encode() for line in trace_lines(versions)]
    path = tmp_path / "trace"
    path.write_bytes(
        b"".join(zstandard.compress(b"".join(lines[part : part + 300])) for part in range(0, 1000, 300))
    )

    assert list(read_trace(path)) == versions


def test_zstd_that_is_cut_off_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.zst"
    write_trace(path, document("A", "B"))
    whole = path.read_bytes()

    for length in range(4, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(TraceError, match=r"trace\.jsonl\.zst ends within line \d: the file is cut off"):
            list(read_trace(path))


def test_damaged_zstd_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.zst"
    write_trace(path, document("A", "B", "".join(map(chr, range(1000, 9000)))))
    whole = path.read_bytes()
    path.write_bytes(whole + b"rubbish")
    with pytest.raises(TraceError, match=r"trace\.jsonl\.zst is damaged after line 3: zstd decompress"):
        list(read_trace(path))

    path.write_bytes(whole[:20] + b"rubbish" + whole[27:])
    with pytest.raises(TraceError, match=r"trace\.jsonl\.zst is damaged after line 0: zstd decompress"):
        list(read_trace(path))


def test_without_the_package_zstd_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "trace.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd and more")

    with pytest.raises(
        TraceError, match=r"trace\.jsonl\.zst is compressed with zstd: install the package zstandard"
    ):
        list(read_trace(path))
    with pytest.raises(TraceError, match="install the package zstandard"):
        write_trace(path, document("A"))
