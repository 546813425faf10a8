"""Histories of files in real git repositories."""

import os
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_freshness.errors import TraceError
from scrapy_freshness.simulator.git_history import git_versions, mended_times
from scrapy_freshness.simulator.trace import Kind
from scrapy_freshness.simulator.trace_io import read_trace, write_trace

HOUR = 3600
START = 1_600_000_000


class Repository:
    """A git repository that is written to hour by hour."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now = START
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch", "main")

    def git(self, *arguments: str) -> None:
        date = f"{self.now} +0000"
        who = {f"GIT_{role}_{what}": "x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        subprocess.run(
            ["git", "-C", str(self.path), *arguments],
            check=True,
            capture_output=True,
            env={**os.environ, **who, **settings, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date},
        )

    def commit(self, after: int = HOUR, /, **files: bytes | str | None) -> None:
        """Write or remove files (a double underscore in their name is a dot) and commit them."""
        self.now += after
        for name, content in files.items():
            file = self.path / name.replace("__", ".")
            if content is None:
                file.unlink()
            else:
                file.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "looked")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "pages")


def history(repository: Repository, pattern: str) -> list[tuple[str, float, str, str | None]]:
    """Page, hours since the start, kind and text of all versions."""
    return [
        (version.page, (version.at - START) / HOUR, version.kind.value, version.text)
        for version in git_versions(repository.path, pattern)
    ]


def test_every_commit_that_touches_a_file_is_a_version(repository: Repository) -> None:
    repository.commit(a__txt="one")
    repository.commit(b__txt="another file")
    repository.commit(a__txt="two")
    repository.commit(a__txt=None)
    repository.commit(a__txt="one")

    assert history(repository, "a.txt") == [
        ("pages:a.txt", 1, "first", "one"),
        ("pages:a.txt", 3, "change", "two"),
        ("pages:a.txt", 4, "gone", None),
        ("pages:a.txt", 5, "first", "one"),
    ]


def test_a_glob_and_a_folder_match_many_files(repository: Repository) -> None:
    folder = repository.path / "deep" / "er"
    folder.mkdir(parents=True)
    (folder / "a b.txt").write_text("x")
    (folder / "Käse.txt").write_text("y")
    repository.commit(a__txt="z", b__md="w")

    names = ["pages:a.txt", "pages:deep/er/Käse.txt", "pages:deep/er/a b.txt"]
    assert [page for page, *_ in history(repository, "*.txt")] == names
    assert [page for page, *_ in history(repository, "deep")] == names[1:]


def test_html_is_its_visible_text_and_what_else_changes_is_noise(repository: Repository) -> None:
    repository.commit(a__html="<p>It rains. And <b>rains</b>.</p><script>id = 1</script>")
    repository.commit(a__html="<p>It rains. And <i>rains</i>.</p><script>id = 2</script>")
    repository.commit(a__html="<p>It shines.</p>")

    assert history(repository, "a.html") == [
        ("pages:a.html", 1, "first", "It rains.\nAnd rains ."),
        ("pages:a.html", 2, "noise", "It rains.\nAnd rains ."),
        ("pages:a.html", 3, "change", "It shines."),
    ]


def test_a_binary_file_is_known_by_its_hash(repository: Repository) -> None:
    repository.commit(a__bin=b"\0one")
    repository.commit(a__bin=b"\0two")
    (_, _, _, one), (_, _, kind, two) = history(repository, "a.bin")

    assert kind == "change"
    assert one != two
    assert one is not None
    assert len(one) == 40


def test_text_that_is_not_utf_8_is_read_all_the_same(repository: Repository) -> None:
    repository.commit(a__txt=b"K\xe4se")

    assert history(repository, "a.txt")[0][3] == "K\ufffdse"


def test_a_branch_is_seen_when_it_is_merged(repository: Repository) -> None:
    repository.commit(a__txt="one")
    repository.git("checkout", "--quiet", "-b", "side")
    repository.commit(a__txt="two")
    repository.commit(a__txt="three")
    repository.git("checkout", "--quiet", "main")
    repository.commit(b__txt="meanwhile")
    repository.now += HOUR
    repository.git("merge", "--quiet", "--no-ff", "--message", "merge", "side")

    assert [(at, text) for _, at, _, text in history(repository, "a.txt")] == [(1, "one"), (5, "three")]


def test_a_renamed_file_is_gone_and_another_one_is_there(repository: Repository) -> None:
    repository.commit(a__txt="a text that is long enough to be recognised")
    repository.now += HOUR
    repository.git("mv", "a.txt", "b.txt")
    repository.git("commit", "--quiet", "--message", "renamed")

    assert [each[:3] for each in history(repository, "*")] == [
        ("pages:a.txt", 1, "first"),
        ("pages:a.txt", 2, "gone"),
        ("pages:b.txt", 2, "first"),
    ]


def test_a_file_that_only_became_executable_is_the_same_version(repository: Repository) -> None:
    repository.commit(a__txt="one")
    repository.git("update-index", "--chmod=+x", "a.txt")
    repository.now += HOUR
    repository.git("commit", "--quiet", "--message", "mode")

    assert len(history(repository, "a.txt")) == 1


def test_a_sub_module_is_no_file(repository: Repository) -> None:
    repository.commit(a__txt="one")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    repository.git("commit", "--quiet", "--message", "module")

    assert [page for page, *_ in history(repository, "*")] == ["pages:a.txt"]


def test_a_clock_that_was_wrong_for_one_commit_spoils_no_other(repository: Repository) -> None:
    repository.commit(a__txt="one")
    repository.commit(a__txt="two")
    repository.commit(1000 * HOUR, a__txt="three")
    repository.commit(-999 * HOUR, a__txt="four")
    repository.commit(-100 * HOUR, a__txt="five")
    repository.commit(101 * HOUR, a__txt="six")

    hours = [at for _, at, _, _ in history(repository, "a.txt")]
    assert hours == pytest.approx([1, 2, 2, 3, 3, 4], abs=0.01)
    assert all(before < after for before, after in pairwise(hours))


@given(times=st.lists(st.integers(0, 50), max_size=20))
def test_mended_times_ascend_and_believe_as_many_as_can_be(times: list[int]) -> None:
    mended = mended_times(times)
    longest = [1] * len(times)  # series that ends here, by trying all predecessors
    for place, time in enumerate(times):
        before = [longest[other] for other in range(place) if times[other] <= time]
        longest[place] = 1 + max(before, default=0)

    assert mended == sorted(mended)
    assert sum(a == b for a, b in zip(times, mended, strict=True)) >= max(longest, default=0)


@given(times=st.lists(st.integers(0, 50), max_size=20).map(sorted))
def test_times_that_ascend_need_no_mending(times: list[int]) -> None:
    assert mended_times(times) == times


def test_a_history_can_be_written_as_a_trace(repository: Repository, tmp_path: Path) -> None:
    repository.commit(a__txt="one\ntwo")
    repository.commit(a__txt="one\nthree", b__txt="x")
    versions = list(git_versions(repository.path, "*.txt"))
    write_trace(tmp_path / "trace.jsonl.gz", versions)

    assert list(read_trace(tmp_path / "trace.jsonl.gz")) == versions
    assert {version.kind for version in versions} == {Kind.FIRST, Kind.CHANGE}


def test_the_repository_of_the_caller_does_not_matter(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a hook of git, which runs with such variables."""
    repository.commit(a__txt="one")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")

    assert len(history(repository, "a.txt")) == 1


