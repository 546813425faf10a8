"""Why a page is not visited right now has one answer, and it is the obstacle that counts."""

import math
from typing import Any

import pytest

from scrapy_freshness.insight.reasons import Case, answer, sentences

NOW = 1_000_000.0


def case(**fields: Any) -> Case:
    usual: dict[str, Any] = {
        "url": "http://a.example/",
        "spider": "news",
        "is_running": True,
        "status": "active",
        "http_status": 200,
        "policy": "holistic",
        "budget_per_second": 1.0,
        "price": 10.0,
        "budget_price": 10.0,
        "min_interval_seconds": 60.0,
        "importance": 1.0,
        "is_compared": True,
        "change_rate": 1e-4,
        "change_rate_low": 5e-5,
        "change_rate_high": 2e-4,
        "visits": 8,
        "changes": 3,
        "failures": 0,
        "last_attempt_at": NOW - 3600,
        "last_outcome": "unchanged",
        "last_reason": None,
        "last_visit_at": NOW - 3600,
        "not_before": 0.0,
        "freshness": 0.7,
        "pace": 1.0,
        "value": 5.0,
        "highest_value": 30.0,
        "rank": 20,
        "ranked_pages": 100,
        "interval_seconds": 7200.0,
        "next_visit_at": NOW + 3600,
        "host": "a.example",
        "host_blocked_until": 0.0,
        "host_failures": 0,
        "host_rivals": 0,
        "delay_seconds": 0.0,
        "is_held_up": False,
        "host_audits": 0,
        "host_false_not_modified": 0,
        "host_is_honest": True,
        "hub_sentences": [],
        "is_source": False,
        "pinned_seconds": None,
        "more_often": None,
    }
    return Case(**{**usual, **fields})


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "It is not due yet; the next visit is expected in 60 min."),
        (
            {"next_visit_at": NOW - 1},
            "It is due, and waits for its turn: 19 other pages first.",
        ),
        (
            {
                "interval_seconds": math.inf,
                "next_visit_at": math.inf,
                "is_held_up": True,
                "delay_seconds": 1.0,
                "host_rivals": 3,
            },
            "It waits for its host, which is asked only once every 1 s (DOWNLOAD_DELAY); "
            "3 of its pages are worth more.",
        ),
        ({"next_visit_at": NOW - 1, "rank": 1}, "It is due, and waits for its turn, which is next."),
        (
            {"next_visit_at": NOW - 1, "is_held_up": True, "delay_seconds": 1.0, "host_rivals": 12},
            "It is due, and waits for its host, which is asked only once every 1 s (DOWNLOAD_DELAY); "
            "12 of its pages are worth more.",
        ),
        (
            {"next_visit_at": NOW - 1, "is_held_up": True},
            "It is due, and waits for its host, which answers slowly or takes no more requests at once; "
            "none of its other pages is worth more.",
        ),
        (
            {"status": "new", "visits": 0, "next_visit_at": NOW - 1},
            "It waits for its turn: 19 other pages first.",
        ),
        (
            {
                "status": "new",
                "visits": 0,
                "next_visit_at": NOW - 1,
                "is_held_up": True,
                "delay_seconds": 1.0,
                "host_rivals": 1,
            },
            "It waits for its host, which is asked only once every 1 s (DOWNLOAD_DELAY); "
            "one of its pages is worth more.",
        ),
        ({"is_running": False}, "It is not visited: the crawl is not running."),
        (
            {"status": "suspended"},
            "It is not visited: the spider has no callback for it any more.",
        ),
        (
            {"status": "new", "visits": 0, "failures": 6},
            "It could not be visited: every request for it was stopped before it was sent.",
        ),
        (
            {"host_blocked_until": NOW + 300, "next_visit_at": NOW + 300},
            "It waits for its host, which is in back-off; that ends in 5 min.",
        ),
        (
            {"host_blocked_until": NOW + 3, "failures": 2, "not_before": NOW + 3},
            "It is not due yet; the next attempt is expected in 60 min.",
        ),
        (
            {"is_held_up": True, "delay_seconds": 1.0, "host_rivals": 12, "budget_price": 4.0},
            "It waits for its host, which is asked only once every 1 s (DOWNLOAD_DELAY); "
            "12 of its pages are worth more; the next visit is expected in 60 min.",
        ),
        (
            {"is_held_up": True, "budget_price": 6.0},
            "It is not due yet; the next visit is expected in 60 min.",
        ),
        ({"status": "gone"}, "It is gone; the next look is expected in 60 min."),
        ({"status": "moved"}, "It redirects for good; the next look is expected in 60 min."),
        (
            {"failures": 2, "not_before": NOW + 120, "next_visit_at": NOW + 120},
            "It waits after 2 failures; the next attempt is in 2 min.",
        ),
        ({"interval_seconds": math.inf}, "It is not visited: at this budget, no visit pays."),
    ],
)
def test_the_answer(fields: dict[str, Any], told: str) -> None:
    assert answer(case(**fields), NOW) == told


