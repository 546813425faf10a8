"""Puts the parts together that find hubs and read them."""

from collections.abc import Callable

from scrapy import Request
from scrapy.crawler import Crawler
from twisted.internet.defer import Deferred

from scrapy_freshness.clock import Clock
from scrapy_freshness.config import Config, setting_name
from scrapy_freshness.crawl.hub_search import HubSearch
from scrapy_freshness.crawl.hubs import Hubs
from scrapy_freshness.crawl.known_hubs import KnownHubs
from scrapy_freshness.crawl.listening import Listening
from scrapy_freshness.crawl.new_links import NewLinks
from scrapy_freshness.crawl.seen_on_hosts import SeenOnHosts
from scrapy_freshness.crawl.unasked import UnaskedRequests
from scrapy_freshness.crawl.visiting import Visits
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.sources.links import LinkReader, Shown
from scrapy_freshness.sources.rules import HubRules
from scrapy_freshness.sources.seen import SeenLinks


def new_hubs(
    crawler: Crawler,
    config: Config,
    clock: Clock,
    planner: Planner,
    visits: Visits,
    listening: Listening,
    unasked: UnaskedRequests,
    *,
    fingerprint: Callable[[Request], int],
    discover: Callable[[PageRecord], PageRecord],
    cached: Callable[[list[int]], list[PageRecord]],
    read_links: "Callable[[str], Deferred[SeenLinks]]",
    in_background: "Callable[[Callable[[], list[Shown]]], Deferred[list[Shown]]]",
    wake: Callable[[], None],
) -> Hubs:
    """The hubs of a crawl, none of them known yet; parameters as in the parts."""
    known, rules = KnownHubs(), rules_of(config)
    search = HubSearch(
        config,
        planner,
        crawler.stats,
        known,
        rules,
        unasked,
        fingerprint=fingerprint,
        discover=discover,
        discover_unasked=listening.discover_unasked,
        cached=cached,
        dates_of=listening.dates_of,
    )
    new_links = NewLinks(
        planner,
        crawler.stats,
        unasked,
        fingerprint=fingerprint,
        discover=listening.discover_unasked,
        wake=wake,
    )
    return Hubs(
        config,
        planner,
        visits,
        clock,
        crawler.stats,
        known,
        SeenOnHosts(read_links),
        search,
        new_links,
        rules=rules,
        reader=_reader(config),
        in_background=in_background,
    )


def rules_of(config: Config) -> HubRules:
    """When a page is a hub, by the settings."""
    return HubRules(
        min_age_seconds=config.hub_age_seconds,
        patience_polls=config.hub_patience,
        first_rest_seconds=config.gone_recheck_seconds,
        longest_rest_seconds=config.gone_recheck_max_seconds,
        refresh_seconds=config.hub_refresh_seconds,
    )


def _reader(config: Config) -> LinkReader:
    """A reader of links; CSS selectors that cannot be used are refused by name."""
    try:
        return LinkReader(config.boilerplate_css, obeys_nofollow=config.obey_nofollow)
    except ConfigError as error:
        raise ConfigError(f"{setting_name('boilerplate_css')}: {error}") from None
