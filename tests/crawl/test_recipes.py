"""docs/recipes.md: the queries run on real databases, Datasette serves a crawled one, the metrics exist."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import URLError

import yaml
from crawling import crawl
from pinging import free_port
from site_under_test import Answer, Site, html
from sqlalchemy import text

from scrapy_freshness.storage.store import Store
from scrapy_freshness.storage.views import VIEWS

DOCS = Path(__file__).parents[2] / "docs"
RECIPES = (DOCS / "recipes.md").read_text()
SELECT = re.compile(r"```sql\n(SELECT .*?)```", re.DOTALL)
CANNED = yaml.safe_load((DOCS / "datasette.yml").read_text())["databases"]["freshness"]["queries"]


def test_datasette_serves_the_canned_queries_of_a_crawled_database(site: Site, tmp_path: Path) -> None:
    site.pages = {"/": html("/a", "/down"), "/a": html(), "/down": Answer(status=500)}
    crawl(tmp_path, site.url(), settings={"RETRY_ENABLED": False})
    port = free_port()
    command = ["-m", "datasette", "freshness.db", "--metadata", str(DOCS / "datasette.yml"), "-p", str(port)]
    server = subprocess.Popen(
        [sys.executable, *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        found = {name: ask(port, name, server) for name in CANNED}
    finally:
        server.terminate()
        server.wait(60)

    counts = {row["what"]: row["count"] for row in found["where_the_budget_goes"]}
    assert counts["visit: first"] == counts["fetch: page"] - counts["visit: failed"] == 2
    assert [row["url"] for row in found["errors_of_the_last_hour"]] == [site.url("/down")]
    (waste,) = found["hosts_that_waste_fetches"]
    fetches = sum(count for what, count in counts.items() if what.startswith("fetch: "))
    assert (waste["fetches"], waste["wasted"]) == (fetches, fetches - counts["visit: first"])
    assert [row["url"] for row in found["pages_by_address"]] == [site.url("/down")]
    assert found["sources_that_lie"] == found["what_people_asked_for"] == []


def ask(port: int, query: str, server: "subprocess.Popen[bytes]") -> list[dict[str, Any]]:
    """The rows of a canned query, as soon as the server answers."""
    url = f"http://127.0.0.1:{port}/freshness/{query}.json?_shape=array&text=down"
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                rows: list[dict[str, Any]] = json.load(answer)
                return rows
        except URLError as error:
            is_starting = isinstance(error.reason, ConnectionRefusedError) and server.poll() is None
            if not is_starting or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_queries_of_the_recipes_can_be_run(store: Store) -> None:
    """All on PostgreSQL; on SQLite those that are not for Grafana."""
    grafana, others = RECIPES.split("## Metabase")
    for query in re.findall(SELECT, others if store.database.is_sqlite else grafana + others):
        query = re.sub(r"\[\[.*?\]\]", "", query)
        query = re.sub(r"\$__unixEpochFilter\((\w+)\)", r"\1 BETWEEN 0 AND 4000000000", query)
        query = re.sub(r"\$__unixEpochGroupAlias\((\w+), '5m'\)", r"floor(\1 / 300) * 300 AS time", query)
        with store.reading() as connection:
            assert connection.execute(text(query)).all() == []


def test_all_views_are_readable_for_grafana_and_metrics_exist() -> None:
    (granted,) = re.findall(r"GRANT SELECT ON (.*) TO grafana", RECIPES)
    metrics = set(re.findall(r"`(freshness_\w+?)(?:\{.*\})?` \|", (DOCS / "metrics.md").read_text()))

    assert set(granted.split(", ")) == set(VIEWS)
    assert set(re.findall(r"freshness_[a-z_]+", RECIPES)) <= metrics
