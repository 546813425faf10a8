"""Signals on the living site: is what is learned of them true, and are copies fresher for it?

For each manner in which a host announces its changes there is a site of 600 documents. Each is crawled by
policies that listen to signals and by `greedy`, which does not, with the same budget, polls included. Then
what was learned of the host's sitemaps is compared with the truth, which the site knows: how many of its
sayings are true, and how many of its changes it tells of; and, of the changes that visits found, how many
the crawler could have heard of before (from the changes and the log of requests: sitemaps are polled now and
then, and a change that a visit finds before the next poll was not heard). Freshness is measured by the log,
too.

Most of the runs are on a manual clock: the same planner, the same sitemaps, no HTTP. Live runs (--live) are
crawls by Scrapy over HTTP, all sites at the same time. With --kept, what was measured is kept in a file, and
not measured again.

    python benchmarks/living_signals.py [--seeds 10] [--first-seed 201] [--seconds 900] [--kept FILE]
    python benchmarks/living_signals.py --live --seeds 1 --seconds 450 [--manner perfect --policy greedy-ncis]
"""

import argparse
import pickle
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

sys.path.insert(0, str(Path(__file__).parent.parent / "example_project"))

from experiment import LiveCrawl
from living_site.announcements import SITEMAPS
from living_site.freshness import document_fetches, mean_freshness
from living_site.hearing import requests_by_page, truth_as_heard
from living_site.parameters import Character, Manner, WorldParameters
from living_site.running import RunningSite
from living_site.sayings import SignalTruth, announcing_hosts, signal_truth
from living_site.world import World
from twin import twin_crawl

from scrapy_freshness.planning.signal_trust import SourceTrust, signal_trust
from scrapy_freshness.storage.store import Store

MANNERS = (
    Manner.PERFECT,
    Manner.PARTIAL,
    Manner.NOISY,
    Manner.DELAYED,
    Manner.STALE,
    Manner.SAME,
    Manner.NOW,
)
#: Those whose dates say something; the others are recognised, and their dates are not used.
TELLING = MANNERS[:5]
DEAF, LISTENING = "greedy", ("greedy-ncis", "holistic")
#: Fetches a second, as a share of the changes a second.
BUDGET = 0.7
BAR = 0.05


@dataclass(frozen=True)
class Result:
    """What came of one crawl of one site."""

    freshness: float
    visits: int
    polls: int
    trust: SourceTrust | None
    said: SignalTruth
    """Of what the host says."""
    heard: SignalTruth
    """Of what the crawler could hear."""


#: Of each manner and policy, one for each seed.
Results = dict[tuple[Manner, str], list[Result]]
#: By manner, policy, seed and seconds, and whether it was live.
Kept = dict[tuple[Manner, str, int, float, bool], Result]


def world_parameters(manner: Manner, seed: int) -> WorldParameters:
    """A site of one host."""
    return WorldParameters(
        seed=seed,
        characters=(Character.ANNOUNCING,),
        pages_per_host=600,
        slowest_change_rate=0.0005,
        fastest_change_rate=0.05,
        sitemaps=(manner,),
        false_signal_rate=0.005,
    )


def settings_of(policy: str) -> dict[str, str]:
    """A second of the living site stands for an hour."""
    return {
        "FRESHNESS_POLICY": policy,
        "FRESHNESS_ESTIMATOR": "pooled",
        "FRESHNESS_GONE_RECHECK": "24s",
        "FRESHNESS_GONE_RECHECK_MAX": "1440s",
    }


def manual(manner: Manner, seed: int, policy: str, seconds: float) -> Result:
    """A crawl on a manual clock."""
    world = World(world_parameters(manner, seed))
    crawled = twin_crawl(world, settings_of(policy), BUDGET * world.total_change_rate, seconds)
    start = seconds / 3
    (host,) = announcing_hosts(world)
    return Result(
        freshness=mean_freshness(world, crawled.fetches, start, seconds),
        visits=len(crawled.fetches),
        polls=sum(len(crawled.polls.get(path, ())) for path in SITEMAPS),  # without the index, as live
        trust=crawled.trust[0] if crawled.trust else None,
        said=signal_truth(world, host, 0.0, seconds),
        heard=truth_as_heard(world, host, crawled.visits(), crawled.polls),
    )


def live(
    cases: Collection[tuple[Manner, str]], seed: int, seconds: float
) -> Iterator[tuple[Manner, str, Result]]:
    """Crawls of all sites by all policies at the same time, over HTTP."""
    with ExitStack() as stack:
        running: dict[tuple[Manner, str], tuple[RunningSite, LiveCrawl]] = {}
        for manner, policy in cases:
            site = stack.enter_context(RunningSite(world_parameters(manner, seed)))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            rate = BUDGET * site.world.total_change_rate
            crawl = LiveCrawl(
                folder,
                site_url=site.root_urls[0],
                policy=policy,
                per_second=rate,
                settings=settings_of(policy),
            )
            running[manner, policy] = site, stack.enter_context(crawl)
        while any(site.now() < seconds for site, _ in running.values()):
            time.sleep(0.5)
            if not all(crawl.is_running for _, crawl in running.values()):
                raise RuntimeError("a crawl ended by itself")
        for _, crawl in running.values():
            crawl.stop()
        for (manner, policy), (site, crawl) in running.items():
            yield manner, policy, _measured(site, crawl, seconds)


