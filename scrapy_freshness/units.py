"""Turn what users write in settings and options ("2/s", "57h", "2MB") into numbers, or refuse it."""

import math
import re
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any, TypeVar

from scrapy_freshness.errors import ConfigError

V = TypeVar("V")

_SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "m": 60.0, "min": 60.0, "minute": 60.0}
_SECONDS |= {"minutes": 60.0, "h": 3600.0, "hour": 3600.0, "hours": 3600.0, "d": 86400.0, "day": 86400.0}
_SECONDS |= {"days": 86400.0, "w": 604800.0, "week": 604800.0, "weeks": 604800.0}
_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def parsed(name: str, value: Any, parse: Callable[[Any], V]) -> V:
    """What is meant by the value of a setting or option; `ConfigError` names both, and the remedy."""
    try:
        return parse(value)
    except (ValueError, TypeError, AttributeError) as error:
        remedy = REMEDY.get(parse) or str(error)
        if parse is patterns and isinstance(error, ValueError) and str(error):
            remedy = f"{remedy}: {error}"
        raise ConfigError(f"{name} cannot be {value!r}: {remedy}") from None


def rate(value: Any) -> float:
    """Parse a number of fetches per time unit.

    >>> rate("2/s"), rate("7200/h"), rate("86400/day")
    (2.0, 2.0, 1.0)
    """
    number, slash, unit = str(value).partition("/")
    return _above_zero(_number(number) / (_unit(_SECONDS, unit.strip()) if slash else 1))


def duration(value: Any) -> float:
    """Parse a length of time; a bare number is in seconds.

    >>> duration("57h"), duration("1.5 min"), duration(30)
    (205200.0, 90.0, 30.0)
    """
    match = re.fullmatch(r"\s*([\d.eE+-]+)\s*([a-zA-Z]*)\s*", str(value))
    if match is None:
        raise ValueError
    return _at_least_zero(_number(match[1]) * _unit(_SECONDS, match[2] or "s"))


def size(value: Any) -> int:
    """Parse a number of bytes.

    >>> size("2 MB"), size(512)
    (2000000, 512)
    """
    match = re.fullmatch(r"\s*([\d.]+)\s*([a-zA-Z]*)\s*", str(value))
    if match is None:
        raise ValueError
    number = _above_zero(_number(match[1]) * _unit(_BYTES, match[2]))
    return positive_int(int(number))


def switch(value: Any) -> bool:
    """Parse a truth value as Scrapy does (``bool("False")`` would be true).

    >>> switch("False"), switch(1), switch("true")
    (False, True, True)
    """
    text = str(value).strip().lower()
    if text not in {"0", "1", "true", "false"}:
        raise ValueError
    return text in {"1", "true"}


def share(value: Any) -> float:
    """Parse a number from 0 to 1."""
    number = _at_least_zero(_number(value))
    if number > 1:
        raise ValueError
    return number


def amount(value: Any) -> float:
    """Parse a number of at least 0."""
    return _at_least_zero(_number(value))


def positive_int(value: Any) -> int:
    """Parse a whole number of at least 1."""
    number = _number(value)
    if number < 1 or number != int(number):
        raise ValueError
    return int(number)


def words(value: Any) -> tuple[str, ...]:
    """Parse a list of strings, or a comma-separated string of them.

    >>> words("a, b"), words(["a"]), words(None)
    (('a', 'b'), ('a',), ())
    """
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    if not all(isinstance(word, str) for word in value):
        raise ValueError
    return tuple(value)


def policy_names(text: str) -> tuple[str, ...]:
    """Parse a comma-separated string of policies, each once; the papers write theirs in capitals.

    >>> policy_names("greedy, FS-S, Greedy")
    ('greedy', 'fs-s')
    """
    return tuple(dict.fromkeys(words(text.lower())))


def patterns(value: Any) -> tuple[re.Pattern[str], ...]:
    """Parse a list of regular expressions (a single string is one expression)."""
    expressions = [value] if isinstance(value, str) and value else value or ()
    try:
        return tuple(re.compile(expression) for expression in expressions)
    except re.error as error:
        raise ValueError(f"not a regular expression ({error})") from None


