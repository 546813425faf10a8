"""The subscriber of WebSub: asks hubs, answers their questions, keeps its leases."""

import logging
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from re import Pattern

from scrapy.http import Response
from scrapy.statscollectors import StatsCollector
from twisted.python.failure import Failure
from xxhash import xxh3_64_digest

from scrapy_freshness.clock import Clock
from scrapy_freshness.crawl.http import header_text
from scrapy_freshness.crawl.known_hosts import KnownHosts
from scrapy_freshness.crawl.ping_contract import Push, SendsRequests
from scrapy_freshness.crawl.ping_errands import hub_request
from scrapy_freshness.errors import PingError
from scrapy_freshness.model import Subscription
from scrapy_freshness.signals.addresses import host_of, read_address
from scrapy_freshness.signals.contract import Link, Relation
from scrapy_freshness.signals.leases import Step, asked, check_lease, confirmed, given_up, next_step
from scrapy_freshness.signals.websub import Intent, is_signed, subscription_form

logger = logging.getLogger(__name__)

#: Subscriptions at the most: of a host, and all together.
_MOST_OF_A_HOST, _MOST = 100, 10_000
#: Subscriptions that are looked after at once.
_MOST_STEPS = 10
#: Pushes that are recognised when they come again.
_REMEMBERED = 64
_DIGEST_BYTES = 8
#: Redirects that are followed with the same form (section 5.1), so many in a row.
_REDIRECTS, _MOST_REDIRECTS = (307, 308), 3
_FORBIDDEN, _NOT_FOUND, _GONE = 403, 404, 410
_EVENTS = {"subscribe": "subscribed", "unsubscribe": "unsubscribed", "denied": "denied"}

#: Keeps a subscription, by its token; None if it has ended.
Notes = Callable[[str, Subscription | None], None]


