"""Hubs, sitemaps and feeds with what the policy in force believes of them, from the database."""

import numpy as np

from scrapy_freshness.config import Config
from scrapy_freshness.insight.announcers import Announcer
from scrapy_freshness.insight.hub_reasons import HubCase
from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.learners import learner_of
from scrapy_freshness.planning.link_learner import beliefs_of_links
from scrapy_freshness.signals.contract import SHOWS_NEWS
from scrapy_freshness.storage.hub_reports import HubReport
from scrapy_freshness.storage.signal_reports import SourceReport
from scrapy_freshness.storage.store import Store


class BelievedHubs:
    """What a policy believes of the hubs among some pages."""

    def __init__(self, terms: Terms, outlook: Outlook) -> None:
        self._terms = terms
        self.intervals = outlook.long_run_intervals(terms.price if terms.policy.solve_price is None else 1.0)
        self._believed = {name: outlook.believed(name) for name in ("link_rate", "profit", "decay")}

    def case(self, report: HubReport, row: int) -> HubCase:
        """A hub, and which of the pages it is."""
        return HubCase(
            report=report,
            policy=self._terms.policy.name,
            fetch_price=self._terms.fetch_price,
            interval_seconds=float(self.intervals[row]),
            budget_per_second=self._terms.budget_per_second,
            **{name: float(column[row]) for name, column in self._believed.items()},
        )


class BelievedSources:
    """What the policy of a spider believes of its sources of new pages."""

    def __init__(self, store: Store, config: Config, spider: str, now: float) -> None:
        self._terms = terms = Terms.of(store, config, spider)
        self._columns = columns = store.load_pages(spider)
        self._hubs = BelievedHubs(terms, Outlook(terms, columns, now))
        self._order = np.argsort(columns.page_id)
        self._looks_for_news = config.hubs
        self._learner = learner_of(terms.policy, config)
        self._learner.restore(store.load_groups(spider))

    def hub(self, report: HubReport) -> HubCase | None:
        """A hub; None if its page has been forgotten meanwhile."""
        row = self._row_of(report.page_id)
        return None if row is None else self._hubs.case(report, row)

    def announcer(self, report: SourceReport) -> Announcer | None:
        """A sitemap or feed; None if it has been forgotten meanwhile."""
        row = self._row_of(report.page_id)
        if row is None:
            return None
        page = PageRecord(
            page_id=report.page_id, fingerprint=0, url=report.url, host=report.host, kind=report.kind
        )
        shows_news = self._looks_for_news and report.format in SHOWS_NEWS
        links = beliefs_of_links(self._learner, page) if shows_news else {}
        known = self._columns.beliefs
        return Announcer(
            report=report,
            profit=links.get("profit", np.nan),
            decay=links.get("decay", np.nan),
            yield_rate=float(known["yield_rate"][row]) if "yield_rate" in known else np.nan,
            patience_seconds=float(known["patience_seconds"][row]) if "patience_seconds" in known else np.nan,
            interval_seconds=float(self._hubs.intervals[row]),
            budget_per_second=self._terms.budget_per_second,
        )

    def _row_of(self, page_id: int) -> int | None:
        page_ids = self._columns.page_id
        place = np.searchsorted(page_ids, page_id, sorter=self._order)
        row = int(self._order[place]) if place < len(page_ids) else -1
        return row if row >= 0 and page_ids[row] == page_id else None
