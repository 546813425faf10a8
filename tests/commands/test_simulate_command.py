"""`scrapy freshness simulate`: JSON for programs, tables and plots for people, one line for mistakes."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from answering import Answer, answer_of, scrapy

from scrapy_freshness.simulator.worlds import world_named, world_names
from scrapy_freshness.simulator.worlds.contract import option_names

Run = Callable[..., Answer]
KEYS = {
    *("world", "policy", "pages", "rate", "horizon", "seed", "repeat", "learn"),
    *("metric", "mean", "stderr", "values"),
}
QUICK = ("--pages", "15", "--rate", "8", "--horizon", "6", "--repeat", "3")


@pytest.fixture
def simulate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs the command; it needs no database."""

    def run(*arguments: str) -> Answer:
        return answer_of("simulate", *arguments, url=f"sqlite:///{tmp_path}/none.db", capsys=capsys)

    return run


def test_programs_get_an_array_with_all_that_is_needed_to_do_it_again(simulate: Run) -> None:
    answer = simulate("poisson", "--policy", "greedy,optimum", *QUICK, "--seed", "7", "--json")

    assert answer.exit_code == 0
    assert answer.err == ""
    rows = answer.json
    assert [row["policy"] for row in rows] == ["greedy", "optimum"]
    for row in rows:
        assert set(row) >= KEYS
        assert (row["world"], row["metric"], row["learn"]) == ("poisson", "accuracy", False)
        assert (row["pages"], row["rate"], row["horizon"], row["seed"], row["repeat"]) == (15, 8, 6, 7, 3)
        assert len(row["values"]) == 3
        assert row["mean"] == pytest.approx(np.mean(row["values"]))
        assert row["stderr"] == pytest.approx(np.std(row["values"], ddof=1) / np.sqrt(3))
        assert row["fetches"] == 48


def test_the_same_command_prints_the_same_and_another_seed_does_not(simulate: Run) -> None:
    arguments = ("poisson", "--policy", "greedy", *QUICK, "--json")

    assert simulate(*arguments).out == simulate(*arguments).out
    assert simulate(*arguments, "--seed", "1").json[0]["values"] != simulate(*arguments).json[0]["values"]


def test_several_sizes_are_simulated_one_after_the_other(simulate: Run) -> None:
    rows = simulate(
        "poisson", "--policy", "greedy,lds", "--pages", "10,20", "--rate", "5,10", "--horizon", "4", "--json"
    ).json

    sizes = [(row["pages"], row["rate"], row["policy"]) for row in rows]
    assert sizes == [
        (pages, rate, policy) for pages in (10, 20) for rate in (5, 10) for policy in ("greedy", "lds")
    ]


@pytest.mark.parametrize("world", world_names())
def test_every_world_can_be_simulated_as_it_is(simulate: Run, world: str) -> None:
    usual = world_named(world).usual
    scale = usual.pages / 8
    size = ("--pages", "8", "--rate", str(usual.rate / scale), "--horizon", str(usual.horizon / 10))
    answer = simulate(world, *size, "--repeat", "1", "--json")

    assert answer.exit_code == 0
    assert {row["policy"] for row in answer.json} == set(usual.policies)
    assert all(row["stderr"] is None for row in answer.json), "one web tells nothing about the spread"


def test_policies_learn_only_if_they_are_told_to(simulate: Run) -> None:
    arguments = (
        "poisson",
        "--policy",
        "greedy,optimum",
        "--pages",
        "15",
        "--rate",
        "5",
        "--horizon",
        "30",
        "--json",
    )
    known, learned = simulate(*arguments).json, simulate(*arguments, "--learn").json

    assert learned[0]["learn"] is True
    assert learned[0]["values"] != known[0]["values"]
    assert learned[1]["values"] == known[1]["values"]


def test_policies_may_be_written_as_the_papers_write_them(simulate: Run) -> None:
    rows = simulate("longevity", "--policy", "FS-S,HS-D,fs-s", *QUICK, "--json").json

    assert [row["policy"] for row in rows] == ["fs-s", "hs-d"]


def test_options_of_a_world_are_in_the_answer(simulate: Run) -> None:
    row = simulate("poisson", "--policy", "greedy", *QUICK, "--signals", "noisy", "--json").json[0]

    assert row["options"] == {"signals": "noisy"}


def test_without_participation_echo_is_that_of_the_paper(simulate: Run) -> None:
    size = ("echo", "--pages", "20", "--rate", "5", "--horizon", "3", "--repeat", "1", "--json")
    arguments = (*size, "--policy", "echo-newpages,bfs")
    usual, paper = (simulate(*arguments, *option).json for option in ((), ("--no-participation",)))

    assert paper == simulate(*arguments, "--participation", "False").json
    assert paper[0]["values"] != usual[0]["values"]
    assert paper[1]["values"] == usual[1]["values"]


