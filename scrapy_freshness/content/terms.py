"""Terms: what queries ask for and what pages contain, made comparable.

A term is a word as fragments have it (`shingles.py`: runs of letters, marks and digits; every character of
a script without spaces, and every emoji, is one of its own) of a text that was

* brought into Unicode's compatibility composition (NFKC), so that ligatures, full-width letters and
  accents written as marks of their own are what they look like, and
* case folded, and composed once more, because folding takes some letters apart.

Accents count: "resume" does not find "résumé". There is no list of stop words, which would be one for every
language: a word that is on every page has a low weight by its document frequency, and a query of nothing
but such words still has terms.
"""

import unicodedata
from collections.abc import Iterable
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.content.shingles import word_hashes, words

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
    ('tokyo', 'hotels', '東', '京', '😀')
    >>> query_terms("???")
    ()
    """
    found = dict.fromkeys(word for word in words(normalised(query)) if len(word) <= MAX_TERM_CHARS)
    return tuple(found)[:MAX_QUERY_TERMS]


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


def term_hashes(text: str) -> NDArray[np.uint64]:
    """64-bit hashes of all terms of a page's text, in their order, repetitions among them.

    A text that is normalised but for its capitals has the hashes of `word_hashes`, which fragments are
    made from.

    >>> term_hashes("ﬁne Fine").tolist() == term_hashes("fine fine").tolist()
    True
    """
    return word_hashes(normalised(text))
