"""Numbers as people and programs write them: 1200, 1.5, 1,5, 1,200 and 1 200.

A point or comma before the last three digits may tell thousands apart or begin a fraction. Counts have no
thousandths, so there it tells thousands apart; elsewhere a point begins a fraction, as programs write it, and
a comma may be either.
"""

import re

#: No number of a file is as large: sums and products of such numbers stay finite, and whole ones exact.
TOO_LARGE = 1e15
#: Groups of three digits, and a fraction behind another sign than that between them.
_GROUPED = re.compile(r"[1-9]\d{0,2}([.,'\u2019\u00a0\u202f ])\d{3}(\1\d{3})*((?!\1)[.,]\d+)?")


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
    grouped = _GROUPED.fullmatch(text)
    if grouped:
        sign, more, fraction = grouped.groups()
        is_open = sign in ".," and not (is_count or more or fraction)
        if is_open and sign == ",":
            raise ValueError("ambiguous number: a comma before three digits")
        if not is_open:
            text = text.replace(sign, "")
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise ValueError("no number") from None
