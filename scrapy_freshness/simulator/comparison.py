"""The outcome of a policy as a row: measures, standard errors, and differences to the first policy."""

import math

from scrapy_freshness.simulator.replay import Outcome
from scrapy_freshness.simulator.uncertainty import Parts

Row = dict[str, float | None]

_MEASURES = ("freshness", "fragment_freshness", "mean_age_seconds", "wasted_fetches")
_OF_HUBS = ("new_links_found", "link_delay_seconds_p50", "link_delay_seconds_p90", "profit")


def compared(outcome: Outcome, first: Outcome | None, *, has_hubs: bool) -> Row:
    """The measures of a policy, and its differences to the *first* one of the contest, if there is one.

    What a policy that only promises does not promise is None, and so is what cannot be told.

    >>> promise, first = Outcome(None, {"freshness": 0.75}), Outcome(9, {"freshness": 0.5})
    >>> row = compared(promise, first, has_hubs=False)
    >>> row["freshness_diff"], row["freshness_diff_stderr"], row["wasted_fetches"]
    (0.25, None, None)
    """
    measured = {name: outcome.measures.get(name) for name in _MEASURES + (_OF_HUBS if has_hubs else ())}
    row: Row = {"fetches": outcome.fetches}
    for name, value in measured.items():
        row[name] = value
        if name in ("freshness", "profit"):
            own, others = _parts(outcome, name), _parts(first, name)
            row[f"{name}_stderr"] = _stderr(own)
            reference = first.measures.get(name) if first else None
            row[f"{name}_diff"] = None if value is None or reference is None else value - reference
            row[f"{name}_diff_stderr"] = _stderr(own - others if own and others else None)
    return row


def _parts(outcome: Outcome | None, name: str) -> Parts | None:
    if outcome is None:
        return None
    return outcome.freshness if name == "freshness" else outcome.profit


def _stderr(parts: Parts | None) -> float | None:
    stderr = parts.stderr if parts else math.nan
    return None if math.isnan(stderr) else stderr