def test_a_request_that_was_never_sent_is_told_from_one_that_failed() -> None:
    never_sent = " ".join(sentences(case(status="new", visits=0, failures=6, http_status=None), NOW))
    failed = " ".join(sentences(case(status="new", visits=6, failures=6, http_status=503), NOW))

    assert "It was tried 6 times, but the request was never sent: robots.txt forbids it" in never_sent
    assert "The last 6 attempts failed, the last with HTTP 503." in failed


def test_why_attempts_failed_is_told_where_it_is_known() -> None:
    loop = case(failures=5, http_status=302, last_outcome="failed", last_reason="max redirections reached")
    once = case(failures=1, http_status=None, last_outcome="failed", last_reason="timeout")
    later = case(failures=5, not_before=NOW + 60, next_visit_at=NOW + 60, last_reason="timeout")
    seen = case(failures=0, last_reason=None)

    assert "The last 5 attempts failed: max redirections reached." in sentences(loop, NOW)
    assert "The last attempt failed: timeout." in sentences(once, NOW)
    assert answer(later, NOW) == "It waits after 5 failures: timeout; the next attempt is in 60 s."
    assert "failed" not in " ".join(sentences(seen, NOW))


def test_who_stopped_every_request_is_told_where_it_is_known() -> None:
    stopped = case(
        status="new", visits=0, failures=6, last_outcome="ignored", last_reason="Forbidden by robots.txt"
    )

    assert "Every request was stopped before it was sent: Forbidden by robots.txt." in sentences(stopped, NOW)
    assert answer(stopped, NOW).endswith("stopped before it was sent: Forbidden by robots.txt.")


@pytest.mark.parametrize("next_visit_at", [NOW + 60, NOW - 60])
@pytest.mark.parametrize(
    "fields", [{"failures": 3}, {"status": "new", "visits": 0, "failures": 3, "value": 50.0}]
)
def test_a_page_whose_visits_fail_is_promised_an_attempt(
    fields: dict[str, Any], next_visit_at: float
) -> None:
    told = " ".join(sentences(case(**fields, next_visit_at=next_visit_at), NOW))

    assert "The next attempt is" in told
    assert "next visit" not in told
    assert "in the long run" not in told


def test_a_redirect_that_was_followed_is_not_told_with_the_status_of_its_target() -> None:
    assert "It redirects for good to a page" in " ".join(sentences(case(status="moved"), NOW))


@pytest.mark.parametrize(("pace", "than_expected", "age"), [(1.5, "more", "1.5 h"), (0.5, "less", "30 min")])
def test_siblings_that_have_moved_a_page_are_named(pace: float, than_expected: str, age: str) -> None:
    told = f"Other pages of its host have changed {than_expected} than expected since: its copy counts as "

    assert f"{told}{age} old." in sentences(case(pace=pace), NOW)


@pytest.mark.parametrize("fields", [{"pace": 1.1}, {"pace": 0.9}, {"pace": 3.0, "is_source": True}])
def test_siblings_that_have_not_are_left_out(fields: dict[str, Any]) -> None:
    assert "Other pages" not in " ".join(sentences(case(**fields), NOW))
