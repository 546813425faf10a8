"""The text of a source, piece by piece: unpacked, decoded, and never more of it than is allowed."""

import codecs
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import chain

from scrapy_freshness.signals.contract import Oddity

#: Bytes of one piece, after decompression; what one step of reading works on.
PIECE = 65_536

_HEAD = 1024
_GZIP = b"\x1f\x8b"
_GZIP_FORMAT = 31  # zlib's code for it
_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_CHARSET = re.compile(r"""(?i)charset\s*=\s*["']?([a-z0-9._:-]{1,40})""")
#: What web pages mean when they say Latin-1, and the usual truth behind bytes that are not UTF-8.
_FALLBACK = "cp1252"
_NOT_FOR_DOCUMENTS = frozenset({"unicode_escape", "raw_unicode_escape", "idna", "punycode", "utf-7"})


def text_pieces(body: bytes, content_type: str, most: int, oddities: Counter[Oddity]) -> Iterator[str]:
    """Yield the text of a source, at most so many bytes of it.

    >>> import gzip
    >>> "".join(text_pieces(gzip.compress(b"caf\\xc3\\xa9"), "", 1000, Counter()))
    'caf\xe9'
    """
    return _decoded(_limited(_unpacked(body, oddities), most, oddities), content_type)


def _unpacked(body: bytes, oddities: Counter[Oddity]) -> Iterator[bytes]:
    """Pieces of what is in it; a gzipped file may have been gzipped again on its way."""
    pieces: Iterator[bytes] = (body[start : start + PIECE] for start in range(0, len(body), PIECE))
    for _ in range(2):
        head = _head(pieces)
        pieces = chain([head], pieces)
        if not head.startswith(_GZIP):
            break
        pieces = _gunzipped(pieces, oddities)
    return pieces


def _head(pieces: Iterator[bytes]) -> bytes:
    """Enough of the first pieces to tell by what they are."""
    head = b""
    while len(head) < _HEAD and (piece := next(pieces, b"")):
        head += piece
    return head


def _gunzipped(pieces: Iterator[bytes], oddities: Counter[Oddity]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_GZIP_FORMAT)
    for piece in pieces:
        while piece:
            if unpacker.eof:  # the next member, or padding
                if not piece.startswith(_GZIP):
                    return
                unpacker = zlib.decompressobj(_GZIP_FORMAT)
            try:
                plain = unpacker.decompress(piece, PIECE)
            except zlib.error:
                oddities[Oddity.BROKEN] = 1
                return
            if plain:
                yield plain
            piece = unpacker.unconsumed_tail or unpacker.unused_data
    if not unpacker.eof:
        oddities[Oddity.TRUNCATED] = 1


def _limited(pieces: Iterator[bytes], most: int, oddities: Counter[Oddity]) -> Iterator[bytes]:
    for piece in pieces:
        if len(piece) > most:
            oddities[Oddity.TOO_LARGE] = 1
            piece = piece[:most]
        if piece:
            yield piece
        most -= len(piece)
        if oddities[Oddity.TOO_LARGE]:
            return


def _decoded(pieces: Iterator[bytes], content_type: str) -> Iterator[str]:
    """Text; from the first byte on that is not in the encoding that was declared, read as Windows-1252."""
    head = _head(pieces)
    decoder = codecs.getincrementaldecoder(encoding_of(head, content_type))()
    for piece in chain([head], pieces):
        held = decoder.getstate()[0]
        try:
            yield decoder.decode(piece)
        except UnicodeError:
            decoder = codecs.getincrementaldecoder(_FALLBACK)("replace")
            yield decoder.decode(held + piece)


def encoding_of(start: bytes, content_type: str) -> str:
    """Name the encoding: by the byte order mark, by the look of the bytes, as declared, or UTF-8.

    >>> encoding_of(b'<?xml version="1.0" encoding="ISO-8859-1"?>', "")
    'cp1252'
    >>> encoding_of(b'<?xml version="1.0" encoding="UTF-16"?>', "")  # it is not
    'utf-8'
    """
    for mark, marked in _BOMS.items():
        if start.startswith(mark):
            return marked
    if 0 in start[:2]:
        return "utf-16-be" if start[:1] == b"\0" else "utf-16-le"
    declared = _DECLARED.match(start)
    header = _CHARSET.search(content_type)
    for name in (declared[1].decode() if declared else "", header[1] if header else ""):
        if encoding := _text_encoding(name):
            return encoding
    return "utf-8"


def _text_encoding(name: str) -> str | None:
    """The encoding of that name if it is one for bytes of which the first ones could be read as ASCII."""
    try:
        found = codecs.lookup(name)
        is_like_ascii = b"<?xml".decode(found.name) == "<?xml"
    except (LookupError, ValueError):
        return None
    if not is_like_ascii or found.name in _NOT_FOR_DOCUMENTS or found.incrementaldecoder is None:
        return None
    return _FALLBACK if found.name in ("iso8859-1", "ascii") else found.name
