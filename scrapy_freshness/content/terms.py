"""Terms: what queries ask for and what pages contain, made comparable.

A term is a word as fragments have it (`shingles.py`: runs of letters, marks and digits; an emoji is one of
its own) of a text that was

* brought into Unicode's compatibility composition (NFKC), so that ligatures, full-width letters and
  accents written as marks of their own are what they look like, and
* case folded, and composed once more, because folding takes some letters apart.

Scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese, ...) would need a dictionary to be cut
into words. In its place a query's run of such characters is cut into pairs that overlap: 東京都 asks for 東京
and 京都. A character that stands alone is a term as well. Pages are searched for both.

Accents count: "resume" does not find "résumé". There is no list of stop words, which would be one for every
language: a word that is on every page has a low weight by its document frequency, and a query of nothing
but such words still has terms.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.content.shingles import is_unspaced, pair_hashes, word_hashes, word_places

#: A longer word is no word that anybody searches for but what was pasted by mistake.
MAX_TERM_CHARS = 64
#: Further terms of a query do not count; search engines have limits like this one.
MAX_QUERY_TERMS = 32


def normalised(text: str) -> str:
    """A text as terms are cut from it.

    >>> normalised("Ｃafe\\u0301 STRASSE Straße")
    'café strasse strasse'
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def query_terms(query: str) -> tuple[str, ...]:
    """The different terms of a query, in their order; none of a query without words.

    >>> query_terms("Tokyo hotels, TOKYO 東京 😀!")
    ('tokyo', 'hotels', '東京', '😀')
    >>> query_terms("???")
    ()
    """
    found = dict.fromkeys(term for term in _terms(normalised(query)) if len(term) <= MAX_TERM_CHARS)
    return tuple(found)[:MAX_QUERY_TERMS]


def _terms(text: str) -> Iterator[str]:
    """Words, and pairs of characters where a script has no spaces."""
    run, end = "", 0
    for place, word in word_places(text):
        if not is_unspaced(word) or place != end:
            yield from _pairs(run)
            run = ""
        if is_unspaced(word):
            run += word
        else:
            yield word
        end = place + len(word)
    yield from _pairs(run)


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[place : place + 2] for place in range(len(run) - 1)]


def term_frequencies(queries: Iterable[tuple[str, float]]) -> dict[str, float]:
    """How often each term is asked for, by how often the queries are in which it occurs.

    >>> term_frequencies([("blue shoes", 3), ("Shoes", 2), ("", 1)])
    {'blue': 3.0, 'shoes': 5.0}
    """
    frequencies: dict[str, float] = {}
    for query, count in queries:
        if not (isfinite(count) and count >= 0):
            raise ValueError(f"a query is asked for 0 times or more, got {count}: {query[:100]!r}")
        for term in query_terms(query):
            frequencies[term] = frequencies.get(term, 0.0) + count
    return frequencies


def term_hashes(text: str) -> tuple[NDArray[np.uint64], int]:
    """64-bit hashes of all terms of a page's text, repetitions among them, and how many words it has.

    The words come first, in their order, then the pairs of characters. A text that is normalised but for its
    capitals has the hashes of `word_hashes`, which fragments are made from.

    >>> hashes, length = term_hashes("ﬁne Fine 東京")
    >>> len(hashes), length, len(set(hashes.tolist()))
    (5, 4, 4)
    """
    text = normalised(text)
    words, pairs = word_hashes(text), pair_hashes(text)
    return (np.concatenate((words, pairs)) if pairs.size else words), words.size


def term_hash(term: str) -> int:
    """Hash of one term, as `query_terms` gives it.

    Raises
    ------
    ValueError
        It is not one term.
    """
    hashes, length = term_hashes(term)
    if not (length == 1 or (length == 2 and len(hashes) == 3)):
        raise ValueError(f"a term is one word, got {term[:100]!r}")
    return int(hashes[-1])


def hashes_of_terms(terms: Sequence[str]) -> NDArray[np.uint64]:
    """Hashes of many terms, a hundred times as fast as one by one.

    >>> hashes_of_terms(["rain", "東京"]).tolist() == [term_hash("rain"), term_hash("東京")]
    True
    """
    is_pair = np.array([len(term) == 2 and all(map(is_unspaced, term)) for term in terms], np.bool_)
    hashes = np.empty(len(terms), np.uint64)
    for which, hashed in ((is_pair, pair_hashes), (~is_pair, word_hashes)):
        (places,) = which.nonzero()
        for start in range(0, len(places), 1_000):  # short enough for powers that are there already
            some = places[start : start + 1_000]
            found = hashed(normalised("\n".join(terms[place] for place in some.tolist())))
            if len(found) != len(some):  # one of them is not one term: say which
                found = np.array([term_hash(terms[place]) for place in some.tolist()], np.uint64)
            hashes[some] = found
    return hashes
