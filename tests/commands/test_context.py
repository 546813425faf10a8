"""Where the output of a command goes."""

import io
import sys
import time

import pytest
from scrapy.settings import Settings

from scrapy_freshness.clock import ManualClock
from scrapy_freshness.commands import context as context_module
from scrapy_freshness.commands.context import PIPE_WIDTH, Context, new_console, plain


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def context() -> Context:
    return Context(Settings(), clock=ManualClock())


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Makes standard error a terminal."""
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def test_quick_work_shows_no_bar(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setattr(context_module, "PATIENCE_SECONDS", 60.0)  # however busy the machine
    with context.progress("Counting", 3) as advance:
        advance(3)

    assert screen.getvalue() == ""


def test_long_work_shows_a_bar_that_goes_away(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setattr(context_module, "PATIENCE_SECONDS", 0.01)
    with context.progress("Counting", 3) as advance:
        advance(1)
        deadline = time.monotonic() + 60
        while "Counting" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.02)

    assert "Counting" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")  # the line is erased


def test_a_bar_is_only_for_terminals(
    context: Context, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context_module, "PATIENCE_SECONDS", 0.01)
    with context.progress("Counting"):
        time.sleep(0.1)

    assert capsys.readouterr().err == ""


def test_an_error_in_the_work_passes(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch)
    with pytest.raises(ZeroDivisionError), context.progress("Dividing"):
        raise ZeroDivisionError


def test_a_pipe_is_wide_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert new_console().width == 160
    monkeypatch.setenv("COLUMNS", "77")
    assert new_console().width == 77
    monkeypatch.delenv("COLUMNS")
    assert new_console().width == PIPE_WIDTH


def test_text_is_set_in_lines_but_one_line_stays_one(
    context: Context, capsys: pytest.CaptureFixture[str]
) -> None:
    context.print("word " * 100)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100
    context.say("/a/long/path" * 50)
    assert capsys.readouterr().out == "/a/long/path" * 50 + "\n"


def test_values_become_plain() -> None:
    strange = {
        "nan": float("nan"),
        "inf": float("inf"),
        1: (1, 2.5),
        "object": pytest,
        "true": True,
    }

    assert plain(strange) == {
        "nan": None,
        "inf": None,
        "1": [1, 2.5],
        "object": repr(pytest),
        "true": True,
    }
