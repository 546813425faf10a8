"""Queries live: pages are read for what searchers ask for, and visited by what they would notice."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from crawling import Crawled, crawl, start_crawl
from scrapy.settings import Settings
from site_under_test import Answer, Page, Site, html

from scrapy_freshness.commands import module_of, parse, run_subcommand
from scrapy_freshness.model import PageRecord
from scrapy_freshness.search.asked import AskedTerms
from scrapy_freshness.search.links import InLinks
from scrapy_freshness.search.touched import unpack_touched
from scrapy_freshness.storage.store import Store

LOG = "query,count\nrain tokyo,5\nSHOES,2\n東京,1\nfiller,1\n"


def told(url: str, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:  # type: ignore[type-arg]
    """What a command prints as JSON."""
    name, *rest = arguments
    module = module_of(name)
    options = parse(module, name, [*rest, "--database", url, "--json"])
    capsys.readouterr()
    assert run_subcommand(module, Settings(), options) == 0
    answer: dict = json.loads(capsys.readouterr().out)  # type: ignore[type-arg]
    return answer


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with Store.open(f"sqlite:///{tmp_path / 'freshness.db'}"):
        (tmp_path / "log.csv").write_text(LOG)
        yield tmp_path


def records(done: Crawled) -> dict[str, PageRecord]:
    with done.store() as store:
        found = store.load_records(store.load_pages("follow").page_id.tolist())
    return {record.url.rsplit("/", 1)[-1]: record for record in found}


def test_searchers_decide_what_is_visited(
    site: Site, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{folder / 'freshness.db'}"
    assert told(url, capsys, "import", "queries", str(folder / "log.csv"))["terms"] == 5
    names = [f"still{number}" for number in range(80)]
    site.pages["/"] = html(*(f"/{name}" for name in [*names, "asked", "unasked"]), text="start")
    for number, name in enumerate(names):
        site.pages[f"/{name}"] = html(text=f"shoes and rain in tokyo {'filler ' * number}")
    site.pages["/asked"] = lambda headers, count: Answer(
        html(text="rain rain tokyo today" if count % 2 else f"nothing {count}")
    )
    site.pages["/unasked"] = lambda headers, count: Answer(html(text=f"nothing of interest {count}"))
    settings = {
        "FRESHNESS_POLICY": "user-centric",
        "FRESHNESS_BUDGET": "30/s",
        "FRESHNESS_ESTIMATOR": "pooled",
    }

    running = start_crawl(folder, site.url(), settings=settings)
    running.wait_until(lambda: len(site.asked("/asked")) >= 30)
    running.interrupt()
    done = running.wait()

    assert "Traceback" not in done.log, done.log[-3000:]
    assert len(site.asked("/asked")) > 2 * len(site.asked("/unasked"))
    assert done.stat("freshness/queries/terms") == 5
    assert done.stat("freshness/queries/fits") >= 1
    assert done.stat("freshness/queries/changes_noticed") > 5
    known = records(done)
    assert known["asked"].beliefs["gain"] > 5 * known["unasked"].beliefs["gain"] > 0
    touched = unpack_touched(known["asked"].touched)
    assert touched is not None
    assert touched.gain > 0 < touched.n_terms
    unnoticed = unpack_touched(known["unasked"].touched)
    assert unnoticed is not None
    assert unnoticed.gain == unnoticed.n_terms == 0
    shown = told(url, capsys, "show", site.url("/asked"))["pages"][0]["searchers"]
    assert {each["term"] for each in shown["touched"]} == {"rain", "tokyo"}
    assert 0 < shown["gain_share"] < 1
    listed = told(url, capsys, "queries")["spiders"][0]
    assert {each["term"] for each in listed["queries"]} == {"rain", "tokyo", "shoes", "東京", "filler"}
    assert {each["results"] for each in listed["queries"] if each["term"] == "shoes"} == {80}
    assert 0 < listed["at_risk"] < 1
    found = told(url, capsys, "search", "Tokyo shoes unheard", "--limit", "3")
    assert [found["terms"], found["not_indexed"], found["total"]] == [["tokyo", "shoes"], ["unheard"], 80]
    assert found["results"][0]["url"] == site.url("/still0")
    assert told(url, capsys, "queries", "--rebuild")["rebuilt"][0]["behind"] == 0


def test_pages_are_read_again_for_queries_that_come_later_also_by_links(
    site: Site, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page that never changes is fetched in full once more, though its server would say 304."""
    url = f"sqlite:///{folder / 'freshness.db'}"

    def tagged(body: str) -> Page:
        whole, same = Answer(body, headers={"ETag": '"1"'}), Answer(status=304)
        return lambda headers, count: same if headers.get("If-None-Match") == '"1"' else whole

    site.pages |= {
        "/": tagged(html("/a", "/b", text="rain")),
        "/a": tagged(html("/b", "/a", text="rain in 東京都")),
        "/b": tagged(html(text="tokyo")),
    }
    settings = {"FRESHNESS_QUERY_SCORING": "in-links", "FRESHNESS_QUERY_IMPORTANCE": True}
    first = crawl(folder, site.url(), settings=settings)
    assert not any(record.terms for record in records(first).values())

    told(url, capsys, "import", "queries", str(folder / "log.csv"))
    site.log.clear()
    settings["FRESHNESS_SKIP_UNCHANGED"] = True
    running = start_crawl(folder, site.url(), settings=settings)
    running.wait_until(lambda: all(len(site.asked(path)) >= 3 for path in ("/", "/a", "/b")))
    running.interrupt()
    done = running.wait()

    assert "Traceback" not in done.log, done.log[-3000:]
    known = records(done)
    with done.store() as store:
        asked = AskedTerms.of(store.load_queries())
    terms = {
        name: {asked.workload.terms[place] for place in asked.read(record.terms).terms}
        for name, record in known.items()
    }
    assert terms == {"": {"rain"}, "a": {"rain", "東京"}, "b": {"tokyo"}}
    for path in ("/", "/a", "/b"):
        conditional = [bool(each.headers.get("If-None-Match")) for each in site.asked(path)]
        assert conditional[0] is False
        assert any(conditional[1:])
    assert known["b"].beliefs["query_weight"] > 0


def test_links_are_those_that_the_spider_follows(
    site: Site, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{folder / 'freshness.db'}"
    told(url, capsys, "import", "queries", str(folder / "log.csv"))
    site.pages |= {"/": html("/a", "/b", text="rain"), "/a": html("/b", "/a"), "/b": html(text="rain")}

    done = crawl(folder, site.url(), settings={"FRESHNESS_QUERY_SCORING": "in-links"})
    known = records(done)
    links = InLinks(np.array([record.fingerprint for record in known.values()]))
    links.add(record.links for record in known.values())

    counted = {name: float(links.of(np.array([record.fingerprint]))[0]) for name, record in known.items()}
    assert counted == {"": 0, "a": 1, "b": 2}
    with closing(sqlite3.connect(folder / "freshness.db")) as connection:
        assert connection.execute("SELECT term, results FROM v_queries WHERE results > 0").fetchall() in (
            [("rain", 2)],
            [],  # the crawl may have ended before anything was fitted
        )
    found = told(url, capsys, "search", "rain", "-s", "FRESHNESS_QUERY_SCORING=in-links")
    ranked = [(each["url"], each["score"]) for each in found["results"]]
    assert ranked == [(site.url("/b"), 3.0), (site.url("/"), 1.0)]
