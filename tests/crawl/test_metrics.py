"""A running crawl tells Prometheus, programs and probes how it does."""

import http.client
import json
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from crawling import crawl, start_crawl
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from site_under_test import Answer, Site, html

from scrapy_freshness.crawl.metrics import Metrics
from scrapy_freshness.crawl.prometheus import COUNTERS, GAUGES
from scrapy_freshness.errors import ConfigError

DOCUMENT = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
LISTENING = re.compile(r"Telling metrics at http://([\d.]+):(\d+)/metrics")


def test_a_crawl_tells_how_it_does(site: Site, tmp_path: Path) -> None:
    # On another host: a host that is down is left alone, ever longer, with all its pages.
    down = site.url("/down", host=1)
    site.pages = {"/": html("/a", down, "/gone"), "/a": html(), "/down": Answer(status=503)}
    settings = {"FRESHNESS_METRICS_LISTEN": "127.0.0.1:0", "RETRY_ENABLED": False}
    running = start_crawl(tmp_path, site.url(), settings=settings)
    running.wait_until(lambda: LISTENING.search(running.log()) is not None)
    host, port = LISTENING.findall(running.log())[0]

    def ask(path: str, method: str = "GET", **headers: str) -> tuple[int, str, str]:
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
        finally:
            connection.close()

    def crawl_now() -> dict[str, Any]:
        (spider,) = json.loads(ask("/status.json")[2])["spiders"]
        return spider

    running.wait_until(lambda: ask("/healthz")[0] == 200)
    running.wait_until(lambda: crawl_now()["visits"]["run"]["unchanged"] > 3)
    running.wait_until(lambda: crawl_now()["errors"]["hosts_backed_off"] >= 1)
    running.wait_until(lambda: crawl_now()["freshness"] is not None)
    status = json.loads(ask("/status.json")[2])
    families = {family.name: family for family in text_string_to_metric_families(ask("/metrics")[2])}

    (spider,) = status["spiders"]
    assert (spider["spider"], spider["running"], spider["trouble"]) == ("follow", True, None)
    assert spider["pages"] == {"new": 1, "active": 2, "gone": 1, "suspended": 0, "moved": 0}
    assert 0 < spider["freshness"] <= 1
    assert 0 < spider["budget_used"]["minute"] <= 1.5
    assert spider["fetches"]["run"]["page"] >= spider["fetches"]["minute"]["page"] > 3

    assert metric(families["freshness_pages"], status="active") == 2
    assert metric(families["freshness_visits"], outcome="first") == 2
    assert metric(families["freshness_fetches"], kind="page") >= spider["fetches"]["run"]["page"]
    assert metric(families["freshness_healthy"]) == 1
    assert {family.type for family in families.values()} == {"counter", "gauge", "info"} - {"info"}
    assert all(family.documentation for family in families.values())
    assert documented() >= set(families)

    assert ask("/metrics")[1].startswith("text/plain; version=0.0.4")
    assert ask("/status.json", "HEAD")[2] == ""
    assert [ask(path)[0] for path in ("/", "/nothing")] == [200, 404]
    assert ask("/metrics", "POST")[0] == 405
    assert ask("/status.json", Host="evil.example")[0] == 403

    running.interrupt()
    done = running.wait()
    assert done.returncode == 0
    with socket.create_server((host, int(port))):
        pass  # the port is free again


def metric(family: Metric, **labels: str) -> float:
    """The one sample that has these labels."""
    (sample,) = [each for each in family.samples if labels.items() <= each.labels.items()]
    assert sample.labels["spider"] == "follow"
    return sample.value


def documented() -> set[str]:
    return {
        name.removesuffix("_total").removesuffix("_info") + ("_info" if name.endswith("_info") else "")
        for name in re.findall(r"^\| `(freshness_\w+?)(?:\{.*\})?` \|", DOCUMENT, re.MULTILINE)
    }


def test_every_metric_is_documented_with_its_help() -> None:
    helps = {name: help_ for name, (help_, *_) in {**COUNTERS, **GAUGES}.items()}

    assert documented() == {*helps, "freshness_crawl_info", "freshness_pages", "freshness_hosts_in_backoff"}
    assert [help_ for help_ in helps.values() if help_.rstrip(".") not in DOCUMENT] == []


def test_a_port_that_is_taken_stops_the_crawl_with_one_line(site: Site, tmp_path: Path) -> None:
    site.pages = {"/": html()}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = crawl(tmp_path, site.url(), settings={"FRESHNESS_METRICS_LISTEN": address})

    assert f"The crawl cannot start: FRESHNESS_METRICS_LISTEN cannot be {address}" in done.log
    assert site.asked("/") == []


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scrapy_freshness.crawl.prometheus", None)
    monkeypatch.delattr("scrapy_freshness.crawl.prometheus", raising=False)

    with pytest.raises(ConfigError, match=r"pip install 'scrapy-freshness\[metrics\]'"):
        Metrics(None, ("127.0.0.1", 0))  # type: ignore[arg-type]
