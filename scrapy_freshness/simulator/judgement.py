"""All measures of a trial at once, by the names that `replay` prints."""

import math

from scrapy_freshness.simulator.link_metrics import (
    LINK_LIFE_SECONDS,
    LinkFinds,
    link_delay_seconds,
    new_links_found,
    profit,
)
from scrapy_freshness.simulator.metrics import (
    fragment_freshness,
    freshness,
    mean_age_seconds,
    wasted_fetches,
)
from scrapy_freshness.simulator.trial import Trial


def judge(trial: Trial, *, link_life_seconds: float = LINK_LIFE_SECONDS) -> dict[str, float | None]:
    """Measures of a trial; those of links only if there are hubs; None for what cannot be said.

    >>> import numpy as np
    >>> from scrapy_freshness.simulator.recorded import web_of
    >>> from scrapy_freshness.simulator.trace import Kind, Version
    >>> web = web_of(Version(page="a:b", at=at, kind=Kind.CHANGE, lines=(str(at),)) for at in (0, 4, 10))
    >>> judge(Trial(web, np.array([0]), np.array([8.0]), 0.0, 10.0))
    {'freshness': 0.6, 'fragment_freshness': 0.6, 'mean_age_seconds': 0.8, 'wasted_fetches': 0.0}
    """
    measures = {
        "freshness": freshness(trial),
        "fragment_freshness": fragment_freshness(trial),
        "mean_age_seconds": mean_age_seconds(trial),
        "wasted_fetches": wasted_fetches(trial),
    }
    if any(page.links is not None for page in trial.web.pages):
        finds = LinkFinds.of(trial)
        measures |= {
            "new_links_found": new_links_found(finds),
            "link_delay_seconds_p50": link_delay_seconds(finds, 50),
            "link_delay_seconds_p90": link_delay_seconds(finds, 90),
            "profit": profit(finds, link_life_seconds),
        }
    return {name: None if math.isnan(value) else value for name, value in measures.items()}