def test_means_are_over_the_webs_of_which_anything_can_be_said(simulate: Run) -> None:
    arguments = ("echo", "--pages", "3", "--rate", "50", "--horizon", "2", "--policy", "echo-greedy,bfs")
    rows = simulate(*arguments, "--repeat", "4", "--json").json

    for row in rows:
        said = [value for value in row["values"] if value is not None]
        assert len(said) == 3, "one of these webs has no link"
        assert row["mean"] == pytest.approx(np.mean(said))
        assert row["stderr"] == pytest.approx(np.std(said, ddof=1) / np.sqrt(3))
    out = simulate(*arguments, "--repeat", "4").out
    assert "–" not in out
    assert f"{-abs(rows[0]['mean'] - rows[1]['mean']):+.4f}" in out


def test_people_see_the_best_first_with_paired_differences(simulate: Run) -> None:
    answer = simulate("poisson", "--policy", "uniform,optimum,greedy", *QUICK)
    lines = answer.out.splitlines()

    assert lines[0] == "poisson: 15 pages, 8 crawls per day for 6 days, 3 webs (seed 0), parameters known"
    rows = [line.split() for line in lines if line.startswith(("uniform", "optimum", "greedy"))]
    means = [float(row[1]) for row in rows]
    assert means == sorted(means, reverse=True)
    assert lines[4].count("±") == 1, "the best is not compared with itself"
    assert "-0." in lines[-4]
    assert "differences are paired" in lines[-1]


def test_tables_tell_who_makes_how_many_fetches(simulate: Run) -> None:
    size = ("--pages", "12", "--rate", "1", "--horizon", "48", "--repeat", "1")
    rows = simulate("cost", "--policy", "cost,greedy", *size, "--json").json
    fetches = {row["policy"]: row["fetches"] for row in rows}
    table = simulate("cost", "--policy", "cost,greedy", *size).out.splitlines()

    assert fetches["greedy"] == 48, "it is held to the rate"
    assert fetches["cost"] > 60, "and this one is not"
    for policy, count in fetches.items():
        assert all(line.endswith(f" {count:.0f}") for line in table if line.split()[:1] == [policy])


