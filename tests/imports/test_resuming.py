"""Importing a file twice changes nothing; killed, it goes on where it was; grown, it brings what is new."""

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from gathering import Killed, Ledger, Lines
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.errors import InputError
from scrapy_freshness.imports import stream as streams


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK_BYTES", 64)
    monkeypatch.setattr(streams, "HEAD_BYTES", 32)


def numbers(start: int, stop: int) -> list[bytes]:
    return [f"line {number:05}".encode() for number in range(start, stop)]


def written(path: Path, lines: list[bytes], end: bytes = b"\n") -> Path:
    path.write_bytes(b"".join(line + end for line in lines))
    return path


def test_a_file_that_was_imported_is_known_by_any_name(tmp_path: Path) -> None:
    ledger = Ledger()
    path = written(tmp_path / "access.log", numbers(0, 100))
    ledger.import_(path)
    renamed = path.rename(tmp_path / "access.log.1")
    packed = tmp_path / "access.log.2.gz"
    packed.write_bytes(gzip.compress(renamed.read_bytes()))

    assert [ledger.import_(each).lines for each in (renamed, packed)] == [0, 0]
    assert ledger.saved == numbers(0, 100)
    assert len(ledger.imports) == 1


@given(kills=st.lists(st.integers(1, 12), max_size=6), n_lines=st.integers(1, 60), enough=st.integers(1, 20))
def test_whenever_it_is_killed_every_line_counts_once(
    tmp_path_factory: pytest.TempPathFactory, kills: list[int], n_lines: int, enough: int
) -> None:
    path = written(tmp_path_factory.getbasetemp() / "killed", numbers(0, n_lines))
    ledger = Ledger(enough=enough)
    for kill in kills:
        ledger.saves, ledger.kill_at = 0, kill
        try:
            ledger.import_(path)
        except Killed:
            continue
    ledger.kill_at = -1
    ledger.import_(path)

    assert ledger.saved == numbers(0, n_lines)
    assert len(ledger.imports) == 1


def test_a_log_that_has_grown_brings_its_new_lines(tmp_path: Path) -> None:
    ledger = Ledger()
    path = written(tmp_path / "log", numbers(0, 50))
    with path.open("ab") as log:
        log.write(b"line 00")
    first = ledger.import_(path, Lines(is_log=True))
    with path.open("ab") as log:
        log.write(b"050\nline 00051\n")
    second = ledger.import_(path, Lines(is_log=True))

    assert ledger.saved == numbers(0, 52)
    assert (first.lines, second.lines) == (50, 2)
    assert second.resumed_at == 50 * 11


def test_a_line_that_was_imported_before_its_end_is_not_torn(tmp_path: Path) -> None:
    ledger = Ledger()
    path = tmp_path / "table"
    path.write_bytes(b"one\ntwo")
    ledger.import_(path)
    path.write_bytes(b"one\ntwo-and-a-half\nthree")
    ledger.import_(path)

    assert ledger.saved == [b"one", b"two", b"three"]


def test_files_that_begin_alike_are_different_files(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.import_(written(tmp_path / "a", numbers(0, 20)))
    ledger.import_(written(tmp_path / "b", [*numbers(0, 10), *numbers(100, 120)]))

    assert ledger.saved == [*numbers(0, 20), *numbers(0, 10), *numbers(100, 120)]
    assert len(ledger.imports) == 2
    assert ledger.import_(tmp_path / "a").lines == ledger.import_(tmp_path / "b").lines == 0


def test_an_older_copy_of_a_file_is_refused(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.import_(written(tmp_path / "a", numbers(0, 20)))
    with pytest.raises(InputError, match=r"older begins like .*a, of which more was imported.* --again"):
        ledger.import_(written(tmp_path / "older", numbers(0, 10)))

    assert ledger.saved == numbers(0, 20)


def test_a_file_that_was_cut_off_goes_on_when_it_is_whole(tmp_path: Path) -> None:
    ledger = Ledger()
    packed = gzip.compress(b"".join(os.urandom(32).hex().encode() + b"\n" for _ in range(500)))
    path = tmp_path / "log.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="is cut off: what comes before was imported"):
        ledger.import_(path)
    before = len(ledger.saved)
    path.write_bytes(packed)
    ledger.import_(path)

    assert 0 < before < 500
    assert ledger.saved == gzip.decompress(packed).splitlines()


def test_a_header_is_read_once(tmp_path: Path) -> None:
    ledger = Ledger(kill_at=3)
    path = written(tmp_path / "table", [b"header", *numbers(0, 30)])
    with pytest.raises(Killed):
        ledger.import_(path, Lines(header_lines=1))
    ledger.import_(path, Lines(header_lines=1))

    assert ledger.saved == numbers(0, 30)
    assert ledger.imports[1].lines == 31


@pytest.mark.parametrize("text", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "empty"
    path.write_bytes(text)
    with pytest.raises(InputError, match="is empty"):
        Ledger().import_(path)


def test_standard_input_is_gone_on_with_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger()

    def piped(lines: list[bytes]) -> int:
        source = written(tmp_path / "source", lines)
        process = subprocess.Popen(["cat", str(source)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(process.stdout))
        try:
            return ledger.import_("-").lines
        finally:
            sys.stdin.close()
            process.wait()

    assert piped(numbers(0, 20)) == 20
    assert piped(numbers(0, 30)) == 10
    with pytest.raises(InputError, match="goes on otherwise"):
        piped([*numbers(0, 10), *numbers(50, 80)])
    assert ledger.saved == numbers(0, 30)
