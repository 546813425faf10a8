"""The experiments of the papers can be run again, and their pages say how."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(page for page in (ROOT / "docs" / "papers").glob("*.md") if page.stem != "README")
SCRIPTS = {page: Path("benchmarks", "papers", page.stem.replace("-", "_") + ".py") for page in PAGES}


def test_every_paper_has_a_page() -> None:
    assert [page.stem for page in PAGES] == ["cost", "echo", "longevity", "noisy-signals", "user-centric"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_its_command_and_shows_its_tables_and_plot(page: Path) -> None:
    text = page.read_text()
    measured = text.split("<!-- measured by ")[1].split("<!-- end -->")[0]

    assert f"python {SCRIPTS[page]} --output docs/papers" in text
    assert measured.startswith(f"python {SCRIPTS[page]} -->")
    assert "| standard error |" in measured
    assert f"]({page.stem}.svg)" in text
    assert page.with_suffix(".svg").stat().st_size < 150_000
    assert f"({page.name})" in (ROOT / "docs" / "papers" / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_quick_run_fills_the_place_of_the_tables_and_draws(page: Path, tmp_path: Path) -> None:
    copy = tmp_path / page.name
    copy.write_text("Before.\n\n<!-- measured by a command -->\nold numbers\n<!-- end -->\n\nAfter.\n")

    # Not measured: it takes two thirds more time, and the lines are those of the simulator's own tests.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    command = [sys.executable, "-W", "error", SCRIPTS[page], "--quick", "--output", tmp_path]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)

    text = copy.read_text()
    assert "old numbers" not in text
    assert text.startswith("Before.\n\n<!-- measured by a command -->\n\n")
    assert text.endswith("<!-- end -->\n\nAfter.\n")
    assert re.search(r"^\| .* \| [-+]?\d\.\d+ \|", text, re.MULTILINE)
    plot = (tmp_path / f"{page.stem}.svg").read_text()
    assert "<svg" in plot
    assert "date" not in plot
