"""Traces compressed with zstd, for which an optional package is needed."""

import importlib
import io
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

from scrapy_freshness.errors import TraceError

#: What every compressed file begins with.
MAGIC = b"\x28\xb5\x2f\xfd"
_CHUNK_BYTES = 1 << 16
#: Of the largest distance at which a file may repeat itself.
_MOST_WINDOW_BYTES = 2**31


def compressor(file: BinaryIO, name: str) -> BinaryIO:
    """A stream that compresses into an open file, which it leaves open."""
    return cast(BinaryIO, _zstandard(name).ZstdCompressor().stream_writer(file, closefd=False))


def decompressor(file: BinaryIO, name: str | Path) -> io.BufferedReader:
    """A stream of what is compressed in an open file; complains of damage and a missing end as gzip does."""
    return io.BufferedReader(_Reader(file, _zstandard(name)), _CHUNK_BYTES)


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
        raise TraceError(
            f"{name} is compressed with zstd: install the package zstandard (scrapy-freshness[zstd])"
        ) from error
