"""Precision and recall of signals from what crawls see: appendix E of the noisy-signals paper.

Precision and recall are uniform on (.2, .95), the time between changes on (2, 20), and crawls come a quarter
to four times as often as changes (uniform in the logarithm; the paper does not say how). The horizon is
100,000.
"""

import numpy as np
from numpy.typing import NDArray

from scrapy_freshness.estimation.signal_quality import SignalPrior, fit_signals
from scrapy_freshness.simulator.streams import divided, merged, poisson_events

FloatArray = NDArray[np.float64]

#: A prior that counts as a thousandth of an observation: nearly plain maximum likelihood.
_HARDLY = 1e-3


def errors_of_estimates(
    pages: int, horizon: float, rng: np.random.Generator
) -> dict[str, dict[str, FloatArray]]:
    """Errors of both estimators: estimator, then precision or recall -> error for each page."""
    precision, recall = rng.uniform(0.2, 0.95, (2, pages))
    change_rate = 1 / rng.uniform(2, 20, pages)
    crawls_per_change = np.exp(rng.uniform(np.log(0.25), np.log(4), pages))
    changes = poisson_events(change_rate, horizon, rng)
    false_rate = recall * change_rate * (1 - precision) / precision
    (announced,) = divided(changes, recall[None], rng)
    signals = merged(announced, poisson_events(false_rate, horizon, rng))
    seen = {"counting": np.empty((2, pages)), "maximum likelihood": np.empty((2, pages))}
    for page in range(pages):
        seconds = 1 / (change_rate[page] * crawls_per_change[page])
        crawls = np.arange(int(horizon / seconds) + 1) * seconds
        changed = np.histogram(changes.of(page), crawls)[0] > 0
        n = np.histogram(signals.of(page), crawls)[0]
        both = np.count_nonzero((n > 0) & changed)
        seen["counting"][:, page] = both / np.count_nonzero(n), both / np.count_nonzero(changed)
        fit = fit_signals(
            np.full(len(n), seconds),
            n[:, None].astype(np.float64),
            changed,
            np.zeros(len(n), np.int64),
            1,
            SignalPrior(change_rate=0.1, weight=_HARDLY),
        )
        seen["maximum likelihood"][:, page] = fit.precision.value[0, 0], fit.recall.value[0]
    truth = {"precision": precision, "recall": recall}
    return {
        estimator: {name: found[row] - truth[name] for row, name in enumerate(truth)}
        for estimator, found in seen.items()
    }
