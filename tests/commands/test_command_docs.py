"""docs/commands.md names every key of the JSON that the commands print, and no other."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from answering import Answer
from small_web import SLOW

from scrapy_freshness.storage.views import VIEWS

TEXT = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()

COMMANDS = {
    "status": ("status",),
    "top": ("top",),
    "pages": ("pages", "--limit", "99"),
    "show": ("show", SLOW),
    "why": ("why", SLOW),
    "queries": ("queries", "--spider", "news"),
    "search": ("search", "rain"),
    "signals": ("signals",),
    "settings": ("settings",),
    "db upgrade": ("db", "upgrade"),
    "db check": ("db", "check"),
    "db adopt": ("db", "adopt", "news", "journal"),
    "visit": ("visit", SLOW),
    "pin": ("pin", SLOW, "--every", "1h"),
    "forget": ("forget", SLOW, "--yes"),
}


def documented(section: str) -> set[str]:
    text = TEXT.split(f"\n## `{section}`\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))


def paths(value: Any, path: str = "") -> Iterator[str]:
    """Paths of all values in a JSON document."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from paths(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for each in value:
            yield from paths(each, f"{path}[]")
    else:
        yield path


def ancestors(path: str) -> set[str]:
    """A path and all that contain it."""
    parts = path.split(".")
    found = {".".join(parts[: n + 1]) for n in range(len(parts))}
    return found | {each.removesuffix("[]") for each in found}


@pytest.mark.parametrize("section", COMMANDS)
def test_the_keys_are_the_documented_ones(freshness: Callable[..., Answer], section: str) -> None:
    keys = documented(section) | (documented("pages") - {"total"} if section == "show" else set())
    freshness("visit", SLOW)
    found = set(paths(freshness(*COMMANDS[section], "--json").json))

    assert {path for path in found if not ancestors(path) & keys} == set()
    assert keys - set().union(*map(ancestors, found)) == set()


def test_the_columns_of_an_export_are_documented(freshness: Callable[..., Answer]) -> None:
    pages = json.loads(freshness("export").out.splitlines()[0])
    visits = json.loads(freshness("export", "--visits").out.splitlines()[0])

    assert set(pages) == set(VIEWS["v_pages"]) | documented("export")
    assert set(visits) == set(VIEWS["v_visits"])


def test_the_keys_of_a_replay_are_documented(freshness: Callable[..., Answer], tmp_path: Path) -> None:
    trace = tmp_path / "hub.jsonl"
    links = [[f"http://x/{number}"] for number in range(5)]
    trace.write_text(
        "".join(
            json.dumps({"page": "a:1", "t": 3600 * hour, "kind": "change", "links": links[hour:]}) + "\n"
            for hour in range(5)
        )
    )
    rows = freshness("replay", str(trace), "--policy", "fixed", "--budget", "1/h", "--json").json

    assert set(paths(rows)) == {f"[].{key}" for key in documented("replay")}
