"""Fragments of a text: its word k-grams (shingles), as 32-bit hashes.

A word is a run of letters, marks and digits, case folded. Scripts that are written without spaces (Chinese,
Japanese, Thai, Lao, Khmer, Burmese, ...) and emoji count every character as a word. Which character is
what is fixed below rather than asked of the Unicode database, whose answer changes with its version.

The hashes are part of the stored state, so they never depend on process, machine or library version:
with arithmetic modulo 2**64, A = 0x9E3779B97F4A7C15, B = 0xD1342543DE82EF95 and C = 0xD6E8FEB86659FD93,

* a word of code points c_0, c_1, ... hashes to the sum of c_i * A**(i + 1),
* a shingle of words w_1, ..., w_k hashes to the upper 32 bits of (s ^ (s >> 32)) * C, where s is the sum of
  w_j * B**(k - j).
"""

import sys

import numpy as np
from numpy.typing import NDArray

_A = 0x9E3779B97F4A7C15
_B = np.uint64(0xD1342543DE82EF95)
_C = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)

_SEPARATOR, _LETTER, _WORD = 0, 1, 2  # a _WORD character is a word by itself

_SEPARATORS = (
    (0x0000, 0x002F), (0x003A, 0x0040), (0x005B, 0x005E), (0x0060, 0x0060), (0x007B, 0x00A9),
    (0x00AB, 0x00B4), (0x00B6, 0x00B9), (0x00BB, 0x00BF), (0x00D7, 0x00D7), (0x00F7, 0x00F7),
    (0x037E, 0x037E), (0x0387, 0x0387), (0x055A, 0x055F), (0x0589, 0x058A), (0x05BE, 0x05BE),
    (0x05C0, 0x05C0), (0x05C3, 0x05C3), (0x05F3, 0x05F4), (0x060C, 0x060C), (0x061B, 0x061F),
    (0x066A, 0x066D), (0x06D4, 0x06D4), (0x0964, 0x0965), (0x0970, 0x0970), (0x0E4F, 0x0E4F),
    (0x0E5A, 0x0E5B), (0x0F04, 0x0F14), (0x104A, 0x104F), (0x1361, 0x1368), (0x1680, 0x1680),
    (0x17D4, 0x17DA), (0x180E, 0x180E), (0x2000, 0x206F), (0x20A0, 0x20CF), (0x2190, 0x245F),
    (0x2500, 0x2BFF), (0x2E00, 0x2E7F), (0x3000, 0x3004), (0x3008, 0x3020), (0x3030, 0x3030),
    (0x303D, 0x303F), (0x30FB, 0x30FB), (0xD800, 0xF8FF), (0xFE00, 0xFE1F), (0xFE30, 0xFE6F),
    (0xFEFF, 0xFEFF), (0xFF00, 0xFF0F), (0xFF1A, 0xFF20), (0xFF3B, 0xFF40), (0xFF5B, 0xFF65),
    (0xFFF0, 0xFFFF), (0xE0000, 0x10FFFF),
)  # fmt: skip
_WORDS = (
    (0x0E00, 0x0FFF),  # Thai, Lao, Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19FF),  # Tai Le, New Tai Lue, Khmer symbols
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x2E80, 0x2FDF),  # CJK radicals
    (0x3000, 0x312F),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),  # CJK ideographs
    (0x4E00, 0xA4CF),  # CJK ideographs, Yi
    (0xA9E0, 0xA9FF),  # Myanmar
    (0xAA60, 0xAADF),  # Myanmar, Tai Viet
    (0xF900, 0xFAFF),  # CJK ideographs
    (0xFF66, 0xFF9F),  # halfwidth Katakana
    (0x1B000, 0x1B16F),  # Kana
    (0x1F000, 0x1FAFF),  # emoji
    (0x20000, 0x3FFFF),  # CJK ideographs
)


def _character_kinds() -> NDArray[np.uint8]:
    kinds = np.full(sys.maxunicode + 1, _LETTER, np.uint8)
    for kind, ranges in (_WORD, _WORDS), (_SEPARATOR, _SEPARATORS):
        for first, last in ranges:
            kinds[first : last + 1] = kind
    kinds.flags.writeable = False
    return kinds


def _powers(base: int, count: int) -> NDArray[np.uint64]:
    """base**0, base**1, ... modulo 2**64."""
    factors = np.full(count, base, np.uint64)
    factors[0] = 1
    powers = np.multiply.accumulate(factors)
    powers.flags.writeable = False
    return powers


_KINDS = _character_kinds()
#: Characters of scripts without spaces: those that are words by themselves, without emoji.
_UNSPACED = _KINDS == _WORD
_UNSPACED[0x1F000:0x1FB00] = False
_UNSPACED.flags.writeable = False
#: By character of ASCII: it case folded, and 0 if it separates words.
_ASCII_FOLDED = bytes(
    0 if _KINDS[each] == _SEPARATOR else ord(chr(each).lower()) for each in range(128)
).ljust(256, b"\0")
_A_INVERSE = pow(_A, -1, 2**64)
_POWERS = _powers(_A, 32_769)  # enough for most pages
_INVERSE_POWERS = _powers(_A_INVERSE, 32_769)


