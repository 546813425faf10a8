r"""Access logs of web servers: Common Log Format and Combined, with or without the virtual host in front.

::

    example.com:443 203.0.113.9 - - [17/Nov/2026:04:05:06 +0000] "GET /a HTTP/1.1" 200 512 "-" "Mozilla/5.0"

Only GET requests that were answered with a page (200, 304) are clicks, and only those of people: whoever has
a bot's name, or none where others have one, is none. A whole block is taken apart by one regular
expression; what is the same in many lines, times and user agents, is looked at once.
"""

import re
from calendar import timegm
from collections import Counter
from typing import TypeVar

import numpy as np

from scrapy_freshness.imports.clicks import FUTURE_SECONDS, ClickBatch
from scrapy_freshness.imports.contract import BadLine, Parsed
from scrapy_freshness.imports.tables import count_lines

# What is between quotes, where a quote has a backslash before it. Nothing here ever steps back.
_QUOTED = rb'[^"\\\n]*+(?:\\.[^"\\\n]*+)*+'
_FROM_TIME = (
    rb"\[([^\]\n]++)\] "
    rb'"([^" \n]*+) ?([^"\\ \n]*+(?:\\.[^"\\ \n]*+)*+)' + _QUOTED + rb'" '  # method, target, protocol
    rb"(\d{3}) [^ \n]++"  # status, size
    rb'(?: "' + _QUOTED + rb'" "(' + _QUOTED + rb"))?[^\n]*+$"  # referrer, user agent
)
#: Client, identity and user, which may have spaces; before them the virtual host, or nothing.
_WITHOUT_HOST = re.compile(rb"^()[^ \n]++ [^ \n]++ [^\[\n]*+" + _FROM_TIME, re.MULTILINE)
_WITH_HOST = re.compile(rb"^([^ \n]++) [^ \n]++ [^ \n]++ [^\[\n]++" + _FROM_TIME, re.MULTILINE)
_NAMES_HOST = re.compile(rb"[A-Za-z0-9.\-]+(?::\d+)?|\[[0-9a-fA-F:.]+\](?::\d+)?")
_FIELDS_WITH_HOST = 4  # before the time
_TIME = re.compile(rb"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):\d\d ([+-])(\d\d)(\d\d)")
_MONTHS = {
    name: number
    for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1)
}
_SCHEMES = {"443": "https", "80": "http"}
#: What programs that are no browsers call themselves.
_BOTS = re.compile(
    rb"(?<!cu)bot|crawl|spider|slurp|scrapy|archiv|fetch|monitor|check|scan|preview|feed|python|perl|ruby|java/|"
    rb"go-http|curl|wget|libwww|httpclient|http-client|headless|phantom|https?:|\+http|facebookexternalhit",
    re.IGNORECASE,
)
V = TypeVar("V")

_CLICKED = frozenset((b"200", b"304"))
#: Lines that tell how the others are written.
_LOOKED_AT = 20
_SHOWN_BYTES = 400
#: Texts that are remembered, of each kind, and how long they may be.
_MOST_REMEMBERED, _LONGEST_REMEMBERED = 20_000, 500
#: No access log is older.
_FIRST_YEAR = 1990
_NO_TIME, _IN_FUTURE = -1.0, -2.0


class AccessLog:
    """Common and Combined Log Format.

    Parameters
    ----------
    now : requests that are later, by more than a day, are refused
    base_url : of logs without virtual hosts, like ``https://www.example.com``; empty if there are hosts
    with_bots : whether the requests of bots count, too
    """

    name = "access-log"
    is_log = True

    def __init__(self, now: float, *, base_url: str = "", with_bots: bool = False) -> None:
        self._now = now
        self._base_url = base_url
        self._with_bots = with_bots

    def parser(self, head: bytes) -> "_Parser | None":
        """By the first lines: those with a virtual host have a field more before the time."""
        lines = [line for line in head.split(b"\n", _LOOKED_AT)[:_LOOKED_AT] if _WITHOUT_HOST.match(line)]
        if not lines:
            return None
        has_host = all(_has_host(line) for line in lines)
        pattern = _WITH_HOST if has_host else _WITHOUT_HOST
        return _Parser(pattern, self._now + FUTURE_SECONDS, self._base_url, self._with_bots)


def _has_host(line: bytes) -> bool:
    fields = line.partition(b" [")[0].split()
    # A user may have spaces, too; but then the second field is the identity, which is never an address.
    is_longer = len(fields) >= _FIELDS_WITH_HOST and (b"." in fields[1] or b":" in fields[1])
    return is_longer and _NAMES_HOST.fullmatch(fields[0]) is not None


