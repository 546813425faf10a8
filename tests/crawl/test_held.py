"""Requests wait for their hosts: in order, past those of other hosts, and not too many in memory."""

import math

from scrapy import Request

from scrapy_freshness.crawl.held import HeldRequests
from scrapy_freshness.crawl.visiting import META_KEY, PageVisit
from scrapy_freshness.model import PageRecord
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.visits import Visit


class FreeSlots:
    """Scrapy's slots when nobody uses them."""

    def free_at(self, key: str, now: float) -> float:
        return now


def new_held(blocked: str, until: float, max_aside: float = math.inf) -> HeldRequests:
    hosts = Hosts(1.0, math.inf)
    hosts.back_off(blocked, 0.0, until)
    return HeldRequests(FreeSlots(), hosts, max_aside=max_aside)  # type: ignore[arg-type]


def test_requests_to_a_paused_host_wait_in_order_and_let_others_pass() -> None:
    requests = new_held("paused.example", until=100.0)
    urls = ["http://paused.example/1", "http://other.example/", "http://paused.example/2"]
    for url in urls:
        requests.add(Request(url), 0.0)

    def take(now: float) -> str | None:
        request = requests.take(now)
        return None if request is None else request.url

    assert [take(0.0), take(0.0), requests.next_at(0.0)] == [urls[1], None, 100.0]
    assert [take(100.0), take(100.0), take(100.0)] == [urls[0], urls[2], None]
    assert len(requests) == 0


def test_only_so_many_requests_to_paused_hosts_leave_a_queue_on_the_disk() -> None:
    requests = new_held("paused.example", until=100.0, max_aside=10)
    added = 0
    while requests.has_room and added < 1000:
        requests.add(Request(f"http://paused.example/{added}"), 0.0)
        added += 1

    assert added == len(requests) == 10
    assert requests.take(100.0) is not None
    assert requests.has_room


def test_requests_of_visits_that_were_closed_meanwhile_are_not_sent() -> None:
    requests = new_held("paused.example", until=100.0)
    visits = {}
    for url in ("http://paused.example/", "http://other.example/"):
        record = PageRecord(page_id=1, fingerprint=1, url=url, host="")
        visits[url] = Visit(row=0, record=record, opened_at=0.0, value=1.0)
        requests.add(Request(url, meta={META_KEY: PageVisit(visits[url], "")}), 0.0)
    for visit in visits.values():
        visit.is_open = False

    assert requests.take(100.0) is None
    assert len(requests) == 0
    assert requests.next_at(100.0) == math.inf


def test_a_back_off_that_ends_sooner_than_it_was_meant_to_is_noticed() -> None:
    hosts = Hosts(10.0, math.inf)
    hosts.back_off("paused.example", 0.0, None)
    requests = HeldRequests(FreeSlots(), hosts)  # type: ignore[arg-type]
    hosts.asked("paused.example", 9.0)  # one to try it with
    for number in range(2):
        requests.add(Request(f"http://paused.example/{number}"), 9.5)

    assert requests.take(11.0) is None
    hosts.answered("paused.example")
    assert requests.take(11.0) is not None
    assert hosts.blocked(11.0) == set()
