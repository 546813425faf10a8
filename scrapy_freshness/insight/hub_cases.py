"""Hubs with what the policy in force believes of them, from the database."""

import numpy as np

from scrapy_freshness.config import Config
from scrapy_freshness.insight.hub_reasons import HubCase
from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.storage.hub_reports import HubReport
from scrapy_freshness.storage.store import Store


def hub_cases(store: Store, config: Config, reports: list[HubReport], now: float) -> list[HubCase]:
    """Hubs with what their spiders' policies believe of them; in the same order."""
    cases: dict[int, HubCase] = {}
    for spider in {report.spider for report in reports}:
        terms = Terms.of(store, config, spider)
        columns = store.load_pages(spider)
        outlook = Outlook(terms, columns, now)
        intervals = outlook.long_run_intervals(terms.price if terms.policy.solve_price is None else 1.0)
        believed = {name: outlook.believed(name) for name in ("link_rate", "profit", "decay")}
        own = {report.page_id: report for report in reports if report.spider == spider}
        for row in np.flatnonzero(np.isin(columns.page_id, list(own))).tolist():
            report = own[int(columns.page_id[row])]
            cases[report.page_id] = HubCase(
                report=report,
                policy=terms.policy.name,
                fetch_price=terms.fetch_price,
                interval_seconds=float(intervals[row]),
                budget_per_second=terms.budget_per_second,
                **{name: float(column[row]) for name, column in believed.items()},
            )
    return [cases[report.page_id] for report in reports if report.page_id in cases]
