"""The content of a page or item as a hash (is it the same?) and a sketch (how much of it is?).

The hash costs one pass over the text and answers most visits: if it is that of the copy, nothing changed.
So a :class:`Measurement` has its hash from the beginning and makes the sketch when it is first asked for.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import xxhash
from numpy.typing import NDArray

from scrapy_freshness.content import sketch as sketches
from scrapy_freshness.content.shingles import shingle_hashes, word_hashes
from scrapy_freshness.content.text import check_selector, visible_text
from scrapy_freshness.errors import ConfigError

_MAX_SKETCH_SIZE = 65_535  # content.profiles stores it in 16 bits
_MAX_DEPTH = 100  # of lists and mappings in each other


@dataclass(frozen=True, kw_only=True)
class ContentOptions:
    """What counts as content, and how finely it is measured.

    ``include`` and ``exclude`` map a domain, meant with its sub-domains, or ``"*"`` for all, to CSS
    selectors. All entries that fit a host apply together.

    >>> options = ContentOptions(exclude={"*": ["footer"], "example.com": [".ad"]})
    >>> options.selectors_for("www.example.com")
    ((), ('.ad', 'footer'))
    """

    shingle_words: int = 5  #: words in a fragment
    sketch_size: int = 64  #: fragments in a sketch
    max_body_chars: int = 1_000_000  #: of the HTML; what follows is not looked at
    include: Mapping[str, Sequence[str]] = field(default_factory=dict)
    exclude: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("shingle_words", "sketch_size", "max_body_chars"):
            value = getattr(self, name)
            if value < 1:
                raise ConfigError(f"{name} must be at least 1, got {value}")
        if self.sketch_size > _MAX_SKETCH_SIZE:
            raise ConfigError(f"sketch_size must be at most {_MAX_SKETCH_SIZE}, got {self.sketch_size}")
        for name in ("include", "exclude"):
            for domain, selectors in getattr(self, name).items():
                if isinstance(selectors, str):
                    raise ConfigError(f"{name} for {domain!r} must be a list of selectors, got {selectors!r}")
                for selector in selectors:
                    check_selector(selector)

    def selectors_for(self, host: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Selectors to include and to exclude on a host."""
        if not self.include and not self.exclude:
            return (), ()
        labels = host.lower().rstrip(".").split(".")
        domains = [".".join(labels[place:]) for place in range(len(labels))] + ["*"]
        include, exclude = (
            tuple(selector for domain in domains for selector in mapping.get(domain, ()))
            for mapping in (self.include, self.exclude)
        )
        return include, exclude


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of content: words that are shingled, or something that is one fragment."""

    text: str
    place: str = ""  #: the same text in another place is another fragment
    is_prose: bool = True


@dataclass(frozen=True, eq=False)
class Measurement:
    """One version of some content."""

    content_hash: int  #: signed 64 bits; equal for equal content
    cut: bool  #: whether there was more than is measured here
    passages: tuple[Passage, ...] = field(repr=False)
    options: ContentOptions = field(repr=False)

    @property
    def sketch(self) -> NDArray[np.uint32]:
        """Smallest fragment hashes, ascending; made at the first access."""
        return self._sketch_and_words[0]

    @property
    def words(self) -> int:
        """Number of words; counted at the first access, with the sketch."""
        return self._sketch_and_words[1]

    @cached_property
    def _sketch_and_words(self) -> tuple[NDArray[np.uint32], int]:
        words = 0
        fragments = [np.empty(0, np.uint32)]
        for passage in self.passages:
            if passage.is_prose:
                hashes = word_hashes(passage.text)
                words += hashes.size
                found = shingle_hashes(hashes, self.options.shingle_words)
            else:
                found = np.array([xxhash.xxh32_intdigest(_encoded(passage.text))], np.uint32)
            if passage.place:
                # A constant keeps the fragments evenly spread over the 32-bit numbers.
                found ^= np.uint32(xxhash.xxh32_intdigest(_encoded(passage.place)))
            fragments.append(found)
        return sketches.sketch(np.concatenate(fragments), self.options.sketch_size), words


def measure_html(html: str, *, options: ContentOptions, host: str = "") -> Measurement:
    """Measure the visible text of a page, as far as the selectors for its host admit it.

    The text is compared with white space folded and in Unicode's composed form, so a page whose scripts,
    comments or attributes differ is the same page; one whose capitals differ is not.

    >>> options = ContentOptions()
    >>> one = measure_html("<p>It rains</p><script>id = 1</script>", options=options)
    >>> two = measure_html("<p class=b>It\\nrains</p><script>id = 2</script>", options=options)
    >>> one.content_hash == two.content_hash, one.words, one.sketch.size
    (True, 2, 1)
    """
    include, exclude = options.selectors_for(host)
    text = _composed(visible_text(html[: options.max_body_chars], include=include, exclude=exclude))
    return Measurement(
        content_hash=_signed_hash(_encoded(text)),
        cut=len(html) > options.max_body_chars,
        passages=(Passage(text),),
        options=options,
    )


def measure_text(text: str, *, options: ContentOptions) -> Measurement:
    """Measure a body that is text but not HTML, such as JSON, XML or plain text.

    >>> measure_text("a  b\\n", options=ContentOptions()).words
    2
    """
    folded = _composed(" ".join(text[: options.max_body_chars].split()))
    return Measurement(
        content_hash=_signed_hash(_encoded(folded)),
        cut=len(text) > options.max_body_chars,
        passages=(Passage(folded),),
        options=options,
    )


def hash_bytes(body: bytes) -> int:
    """Hash of a body as it came, signed 64 bits: equal bytes need not be measured again."""
    return _signed_hash(body)


def measure_bytes(body: bytes) -> Measurement:
    """Measure a body that is not text: it is one fragment, the same or another.

    >>> measure_bytes(b"%PDF-1.7").sketch.size
    1
    """
    content_hash = _signed_hash(body)
    passage = Passage(str(content_hash), is_prose=False)
    return Measurement(content_hash=content_hash, cut=False, passages=(passage,), options=ContentOptions())


def measure_fragments(values: Iterable[object], *, options: ContentOptions) -> Measurement:
    """Measure values such as the fields of an item: texts, numbers, and lists and mappings of them.

    Texts are shingled. Any other value is one fragment, so that a changed price is one changed fragment.
    The order of values, list elements and mapping keys does not count; the keys under which a value is
    found do. Pass ``[{"price": 5}]`` rather than ``[5]`` where the field's name matters.

    >>> options = ContentOptions()
    >>> old = measure_fragments([{"name": "Tea", "price": 5, "tags": ["hot", "green"]}], options=options)
    >>> new = measure_fragments([{"name": "Tea", "price": 6, "tags": ["green", "hot"]}], options=options)
    >>> sketches.resemblance(old.sketch, new.sketch, size=64)
    0.6

    Raises
    ------
    TypeError
        A value has no text of its own.
    ValueError
        Values are nested more than 100 deep, or contain themselves.
    """
    passages = sorted(_passages(values), key=lambda passage: (passage.place, passage.is_prose, passage.text))
    lines = xxhash.xxh3_64()
    for passage in passages:
        for part in (passage.place, "text" if passage.is_prose else "value", passage.text):
            encoded = _encoded(part)
            lines.update(len(encoded).to_bytes(8, "little"))
            lines.update(encoded)
    return Measurement(
        content_hash=_signed(lines.intdigest()), cut=False, passages=tuple(passages), options=options
    )


def _passages(values: Iterable[object]) -> Iterator[Passage]:
    waiting: list[tuple[tuple[str, ...], int, object]] = [((), 0, value) for value in values]
    while waiting:
        place, depth, value = waiting.pop()
        if depth > _MAX_DEPTH:
            raise ValueError(f"values are nested more than {_MAX_DEPTH} deep, or contain themselves")
        if isinstance(value, str):
            yield Passage(_composed(" ".join(value.split())), _joined(place))
        elif isinstance(value, Mapping):
            waiting += (((*place, str(key)), depth + 1, inner) for key, inner in value.items())
        elif isinstance(value, (Sequence, Set)) and not isinstance(value, (bytes, bytearray, memoryview)):
            waiting += ((place, depth + 1, inner) for inner in value)
        else:
            yield Passage(_written(value), _joined(place), is_prose=False)


def _joined(place: tuple[str, ...]) -> str:
    return "".join(f"{len(key)}:{key}" for key in place)


def _written(value: object) -> str:
    """A value that is no text as text, the same in every process."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"bytes {xxhash.xxh3_64_hexdigest(value)}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # 5.0 is 5
    text = str(value)
    if " at 0x" in text:  # the address by which Python names what has no text of its own
        raise TypeError(f"cannot measure a {type(value).__name__}; pass texts, numbers, lists and mappings")
    return text


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _signed_hash(content: bytes) -> int:
    return _signed(xxhash.xxh3_64_intdigest(content))


def _signed(unsigned: int) -> int:
    return unsigned - (1 << 64) if unsigned >> 63 else unsigned
