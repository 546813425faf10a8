"""Files that may be compressed, with gzip or zstd; for zstd an optional package is needed.

Whether a file is compressed is told by its first bytes when it is read. Of damage, every decompressor
complains as those of Python do: `EOFError` if the file is cut off, `DAMAGE` if it is broken.
"""

import gzip
import importlib
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from scrapy_freshness.errors import CompressionError

#: What is raised while a broken file is read.
DAMAGE = (gzip.BadGzipFile, zlib.error)
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK_BYTES = 1 << 16
#: Of the largest distance at which a file may repeat itself.
_MOST_WINDOW_BYTES = 2**31


@contextmanager
def decompressed(file: "io.BufferedReader[Any]", name: str | Path) -> Iterator[BinaryIO]:
    """A stream of what is in an open file, decompressed if need be."""
    start = file.peek(len(_ZSTD))
    if start.startswith(_GZIP):
        with gzip.GzipFile(fileobj=file) as stream:
            yield cast(BinaryIO, stream)
    elif start.startswith(_ZSTD):
        with io.BufferedReader(_Reader(file, _zstandard(name)), _CHUNK_BYTES) as stream:
            yield stream
    else:
        yield file


def zstd_compressor(file: BinaryIO, name: str) -> BinaryIO:
    """A stream that compresses into an open file, which it leaves open."""
    return cast(BinaryIO, _zstandard(name).ZstdCompressor().stream_writer(file, closefd=False))


class _Reader(io.RawIOBase):
    """Reads frame after frame; the package's own reader takes a file that is cut off for a whole one."""

    def __init__(self, file: BinaryIO, zstandard: Any) -> None:
        self._file = file
        self._zstandard = zstandard
        self._frame: Any = None
        self._compressed = b""
        self._plain = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        while not self._plain:
            self._compressed = self._compressed or self._file.read(_CHUNK_BYTES)
            if not self._compressed:
                if self._frame is not None:
                    raise EOFError
                return 0
            self._decompress()
        n_bytes = min(len(self._plain), len(view))
        view[:n_bytes], self._plain = self._plain[:n_bytes], self._plain[n_bytes:]
        return n_bytes

    def _decompress(self) -> None:
        if self._frame is None:
            self._frame = self._zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW_BYTES).decompressobj()
        try:
            self._plain = self._frame.decompress(self._compressed)
        except self._zstandard.ZstdError as error:
            raise zlib.error(str(error)) from error
        self._compressed = self._frame.unused_data
        if self._frame.eof:
            self._frame = None


def _zstandard(name: str | Path) -> Any:
    try:
        return importlib.import_module("zstandard")
    except ImportError as error:
        raise CompressionError(
            f"{name} is compressed with zstd: install the package zstandard (scrapy-freshness[zstd])"
        ) from error
