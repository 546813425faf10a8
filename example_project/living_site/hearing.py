"""How true and complete the sayings of a site were for a crawler, by the site's own log.

What a sitemap says is heard when the sitemap is fetched, and is of use if that happens before the page is
visited anyway. So the share of the changes that a crawler can hear of depends on both, and is known to nobody
but the site, which has the changes and the requests.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from living_site.announcements import SITEMAPS
from living_site.model import Document, Host
from living_site.request_log import Entry
from living_site.sayings import SignalTruth, sayings, told_after
from living_site.world import World


def truth_as_heard(
    world: World,
    host: Host,
    visits: Mapping[Document, Sequence[float]],
    polls: Mapping[str, Sequence[float]],
) -> SignalTruth:
    """Return how true and complete the sayings of a host were for a crawler, from the pages' first visits on.

    What is said of a page between two fetches of its sitemap is one saying, unless the page was visited since
    it claims to have changed; it is true if one of the changes that it tells of has happened since. A change
    is told of if a saying about it was heard before the next visit; all changes that one saying tells of are
    one change. Those that no visit has found do not count.

    Parameters
    ----------
    visits : times at which each document was asked for, ascending
    polls : times at which each sitemap was asked for, by its path, ascending
    """
    silent = heard = true = 0
    for page, times in visits.items():
        if page.host != host:
            continue
        path = next(path for path, prefix in SITEMAPS.items() if page.path.startswith(prefix))
        asked = polls.get(path, [])
        for left, arrived in pairwise(times):
            first, last = bisect_right(asked, left), bisect_right(asked, arrived)
            since = asked[first - 1] if first else 0.0
            for poll in asked[first:last]:
                news = [each for each in sayings(world, page, since, poll) if each.claimed > left]
                heard += bool(news)
                true += any(each.is_true for each in news)
                since = poll
            silent += sum(
                time + told_after(world, page, time) > since
                for time in world.change_times(page, left, arrived)
            )
    return SignalTruth(true + silent, true, heard, true)


def requests_by_page(
    world: World, host: Host, entries: Iterable[Entry]
) -> tuple[dict[Document, list[float]], dict[str, list[float]]]:
    """Return when the documents and the sitemaps of a host were asked for, from its log."""
    visits: dict[Document, list[float]] = {}
    polls: dict[str, list[float]] = {}
    for entry in sorted(entries, key=lambda entry: entry.answered):
        if entry.host != host.address:
            continue
        page = world.page(entry.host, entry.path)
        if isinstance(page, Document):
            visits.setdefault(page, []).append(entry.answered)
        elif entry.path in SITEMAPS:
            polls.setdefault(entry.path, []).append(entry.answered)
    return visits, polls