def test_settings_of_the_user_do_not_matter(repository: Repository) -> None:
    repository.commit(a__txt="one")
    for setting in ("log.showRoot=false", "log.date=iso", "diff.renames=copies", "core.quotePath=true"):
        repository.git("config", *setting.split("="))

    assert len(history(repository, "a.txt")) == 1


def error_of(path: Path, pattern: str) -> str:
    with pytest.raises(TraceError) as caught:
        list(git_versions(path, pattern))
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_no_repository_is_one_line(tmp_path: Path) -> None:
    assert "not a git repository" in error_of(tmp_path, "*")
    assert "No such file or directory" in error_of(tmp_path / "nowhere", "*")


def test_a_pattern_that_matches_nothing_is_one_line(repository: Repository) -> None:
    repository.commit(a__txt="one")

    assert error_of(repository.path, "*.html") == (
        f"no commit of {repository.path} has a file that matches '*.html'"
    )
    assert "outside repository" in error_of(repository.path, "../a.txt")


def test_a_repository_without_commits_is_one_line(repository: Repository) -> None:
    assert "does not have any commits yet" in error_of(repository.path, "*")


def test_a_machine_without_git_is_one_line(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    assert error_of(repository.path, "*") == "git is not installed, or not on the PATH"


def test_a_blob_that_git_has_lost_is_one_line(repository: Repository) -> None:
    repository.commit(a__txt="one")
    for file in (repository.path / ".git" / "objects").rglob("*"):
        if (
            file.is_file()
            and b"blob"
            in subprocess.run(
                ["git", "-C", str(repository.path), "cat-file", "-t", file.parent.name + file.name],
                capture_output=True,
                check=False,
            ).stdout
        ):
            file.chmod(0o600)
            file.unlink()

    assert "git has lost object" in error_of(repository.path, "a.txt")
