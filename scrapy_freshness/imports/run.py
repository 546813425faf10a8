"""Import a file: block by block, so that it may be killed at any time and goes on where it was.

What a block says is written in one transaction with how far the file has been read. So nothing is counted
twice, and nothing is lost.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from scrapy_freshness.clock import Clock
from scrapy_freshness.errors import InputError
from scrapy_freshness.imports.contract import Format, Parser, Sink
from scrapy_freshness.imports.resuming import digest_of, resumed_stream
from scrapy_freshness.imports.stream import LONGEST_LINE, LineStream
from scrapy_freshness.model import ImportProgress

B = TypeVar("B")

#: What was gathered is written at least so often: a pipe may bring a line a second for ever.
SAVE_SECONDS = 5.0
#: Bad lines that are shown, and characters of each.
SHOWN_BAD = 5
SHOWN_CHARACTERS = 120
_TOO_LONG = f"longer than {LONGEST_LINE // 1000} kB"


@dataclass(slots=True)
class Imported:
    """What an import has done."""

    progress: ImportProgress
    resumed_at: int = 0  #: bytes that were known already
    lines: int = 0  #: read this time
    bad: Counter[str] = field(default_factory=Counter)  #: among them, by reason
    shown: list[tuple[int, str, str]] = field(default_factory=list)  #: line number, reason, text of the first
    doubts: Counter[str] = field(default_factory=Counter)  #: lines that may mean something else, by why


def import_file(
    name: str,
    kind: str,
    formats: Sequence[Format[B]],
    sink: Sink[B],
    imported: Sequence[ImportProgress],
    clock: Clock,
    *,
    may_go_on: Callable[[ImportProgress], bool] = lambda progress: True,
    advance: Callable[[int], None] = lambda n_bytes: None,
) -> Imported:
    """Import what is new in a file.

    Parameters
    ----------
    formats : the first that recognises the file is used
    imported : all earlier imports of this kind
    may_go_on : which of them may be gone on with, if they are of the same file
    advance : is told how many bytes of the file, as it is on disk, have been read since the last time
    """
    with resumed_stream(name, list(filter(may_go_on, imported))) as (stream, known):
        format_, parser = _chosen(stream, formats)
        progress = known or ImportProgress(
            kind=kind, name=name, format="", head_bytes=0, head_digest=b"", started_at=clock.now()
        )
        progress = replace(progress, name=name, format=format_.name, bad=dict(progress.bad))
        run = _Run(stream, sink, progress, imported, clock)
        if known is None:
            run.skip_header(parser.header_lines)
        run.to_the_end(parser, advance, whole_lines_only=format_.is_log)
        return run.done


def _chosen(stream: LineStream, formats: Sequence[Format[B]]) -> tuple[Format[B], Parser[B]]:
    if not stream.start:
        raise InputError(f"{stream.name} is empty")
    for format_ in formats:
        try:
            parser = format_.parser(stream.start)
        except ValueError as error:
            raise InputError(f"{stream.name} {error}") from None
        if parser is not None:
            return format_, parser
    names = ", ".join(format_.name for format_ in formats)
    raise InputError(f"{stream.name} is not in a format that is known here ({names}): see docs/imports.md")


class _Run(Generic[B]):
    """One pass over what is new."""

    def __init__(
        self,
        stream: LineStream,
        sink: Sink[B],
        progress: ImportProgress,
        imported: Sequence[ImportProgress],
        clock: Clock,
    ) -> None:
        self._stream = stream
        self._heads = [(each.head_bytes, each.head_digest) for each in imported]
        self._sink = sink
        self._clock = clock
        self._saved_at = clock.now()
        self.done = Imported(progress, resumed_at=stream.position)

    def skip_header(self, n_lines: int) -> None:
        for _ in range(n_lines):
            self._stream.skip_line()
            self.done.progress.lines += 1

    def to_the_end(
        self, parser: Parser[B], advance: Callable[[int], None], *, whole_lines_only: bool
    ) -> None:
        read = 0
        while True:
            try:
                block = self._stream.block(whole_lines_only=whole_lines_only)
            except InputError:
                self._save()
                raise
            if self._stream.too_long:
                self._note_bad(0, _TOO_LONG, b"", self._stream.too_long)
            if not block:
                break
            self._take(parser, block)
            advance(self._stream.file_bytes_read - read)
            read = self._stream.file_bytes_read
            if self._sink.is_full or self._clock.now() - self._saved_at >= SAVE_SECONDS:
                self._save()
        self._save(is_done=True)

    def _take(self, parser: Parser[B], block: bytes) -> None:
        parsed = parser.parse(block)
        for bad in parsed.bad:
            self._note_bad(bad.line, bad.reason, bad.text)
        self._sink.add(parsed.batch)
        self.done.doubts.update(parsed.doubts)
        self.done.lines += parsed.lines
        self.done.progress.lines += parsed.lines

    def _note_bad(self, index: int, reason: str, text: bytes, count: int = 1) -> None:
        progress = self.done.progress
        self.done.bad[reason] += count
        progress.bad[reason] = progress.bad.get(reason, 0) + count
        if len(self.done.shown) < SHOWN_BAD:
            shown = text[: 4 * SHOWN_CHARACTERS].decode("utf-8", "replace")[:SHOWN_CHARACTERS]
            self.done.shown.append((progress.lines + index + 1, reason, shown))

    def _save(self, *, is_done: bool = False) -> None:
        progress, stream = self.done.progress, self._stream
        if not stream.position:
            return  # nothing was read: this could be any file
        if progress.import_id is None:
            head = len(stream.passed_head), digest_of(stream.passed_head)
            progress.head_bytes, progress.head_digest = head
            progress.alike = self._heads.count(head)
        progress.position, progress.digest = stream.position, stream.digest
        progress.is_done = is_done
        progress.updated_at = self._saved_at = self._clock.now()
        self._sink.save(progress)
