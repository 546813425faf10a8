"""When is a page a hub, and when is it one no more?

A page is a hub if its host's main page links to it and it is older than a few days: what is younger is, as a
rule, one of the new pages that hubs are polled for. How old a page is follows from what was seen of it, or
from what is said: `Last-Modified`, the date of a sitemap or feed. All of these tell how old it is at least.

A hub that shows nothing new for many polls and for as long as it took to become one is retired. Polls cost,
and a hub with half a link in all its time is never worth one again: so a retired hub is looked at once in a
while all the same, ever more rarely, and revived by the first new link.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from scrapy_freshness.model import HubRecord, HubState

#: Days after which doubling ends: 2 ** 30 first pauses are longer than any longest one.
_MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRules:
    """How old a hub is at least, and how long it may bring nothing."""

    min_age_seconds: float = 3 * 86400.0
    patience_polls: int = 10  #: in a row without a new link
    first_rest_seconds: float = 86400.0  #: of a retired hub, until it is looked at again; then twice as long
    longest_rest_seconds: float = 60 * 86400.0
    refresh_seconds: float = 86400.0  #: how often a main page is looked at for hubs, at least


def evidence_of_age(ages: Mapping[str, float | None], rules: HubRules) -> str:
    """Return the name of the first of these ages that is enough for a hub, or nothing.

    >>> evidence_of_age({"history": 60.0, "last-modified": None, "sitemap": 1e6}, HubRules())
    'sitemap'
    """
    for name, age in ages.items():
        if age is not None and age >= rules.min_age_seconds:
            return name
    return ""


def due_hubs(hubs: Iterable[HubRecord], now: float) -> dict[int, float]:
    """Return the page ids of hubs that are looked at whatever that is worth, and since when that is due.

    These are retired ones, and main pages.
    """
    return {
        hub.page_id: hub.next_look_at
        for hub in hubs
        if 0 < hub.next_look_at <= now and (hub.is_root or hub.state is HubState.RETIRED)
    }


def polled(hub: HubRecord, new_links: int, shown: int, now: float, rules: HubRules) -> HubRecord:
    """Return what is known of a hub after a poll that found so many new links among those shown.

    The first poll tells what is there, not what is new.
    """
    is_first = hub.polls == 0
    after = replace(hub, polls=hub.polls + 1, shown=shown, last_poll_at=now)
    if is_first:
        after.since = now
        after.state = HubState.ACTIVE if hub.state is HubState.TRIAL else hub.state
        return looked_at(after, now, rules)
    after.new_links += new_links
    if new_links:
        after.barren, after.since, after.rests = 0, now, 0
        after.state = HubState.ACTIVE
        after.next_look_at = hub.next_look_at if hub.is_root else 0.0
        return looked_at(after, now, rules)
    after.barren += 1
    is_patient = after.barren < rules.patience_polls or now - hub.since < rules.min_age_seconds
    if not (is_patient or hub.is_root or hub.found == "spider"):
        after.state = HubState.RETIRED
    return looked_at(after, now, rules)


def looked_at(hub: HubRecord, now: float, rules: HubRules) -> HubRecord:
    """Return what is known of a hub after a visit, whatever that has seen: the next look is not due at once.

    That at a retired hub is twice as far away each time.
    """
    if hub.next_look_at > now:
        return hub
    if hub.is_root:
        return replace(hub, next_look_at=now + rules.refresh_seconds)
    if hub.state is not HubState.RETIRED:
        return hub
    rest = rules.first_rest_seconds * 2.0 ** min(hub.rests, _MOST_DOUBLINGS)
    return replace(hub, rests=hub.rests + 1, next_look_at=now + min(rest, rules.longest_rest_seconds))
