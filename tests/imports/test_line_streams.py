"""Any file becomes whole lines in UTF-8, in bounded memory."""

import gzip
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.errors import InputError
from scrapy_freshness.imports import stream as streams
from scrapy_freshness.imports.stream import LONGEST_LINE, line_stream

LINES = [f"https://a.example/{number},é" for number in range(30_000)]
PLAIN = "\n".join(LINES).encode() + b"\n"


def blocks_of(path: Path, **options: bool) -> list[bytes]:
    with line_stream(str(path)) as stream:
        return list(iter(lambda: stream.block(**options), b""))


@pytest.mark.parametrize(
    "written",
    [
        PLAIN,
        gzip.compress(PLAIN),
        zstandard.compress(PLAIN),
        PLAIN.decode().encode("utf-16"),
        gzip.compress(b"\xfe\xff" + PLAIN.decode().encode("utf-16-be")),
        b"\xef\xbb\xbf" + PLAIN,
    ],
    ids=["plain", "gzip", "zstd", "utf-16", "utf-16-be in gzip", "utf-8 with mark"],
)
def test_the_same_lines_however_they_are_written(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(written)
    with line_stream(str(path)) as stream:
        blocks = list(iter(stream.block, b""))
        position, digest = stream.position, stream.digest
    with line_stream(str(path)) as stream:
        assert stream.skip_to(position)
        assert stream.digest == digest

    assert b"".join(blocks) == PLAIN
    assert all(block.endswith(b"\n") for block in blocks)
    assert position == len(PLAIN)


@given(
    text=st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r", b"\0", b"\xff\xfe", b"x" * 30])),
    cut=st.integers(0, 400),
)
def test_no_byte_is_lost_wherever_reading_stops(
    tmp_path_factory: pytest.TempPathFactory, text: list[bytes], cut: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    plain = b"-" + b"".join(text)
    path.write_bytes(plain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK_BYTES", 16)
        with line_stream(str(path)) as stream:
            reached = stream.skip_to(cut)
            rest = b"".join(iter(stream.block, b""))

    assert reached == (cut <= len(plain))
    assert rest == plain[cut:]


def test_a_line_that_is_still_being_written_is_left(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\nthr")

    assert blocks_of(path) == [b"one\ntwo\n", b"thr"]
    assert blocks_of(path, whole_lines_only=True) == [b"one\ntwo\n"]


def test_an_endless_line_is_not_kept_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "file.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"first\n")
        for _ in range(200):
            file.write(bytes(LONGEST_LINE))
        file.write(b"\nlast\n")
    tracemalloc.start()
    try:
        with line_stream(str(path)) as stream:
            found = []
            while block := stream.block():
                found.append((block, stream.too_long))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert found == [(b"first\n", 0), (b"last\n", 1)]
    assert peak < 20 * LONGEST_LINE


def test_lines_of_old_macs_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\rtwo\rthree")

    assert blocks_of(path) == [b"one\rtwo\r", b"three"]


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_what_comes_before_a_missing_end_is_read(tmp_path: Path, compress: object) -> None:
    path = tmp_path / "file"
    packed = compress(PLAIN)  # type: ignore[operator]
    path.write_bytes(packed[: len(packed) // 2])
    found: list[bytes] = []
    with pytest.raises(InputError, match=r"file is cut off"), line_stream(str(path)) as stream:
        found.extend(iter(stream.block, b""))

    assert found
    assert PLAIN.startswith(b"".join(found))


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_cannot_be_read_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be read"), line_stream(str(tmp_path / name)):
        pass
