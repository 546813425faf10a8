"""The recorded history of one page: what would a fetch at any time have seen?

Between two looks of the recorder a page is what it was at the look before: nothing finer is known, and
nothing that is computed from a record is finer.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.content import sketch as sketches
from scrapy_freshness.content.shingles import distinct, shingles
from scrapy_freshness.simulator.recorded_links import LinkHistory
from scrapy_freshness.simulator.trace import Kind, Version, source_of

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
Fragments = NDArray[np.uint32]

#: The content of a page that is not there: not yet, or no more.
GONE = -1


@dataclass(frozen=True, eq=False)
class RecordedPage:
    """The history of one page: version v is what it shows from ``times[v]`` until ``times[v + 1]``."""

    name: str
    url: str | None  #: as the last version has it
    times: FloatArray  #: ascending
    contents: IntArray  #: which version was the first of this content, `GONE` if there is none
    bodies: IntArray  #: another number for other bytes, even if their text is the same
    texts: IntArray  #: which of `documents` (or of the versions of `links`) a version shows
    until: float  #: end of the record of the page's source
    documents: Sequence[tuple[str, ...]] = field(repr=False)  #: lines of the different texts; none of a hub
    links: LinkHistory | None = field(repr=False)  #: of a hub
    shingle_words: int = 5
    _fragments: dict[int, Fragments] = field(default_factory=dict, repr=False)
    _sketches: dict[tuple[int, int], Fragments] = field(default_factory=dict, repr=False)
    _divergences: dict[tuple[int, int], float] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, versions: Sequence[Version], shingle_words: int = 5) -> Self:
        """The history that the versions of one page, in the order of time, tell."""
        documents: dict[tuple[str, ...], int] = {}
        first: dict[object, int] = {}  # version that had some links, or the text of some number
        contents, bodies, texts = [], [], []
        key: object = None
        body = -1
        for place, version in enumerate(versions):
            body += version.kind is not Kind.TECH
            before = key
            if version.kind is Kind.GONE:
                key, text = None, -1
            elif version.links is not None:
                key, text = version.links, place
            else:
                key = text = documents.setdefault(version.lines or (), len(documents))
            if version.kind is Kind.TECH and before is not None:
                first[key] = first.pop(before)  # the content of before, read in another way from here on
            content = GONE if key is None else first.setdefault(key, place)
            contents.append(content)
            bodies.append(body)
            texts.append(text)
        is_hub = any(version.links is not None for version in versions)
        return cls(
            name=versions[0].page,
            url=versions[-1].url,
            times=np.array([version.at for version in versions], np.float64),
            contents=np.array(contents, np.int32),
            bodies=np.array(bodies, np.int32),
            texts=np.array(texts, np.int32),
            until=versions[-1].at,
            documents=list(documents),
            links=LinkHistory.of(versions) if is_hub else None,
            shingle_words=shingle_words,
        )

    @property
    def source(self) -> str:
        """The recorder of the page."""
        return source_of(self.name)

    @property
    def host(self) -> str:
        """The host of the page, or its source if the address is not known."""
        try:
            return urlsplit(self.url or "").hostname or self.source
        except ValueError:
            return self.source

    @property
    def change_times(self) -> FloatArray:
        """When the page became another, coming and going included, its first version not."""
        (changed,) = np.diff(self.contents).nonzero()
        return self.times[changed + 1]

    def version_at(self, time: float) -> int:
        """The version that a fetch at some time sees; -1 if the page is not there yet."""
        return int(self.times.searchsorted(time, side="right")) - 1

    def versions_at(self, times: FloatArray) -> NDArray[np.int64]:
        """The versions that fetches at some times see; -1 while the page is not there yet."""
        return self.times.searchsorted(times, side="right") - 1

    def contents_of(self, versions: NDArray[np.int64]) -> IntArray:
        """The contents of versions; `GONE` for version -1."""
        return np.where(versions < 0, np.int32(GONE), self.contents[versions])

    def fragments(self, version: int) -> Fragments:
        """Hashes of all fragments of a version: the word shingles of a document, the links of a hub."""
        text = int(self.texts[version])
        if text < 0:
            return np.empty(0, np.uint32)
        found = self._fragments.get(text)
        if found is None:
            if self.links is None:
                found = shingles("\n".join(self.documents[text]), self.shingle_words)
            else:
                found = distinct(self.links.hashes[self.links.on(text)])
            self._fragments[text] = found
        return found

    def sketch(self, version: int, size: int) -> Fragments:
        """The sketch of a version."""
        key = int(self.texts[version]), size
        if key not in self._sketches:
            self._sketches[key] = sketches.sketch(self.fragments(version), size)
        return self._sketches[key]

    def divergence(self, copy: int, live: int) -> float:
        """Share of fragments that two versions do not have in common, exactly; 0 if the content is the same.

        Where the recorder began to read the page in another way after the copy was made, the copy is
        compared as it would be read when the live version was seen, if the record tells.
        """
        held, shown = self.contents[copy], self.contents[live]
        if held == shown:
            return 0.0
        if GONE in (held, shown):
            return 1.0
        copy = self._reread(copy, live)
        key = int(self.texts[copy]), int(self.texts[live])
        if key not in self._divergences:
            one, other = self.fragments(copy), self.fragments(live)
            # With room for all fragments, what is an estimate for sketches is exact.
            self._divergences[key] = sketches.divergence(one, other, max(one.size + other.size, 1))
        return self._divergences[key]

    def _reread(self, copy: int, live: int) -> int:
        """The last version up to the live one with the content of the copy."""
        if copy > live:
            return copy
        versions = self._versions_with[int(self.contents[copy])]
        return versions[bisect_right(versions, live) - 1]

    @cached_property
    def _versions_with(self) -> dict[int, list[int]]:
        versions: dict[int, list[int]] = {}
        for version, content in enumerate(self.contents.tolist()):
            versions.setdefault(content, []).append(version)
        return versions
