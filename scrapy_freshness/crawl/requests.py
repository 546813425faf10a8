"""Requests that outlive the process: what a revisit needs beside the URL, as JSON.

A request can be kept if its callback and errback are methods of the spider and everything else of it
reads back from JSON exactly as it was.
"""

import json
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

#: Keys of request.meta that belong to one journey through Scrapy, not to the request.
JOURNEY = frozenset(
    {
        "dont_cache",
        "download_latency",
        "freshness_no_page",
        "freshness_page",
        "freshness_past_filter",
        "freshness_paid",
        "freshness_ping",
        "freshness_revisit",
        "freshness_visit",
        "redirect_reasons",
        "redirect_times",
        "redirect_ttl",
        "redirect_urls",
        "retry_times",
    }
)
#: Keys of request.meta that tell what the spider means by a request, whatever FRESHNESS_META_KEYS says.
_MARKS = ("freshness", "is_start_request")
_KEPT = ("callback", "errback", "dont_filter", "headers", "cookies", "encoding", "cb_kwargs", "flags", "meta")
_DEFAULTS: dict[str, Any] = {"encoding": "utf-8"}
_PORTS = {"http": 80, "https": 443}


class NotPersistableError(Exception):
    """A request that can be made now but not again after a restart; the text says why.

    *reason* is the same for all requests that have the same fault.
    """

    def __init__(self, reason: str, detail: object = None) -> None:
        super().__init__(reason if detail is None else f"{reason} ({detail})")
        self.reason = reason


class MissingCallbackError(Exception):
    """A stored request names a method that the spider does not have."""


def request_to_json(request: Request, spider: Spider, meta_keys: tuple[str, ...]) -> str | None:
    """Return what *request* has beside its URL, None if nothing; raises NotPersistableError."""
    try:
        described = request.to_dict(spider=spider)
    except ValueError as error:
        reason = (
            "callback and errback have to be methods of the spider;"
            " use cb_kwargs instead of functools.partial or lambda"
        )
        raise NotPersistableError(reason, error) from None
    kept = {
        key: described[key] for key in _KEPT if described.get(key) and described[key] != _DEFAULTS.get(key)
    }
    if "_class" in described:
        own = [name for name in request.attributes if name not in Request.attributes]
        kept |= {name: described[name] for name in ("_class", *own)}
    if "headers" in kept:
        kept["headers"] = _as_text(kept["headers"])
    kept["meta"] = {key: value for key, value in request.meta.items() if _is_kept(key, meta_keys)}
    if not kept["meta"]:
        del kept["meta"]
    if not kept:
        return None
    try:
        text = json.dumps(kept, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotPersistableError("cb_kwargs, meta, cookies or attributes are no JSON", error) from None
    if json.loads(text) != kept:
        raise NotPersistableError(
            "cb_kwargs, meta or attributes do not read back from JSON as they were (tuples, number keys)"
        )
    return text


def described_anew(known: str | None, said: str | None) -> str | None:
    """Return what is kept of a known page which a callback has asked for again: what was said last.

    Some of it stays. Where a start request or another callback than the page's asks, too, *known* does, as
    pages link to each other in many ways. How deep a page was found stays, and a mark that is not repeated.
    """
    before: dict[str, Any] = json.loads(known) if known else {}
    after: dict[str, Any] = json.loads(said) if said else {}
    is_other = (before.get("callback") or "parse") != (after.get("callback") or "parse")
    if is_other or (_is_start(before) and not _is_start(after)):
        return known
    found, meta = before.get("meta", {}), after.pop("meta", {})
    meta.pop("depth", None)
    meta |= {key: found[key] for key in ("depth", "freshness") if key in found and key not in meta}
    if meta:
        after["meta"] = meta
    if after == before:
        return known
    return json.dumps(after, separators=(",", ":"), ensure_ascii=False) if after else None


def _is_start(described: dict[str, Any]) -> bool:
    return bool(described.get("dont_filter") or described.get("meta", {}).get("is_start_request"))


def is_of_start(request: Request) -> bool:
    """Whether a tracked request is one that a crawl begins with, or as good as one."""
    return request.dont_filter or bool(request.meta.get("is_start_request"))


def request_from_json(url: str, text: str | None, spider: Spider) -> Request:
    """Make the request of a stored page; raises MissingCallbackError if the spider has lost a method."""
    kept: dict[str, Any] = json.loads(text) if text else {}
    try:
        return request_from_dict({"url": url, **kept}, spider=spider)
    except ValueError as error:
        raise MissingCallbackError(str(error)) from None
    except (ImportError, AttributeError, NameError, TypeError) as error:
        raise MissingCallbackError(f"request class {kept.get('_class')!r}: {error}") from None


def moved_request(text: str | None, source: str, target: str) -> str | None:
    """Return what a stored request is at the end of a redirect: secrets do not travel to somebody else.

    Cookies and Authorization stay behind by the rules that Scrapy's RedirectMiddleware has.
    """
    kept: dict[str, Any] = json.loads(text) if text else {}
    old, new = urlsplit(source), urlsplit(target)
    dropped = set()
    if old.hostname != new.hostname or new.scheme not in (old.scheme, "https"):
        dropped.add("cookie")
        kept.pop("cookies", None)
    if _origin(source) != _origin(target):
        dropped.add("authorization")
    headers = kept.get("headers", {})
    for name in [name for name in headers if name.lower() in dropped]:
        del headers[name]
    if not headers:
        kept.pop("headers", None)
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False) if kept else None


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _is_kept(key: object, meta_keys: tuple[str, ...]) -> bool:
    if not isinstance(key, str) or key in JOURNEY:
        return False
    return "*" in meta_keys or key in meta_keys or key == "depth" or key in _MARKS


def _as_text(headers: dict[bytes, list[bytes]]) -> dict[str, list[str]]:
    try:
        return {
            name.decode("ascii"): [value.decode("utf-8") for value in values]
            for name, values in headers.items()
        }
    except UnicodeDecodeError:
        raise NotPersistableError("a header is not text") from None
