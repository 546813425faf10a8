"""`replay`: policies on recorded histories, as tables, JSON and figures, and what it refuses."""

import gzip
import importlib.util
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from answering import Answer, scrapy
from small_web import NOW, page

from scrapy_freshness.model import Batch, Outcome, VisitRecord
from scrapy_freshness.simulator.trace import Kind, Link, Version
from scrapy_freshness.simulator.trace_io import write_trace
from scrapy_freshness.storage.store import Store

DAY = 86400.0
POLICIES = "greedy,uniform,lds,optimum,fixed,nutch-adaptive"
MEASURES = {"freshness", "fragment_freshness", "mean_age_seconds", "wasted_fetches"}
OF_LINKS = {"new_links_found", "link_delay_seconds_p50", "link_delay_seconds_p90", "profit"}

Replay = Callable[..., Answer]


def documents(rng: np.random.Generator, source: str = "a", first_day: float = 0.0) -> list[Version]:
    """Ten pages for twenty days: some change daily, others hardly ever."""
    versions = []
    for place in range(10):
        changes = rng.uniform(0, 20, rng.poisson(30 if place < 5 else 1)).tolist()
        for number, at in enumerate(sorted([0.0, *changes, 20.0])):
            text = f"version {number} of page {place}, all that there is to read"
            versions.append(
                Version(page=f"{source}:{place}", at=DAY * (first_day + at), kind=Kind.CHANGE, lines=(text,))
            )
    return versions


