"""Dates as sitemaps, feeds and headers write them, right and wrong, with the precision they have.

`datetime.fromisoformat` refuses years, months and all that is nearly right; dateutil invents the days that
are not written. Here a date is as exact as its text: ``2026-11`` is some time in November.
"""

import re
from calendar import monthrange, timegm
from functools import lru_cache

from scrapy_freshness.signals.contract import Moment

#: No page has changed before there was a web; such dates stand for "unknown".
_FIRST_YEAR = 1990
_LONGEST = 64
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0

_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_MONTHS = {name: number for number, name in enumerate(_NAMES, start=1)}
_ZONES = {  # hours east of Greenwich; all that RFC 822 names, and what else is common in feeds
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "JST": 9,
}  # fmt: skip

_MONTH = rf"(?P<name>{'|'.join(_NAMES)})[A-Z]*+\.?"
_WEEKDAY = r"(?:(?:MON|TUE|WED|THU|FRI|SAT|SUN)[A-Z]*+\.?,?\s*)?"
_CLOCK = (
    r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d++))?)?"
    r"(?:\s*(?P<half>[AP])\.?M\b\.?)?"
)
_ZONE = (
    r"\s*(?:(?:[A-Z]{1,5})?(?P<sign>[+-])(?P<east>\d\d?):?(?P<east_minutes>\d\d)?|(?P<zone>[A-Z]{1,5}))?"
    r"(?:\s*\([^()]*\)|\s[A-Z]{3,5})?"
)
_FORMS = [
    re.compile(form, re.ASCII)
    for form in (
        # W3C date and time, also with a space or slashes, and all digits without separators
        r"(?P<year>\d{4})(?:([-/.])(?P<month>\d\d?)"
        rf"(?:\2(?P<day>\d\d?)(?:(?:\s*T\s*|\s+){_CLOCK}{_ZONE})?)?)?",
        rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d){_ZONE}",
        r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)"
        rf"(?:[T ]?(?P<hour>\d\d):?(?P<minute>\d\d):?(?P<second>\d\d)(?:\.(?P<fraction>\d++))?{_ZONE})?",
        # RFC 822, 850 and 2822: Tue, 17 Nov 2026 04:05:06 GMT
        rf"{_WEEKDAY}(?P<day>\d\d?)(?:ST|ND|RD|TH)?[\s.-]*{_MONTH}[\s,-]*(?P<year>\d{{4}}|\d\d)"
        rf"(?:[\s,T]+{_CLOCK}{_ZONE})?",
        # November 17, 2026 4:05 PM
        rf"{_WEEKDAY}{_MONTH}\s*(?P<day>\d\d?)(?:ST|ND|RD|TH)?,?\s+(?P<year>\d{{4}})"
        rf"(?:(?:[\s,]|AT\b)+{_CLOCK}{_ZONE})?",
        # asctime: Tue Nov 17 04:05:06 2026
        rf"{_WEEKDAY}{_MONTH}\s+(?P<day>\d\d?)\s+{_CLOCK}{_ZONE}\s+(?P<year>\d{{4}})",
    )
]
# What nearly all dates with a time look like, at a quarter of the cost.
_USUAL = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d):(\d\d):(\d\d)(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_EPOCH = re.compile(r"(?P<seconds>[1-9]\d{8,9})(?P<thousandths>\d{3})?(?:\.\d*)?", re.ASCII)


def read_date(text: str) -> Moment | None:
    """Return what a text says about a time, None if it says nothing that can be used.

    Without a zone it is read as UTC, with an unknown one, too. Unix times in seconds and milliseconds are
    understood, two-digit years as RFC 2822 says, and 24:00. All-zero dates, 1970 and whatever else lies
    before the web is None; so is what has two meanings (``11/12/2026``). The future is not looked at.

    >>> read_date("2026-11-17"), read_date("2026-11")
    (Moment(at=1794873600.0, resolution=86400.0), Moment(at=1793491200.0, resolution=2592000.0))
    >>> read_date("Tue, 17 Nov 2026 04:05:06 +0100") == read_date(" 2026-11-17t03:05:06z")
    True
    >>> read_date("0000-00-00"), read_date("yesterday")
    (None, None)
    """
    if usual := _USUAL.fullmatch(text):
        date, hour, minute, second, sign, east, east_minutes = usual.groups()
        day = _of_text(date)
        if (
            day is not None
            and hour < "24"
            and minute < "60"
            and second < "60"
            and (sign is None or east < "24")
        ):
            at = day.at + int(hour) * 3600 + int(minute) * 60 + int(second)
            if sign:
                ahead = int(east) * 3600 + int(east_minutes) * 60
                at += ahead if sign == "-" else -ahead
            return Moment(at, 1.0)
    return _of_text(text)


@lru_cache(maxsize=4096)
def _of_text(text: str) -> Moment | None:
    text = text.strip()[: _LONGEST + 1].upper()
    if len(text) > _LONGEST:
        return None
    if epoch := _EPOCH.fullmatch(text):
        return _of_epoch(epoch)
    for form in _FORMS:
        if found := form.fullmatch(text):
            return _of_parts(found.groupdict())
    return None


def _of_epoch(found: re.Match[str]) -> Moment | None:
    at, resolution = float(found["seconds"]), 1.0
    if found["thousandths"]:
        at, resolution = at + int(found["thousandths"]) / 1000, 0.001
    return Moment(at, resolution) if at >= timegm((_FIRST_YEAR, 1, 1, 0, 0, 0)) else None


def _of_parts(parts: dict[str, str | None]) -> Moment | None:
    year = _year(parts["year"] or "")
    name = parts.get("name")
    month = _MONTHS[name] if name else int(parts.get("month") or 1)
    day = int(parts.get("day") or 1)
    if year < _FIRST_YEAR or not 1 <= month <= 12 or not 1 <= day <= (length := monthrange(year, month)[1]):
        return None
    start = timegm((year, month, day, 0, 0, 0))
    if parts.get("day") is None:
        dated_by_month = name is not None or parts.get("month") is not None
        days = length if dated_by_month else 365 + (monthrange(year, 2)[1] == 29)
        return Moment(float(start), days * _DAY)
    clock = _clock(parts)
    east = _seconds_east(parts)
    if clock is None or east is None:
        return None
    return Moment(start + clock.at - east, clock.resolution)


def _year(digits: str) -> int:
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (2000 if year < 50 else 1900)  # RFC 2822, section 4.3


def _clock(parts: dict[str, str | None]) -> Moment | None:
    """The time of the day, in seconds."""
    if parts.get("hour") is None:
        return Moment(0.0, _DAY)
    hour, minute, second = (int(parts.get(each) or 0) for each in ("hour", "minute", "second"))
    if half := parts.get("half"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "P" else 0)
    at = hour * _HOUR + minute * _MINUTE + second
    if minute > 59 or second > 60 or at > _DAY:  # a leap second, and 24:00:00, the end of the day
        return None
    if parts.get("second") is None:
        return Moment(at, _MINUTE)
    fraction = (parts.get("fraction") or "")[:9]
    return Moment(at + float(f"0.{fraction or 0}"), 10.0 ** -len(fraction))


def _seconds_east(parts: dict[str, str | None]) -> float | None:
    """How far the clocks of the zone are ahead of UTC."""
    if sign := parts.get("sign"):
        east = int(parts.get("east") or 0) * _HOUR + int(parts.get("east_minutes") or 0) * _MINUTE
        if east >= _DAY:
            return None
        return -east if sign == "-" else east
    return _ZONES.get(parts.get("zone") or "", 0) * _HOUR
