"""`python -m living_site`: run the living site until it is interrupted."""

import argparse
import json
import signal
import sys
import threading
from dataclasses import asdict, fields
from pathlib import Path

from living_site.parameters import Character, Manner, WorldParameters, characters_for
from living_site.running import RunningSite
from living_site.sayings import announcing_hosts, signal_truth
from living_site.world import DEFAULT_PORT, World

NUMBERS = [field for field in fields(WorldParameters) if field.name not in ("characters", "sitemaps")]


def main(arguments: list[str] | None = None) -> int:
    """Run the site, print its root URLs once it is ready, and return the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        characters = options.characters or characters_for(options.hosts)
        numbers = {field.name: getattr(options, field.name) for field in NUMBERS}
        parameters = WorldParameters(characters=characters, sitemaps=options.sitemaps, **numbers)
    except ValueError as error:
        parser.error(str(error))
    if options.signal_truth is not None:
        print_signal_truth(World(parameters, options.port), options.signal_truth)
        return 0
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        with RunningSite(
            parameters,
            port=options.port,
            log_path=options.log,
            with_hub=options.websub,
            indexnow_url=options.indexnow,
        ) as site:
            print(*site.root_urls, sep="\n")
            print(
                f"{len(site.world.documents)} documents on {len(site.root_urls)} hosts,"
                f" {site.world.total_change_rate:.1f} changes per second",
                flush=True,
            )
            # A wait without a limit would not be interrupted by Ctrl-C on Windows.
            while site.is_serving and not stop.wait(0.2):
                if options.seconds is not None and site.now() >= options.seconds:
                    break
    except OSError as error:
        print(f"living_site: {error}", file=sys.stderr)
        return 1
    return 0


def print_signal_truth(world: World, seconds: float) -> None:
    """Print a JSON object for each announcing host: how true its announcements are, up to a time."""
    for host in announcing_hosts(world):
        truth = signal_truth(world, host, 0.0, seconds)
        told = {"host": host.address, "manner": host.manner, **asdict(truth)}
        ratios = {"precision": truth.precision, "recall": truth.recall}
        print(json.dumps(told | {name: None if ratio != ratio else ratio for name, ratio in ratios.items()}))


def _parser() -> argparse.ArgumentParser:
    """Return the parser of the command line: one option for each number of a world, and a few more."""
    parser = argparse.ArgumentParser(
        prog="python -m living_site", description="A web that changes by itself."
    )
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help="port of all hosts (%(default)s); 0 for any"
    )
    parser.add_argument("--hosts", type=int, default=24, help="number of hosts (%(default)s)")
    parser.add_argument(
        "--characters",
        type=lambda text: tuple(map(Character, text.split(","))),
        help=f"instead of --hosts, the character of each host, separated by commas: {', '.join(Character)}",
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="write every request to this JSON Lines file"
    )
    parser.add_argument(
        "--sitemaps",
        type=lambda text: tuple(map(Manner, text.split(","))),
        default=(Manner.PERFECT,),
        help=f"how announcing hosts announce changes, in turn, separated by commas: {', '.join(Manner)}",
    )
    parser.add_argument("--websub", action="store_true", help="have a hub that sends changes to subscribers")
    parser.add_argument(
        "--indexnow",
        metavar="URL",
        default="",
        help="submit the changes of announcing hosts to this endpoint",
    )
    parser.add_argument(
        "--signal-truth",
        type=float,
        metavar="SECONDS",
        help="print how true announcements are from the start up to this time, and end",
    )
    parser.add_argument("--seconds", type=float, help="stop after this time")
    for field in NUMBERS:
        parser.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=type(field.default),
            default=field.default,
            help="%(default)s",
        )
    return parser


if __name__ == "__main__":
    sys.exit(main())
