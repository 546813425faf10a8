"""Submissions and subscriptions over days, on a clock of the test's own and without connections."""

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from scrapy import Request
from scrapy.http import Response, TextResponse
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.request import RequestFingerprinter
from scrapy.utils.test import get_crawler
from twisted.python.failure import Failure

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.config import Config
from scrapy_freshness.crawl.announcing import Announced
from scrapy_freshness.crawl.known_hosts import KnownHosts
from scrapy_freshness.crawl.ping_contract import Push
from scrapy_freshness.crawl.pushed_pages import PushedPages, is_page
from scrapy_freshness.crawl.submissions import Submissions
from scrapy_freshness.crawl.subscriptions import Subscriptions
from scrapy_freshness.errors import PingError
from scrapy_freshness.model import PageRecord, SignalSource, Subscription
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_of
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_named
from scrapy_freshness.signals.contract import Link, Relation
from scrapy_freshness.signals.indexnow import read_body, read_query
from scrapy_freshness.signals.websub import Intent

KEY = "0123456789abcdef"
SITE = "http://a.example"
PAGE = f"{SITE}/page"
HUB = "http://hub.example/"
DAY = 86_400.0


def fingerprint(request: Request) -> int:
    return int.from_bytes(RequestFingerprinter().fingerprint(request)[:8], "big", signed=True)


@dataclass
class World:
    """A crawl that knows one page, and keeps requests instead of sending them."""

    clock: ManualClock = field(default_factory=lambda: ManualClock(1000.0))
    sent: list[Request] = field(default_factory=list)
    notes: dict[str, Subscription | None] = field(default_factory=dict)
    has_place: bool = True

    def __post_init__(self) -> None:
        config, policy = Config(), policy_named("greedy-ncis")
        self.stats = MemoryStatsCollector(get_crawler())
        self.planner = Planner(policy, Hosts(5.0, 60.0), learner_of(policy, config))
        page = PageRecord(page_id=0, fingerprint=fingerprint(Request(PAGE)), url=PAGE, host="a.example")
        self.planner.discover(page, 0.0)
        self.hosts = KnownHosts(self.planner, fingerprint)

    def take(
        self, entries: Sequence[Announced], source: SignalSource, *, told_by: int | None, now: float
    ) -> None:
        """Be told what the parts announce."""
        self.stats.inc_value("freshness/announced", len(entries))

    def send(self, request: Request, host: str, now: float) -> bool:
        if self.has_place:
            self.sent.append(request)
        return self.has_place

    def submissions(self) -> Submissions:
        return Submissions({}, self.hosts, self.send, self, self.clock, self.stats)

    def subscriptions(self, *allowed: str, base: str = "http://b.example/websub/") -> Subscriptions:
        patterns = [re.compile(each) for each in allowed]
        return Subscriptions(
            base, 10 * DAY, patterns, self.hosts, self.send, self.note, self.clock, self.stats
        )

    def note(self, token: str, subscription: Subscription | None) -> None:
        self.notes[token] = subscription

    def count(self, name: str) -> int:
        return self.stats.get_value(f"freshness/{name}", 0)

    @property
    def kept(self) -> list[Subscription]:
        return [each for each in self.notes.values() if each is not None]


@pytest.fixture
def world() -> World:
    return World()


def submit(submissions: Submissions, url: str = PAGE) -> int:
    """Submit a URL; returns the status."""
    try:
        return submissions.take(read_query(f"url={url}&key={KEY}"))
    except PingError as refusal:
        return refusal.status


def answer(request: Request, body: bytes = KEY.encode(), status: int = 200, location: str = "") -> None:
    assert request.callback is not None
    headers = {"Location": location} if location else {}
    request.callback(Response(request.url, status=status, body=body, headers=headers))


def test_a_key_file_is_read_once_a_day(world: World) -> None:
    submissions = world.submissions()
    assert submit(submissions) == 202
    assert submit(submissions) == 202
    answer(world.sent[0])
    assert world.count("announced") == 1  # what waited twice is one URL

    world.clock.advance(DAY - 1)
    assert submit(submissions) == 200
    world.clock.advance(2)
    assert submit(submissions) == 202
    assert [request.url for request in world.sent] == [f"{SITE}/{KEY}.txt"] * 2


