"""The words of the living site: a function of the seed, the page and the version."""

from itertools import product
from random import Random

from living_site.chance import stream
from living_site.model import Document

WORDS = tuple(
    "".join(parts)
    for parts in product(
        ("ba", "co", "du", "fe", "gi", "ha", "ju", "ki", "lo", "me"),
        ("l", "mer", "n", "r", "sti", "t"),
        ("a", "an", "e", "is", "o", "um", "ys"),
    )
)
WORDS_PER_PARAGRAPH = 40
WORDS_PER_ITEM = 14
AUTHORS = ("Ada Verne", "Bo Quist", "Cleo Marsh", "Dag Holm", "Eve Lund", "Finn Orr")
TAGS = ("change", "crawl", "harbour", "light", "memory", "rain", "time")


class Quote:
    """One item of a scrolling region."""

    __slots__ = ("author", "tags", "text")

    def __init__(self, random: Random) -> None:
        self.text = sentence(random, WORDS_PER_ITEM)
        self.author = random.choice(AUTHORS)
        self.tags = random.sample(TAGS, 2)


def sentence(random: Random, word_count: int) -> str:
    """Return random words as a sentence.

    >>> len(sentence(stream(1), 12).split())
    12
    """
    return " ".join(random.choices(WORDS, k=word_count)).capitalize() + "."


def paragraphs(random: Random, word_count: int) -> list[str]:
    """Return random words as paragraphs."""
    counts = [WORDS_PER_PARAGRAPH] * (word_count // WORDS_PER_PARAGRAPH)
    rest = word_count % WORDS_PER_PARAGRAPH
    return [sentence(random, count) for count in (*counts, *([rest] if rest else []))]


def static_text(seed: int, page: Document) -> list[str]:
    """Return the paragraphs of a document that never change."""
    return paragraphs(stream(seed, page.host.address, page.path, "static"), page.layout.static_words)


def churn_text(seed: int, page: Document, version: int) -> list[str]:
    """Return the paragraphs of a version of a document's churning region: all new in each version."""
    random = stream(seed, page.host.address, page.path, "churn", version)
    return paragraphs(random, page.layout.churn_words)


def scroll_items(seed: int, page: Document, version: int) -> list[Quote]:
    """Return the items of a version of a document's scrolling region: one new in each version, at the top."""
    numbers = range(version, version - page.layout.scroll_items, -1)
    return [Quote(stream(seed, page.host.address, page.path, "item", number)) for number in numbers]
