"""The state of the crawl in the words of Prometheus; imported only if somebody listens."""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

CONTENT_TYPE: str = CONTENT_TYPE_PLAIN_0_0_4

Status = Mapping[str, Any]
#: Name (without unit and ``_total``) -> help, label, and where its numbers are.
COUNTERS: dict[str, tuple[str, str, Callable[[Status], Mapping[str, float]]]] = {
    "freshness_fetches": (
        "Requests that reached the downloader, which is what the budget is about.",
        "kind",
        lambda status: status["fetches"]["run"],
    ),
    "freshness_visits": (
        "Visits of pages that ended.",
        "outcome",
        lambda status: status["visits"]["run"],
    ),
    "freshness_polls": (
        "Polls of sitemaps and feeds that ended.",
        "outcome",
        lambda status: status["polls"]["run"],
    ),
    "freshness_signals": (
        "What sitemaps, feeds and pings said about pages.",
        "result",
        lambda status: status["signals"]["run"],
    ),
    "freshness_errors": ("Things that went wrong.", "kind", lambda status: status["errors"]),
}
GAUGES: dict[str, tuple[str, Callable[[Status], float | None]]] = {
    "freshness_start_time_seconds": ("Unix time at which the crawl began.", lambda it: it["started_at"]),
    "freshness_budget_fetches_per_second": (
        "Fetches that the crawl may make.",
        lambda it: it["budget_per_second"],
    ),
    "freshness_budget_used_ratio": (
        "Share of the budget of the last minute that was used.",
        lambda it: it["budget_used"]["minute"],
    ),
    "freshness_fresh_copies_ratio": (
        "Expected freshness of the copies, mean by importance; told once a minute.",
        lambda it: it["freshness"],
    ),
    "freshness_fresh_copies_uniform_ratio": (
        "What visiting all pages in turn would give, with as many visits.",
        lambda it: it["uniform_freshness"],
    ),
    "freshness_visit_price": (
        "Value of the visits of late: what a visit has to be worth, in the policy's unit.",
        lambda it: it["price"],
    ),
    "freshness_open_visits": ("Visits that have begun and not ended.", lambda it: it["open_visits"]),
    "freshness_chosen_pages": ("Pages chosen to be visited next.", lambda it: it["queue"]["chosen"]),
    "freshness_held_requests": (
        "Retries, redirects and other requests that wait for their host.",
        lambda it: it["queue"]["held"],
    ),
    "freshness_unsaved_visits": ("Visits not written to the database yet.", lambda it: it["unsaved_visits"]),
    "freshness_healthy": (
        "1 if the crawl runs and its database takes what it learns, else 0.",
        lambda it: it["trouble"] is None,
    ),
}


class CrawlCollector(Collector):
    """Makes metrics of the state of the crawl whenever they are asked for."""

    def __init__(self, status: Callable[[], Status]) -> None:
        self._status = status

    def describe(self) -> list[Metric]:
        """Nothing: names are known only when the metrics are made."""
        return []

    def collect(self) -> Iterator[Metric]:
        status = self._status()
        (crawl,) = status["spiders"]
        spider = crawl["spider"]
        info = {"version": version("scrapy-freshness"), "spider": spider, "policy": crawl["policy"]}
        yield InfoMetricFamily("freshness_crawl", "What crawls.", value=info)
        pages = GaugeMetricFamily("freshness_pages", "Known pages.", labels=("spider", "status"))
        for name, count in crawl["pages"].items():
            pages.add_metric((spider, name), count)
        yield pages
        hosts = GaugeMetricFamily(
            "freshness_hosts_in_backoff", "Hosts that are left alone.", labels=("spider",)
        )
        hosts.add_metric((spider,), len(status["hosts_in_backoff"]))
        yield hosts
        for name, (help_, read) in GAUGES.items():
            value = read(crawl)
            if value is not None:
                gauge = GaugeMetricFamily(name, help_, labels=("spider",))
                gauge.add_metric((spider,), value)
                yield gauge
        for name, (help_, label, numbers) in COUNTERS.items():
            counter = CounterMetricFamily(name, help_, labels=("spider", label))
            for key, count in numbers(crawl).items():
                counter.add_metric((spider, key), count)
            yield counter


def exposition(status: Callable[[], Status]) -> Callable[[], str]:
    """Return what makes the text that Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(CrawlCollector(status))
    return lambda: generate_latest(registry).decode()
