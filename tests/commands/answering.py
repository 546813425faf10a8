"""Runs subcommands and brings back what they answer."""

import json
import os
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from forks import FORKS
from scrapy.cmdline import execute as scrapy_command
from scrapy.settings import Settings
from small_web import NOW

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.commands import module_of, parse, run_subcommand


@dataclass(frozen=True)
class Answer:
    """What a command said, and its exit code."""

    exit_code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def answer_of(
    name: str,
    *arguments: str,
    url: str,
    capsys: pytest.CaptureFixture[str],
    settings: dict[str, Any] | None = None,
    now: float = NOW,
) -> Answer:
    """Run a subcommand in this process."""
    module = module_of(name)
    given = Settings({"FRESHNESS_DATABASE_URL": url, **(settings or {})})
    capsys.readouterr()
    exit_code = run_subcommand(module, given, parse(module, name, list(arguments)), ManualClock(now))
    return Answer(exit_code, *capsys.readouterr())


def scrapy(*arguments: str, folder: Path, **environment: str) -> Answer:
    """Run Scrapy in a process of its own, in a folder, as a user does."""
    with tempfile.TemporaryDirectory() as written:
        out, err = Path(written, "out"), Path(written, "err")
        process = FORKS.Process(target=_execute, args=(arguments, folder, environment, out, err))
        process.start()
        process.join(60)
        assert process.exitcode is not None, f"{arguments} did not end: {err.read_text()}"
        return Answer(process.exitcode, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))


def _execute(
    arguments: tuple[str, ...], folder: Path, environment: dict[str, str], out: Path, err: Path
) -> None:
    os.chdir(folder)
    os.environ.update(environment)
    warnings.simplefilter("error")
    sys.stdin = Path(os.devnull).open()  # noqa: SIM115 - it lives as long as the process
    sys.stdout, sys.stderr = out.open("w", encoding="utf-8"), err.open("w", encoding="utf-8")
    scrapy_command(["scrapy", *arguments])
