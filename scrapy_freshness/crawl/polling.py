"""A sitemap or feed has answered: its news go to the announcements, and the spider does not see it."""

import logging
from collections.abc import Callable
from functools import partial

from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_freshness.content.measure import measure_bytes
from scrapy_freshness.crawl.announcing import Announced, Announcements, TakenIn, next_turn
from scrapy_freshness.crawl.finding import SourceFinder
from scrapy_freshness.crawl.http import header_text
from scrapy_freshness.crawl.known_sources import KnownSources
from scrapy_freshness.crawl.pushed_pages import PUSHED_FLAG
from scrapy_freshness.crawl.troubles import reason_of
from scrapy_freshness.crawl.visiting import PageVisit, Visits
from scrapy_freshness.model import Outcome, PageRecord, SignalSource, SourceRecord
from scrapy_freshness.planning.comparing import content_outcome
from scrapy_freshness.planning.visits import PollYield, Report
from scrapy_freshness.signals.addresses import host_of
from scrapy_freshness.signals.contract import Kind, Link, Relation
from scrapy_freshness.signals.discovery import header_sources
from scrapy_freshness.signals.poll import Verdict
from scrapy_freshness.signals.polled import Polled, Said, read_poll

logger = logging.getLogger(__name__)

#: Sitemaps of an index that are added in one turn of the reactor.
_FEW = 32


