"""Every setting: what it accepts, what it refuses and how, that it is explained and that it matters."""

import ast
import contextlib
import re
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.config import (
    PREFIX,
    Config,
    reference,
    setting_name,
    unknown_settings,
)
from scrapy_freshness.content.profiles import observe, pack, unpack
from scrapy_freshness.content.sketch import sketch
from scrapy_freshness.errors import ConfigError, FreshnessError
from scrapy_freshness.planning.policy import POLICY_NAMES, policy_named, policy_of

POLICIES = [name for name in POLICY_NAMES if not name.endswith("-J")]
PACKAGE = Path(__file__).parents[1] / "scrapy_freshness"

#: field -> (written, meant) pairs that are accepted, values that are refused
SETTINGS = {
    "plain_scheduler": ([("a.B", "a.B")], [5]),
    "enabled": ([("False", False), (1, True)], ["perhaps"]),
    "database_url": ([("postgresql:///x", "postgresql:///x")], [5]),
    "budget_per_second": (
        [("2/s", 2.0), ("5000/h", 5000 / 3600), ("86400/day", 1.0), (3, 3.0)],
        ["0/s", "lots"],
    ),
    "policy": (
        [(name, name) for name in (*POLICIES, "greedy-ncis-approx-7")],
        [5],  # and those that do not exist, see below
    ),
    "threshold": ([("2.5", 2.5), (0, 0.0)], [-1, "much"]),
    "crawl_cost": ([(3, 3.0)], [0, "x"]),
    "stale_cost_per_second": ([("24/day", 24 / 86400)], [0, "x"]),
    "stale_limit_seconds": ([("2h", 7200.0)], ["-1h"]),
    "stale_risk": ([(0.5, 0.5), (0, 0.0)], [1, -0.1]),
    "longevity_risk": ([(10, 10.0)], [0, "x"]),
    "longevity_learning": ([("2", 2.0)], [0.5]),
    "deaf_seconds": ([("5s", 5.0)], ["x"]),
    "participation": ([("0", False)], ["maybe"]),
    "profit": ([(2, 2.0)], [0, -1]),
    "profit_life_seconds": ([("6h", 21600.0)], [0, "x"]),
    "link_rhythm": ([("0", False)], ["daily"]),
    "importance": ([("links", "links"), ("feeds", "feeds")], ["votes", True]),
    "log_push_seconds": ([("5min", 300.0)], [0, "x"]),
    "reprice_seconds": ([("5min", 300.0)], [0, "x"]),
    "query_scoring": ([("in-links", "in-links")], [5]),
    "query_importance": ([("1", True)], ["some"]),
    "signals": ([("0", False)], ["perhaps"]),
    "signal_sources": ([(["http://a.example/f"], ("http://a.example/f",))], [[1]]),
    "signal_sources_deny": ([("/f", (re.compile("/f"),))], ["*"]),
    "announced_pages": ([("0", False)], ["some"]),
    "hubs": ([("1", True)], ["some"]),
    "hosts": ([((), ())], ["http://a.example/b", "a b", [5]]),
    "hubs_deny": ([("/tag/", (re.compile("/tag/"),))], ["*"]),
    "hubs_per_host": ([(20, 20)], [0]),
    "hub_age_seconds": ([("1h", 3600.0), (0, 0.0)], ["young"]),
    "hub_patience": ([(3, 3)], [0]),
    "hub_refresh_seconds": ([("2h", 7200.0)], [0, "often"]),
    "link_rules": (
        [([("a+", "b")], ((re.compile("a+"), "b"),)), ((), ())],
        [["a"], [("(", "")], [("a", r"\1")]],
    ),
    "boilerplate_css": ([("nav, footer", ("nav", "footer"))], [[5]]),
    "obey_nofollow": ([("0", False)], ["maybe"]),
    "estimator": ([("pooled", "pooled"), ("mle", "mle")], ["guess"]),
    "stop_when": ([("idle", "idle"), ("never", "never")], ["later", True]),
    "skip_unchanged": ([("0", False)], ["sometimes"]),
    "emit_unchanged": ([("1", True)], ["no"]),
    "item_field": ([("fresh", "fresh")], [["fresh"]]),
    "allow": ([("/a", (re.compile("/a"),))], [["("], 7]),
    "deny": ([([r"\.pdf$"], (re.compile(r"\.pdf$"),))], ["*"]),
    "meta_keys": ([("a, b", ("a", "b")), (["c"], ("c",))], [[1]]),
    "min_interval_seconds": ([("1min", 60.0), (0, 0.0)], ["-1s", "x"]),
    "prior_changed_after_seconds": ([("2h", 7200.0)], ["0s", "never"]),
    "prior_unchanged_after_seconds": ([("2d", 172800.0)], [0, "ever"]),
    "shingle_words": ([("3", 3)], [0, 2.5]),
    "sketch_size": ([(8, 8), (65535, 65535)], [0, 65536, "many"]),
    "max_profiles": ([(1, 1), ("255", 255)], [0, 256]),
    "profile_length": ([(2, 2)], [1, 65536]),
    "min_divergence": ([(0.1, 0.1), ("1", 1.0)], [1.5, -1]),
    "fragment_fields": ([("name,price", ("name", "price"))], [[5]]),
    "include_css": ([({"*": "main"}, {"*": ("main",)})], ["main", {"a": 5}]),
    "exclude_css": ([({"a.b": ["nav", ".ad"]}, {"a.b": ("nav", ".ad")})], [["nav"]]),
    "max_body_bytes": ([("1MiB", 2**20), (10, 10)], ["0", "0.2"]),
    "audit_share": ([(0, 0.0), (1, 1.0)], [2, "all"]),
    "gone_recheck_seconds": ([("2h", 7200.0)], ["0s", "61d"]),
    "gone_recheck_max_seconds": ([("10d", 864000.0)], ["1h"]),
    "backoff_seconds": ([("1s", 1.0)], ["0s", "2h"]),
    "backoff_max_seconds": ([("6s", 6.0)], ["4s"]),
    "robots_max_age_seconds": ([("2h", 7200.0)], [0, "x"]),
    "flush_seconds": ([("500s", 500.0)], [0, "often"]),
    "cache_pages": ([(1, 1)], [0]),
    "ping_listen": (
        [("127.0.0.1:8099", ("127.0.0.1", 8099)), ("[::1]:0", ("::1", 0)), ("", None)],
        ["8099", "127.0.0.1", "127.0.0.1:99999", "http://127.0.0.1:80", 8099],
    ),
    "ping_url": ([("", "")], ["crawler.example", "ftp://a.example/", "https://a.example/?b", 5]),
    "ping_keys": (
        [({"A.example": "0123-4567"}, {"a.example": "0123-4567"})],
        ["key", {"a.example": "short"}],
    ),
    "ping_hubs": ([("^https://hub", (re.compile("^https://hub"),))], ["*"]),
    "ping_lease_seconds": ([("1d", 86400.0)], [0, "x"]),
    "pings_per_second": ([("60/min", 1.0)], [0, "x"]),
    "ping_timeout_seconds": ([("2s", 2.0)], [0, "x"]),
    "metrics_listen": ([("0.0.0.0:9410", ("0.0.0.0", 9410)), ("", None)], ["9410", "localhost"]),
    "visit_log_seconds": ([(0, 0.0), ("1w", 604800.0)], ["-1d"]),
}
ACCEPTED = [(name, *pair) for name, (accepted, _) in SETTINGS.items() for pair in accepted]
REFUSED = [(name, value) for name, (_, refused) in SETTINGS.items() for value in refused]


