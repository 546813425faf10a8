"""The press: a web of hubs and stories that knows the truth, over sockets and without."""

import csv
import re
from http.client import HTTPConnection

import numpy as np
import pytest
from living_site.request_log import Entry
from living_site.wire import parse_request
from press.answers import PressResponder
from press.clicks import access_log_lines, csv_lines, drawn_clicks
from press.parameters import PressParameters
from press.profit import captured_profit, found_hubs, outside_requests, press_fetches
from press.running import RunningPress
from press.twin import REFERENCES, simulated_fetches
from press.world import PressWorld

from scrapy_freshness.simulator.echo_web import EchoWeb
from scrapy_freshness.simulator.run import ticks_at

SMALL = PressParameters(seed=7, hosts=11, hubs_per_host=4, days=2.0, links_per_hour=1.0)
EPOCH = 1_700_000_000.0
STORY = re.compile(r'href="/story/([0-9]+)\?[^"]*"')


@pytest.fixture(scope="module")
def world() -> PressWorld:
    return PressWorld(SMALL)


def asked(world, url, time, number=0, method="GET", **headers):
    """Return the answer to a request at a time of the site's clock."""
    address, slash, path = url.removeprefix("http://").partition("/")
    lines = [f"{method} {slash}{path} HTTP/1.1", f"Host: {address}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    request = parse_request("\r\n".join([*lines, "", ""]).encode())
    host = world.host(address.partition(":")[0])
    return PressResponder(world, EPOCH).answer(request, host, time, number)


def entry(world, url, time, status=200):
    address, slash, path = url.removeprefix("http://").partition("/")
    return Entry(time, time, address.partition(":")[0], "GET", slash + path, status, False, 0)


def test_hubs_show_the_very_links_that_the_simulator_sees(world):
    web = EchoWeb(world.graph)
    for hub in range(0, 44, 3):
        for time in (20.0, 90.0, 199.0):
            body = asked(world, world.hubs[hub], time).body.decode()

            assert sorted(map(int, STORY.findall(body))) == sorted(web.look(hub, time).links)


def test_stories_are_there_from_their_birth_on_under_one_address(world):
    first = world.graph.first_link
    copies = np.flatnonzero(first != np.arange(len(first)))
    story = int(first[copies[0]])
    born = float(world.graph.births.times[story])

    assert len(copies) > 20
    assert asked(world, world.story_url(story), born - 0.01).status == 404
    assert asked(world, f"{world.story_url(story)}?utm_source=x", born).status == 200
    assert asked(world, world.story_url(int(copies[0])), 200.0).status == 404


def test_pages_are_dated_and_compared_by_their_tags(world):
    hub, story = world.hubs[14], world.story_url(0)
    before, after = asked(world, hub, 10.0), asked(world, hub, 190.0)

    assert asked(world, hub, 10.0, If_None_Match=before.headers["ETag"]).status == 304
    assert asked(world, hub, 190.0, If_None_Match=before.headers["ETag"]).status == 200
    # A hub was made a month before the epoch, whatever it shows; a story when it appeared.
    assert (
        before.headers["Last-Modified"] == after.headers["Last-Modified"] == "Tue, 14 Nov 2023 21:23:20 GMT"
    )
    assert asked(world, story, 200.0).headers["Last-Modified"] > "Tue, 14 Nov 2023 22:13:19 GMT"


def test_links_that_are_no_news_are_on_every_page(world):
    bodies = [asked(world, url, 50.0).body.decode() for url in (world.hubs[3], world.story_url(0))]

    for body in bodies:
        for path in ("/section/3/", "/about", "/private/desk", f"{world.outsider.site_url}/"):
            assert f'href="{path}"' in body
        assert 'rel="nofollow" href="/partners"' in body
    assert STORY.search(asked(world, f"{world.hubs[3]}?page=2", 50.0).body.decode()) is None
    assert b"Disallow: /private/" in asked(world, f"{world.hubs[3]}robots.txt", 0.0).body
    assert asked(world, f"{world.hubs[3]}nowhere", 50.0).status == 404
    assert asked(world, world.hubs[3], 50.0, method="POST").status == 405


def test_some_newspapers_put_a_session_into_their_links(world):
    plain, with_session = (
        [asked(world, world.hubs[host], 150.0, number).body for number in (1, 2)] for host in (0, 9)
    )

    assert plain[0] == plain[1]
    assert with_session[0] != with_session[1]


def test_a_story_earns_what_is_left_of_it_at_its_first_fetch(world):
    graph, delay = world.graph, 3.0
    story = int(np.argmax(graph.link_profit))
    born, decay = float(graph.births.times[story]), float(graph.decay[graph.births.owners[story]])
    url = world.story_url(story)
    entries = [
        entry(world, url, born + delay, status=500),
        entry(world, url, born + 2 * delay),
        entry(world, url, born + 9 * delay),
        entry(world, world.hubs[0], born),
    ]

    share = captured_profit(world, entries, 0.0, SMALL.seconds)

    assert share * graph.link_profit.sum() == pytest.approx(
        graph.link_profit[story] * np.exp(-decay * 2 * delay)
    )


def test_clicks_fall_with_the_age_of_a_story_as_profit_does(world):
    graph, clicks = world.graph, drawn_clicks(world)
    ages = clicks.times - graph.births.times[clicks.stories]
    decay = graph.decay[graph.births.owners[clicks.stories]]

    assert len(ages) == pytest.approx(graph.link_profit.sum(), rel=0.1)
    assert np.mean(decay * ages) == pytest.approx(1.0, abs=0.1)
    rows = list(csv.reader(csv_lines(world, clicks, EPOCH, 50.0, 60.0)))
    assert len(rows) == np.count_nonzero((clicks.times > 50) & (clicks.times <= 60))
    assert rows[0][0].startswith("http://127.0.0.")
    assert 50 < float(rows[0][1]) - EPOCH <= 60
    assert " - - [14/Nov/2023:22:14:" in next(access_log_lines(world, clicks, EPOCH, 50.0, 60.0))


def test_found_hubs_are_judged_by_recall_and_precision(world):
    found = found_hubs(world, [*world.hubs[:33], "http://127.0.0.2:8900/about"])

    assert found == (33 / 44, 33 / 34)


def test_the_log_of_requests_over_sockets_tells_what_was_fetched():
    # All has appeared, and stays, before the first request comes.
    parameters = PressParameters(seed=7, hosts=3, hubs_per_host=2, seconds_per_day=1e-4, stay_hours=1e12)
    with RunningPress(parameters) as site:
        connections = {}
        for url in site.world.hubs:
            address, _, path = url.removeprefix("http://").partition("/")
            connection = connections.setdefault(address, HTTPConnection(address, timeout=60))
            connection.request("GET", f"/{path}")
            body = connection.getresponse().read().decode()
            for number in STORY.findall(body):
                connection.request("GET", f"/story/{number}")
                assert connection.getresponse().read()
        connection.request("GET", "/private/desk")
        connection.getresponse().read()
        for each in connections.values():
            each.close()
    entries = site.log.entries
    fetches = press_fetches(site.world, entries)

    polls = fetches.pages[fetches.pages < 6]
    stories = fetches.pages[fetches.pages >= 6] - 6
    assert polls.tolist() == [0, 1, 2, 3, 4, 5]
    assert [each.path for each in outside_requests(site.world, entries)] == ["/private/desk"]
    seen = [link for hub in range(6) for link in EchoWeb(site.world.graph).look(hub, 1.0).links]
    assert set(stories.tolist()) == set(seen)


def test_the_twin_knows_our_policies_and_those_of_the_paper(world):
    ticks, web = ticks_at(5.0, 0.0, SMALL.seconds), EchoWeb(world.graph)
    earned = {}
    for policy in ("echo-newpages", "holistic", *REFERENCES):
        fetches = simulated_fetches(world.graph, policy, ticks, 5.0, polled_at=0.0)
        earned[policy] = web.profit(fetches, 50.0, 150.0)

    assert min(earned["echo-newpages"], earned["holistic"]) > 1.1 * max(earned[name] for name in REFERENCES)


@pytest.mark.parametrize("wrong", [{"hosts": 0}, {"shared": 2.0}, {"profit_spread": -1.0}])
def test_numbers_that_make_no_press_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PressParameters(**wrong)
