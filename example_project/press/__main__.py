"""`python -m press`: run the press until it is interrupted."""

import argparse
import signal
import sys
import threading
from dataclasses import fields
from pathlib import Path

from press.clicks import csv_lines, drawn_clicks
from press.parameters import PressParameters
from press.profit import captured_profit
from press.running import RunningPress
from press.world import DEFAULT_PORT

NUMBERS = fields(PressParameters)


def main(arguments: list[str] | None = None) -> int:
    """Run the press, print its front pages once it is ready, and at the end what a crawl has earned."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        parameters = PressParameters(**{field.name: getattr(options, field.name) for field in NUMBERS})
    except ValueError as error:
        parser.error(str(error))
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        with RunningPress(parameters, port=options.port, log_path=options.log) as site:
            print(*site.root_urls, sep="\n", flush=True)
            _live(site, stop, options.clicks)
            share = captured_profit(site.world, site.log.entries, 0.0, site.now())
            print(f"profit: {share:.4f} of that of fetching every story at once")
    except OSError as error:
        print(f"press: {error}", file=sys.stderr)
        return 1
    return 0


def _live(site: RunningPress, stop: threading.Event, path: Path | None) -> None:
    """Write clicks as they happen, until told to stop or nothing appears any more."""
    clicks = drawn_clicks(site.world) if path else None
    told = 0.0
    while site.is_serving and site.now() < site.world.parameters.seconds and not stop.wait(0.2):
        if path is not None and clicks is not None:
            now = site.now()
            with path.open("a") as file:
                file.writelines(csv_lines(site.world, clicks, site.epoch, told, now))
            told = now


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m press", description="A web of newspapers.")
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help="port of all hosts (%(default)s); 0 for any"
    )
    parser.add_argument("--log", type=Path, metavar="FILE", help="write every request to this file")
    parser.add_argument("--clicks", type=Path, metavar="FILE", help="append clicks to this CSV file")
    for field in NUMBERS:
        option, default = f"--{field.name.replace('_', '-')}", field.default
        parser.add_argument(option, type=type(default), default=default, help="%(default)s")
    return parser


if __name__ == "__main__":
    sys.exit(main())
