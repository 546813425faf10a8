"""The bytes of a file as whole lines in UTF-8, however it is compressed and encoded, in bounded memory.

Positions are counted in these bytes, not in those of the file: a log that was compressed when it was rotated
is the same log. UTF-16, as spreadsheets and Matomo write it, is told by its byte order mark.
"""

import codecs
import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import xxhash

from scrapy_freshness.compressed import DAMAGE, decompressed
from scrapy_freshness.errors import InputError

#: What stands for standard input.
STDIN = "-"
#: A file is known by so many bytes of its beginning, and its format is told by them.
HEAD_BYTES = 1 << 16
#: Bytes that are parsed at a time.
BLOCK_BYTES = 1 << 20
#: A longer line is none, and is not kept in memory.
LONGEST_LINE = 1 << 20

#: Of nearly all files, and of those that have none of these.
_LINE_ENDS = (b"\n", b"\r")
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class LineStream:
    """Hands out blocks of whole lines, and knows the position and a digest of all bytes before it."""

    def __init__(self, file: BinaryIO, name: str, counted: "_Counted") -> None:
        self.name = name
        self._file = file
        self._counted = counted
        self._decoder: codecs.IncrementalDecoder | None = None
        self._digest = xxhash.xxh3_128()
        self._rest = b""  #: read, but not handed out
        self._is_at_end = False
        self._trouble: InputError | None = None
        self.is_seekable = name != STDIN and Path(name).is_file()  #: whether it can be read once more
        self.position = 0
        self.too_long = 0  #: lines that were left out of the last block because of their length
        self.last_byte = b""  #: before the position
        self.passed_head = b""  #: the first bytes before the position, at most `HEAD_BYTES`
        self._rest = self._decoded_start()
        #: The beginning of the file, with at least one whole line if that is not too long.
        self.start = self._first_lines()
        self._line_end = next((end for end in _LINE_ENDS if end in self.start), _LINE_ENDS[0])

    @property
    def file_bytes_read(self) -> int:
        """How far it has been read, as it is on disk."""
        return self._counted.count

    @property
    def digest(self) -> bytes:
        """Of all bytes before the position."""
        return self._digest.digest()

    def peek(self, n_bytes: int) -> bytes:
        """The next bytes, which this does not hand out; fewer at the end."""
        while len(self._rest) < n_bytes and self._fill():
            pass
        return self._rest[:n_bytes]

    def skip_to(self, position: int) -> bool:
        """Go to a later position; False if the file ends before it."""
        while self.position < position:
            if not self._rest and not self._fill():
                return False
            self._pass(self._rest[: position - self.position])
        return True

    def skip_line(self) -> None:
        """Go to the beginning of the next line."""
        while True:
            end = self._rest.find(self._line_end)
            self._pass(self._rest[: end + 1] if end >= 0 else self._rest)
            if end >= 0 or not self._fill():
                return

    def block(self, *, whole_lines_only: bool = False) -> bytes:
        """The next whole lines; empty at the end. The last line of a file may have no end.

        With *whole_lines_only*, a line that has none is not handed out: it is still being written.
        """
        self.too_long = 0
        while True:
            end = self._rest.rfind(self._line_end) + 1
            if end:
                break
            if len(self._rest) > LONGEST_LINE:
                self.too_long += 1
                self.skip_line()
            elif not self._fill():
                end = 0 if whole_lines_only else len(self._rest)
                break
        block = self._rest[:end]
        self._pass(block)
        return block

    def _first_lines(self) -> bytes:
        while not any(end in self._rest for end in _LINE_ENDS) and len(self._rest) < HEAD_BYTES:
            if not self._fill():
                break
        return self._rest[:HEAD_BYTES]

    def _pass(self, passed: bytes) -> None:
        self._digest.update(passed)
        self.position += len(passed)
        if len(self.passed_head) < HEAD_BYTES:
            self.passed_head += passed[: HEAD_BYTES - len(self.passed_head)]
        self.last_byte = passed[-1:] or self.last_byte
        self._rest = self._rest[len(passed) :]

    def _fill(self) -> bool:
        """Read more; False at the end."""
        if self._trouble is not None:
            raise self._trouble
        if self._is_at_end:
            return False
        raw = self._read(BLOCK_BYTES)
        self._is_at_end = not raw
        # A decompressor hands out little at a time; what a pipe has not got yet is not waited for.
        parts, gathered = [raw], len(raw)
        while self.is_seekable and parts[-1] and gathered < BLOCK_BYTES:
            try:
                parts.append(self._read(BLOCK_BYTES))
            except InputError as error:
                self._trouble = error  # once the bytes before it are used up
                break
            gathered += len(parts[-1])
        raw = b"".join(parts)
        self._rest += raw if self._decoder is None else _utf8(self._decoder.decode(raw, final=not raw))
        return not self._is_at_end

    def _decoded_start(self) -> bytes:
        start = b""
        while len(start) < 3 and (more := self._read(BLOCK_BYTES)):
            start += more
        if encoding := _UTF16.get(start[:2]):
            self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
            return _utf8(self._decoder.decode(start[2:]))
        return start.removeprefix(codecs.BOM_UTF8)

    def _read(self, n_bytes: int) -> bytes:
        try:
            # What is there, not all that was asked for: a pipe may be slow.
            return bytes(self._file.read1(n_bytes))  # type: ignore[attr-defined]
        except EOFError as error:
            raise InputError(f"{self.name} is cut off: what comes before was imported") from error
        except DAMAGE as error:
            raise InputError(f"{self.name} is damaged ({error}): what comes before was imported") from error
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror or error}") from error


class _Counted(io.FileIO):
    """Counts the bytes that are read of a file."""

    count = 0

    def readinto(self, buffer: Any) -> int:
        n_bytes = super().readinto(buffer) or 0
        self.count += n_bytes
        return n_bytes


@contextmanager
def line_stream(name: str) -> Iterator[LineStream]:
    """The lines of a file, or of standard input (`STDIN`)."""
    with ExitStack() as stack:
        try:
            is_stdin = name == STDIN
            counted = _Counted(sys.stdin.fileno() if is_stdin else name, closefd=not is_stdin)
            buffered = stack.enter_context(io.BufferedReader(counted, BLOCK_BYTES))
            plain = stack.enter_context(decompressed(buffered, name))
        except OSError as error:
            raise InputError(f"{name} cannot be read: {error.strerror or error}") from error
        yield LineStream(plain, name, counted)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")
