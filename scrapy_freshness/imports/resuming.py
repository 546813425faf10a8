"""Where to begin: a file that was imported before, wholly or in part, is gone on with where that ended.

A file is known by its content. One that has grown since, was renamed, rotated or compressed is the same
file, and what comes after the bytes that are known is new.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import xxhash

from scrapy_freshness.errors import InputError
from scrapy_freshness.imports.stream import LineStream, line_stream
from scrapy_freshness.model import ImportProgress


def digest_of(data: bytes) -> bytes:
    """Of some bytes, as that of a stream."""
    return xxhash.xxh3_128(data).digest()


@contextmanager
def resumed_stream(
    name: str, imported: Sequence[ImportProgress]
) -> Iterator[tuple[LineStream, ImportProgress | None]]:
    """The lines of a file from where an earlier import of it ended, and that import, if there was one.

    Raises
    ------
    InputError
        The file begins as one that was imported, but ends before what is known of that; or standard input,
        which cannot be read twice, begins so and goes on otherwise.
    """
    with ExitStack() as stack:
        stream = stack.enter_context(line_stream(name))
        known = _longest_known(stream, imported)
        if stream.position != (known.position if known else 0):
            if not stream.is_seekable:
                raise InputError(
                    "standard input begins like a file that was imported, and goes on otherwise: give it as "
                    "a file, which can be read twice, or add --again"
                )
            stream = stack.enter_context(line_stream(name))
            if known is not None:
                stream.skip_to(known.position)
        if known is not None and stream.last_byte not in (b"\n", b"\r"):
            # Its last line had no end, was imported, and may have grown since.
            stream.skip_line()
        yield stream, known


def _longest_known(stream: LineStream, imported: Sequence[ImportProgress]) -> ImportProgress | None:
    """The import that has read most of the same file; the stream is then at its position, or behind it."""
    known = None
    for progress in _beginning_alike(stream, imported):
        if not stream.skip_to(progress.position):
            if known is not None:
                break
            raise InputError(
                f"{stream.name} begins like {progress.name}, of which more was imported: it is an older "
                "copy, or was cut off; add --again to import it nevertheless"
            )
        if stream.digest == progress.digest:
            known = progress
    return known


def _beginning_alike(stream: LineStream, imported: Sequence[ImportProgress]) -> list[ImportProgress]:
    """Imports of files that begin as the stream does, the shortest first."""
    found = []
    for progress in sorted(imported, key=lambda each: each.head_bytes):
        head = stream.peek(progress.head_bytes)
        if len(head) == progress.head_bytes and digest_of(head) == progress.head_digest:
            found.append(progress)
    return sorted(found, key=lambda each: each.position)
