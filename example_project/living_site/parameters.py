"""What a living site is made of: the characters of its hosts and the numbers that shape its history."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import cycle, islice
from typing import Any


class Character(StrEnum):
    """How a host behaves. Every host serves documents; the character says what else, and how honestly."""

    STRONG_ETAG = "strong-etag"
    """Sends a strong ETag with everything and answers If-None-Match truthfully."""

    LAST_MODIFIED = "last-modified"
    """Sends Last-Modified only, and answers If-Modified-Since truthfully."""

    NO_VALIDATORS = "no-validators"
    """Sends no validators, answers every request in full, and has no robots.txt."""

    LYING = "lying"
    """Overlooks most changes in its ETag, so that it answers 304 although the page changed."""

    NOISY = "noisy"
    """Puts a time and a nonce into comments, scripts and attributes of every answer; the text stays."""

    SLOW = "slow"
    """Takes `slow_seconds` for each answer."""

    FLAKY = "flaky"
    """Answers some requests with 500, 503 or 429, or drops the connection, in a seeded pattern."""

    MORTAL = "mortal"
    """Loses some of its documents (404 or 410) at seeded times; some of them come back."""

    REDIRECTING = "redirecting"
    """Has redirections of every kind: 301, 302, 307, 308, a chain, a loop, one to another host."""

    ANNOUNCING = "announcing"
    """Has a sitemap index with gzipped sitemaps, named in a robots.txt that also forbids `/private/`."""

    HUB = "hub"
    """Has hub pages that list short-lived posts, and RSS and Atom feeds of them."""

    ODD = "odd"
    """Serves pages that are hard to digest: broken, empty, huge, binary, wrongly labelled."""


class Manner(StrEnum):
    """How a host that announces its changes does so: in the dates of its sitemaps, and in its pings."""

    PERFECT = "perfect"
    """Announces every change at once, and nothing else."""

    PARTIAL = "partial"
    """Announces `announced_share` of the changes."""

    NOISY = "noisy"
    """Announces `announced_share` of the changes, and changes that never happened besides."""

    FALSE = "false"
    """Announces every change, and changes that never happened besides."""

    DELAYED = "delayed"
    """Announces every change, with its date, `announcement_delay_seconds` later."""

    STALE = "stale"
    """Writes its sitemaps every `sitemap_seconds` only."""

    SAME = "same"
    """Gives all pages the date of the latest change of any of them."""

    NOW = "now"
    """Gives all pages the present time."""


ORDINARY = (Character.STRONG_ETAG, Character.LAST_MODIFIED, Character.NO_VALIDATORS, Character.ANNOUNCING)


def characters_for(host_count: int) -> tuple[Character, ...]:
    """Return the characters of `host_count` hosts: one of each, then ordinary ones in turn.

    >>> [str(character) for character in characters_for(2)]
    ['strong-etag', 'last-modified']
    """
    return (*Character, *islice(cycle(ORDINARY), max(0, host_count - len(Character))))[:host_count]


@dataclass(frozen=True, kw_only=True)
class WorldParameters:
    """Everything that a world's history depends on. Rates are per second.

    One second here stands for an hour on the real web: the defaults are pages that change between every two
    hours and every eleven weeks.
    """

    seed: int = 1
    characters: tuple[Character, ...] = characters_for(24)
    """One host for each; the first host's root links to the roots of all."""

    pages_per_host: int = 26
    """Documents on each host; navigation, hubs, posts, redirections and oddities come in addition."""

    slowest_change_rate: float = 0.0005
    fastest_change_rate: float = 0.5
    """Change rates of documents are log-uniform between these two."""

    importance_spread: float = 1.0
    """Standard deviation of the logarithm of a document's importance, whose mean is 1."""

    lie_share: float = 0.6
    """Share of the changes that a lying host's ETag overlooks."""

    slow_seconds: float = 0.5
    """How long a slow host takes to answer."""

    trouble_share: float = 0.25
    """Share of the requests that a flaky host does not answer properly."""

    mortal_share: float = 0.4
    """Share of a mortal host's documents that die."""

    mean_life_seconds: float = 60.0
    """Mean time until a mortal document dies, and mean time until one that revives does."""

    revival_share: float = 0.5
    """Share of the dead documents that come back."""

    hubs_per_host: int = 3
    slowest_post_rate: float = 0.02
    fastest_post_rate: float = 0.2
    """Posts appear on each hub at a rate that is log-uniform between these two."""

    post_listed_seconds: float = 30.0
    """How long a hub lists a post."""

    post_life_seconds: float = 90.0
    """How long a post's own page exists; it answers 410 from then on."""

    sitemaps: tuple[Manner, ...] = (Manner.PERFECT,)
    """How the announcing hosts announce their changes, in turn."""

    announced_share: float = 0.5
    """Share of the changes that a partial or noisy host announces."""

    false_signal_rate: float = 0.02
    """Changes per second and page that a noisy or false host makes up."""

    announcement_delay_seconds: float = 5.0
    """How much later than it happened a delayed host announces a change."""

    sitemap_seconds: float = 30.0
    """How often a stale host writes its sitemaps."""

    big_page_bytes: int = 2_000_000
    """Size of an odd host's big page."""

    def __post_init__(self) -> None:
        """Refuse numbers that make no world."""
        names = ("slow_seconds", "importance_spread", "hubs_per_host", "big_page_bytes")
        for name in (*names, "false_signal_rate", "announcement_delay_seconds"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        for name in ("pages_per_host", "mean_life_seconds", "post_listed_seconds", "sitemap_seconds"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")
        for name in ("lie_share", "trouble_share", "mortal_share", "revival_share", "announced_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1, got {getattr(self, name)}")
        for what in ("change", "post"):
            slowest, fastest = getattr(self, f"slowest_{what}_rate"), getattr(self, f"fastest_{what}_rate")
            if not 0 < slowest <= fastest:
                raise ValueError(
                    f"0 < slowest_{what}_rate <= fastest_{what}_rate must hold, got {slowest}, {fastest}"
                )
        if not self.characters:
            raise ValueError("a world needs at least one host: characters is empty")
        if not self.sitemaps:
            raise ValueError("sitemaps must name at least one manner")
        if self.post_life_seconds < self.post_listed_seconds:
            raise ValueError("post_life_seconds must not be below post_listed_seconds")

    def to_json(self) -> dict[str, Any]:
        """Return the parameters as JSON can carry them."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "WorldParameters":
        """Return the parameters that `to_json` gave.

        >>> parameters = WorldParameters(seed=7)
        >>> WorldParameters.from_json(parameters.to_json()) == parameters
        True
        """
        named = {"characters": tuple(map(Character, values["characters"]))}
        if "sitemaps" in values:  # logs of before have none
            named["sitemaps"] = tuple(map(Manner, values["sitemaps"]))
        return cls(**{**values, **named})
