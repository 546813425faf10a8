"""Every setting: declared once, read once, refused early.

``Config.from_settings`` is the only place that reads ``FRESHNESS_*`` settings. A field
``budget_per_second`` with ``setting(..., name="BUDGET")`` is the setting ``FRESHNESS_BUDGET``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, Self

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.units import (
    amount,
    base_url,
    choice,
    duration,
    endpoint,
    keys_of_hosts,
    parsed,
    patterns,
    positive_int,
    rate,
    replacements,
    selectors,
    share,
    size,
    switch,
    text,
    web_hosts,
    whole,
    words,
)

PREFIX = "FRESHNESS_"


class Settings(Protocol):
    """What is needed of Scrapy's settings."""

    def get(self, name: str, default: Any = None) -> Any: ...


def setting(default: Any, parse: Callable[[Any], Any], help_: str, *, name: str = "") -> Any:
    """Declare a setting: *default* as a user would write it, a parser, and one sentence of help."""
    metadata = {"parse": parse, "help": help_, "name": name, "written": default}
    return field(default_factory=lambda: parse(default), metadata=metadata)


#: Names of parameters that tell where a visitor came from.
TRACKING = (
    r"utm_\w+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|igshid|twclid|ttclid"
    r"|mc_[ce]id|_ga|_gl|_hs(?:enc|mi)|mkt_tok|pk_\w+|mtm_\w+|at_(?:medium|campaign)\w*|ref_src|cmpid"
)
#: What does not make another page of a link: session ids, tracking parameters, the pages of a list.
LINK_RULES = (
    (r"(?i);(?:jsessionid|phpsessid|sid)=[^/?#]*", ""),
    (
        r"(?i)(?<=[?&])(?:jsessionid|phpsessid|aspsessionid\w*|cfid|cftoken|zenid|oscsid|session_?id)=[^&]*",
        "",
    ),
    (rf"(?i)(?<=[?&])(?:{TRACKING})=[^&]*", ""),
    (r"(?i)(?<=[?&])(?:sid|sess|session|token)=[0-9a-z]{16,}(?=&|$)", ""),
    (r"(?i)(?<=[?&])(?:page|paged|pg|offset|start)=\d*(?=&|$)", ""),
    (r"(?i)/page/\d+/?(?=\?|$)", "/"),
)
#: Elements whose links lead around a site rather than to its news.
BOILERPLATE = (
    "nav",
    "footer",
    "body > header",
    "[role=navigation]",
    "[role=banner]",
    "[role=contentinfo]",
)


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings of a crawl, validated."""

    enabled: bool = setting(True, switch, "Whether the crawl is kept fresh; off leaves plain Scrapy.")
    database_url: str = setting(
        "sqlite:///freshness.db",
        text,
        "SQLAlchemy URL of the database; created and migrated at first use.",
    )
    budget_per_second: float = setting(
        "1/s", rate, "Fetches per time unit, all together: pages, retries, robots.txt.", name="BUDGET"
    )
    policy: str = setting("holistic", text, "What a crawl is worth and when that is enough.")
    threshold: float = setting(
        0.0, amount, "Least value that is worth a crawl, in the policy's unit; 0 spends the whole budget."
    )
    crawl_cost: float = setting(1.0, amount, "Policies cost*: what a crawl costs.")
    stale_cost_per_second: float = setting(
        "1/h",
        rate,
        "Policies cost*: what a stale copy of importance 1 costs per time unit.",
        name="STALE_COST",
    )
    stale_limit_seconds: float = setting(
        "1d", duration, "Policy cost-risk-bounded: how long a copy may be stale.", name="STALE_LIMIT"
    )
    stale_risk: float = setting(
        0.1, share, "Policy cost-risk-bounded: share of visits at which it may have been so for longer."
    )
    longevity_risk: float = setting(
        100.0, amount, "Policies longevity-*: thresholds that waiting for a page may cost (rho)."
    )
    longevity_learning: float = setting(
        4.0, amount, "Policies longevity-*: thresholds that a page waits at most after its first visit."
    )
    deaf_seconds: float = setting(
        "0s",
        duration,
        "Signals within this time after a visit announce what it has seen and do not count; 0: as learned.",
        name="DEAF_AFTER_VISIT",
    )
    participation: bool = setting(
        True,
        switch,
        "Policies echo-*, holistic: whether sources and new pages must pay for their fetches.",
    )
    profit: float = setting(
        1.0,
        amount,
        "Policies echo-*, holistic: importance of a page of a source while it is new; 1: that of any page.",
    )
    profit_life_seconds: float = setting(
        "1d", duration, "Policies echo-*, holistic: mean life of these requests.", name="PROFIT_LIFE"
    )
    link_rhythm: bool = setting(
        True, switch, "Policies echo-*, holistic: whether link rates follow the hours of the day."
    )
    importance: str = setting(
        "clicks",
        choice("clicks", "links", "feeds", "equal"),
        'What makes a page important if nobody has said it: "clicks" as imported, "links" to it, "feeds" '
        'that show it, or nothing: "equal".',
    )
    log_push_seconds: float = setting(
        "1h",
        duration,
        "How often importances and profits are estimated anew, in crawls and long imports.",
        name="LOG_PUSH",
    )
    reprice_seconds: float = setting(
        "30min",
        duration,
        "Policies echo-*: how often the schedule of all sources is made anew.",
        name="REPRICE_INTERVAL",
    )
    query_scoring: str = setting(
        "tf-idf",
        text,
        'How results of imported queries are ranked: "tf-idf", "in-links", or the path of a class of yours.',
    )
    query_importance: bool = setting(
        False,
        switch,
        "Whether pages weigh by what their changes cost searchers (not in user-centric, which does anyway).",
    )
    signals: bool = setting(
        True, switch, "Whether sitemaps and feeds are looked for, and polled for what they say about pages."
    )
    signal_sources: tuple[str, ...] = setting(
        (), words, "URLs of sitemaps and feeds that are polled however little they yield."
    )
    signal_sources_deny: tuple[re.Pattern[str], ...] = setting(
        (), patterns, "Regular expressions; sitemaps and feeds whose URLs match one are not polled."
    )
    announced_pages: bool = setting(
        True,
        switch,
        "Whether new pages that sitemaps, feeds, hubs and pings name are visited if the spider takes them.",
    )
    hubs: bool = setting(
        False, switch, "Whether the hubs of hosts are looked for, and polled for links to new pages."
    )
    hosts: tuple[str, ...] = setting(
        (),
        web_hosts,
        "Hosts whose hubs are looked for; empty for those of the pages that the spider asks for.",
    )
    hubs_deny: tuple[re.Pattern[str], ...] = setting(
        (), patterns, "Regular expressions; pages whose URLs match one are no hubs."
    )
    hubs_per_host: int = setting(200, positive_int, "Hubs that a host may have.")
    hub_age_seconds: float = setting(
        "3d",
        duration,
        "Age from which on a page that its host's main page links to is a hub; what is younger is news.",
        name="HUB_AGE",
    )
    hub_patience: int = setting(
        10,
        positive_int,
        "Polls in a row without a new link after which a hub is retired, if they took FRESHNESS_HUB_AGE.",
    )
    hub_refresh_seconds: float = setting(
        "1d", duration, "How often a host's main page is looked at for hubs, at least.", name="HUB_REFRESH"
    )
    link_rules: tuple[tuple[re.Pattern[str], str], ...] = setting(
        LINK_RULES,
        replacements,
        "Pairs of a regular expression and its replacement: links that are then equal are the same link.",
    )
    boilerplate_css: tuple[str, ...] = setting(
        BOILERPLATE, words, "CSS selectors of elements of a hub whose links are no news."
    )
    obey_nofollow: bool = setting(True, switch, 'Whether links of hubs that say "nofollow" are left alone.')
    estimator: str = setting(
        "pooled",
        choice("mle", "pooled"),
        'How change rates are estimated: "pooled" with the pages that are alike, "mle" each page by itself.',
    )
    stop_when: str = setting(
        "never",
        choice("never", "idle"),
        'When the crawl ends by itself: "never", or "idle" once everything due has been visited.',
    )
    skip_unchanged: bool = setting(
        True, switch, "Whether the callback is spared when a page has not changed."
    )
    emit_unchanged: bool = setting(False, switch, "Whether items of unchanged pages pass the item pipeline.")
    item_field: str = setting(
        "", text, "Field of each item that receives what is known about its page; empty for none."
    )
    allow: tuple[re.Pattern[str], ...] = setting(
        (), patterns, "Regular expressions; if any are given, only URLs matching one are tracked."
    )
    deny: tuple[re.Pattern[str], ...] = setting(
        (), patterns, "Regular expressions; URLs matching one are fetched but not tracked."
    )
    meta_keys: tuple[str, ...] = setting(
        ("*",), words, 'Keys of request.meta that are kept for revisits; "*" keeps all of the spider\'s.'
    )
    min_interval_seconds: float = setting(
        "1s", duration, "Least time between two visits of a page.", name="MIN_INTERVAL"
    )
    prior_changed_after_seconds: float = setting(
        "1h",
        duration,
        'Pseudo-observation of the estimator "mle" for every page: a change seen after this time.',
        name="PRIOR_CHANGED_AFTER",
    )
    prior_unchanged_after_seconds: float = setting(
        "57h",
        duration,
        'Pseudo-observation of the estimator "mle" for every page: no change seen after this time.',
        name="PRIOR_UNCHANGED_AFTER",
    )
    shingle_words: int = setting(5, positive_int, "Words in a fragment (shingle) of a page.")
    # Their bounds are those of the bytes in which content.profiles stores them.
    sketch_size: int = setting(64, whole(1, 65_535), "Fragments kept of each version (bottom-m sketch).")
    max_profiles: int = setting(5, whole(1, 255), "Change profiles kept of each page.", name="PROFILES")
    profile_length: int = setting(12, whole(2, 65_535), "Observations kept in a change profile.")
    min_divergence: float = setting(
        0.0, share, "A page counts as changed only if at least this share of its fragments differs."
    )
    fragment_fields: tuple[str, ...] = setting(
        (), words, "Item fields that make up a page's content; empty for the visible text."
    )
    include_css: dict[str, tuple[str, ...]] = setting(
        {}, selectors, "Domain (or *) to CSS selectors: only text inside these counts."
    )
    exclude_css: dict[str, tuple[str, ...]] = setting(
        {}, selectors, "Domain (or *) to CSS selectors: text inside these does not count."
    )
    max_body_bytes: int = setting(
        "2MB",
        size,
        "Of longer text bodies only so many characters are looked at; other bodies are compared in full.",
        name="MAX_BODY",
    )
    audit_share: float = setting(
        0.02, share, "Share of a host's 304 answers that are checked by fetching the page in full."
    )
    gone_recheck_seconds: float = setting(
        "1d",
        duration,
        "First look at a page that is gone (404, 410), moved for good, or stopped before it was asked for "
        "(robots.txt, say); then twice as late each time.",
        name="GONE_RECHECK",
    )
    gone_recheck_max_seconds: float = setting(
        "60d",
        duration,
        "Longest time between looks at a page gone, moved or stopped.",
        name="GONE_RECHECK_MAX",
    )
    backoff_seconds: float = setting(
        "5s", duration, "First pause of a host or page after a failure; then twice as long.", name="BACKOFF"
    )
    backoff_max_seconds: float = setting(
        "1h",
        duration,
        "Longest pause of a host after failures, and of a page until it has failed 16 times in a row.",
        name="BACKOFF_MAX",
    )
    robots_max_age_seconds: float = setting(
        "1d",
        duration,
        "How old what robots.txt says may be before it is read again; after an error, ten minutes at most.",
        name="ROBOTS_MAX_AGE",
    )
    flush_seconds: float = setting(
        "1s", duration, "How often what was learned is written to the database.", name="FLUSH_INTERVAL"
    )
    cache_pages: int = setting(10_000, positive_int, "Records of pages kept in memory, about 3 kB each.")
    visit_log_seconds: float = setting(
        "90d", duration, "How long single visits are kept in the database; 0 keeps all.", name="VISIT_LOG"
    )
    ping_listen: tuple[str, int] | None = setting(
        "", endpoint, "Address and port on which pings (IndexNow, WebSub) are taken; empty for none."
    )
    ping_url: str = setting(
        "", base_url, "URL under which others reach this address; without it there is no WebSub."
    )
    ping_keys: dict[str, str] = setting(
        {}, keys_of_hosts, "Host to IndexNow key; the keys of other hosts are read from their key files."
    )
    ping_hubs: tuple[re.Pattern[str], ...] = setting(
        (), patterns, "Regular expressions; if any are given, only WebSub hubs matching one are asked."
    )
    ping_lease_seconds: float = setting(
        "10d",
        duration,
        "How long a WebSub subscription is asked for before it is renewed.",
        name="PING_LEASE",
    )
    pings_per_second: float = setting(
        "10/s",
        rate,
        "Pings that one sender may send; all together may send ten times as many.",
        name="PING_RATE",
    )
    ping_timeout_seconds: float = setting(
        "10s", duration, "How long a ping may take to arrive.", name="PING_TIMEOUT"
    )
    metrics_listen: tuple[str, int] | None = setting(
        "",
        endpoint,
        "Address and port on which the crawl tells Prometheus and others how it does; empty for none.",
    )
    plain_scheduler: str = setting(
        "scrapy.core.scheduler.Scheduler",
        text,
        "Scheduler of requests that are not tracked; the add-on puts the project's own here.",
    )

    def __post_init__(self) -> None:
        self._check("prior_changed_after_seconds", self.prior_changed_after_seconds > 0, "above 0")
        self._check("prior_unchanged_after_seconds", self.prior_unchanged_after_seconds > 0, "above 0")
        for name in ("profit_life_seconds", "reprice_seconds", "log_push_seconds"):
            self._check(name, getattr(self, name) > 0, "above 0")
        for name in ("longevity_risk", "longevity_learning"):
            self._check(name, getattr(self, name) >= 1, "at least 1", "")
        self._check("profit", self.profit > 0, "above 0", "")
        self._check("crawl_cost", self.crawl_cost > 0, "above 0", "")
        self._check("stale_risk", self.stale_risk < 1, "below 1", "")
        self._check(
            "stale_limit_seconds",
            self.stale_limit_seconds + self.stale_risk > 0,
            "above 0 if FRESHNESS_STALE_RISK is 0",
        )
        self._check("ping_lease_seconds", self.ping_lease_seconds >= 1, "at least 1")
        self._check("ping_timeout_seconds", self.ping_timeout_seconds > 0, "above 0")
        if self.ping_url and self.ping_listen is None:
            raise ConfigError(
                f"FRESHNESS_PING_URL cannot be {self.ping_url!r} without an address to listen on: "
                'write FRESHNESS_PING_LISTEN, such as "127.0.0.1:8099"'
            )
        if self.hosts and not self.hubs:
            raise ConfigError(
                f"FRESHNESS_HOSTS cannot be {', '.join(self.hosts)} as long as no hubs are looked for: "
                "write FRESHNESS_HUBS = True"
            )
        self._check("hub_refresh_seconds", self.hub_refresh_seconds > 0, "above 0")
        self._check("robots_max_age_seconds", self.robots_max_age_seconds > 0, "above 0")
        self._check("flush_seconds", self.flush_seconds > 0, "above 0")
        self._check("backoff_seconds", self.backoff_seconds > 0, "above 0")
        self._check(
            "backoff_max_seconds",
            self.backoff_max_seconds >= self.backoff_seconds,
            "at least FRESHNESS_BACKOFF",
        )
        self._check(
            "gone_recheck_max_seconds",
            self.gone_recheck_max_seconds >= self.gone_recheck_seconds > 0,
            "at least FRESHNESS_GONE_RECHECK, and that above 0",
        )

    def _check(self, field_name: str, is_fine: bool, bound: str, unit: str = " seconds") -> None:
        if not is_fine:
            value = getattr(self, field_name)
            raise ConfigError(f"{setting_name(field_name)} must be {bound}, got {value}{unit}")

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Read all settings; the first one that cannot be used raises ConfigError."""
        values = {}
        for each in fields(cls):
            name = setting_name(each.name)
            value = settings.get(name)
            if value is not None:
                values[each.name] = parsed(name, value, each.metadata["parse"])
        return cls(**values)


def setting_name(field_name: str) -> str:
    """Name of the setting that fills a field of Config."""
    declared = next(each for each in fields(Config) if each.name == field_name)
    return PREFIX + (declared.metadata["name"] or field_name.upper())


def reference() -> list[tuple[str, Any, str]]:
    """Name, default (as a user would write it) and help of every setting."""
    return [
        (setting_name(each.name), each.metadata["written"], each.metadata["help"]) for each in fields(Config)
    ]


def unknown_settings(names: list[str]) -> list[str]:
    """Those of *names* that look like ours but are not: most likely misspelt."""
    known = {name for name, _, _ in reference()}
    return sorted(name for name in names if name.startswith(PREFIX) and name not in known)
