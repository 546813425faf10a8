"""What the hosts of the living site answer, by character, at times of the test's choosing."""

import gzip
import re
from collections import Counter, deque
from datetime import datetime
from html.parser import HTMLParser
from math import nextafter, sqrt
from urllib.parse import urljoin, urlsplit
from xml.etree import ElementTree

import pytest
from living_site.answers import Responder
from living_site.model import Hub
from living_site.parameters import Character, WorldParameters
from living_site.wire import Request, http_date
from living_site.world import World

EPOCH = 1_700_000_000.25
NAMESPACE = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9", "a": "http://www.w3.org/2005/Atom"}


@pytest.fixture(scope="module")
def responder() -> Responder:
    return Responder(World(WorldParameters(seed=6)), EPOCH)


def host_of(responder, character):
    return next(host for host in responder.world.hosts if host.character is character)


def ask(responder, host, path, time, number=0, **headers):
    request = Request(
        "GET",
        path,
        path,
        {name.replace("_", "-"): value for name, value in headers.items()},
        keeps_alive=True,
    )
    return responder.answer(request, host, time, number)


def documents_of(responder, character):
    return [page for page in responder.world.documents if page.host.character is character]


def fastest_document(responder, character):
    return max(documents_of(responder, character), key=lambda page: page.change_rate)


class VisibleText(HTMLParser):
    """Collects the text and the links that a reader sees."""

    def __init__(self, html):
        super().__init__()
        self.words, self.links, self._hidden = [], [], False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self._hidden = tag == "script"
        if tag == "a":
            self.links.append(dict(attrs)["href"])

    def handle_endtag(self, tag):
        self._hidden = False

    def handle_data(self, data):
        if not self._hidden:
            self.words += data.split()


def visible_words(answer):
    return VisibleText(answer.body.decode()).words


@pytest.mark.parametrize(
    "character", [Character.STRONG_ETAG, Character.NOISY, Character.LYING, Character.SLOW]
)
def test_the_visible_text_changes_when_the_world_says_so_and_at_no_other_time(responder, character):
    world = responder.world
    page = fastest_document(responder, character)
    changes = world.change_times(page, 0.0, 40.0)
    assert changes
    for number, change in enumerate(changes):
        before = ask(responder, page.host, page.path, nextafter(change, 0.0), number)
        after = ask(responder, page.host, page.path, change, number + 1)
        still = ask(
            responder, page.host, page.path, nextafter(world.next_change(page, change), 0.0), number + 2
        )

        assert visible_words(before) != visible_words(after)
        assert visible_words(after) == visible_words(still)


def test_a_noisy_host_never_sends_the_same_bytes_twice(responder):
    page = documents_of(responder, Character.NOISY)[0]
    first, second = (ask(responder, page.host, page.path, 5.0, number) for number in (1, 2))

    assert first.body != second.body
    assert visible_words(first) == visible_words(second)


def test_a_strong_etag_stands_for_one_version(responder):
    page = fastest_document(responder, Character.STRONG_ETAG)
    times = [0.0, *responder.world.change_times(page, 0.0, 60.0)]
    tags = [ask(responder, page.host, page.path, time).headers["ETag"] for time in times]

    assert len(set(tags)) == len(times)
    for time, tag in zip(times, tags, strict=True):
        assert ask(responder, page.host, page.path, time, if_none_match=f'"x", W/{tag}').status == 304
        assert ask(responder, page.host, page.path, time, if_none_match="*").status == 304
        assert ask(responder, page.host, page.path, time, if_none_match='"x"').status == 200


def test_an_etag_outranks_a_date(responder):
    page = documents_of(responder, Character.STRONG_ETAG)[0]
    future = http_date(EPOCH + 1e6)

    answer = ask(responder, page.host, page.path, 0.0, if_none_match='"other"', if_modified_since=future)
    assert answer.status == 200


def test_last_modified_never_hides_a_change(responder):
    """Dates have whole seconds only, and the page changes more than once in some of them."""
    world = responder.world
    page = fastest_document(responder, Character.LAST_MODIFIED)
    grid = [step * 0.173 for step in range(600)]
    answers_304 = 0
    held_date, held_version = None, None
    for time in grid:
        headers = {"if_modified_since": held_date} if held_date else {}
        answer = ask(responder, page.host, page.path, time, **headers)
        if answer.status == 304:
            answers_304 += 1
            assert held_version == world.version_at(page, time)
        else:
            held_date, held_version = answer.headers.get("Last-Modified"), world.version_at(page, time)
    assert answers_304 > 100


def test_a_garbled_date_is_no_condition(responder):
    page = documents_of(responder, Character.LAST_MODIFIED)[0]

    assert (
        ask(responder, page.host, page.path, 9.0, if_modified_since="the day before yesterday").status == 200
    )


def test_a_lying_host_overlooks_the_share_of_changes_that_it_should(responder):
    world = responder.world
    changes = overlooked = 0
    for page in documents_of(responder, Character.LYING):
        for change in world.change_times(page, 0.0, 200.0):
            tag = ask(responder, page.host, page.path, nextafter(change, 0.0)).headers["ETag"]
            changes += 1
            overlooked += ask(responder, page.host, page.path, change, if_none_match=tag).status == 304
    share = world.parameters.lie_share

    assert abs(overlooked - share * changes) < 3 * sqrt(changes * share * (1 - share))


@pytest.mark.parametrize("character", [Character.NO_VALIDATORS, Character.NOISY, Character.ODD])
def test_some_hosts_send_no_validators(responder, character):
    page = documents_of(responder, character)[0]
    answer = ask(responder, page.host, page.path, 1.0, if_none_match="*")

    assert answer.status == 200
    assert not {"ETag", "Last-Modified"} & answer.headers.keys()


