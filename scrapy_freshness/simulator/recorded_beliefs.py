"""What somebody would believe of recorded pages who knew their whole history, but not what comes next.

Nobody knows the true rates of real pages. The mean over the contest is what comes closest: a policy that is
told it shows how much of the difference to a learned one is the price of learning. It is no upper bound,
because rates change, and who learns may follow them.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.errors import ConfigError
from scrapy_freshness.estimation.divergence_curve import fit_curve
from scrapy_freshness.planning.table import MADE_ON_THE_SPOT
from scrapy_freshness.simulator.link_metrics import LINK_LIFE_SECONDS
from scrapy_freshness.simulator.recorded import RecordedWeb
from scrapy_freshness.simulator.recorded_page import GONE, RecordedPage
from scrapy_freshness.simulator.trial import Trial
from scrapy_freshness.value.contract import Beliefs

FloatArray = NDArray[np.float64]

#: A page that does not change during the contest is believed to change once in 30,000 years.
_SLOWEST = 1e-12
#: Ages at which a page is compared with earlier versions of itself, in mean times between changes.
_AGES = np.arange(1.0, 13.0) ** 2 / 4.5  # .2 to 32: short ones for churn, long ones for scrolls
_N_BASES = 48


def recorded_beliefs(web: RecordedWeb, start: float, end: float, needs: frozenset[str]) -> Beliefs:
    """The mean rates of all pages from *start* to *end*, and what else a value model needs.

    Raises
    ------
    ConfigError
        The record does not tell it.
    """
    needs = needs - MADE_ON_THE_SPOT
    if unknown := needs - _MEANS.keys() - _CURVE:
        raise ConfigError(f"a record does not tell {', '.join(sorted(unknown))}")
    columns = {"change_rate": _change_rates(web, start, end)}
    for name in needs - _CURVE:
        columns[name] = _MEANS[name](web, start, end)
    if needs & _CURVE:
        # The rate that belongs to the fitted curve is that of the updates, not all of which may be seen.
        rates = columns["change_rate"].tolist()
        fits = [_curve(page, rate, start, end) for page, rate in zip(web.pages, rates, strict=True)]
        columns |= dict(zip(("change_rate", "plateau", "stages"), np.array(fits).T, strict=True))
    return Beliefs(importance=np.ones(len(web.pages)), **columns)


def _change_rates(web: RecordedWeb, start: float, end: float) -> FloatArray:
    """Changes per second of each page."""
    changes = np.array([_count_within(page.change_times, page, start, end) for page in web.pages])
    return np.maximum(_per_second(changes, _seconds_there(web, start, end)), _SLOWEST)


def _link_rates(web: RecordedWeb, start: float, end: float) -> FloatArray:
    """New links per second of each hub."""
    shown = [np.empty(0) if page.links is None else page.links.first_seen for page in web.pages]
    counts = [_count_within(times, page, start, end) for times, page in zip(shown, web.pages, strict=True)]
    return _per_second(np.array(counts), _seconds_there(web, start, end))


def _leaving(web: RecordedWeb, start: float, end: float) -> FloatArray:
    """How fast the links leave that each hub shows, per second of a link's stay."""
    rates = np.zeros(len(web.pages))
    for number, page in enumerate(web.pages):
        if page.links is not None:
            there = (page.links.last_seen >= start) & (page.links.first_seen <= end)
            stays = (page.links.last_seen - page.links.first_seen)[there]
            gone = np.count_nonzero(page.links.last_seen[there] < page.times[-1])
            rates[number] = gone / max(float(stays.sum()), 1.0)
    return rates


def _gains(web: RecordedWeb, start: float, end: float) -> FloatArray:
    """Share of its fragments that each page replaces per second: quality as the share of right fragments."""
    moved = np.array([_moved(page, start, end) for page in web.pages])
    return np.maximum(_per_second(moved, _seconds_there(web, start, end)), _SLOWEST)


def _always(value: float) -> Callable[[RecordedWeb, float, float], FloatArray]:
    return lambda web, start, end: np.full(len(web.pages), value)


#: How each belief beside the change rate follows from a record. There are no signals in it, links are worth
#: 1 on average (see `link_profits`), and their profit fades as it does in the measures.
_MEANS: Mapping[str, Callable[[RecordedWeb, float, float], FloatArray]] = MappingProxyType(
    {
        "recall": _always(0.0),
        "false_rate": _always(0.0),
        "link_rate": _link_rates,
        "profit": _always(1.0),
        "decay": _always(1 / LINK_LIFE_SECONDS),
        "leaving": _leaving,
        "gain": _gains,
        "noticed_rate": _change_rates,
        "patience": _always(np.inf),
    }
)
#: Beliefs that are fitted together.
_CURVE = frozenset({"plateau", "stages"})


def _seconds_there(web: RecordedWeb, start: float, end: float) -> FloatArray:
    nothing = np.empty(0)
    spans = Trial(web, nothing.astype(np.int64), nothing, start, end).spans
    seconds = np.where(spans.is_there, spans.seconds, 0.0)
    return np.bincount(spans.page, seconds, len(web.pages)).astype(np.float64)


def _per_second(amount: NDArray[Any], seconds: FloatArray) -> FloatArray:
    rate: FloatArray = amount / np.maximum(seconds, 1.0)
    return rate


def _count_within(times: FloatArray, page: RecordedPage, start: float, end: float) -> int:
    begin = max(start, float(page.times[0]))
    return int(np.count_nonzero((times > begin) & (times <= min(end, page.until))))


def _moved(page: RecordedPage, start: float, end: float) -> float:
    """Sum of the divergences of all changes."""
    (changed,) = np.diff(page.contents).nonzero()
    within = changed[(page.times[changed + 1] > start) & (page.times[changed + 1] <= end)]
    return sum(page.divergence(version, version + 1) for version in within.tolist())


def _curve(page: RecordedPage, rate: float, start: float, end: float) -> tuple[float, float, float]:
    """Rate of updates, plateau and stages of the divergence curve of a page."""
    begin, end = max(start, float(page.times[0])), min(end, page.until)
    ages = _AGES / rate
    profiles = []
    for base in np.linspace(begin, end, _N_BASES, endpoint=False).tolist():
        held = page.version_at(base)
        reached = ages[base + ages <= end]
        if reached.size and page.contents[held] != GONE:
            versions = page.versions_at(base + reached).tolist()
            profiles.append((reached, np.array([page.divergence(held, version) for version in versions])))
    fitted = fit_curve(profiles, rate, log_deviation=0.2)
    return max(fitted.rate, _SLOWEST), fitted.plateau, float(fitted.stages)
