"""Why a hub is polled when it is, or not at all."""

import math
from dataclasses import dataclass

import numpy as np

from scrapy_freshness.insight.human import count, duration, every, number, relative
from scrapy_freshness.storage.hub_reports import HubReport
from scrapy_freshness.value.saturation import saturates_at

#: Why a source is not polled, by its status.
STANDING = {
    "new": "it was not fetched yet",
    "gone": "it is gone, and looked at again ever more rarely",
    "moved": "it redirects for good, and its target is polled",
    "suspended": "its callback is no method of the spider any more",
}


@dataclass(frozen=True, kw_only=True)
class HubCase:
    """All that decides when a hub is polled."""

    report: HubReport
    policy: str
    link_rate: float  #: new links per second; nan if the policy does not value links
    profit: float  #: requests that a new page meets if it is fetched at once
    decay: float  #: share of them that is lost per second
    fetch_price: float  #: what a fetch has to be worth
    interval_seconds: float  #: between polls in the long run; inf if there are none at this price
    budget_per_second: float

    @property
    def values_links(self) -> bool:
        """Whether the policy knows what links are worth."""
        return not math.isnan(self.link_rate)

    @property
    def is_polled(self) -> bool:
        """Whether it is ever worth another poll."""
        is_active = self.report.state.name == "ACTIVE" and self.report.status.name == "ACTIVE"
        return is_active and self.interval_seconds < math.inf

    @property
    def budget_share(self) -> float:
        """Share of all fetches that go to its polls and to the new pages that they find."""
        if not self.is_polled:
            return 0.0
        links = self.link_rate if self.values_links else 0.0
        return (1 / max(self.interval_seconds, 1e-9) + links) / self.budget_per_second

    @property
    def bound(self) -> float:
        """What a poll is worth after a long time."""
        return self.link_rate * self.profit / self.decay


def hub_reason(case: HubCase, now: float) -> str:
    """Why a hub is or is not polled, in a clause."""
    hub = case.report
    if hub.status.name != "ACTIVE":
        return STANDING[hub.status.name.lower()]
    if hub.state.name == "RETIRED":
        return (
            f"no new link in {count(hub.barren, 'poll')}: looked at again {relative(hub.next_look_at, now)}"
        )
    if hub.state.name == "TRIAL":
        return "its links are looked at for the first time at its next visit"
    if not case.values_links:
        return f"to the policy {case.policy} it is a page like others"
    if case.interval_seconds < math.inf:
        return (
            f"a new link {every(case.link_rate)}, worth {number(case.profit)} if fetched at once and half of "
            f"that after {duration(math.log(2) / case.decay)}"
        )
    if case.bound < case.fetch_price:
        return (
            f"all its new links are worth {number(case.bound)} at most, less than a fetch "
            f"({number(case.fetch_price)})"
        )
    wait = float(saturates_at(np.array([case.bound]), np.array([case.decay]), case.fetch_price)[0])
    left = case.profit * math.exp(-case.decay * wait)
    return (
        f"its pages would be worth {number(left)} when they are found, less than their own fetch "
        f"({number(case.fetch_price)})"
    )


def hub_sentences(case: HubCase, now: float) -> list[str]:
    """What there is to say about a page as a hub."""
    hub = case.report
    origin = {
        "root": "It is the main page of its host, whose links are looked at for hubs.",
        "link": f"It is a hub: {hub.found_on} links to it, and it is old enough (by {hub.evidence}).",
        "spider": "The spider has marked it as a source of links.",
    }[hub.found]
    brought = (
        f"Its {count(hub.polls, 'poll')} have brought {count(hub.new_links, 'new link')}; the last one was "
        f"{relative(hub.last_poll_at, now)} and saw {count(hub.shown, 'link')}."
    )
    seen = ["It is fetched for its links only: the spider does not see it."] if hub.is_unseen else []
    reason = hub_reason(case, now)
    verdict = "It is polled" if case.is_polled else "It is not polled for links"
    if case.is_polled:
        verdict += f" about every {duration(case.interval_seconds)}"
    return [origin, brought, *seen, f"{verdict}: {reason}."]