def test_the_trouble_of_a_flaky_host_is_a_seeded_pattern(responder):
    host = host_of(responder, Character.FLAKY)
    numbers = range(400)
    answers = [ask(responder, host, "/articles/1", 3.0, number) for number in numbers]
    again = Responder(World(WorldParameters(seed=6), port=1), EPOCH)
    other = Responder(World(WorldParameters(seed=7)), EPOCH)
    statuses = [answer.status for answer in answers]

    assert statuses == [
        ask(again, host_of(again, Character.FLAKY), "/", 3.0, number).status for number in numbers
    ]
    assert statuses != [
        ask(other, host_of(other, Character.FLAKY), "/", 3.0, number).status for number in numbers
    ]
    assert set(statuses) == {200, 500, 503, 429, 0}
    share = responder.world.parameters.trouble_share
    troubled = len(numbers) - Counter(statuses)[200]
    assert abs(troubled - share * len(numbers)) < 3 * sqrt(len(numbers) * share * (1 - share))
    retry_after = {answer.headers["Retry-After"] for answer in answers if answer.status == 503}
    assert retry_after == {"1", http_date(EPOCH + 3.0 + 1.75)}
    assert all(ask(responder, host, "/robots.txt", 3.0, number).status == 200 for number in numbers)


def test_a_dead_document_answers_404_or_410_and_leaves_its_list(responder):
    world = responder.world
    for page in documents_of(responder, Character.MORTAL):
        section = "/articles/" if page.path.startswith("/articles/") else "/quotes/"
        time = page.absence.start if page.absence else 30.0
        expected = page.absence.status if page.absence else 200
        lists = [
            section,
            *(other.path for other in world.pages_of(page.host) if f"{section}list" in other.path),
        ]
        listed = {
            link
            for path in lists
            for link in VisibleText(ask(responder, page.host, path, time).body.decode()).links
        }

        assert ask(responder, page.host, page.path, time).status == expected
        assert (page.path in listed) == (expected == 200)


def test_a_sitemap_index_leads_to_gzipped_sitemaps_with_the_truth(responder):
    world = responder.world
    host = host_of(responder, Character.ANNOUNCING)
    robots = ask(responder, host, "/robots.txt", 50.0).body.decode()
    index_url = re.search("^Sitemap: (.*)$", robots, re.MULTILINE)[1]
    index = ElementTree.fromstring(ask(responder, host, urlsplit(index_url).path, 50.0).body)
    dates = {}
    for loc in index.iterfind("s:sitemap/s:loc", NAMESPACE):
        packed = ask(responder, host, urlsplit(loc.text).path, 50.0)
        assert packed.headers["Content-Type"] == "application/gzip"
        for url in ElementTree.fromstring(gzip.decompress(packed.body)).iterfind("s:url", NAMESPACE):
            dates[url.findtext("s:loc", None, NAMESPACE)] = url.findtext("s:lastmod", None, NAMESPACE)

    documents = [page for page in documents_of(responder, Character.ANNOUNCING) if page.host is host]
    assert dates.keys() == {page.url for page in documents}
    for page in documents:
        seconds = datetime.fromisoformat(dates[page.url]).timestamp() - EPOCH
        assert seconds == pytest.approx(world.changed_at(page, 50.0), abs=1e-5)
    assert "Disallow: /private/" in robots


def test_feeds_list_the_posts_of_all_hubs(responder):
    world = responder.world
    host = host_of(responder, Character.HUB)
    hubs = [page for page in world.pages_of(host) if isinstance(page, Hub)]
    listed = {post.url for hub in hubs for post in world.posts_listed(hub, 77.0)}
    rss = ElementTree.fromstring(ask(responder, host, "/feed.rss", 77.0).body)
    atom = ElementTree.fromstring(ask(responder, host, "/feed.atom", 77.0).body)

    assert listed
    assert {link.text for link in rss.iterfind("channel/item/link")} == listed
    assert {link.get("href") for link in atom.iterfind("a:entry/a:link", NAMESPACE)} == listed
    assert 'href="/feed.rss"' in ask(responder, host, "/", 77.0).body.decode()


def test_every_live_page_is_found_by_following_links_from_the_first_root(responder):
    calm = Responder(World(WorldParameters(seed=6, trouble_share=0.0)), EPOCH)
    world, time = calm.world, 45.0
    host_at = {f"{host.address}:{host.port}": host for host in world.hosts}
    found, waiting = {world.root_urls[0]}, deque([world.root_urls[0]])
    while waiting:
        url = waiting.popleft()
        parts = urlsplit(url)
        answer = ask(calm, host_at[parts.netloc], parts.path, time)
        links = [answer.headers["Location"]] if "Location" in answer.headers else []
        if answer.status == 200 and world.page(parts.hostname, parts.path) is not None:
            links = VisibleText(answer.body.decode(errors="replace")).links
        for link in links:
            target = urljoin(url, link)
            if target not in found and "/endless/" not in target:
                found.add(target)
                waiting.append(target)

    alive = {
        page.url for page in world.pages if world.status_at(page, time) == 200 and page.path != "/endless/1"
    }
    assert alive <= found
    posts = {
        post.url for hub in world.pages if isinstance(hub, Hub) for post in world.posts_listed(hub, time)
    }
    assert posts <= found
    documents = {page.url for page in world.documents}
    assert documents - found <= {page.url for page in world.documents if page.absence}