class _Parser:
    header_lines = 0

    def __init__(self, pattern: re.Pattern[bytes], latest: float, base_url: str, with_bots: bool) -> None:
        self._line = pattern
        self._latest = latest
        self._base = base_url.rstrip("/").encode()
        self._scheme = base_url.partition("://")[0] or "https"  #: of hosts for which the log does not tell it
        self._with_bots = with_bots
        self._times: dict[bytes, float] = {}
        self._minutes: dict[bytes, float] = {}
        self._is_bot: dict[bytes, bool] = {}

    def parse(self, block: bytes) -> Parsed[ClickBatch]:
        """Read whole lines."""
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        found = self._line.findall(block)
        n_lines = count_lines(block)
        bad: list[BadLine] = []
        ignored: Counter[str] = Counter()
        keys: dict[tuple[bytes, bytes], int] = {}
        numbers: list[int] = []
        times: list[float] = []
        known_times, known_agents, base = self._times, self._is_bot, self._base
        for host, when, method, target, status, agent in found:
            if method != b"GET" or status not in _CLICKED:
                ignored["no GET that was answered with a page"] += 1
                continue
            is_bot = known_agents.get(agent)
            if is_bot is None:
                is_bot = self._judged(agent)
            if is_bot:
                ignored["by bots"] += 1
                continue
            time = known_times.get(when)
            if time is None:
                time = self._read(when)
            if time < 0 or not (host or base):
                continue  # a bad line, see below
            key = (host, target)
            numbers.append(keys.setdefault(key, len(keys)))
            times.append(time)
        if len(found) < n_lines or len(numbers) + ignored.total() < len(found):
            bad = self._bad_lines(block)
        urls = [self._url(host, target) for host, target in keys]
        at = np.array(times, np.float64)
        batch = ClickBatch(urls, np.array(numbers, np.intp), at, np.zeros(len(at)), np.ones(len(at)), ignored)
        return Parsed(batch, n_lines, bad)

    def _judged(self, agent: bytes) -> bool:
        is_bot = self._is_bot.get(agent)
        if is_bot is not None:
            return is_bot
        # No user agent at all: the Common Log Format, or who says nothing, which browsers never do.
        is_bot = not self._with_bots and (agent == b"-" or _BOTS.search(agent) is not None)
        return _remembered(self._is_bot, agent, is_bot)

    def _read(self, when: bytes) -> float:
        """Unix time; below 0 if it cannot be used. A minute is looked at once."""
        known = self._times.get(when)
        if known is not None:
            return known
        minute, second = when[:17] + when[20:], when[18:20]
        start = self._minutes.get(minute)
        if start is None:
            start = _remembered(self._minutes, minute, _start_of_minute(when))
        time = start
        if start >= 0:
            time = start + int(second) if second.isdigit() and when[17:18] == b":" else _NO_TIME
            time = time if time <= self._latest else _IN_FUTURE
        return _remembered(self._times, when, time)

    def _url(self, host: bytes, target: bytes) -> str:
        text = target.decode("utf-8", "replace")
        if not text.startswith("/"):
            return text  # absolute, as proxies get it; or nonsense, which no page has
        if not host:
            return self._base.decode() + text
        name, colon, port = host.decode("ascii", "replace").rpartition(":")
        if not colon or port.endswith("]"):
            name, port = host.decode("ascii", "replace"), ""
        usual = _SCHEMES.get(port)
        if usual is not None:
            return f"{usual}://{name}{text}"
        return f"{self._scheme}://{name}:{port}{text}" if port else f"{self._scheme}://{name}{text}"

    def _bad_lines(self, block: bytes) -> list[BadLine]:
        """Which lines cannot be used, and why; most blocks have none."""
        bad = []
        for index, line in enumerate(block.split(b"\n")):
            found = self._line.match(line)
            reason = ""
            if found is None:
                reason = "no line of an access log" if line.strip() else ""
            elif found[3] == b"GET" and found[5] in _CLICKED and not self._judged(found[6] or b""):
                time = self._read(found[2])
                if time < 0:
                    reason = "time in the future" if time == _IN_FUTURE else "no usable time"
                elif not (found[1] or self._base):
                    reason = "no host (--base-url says which)"
            if reason:
                bad.append(BadLine(index, reason, line[:_SHOWN_BYTES]))
        return bad


def _start_of_minute(when: bytes) -> float:
    """Unix time of a minute, in the notation of access logs; below 0 if it is none.

    >>> _start_of_minute(b"17/Nov/2026:05:05:06 +0100"), _start_of_minute(b"31/Foo/2026:05:05:06 +0100")
    (1794888300.0, -1.0)
    """
    found = _TIME.fullmatch(when)
    if found is None:
        return _NO_TIME
    day, name, year, hour, minute, sign, east_hours, east_minutes = found.groups()
    month = _MONTHS.get(name)
    if month is None or not 1 <= int(day) <= 31 or int(year) < _FIRST_YEAR:
        return _NO_TIME
    east = int(east_hours) * 3600 + int(east_minutes) * 60
    local = timegm((int(year), month, int(day), int(hour), int(minute), 0))
    return float(local - (east if sign == b"+" else -east))


def _remembered(known: dict[bytes, V], key: bytes, value: V) -> V:
    if len(known) >= _MOST_REMEMBERED:
        known.clear()
    if len(key) <= _LONGEST_REMEMBERED:
        known[key] = value
    return value