def test_a_wrong_key_is_looked_up_again_after_ten_minutes(world: World) -> None:
    submissions = world.submissions()
    submit(submissions)
    answer(world.sent[0], body=b"another")

    assert submit(submissions) == 403
    world.clock.advance(601)
    assert submit(submissions) == 202
    answer(world.sent[1])
    assert submit(submissions) == 200


def test_a_key_file_that_cannot_be_read_is_tried_again_after_a_minute(world: World) -> None:
    submissions = world.submissions()
    submit(submissions)
    assert world.sent[0].errback is not None
    world.sent[0].errback(Failure(OSError("no answer")))

    assert submit(submissions) == 403
    world.clock.advance(61)
    assert submit(submissions) == 202
    assert world.count("pings/refused/wrong_key") == 1
    assert world.count("announced") == 0


def test_a_page_with_the_key_and_an_error_is_no_key_file(world: World) -> None:
    submissions = world.submissions()
    submit(submissions)
    answer(world.sent[0], status=404)

    assert submit(submissions) == 403


def test_without_a_place_in_the_budget_the_sender_comes_again(world: World) -> None:
    submissions = world.submissions()
    world.has_place = False
    assert submit(submissions) == 429

    world.has_place = True
    assert submit(submissions) == 202


def test_only_so_many_urls_wait_for_keys(world: World) -> None:
    submissions = world.submissions()
    statuses = []
    for part in range(11):
        listed = ",".join(f'"{SITE}/{part}/{number}"' for number in range(10_000))
        body = f'{{"host": "a.example", "key": "{KEY}{part}", "urlList": [{listed}]}}'
        try:
            statuses.append(submissions.take(read_body(body.encode())))
        except PingError as refusal:
            statuses.append(refusal.status)

    assert statuses == [202] * 10 + [429]


def test_a_host_with_another_port_must_have_a_known_page(world: World) -> None:
    assert world.hosts.is_known("a.example")
    assert not world.hosts.is_known("a.example:8080")
    assert world.hosts.is_known("slot.example", [PAGE])  # a spider may give hosts slots of other names
    world.hosts.met("http://a.example:8080/x")
    assert world.hosts.is_known("a.example:8080")
    assert not world.hosts.is_known("b.example")


def links(hub: str = HUB, topic: str = PAGE) -> list[Link]:
    return [Link(Relation.HUB, hub), Link(Relation.SELF, topic)]


def subscribed(world: World) -> tuple[Subscriptions, Subscription]:
    """A subscription that a hub has confirmed."""
    subscriptions = world.subscriptions()
    subscriptions.advertised(links(), PAGE)
    subscriptions.keep_up()
    (subscription,) = world.kept
    assert subscriptions.answer(subscription.token, Intent("subscribe", PAGE, "x", 1000)) == "x"
    return subscriptions, subscription


def push(subscriptions: Subscriptions, subscription: Subscription, body: bytes) -> Push | None:
    signature = "sha256=" + hmac.new(subscription.secret.encode(), body, "sha256").hexdigest()
    return subscriptions.take(subscription.token, body, "text/html", signature)


def test_a_hub_gets_the_form_of_the_recommendation(world: World) -> None:
    _, subscription = subscribed(world)

    (request,) = world.sent
    assert (request.method, request.url) == ("POST", HUB)
    for name in (b"hub.callback", b"hub.mode=subscribe", b"hub.topic", b"hub.secret", b"hub.lease_seconds"):
        assert name in request.body
    assert len(subscription.secret) < 200
    assert subscription.secret not in subscription.callback


def test_what_a_page_says_again_changes_nothing(world: World) -> None:
    subscriptions, _ = subscribed(world)
    subscriptions.advertised(links(), PAGE)
    subscriptions.keep_up()

    assert len(world.sent) == 1