def test_every_setting_is_examined_here() -> None:
    assert {each.name for each in fields(Config)} == set(SETTINGS)


@pytest.mark.parametrize(("field", "written", "meant"), ACCEPTED)
def test_a_setting_is_read_as_it_is_meant(field: str, written: object, meant: object) -> None:
    config = Config.from_settings({setting_name(field): written})

    assert getattr(config, field) == meant


@pytest.mark.parametrize(("field", "value"), REFUSED)
def test_a_bad_value_is_refused_with_name_value_and_remedy(field: str, value: object) -> None:
    with pytest.raises(ConfigError) as refused:
        Config.from_settings({setting_name(field): value})

    message = str(refused.value)
    assert "\n" not in message
    assert setting_name(field) in message
    shown = f"{value!r}"
    assert shown in message or " seconds" in message
    assert re.search(r"write |choose |must be ", message)
    assert isinstance(refused.value, FreshnessError)


@given(
    name=st.sampled_from(sorted(SETTINGS)),
    value=st.one_of(
        st.text(max_size=8), st.integers(), st.floats(), st.booleans(), st.lists(st.integers(), max_size=2)
    ),
)
def test_no_value_of_a_setting_raises_anything_but_a_config_error(name: str, value: object) -> None:
    with contextlib.suppress(ConfigError):
        Config.from_settings({setting_name(name): value})


def test_the_broken_expression_is_named() -> None:
    with pytest.raises(ConfigError, match=r"FRESHNESS_DENY.*'\('.*not a regular expression"):
        Config.from_settings({"FRESHNESS_DENY": ["ok", "("]})


def test_no_settings_are_the_defaults() -> None:
    assert Config.from_settings({}) == Config()


def test_defaults_as_a_user_would_write_them_are_the_defaults() -> None:
    written = {name: default for name, default, _ in reference()}

    assert Config.from_settings(written) == Config()


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Config().policy = "uniform"  # type: ignore[misc]


