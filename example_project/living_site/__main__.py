"""`python -m living_site`: run the living site until it is interrupted."""

import argparse
import signal
import sys
import threading
from dataclasses import fields
from pathlib import Path

from living_site.parameters import Character, WorldParameters, characters_for
from living_site.running import RunningSite
from living_site.world import DEFAULT_PORT

NUMBERS = [field for field in fields(WorldParameters) if field.name != "characters"]


def main(arguments: list[str] | None = None) -> int:
    """Run the site, print its root URLs once it is ready, and return the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        characters = options.characters or characters_for(options.hosts)
        numbers = {field.name: getattr(options, field.name) for field in NUMBERS}
        parameters = WorldParameters(characters=characters, **numbers)
    except ValueError as error:
        parser.error(str(error))
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        with RunningSite(parameters, port=options.port, log_path=options.log) as site:
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
