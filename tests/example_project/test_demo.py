"""The demo: what it prints, and that it leaves nothing behind however it ends."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest


class Demo:
    """A demo whose crawl has begun to write its log; all its files are in a folder."""

    def __init__(self, project, folder, *options):
        self._folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "demo.py", *options],
            cwd=project,
            env={**os.environ, "TMPDIR": str(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # Whoever started the tests may have had this ignored (nohup), and so would the demo.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        while not any(log.stat().st_size for log in folder.glob("*/crawl.log")):
            assert self.process.poll() is None, self.process.communicate()[0]
            time.sleep(0.05)
        ((self.crawl, self.crawl_command),) = self._crawls().items()

    def end(self):
        """Wait for its end; return all it has printed."""
        try:
            output, _ = self.process.communicate(timeout=120)
        finally:
            self.process.kill()
        return output

    def has_left_nothing(self):
        """Whether its processes and files are gone; the crawl has a process group of its own."""
        for group in (self.process.pid, self.crawl):
            with pytest.raises(ProcessLookupError):
                os.killpg(group, 0)
        return not self._crawls() and not any(self._folder.iterdir())

    def _crawls(self):
        """Commands of the processes that work in the folder, by process id."""
        found = {}
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):  # it has just ended
                if str(self._folder) in (command := path.read_text(errors="replace")):
                    found[int(path.parent.name)] = command.split("\0")
        return found


def test_a_demo_tells_how_fresh_the_copy_was_and_leaves_nothing(example_project, tmp_path):
    demo = Demo(example_project, tmp_path, "--seconds", "3")
    output = demo.end()

    assert demo.process.returncode == 0, output
    for line in ("greedy: this crawl, measured", "uniform: same planner, manual clock"):
        assert re.search(rf"{line}\s*│\s*0\.\d{{4}}\s", output), output
    assert demo.has_left_nothing()
    # Should nobody be left to end it, the crawl ends itself.
    assert "CLOSESPIDER_TIMEOUT=33.0" in demo.crawl_command


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_demo_that_is_told_to_stop_leaves_nothing(example_project, tmp_path, number):
    demo = Demo(example_project, tmp_path)
    demo.process.send_signal(number)
    output = demo.end()

    assert demo.process.returncode == 0, output
    assert "Stopping" in output
    assert "Traceback" not in output
    assert demo.has_left_nothing()
