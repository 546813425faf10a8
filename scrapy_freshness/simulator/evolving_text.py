r"""Pages of words that change as real ones do: from a clock in the corner to a rewritten page.

A page is a sequence of numbered words, nearly half of which are of the page's topic and the others of the
language; both follow Zipf's law, each topic with an order of its own. Updates come as a Poisson process.
Each is of one of these habits; a page keeps to one of them in four updates of five:

=========  ==================================================================================
clock      a few words in a fixed place, of a vocabulary that nobody asks for
advert     a fixed part of the page (5 to 40 %), half of words that nobody asks for, half of another topic
edits      1 to 5 % of the words, anywhere, by words of the page's topic
column     a fixed part of the page (15 to 60 %) by new text of the page's topic
rewrite    all of it, about a topic drawn anew
=========  ==================================================================================

References
----------
Pandey, Olston: User-centric web crawling, WWW 2005, section 6 (corpora, and figure 5: an advert, a column).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.simulator.streams import poisson_events

FloatArray = NDArray[np.float64]
Words = NDArray[np.int64]

WEEK = 7 * 86400.0

#: Words of the language that are on every page, and in no topic.
_COMMON = 30
_TOPIC_WORDS = 250
_HABITS = ("clock", "advert", "edits", "column", "rewrite")
_HABIT_SHARES = (0.3, 0.2, 0.2, 0.25, 0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextShape:
    """What the pages of a corpus are like."""

    pages: int = 500
    horizon: float = 48 * WEEK  #: seconds; 48 weeks are those of the paper
    words: int = 200  #: on a page, median
    updates_per_week: float = 0.3  #: of a page, median; log-normal, standard deviation of the logarithm 1.2
    vocabulary: int = 6000
    nobody_asks_for: int = 3000  #: words beside the vocabulary
    topics: int = 24


@dataclass(frozen=True, slots=True, eq=False)
class TextHistory:
    """Versions of one page: the first is there at time 0, the others from their times on."""

    times: FloatArray
    texts: list[Words]


class Language:
    """Draws words: of the language, of a topic, or such as nobody asks for."""

    def __init__(self, shape: TextShape, rng: np.random.Generator) -> None:
        self.topics = shape.topics
        self._rng = rng
        self._words = shape.vocabulary
        self._nobody_asks_for = shape.nobody_asks_for
        self._common = _cumulative(1 / (np.arange(shape.vocabulary) + 5.0))
        size = min(_TOPIC_WORDS, shape.vocabulary - _COMMON)
        self._of_topic = np.stack(
            [
                _COMMON + rng.choice(shape.vocabulary - _COMMON, size, replace=False)
                for _ in range(shape.topics)
            ]
        )
        self._in_topic = _cumulative(1 / (np.arange(size) + 2.0))

    def of_topic(self, topic: int, count: int) -> Words:
        """So many words of a topic."""
        places = self._in_topic.searchsorted(self._rng.random(count), side="right")
        words: Words = self._of_topic[topic, places]
        return words

    def prose(self, topic: int, count: int) -> Words:
        """Text about a topic."""
        words = self._common.searchsorted(self._rng.random(count), side="right")
        of_topic: Words = np.where(self._rng.random(count) < 0.45, self.of_topic(topic, count), words)
        return of_topic

    def chatter(self, count: int) -> Words:
        """Words that nobody asks for."""
        return self._words + self._rng.integers(self._nobody_asks_for, size=count)


def drawn_histories(shape: TextShape, language: Language, rng: np.random.Generator) -> list[TextHistory]:
    """Draw the versions of all pages.

    >>> rng = np.random.default_rng(1)
    >>> shape = TextShape(pages=2, horizon=10 * WEEK, updates_per_week=1.0)
    >>> one, other = drawn_histories(shape, Language(shape, rng), rng)
    >>> len(one.times) == len(one.texts) > 1, float(one.times[0])
    (True, 0.0)
    """
    rates = shape.updates_per_week / WEEK * np.exp(1.2 * rng.standard_normal(shape.pages))
    updates = poisson_events(rates, shape.horizon, rng)
    return [_history(shape, updates.of(page), language, rng) for page in range(shape.pages)]


def _history(
    shape: TextShape, updates: FloatArray, language: Language, rng: np.random.Generator
) -> TextHistory:
    length = int(np.clip(shape.words * np.exp(0.6 * rng.standard_normal()), 20, 20 * shape.words))
    topic = int(rng.integers(language.topics))
    texts = [language.prose(topic, length)]
    usual = int(rng.choice(len(_HABITS), p=_HABIT_SHARES))
    places = {
        "clock": slice(0, int(rng.integers(2, 6))),
        "advert": _part(length, rng.uniform(0.05, 0.4), rng),
        "column": _part(length, rng.uniform(0.15, 0.6), rng),
    }
    for _ in updates:
        is_usual = rng.random() < 0.8
        habit = _HABITS[usual if is_usual else int(rng.choice(len(_HABITS), p=_HABIT_SHARES))]
        if habit == "rewrite":
            topic = int(rng.integers(language.topics))
        texts.append(_updated(texts[-1], habit, topic, places, language, rng))
    return TextHistory(np.concatenate([[0.0], updates]), texts)


def _updated(
    text: Words,
    habit: str,
    topic: int,
    places: dict[str, slice],
    language: Language,
    rng: np.random.Generator,
) -> Words:
    """The next version of a text."""
    if habit == "rewrite":
        return language.prose(topic, max(int(len(text) * rng.uniform(0.7, 1.4)), 20))
    if habit == "edits":
        text = text.copy()
        where = rng.choice(len(text), max(1, int(len(text) * rng.uniform(0.01, 0.05))), replace=False)
        text[where] = language.of_topic(topic, len(where))
        return text
    place = places[habit]
    count = place.stop - place.start
    if habit == "clock":
        part = language.chatter(count)
    elif habit == "advert":
        other = int(rng.integers(language.topics))
        part = np.where(rng.random(count) < 0.5, language.chatter(count), language.prose(other, count))
    else:
        part = language.prose(topic, count)
    return np.concatenate([text[: place.start], part, text[place.stop :]])


def _part(length: int, share: float, rng: np.random.Generator) -> slice:
    """A part of a page."""
    count = max(1, int(length * share))
    start = int(rng.integers(length - count + 1))
    return slice(start, start + count)


def _cumulative(weights: FloatArray) -> FloatArray:
    sums = np.cumsum(weights)
    shares: FloatArray = sums / sums[-1]
    return shares
