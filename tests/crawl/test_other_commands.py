"""Commands of Scrapy that only look at something do not become crawls that never end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from crawling import FOLLOW, crawl
from site_under_test import Site, html
from test_scrapy_features import COMPONENTS

# The spider of a project, with a contract, and the settings of the project without and with freshness.
PROJECT = {
    "spiders.py": FOLLOW.replace(
        "def parse(self, response):",
        'def parse(self, response):\n        """\n        @url URL\n        @returns items 1\n        """',
    ).replace('name = "follow"', 'name = "follow"\n    allowed_domains = ["127.0.0.1"]'),
    "plain.py": 'SPIDER_MODULES = ["spiders"]\nTELNETCONSOLE_ENABLED = False\n',
    "fresh.py": 'from plain import *\nADDONS = {"scrapy_freshness.Addon": 500}\n',
    "by_hand.py": f"from plain import *\nglobals().update({COMPONENTS})\n",
}


@pytest.mark.parametrize(
    ("command", "installed"),
    [
        ("fetch URL", "fresh"),
        ("fetch --spider follow URL", "fresh"),
        ("shell -c response.text URL", "fresh"),
        ("shell --spider follow -c response.text URL", "by_hand"),
        ("parse --spider follow --depth 2 URL", "fresh"),
        ("check", "fresh"),
    ],
)
def test_commands_that_do_not_crawl_are_plain_scrapy(
    site: Site, tmp_path: Path, command: str, installed: str
) -> None:
    site.pages |= {"/": html("/a"), "/a": html()}
    crawl(tmp_path, site.url())
    database = (tmp_path / "freshness.db").read_bytes()
    for name, text in PROJECT.items():
        (tmp_path / name).write_text(text.replace("URL", site.url()))
    # Not measured: there is little of ours to be run, and to count its lines takes as long as all the rest.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    started = {
        settings: subprocess.Popen(
            [sys.executable, "-m", "scrapy", *command.replace("URL", site.url()).split(), "--nolog"],
            cwd=tmp_path,
            env={**environment, "SCRAPY_SETTINGS_MODULE": settings, "PYTHONPATH": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for settings in ("plain", installed)
    }
    printed = {settings: process.communicate(timeout=60) for settings, process in started.items()}

    assert [process.returncode for process in started.values()] == [0, 0]
    assert "some words" in printed["plain"][0] or "OK" in printed["plain"][1]
    assert printed[installed][0] == printed["plain"][0]
    assert (tmp_path / "freshness.db").read_bytes() == database
    assert not (tmp_path / "freshness.db-wal").exists()
