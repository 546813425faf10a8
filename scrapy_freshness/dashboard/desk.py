"""What every page of the dashboard works with, and how it is put on paper."""

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from scrapy_freshness.clock import Clock
from scrapy_freshness.config import Config
from scrapy_freshness.dashboard.remembered import Remembered
from scrapy_freshness.dashboard.replaying import Replays
from scrapy_freshness.dashboard.security import Door
from scrapy_freshness.dashboard.watch import Sight, Watch
from scrapy_freshness.insight import human
from scrapy_freshness.model import Outcome
from scrapy_freshness.storage.store import Store

HERE = Path(__file__).parent
#: The pages of the dashboard: address and name.
PAGES = {
    "/": "Overview",
    "/pages": "Pages",
    "/hosts": "Hosts",
    "/sources": "Sources",
    "/signals": "Signals",
    "/policies": "Policies",
}
#: How visits end, where the names of outcomes say too little.
_ENDINGS = {Outcome.FIRST: "first copy", Outcome.IGNORED: "stopped"}


@dataclass(frozen=True, eq=False)
class Desk:
    """The database, the time, and who may do what."""

    store: Store
    config: Config
    clock: Clock
    door: Door
    watch: Watch
    remembered: Remembered
    replays: Replays
    open_store: Callable[[], AbstractContextManager[Store]] | None = None  #: for writing; None: it only reads

    def spiders(self) -> list[str]:
        """All spiders, the one that was heard of last first."""
        states = {name: self.store.load_state(name) for name in self.store.spiders()}
        return sorted(states, key=lambda name: -(state.updated_at if (state := states[name]) else 0.0))

    @cached_property
    def templates(self) -> Environment:
        """The templates; what they are given is escaped."""
        environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters |= {
            "count": human.count,
            "duration": human.duration,
            "every": human.every,
            "number": human.number,
            "rate": human.rate,
            "share": lambda value: unbroken(human.share(value)),
            "unbroken": unbroken,
            "size": human.size,
            "shown": human.safe,
            "clipped": human.clipped,
            "when": when,
            "clock": clock_time,
            "web_link": web_link,
            "words": lambda text: str(text).replace("_", " "),
            "ending": ending,
        }
        environment.globals |= {"NOTHING": human.NOTHING, "isnan": math.isnan}
        return environment


class Asked:
    """A request: which spider it is about, and how to answer it."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.desk: Desk = request.app.state.desk
        self.now = self.desk.clock.now()

    @cached_property
    def spiders(self) -> list[str]:
        """All spiders."""
        return self.desk.spiders()

    @cached_property
    def spider(self) -> str | None:
        """The spider that the page is about; None if there is none at all."""
        wanted = self.text("spider")
        return wanted if wanted in self.spiders else next(iter(self.spiders), None)

    @cached_property
    def sight(self) -> Sight:
        """All pages of the spider."""
        assert self.spider is not None
        return self.desk.watch.sight(self.spider)

    def text(self, name: str, usual: str = "") -> str:
        """A parameter of the address."""
        return self.request.query_params.get(name, usual)

    def choice(self, name: str, choices: Mapping[str, Any], usual: str) -> str:
        """A parameter that is one of some words."""
        given = self.text(name, usual)
        return given if given in choices else usual

    def whole(self, name: str, usual: int, most: int) -> int:
        """A parameter that is a number from 1 on."""
        given = self.text(name)
        return (
            min(max(int(given), 1), most)
            if given.isascii() and given.isdecimal() and len(given) < 12
            else usual
        )

    def link(self, **changed: object) -> str:
        """The address of this page with other parameters; None leaves one out."""
        query = {**self.request.query_params, **changed}
        return "?" + urlencode({name: value for name, value in query.items() if value not in (None, "")})

    def answer(self, template: str, **context: Any) -> Response:
        """A page."""
        path = self.request.url.path
        text = self.desk.templates.get_template(template).render(
            asked=self,
            now=self.now,
            spider=self.spider,
            spiders=self.spiders,
            pages=PAGES,
            here=path,
            to=self.to,
            link=self.link,
            database=str(self.desk.store.database),
            form_key=self.desk.door.form_key(),
            **context,
        )
        return HTMLResponse(text)

    def to(self, path: str, **query: object) -> str:
        """The address of another page about the same spider."""
        spider = self.spider if len(self.spiders) > 1 else None
        named = {
            name: value for name, value in {"spider": spider, **query}.items() if value not in (None, "")
        }
        return quote(path) + (f"?{urlencode(named)}" if named else "")


def when(at: float | None, now: float) -> Markup:
    """A point in time as seen from now; a script of ours tells the reader's own time, too."""
    text = human.relative(at, now)
    if at is None or not math.isfinite(at):
        return Markup('<span class="muted">{}</span>').format(text)
    try:
        stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return Markup('<span class="muted">{}</span>').format(text)
    return Markup('<time datetime="{}" title="{}" data-at="{:.0f}">{}</time>').format(
        stamp, human.moment(at), at, text
    )


def ending(outcome: Outcome) -> str:
    """How a visit ended, in a word or two.

    >>> ending(Outcome.NOT_MODIFIED), ending(Outcome.IGNORED)
    ('not modified', 'stopped')
    """
    return _ENDINGS.get(outcome) or outcome.name.lower().replace("_", " ")


def unbroken(text: str) -> str:
    """Text whose lines do not end before a per cent sign."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def clock_time(at: float) -> Markup:
    """A point of today by the clock; a script of ours tells it in the reader's zone."""
    stamp = datetime.fromtimestamp(at, UTC)
    return Markup('<time datetime="{}" data-at="{:.0f}" data-form="clock">{} UTC</time>').format(
        stamp.isoformat(timespec="seconds"), at, f"{stamp:%H:%M:%S}"
    )


def web_link(url: str) -> str | None:
    """An address that may be followed; None for one that a browser might run."""
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        return None
    return url if scheme in ("http", "https") and url.isprintable() else None
