"""Parts of a crawl that the settings alone describe."""

from scrapy.utils.misc import load_object

from scrapy_freshness.config import Config, setting_name
from scrapy_freshness.content.measure import ContentOptions
from scrapy_freshness.content.text import check_selector
from scrapy_freshness.errors import ConfigError
from scrapy_freshness.planning.hosts import Hosts
from scrapy_freshness.planning.learners import learner_of
from scrapy_freshness.planning.planner import Planner
from scrapy_freshness.planning.policy import policy_of
from scrapy_freshness.planning.visited import BeforeLearning
from scrapy_freshness.planning.visits import Upkeep
from scrapy_freshness.search.scoring import SCORINGS, Scoring

_SCORING_PARTS = ("name", "uses_links", "base", "weight", "query_score")


def content_options(config: Config) -> ContentOptions:
    """What counts as content, by the settings; a CSS selector that cannot be used is refused by name."""
    for field, chosen in (("include_css", config.include_css), ("exclude_css", config.exclude_css)):
        for selector in (each for selectors in chosen.values() for each in selectors):
            try:
                check_selector(selector)
            except ConfigError as error:
                raise ConfigError(f"{setting_name(field)}: {error}") from None
    return ContentOptions(
        shingle_words=config.shingle_words,
        sketch_size=config.sketch_size,
        max_body_chars=config.max_body_bytes,
        include=config.include_css,
        exclude=config.exclude_css,
    )


def scoring_of(config: Config) -> Scoring:
    """How results of queries are ranked: by name, or by a class of the user's that is a `Scoring`."""
    name = config.query_scoring
    if name in SCORINGS:
        return SCORINGS[name]
    try:
        made: Scoring = load_object(name)()
    except (ValueError, NameError, ImportError, TypeError) as error:
        raise ConfigError(
            f"{setting_name('query_scoring')} cannot be {name!r}: choose one of {', '.join(SCORINGS)},"
            f" or name a class like 'project.scoring.Mine' ({error})"
        ) from None
    missing = [each for each in _SCORING_PARTS if not hasattr(made, each)]
    if missing:
        raise ConfigError(f"{setting_name('query_scoring')}: {name} has no {', '.join(missing)}")
    return made


def new_planner(config: Config, upkeep: Upkeep, before_learning: BeforeLearning) -> Planner:
    """A planner that knows no pages yet, with the policy and the estimators that the settings name."""
    policy = policy_of(config)
    return Planner(
        policy,
        Hosts(config.backoff_seconds, config.backoff_max_seconds),
        learner_of(policy, config),
        upkeep=upkeep,
        crawls_per_second=config.budget_per_second,
        min_interval=config.min_interval_seconds,
        before_learning=before_learning,
    )