def word_hashes(text: str) -> NDArray[np.uint64]:
    """64-bit hashes of the words of a text, in their order.

    >>> word_hashes("It rains. IT RAINS!").tolist() == word_hashes("it rains it rains").tolist()
    True
    >>> len(word_hashes("It rains in 東京"))
    5
    """
    characters, in_word, starts = _split_ascii(text) if text.isascii() else _split(text.casefold())
    count = characters.size
    if starts.size == 0:
        return np.empty(0, np.uint64)

    # Powers count from the beginning of the text; the inverse powers shift them to that of the word.
    is_short = count < _POWERS.size
    powers = _POWERS if is_short else _powers(_A, count + 1)
    inverse_powers = _INVERSE_POWERS if is_short else _powers(_A_INVERSE, count + 1)
    sums = (characters * in_word) * powers[1 : count + 1]
    sums.cumsum(out=sums)  # modulo 2**64, and several times faster than adding up word by word
    before = sums.take(starts[1:] - 1)  # each word but the first
    hashes = np.concatenate((before, sums[-1:]))
    hashes[1:] -= before
    hashes *= inverse_powers.take(starts)
    return hashes


def words(text: str) -> list[str]:
    """Words of a text, case folded, in their order: those that `word_hashes` hashes.

    >>> words("It rains in 東京.")
    ['it', 'rains', 'in', '東', '京']
    """
    return [word for _, word in word_places(text)]


def word_places(text: str) -> list[tuple[int, str]]:
    """The same words, each with its place in the case folded text.

    >>> word_places("in 東京")
    [(0, 'in'), (3, '東'), (4, '京')]
    """
    folded = text.casefold()
    _, in_word, starts = _split(folded)
    lengths = np.add.reduceat(in_word, starts, dtype=np.int64) if starts.size else starts
    return [
        (start, folded[start : start + length])
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
    ]


def is_unspaced(word: str) -> bool:
    """Whether a word is one character of a script that is written without spaces; an emoji is not.

    >>> is_unspaced("京"), is_unspaced("in"), is_unspaced("😀")
    (True, False, False)
    """
    return len(word) == 1 and bool(_UNSPACED[ord(word)])


def pair_hashes(text: str) -> NDArray[np.uint64]:
    """64-bit hashes of every two neighbouring characters of scripts without spaces, in their order.

    They are made as those of words are, and no word has the same characters.

    >>> len(pair_hashes("It rains in 東京都, 今")), len(pair_hashes("It rains"))
    (2, 0)
    """
    if text.isascii():
        return np.empty(0, np.uint64)
    characters = np.frombuffer(text.casefold().encode("utf-32-le", "surrogatepass"), "<u4")
    is_one = _UNSPACED.take(characters)
    (first,) = (is_one[:-1] & is_one[1:]).nonzero()
    one, two = characters.take(first).astype(np.uint64), characters.take(first + 1).astype(np.uint64)
    hashes: NDArray[np.uint64] = one * _POWERS[1] + two * _POWERS[2]
    return hashes


def _split(folded: str) -> tuple[NDArray[np.uint32], NDArray[np.bool_], NDArray[np.intp]]:
    """Code points of a text, whether each is part of a word, and where words begin."""
    characters = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), "<u4")
    kinds = _KINDS.take(characters)
    in_word = kinds != _SEPARATOR
    begins = _beginnings(in_word)
    if not folded.isascii():
        is_word = kinds == _WORD
        begins |= is_word
        begins[1:] |= in_word[1:] & is_word[:-1]
    (starts,) = begins.nonzero()
    return characters, in_word, starts


def _split_ascii(text: str) -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.intp]]:
    """The same of a text that is ASCII and not case folded yet, in two thirds of the time."""
    characters = np.frombuffer(text.encode("ascii").translate(_ASCII_FOLDED), np.uint8)
    in_word = characters != 0
    return characters, in_word, _beginnings(in_word).nonzero()[0]


def _beginnings(in_word: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where runs of words' characters begin."""
    begins = in_word.copy()
    np.greater(in_word[1:], in_word[:-1], out=begins[1:])
    return begins


def shingle_hashes(hashes: NDArray[np.uint64], words: int) -> NDArray[np.uint32]:
    """32-bit hashes of every run of so many words, in their order; of all words if there are fewer.

    >>> shingle_hashes(np.array([1, 2, 3, 1, 2, 3], np.uint64), words=3).size
    4
    """
    if words < 1:
        raise ValueError(f"a shingle has at least one word, got {words}")
    if hashes.size == 0:
        return np.empty(0, np.uint32)
    length = min(words, hashes.size)
    count = hashes.size - length + 1
    sums = hashes[:count].copy()
    for place in range(1, length):
        sums *= _B
        sums += hashes[place : place + count]
    sums ^= sums >> _HALF
    sums *= _C
    return (sums >> _HALF).astype(np.uint32)


def distinct(hashes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Different hashes, ascending; several times faster than ``np.unique``.

    >>> distinct(np.array([7, 3, 7], np.uint32)).tolist()
    [3, 7]
    """
    hashes = np.sort(hashes)
    is_first = np.ones(hashes.size, bool)
    np.not_equal(hashes[1:], hashes[:-1], out=is_first[1:])
    return hashes[is_first]


def shingles(text: str, words: int) -> NDArray[np.uint32]:
    """Unique 32-bit hashes, ascending, of the word k-grams of a text.

    >>> shingles("a rose is a rose is a rose", words=4).size
    3
    >>> shingles("A rose!", words=4).size, shingles("...", words=4).size
    (1, 0)
    """
    return distinct(shingle_hashes(word_hashes(text), words))