def test_a_page_that_moves_to_another_hub_is_followed(world: World) -> None:
    subscriptions, old = subscribed(world)
    subscriptions.advertised(links(hub="http://other.example/"), PAGE)
    subscriptions.keep_up()

    modes = [(request.url, b"hub.mode=unsubscribe" in request.body) for request in world.sent[1:]]
    assert sorted(modes) == [(HUB, True), ("http://other.example/", False)]
    with pytest.raises(PingError):
        push(subscriptions, old, b"from the old hub")
    subscriptions.answer(old.token, Intent("unsubscribe", PAGE, "x"))
    assert [each.hub for each in world.kept] == ["http://other.example/"]


def test_a_page_that_names_its_hub_again_is_subscribed_again(world: World) -> None:
    subscriptions, old = subscribed(world)
    subscriptions.gone(PAGE)
    subscriptions.advertised(links(), PAGE)

    (again,) = world.kept
    assert again.token != old.token
    assert not again.is_ending


def test_a_hub_that_fails_is_asked_again_later(world: World) -> None:
    subscriptions = world.subscriptions()
    subscriptions.advertised(links(), PAGE)
    for seconds in (0, 61, 121):
        world.clock.advance(seconds)
        subscriptions.keep_up()
        subscriptions.keep_up()
    answer(world.sent[0], status=500)
    answer(world.sent[1], status=202)
    assert world.sent[2].errback is not None
    world.sent[2].errback(Failure(OSError("no answer")))

    assert len(world.sent) == 3
    assert world.count("pings/websub/hub_failed") == 2


def asked_hub(world: World, *allowed: str) -> Request:
    """A subscription's first request to its hub."""
    subscriptions = world.subscriptions(*allowed)
    subscriptions.advertised(links(), PAGE)
    subscriptions.keep_up()
    return world.sent[0]


@pytest.mark.parametrize("status", [307, 308])
def test_a_hub_that_redirects_gets_the_same_form_there(world: World, status: int) -> None:
    first = asked_hub(world)
    answer(first, status=status, location="/v2")
    second = world.sent[1]
    answer(second, status=202)

    assert (second.method, second.url, second.body) == ("POST", f"{HUB}v2", first.body)
    assert world.count("pings/websub/hub_failed") == 0


def test_a_hub_that_redirects_for_ever_has_failed(world: World) -> None:
    request = asked_hub(world)
    for _ in range(9):
        answer(request, status=307, location=HUB)
        request = world.sent[-1]
        if world.count("pings/websub/hub_failed"):
            break

    assert len(world.sent) == 4


@pytest.mark.parametrize(
    ("status", "location"),
    [(307, "http://other.example/"), (307, "ftp://hub.example/"), (307, ""), (302, HUB), (303, HUB)],
)
def test_other_redirects_of_hubs_are_not_followed(world: World, status: int, location: str) -> None:
    answer(asked_hub(world, r"^http://hub\.example/"), status=status, location=location)

    assert len(world.sent) == 1
    assert world.count("pings/websub/hub_failed") == 1


def test_without_a_place_in_the_budget_others_have_their_turn(world: World) -> None:
    subscriptions = world.subscriptions()
    for number in range(25):
        subscriptions.advertised(links(topic=f"{SITE}/{number}"), f"{SITE}/{number}")
    world.has_place = False
    subscriptions.keep_up()
    world.has_place = True
    subscriptions.keep_up()

    topics = [request.body.partition(b"topic=")[2].partition(b"&")[0] for request in world.sent]
    assert len(topics) == 10
    assert topics[0].endswith(b"%2F10")


def test_a_hub_that_cannot_be_asked_is_given_up_and_others_are_asked(world: World) -> None:
    for hub in ("http://\u2100.example/", "http://hub.example:\u0663/"):
        kept = Subscription(
            token=hub,
            callback=f"http://b.example/websub/{hub}",
            topic=hub,
            hub=hub,
            secret="s",
            found_at=PAGE,
        )
        world.note(hub, kept)
    subscriptions = world.subscriptions()
    subscriptions.load(world.kept)
    subscriptions.advertised(links(), PAGE)
    for _ in range(2):
        subscriptions.keep_up()

    assert [request.url for request in world.sent] == [HUB]
    assert [each.hub for each in world.kept] == [HUB]
    assert world.count("pings/websub/hub_failed") == 2


