"""Numbers as people and programs write them: 1200, 1.5, 1,5, 1,200 and 1 200.

A point or comma before the last three digits may tell thousands apart or begin a fraction. Counts hardly have
thousandths, so there it tells thousands apart, as exports write them (1,200 in English, 1.200 in German), and
the doubt is told; elsewhere a point begins a fraction, as programs write it, and a comma may be either.
"""

import re

#: No number of a file is as large: sums and products of such numbers stay finite, and whole ones exact.
TOO_LARGE = 1e15
#: Groups of three digits, and a fraction behind another sign than that between them.
_GROUPED = re.compile(r"[1-9]\d{0,2}([.,'\u2019\u00a0\u202f ])\d{3}(?:\1\d{3})*(?:(?!\1)[.,]\d+)?")
#: What is told of a count that is written so that it may be two.
DOUBTFUL_COUNT = "a count such as 1.234 or 1,234, read as 1234"
_DOUBTFUL = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")


def is_doubtful(text: str) -> bool:
    """Whether a number has thousands or thousandths.

    >>> is_doubtful("12.125"), is_doubtful("1,200"), is_doubtful("0.125"), is_doubtful("1,234,567")
    (True, True, False, False)
    """
    return _DOUBTFUL.fullmatch(text) is not None


def number_of(text: str, *, is_count: bool = False) -> float:
    """The number that is meant, which may be none (inf, nan); `ValueError` if there is none, or may be two.

    >>> number_of("1.5"), number_of("1,5"), number_of("1.200"), number_of("1 200"), number_of("1.200,5")
    (1.5, 1.5, 1.2, 1200.0, 1200.5)
    >>> number_of("1,200", is_count=True), number_of("1.200", is_count=True)
    (1200.0, 1200.0)
    >>> number_of("1,200")
    Traceback (most recent call last):
    ValueError: ambiguous number: a comma before three digits
    """
    if is_doubtful(text) and not is_count:
        if "," in text:
            raise ValueError("ambiguous number: a comma before three digits")
    elif grouped := _GROUPED.fullmatch(text):
        text = text.replace(grouped[1], "")
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise ValueError("no number") from None
