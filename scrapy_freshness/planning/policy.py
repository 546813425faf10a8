"""The policies by name: a value model and a pacing rule each."""

from collections.abc import Callable
from dataclasses import dataclass

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.pacing.budget import Budget
from scrapy_freshness.pacing.contract import Pacing
from scrapy_freshness.value.contract import ValueModel
from scrapy_freshness.value.greedy import Greedy
from scrapy_freshness.value.uniform import Uniform


@dataclass(frozen=True, slots=True)
class Policy:
    """What a crawl is worth, and when that is enough."""

    name: str
    model: ValueModel
    pacing: Pacing


_MODELS: dict[str, Callable[[], ValueModel]] = {"greedy": Greedy, "uniform": Uniform}


def policy_named(name: str) -> Policy:
    """Return the policy of that name.

    >>> policy_named("greedy").name
    'greedy'
    """
    if name not in _MODELS:
        raise ConfigError(f"there is no policy {name!r}: choose one of {', '.join(sorted(_MODELS))}")
    return Policy(name, _MODELS[name](), Budget())