def hubs(rng: np.random.Generator) -> list[Version]:
    """Two hubs for twenty days."""
    versions = []
    for hub, per_day in enumerate((1, 10)):
        times = [0.0, *np.sort(rng.uniform(0, 20, rng.poisson(20 * per_day))).tolist(), 20.0]
        for number, at in enumerate(times):
            links = tuple(Link(f"http://x/{hub}/{n}") for n in range(number, number + 5))
            versions.append(Version(page=f"h:{hub}", at=DAY * at, kind=Kind.CHANGE, links=links))
    return versions


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trace of documents and one of hubs."""
    folder = tmp_path_factory.mktemp("traces")
    write_trace(folder / "pages.jsonl.gz", documents(np.random.default_rng(1)))
    write_trace(folder / "hubs.jsonl.zst", hubs(np.random.default_rng(2)))
    return folder


@pytest.fixture
def replay(freshness: Callable[..., Answer], sqlite_url: str) -> Replay:
    """Runs the command; there is no database, and none is needed."""

    def run(*arguments: str | Path) -> Answer:
        return freshness("replay", *map(str, arguments), url=sqlite_url)

    return run


def test_there_is_one_object_for_each_trace_budget_and_policy(replay: Replay, traces: Path) -> None:
    pages, links = traces / "pages.jsonl.gz", traces / "hubs.jsonl.zst"
    options = ("--budget", "5/day,20/day", "--learn", "--pacing", "rate", "--json")
    answer = replay(pages, links, "--policy", POLICIES, *options)
    rows = answer.json

    assert [(row["trace"], row["budget_per_day"], row["policy"]) for row in rows] == [
        (str(trace), budget, policy)
        for trace in (pages, links)
        for budget in (5.0, 20.0)
        for policy in POLICIES.split(",")
    ]
    assert all(row["learn"] for row in rows)
    for row in rows:
        assert set(row) >= MEASURES
        assert set(row) >= OF_LINKS if row["trace"] == str(links) else not set(row) & OF_LINKS
        if row["policy"] != "optimum":
            assert row["fetches"] == pytest.approx(20 * row["budget_per_day"], rel=0.1)
            assert 0 < row["freshness"] < 1
    assert (answer.exit_code, answer.err) == (0, "")


def test_policies_may_be_written_as_the_papers_write_them(replay: Replay, traces: Path) -> None:
    answer = replay(traces / "pages.jsonl.gz", "--policy", "LDS,Fixed,lds", "--budget", "5/day", "--json")

    assert [row["policy"] for row in answer.json] == ["lds", "fixed"]


def test_our_policies_may_spend_the_budget_when_they_like_and_contests_begin_again(
    replay: Replay, traces: Path
) -> None:
    answer = replay(
        traces / "pages.jsonl.gz",
        *("--policy", "greedy,fixed", "--budget", "10/day", "--pacing", "price", "--phases", "2", "--json"),
    )

    assert [row["pacing"] for row in answer.json] == ["price", None]
    for row in answer.json:
        assert 190 < row["fetches"] < 204, "one of two contests begins half a day later"


def test_contests_that_begin_later_judge_most_of_what_the_warm_up_leaves(
    replay: Replay, traces: Path
) -> None:
    (row,) = replay(
        traces / "pages.jsonl.gz",
        *("--policy", "fixed", "--budget", "1/day", "--warm-up", "0.9", "--phases", "2", "--json"),
    ).json

    assert row["days"] == pytest.approx(2.0)
    assert 0 < row["freshness"] < 1


def test_who_only_promises_says_nothing_else(replay: Replay, traces: Path) -> None:
    (row,) = replay(traces / "hubs.jsonl.zst", "--policy", "optimum", "--budget", "20/day", "--json").json

    assert 0 < row["freshness"] < 1
    assert {key for key in row if row[key] is None} == {
        *("fetches", "pacing"),
        *(MEASURES | OF_LINKS) - {"freshness"},
        *(f"freshness_{each}" for each in ("stderr", "diff_stderr")),
        *(f"profit_{each}" for each in ("stderr", "diff", "diff_stderr")),
    }


def test_differences_are_those_to_the_first_policy(replay: Replay, traces: Path) -> None:
    rows = replay(
        traces / "pages.jsonl.gz", "--policy", "uniform,greedy,optimum", "--budget", "10/day", "--json"
    ).json
    first, second, promise = rows

    assert (first["freshness_diff"], first["freshness_diff_stderr"]) == (0, 0)
    assert second["freshness_diff"] == pytest.approx(second["freshness"] - first["freshness"])
    assert 0 < second["freshness_diff_stderr"] < 0.05
    assert promise["freshness_diff"] == pytest.approx(promise["freshness"] - first["freshness"])
    assert second["freshness_diff"] > 2 * second["freshness_diff_stderr"], "who knows rates is fresher"


def test_a_run_is_the_same_every_time(replay: Replay, traces: Path) -> None:
    arguments = (traces / "pages.jsonl.gz", "--policy", "greedy,fixed", "--budget", "9/day")
    for options in (["--learn", "--json"], ["--pacing", "rate"]):
        assert replay(*arguments, *options).out == replay(*arguments, *options).out


def test_rivals_are_also_replayed_as_they_are_shipped(replay: Replay, traces: Path) -> None:
    rows = replay(
        traces / "pages.jsonl.gz",
        *("--policy", "greedy,fixed,lds", "--budget", "3/day,30/day", "--unscaled", "--json"),
    ).json

    assert [(row["policy"], row["budget_per_day"], row["unscaled"]) for row in rows[6:]] == [
        ("fixed", None, True)
    ]
    assert rows[6]["fetches"] == 200, "ten pages, daily for twenty days"
    assert not any(row["unscaled"] for row in rows[:6])


def test_the_warm_up_is_not_judged(replay: Replay, traces: Path) -> None:
    arguments = (traces / "pages.jsonl.gz", "--policy", "uniform", "--budget", "10/day", "--json")
    (all_of_it,), (half,) = replay(*arguments).json, replay(*arguments, "--warm-up", "0.5").json

    assert (all_of_it["days"], all_of_it["fetches"]) == (20, 200)
    assert (half["days"], half["fetches"]) == (10, 101)


def test_sources_that_were_recorded_years_apart_are_one_contest(replay: Replay, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    write_trace(tmp_path / "far.jsonl", documents(rng) + documents(rng, "b", first_day=1000.0))
    arguments = (tmp_path / "far.jsonl", "--policy", "uniform", "--budget", "2/day", "--json")
    (together,), (apart,) = replay(*arguments).json, replay(*arguments, "--as-recorded", "--whole").json

    assert together["days"] == pytest.approx(20, abs=7)
    assert together["pages"] == 20
    assert apart["days"] == 1020


def test_the_table_is_sorted_and_the_best_is_marked(replay: Replay, traces: Path) -> None:
    answer = replay(
        traces / "pages.jsonl.gz",
        *("--policy", POLICIES, "--budget", "10/day", "--learn", "--unscaled", "--pacing", "rate"),
    )
    lines = answer.out.splitlines()
    header = lines.index(next(line for line in lines if "freshness %" in line))
    body = lines[header + 2 : header + 8]
    shares = [float(line.split("±")[0].split()[-1]) for line in body if "±" in line]

    assert lines[0] == ("pages: 10 pages for 20 d, 10 fetches a day, learning from visits")
    assert shares == sorted(shares, reverse=True)
    assert [line[0] for line in body if "optimum" not in line] == ["★", " ", " ", " ", " "]
    assert "to greedy" in lines[header]
    assert any("with the intervals that they ship" in line for line in lines)


def test_who_had_more_than_the_budget_is_marked_and_not_the_best(replay: Replay, tmp_path: Path) -> None:
    """A rule that fetches all pages in step cannot be tuned to a budget of less than a round."""
    versions = [
        Version(page=f"a:{place:02}", at=DAY * at, kind=Kind.CHANGE, lines=(str(at),))
        for place in range(30)
        for at in (0, 20)
    ]
    write_trace(tmp_path / "trace.jsonl", versions)
    options = (tmp_path / "trace.jsonl", "--policy", "uniform,fixed,cost", "--whole", "--budget")
    for budgets in ("1/day", "1/day,3/day"):
        lines = replay(*options, budgets).out.splitlines()
        (fixed,) = (line for line in lines if "fixed" in line)
        (uniform,) = (line for line in lines if "uniform" in line and "policy" not in line)
        assert "†" in fixed
        assert "★" in uniform
        assert "†" not in uniform
        assert any(line.startswith("† more than a tenth off the budget") for line in lines)


def test_a_sweep_has_a_column_for_each_budget(replay: Replay, traces: Path) -> None:
    out = replay(traces / "hubs.jsonl.zst", "--policy", "uniform,fixed", "--budget", "2/day,1/h,5/day").out

    assert "profit %" in out
    assert out.index("2/day") < out.index("5/day") < out.index("24/day")
    assert out.count("★") == 3
    assert "with the mean rates known" in out


@pytest.mark.parametrize("budget", ["10/day", "3/day,10/day,30/day"])
def test_a_figure_is_drawn(replay: Replay, traces: Path, tmp_path: Path, budget: str) -> None:
    both = (traces / "pages.jsonl.gz", traces / "hubs.jsonl.zst")
    for name in ("one.png", "one.svg", "two.svg"):
        answer = replay(
            *both, "--policy", "uniform,lds,optimum", "--budget", budget, "--plot", tmp_path / name
        )
        assert (answer.exit_code, answer.err) == (0, "")
    one, two = ((tmp_path / name).read_bytes() for name in ("one.svg", "two.svg"))

    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert one == two, "the same results are the same figure"
    for text in (b"pages", b"hubs", b"uniform", b"lds", b"profit (%)", b"freshness (%)"):
        assert b"<!-- " + text in one


def test_without_matplotlib_a_line_names_the_extra(
    replay: Replay, traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    answer = replay(
        traces / "pages.jsonl.gz", *("--policy", "fixed", "--budget", "9/day", "--plot", tmp_path / "x.png")
    )

    assert (
        refusal(answer)
        == "plots need matplotlib, which is not installed: pip install scrapy-freshness[plots]"
    )


def test_the_history_of_files_in_a_repository_is_replayed(replay: Replay, tmp_path: Path) -> None:
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = {f"GIT_{role}_{what}": "x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def git(*arguments: str, day: int = 0) -> None:
        date = f"{1_600_000_000 + day * 86400} +0000"
        subprocess.run(
            ["git", "-C", str(tmp_path), *arguments],
            check=True,
            env={**os.environ, **settings, **who, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date},
        )

    git("init", "--quiet")
    for day in range(8):
        (tmp_path / "daily.txt").write_text(f"day {day}")
        (tmp_path / "weekly.txt").write_text(f"week {day // 7}")
        (tmp_path / "other.csv").write_text(str(day))
        git("add", "--all", day=day)
        git("commit", "--quiet", "--message", "looked", day=day)
    (row,) = replay(
        "--git", tmp_path, "--path", "*.txt", "--policy", "uniform", "--budget", "4/day", "--json"
    ).json
    (everything,) = replay("--git", tmp_path, "--policy", "fixed", "--budget", "4/day", "--json").json

    assert row["trace"] == f"{tmp_path}:*.txt"
    assert (row["pages"], row["days"], row["fetches"]) == (2, 7, 28)
    assert 0.5 < row["freshness"] < 1
    assert everything["pages"] == 3


def test_a_crawl_can_be_replayed_from_its_export(
    freshness: Callable[..., Answer], replay: Replay, sqlite_url: str, tmp_path: Path
) -> None:
    trace = tmp_path / "crawl.jsonl.gz"
    pages = [page(f"http://a.example/{n}", 60.0, 0.0, page_id=n, fingerprint=n) for n in (1, 2)]
    outcomes = [Outcome.FIRST, *[Outcome.CHANGED, Outcome.UNCHANGED] * 12]
    visits = [
        VisitRecord(page_id=number, at=NOW + 3600.0 * hour, outcome=outcome, divergence=0.5)
        for hour, outcome in enumerate(outcomes)
        for number in (1, 2)
    ]
    with Store.open(sqlite_url) as store:
        store.save("news", Batch(pages=pages, visits=visits))
    freshness("export", "--trace", "--output", str(trace), url=sqlite_url)
    (row,) = replay(trace, "--policy", "uniform", "--budget", "2/h", "--json").json

    assert (row["pages"], row["fetches"]) == (2, 46)
    assert row["days"] == pytest.approx(23 / 24), "from the first version to the last"
    # Of the changes every two hours one page's are seen at once and the other's half an hour later.
    assert row["freshness"] == pytest.approx((1 + 0.75) / 2, abs=0.03)


def test_it_runs_as_a_user_runs_it(traces: Path, tmp_path: Path) -> None:
    answer = scrapy(
        *("freshness", "replay", str(traces / "pages.jsonl.gz"), "--policy", "greedy,nutch-adaptive"),
        *("--budget", "9/day", "--learn", "--json"),
        folder=tmp_path,
    )

    assert (answer.exit_code, answer.err) == (0, "")
    assert [row["policy"] for row in json.loads(answer.out)] == ["greedy", "nutch-adaptive"]
    assert list(tmp_path.iterdir()) == [], "no database was made"


def refusal(answer: Answer) -> str:
    """The one line that tells why nothing was done."""
    assert answer.exit_code == 2
    assert answer.out == ""
    (line,) = answer.err.splitlines()
    assert line.startswith("scrapy freshness: ")
    return line.removeprefix("scrapy freshness: ")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"--budget": "0/day"}, "--budget cannot be '0/day': write a rate above 0"),
        ({"--budget": "-3/day"}, "--budget cannot be '-3/day'"),
        ({"--budget": "many"}, "--budget cannot be 'many'"),
        ({"--budget": "10/fortnight"}, "--budget cannot be '10/fortnight'"),
        ({"--budget": "10/day,,"}, "--budget cannot be ''"),
        ({"--budget": "nan/day"}, "--budget cannot be 'nan/day'"),
        ({"--budget": "10"}, "--budget cannot be '10': write a rate above 0 such as \"500/day\""),
        ({"--budget": "0.001/day"}, "pages.jsonl.gz: a budget of 0.001/day makes no fetch in the 20 days"),
        ({"--budget": "1e300/s"}, "pages.jsonl.gz: a budget of 8.64e+304/day makes 1.73e+306 fetches"),
        ({"--policy": "greedy,best"}, "there is no policy 'best': choose from cost, "),
        ({"--policy": ","}, "--policy names no policy"),
        ({"--warm-up": "1"}, "--warm-up cannot be '1': write a number of at least 0 and at most 0.99"),
        ({"--warm-up": "-0.1"}, "--warm-up cannot be '-0.1'"),
        ({"--warm-up": "half"}, "--warm-up cannot be 'half'"),
        ({"--phases": "0"}, "--phases cannot be '0': write a whole number from 1 to 100"),
        ({"--policy": "fixed,user-centric", "--learn": ""}, "policy user-centric cannot learn"),
        ({"--policy": "user-centric-linear", "--learn": ""}, "policy user-centric-linear cannot learn"),
        (
            {"--plot": "figure.pdf"},
            "a plot is written to a file that ends in .png or .svg, not to 'figure.pdf'",
        ),
        (
            {"--plot": "/nowhere/figure.png"},
            "/nowhere/figure.png cannot be written: there is no folder '/nowhere'",
        ),
        ({"-s": "FRESHNESS_THRESHOLD=2"}, "FRESHNESS_THRESHOLD says nothing here"),
        ({"-s": "FRESHNESS_PARTICIPATION=0"}, "FRESHNESS_PARTICIPATION says nothing here"),
        ({"-s": "FRESHNESS_QUERY_IMPORTANCE=1"}, "FRESHNESS_QUERY_IMPORTANCE says nothing here"),
        ({"-s": "FRESHNESS_MIN_DIVERGENCE=.1"}, "FRESHNESS_MIN_DIVERGENCE says nothing here"),
        ({"--path": "*.txt"}, "--path tells which files of a repository are meant"),
        ({"--git": "/nowhere"}, "/nowhere: cannot change to '/nowhere': No such file or directory"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_one_line(
    replay: Replay, traces: Path, options: dict[str, str], reason: str
) -> None:
    given = {"--policy": "fixed", "--budget": "10/day", **options}
    answer = replay(
        traces / "pages.jsonl.gz", *(f"{name}={value}" if value else name for name, value in given.items())
    )

    assert reason in refusal(answer)


GOOD = '{"page": "a:1", "t": 5, "kind": "first", "text": "A"}\n'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", " is empty: a trace has a line for each version of a page"),
        (GOOD.encode() + b"rubbish\n", ", line 2: not JSON: Expecting value at column 1"),
        (
            GOOD.encode() + GOOD.replace("5", "4").encode(),
            ", line 2: time 4 is before 5, the time of the line",
        ),
        (GOOD.encode() + GOOD.replace("first", "odd").encode(), ", line 2: unknown kind 'odd'"),
        (b"\x00\xff\xfe", ", line 1: not UTF-8 at byte 1"),
        (gzip.compress(GOOD.encode() * 9, mtime=0)[:-12], " ends within line"),
        (gzip.compress(b"", mtime=0)[:3], " ends within line 1: the file is cut off"),
        (GOOD.encode(), ": the record has only one point in time, so that there is nothing to replay"),
    ],
    ids=str,
)
def test_traces_that_are_none_are_one_line(
    replay: Replay, tmp_path: Path, content: bytes, reason: str
) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_bytes(content)

    assert refusal(replay(trace, "--policy", "fixed", "--budget", "9/day")).startswith(f"{trace}{reason}")


def test_files_that_are_not_there_are_one_line(replay: Replay, tmp_path: Path) -> None:
    options = ("--policy", "fixed", "--budget", "9/day")

    assert refusal(replay(tmp_path / "none", *options)) == (
        f"{tmp_path / 'none'} cannot be read: No such file or directory"
    )
    assert refusal(replay(tmp_path, *options)) == f"{tmp_path} cannot be read: Is a directory"
    assert "not a git repository" in refusal(replay("--git", tmp_path, *options))
    (tmp_path / "folder.png").mkdir()
    assert refusal(replay("none", *options, "--plot", tmp_path / "folder.png")) == (
        f"{tmp_path / 'folder.png'} cannot be written: it is a folder"
    )
    assert refusal(replay(*options)) == "name a TRACE, or a repository with --git"
