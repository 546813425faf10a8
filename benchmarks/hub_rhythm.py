"""Does it pay to poll hubs by the hour of the day?  Recorded hubs, with and without their rhythm.

For each hub: how many links appear in each hour of the day is learned from the first half of its record. In
the second half it is polled a number of times a day, either at equal times, or so that equally many new links
are expected between two polls (equal *operational* time: what follows if the link rate in the value of a poll
is that of the hour). A link that is found d after its first appearance earns exp(-d/life); one that has gone
before a poll earns nothing. Phases of the polls are averaged over. The rhythm counts only if the first half
shows that there is one (chi-square test, p < .001).

Shown are the shares of the profit of finding every link at once, and the difference.

    python benchmarks/hub_rhythm.py TRACE...
"""

import sys

import numpy as np
from scipy.special import gammaincc

from scrapy_freshness.estimation.rhythm import DAY, HOUR, Rhythm, bin_seconds
from scrapy_freshness.simulator.recorded import load_web
from scrapy_freshness.simulator.recorded_page import RecordedPage

BINS = 24
POLLS_PER_DAY = (2, 4, 8, 24)
LIFE_HOURS = (3.0, 12.0, 24.0)
PHASES = 6
#: Links at the mean rate that each hour starts with.
SHRINK = 5.0
LEAST_LINKS = 200


def learned_rhythm(looks: np.ndarray, found: np.ndarray) -> Rhythm:
    """Links of each look, spread over the hours that it came after the look before."""
    seconds = bin_seconds(looks[:-1], looks[1:])
    rate = found.sum() / seconds.sum()
    links = (seconds * (found / np.maximum(seconds.sum(axis=1), 1.0))[:, None]).sum(axis=0)
    exposure = rate * seconds.sum(axis=0)
    statistic = float(((links - exposure) ** 2 / exposure).sum())
    relative = (links + SHRINK) / (exposure + SHRINK)
    chance = float(gammaincc((BINS - 1) / 2, statistic / 2))
    return Rhythm(relative / relative.mean(), statistic, chance)


def poll_times(start: float, end: float, per_day: int, phase: float, relative: np.ndarray) -> np.ndarray:
    """Polls between which equally much happens, by the relative intensity of the hours."""
    hours = np.arange(np.floor(start / HOUR) * HOUR, end + HOUR, HOUR)
    passed = np.concatenate(([0.0], np.cumsum(relative[(hours[:-1] // HOUR % 24).astype(int)] * HOUR)))
    wanted = np.arange(phase * DAY / per_day, passed[-1], DAY / per_day)
    times = np.interp(wanted, passed, hours)
    return times[(times >= start) & (times <= end)]


def earned(first: np.ndarray, last: np.ndarray, polls: np.ndarray, life: float) -> float:
    """Share of the profit of finding every link at once."""
    place = np.searchsorted(polls, first)
    at = np.append(polls, np.inf)[place]
    return float(np.where(at <= last, np.exp(-(at - first) / life), 0.0).mean())


def compare(page: RecordedPage) -> list[tuple[int, float, float, float]] | None:
    """Polls a day, life in hours, share without and with the rhythm; None if there is nothing to compare."""
    links = page.links
    if links is None or len(page.times) < 100:
        return None
    middle = (page.times[0] + page.until) / 2
    is_new = links.first_seen > page.times[0]
    first, last = links.first_seen[is_new], links.last_seen[is_new]
    looks = page.times[page.times <= middle]
    found = np.histogram(first, looks)[0] if len(looks) > 1 else np.zeros(0)
    late = first > middle
    if found.sum() < LEAST_LINKS or late.sum() < LEAST_LINKS:
        return None
    rhythm = learned_rhythm(looks, found.astype(float))
    by_day = rhythm.relative.max() / rhythm.relative.min()
    name = page.url[:40]
    print(f"{name}: busiest hour {by_day:.1f} times the quietest, p = {rhythm.chance:.1e}")
    if not rhythm.is_real():
        return None
    # Until the next look a link that was shown is still there.
    after = np.append(page.times, page.until)[np.searchsorted(page.times, last, side="right")]
    rows = []
    for per_day in POLLS_PER_DAY:
        for life in LIFE_HOURS:
            shares = [
                np.mean(
                    [
                        earned(
                            first[late],
                            after[late],
                            poll_times(middle, page.until, per_day, phase / PHASES, relative),
                            life * HOUR,
                        )
                        for phase in range(PHASES)
                    ]
                )
                for relative in (np.ones(BINS), rhythm.relative)
            ]
            rows.append((per_day, life, float(shares[0]), float(shares[1])))
    return rows


def main() -> int:
    pages = [page for path in sys.argv[1:] for page in load_web(path).pages]
    results = [rows for rows in map(compare, pages) if rows]
    if not results:
        print("no hub with enough links")
        return 1
    print(f"\n{len(results)} hubs\n")
    print("| polls a day | life | equal times | equal numbers of links | difference | hubs that gain |")
    print("|---|---|---|---|---|---|")
    for row in zip(*results, strict=True):
        flat, by_hour = (np.array([each[column] for each in row]) for column in (2, 3))
        print(
            f"| {row[0][0]} | {row[0][1]:g} h | {flat.mean():.4f} | {by_hour.mean():.4f} "
            f"| {(by_hour - flat).mean():+.4f} | {np.count_nonzero(by_hour > flat)} of {len(row)} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
