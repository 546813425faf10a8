"""`scrapy freshness dashboard` as a user starts it."""

import argparse
import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from answering import Answer
from small_web import SLOW

from scrapy_freshness.commands import dashboard
from scrapy_freshness.config import Config
from scrapy_freshness.insight.outlook import Outlook, Terms
from scrapy_freshness.model import Batch
from scrapy_freshness.storage.store import Store
from scrapy_freshness.units import is_loopback


@pytest.mark.parametrize("listen", ["8321", "127.0.0.1:", "127.0.0.1:99999", "http://127.0.0.1:8321/", ""])
def test_an_address_that_makes_no_sense_is_refused(freshness: Callable[..., Answer], listen: str) -> None:
    answer = freshness("dashboard", "--listen", listen)

    assert answer.exit_code == 2
    assert "--listen must not be" in answer.err


def test_by_default_only_this_machine_can_reach_it() -> None:
    parser = argparse.ArgumentParser()
    dashboard.add_options(parser)

    assert is_loopback(parser.parse_args([]).listen.rpartition(":")[0])


@pytest.mark.parametrize(
    "options",
    [
        ("--listen", "127.0.0.1:0", "--allow-actions"),
        ("--listen", "127.0.0.1:0", "--allow-host", "crawl.example"),
        ("--listen", "0.0.0.0:0"),
    ],
)
def test_it_is_served_until_it_is_interrupted_to_who_has_the_token(
    web_url: str, options: tuple[str, ...]
) -> None:
    command = [sys.executable, "-W", "error", "-m", "scrapy", "freshness", "dashboard", *options]
    with subprocess.Popen(
        [*command, "--database", web_url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://[\d.]+:(\d+)/\?token=([\w-]+)$", line.strip())
        assert found is not None, line
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
        connection.request("GET", "/pages")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (303, b"")
        connection.request("GET", "/", headers={"Authorization": f"Bearer {found[2]}"})
        answer = connection.getresponse()
        assert (answer.status, b"Latest visits" in answer.read()) == (200, True)
        connection.close()
        process.send_signal(signal.SIGINT)
        _, trouble = process.communicate(timeout=60)
    assert (process.returncode, trouble) == (130, "")


def test_commands_think_of_a_page_what_the_crawl_does(freshness: Callable[..., Answer], web_url: str) -> None:
    """Also of what is believed beside the change rate."""
    with Store.open(web_url) as store:
        (page,) = store.load_records([1])
        page.beliefs = {"mean_rate": 1e-3, "doubt": 0.1}
        state = store.load_state("news")
        assert state is not None
        state.policy = "greedy-expected"
        store.save("news", Batch(pages=[page], state=state))
    answer = freshness("pages", "--url", "slow", "--json").json["pages"][0]
    why = freshness("why", SLOW, "--json").json

    with Store.open_readonly(web_url) as store:
        terms = Terms.of(store, Config(), "news")
        columns = store.load_pages("news")
        outlook = Outlook(terms, columns, why["now"])
        row = columns.page_id.tolist().index(1)
        value = float(outlook.values()[row])
    assert answer["value"] == pytest.approx(value, rel=1e-5)
    assert why["pages"][0]["value"] == pytest.approx(value, rel=1e-5)