def _measured(site: RunningSite, crawl: LiveCrawl, seconds: float) -> Result:
    world = site.world
    (host,) = announcing_hosts(world)
    entries = [entry for entry in site.log.entries if entry.answered <= seconds]
    visits, polls = requests_by_page(world, host, entries)
    with Store.open(crawl.database_url) as store:
        trust = signal_trust(store.load_groups("everything"))
    return Result(
        freshness=mean_freshness(world, document_fetches(world, entries), seconds / 3, seconds),
        visits=sum(map(len, visits.values())),
        polls=sum(map(len, polls.values())),
        trust=trust[0] if trust else None,
        said=signal_truth(world, host, 0.0, seconds),
        heard=truth_as_heard(world, host, visits, polls),
    )


def standard_error(numbers: list[float]) -> float:
    return stdev(numbers) / len(numbers) ** 0.5 if len(numbers) > 1 else float("nan")


def verdict(is_good: bool) -> str:
    return "PASS" if is_good else "FAIL"


def manners_in(results: Results) -> list[Manner]:
    return list(dict.fromkeys(manner for manner, _ in results))


def print_trust(results: Results, policy: str) -> bool:
    """Learned precision and recall next to the truth; returns whether they are as true as they should be."""
    print(
        f"\n{policy}: learned next to the truth (standard error of the mean difference); mean absolute error,"
    )
    print(f"which is to be at most {BAR}, and share of the runs within that")
    print(f"{'':<24}{'precision':<53}recall")
    print(f"{'manner':<9}{'visits':>7}{'polls':>6}", end="  ")
    heading = f"{'said':>6}{'heard':>7}{'learned':>8}{'':>9}{'error':>7}{'within':>8}"
    print(heading, heading, sep=f"{'':>8}")
    passes = True
    for manner in manners_in(results):
        found = results[manner, policy]
        row = f"{manner:<9}{mean(r.visits for r in found):>7.0f}{mean(r.polls for r in found):>6.0f}  "
        heard = [(r, r.trust) for r in found if r.trust is not None]
        if manner not in TELLING or not heard:
            signals = sum(trust.signals for _, trust in heard)
            is_good = manner not in TELLING and not signals
            passes &= is_good
            print(f"{row}dates are not used: {signals} signals in {len(found)} runs {verdict(is_good)}")
            continue
        for name in ("precision", "recall"):
            said, in_time, learned = (
                [getattr(r.said, name) for r, _ in heard],
                [getattr(r.heard, name) for r, _ in heard],
                [getattr(trust, name).value for _, trust in heard],
            )
            off = [one - other for one, other in zip(learned, said, strict=True)]
            errors = [abs(each) for each in off]
            is_good = mean(errors) <= BAR
            passes &= is_good
            row += f"{mean(said):>6.3f}{mean(in_time):>7.3f}{mean(learned):>8.3f} ({standard_error(off):.4f})"
            row += f"{mean(errors):>7.3f}{mean(error <= BAR for error in errors):>8.0%} {verdict(is_good)}   "
        print(row)
    return passes


def print_freshness(results: Results) -> bool:
    """Freshness against that of the policy that does not listen; returns whether listening does no harm."""
    listening = [policy for policy in LISTENING if (manners_in(results)[0], policy) in results]
    print(f"\nfreshness      {DEAF}", "".join(f"{policy + ' - ' + DEAF:>34}" for policy in listening))
    passes = True
    for manner in manners_in(results):
        deaf = results[manner, DEAF]
        row = f"{manner:<14} {mean(r.freshness for r in deaf):.4f}"
        for policy in listening:
            gains = [
                heard.freshness - not_heard.freshness
                for heard, not_heard in zip(results[manner, policy], deaf, strict=True)
            ]
            row += f"{mean(gains):>+20.4f}"
            if len(gains) == 1:
                row += " one seed     "
                continue
            error = standard_error(gains)
            is_good = mean(gains) >= (2 * error if manner in TELLING else -2 * error)
            passes &= is_good
            row += f" ({error:.4f}) {verdict(is_good)}"
        print(row)
    return passes


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=201)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--live", action="store_true", help="real crawls over HTTP")
    parser.add_argument("--manner", action="append", choices=MANNERS, help="only this; may be repeated")
    parser.add_argument("--policy", action="append", choices=LISTENING, help="only this; may be repeated")
    parser.add_argument("--kept", type=Path, help="a file with what was measured before")
    options = parser.parse_args()
    policies = options.policy or LISTENING
    results: Results = {
        (Manner(manner), policy): [] for manner in options.manner or MANNERS for policy in (DEAF, *policies)
    }
    kept: Kept = {}
    if options.kept and options.kept.exists():
        kept = pickle.loads(options.kept.read_bytes())
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        keys = {case: (*case, seed, options.seconds, options.live) for case in results}
        missing = [case for case, key in keys.items() if key not in kept]
        if options.live and missing:
            for manner, policy, result in live(missing, seed, options.seconds):
                kept[keys[manner, policy]] = result
        elif missing:
            kept |= {keys[case]: manual(case[0], seed, case[1], options.seconds) for case in missing}
        for case, key in keys.items():
            results[case].append(kept[key])
        if options.kept and missing:
            options.kept.write_bytes(pickle.dumps(kept))
        print(f"seed {seed} done", file=sys.stderr, flush=True)
    passes = all([*(print_trust(results, policy) for policy in policies), print_freshness(results)])
    return int(not passes)


if __name__ == "__main__":
    sys.exit(main())