class Polls:
    """Reads the answers of what is polled, in the background, and closes their visits when that is done.

    If the process dies before, the same is read again at the next poll.

    Parameters
    ----------
    in_background : runs what takes long in a thread
    read_seen : what a source said at its last poll, from the database
    """

    def __init__(
        self,
        crawler: Crawler,
        visits: Visits,
        known: KnownSources,
        finder: SourceFinder,
        announcements: Announcements,
        *,
        in_background: "Callable[[Callable[[], Polled]], Deferred[Polled]]",
        read_seen: "Callable[[int], Deferred[bytes]]",
    ) -> None:
        self._stats = crawler.stats
        self._visits = visits
        self._known = known
        self._finder = finder
        self._announcements = announcements
        self._in_background = in_background
        self._read_seen = read_seen
        #: Told of the hubs that a source names, if there is somebody who subscribes.
        self.advertised: Callable[[str, list[Link]], None] = lambda url, links: None

    def answered(self, page: PageVisit, response: Response, report: Report) -> None:
        """Read an answer; *report* is what is known without reading it."""
        if report.body_hash == page.visit.record.body_hash:
            report.outcome, report.divergence = Outcome.UNCHANGED, 0.0
            self.unchanged(page, report)
            return
        done = deferred_from_coro(self._read(page, response, report))
        done.addErrback(self._failed, page)

    def unchanged(self, page: PageVisit, report: Report) -> None:
        """A poll found nothing new, by its validator or its bytes."""
        source = self._source_of(page.visit.record)
        if source.verdict in (Verdict.EARLY, Verdict.NOW):
            source.verdict = Verdict.USABLE.value  # dates that stand still are not always "now"
        self._end(page, report, TakenIn())

    async def _read(self, page: PageVisit, response: Response, report: Report) -> None:
        record = page.visit.record
        source = self._source_of(record)
        before = await maybe_deferred_to_future(self._read_seen(record.page_id))
        hosts = {*source.hosts, host_of(record.url) or ""}
        read = partial(
            read_poll,
            response.body,
            response.url,
            before=before,
            now=report.at,
            content_type=header_text(response, "Content-Type") or "",
            hosts=hosts,
        )
        polled = await maybe_deferred_to_future(self._in_background(read))
        source.format, source.verdict = polled.findings.kind.value, polled.verdict.value
        source.oddities = {oddity.value: count for oddity, count in polled.findings.oddities.items()}
        if polled.findings.kind is Kind.UNKNOWN:
            self._stats.inc_value("freshness/polls_unreadable")
            report.outcome = Outcome.GONE
            self._known.note(source)
            self._visits.close(page, report)
            return
        source.seen, source.entries = polled.seen, polled.findings.n_entries
        if PUSHED_FLAG not in response.flags:  # what is pushed need not name its hub
            self._note_hub(source, polled, response)
        taken = await self._announced(source, polled, report.at, is_first=record.last_visit_at is None)
        if self._announcements.is_closed:
            return  # what was not announced is so at the next poll
        report.outcome = content_outcome(record, changed=True)
        report.measurement = measure_bytes(response.body)
        self._end(page, report, taken, polled.findings.update_seconds)

    async def _announced(
        self, source: SourceRecord, polled: Polled, now: float, *, is_first: bool
    ) -> TakenIn:
        """Announce what is new; of a feed with news, so is the hub that it belongs to."""
        said_by = SignalSource.FEED if polled.is_feed else SignalSource.SITEMAP
        tell = partial(self._announcements.take, told_by=source.page_id, now=now)
        children = await self._add_children(source, polled.sitemaps, now)
        signals: list[Announced] = polled.signals
        if polled.is_feed and signals and not is_first:
            signals = [*signals, *self._hub_of(source, polled)]
        moved = await maybe_deferred_to_future(tell(signals, said_by))
        new = await maybe_deferred_to_future(tell(polled.pages, said_by, new_only=True))
        return TakenIn(
            heard=moved.heard, new=moved.new + new.new + children, worth=moved.worth + new.worth + children
        )

    def _hub_of(self, source: SourceRecord, polled: Polled) -> list[Said]:
        """The known page that shows the entries of a feed: the one that it names, or else that names it.

        The latter may be any page of a site whose every page names the feed.
        """
        hosts = {*source.hosts, host_of(source.url)}
        named = [link.url for link in polled.findings.links if link.relation is Relation.HOME]
        pages = [
            url
            for url in (*named, source.found_on)
            if host_of(url) in hosts and self._announcements.is_page(url)
        ]
        return [Said(url) for url in pages[:1]]

    async def _add_children(self, source: SourceRecord, sitemaps: list[Said], now: float) -> int:
        added = 0
        for start in range(0, len(sitemaps), _FEW):
            added += self._finder.add_children(source, sitemaps[start : start + _FEW], now)
            await next_turn()
        return added

    def _note_hub(self, source: SourceRecord, polled: Polled, response: Response) -> None:
        headers = [value.decode("latin-1") for value in response.headers.getlist("Link")]
        links = [*header_sources(headers, response.url), *polled.findings.links]
        hubs = [link.url for link in links if link.relation is Relation.HUB]
        topics = [link.url for link in links if link.relation is Relation.SELF]
        source.hub = hubs[0] if hubs else None
        source.topic = (topics[0] if topics else source.url) if hubs else None
        self.advertised(source.url, links)

    def _end(
        self, page: PageVisit, report: Report, taken: TakenIn, update_seconds: float | None = None
    ) -> None:
        """Close the visit of a source, with what the poll was worth."""
        source = self._source_of(page.visit.record)
        is_barren = not taken.worth and not taken.new
        source.polls += 1
        source.new_pages += taken.new
        source.signals += taken.heard
        source.barren = source.barren + 1 if is_barren else 0
        source.last_poll_at, source.last_yield = report.at, taken.worth
        report.poll = PollYield(taken.worth, is_barren and not source.is_pinned, update_seconds)
        self._known.note(source)
        self._visits.close(page, report)

    def _source_of(self, record: PageRecord) -> SourceRecord:
        source = self._known.get(record.page_id)
        if source is None:  # the two were not written together; what is kept begins anew
            found = SourceRecord(page_id=record.page_id, url=record.url, kind=record.kind, found="page")
            self._known.add(found)
            return found
        return source

    def _failed(self, failure: Failure, page: PageVisit) -> None:
        if page.is_open and not self._announcements.is_closed:
            logger.error("%s could not be read: %s", page.url, failure.getErrorMessage())
            self._stats.inc_value("freshness/polls_failed")
            self._visits.fail(page, reason_of(failure.value))
