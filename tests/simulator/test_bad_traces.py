"""Whatever is wrong with a trace file is told in one line, with its name and the line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.errors import FreshnessError, TraceError
from scrapy_freshness.simulator.trace_encode import trace_lines
from scrapy_freshness.simulator.trace_io import read_trace

FIRST = {"page": "a:1", "t": 5, "kind": "first", "text": "one\ntwo"}
HUB = {"page": "a:1", "t": 5, "kind": "first", "add": {"0": ["p", "P"]}, "rank": [0]}


def later(**keys: Any) -> dict[str, Any]:
    return {"page": "a:1", "t": 6, "kind": "change", **keys}


def error_of(path: Path) -> str:
    with pytest.raises(TraceError) as caught:
        list(read_trace(path))
    message = str(caught.value)
    assert isinstance(caught.value, FreshnessError)
    assert len(message.splitlines()) == 1
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "not JSON: Expecting value at column 1"),
        ("{", "not JSON: Expecting property name"),
        ('{"page": "a:1", "t": 6,', "not JSON"),
        ('"text"', "a line of a trace is a JSON object, got 'text'"),
        ("[1, 2]", "a JSON object, got [1, 2]"),
        ("{}", "no key 'page'; there are none"),
        ("[" * 100_000, "nested too deeply"),
        ('{"page": "a:1", "t": 1' + "0" * 5000 + "}", "Exceeds the limit"),
        ('{"page": "a:1", "t": NaN, "kind": "gone"}', "t must be unix seconds, none before 1970, got nan"),
        ('{"page": "a:1", "t": 1e999, "kind": "gone"}', "t must be unix seconds, none before 1970, got inf"),
        ('{"page": "a:0", "t": -1, "kind": "gone"}', "t must be unix seconds, none before 1970, got -1"),
        ('{"page": "a:1", "t": 1' + "0" * 400 + ', "kind": "gone"}', "t must be unix seconds"),
    ],
)
def test_a_line_that_is_no_row(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(f"{json.dumps(FIRST)}\n{line}\n")
    message = error_of(path)

    assert message.startswith(", line 2: ")
    assert reason in message


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"pgae": "a:1", "t": 6, "kind": "gone"}, "no key 'page'; there are 'pgae', 't', 'kind'"),
        ({"page": "a:1", "time": 6, "kind": "gone"}, "no key 't'"),
        ({"page": "a:1", "t": 6}, "no key 'kind'"),
        ({"page": 1, "t": 6, "kind": "gone"}, "page must not be 1"),
        (later(kind="edit"), "unknown kind 'edit'; there are first, change, noise, tech, gone"),
        (later(kind=["change"]), "unknown kind ['change']"),
        (later(t="yesterday"), "t must not be 'yesterday'"),
        (later(t=True), "t must not be True"),
        (later(t=None), "t must not be None"),
        (later(t=4, text="x"), "time 4 is before 5, the time of the line before"),
        (later(url=7, text="x"), "url must not be 7"),
        (later(), "neither text nor links, one of which a version of kind change has"),
        (later(txt="x"), "neither text nor links, one of which a version of kind change has; unknown: 'txt'"),
        (later(text=None), "text must not be None"),
        (later(same=1), "same is 1, but the page has 1 texts before"),
        (later(same=-1), "same is -1"),
        (later(same="0"), "same must not be '0'"),
        (later(delta={}), "delta must not be {}"),
        (later(delta=[[0, 1]]), "edit must be a list of 3 to 3 values"),
        (later(delta=[[0, 3, []]]), "delta replaces 3 lines at 0 of 2"),
        (later(delta=[[5, 0, []]]), "delta replaces 0 lines at 5 of 2"),
        (later(delta=[[-1, 1, []]]), "delta replaces 1 lines at -1 of 2"),
        (later(delta=[[1, 1, []], [0, 1, []]]), "delta replaces 1 lines at 0 of 2, after 2"),
        (later(delta=[[0, 0.5, []]]), "delta must not be 0.5"),
        (later(delta=[[0, 1, [7]]]), "line of delta must not be 7"),
        (later(delta=[[0, 1, "x"]]), "delta must not be 'x'"),
        (later(kind="noise", text="other"), "noise, but the content is not that of the version before"),
        (later(links=[["p"]]), "links in one version and text in another"),
    ],
)
def test_a_row_of_a_document_that_makes_no_sense(tmp_path: Path, row: dict[str, Any], reason: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(f"{json.dumps(FIRST)}\n{json.dumps(row)}\n")
    message = error_of(path)

    assert message.startswith(", line 2: ")
    assert reason in message


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (later(rank=[0, 7]), "rank names link 7, which no line has added"),
        (later(rank=["0"]), "rank names link '0'"),
        (later(rank=[[0]]), "rank names link [0]"),
        (later(rank=0), "rank must not be 0"),
        (later(rank=[0], score=[1, 2]), "2 scores for 1 links"),
        (later(rank=[0], score=["many"]), "score and born of a link must be numbers or null, got 'many'"),
        (later(rank=[0], score=[True]), "must be numbers or null, got True"),
        (later(rank=[0], score=5), "score must not be 5"),
        (later(rank=[0], score=[10**400]), "must be numbers or null"),
        (later(rank=[1], add={"1": ["q", "Q", "today"]}), "must be numbers or null, got 'today'"),
        (later(rank=[1], add={"1": []}), "link must be a list of 1 to 3 values"),
        (later(rank=[1], add={"one": ["q"]}), "the number of a link must be whole, got 'one'"),
        (later(rank=[1], add=[["q"]]), "add must not be"),
        (later(links=[["p", 7]]), "title of a link must not be 7"),
        (later(links=[[None]]), "url of a link must not be None"),
        (later(links=[[]]), "link must be a list of 1 to 4 values"),
        (later(links="p"), "links must not be 'p'"),
        (later(text="x"), "links in one version and text in another"),
    ],
)
def test_a_row_of_a_hub_that_makes_no_sense(tmp_path: Path, row: dict[str, Any], reason: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(f"{json.dumps(HUB)}\n{json.dumps(row)}\n")
    message = error_of(path)

    assert message.startswith(", line 2: ")
    assert reason in message


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (later(delta=[[0, 0, ["x"]]]), "delta without a version that it is the difference to"),
        (later(kind="noise"), "noise without a version before it"),
        (later(same=0), "same is 0, but the page has 0 texts before"),
    ],
)
def test_a_difference_to_nothing(tmp_path: Path, row: dict[str, Any], reason: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(f"{json.dumps(FIRST | {'page': 'another'})}\n{json.dumps(row)}\n")

    assert error_of(path) == f", line 2: {reason}"


def test_a_page_that_comes_twice(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(FIRST | {"page": page}) + "\n" for page in ("a\n", "b", "a\n")))

    assert error_of(path) == ", line 3: page 'a\\n' comes twice: sort the trace by page, then by t"


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b'{"page": "\xff\xfe"}\n')

    assert error_of(path) == ", line 1: not UTF-8 at byte 10"


@pytest.mark.parametrize("content", [b"", gzip.compress(b"")], ids=["plain", "compressed"])
def test_an_empty_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(content)

    assert error_of(path) == " is empty: a trace has a line for each version of a page"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert error_of(tmp_path / "trace.jsonl") == " cannot be read: No such file or directory"


def test_a_directory(tmp_path: Path) -> None:
    assert error_of(tmp_path) == " cannot be read: Is a directory"


def test_a_compressed_file_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.gz"
    rows = "".join(json.dumps(FIRST | {"page": f"a:{number * 7919 % 1009}"}) + "\n" for number in range(1000))
    whole = gzip.compress(rows.encode())
    path.write_bytes(whole[: len(whole) // 2])
    message = error_of(path)

    assert "ends within line" in message
    assert message.endswith("the file is cut off")


def test_a_compressed_file_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.gz"
    whole = bytearray(gzip.compress((json.dumps(FIRST) + "\n").encode()))
    whole[-6] ^= 1  # of the checksum
    path.write_bytes(whole)

    assert error_of(path).startswith(" is damaged after line")


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.sampled_from(["0", "x\ny"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["0", "1"]), inner, max_size=2)
    ),
    max_leaves=8,
)
keys = st.sampled_from(
    ["url", "t", "kind", "text", "delta", "same", "links", "add", "rank", "score", "carry"]
)


@given(
    row=st.dictionaries(keys, json_values), kind=st.sampled_from(["first", "change", "noise", "tech", "gone"])
)
def test_no_row_is_read_that_cannot_be_written_or_told(
    tmp_path_factory: pytest.TempPathFactory, row: dict[str, Any], kind: str
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "trace.jsonl"
    for first in (FIRST, HUB):
        second = {"page": "a:1", "t": 6, "kind": kind} | row
        path.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
        try:
            versions = list(read_trace(path))
        except TraceError as error:
            reason, versions = str(error), []
        if versions:
            path.write_text("".join(trace_lines(versions)))
        assert list(read_trace(path)) == versions if versions else "line 2: " in reason
