"""Trace files: read as a stream of versions, plain or compressed, and written.

Whether a file is compressed is told by its first bytes when it is read, by its name when it is written.
"""

import gzip
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from scrapy_freshness.compressed import DAMAGE, decompressed, zstd_compressor
from scrapy_freshness.errors import CompressionError, TraceError
from scrapy_freshness.simulator.trace import Version
from scrapy_freshness.simulator.trace_decode import PageDecoder, page_of
from scrapy_freshness.simulator.trace_encode import trace_lines


def read_trace(path: str | Path) -> Iterator[Version]:
    """The versions in a trace file, one by one: page by page, those of a page in the order of time.

    Raises
    ------
    TraceError
        The file cannot be read or is no trace, with its name and the number of the line.
    """
    number = 0
    try:
        with Path(path).open("rb") as file, decompressed(file, path) as lines:
            done: set[str] = set()
            page, decoder = None, PageDecoder("")
            for line in lines:
                number += 1
                row = _row(line)
                if (of_row := page_of(row)) != page:
                    page, decoder = of_row, PageDecoder(of_row)
                    if page in done:
                        raise ValueError(f"page {page!r} comes twice: sort the trace by page, then by t")
                    done.add(page)
                yield decoder.decode(row)
    except TraceError:
        raise
    except CompressionError as error:
        raise TraceError(str(error)) from error
    except ValueError as error:
        raise TraceError(f"{path}, line {number}: {error}") from error
    except EOFError as error:
        raise TraceError(f"{path} ends within line {number + 1}: the file is cut off") from error
    except DAMAGE as error:
        raise TraceError(f"{path} is damaged after line {number}: {error}") from error
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror or error}") from error
    if number == 0:
        raise TraceError(f"{path} is empty: a trace has a line for each version of a page")


def write_trace(path: str | Path, versions: Iterable[Version]) -> int:
    """Write versions to a trace file; returns how many.

    Versions of a page must come together and in the order of time. A name that ends in ``.gz`` or
    ``.zst`` makes a compressed file.
    """
    written = 0
    try:
        with Path(path).open("wb") as file, trace_file(file, str(path)) as stream:
            for line in trace_lines(versions):
                stream.write(line)
                written += 1
    except OSError as error:
        raise TraceError(f"{path} cannot be written: {error.strerror or error}") from error
    return written


@contextmanager
def trace_file(file: BinaryIO, name: str) -> Iterator[TextIO]:
    """A stream for the lines of a trace into an open file, compressed as the name tells; closes the file."""
    with file, io.TextIOWrapper(_compressor(file, name), "utf-8", newline="\n") as stream:
        yield stream


def _compressor(file: BinaryIO, name: str) -> BinaryIO:
    if name.endswith(".gz"):
        # Without a time in it, the same history is the same file.
        return cast(BinaryIO, gzip.GzipFile("", "wb", 6, file, mtime=0))
    if name.endswith(".zst"):
        try:
            return zstd_compressor(file, name)
        except CompressionError as error:
            raise TraceError(str(error)) from error
    return file


def _row(line: bytes) -> Any:
    try:
        return json.loads(line)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from error
    except RecursionError as error:
        raise ValueError("not a line of a trace: nested too deeply") from error
