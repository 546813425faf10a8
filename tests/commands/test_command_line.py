"""The commands as a user runs them: in processes of their own, inside a project and outside of one."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from answering import Answer, scrapy
from small_web import NEW, SLOW, fill, page

from scrapy_freshness.commands import SUBCOMMANDS, module_of, parse
from scrapy_freshness.model import Batch
from scrapy_freshness.storage.store import Store

COMMANDS = [
    ("status",),
    ("pages", "--limit", "1"),
    ("show", SLOW),
    ("why", SLOW),
    ("settings",),
    ("db", "check"),
    ("export",),
    ("forget", NEW, "--yes"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that keeps itself fresh, with the small web in its database."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = tutorial.settings\n")
    package = folder / "tutorial"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "settings.py").write_text(
        'BOT_NAME = "tutorial"\nADDONS = {"scrapy_freshness.Addon": 500}\nFRESHNESS_BUDGET = "3/s"\n'
    )
    fill(f"sqlite:///{folder / 'freshness.db'}")
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_subcommand_runs_inside_a_project(project: Path, command: tuple[str, ...]) -> None:
    answer = scrapy("freshness", *command, folder=project)

    assert (answer.exit_code, answer.err) == (0, "")
    assert answer.out


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_subcommand_runs_outside_a_project(tmp_path: Path, command: tuple[str, ...]) -> None:
    url = f"sqlite:///{tmp_path / 'some.db'}"
    fill(url)
    answer = scrapy("freshness", *command, "--database", url, folder=tmp_path)

    assert (answer.exit_code, answer.err) == (0, "")
    assert answer.out


def test_the_settings_of_the_project_count_and_options_override_them(project: Path) -> None:
    assert 'FRESHNESS_BUDGET = "3/s"' in scrapy("freshness", "settings", folder=project).out
    overridden = scrapy("freshness", "-s", "FRESHNESS_BUDGET=4/s", "settings", folder=project)
    assert 'FRESHNESS_BUDGET = "4/s"' in overridden.out


def test_common_options_may_come_before_the_subcommand(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'some.db'}"
    fill(url)
    answer = scrapy("freshness", "--database", url, "--json", "pages", "--limit", "1", folder=tmp_path)

    assert answer.json["total"] == 13


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_subcommand_has_help(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as stopped:
        parse(module_of(name), name, ["--help"])
    out = capsys.readouterr().out

    assert stopped.value.code == 0
    assert out.startswith(f"usage: scrapy freshness {name}")
    assert "--json" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_command_lists_its_subcommands(tmp_path: Path) -> None:
    answer = scrapy("freshness", "-h", folder=tmp_path)

    assert answer.exit_code == 0
    for name, meaning in SUBCOMMANDS.items():
        assert f"{name:<10} {meaning}" in answer.out


@pytest.mark.parametrize(
    "arguments",
    [(), ("bogus",), ("--bogus", "status"), ("status", "extra"), ("db", "adopt", "one")],
    ids=" ".join,
)
def test_wrong_usage_has_exit_code_2_and_no_traceback(project: Path, arguments: tuple[str, ...]) -> None:
    answer = scrapy("freshness", *arguments, folder=project)

    assert answer.exit_code == 2
    assert "error:" in answer.err or answer.err.startswith("scrapy freshness: ")
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("arguments", [["--visits", "few", SLOW], [], ["-s", "NONSENSE", SLOW]], ids=str)
def test_wrong_options_are_one_line_that_names_the_help(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        parse(module_of("show"), "show", arguments)

    assert stopped.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("scrapy freshness: ")
    assert err.endswith("(see `scrapy freshness show -h`)\n")
    assert len(err.splitlines()) == 1


def test_an_error_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    answer = scrapy("freshness", "status", folder=tmp_path)

    assert answer == Answer(
        1,
        "",
        "scrapy freshness: there is no database freshness.db: check the path, or crawl first\n",
    )


@pytest.mark.parametrize("arguments", ["-h", "version"])
def test_other_commands_of_scrapy_stay_light(tmp_path: Path, arguments: str) -> None:
    script = (
        "import sys\nfrom scrapy.cmdline import execute\n"
        f"try:\n    execute(['scrapy', {arguments!r}])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'sqlalchemy', 'alembic', 'rich', 'scrapy_freshness.storage'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")
    if arguments == "-h":
        assert "freshness     Look after a crawl that keeps itself fresh" in done.stdout


@pytest.mark.parametrize("command", [["export"], ["pages", "--limit", "3000"]], ids=" ".join)
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path, command: list[str]) -> None:
    url = f"sqlite:///{tmp_path / 'some.db'}"
    pages = [page(f"http://a.example/{number}", 60.0, 60.0, page_id=number) for number in range(1, 3000)]
    with Store.open(url) as store:
        store.save("big", Batch(pages=pages))
    with subprocess.Popen(
        [sys.executable, "-m", "scrapy", "freshness", *command, "--database", url],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()

        assert process.stderr.read() == ""
        assert process.wait(60) == 0


class Terminal:
    """A command on a pseudo-terminal of 80 columns."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "scrapy", "freshness", *arguments],
            cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"},
        )  # fmt: skip
        os.close(slave)
        self.text = ""

    def read_until(self, text: str | None) -> str:
        """Read until a text is there, or until the end."""
        while text is None or text not in self.text:
            try:
                part = os.read(self._master, 4096)
            except OSError:
                break
            if not part:
                break
            self.text += part.decode()
        return self.text

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def close(self) -> int:
        self.read_until(None)
        os.close(self._master)
        return self.process.wait(60)


@pytest.fixture
def terminal(tmp_path: Path) -> type[Terminal]:
    """Runs commands over the small web."""
    fill(f"sqlite:///{tmp_path / 'freshness.db'}")
    return Terminal


def test_a_terminal_gets_colours(terminal: type[Terminal], tmp_path: Path) -> None:
    status = terminal("status", folder=tmp_path)

    assert "\x1b[1mnews" in status.read_until(None)
    assert status.close() == 0


def test_a_terminal_is_safe_from_what_is_exported(terminal: type[Terminal], tmp_path: Path) -> None:
    export = terminal("export", "--format", "csv", folder=tmp_path)

    assert "\\x1b[2J" in export.read_until(None)
    assert "\x1b" not in export.text
    assert export.close() == 0


@pytest.mark.parametrize(("typed", "exit_code"), [("y\n", 0), ("n\n", 1)])
def test_a_person_is_asked_on_a_terminal(
    terminal: type[Terminal], tmp_path: Path, typed: str, exit_code: int
) -> None:
    forget = terminal("forget", "a.example", folder=tmp_path)
    forget.read_until("[y/N] ")
    forget.type(typed)

    assert forget.close() == exit_code


def test_ctrl_c_ends_quietly(terminal: type[Terminal], tmp_path: Path) -> None:
    forget = terminal("forget", "a.example", folder=tmp_path)
    forget.read_until("[y/N] ")
    time.sleep(0.1)
    forget.process.send_signal(signal.SIGINT)

    assert forget.close() == 130
    assert "Traceback" not in forget.text
