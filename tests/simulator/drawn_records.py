"""Records of pages that change at random, as a recorder that looks all the time would write them."""

import numpy as np

from scrapy_freshness.simulator.recorded import RecordedWeb, web_of
from scrapy_freshness.simulator.trace import Kind, Link, Version

DAY = 86400.0


def poisson_page(
    name: str, per_day: float, days: float, rng: np.random.Generator, *, first_day: float = 0.0
) -> list[Version]:
    """A page whose text is replaced by another one now and then."""
    times = np.sort(rng.uniform(first_day, days, rng.poisson(per_day * (days - first_day))))
    return [
        Version(
            page=name,
            at=DAY * at,
            kind=Kind.CHANGE,
            lines=(f"version {number} of {name}",),
            url=f"http://{name.replace(':', '.example/')}",
        )
        for number, at in enumerate([first_day, *times.tolist()])
    ]


def poisson_web(per_day: list[float], days: float, seed: int, *, source: str = "a") -> RecordedWeb:
    """Pages that change at these rates; the record goes on until the last day, on which one more changes."""
    rng = np.random.default_rng(seed)
    pages = [poisson_page(f"{source}:{n}", rate, days, rng) for n, rate in enumerate(per_day)]
    last = [
        Version(page=f"{source}:last", at=DAY * at, kind=Kind.CHANGE, lines=(str(at),)) for at in (0, days)
    ]
    return web_of(version for page in [*pages, last] for version in page)


def poisson_hub(name: str, links_per_day: float, days: float, rng: np.random.Generator) -> list[Version]:
    """A hub that shows its ten latest links."""
    times = np.sort(rng.uniform(0, days, rng.poisson(links_per_day * days)))
    links = [Link(f"http://{name}/{number}") for number in range(len(times) + 10)]
    return [
        Version(page=name, at=DAY * at, kind=Kind.CHANGE, links=tuple(links[number : number + 10]))
        for number, at in enumerate([0.0, *times.tolist()])
    ]
