"""Random recorded histories, and a second, slow judge of fetches that works through time second by second."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import strategies as st

from scrapy_freshness.simulator.trace import Kind, Link, Version, source_of

#: Texts that share some fragments; one of them is empty, one has two lines.
TEXTS = ("one two three", "one two four", "five two three four", "", "six\nseven", "one two three four five")
NAMES = ("a:1", "a:2", "b:1")


@st.composite
def documents(draw: st.DrawFn, page: str, last: int = 30) -> list[Version]:
    """A page of text with changes, reverts, noise, other readings and absences, at whole seconds."""
    times = sorted(draw(st.lists(st.integers(0, last), min_size=1, max_size=10, unique=True)))
    versions: list[Version] = []
    text: str | None = None
    for number, at in enumerate(times):
        kinds = [Kind.CHANGE, Kind.CHANGE, Kind.NOISE, Kind.TECH, Kind.GONE] if text is not None else []
        kind = draw(st.sampled_from(kinds or [Kind.FIRST]))
        if kind is Kind.GONE:
            text = None
        elif kind is Kind.TECH:
            text = f"one two read{number}"
        elif kind is not Kind.NOISE:
            text = draw(st.sampled_from([each for each in TEXTS if each != text]))
        lines = None if text is None else tuple(text.split("\n"))
        versions.append(Version(page=page, at=float(at), kind=kind, lines=lines))
    return versions


@st.composite
def hubs(draw: st.DrawFn, page: str, last: int = 30) -> list[Version]:
    """A page of links that come, go and come again, at whole seconds."""
    times = sorted(draw(st.lists(st.integers(0, last), min_size=1, max_size=10, unique=True)))
    with_scores = draw(st.booleans())
    addresses = st.lists(st.sampled_from("pqrstuvw"), max_size=5, unique=True)
    versions: list[Version] = []
    for at in times:
        was_there = bool(versions) and versions[-1].kind is not Kind.GONE
        if was_there and draw(st.integers(0, 9)) == 0:
            versions.append(Version(page=page, at=float(at), kind=Kind.GONE))
            continue
        links = tuple(
            Link(f"http://x/{name}", name, float(draw(st.integers(0, 9))) if with_scores else None)
            for name in draw(addresses)
        )
        kind = Kind.CHANGE if was_there else Kind.FIRST
        versions.append(Version(page=page, at=float(at), kind=kind, links=links))
    return versions


@st.composite
def webs(draw: st.DrawFn, *, with_hubs: bool = False) -> list[list[Version]]:
    """Three pages of two sources."""
    kind = hubs if with_hubs else documents
    return [draw(kind(name, draw(st.integers(5, 30)))) for name in NAMES]


def fetches() -> st.SearchStrategy[list[tuple[int, int]]]:
    """Pages and whole seconds of fetches."""
    return st.lists(st.tuples(st.integers(0, len(NAMES) - 1), st.integers(0, 35)), max_size=15)


@dataclass
class Second:
    """One page during one second of a trial."""

    page: int
    at: int
    live: Version | None  #: None if the page is not there
    copy: Version | None  #: None if there is no copy
    is_same: bool
    since: int  #: when it became so


@dataclass
class SlowJudge:
    """Walks through time second by second, keeping a copy of every page."""

    web: list[list[Version]]
    fetched: list[tuple[int, int]]
    start: int
    end: int
    first_copies: bool = True
    wasted: int = 0
    found: dict[str, int] = field(default_factory=dict)  #: address of a link -> first found

    def seconds(self) -> Iterator[Second]:
        for page, versions in enumerate(self.web):
            yield from self._seconds(page, versions)

    def _seconds(self, page: int, versions: list[Version]) -> Iterator[Second]:
        until = max(own[-1].at for own in self.web if source_of(own[0].page) == source_of(versions[0].page))
        mine = [at for number, at in self.fetched if number == page]
        origin = self.start if self.first_copies else min([self.start, *mine])
        live = copy = None
        is_same, since = True, 0
        for now in range(self.end + 1):
            for version in versions:
                if version.at == now:
                    if version.kind is Kind.TECH and same(live, copy):
                        copy = version
                    live = None if version.kind is Kind.GONE else version
            if now < origin:
                continue
            if now == self.start and self.first_copies:
                copy = live
            for at in mine:
                if at == now and (now >= self.start or not self.first_copies):
                    if now >= self.start:
                        self.wasted += same(live, copy)
                    for link in (live.links or ()) if live else ():
                        self.found[link.url] = min(self.found.get(link.url, now), now)
                    copy = live
            if same(live, copy) != is_same or now == origin:
                is_same, since = same(live, copy), now
            if self.start <= now < min(self.end, until):
                yield Second(page, now, live, copy, is_same, since)


def same(one: Version | None, other: Version | None) -> bool:
    """Whether two versions have the same content."""
    if one is None or other is None:
        return one is other
    return (one.lines, one.links) == (other.lines, other.links)


def fragments(version: Version | None, words: int) -> set[object]:
    """The word shingles of a document, the links of a hub."""
    if version is None:
        return set()
    if version.links is not None:
        return {link.url for link in version.links}
    split = (version.text or "").split()
    length = min(words, len(split))
    return {tuple(split[n : n + length]) for n in range(len(split) - length + 1)} if split else set()