def test_measures_without_better_and_worse_are_not_compared(simulate: Run) -> None:
    out = simulate(
        "cost", "--policy", "fixed,optimum", "--pages", "4", "--horizon", "80", "--repeat", "2"
    ).out
    changed = out.split("changed_share")[1].splitlines()

    assert "to the best" in out.split("changed_share")[0]
    assert not any(line.count("±") > 1 for line in changed)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("atlantis",), "there is no world 'atlantis': choose one of"),
        (("poisson", "--policy", "greedy,best"), "there is no policy 'best' here: choose one of"),
        (("poisson", "--policy", ""), "there is no policy"),
        (("poisson", "--pages", "0"), "empty"),
        (("poisson", "--pages", "-5"), "empty"),
        (("poisson", "--pages", "many"), "--pages cannot be 'many'"),
        (("poisson", "--pages", "2.5"), "--pages cannot be '2.5'"),
        (("poisson", "--pages", ","), "--pages"),
        (("poisson", "--pages", ""), "--pages"),
        (("poisson", "--pages", "1000000000000"), "--pages must be at most"),
        (("poisson", "--rate", "0"), "--rate must be above 0"),
        (("poisson", "--rate", "nan"), "--rate must be above 0"),
        (("poisson", "--horizon", "-1"), "--horizon must be above 0"),
        (("poisson", "--rate", "1", "--horizon", "0.5"), "0.5 crawls"),
        (("poisson", "--repeat", "0"), "--repeat cannot be '0'"),
        (("poisson", "--repeat", ""), "--repeat cannot be ''"),
        (("poisson", "--seed", "-1"), "--seed cannot be '-1'"),
        (("poisson", "--seed", "x"), "--seed cannot be 'x'"),
        (("poisson", "--signals", "loud"), "--signals cannot be 'loud': choose one of"),
        (("poisson", "--corruption", "2"), "--corruption cannot be '2'"),
        (("poisson", "--rates", "5"), "--rates cannot be '5'"),
        (("poisson", "--rates", "5@0,7@0"), "--rates cannot be"),
        (("poisson", "--signals", "corrupted", "--learn"), "told nothing"),
        (("poisson", "--period", "24"), "--period is not an option of world poisson"),
        (("poisson", "--policy", "longevity-bounds"), "--learn"),
        (("poisson", "--policy", "greedy-ncis-approx-0"), "there is no policy 'greedy-ncis-approx-0'"),
        (("queries", "--queries", "0"), "--queries cannot be '0'"),
        (("queries", "--policy", "sbr-2"), "there is no policy 'sbr-2' here"),
        (("queries", "--scoring", "pagerank"), "--scoring cannot be 'pagerank': choose one of"),
        (("cost", "--prior", "1"), "--prior cannot be '1'"),
        (("cost", "--policy", "cost-risk-bounded", "--risk", "0", "--stale-limit", "0"), "--stale-limit"),
        (("cost", "--period", "1e300"), "--period cannot be '1e300'"),
        (("cost", "--crawl-cost", "1e308"), "--crawl-cost cannot be '1e308'"),
        (("longevity", "--pace", "slow"), "--pace cannot be 'slow'"),
        (("mixed", "--warm-up", "0.9"), "--warm-up cannot be '0.9'"),
        (("mixed", "--policy", "quota-²"), "quota-² is no quota"),
        (("mixed", "--policy", "quota-101"), "quota-101 is no quota"),
        (("echo", "--warm-up", "1"), "--warm-up cannot be '1'"),
        (("poisson", "--plot", "plot.gif"), "ends in .png or .svg"),
        (("poisson", "--plot", "/no/such/folder/plot.png"), "no folder"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_mistakes_are_one_clear_line_and_exit_code_2(
    simulate: Run, arguments: tuple[str, ...], reason: str
) -> None:
    answer = simulate(*arguments)

    assert answer.exit_code == 2
    assert answer.out == ""
    assert len(answer.err.splitlines()) == 1
    assert answer.err.startswith("scrapy freshness: ")
    assert reason in answer.err


def test_hostile_names_are_not_shown_as_they_are(simulate: Run) -> None:
    assert "\x1b" not in simulate("poisson", "--policy", "\x1b[31mred").err


def test_a_plot_without_matplotlib_is_refused_before_anything_is_simulated(
    simulate: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "matplotlib" else found(name, *rest)
    )
    answer = simulate("poisson", "--pages", "100000", "--plot", str(tmp_path / "plot.png"))

    assert answer.exit_code == 2
    assert "pip install scrapy-freshness[plots]" in answer.err
    assert not (tmp_path / "plot.png").exists()


def test_a_picture_is_drawn(simulate: Run, tmp_path: Path) -> None:
    path = tmp_path / "plot.png"
    answer = simulate("poisson", "--policy", "greedy,uniform", *QUICK, "--plot", str(path))

    assert path.read_bytes().startswith(b"\x89PNG")
    assert answer.err == f"Wrote {path}.\n"
    assert "greedy" in answer.out


@pytest.mark.parametrize("varied", [("--pages", "8,16"), ("--rate", "4,40")])
def test_a_drawing_names_all_policies_and_what_was_varied(
    simulate: Run, tmp_path: Path, varied: tuple[str, str]
) -> None:
    path = tmp_path / "plot.svg"
    others = ("--horizon", "5", "--repeat", "2", "--json", "--plot", str(path))
    rows = json.loads(simulate("poisson", "--policy", "greedy,lds", *varied, *others).out)

    assert len(rows) == 4
    ElementTree.fromstring(path.read_text())
    comments = path.read_text()
    for text in ("greedy", "lds", "crawls per day" if varied[0] == "--rate" else "pages"):
        assert f"<!-- {text}" in comments or f">{text}<" in comments


def test_the_help_names_every_option_with_its_worlds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer = scrapy("freshness", "simulate", "--help", folder=tmp_path)

    assert answer.exit_code == 0
    for world in world_names():
        assert f"{world}:" in answer.out
        for option in option_names(world_named(world)):
            assert option in answer.out


def test_it_runs_outside_of_a_project_and_a_mistake_ends_the_process_with_2(tmp_path: Path) -> None:
    fine = scrapy(
        "freshness", "simulate", "poisson", "--policy", "uniform", *QUICK, "--json", folder=tmp_path
    )
    wrong = scrapy("freshness", "simulate", "poisson", "--policy", "best", folder=tmp_path)

    assert fine.exit_code == 0
    assert fine.json[0]["policy"] == "uniform"
    assert wrong.exit_code == 2
    assert len(wrong.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [], "no database is made"


def test_settings_are_refused_because_worlds_have_options_of_their_own(simulate: Run) -> None:
    answer = simulate("poisson", "--learn", *QUICK, "-s", "FRESHNESS_ESTIMATOR=mle")

    assert answer.exit_code == 2
    assert answer.err.startswith("scrapy freshness: FRESHNESS_ESTIMATOR says nothing here")
