"""Numbers, times and foreign text as a person likes to read them.

Lengths of time and sizes have two or three figures, which is more than is known of most of them.
"""

import math
from datetime import UTC, datetime

NOTHING = "–"

#: Unit and its seconds, and up to how many seconds it is used.
_TIME_UNITS = (
    ("ms", 1e-3, 1.0),
    ("s", 1.0, 90.0),
    ("min", 60.0, 90 * 60.0),
    ("h", 3600.0, 36 * 3600.0),
    ("d", 86400.0, 730 * 86400.0),
    ("y", 365.25 * 86400.0, math.inf),
)
_RATE_UNITS = (("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86400.0))
_SIZE_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def duration(seconds: float) -> str:
    """A length of time.

    >>> duration(0.35), duration(45), duration(11500), duration(4e6)
    ('350 ms', '45 s', '3.2 h', '46 d')
    """
    if math.isnan(seconds):
        return NOTHING
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if seconds == 0:
        return "0 s"
    if math.isinf(seconds):
        return "for ever"
    unit, length, _ = next(each for each in _TIME_UNITS if seconds < each[2])
    return f"{_two_figures(seconds / length)} {unit}"


def span(shortest: float, longest: float) -> str:
    """From one length of time to another, with the unit once if it is the same.

    >>> span(6840, 20160), span(2400, 20160)
    ('1.9–5.6 h', '40 min–5.6 h')
    """
    low, high = duration(shortest), duration(longest)
    if low == high:
        return low
    if low.split()[1:] == high.split()[1:]:
        low = low.split()[0]
    return f"{low}–{high}"


def every(rate: float, low: float = 0.0, high: float = 0.0, *, is_assumed: bool = False) -> str:
    """A rate per second as the time between two events, with the interval that it lies in.

    The interval is that by visits alone; if signals say that the rate is beyond it, it goes so far.

    >>> every(1 / 11520, 1 / 20160, 1 / 6840), every(2.0), every(2.0, 1.0, 4.0, is_assumed=True)
    ('every 3.2 h (1.9–5.6 h)', 'every 500 ms', 'every 500 ms, assumed')
    >>> every(1 / 40, 1 / 39, 1 / 15)
    'every 40 s (15–40 s)'
    """
    if not rate > 0:
        return NOTHING
    text = f"every {duration(1 / rate)}"
    if is_assumed:
        return f"{text}, assumed"
    return f"{text} ({span(1 / max(high, rate), 1 / min(low, rate))})" if low > 0 and high > 0 else text


def relative(time: float | None, now: float) -> str:
    """A point in time as seen from now.

    >>> relative(100, 400), relative(400, 100), relative(100, 100.4), relative(None, 0)
    ('5 min ago', 'in 5 min', 'now', 'never')
    """
    if time is None or math.isnan(time) or math.isinf(time):
        return "never"
    if abs(now - time) < 0.5:
        return "now"
    return f"{duration(now - time)} ago" if time < now else f"in {duration(time - now)}"


def expected(time: float, now: float) -> str:
    """When something is to happen.

    >>> expected(100, 400), expected(400, 100)
    ('due', 'in 5 min')
    """
    if math.isnan(time):
        return NOTHING
    return "due" if time <= now else relative(time, now)


def moment(time: float | None) -> str:
    """A point in time by the calendar.

    >>> moment(1794841685.08), moment(None), moment(1e300)
    ('2026-11-16 15:08:05 UTC', '–', '–')
    """
    if time is None:
        return NOTHING
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return NOTHING


def number(value: float) -> str:
    """A number with three figures, or whole.

    >>> number(0.012345), number(12.345), number(12345.6), number(7)
    ('0.0123', '12.3', '12,346', '7')
    """
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= 1e12:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 999.5 or value == int(value) else f"{value:.3g}"


def rate(per_second: float) -> str:
    """A number of events per time, in the shortest unit that has at least one.

    >>> rate(40), rate(0.5), rate(1 / 7200)
    ('40/s', '30/min', '12/d')
    """
    unit, seconds = next((each for each in _RATE_UNITS if per_second * each[1] >= 1), _RATE_UNITS[-1])
    return f"{number(per_second * seconds)}/{unit}"


def share(value: float) -> str:
    """A share from 0 to 1 in per cent.

    >>> share(0.8214), share(0.0001), share(1)
    ('82.1 %', '<0.1 %', '100 %')
    """
    if math.isnan(value):
        return NOTHING
    if 0 < value < 0.001:
        return "<0.1 %"
    text = f"{100 * value:.1f}"
    return f"{text.removesuffix('.0')} %"


def size(n_bytes: float) -> str:
    """A number of bytes.

    >>> size(512), size(688128), size(2.5e9)
    ('512 B', '688 kB', '2.5 GB')
    """
    for unit in _SIZE_UNITS[:-1]:
        if n_bytes < 999.5:
            return f"{_two_figures(n_bytes)} {unit}" if unit != "B" else f"{n_bytes:.0f} B"
        n_bytes /= 1000
    return f"{_two_figures(n_bytes)} {_SIZE_UNITS[-1]}"


def count(n: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "page"), count(1200, "page"), count(2, "fetch")
    ('1 page', '1,200 pages', '2 fetches')
    """
    if n == 1:
        return f"{n:,} {noun}"
    return f"{n:,} {noun}es" if noun.endswith("ch") else f"{n:,} {noun}s"


def safe(text: str) -> str:
    r"""Text from the web without what a terminal would obey: control characters are spelt out.

    >>> safe("http://a.example/\x1b[31m\u202e")
    'http://a.example/\\x1b[31m\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def clipped(text: str, length: int) -> str:
    """Text of at most *length* characters; what is too long loses its middle.

    >>> clipped("http://a.example/something", 15)
    'http://…mething'
    """
    if len(text) <= length:
        return text
    end = (length - 1) // 2
    return f"{text[: length - 1 - end]}…{text[len(text) - end :]}"


def _two_figures(value: float) -> str:
    return f"{value:.2g}" if value < 9.95 else f"{value:,.0f}"
