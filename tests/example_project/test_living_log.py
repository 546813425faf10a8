"""The site's log and its command line."""

import json
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest
from living_site.parameters import WorldParameters, characters_for
from living_site.request_log import Entry, RequestLog, read_log
from living_site.world import World

ENTRY = Entry(
    time=1.0,
    answered=1.5,
    host="127.0.0.2",
    method="GET",
    path="/",
    status=200,
    conditional=False,
    body_bytes=10,
)


@pytest.fixture
def world():
    return World(WorldParameters(seed=9, characters=characters_for(3), pages_per_host=3), port=4321)


def test_a_log_file_tells_what_the_site_was_and_what_was_asked(world, tmp_path):
    path = tmp_path / "log.jsonl"
    log = RequestLog(world, 1234.5, path)
    for _ in range(3):
        log.add(ENTRY)
    log.close()
    file = read_log(path)

    assert file.epoch == 1234.5
    assert file.entries == log.entries == [ENTRY] * 3
    assert file.world.parameters == world.parameters
    assert file.world.root_urls == world.root_urls


def test_a_log_is_read_up_to_its_last_full_line(world, tmp_path):
    path = tmp_path / "log.jsonl"
    log = RequestLog(world, 0.0, path)
    log.add(ENTRY)
    log.write(log.take_unwritten())
    with path.open("ab") as file:
        file.write(b'{"time": 2.0, "answ')

    assert read_log(path).entries == [ENTRY]
    log.close()


def test_a_log_without_a_first_line_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"epoch"')

    with pytest.raises(ValueError, match="no first line"):
        read_log(path)


def command(example_project, *options):
    return subprocess.Popen(
        [sys.executable, "-m", "living_site", *options],
        cwd=example_project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_its_roots_logs_and_stops_on_a_signal(example_project, tmp_path, number):
    path = tmp_path / "log.jsonl"
    options = ["--port", "0", "--hosts", "3", "--seed", "4", "--pages-per-host", "4", "--log", str(path)]
    with command(example_project, *options) as process:
        roots = [process.stdout.readline().strip() for _ in range(3)]
        summary = process.stdout.readline()
        with urlopen(f"{roots[0]}articles/1") as response:
            page = response.read()
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)

    assert process.returncode == 0
    assert (output, errors) == ("", "")
    assert "12 documents on 3 hosts" in summary
    assert b"Articles 1" in page
    log = read_log(path)
    assert log.world.root_urls == roots
    assert log.world.parameters.seed == 4
    assert [(entry.path, entry.status) for entry in log.entries] == [("/articles/1", 200)]
    assert json.loads(path.read_text().splitlines()[0])["epoch"] == log.epoch


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--hosts", "0"], 2, "at least one host"),
        (["--lie-share", "2"], 2, "lie_share must be between 0 and 1"),
        (["--characters", "polite"], 2, "--characters"),
        (["--port", "0", "--log", "/nowhere/log.jsonl"], 1, "/nowhere/log.jsonl"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(example_project, options, code, message):
    with command(example_project, *options) as process:
        _, errors = process.communicate(timeout=60)

    assert process.returncode == code
    assert message in errors.splitlines()[-1]


def test_the_command_stops_by_itself_when_told_how_long_to_run(example_project):
    with command(example_project, "--port", "0", "--hosts", "1", "--seconds", "0.1") as process:
        output, _ = process.communicate(timeout=60)

    assert process.returncode == 0
    assert output.startswith("http://127.0.0.2:")