def replacements(value: Any) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Parse a list of pairs: a regular expression, and what takes the place of what it matches.

    >>> [(pattern.pattern, by) for pattern, by in replacements([["x+", "y"]])]
    [('x+', 'y')]
    """
    pairs = [(text(expression), text(by)) for expression, by in value or ()]
    try:
        compiled = tuple((re.compile(expression), by) for expression, by in pairs)
        for pattern, by in compiled:
            pattern.sub(by, "")
    except (re.error, IndexError) as error:
        raise ValueError(f"not a regular expression and its replacement ({error})") from None
    return compiled


def web_hosts(value: Any) -> tuple[str, ...]:
    """Parse a list of hosts into the URLs of their main pages; one without a scheme is asked by https.

    >>> web_hosts("example.com, http://intranet:8080/")
    ('https://example.com/', 'http://intranet:8080/')
    """
    found = []
    for word in words(value):
        match = re.fullmatch(r"(?:(?i:(https?))://)?([^\s/?#@]+)/?", word.strip())
        if match is None:
            raise ValueError
        found.append(f"{(match[1] or 'https').lower()}://{match[2].lower()}/")
    return tuple(dict.fromkeys(found))


def selectors(value: Any) -> dict[str, tuple[str, ...]]:
    """Parse a mapping of domain (or ``*``) to CSS selectors."""
    if not isinstance(value, Mapping):
        raise ValueError
    return {str(domain): words(chosen) for domain, chosen in value.items()}


def endpoint(value: Any) -> tuple[str, int] | None:
    """Parse an address and a port to listen on; None for nothing.

    >>> endpoint("127.0.0.1:8099"), endpoint("[::1]:0"), endpoint("")
    (('127.0.0.1', 8099), ('::1', 0), None)
    """
    if value in ("", None):
        return None
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:/\[\]]+)):(\d{1,5})", str(value).strip())
    if match is None or int(match[3]) > 65_535:
        raise ValueError
    return match[1] or match[2], int(match[3])


def is_loopback(host: str) -> bool:
    """Whether a name or an address means this machine.

    >>> is_loopback("LocalHost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def base_url(value: Any) -> str:
    """Parse the URL that paths are appended to; the empty string stays one.

    >>> base_url("https://crawler.example/pings/")
    'https://crawler.example/pings'
    """
    written = text(value).strip()
    if written and not re.fullmatch(r"(?i:https?)://[^\s/?#@]+(?:/[^\s?#]*)?", written):
        raise ValueError
    return written.rstrip("/")


def keys_of_hosts(value: Any) -> dict[str, str]:
    """Parse a mapping of host to IndexNow key."""
    if not isinstance(value, Mapping):
        raise ValueError
    keys = {str(host).lower(): str(key) for host, key in value.items()}
    if not all(re.fullmatch(r"[A-Za-z0-9-]{8,128}", key) for key in keys.values()):
        raise ValueError
    return keys


def choice(*options: str) -> Callable[[Any], str]:
    """Make a parser that takes one of *options*."""

    def parse(value: Any) -> str:
        if str(value) not in options:
            raise ValueError(f"choose one of {', '.join(options)}")
        return str(value)

    return parse


def text(value: Any) -> str:
    """Parse a string."""
    if not isinstance(value, str):
        raise ValueError
    return value


def whole(least: int, most: int) -> Callable[[Any], int]:
    """Make a parser that takes a whole number from *least* to *most*."""

    def parse(value: Any) -> int:
        try:
            number = _number(value)
        except ValueError:
            number = math.nan
        if not (least <= number <= most and number == int(number)):
            raise ValueError(f"write a whole number from {least} to {most}")
        return int(number)

    return parse


def numbers(least: float, most: float = math.inf) -> Callable[[Any], float]:
    """Make a parser that takes a number from *least* to *most*.

    >>> numbers(0, 1)("0.5")
    0.5
    """

    def parse(value: Any) -> float:
        try:
            number = _number(value)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            bound = f" and at most {most:g}" if most < math.inf else ""
            raise ValueError(f"write a number of at least {least:g}{bound}")
        return number

    return parse


def durations(least: float, most: float) -> Callable[[Any], float]:
    """Make a parser that takes a length of time from *least* to *most* seconds.

    >>> durations(1, 3600)("1min")
    60.0
    """

    def parse(value: Any) -> float:
        try:
            seconds = duration(value)
        except ValueError:
            seconds = math.nan
        if not least <= seconds <= most:
            raise ValueError(f"{REMEDY[duration]}, from {least:g}s to {most / _SECONDS['d']:g}d")
        return seconds

    return parse


def _unit(sizes: Mapping[str, float], name: str) -> float:
    if name.lower() not in sizes:
        raise ValueError
    return sizes[name.lower()]


def _number(value: Any) -> float:
    number = float(str(value))  # by way of text: True is no number, and no integer is too large
    if not math.isfinite(number):
        raise ValueError
    return number


def _above_zero(number: float) -> float:
    if not 0 < number < math.inf:
        raise ValueError
    return number


def _at_least_zero(number: float) -> float:
    if not 0 <= number < math.inf:
        raise ValueError
    return number


#: Remedy shown when a parser refuses without saying why.
REMEDY: dict[Callable[[Any], Any], str] = {
    rate: 'write a rate above 0 such as "2/s", "5000/h" or "100000/day"',
    duration: 'write a duration such as "30s", "10min", "2h" or "7d"',
    size: 'write a size above 0 such as "500kB" or "2MB"',
    switch: "write True or False",
    share: "write a number from 0 to 1",
    amount: "write a number of at least 0",
    int: "write a whole number",
    float: "write a number",
    positive_int: "write a whole number of at least 1",
    words: "write a list of strings",
    patterns: "write a list of regular expressions",
    replacements: 'write a list of pairs, a regular expression and its replacement: [("&lang=..", "")]',
    web_hosts: 'write a list of hosts such as ["www.example.com", "http://localhost:8000"]',
    selectors: 'write a dict of domain to CSS selectors such as {"example.com": ["main"]}',
    text: "write a string",
    endpoint: 'write an address and a port such as "127.0.0.1:8099"',
    base_url: 'write a URL such as "https://crawler.example/pings", without query',
    keys_of_hosts: 'write a dict of host to key, 8 to 128 letters, digits or hyphens: {"a.example": "..."}',
}