class Subscriptions:
    """All subscriptions of a crawl; `callback_base` is the address before the token."""

    def __init__(
        self,
        callback_base: str,
        lease_seconds: float,
        allowed_hubs: Sequence[Pattern[str]],
        hosts: KnownHosts,
        send: SendsRequests,
        note: Notes,
        clock: Clock,
        stats: StatsCollector,
    ) -> None:
        self._callback_base = callback_base
        self._lease_seconds = lease_seconds
        self._allowed_hubs = allowed_hubs
        self._hosts = hosts
        self._send = send
        self._note = note
        self._clock = clock
        self._stats = stats
        self._by_token: dict[str, Subscription] = {}
        self._by_topic: dict[str, Subscription] = {}
        self._by_page: dict[str, Subscription] = {}  #: by the address that names the hub
        self._per_host: Counter[str] = Counter()

    def load(self, subscriptions: Iterable[Subscription]) -> None:
        """Take over what earlier crawls subscribed to; leases of another address of ours are let go."""
        now = self._clock.now()
        for subscription in subscriptions:
            self._add(subscription)
            if subscription.callback != self._callback_base + subscription.token:
                self._forget(subscription)
                if not subscription.is_ending:
                    self._begin(subscription.topic, subscription.hub, subscription.found_at)
            elif not self._hosts.is_known(host_of(subscription.topic) or "", [subscription.found_at]):
                self._give_up(subscription, now)

    def advertised(self, links: Sequence[Link], found_at: str) -> None:
        """Hear which hubs and topics a page or feed names; without a hub, its subscription ends."""
        hubs = [link.url for link in links if link.relation is Relation.HUB and self._is_allowed(link.url)]
        topic = next((link.url for link in links if link.relation is Relation.SELF), found_at)
        if not hubs:
            self.gone(found_at)
            return
        host = host_of(topic)
        # A page speaks for its own host; other hosts' topics would be sent for whoever names them.
        if host is None or host != host_of(found_at):
            self._count("foreign_topic")
            return
        known = self._by_topic.get(topic)
        if known is not None and known.is_ending:
            self._forget(known)
            known = None
        elif known is not None and known.hub not in hubs:  # it has moved to another
            self._give_up(known, self._clock.now())
            known = None
        if known is None and len(self._by_token) < _MOST and self._per_host[host] < _MOST_OF_A_HOST:
            self._begin(topic, hubs[0], found_at)

    def gone(self, found_at: str) -> None:
        """A page or feed does not exist any more, or names no hub: nothing is to be sent for it."""
        subscription = self._by_page.get(found_at) or self._by_topic.get(found_at)
        if subscription is not None:
            self._give_up(subscription, self._clock.now())

    def keep_up(self) -> None:
        """Ask hubs for what is due: new subscriptions, renewals, ends."""
        now = self._clock.now()
        due = [
            (step, each)
            for each in self._by_token.values()
            if (step := next_step(each, now)) is not Step.WAIT
        ]
        for step, subscription in due[:_MOST_STEPS]:
            if step is Step.FORGET:
                self._forget(subscription)
                continue
            try:
                is_asked = self._ask(subscription, now, subscribe=step is Step.SUBSCRIBE)
            except ValueError:  # Scrapy is stricter than the readers of sources
                self._count("hub_failed")
                logger.warning("The hub %r cannot be asked: no request can be made for it", subscription.hub)
                self._forget(subscription)
                continue
            if not is_asked:
                # There is no place for it now: those behind it have their turn first.
                self._by_token[subscription.token] = self._by_token.pop(subscription.token)

    def answer(self, token: str, intent: Intent) -> str:
        """Return what a hub's question is answered with; raises PingError if it was not meant."""
        subscription = self._by_token.get(token)
        if subscription is None:
            raise PingError(_NOT_FOUND, "no such subscription", "not_meant")
        has_ended = confirmed(subscription, intent, self._lease_seconds, self._clock.now())
        self._count(_EVENTS[intent.mode])
        if has_ended:
            self._forget(subscription)
        else:
            self._save(subscription)
        return intent.challenge

    def take(self, token: str, body: bytes, content_type: str, signature: str) -> Push | None:
        """Return what a hub has sent, None if it was sent before; raises PingError if it is refused."""
        now = self._clock.now()
        subscription = self._by_token.get(token)
        if subscription is None:
            raise PingError(_GONE, "no such subscription", "unknown_subscription")
        check_lease(subscription, now)
        if not is_signed(body, signature, subscription.secret):
            raise PingError(_FORBIDDEN, "the signature is missing or wrong", "wrong_signature")
        digest = xxh3_64_digest(body)
        if digest in _pieces(subscription.digests):
            self._count("replay")
            return None
        self._count("push")
        subscription.digests = (subscription.digests + digest)[-_REMEMBERED * _DIGEST_BYTES :]
        subscription.last_push_at = now
        self._save(subscription)
        return Push(subscription.topic, body, content_type, now)

    def seen_of(self, topic: str) -> bytes:
        """Return what is remembered of a feed, as `remember` was given it."""
        subscription = self._by_topic.get(topic)
        return subscription.seen if subscription is not None else b""

    def remember(self, topic: str, seen: bytes) -> None:
        """Keep what a feed has shown."""
        subscription = self._by_topic.get(topic)
        if subscription is not None and subscription.seen != seen:
            subscription.seen = seen
            self._save(subscription)

    def _begin(self, topic: str, hub: str, found_at: str) -> None:
        token = secrets.token_urlsafe(24)
        subscription = Subscription(
            token=token,
            callback=self._callback_base + token,
            topic=topic,
            hub=hub,
            secret=secrets.token_hex(32),
            found_at=found_at,
        )
        self._add(subscription)
        self._save(subscription)

    def _ask(self, subscription: Subscription, now: float, *, subscribe: bool) -> bool:
        form = subscription_form(
            callback=subscription.callback,
            topic=subscription.topic,
            secret=subscription.secret,
            lease_seconds=int(self._lease_seconds),
            subscribe=subscribe,
        )
        if not self._post(subscription.hub, form, now, _MOST_REDIRECTS):
            return False
        self._count("asked")
        asked(subscription, now)
        self._save(subscription)
        return True

    def _post(self, hub: str, form: Mapping[str, str], now: float, redirects: int) -> bool:
        """Send a form to a hub, and to where it redirects; False if there is no place for it now."""
        answered = partial(self._hub_answered, hub, form, redirects)
        request = hub_request(hub, form, answered, partial(self._hub_failed, hub))
        return self._send(request, host_of(hub) or "", now)

    def _hub_answered(self, hub: str, form: Mapping[str, str], redirects: int, response: Response) -> None:
        if 200 <= response.status < 300:
            return  # its question follows, or has come already
        target = read_address(header_text(response, "Location") or "", hub)
        if response.status in _REDIRECTS and redirects and target and self._is_allowed(target.url):
            is_asked = self._post(target.url, form, self._clock.now(), redirects - 1)
        else:
            is_asked = False
        if not is_asked:
            self._count("hub_failed")
            logger.info("The hub %s answered %d; it is asked again later", hub, response.status)

    def _hub_failed(self, hub: str, failure: Failure) -> None:
        self._count("hub_failed")
        logger.info("The hub %s did not answer (%s); it is asked again later", hub, failure.getErrorMessage())

    def _give_up(self, subscription: Subscription, now: float) -> None:
        given_up(subscription, now)
        self._save(subscription)

    def _is_allowed(self, hub: str) -> bool:
        return not self._allowed_hubs or any(pattern.search(hub) for pattern in self._allowed_hubs)

    def _add(self, subscription: Subscription) -> None:
        self._by_token[subscription.token] = subscription
        self._by_topic[subscription.topic] = subscription
        self._by_page[subscription.found_at] = subscription
        self._per_host[host_of(subscription.topic) or ""] += 1

    def _forget(self, subscription: Subscription) -> None:
        del self._by_token[subscription.token]
        for index, name in ((self._by_topic, subscription.topic), (self._by_page, subscription.found_at)):
            if index.get(name) is subscription:
                del index[name]
        self._per_host[host_of(subscription.topic) or ""] -= 1
        self._note(subscription.token, None)

    def _save(self, subscription: Subscription) -> None:
        self._note(subscription.token, subscription)

    def _count(self, event: str) -> None:
        self._stats.inc_value(f"freshness/pings/websub/{event}")


def _pieces(digests: bytes) -> set[bytes]:
    return {digests[start : start + _DIGEST_BYTES] for start in range(0, len(digests), _DIGEST_BYTES)}