def test_an_address_of_which_no_request_can_be_made_is_no_page(world: World) -> None:
    assert world.hosts.row_of(PAGE) is not None
    assert world.hosts.row_of("http://\u2100.example/") is None


def test_subscriptions_are_bounded(world: World) -> None:
    subscriptions = world.subscriptions()
    for number in range(150):
        subscriptions.advertised(links(topic=f"{SITE}/{number}"), f"{SITE}/{number}")

    assert len(world.kept) == 100


def test_hubs_that_are_not_allowed_are_not_asked(world: World) -> None:
    subscriptions = world.subscriptions(r"^https://hub\.example/")
    subscriptions.advertised(links(), PAGE)
    subscriptions.advertised(links(topic="http://b.example/"), PAGE)
    subscriptions.keep_up()

    assert world.sent == []


def test_hosts_that_were_forgotten_are_unsubscribed_at_the_next_start(world: World) -> None:
    _, kept = subscribed(world)
    foreign = Subscription(
        token="t" * 32,
        callback="http://b.example/websub/" + "t" * 32,
        topic="http://forgotten.example/",
        hub=HUB,
        secret="s",
        found_at="http://forgotten.example/",
        expires_at=1e9,
        lease_seconds=1e6,
    )
    subscriptions = world.subscriptions()
    subscriptions.load([kept, foreign])
    subscriptions.keep_up()

    assert b"unsubscribe" in world.sent[-1].body
    assert b"forgotten.example" in world.sent[-1].body
    assert len(world.sent) == 2


def test_a_subscription_that_nobody_ends_is_forgotten_with_its_lease(world: World) -> None:
    subscriptions, _ = subscribed(world)
    subscriptions.gone(PAGE)
    subscriptions.keep_up()
    world.clock.advance(1001)
    subscriptions.keep_up()

    assert world.kept == []


def test_only_the_last_64_pushes_are_remembered(world: World) -> None:
    subscriptions, subscription = subscribed(world)
    assert all(push(subscriptions, subscription, b"%d" % number) for number in range(65))

    assert push(subscriptions, subscription, b"64") is None
    assert push(subscriptions, subscription, b"1") is None
    assert push(subscriptions, subscription, b"0") is not None
    assert len(subscription.digests) == 64 * 8


def test_a_pushed_page_is_used_once_and_soon() -> None:
    pages = PushedPages()
    request = Request(PAGE)
    pages.keep(1, Push(PAGE, b"<p>old</p>", "text/html", 100.0))
    pages.keep(1, Push(PAGE, b"<p>\xc3\xbc</p>", "text/html; charset=utf-8", 110.0))

    response = pages.response_to(request, 1, 50.0, 120.0)
    assert isinstance(response, TextResponse)
    assert response.text == "<p>ü</p>"
    assert response.flags == ["pushed"]
    assert pages.response_to(request, 1, 50.0, 120.0) is None
    pages.keep(1, Push(PAGE, b"older than the copy", "text/html", 100.0))
    assert pages.response_to(request, 1, 110.0, 120.0) is None
    pages.keep(1, Push(PAGE, b"too late", "text/html", 100.0))
    assert pages.response_to(request, 1, 50.0, 1000.0) is None


def test_pushed_pages_do_not_fill_the_memory() -> None:
    pages = PushedPages()
    for number in range(10):
        pages.keep(number, Push(PAGE, b"a" * 8_000_000, "text/html", 100.0))

    kept = [pages.response_to(Request(PAGE), number, None, 100.0) is not None for number in range(10)]
    assert kept == [False] * 6 + [True] * 4


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/html", b"<p>", True),
        ("application/xhtml+xml", b"<p/>", True),
        ("text/html", b"", False),
        ("application/atom+xml", b"<feed/>", False),
        ("image/png", b"\x89PNG", False),
        ("", b"<p>", False),
    ],
)
def test_what_can_be_a_page(content_type: str, body: bytes, expected: bool) -> None:
    assert is_page(Push(PAGE, body, content_type, 0.0)) is expected