def test_two_configs_share_no_mutable_default() -> None:
    assert Config().include_css is not Config().include_css


@pytest.mark.parametrize(("name", "default", "help_"), reference(), ids=lambda value: str(value)[:30])
def test_every_setting_has_a_sentence_of_help(name: str, default: object, help_: str) -> None:
    assert name.startswith(PREFIX)
    assert name == name.upper()
    assert re.fullmatch(r"[A-Z\"].*\.", help_)
    assert "\n" not in help_
    assert len(help_) >= 20


def test_no_page_can_be_fresh_always_and_for_sure() -> None:
    with pytest.raises(ConfigError, match="FRESHNESS_STALE_LIMIT must be above 0 if FRESHNESS_STALE_RISK"):
        Config.from_settings({"FRESHNESS_STALE_LIMIT": "0s", "FRESHNESS_STALE_RISK": 0})

    assert Config.from_settings({"FRESHNESS_STALE_LIMIT": "0s"}).stale_limit_seconds == 0


def test_a_public_address_needs_one_to_listen_on() -> None:
    settings = {"FRESHNESS_PING_URL": "https://crawler.example/pings/"}
    with pytest.raises(ConfigError, match=r"FRESHNESS_PING_URL .* write FRESHNESS_PING_LISTEN"):
        Config.from_settings(settings)

    config = Config.from_settings({**settings, "FRESHNESS_PING_LISTEN": "127.0.0.1:8099"})
    assert config.ping_url == "https://crawler.example/pings"


def test_hosts_are_named_only_if_their_hubs_are_looked_for() -> None:
    with pytest.raises(ConfigError, match="FRESHNESS_HUBS = True"):
        Config.from_settings({"FRESHNESS_HOSTS": "example.com"})

    both = Config.from_settings({"FRESHNESS_HOSTS": "Example.com", "FRESHNESS_HUBS": True})
    assert both.hosts == ("https://example.com/",)


def test_setting_names_are_unique() -> None:
    names = [name for name, _, _ in reference()]

    assert len(set(names)) == len(names)


def test_every_setting_is_read_somewhere() -> None:
    """As an attribute of something called config: `config.x`, `self._config.x`, `freshness.config.x`."""
    read = set()
    for path in PACKAGE.rglob("*.py"):
        if path.name == "config.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith("config"):
                read.add(node.attr)

    assert {each.name for each in fields(Config)} - read == set()


def test_only_the_config_reads_our_settings() -> None:
    """No other module looks a FRESHNESS_* setting up; the add-on may set one."""
    for path in PACKAGE.rglob("*.py"):
        if path.name == "config.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_lookup = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if is_lookup and node.func.attr.startswith("get") and node.args:
                first = node.args[0]
                assert not (isinstance(first, ast.Constant) and str(first.value).startswith(PREFIX)), path


def test_misspelt_settings_are_found() -> None:
    names = ["FRESHNESS_BUDGET", "FRESHNESS_BUDGTE", "FRESHNESS_", "BOT_NAME", "freshness_policy"]

    assert unknown_settings(names) == ["FRESHNESS_", "FRESHNESS_BUDGTE"]


def test_every_known_setting_is_known() -> None:
    assert unknown_settings([name for name, _, _ in reference()]) == []


def test_every_policy_that_can_be_chosen_exists() -> None:
    assert [policy_named(name).name for name in POLICIES] == POLICIES
    assert [policy_of(Config(policy=name)).name for name in POLICIES] == POLICIES


@pytest.mark.parametrize("name", ["random", "Greedy", "greedy-ncis-approx-J", "greedy-ncis-approx-0", ""])
def test_a_policy_that_does_not_exist_is_refused_with_those_that_do(name: str) -> None:
    known = ", ".join(POLICY_NAMES)

    with pytest.raises(ConfigError) as refused:
        policy_of(Config(policy=name))

    assert str(refused.value) == f"FRESHNESS_POLICY: there is no policy {name!r}: choose one of {known}"


@pytest.mark.parametrize(("profiles", "length", "size"), [(255, 2, 1), (1, 65_535, 65_535)])
def test_the_largest_profiles_that_are_accepted_can_be_stored(profiles: int, length: int, size: int) -> None:
    config = Config.from_settings(
        {
            "FRESHNESS_PROFILES": profiles,
            "FRESHNESS_PROFILE_LENGTH": length,
            "FRESHNESS_SKETCH_SIZE": size,
        }
    )
    kept = ()
    for version in range(300):
        found = sketch(np.array([version], np.uint32), config.sketch_size)
        kept = observe(
            kept,
            float(version),
            found,
            max_profiles=config.max_profiles,
            max_observations=config.profile_length,
            size=config.sketch_size,
        )

    assert len(unpack(pack(kept))) == min(profiles, 300)
