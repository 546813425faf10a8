"""WebSub over real HTTP, with the hub of the living site: subscribed, verified, renewed, pushed, ended."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from living_site.websub_hub import WebSubHub
from pinging import PATIENT, PingedCrawl, changing, free_port, signals_heard
from site_under_test import Answer, Site, html

from scrapy_freshness.storage.reports import taken_by_hosts
from scrapy_freshness.storage.store import Store

REFUSED = "freshness/pings/refused"
WEBSUB = "freshness/pings/websub"
HTML = "text/html; charset=utf-8"
ATOM = "application/atom+xml"


@pytest.fixture
def hub() -> Iterator[WebSubHub]:
    with WebSubHub() as running:
        yield running


def naming(site: Site, hub: WebSubHub, path: str, text: str = "as it was fetched", host: int = 0) -> Answer:
    """A page that names its hub and its topic."""
    links = f'<link rel="hub" href="{hub.url}"><link rel="self" href="{site.url(path, host)}">'
    return Answer(html(text=text).replace("<title>", f"{links}<title>"))


def subscribed_crawl(folder: Path, site: Site, port: int = 0, **settings: Any) -> PingedCrawl:
    port = port or free_port()
    address = {
        "FRESHNESS_PING_LISTEN": f"127.0.0.1:{port}",
        "FRESHNESS_PING_URL": f"http://127.0.0.1:{port}/pings",
    }
    return PingedCrawl(folder, site.url("/"), settings={**PATIENT, **address, **settings})


def wait_for_subscriber(pinged: PingedCrawl, hub: WebSubHub, topic: str) -> None:
    pinged.running.wait_until(lambda: bool(hub.subscribers(topic)))


def texts(pinged: PingedCrawl) -> list[str]:
    """Texts of the items so far."""
    return re.findall(r"'text': '([^']*)'", pinged.running.log())


def test_a_pushed_page_replaces_a_fetch(site: Site, hub: WebSubHub, tmp_path: Path) -> None:
    topic = site.url("/")
    site.pages["/"] = naming(site, hub, "/")
    pinged = subscribed_crawl(tmp_path, site)
    wait_for_subscriber(pinged, hub, topic)

    assert hub.publish(topic, html(text="as it was pushed").encode(), HTML) == [202]
    pinged.running.wait_until(lambda: "as it was pushed" in texts(pinged))
    done = pinged.stop()

    assert len(site.asked("/")) == 1
    assert texts(pinged) == ["as it was fetched", "as it was pushed"]
    assert done.stat("freshness/pings/fetches_saved") == 1
    assert done.stat("freshness/visits/changed") == 1
    assert done.stat("freshness/fetches/page") == 1
    assert done.stat("freshness/fetches/ping") == 1
    assert done.returncode == 0
    assert "Traceback" not in done.log
    with Store.open_readonly(f"sqlite:///{tmp_path / 'freshness.db'}") as store:
        (taken,) = taken_by_hosts(store, *store.spiders()).values()
    assert taken.fruitful == 1


def test_a_wrong_secret_a_replay_and_a_stranger_change_nothing(
    site: Site, hub: WebSubHub, tmp_path: Path
) -> None:
    topic = site.url("/")
    site.pages["/"] = naming(site, hub, "/")
    pinged = subscribed_crawl(tmp_path, site)
    wait_for_subscriber(pinged, hub, topic)
    (subscriber,) = hub.subscribers(topic)
    path = subscriber.callback.removeprefix("http://127.0.0.1:").partition("/")[2]

    assert hub.publish(topic, html(text="forged").encode(), HTML, secret="guessed") == [403]
    assert pinged.request("POST", f"/{path}", b"unsigned", {"Content-Type": HTML})[0] == 403
    assert pinged.request("POST", "/pings/websub/" + "x" * 32, b"for nobody")[0] == 410
    assert hub.publish(topic, html(text="first").encode(), HTML) == [202]
    pinged.running.wait_until(lambda: "first" in texts(pinged))
    assert hub.replay(topic) == [200]
    second = html(text="second").encode()
    assert hub.publish(topic, second, HTML) == [202]
    pinged.running.wait_until(lambda: "second" in texts(pinged))
    assert hub.publish(topic, html(text="first").encode(), HTML) == [200]  # a replay, too, though older
    done = pinged.stop()

    assert texts(pinged) == ["as it was fetched", "first", "second"]
    assert done.stat(f"{REFUSED}/wrong_signature") == 2
    assert done.stat(f"{REFUSED}/unknown_subscription") == 1
    assert done.stat(f"{WEBSUB}/replay") == 2
    assert len(site.asked("/")) == 1


def test_a_hub_that_has_moved_is_subscribed_to_where_it_is(
    site: Site, hub: WebSubHub, tmp_path: Path
) -> None:
    topic = site.url("/")
    site.pages["/"] = Answer(str(naming(site, hub, "/").body).replace(hub.url, site.url("/hub")))
    site.pages["/hub"] = Answer(status=307, headers={"Location": hub.url})
    pinged = subscribed_crawl(tmp_path, site)
    wait_for_subscriber(pinged, hub, topic)
    done = pinged.stop()

    assert [(each.method, each.path) for each in site.asked("/hub")] == [("POST", "/hub")]
    assert done.stat(f"{WEBSUB}/subscribed") == 1
    assert done.stat(f"{WEBSUB}/hub_failed") == 0


def test_a_lease_is_renewed_before_it_ends(site: Site, hub: WebSubHub, tmp_path: Path) -> None:
    topic = site.url("/")
    hub.longest_lease_seconds = 4
    site.pages["/"] = naming(site, hub, "/")
    pinged = subscribed_crawl(tmp_path, site)
    pinged.running.wait_until(lambda: len(hub.requests) >= 3)
    (subscriber,) = hub.subscribers(topic)
    done = pinged.stop()

    assert {(form["hub.mode"], form["hub.callback"]) for form in hub.requests} == {
        ("subscribe", subscriber.callback)
    }
    assert done.stat(f"{WEBSUB}/subscribed") >= 2
    assert done.stat(f"{WEBSUB}/asked") == len(hub.requests)


def test_what_comes_after_the_lease_is_refused(site: Site, hub: WebSubHub, tmp_path: Path) -> None:
    topic = site.url("/")
    hub.longest_lease_seconds = 1
    site.pages["/"] = naming(site, hub, "/")
    pinged = subscribed_crawl(tmp_path, site)
    wait_for_subscriber(pinged, hub, topic)
    hub.denies = True
    pinged.running.wait_until(lambda: hub.subscribers(topic)[0].expires < time.monotonic())

    assert hub.publish(topic, html(text="too late").encode(), HTML, past_lease=True) == [410]
    assert hub.subscribers(topic) == []
    done = pinged.stop()

    assert "too late" not in texts(pinged)
    assert done.stat(f"{REFUSED}/expired") == 1


def test_a_hub_that_says_no_is_not_asked_again(site: Site, hub: WebSubHub, tmp_path: Path) -> None:
    hub.denies = True
    site.pages["/"] = naming(site, hub, "/")
    pinged = subscribed_crawl(tmp_path, site)
    pinged.running.wait_until(lambda: len(hub.requests) == 1)
    time.sleep(2.5)
    done = pinged.stop()

    assert len(hub.requests) == 1
    assert done.stat(f"{WEBSUB}/denied") == 1
    assert done.stat(f"{WEBSUB}/subscribed") == 0


def test_questions_that_were_not_meant_get_no(site: Site, hub: WebSubHub, tmp_path: Path) -> None:
    topic = site.url("/")
    site.pages["/"] = naming(site, hub, "/")
    pinged = subscribed_crawl(tmp_path, site)
    wait_for_subscriber(pinged, hub, topic)
    (subscriber,) = hub.subscribers(topic)
    path = "/pings/websub/" + subscriber.callback.rpartition("/")[2]
    asked_again = f"?hub.mode=subscribe&hub.topic={topic}&hub.challenge=x&hub.lease_seconds=9"

    for question in (
        path + asked_again,
        path + asked_again.replace("=subscribe", "=unsubscribe"),
        path + asked_again.replace(topic, site.url("/other")),
        path,
        "/pings/websub/" + "x" * 32 + asked_again,
    ):
        assert pinged.request("GET", question)[0] == 404
    done = pinged.stop()

    assert done.stat(f"{REFUSED}/not_meant") == 4
    assert done.stat(f"{REFUSED}/malformed") == 1


def test_a_subscription_outlives_the_process(site: Site, hub: WebSubHub, tmp_path: Path) -> None:
    topic = site.url("/")
    site.pages["/"] = naming(site, hub, "/")
    port = free_port()
    pinged = subscribed_crawl(tmp_path, site, port)
    wait_for_subscriber(pinged, hub, topic)
    assert hub.publish(topic, html(text="before").encode(), HTML) == [202]
    pinged.running.wait_until(lambda: "before" in texts(pinged))
    pinged.stop()

    pinged = subscribed_crawl(tmp_path, site, port)
    pinged.running.wait_until(lambda: texts(pinged).count("as it was fetched") == 2)  # the start page
    assert hub.replay(topic) == [200]
    assert hub.publish(topic, html(text="after").encode(), HTML) == [202]
    pinged.running.wait_until(lambda: "after" in texts(pinged))
    pinged.stop()

    assert len(hub.requests) == 1
    assert texts(pinged) == ["as it was fetched", "before", "as it was fetched", "after"]


def test_another_public_address_means_another_subscription(
    site: Site, hub: WebSubHub, tmp_path: Path
) -> None:
    topic = site.url("/")
    site.pages["/"] = naming(site, hub, "/")
    pinged = subscribed_crawl(tmp_path, site)
    wait_for_subscriber(pinged, hub, topic)
    pinged.stop()

    pinged = subscribed_crawl(tmp_path, site)
    pinged.running.wait_until(lambda: len(hub.subscribers(topic)) == 2)
    done = pinged.stop()

    with done.store() as store:
        (kept,) = store.load_subscriptions("follow")
    assert kept.callback == hub.requests[-1]["hub.callback"] != hub.requests[0]["hub.callback"]


@pytest.mark.parametrize(
    "gone", [Answer("gone", 410), Answer(html(text="names no hub"))], ids=["410", "no hub"]
)
def test_what_is_gone_is_unsubscribed(site: Site, hub: WebSubHub, tmp_path: Path, gone: Answer) -> None:
    site.pages["/"] = Answer(html("/news"))
    site.pages["/news"] = naming(site, hub, "/news")
    busy = {"FRESHNESS_POLICY": "greedy-ncis", "FRESHNESS_THRESHOLD": 0}
    busy |= {"FRESHNESS_PRIOR_CHANGED_AFTER": "1s", "FRESHNESS_PRIOR_UNCHANGED_AFTER": "10s"}
    pinged = subscribed_crawl(tmp_path, site, **busy)
    wait_for_subscriber(pinged, hub, site.url("/news"))
    site.pages["/news"] = gone
    pinged.running.wait_until(lambda: not hub.subscribers(site.url("/news")))
    pinged.running.wait_until(lambda: hub.requests[-1]["hub.mode"] == "unsubscribe")
    pinged.wait_for_fetches(site, "/", 5)
    done = pinged.stop()

    with done.store() as store:
        assert store.load_subscriptions("follow") == []
    assert done.stat(f"{WEBSUB}/unsubscribed") == 1


def test_topics_of_other_hosts_and_forbidden_hubs_are_left_alone(
    site: Site, hub: WebSubHub, tmp_path: Path
) -> None:
    site.pages["/"] = html("/foreign", "/forbidden")
    site.pages["/foreign"] = naming(site, hub, "/foreign", host=1)
    other = html().replace("<title>", '<link rel="hub" href="http://127.0.0.9:1/"><title>')
    site.pages["/forbidden"] = Answer(other)
    pinged = subscribed_crawl(tmp_path, site, FRESHNESS_PING_HUBS=[re.escape(hub.url)])
    pinged.running.wait_until(lambda: len(texts(pinged)) == 3)
    time.sleep(1.5)
    done = pinged.stop()

    assert hub.requests == []
    assert done.stat(f"{WEBSUB}/foreign_topic") == 1
    assert done.stat(f"{WEBSUB}/asked") == 0


def feed(site: Site, hub: WebSubHub, *paths: str) -> bytes:
    """An Atom feed of pages, without dates."""
    links = f'<link rel="hub" href="{hub.url}"/><link rel="self" href="{site.url("/feed")}"/>'
    entries = "".join(
        f'<entry><id>{site.url(path)}</id><link href="{site.url(path)}"/></entry>' for path in paths
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{links}{entries}</feed>'.encode()


def test_entries_of_a_pushed_feed_are_signals_for_their_pages(
    site: Site, hub: WebSubHub, tmp_path: Path
) -> None:
    site.pages["/"] = changing("/feed", "/1", "/2")
    site.pages["/1"] = site.pages["/2"] = changing()
    site.pages["/feed"] = Answer(feed(site, hub, "/1"), headers={"Content-Type": ATOM})
    busy = {"FRESHNESS_POLICY": "greedy-ncis", "FRESHNESS_THRESHOLD": 0, "FRESHNESS_ANNOUNCED_PAGES": False}
    busy |= {"FRESHNESS_PRIOR_CHANGED_AFTER": "1s", "FRESHNESS_PRIOR_UNCHANGED_AFTER": "10s"}
    pinged = subscribed_crawl(tmp_path, site, **busy)
    wait_for_subscriber(pinged, hub, site.url("/feed"))
    pinged.wait_for_fetches(site, "/2", 2)

    assert hub.publish(site.url("/feed"), feed(site, hub, "/2", "/new"), ATOM) == [202]
    pinged.wait_for_fetches(site, "/2", 2)
    assert hub.publish(site.url("/feed"), feed(site, hub, "/2", "/new", "/1"), ATOM) == [202]
    pinged.wait_for_fetches(site, "/1", 2)
    done = pinged.stop()

    assert signals_heard(done, site.url("/1")) == 1
    assert signals_heard(done, site.url("/2")) == 1
    assert done.stat("freshness/signals/refused") == 1
    assert site.asked("/new") == []
    assert done.stat("freshness/pings/fetches_saved") == 0
    assert "Traceback" not in done.log


def test_a_pushed_feed_that_is_polled_replaces_a_poll(site: Site, hub: WebSubHub, tmp_path: Path) -> None:
    link = '<link rel="alternate" type="application/atom+xml" href="/feed">'
    site.pages["/"] = Answer(html(text="home").replace("<title>", f"{link}<title>"))
    site.pages["/feed"] = Answer(feed(site, hub, "/old"), headers={"Content-Type": ATOM})
    for path in ("/old", "/new", "/newer"):
        site.pages[path] = html(text=path)
    pinged = subscribed_crawl(tmp_path, site)
    wait_for_subscriber(pinged, hub, site.url("/feed"))

    for path in ("/new", "/newer"):
        entry = feed(site, hub, path).replace(b'rel="hub"', b'rel="other"')
        assert hub.publish(site.url("/feed"), entry, ATOM) == [202]
        pinged.running.wait_until(lambda path=path: path in texts(pinged))  # type: ignore[misc]
    done = pinged.stop()

    assert done.stat("freshness/pings/fetches_saved") == 2
    assert done.stat("freshness/fetches/poll") == len(site.asked("/feed"))
    assert hub.subscribers(site.url("/feed"))
    with done.store() as store:
        (source,) = store.load_sources("follow")
    assert (source.new_pages, source.hub) == (3, hub.url)
    assert "Traceback" not in done.log
