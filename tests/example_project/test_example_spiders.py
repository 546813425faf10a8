"""The example project without the addon: plain spiders that work."""

import doctest
import importlib
import json
import pkgutil
import subprocess
import sys

import living_site
import pytest

ITEM_FIELDS = {
    "quotes": {"text", "author", "tags"},
    "articles": {"url", "title", "text", "quotes"},
    "everything": {"url", "title"},
}


@pytest.mark.parametrize("spider", ITEM_FIELDS)
def test_a_spider_crawls_the_site_and_yields_items(site, example_project, tmp_path, spider):
    items_path = tmp_path / "items.jsonl"
    command = [sys.executable, "-m", "scrapy", "crawl", spider, "-a", f"site={site.root_urls[0]}"]
    options = ["-s", "ADDONS={}", "-s", "CLOSESPIDER_PAGECOUNT=150", "-O", str(items_path)]
    result = subprocess.run(
        command + options, cwd=example_project, capture_output=True, text=True, timeout=60, check=False
    )
    items = [json.loads(line) for line in items_path.read_text().splitlines()]

    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert len(items) >= 20
    assert all(item.keys() == ITEM_FIELDS[spider] for item in items)
    if spider != "quotes":
        assert len({item["url"].split("/")[2] for item in items}) > 5


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(living_site.__path__)])
def test_the_examples_in_the_docstrings_run(name):
    module = importlib.import_module(f"living_site.{name}")

    assert doctest.testmod(module).failed == 0
