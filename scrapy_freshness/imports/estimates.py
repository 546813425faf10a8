"""What clicks tell: importances of pages, and what the pages of sources earn.

Both are in one unit: requests per second for what is known, requests per page for what is to be found. What
somebody has given counts more than what clicks tell. All is computed from the sums in the database, and
written back in short transactions, so that a crawl may go on.
"""

from dataclasses import dataclass

from scrapy_freshness.estimation.click_rates import Coverage
from scrapy_freshness.imports.page_rates import importance_groups, importances_of, rates_of, write_changed
from scrapy_freshness.imports.profits import profit_groups
from scrapy_freshness.planning.importances import Importances
from scrapy_freshness.storage import click_rows, estimate_rows
from scrapy_freshness.storage.store import Store


@dataclass(slots=True)
class Estimated:
    """What was estimated, of all spiders."""

    pages: int = 0  #: with another importance than before
    sources: int = 0  #: whose pages were observed


def refresh_estimates(store: Store, importance: str = "clicks") -> Estimated:
    """Estimate everything anew; *importance* is the setting: clicks, links, feeds or equal."""
    done = Estimated()
    with store.writing() as connection:
        estimate_rows.hand_over(connection)
        click_rows.prune_waiting(connection)
    with store.reading() as connection:
        spans = click_rows.load_spans(connection)
        by_age = estimate_rows.load_source_clicks(connection)
        names = estimate_rows.host_names_by_id(connection)
    covered = {host_id: Coverage(each) for host_id, each in spans.items()}
    given = Importances()
    beginnings = [(rule.url, rule.importance) for rule in store.load_rules() if rule.is_prefix]
    given.be_told({}, beginnings, {})
    for spider in store.spiders():
        with store.reading() as connection:
            pages = estimate_rows.load_page_clicks(connection, spider)
        rates = rates_of(pages, covered)
        estimated = importances_of(pages, rates, importance)
        done.pages += write_changed(store, spider, pages, *estimated, given if beginnings else None)
        n_sources, groups = profit_groups(pages, by_age, covered, names)
        done.sources += n_sources
        groups |= importance_groups(pages, rates, names, importance)
        with store.writing() as connection:
            estimate_rows.replace_groups(connection, spider, ("importance", "profits"), groups)
    return done
