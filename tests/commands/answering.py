"""Runs subcommands and brings back what they answer."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
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
    """Run Scrapy in a process of its own, as a user does."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "scrapy", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Answer(done.returncode, done.stdout, done.stderr)
