"""The history of files in a git repository as recorded versions: every commit is a look of the recorder.

Only the first parents of commits are followed: what a branch did is seen when it is merged. A file that is
renamed is gone, and another one is there.
"""

import os
import re
import subprocess
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path, PurePosixPath

from scrapy_freshness.content.text import visible_text
from scrapy_freshness.errors import TraceError
from scrapy_freshness.simulator.trace import Kind, Version

Change = tuple[str, int, str | None]  #: path, time, blob; None where the file is removed

_HTML = {".html", ".htm", ".xhtml"}
_BINARY_START = 8000  # bytes in which git, too, looks for a zero
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")
_GITLINK = "160000"  # the mode of a sub-module, which is no file
_NO_BLOB = re.compile("0+")
#: Of the caller; with them git would look elsewhere than in the repository that is asked for.
_LOCATIONS = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"}


def git_versions(repository: str | Path, pattern: str) -> Iterator[Version]:
    """The versions of all files of a repository that a path, a folder or a glob matches, file by file.

    The pattern is a pathspec of git: ``*`` also matches across folders. HTML is read as its visible
    text; a binary file is known by its hash. Times are those of the commits, mended where clocks
    were wrong (:func:`mended_times`).

    Raises
    ------
    TraceError
        There is no git, no repository, or no commit with such a file.
    """
    repository = Path(repository)
    changes = _changes(repository, pattern)
    if not changes:
        raise TraceError(f"no commit of {repository} has a file that matches {pattern!r}")
    source = repository.resolve().name.replace(":", "-")
    with _blobs(repository) as read:
        for path, own in groupby(changes, key=lambda change: change[0]):
            yield from _versions(f"{source}:{path}", own, read)


def mended_times(times: Sequence[int]) -> list[int]:
    """Times of events in their known order, made to ascend.

    The longest series that ascends is believed; the others are given the time of the one before them.

    >>> mended_times([10, 20, 1_000_000, 30, 5, 40])
    [10, 20, 20, 30, 30, 40]
    """
    ends: list[int] = []  # the lowest end of a series of each length
    lengths = []  # of the longest series that ends with each time, less one
    for time in times:
        length = bisect_right(ends, time)
        ends[length : length + 1] = [time]
        lengths.append(length)
    believed: dict[int, int] = {}
    last = ends[-1] if ends else 0
    for place in range(len(times) - 1, -1, -1):
        if lengths[place] == len(ends) - 1 - len(believed) and times[place] <= last:
            believed[place] = last = times[place]
    mended = []
    for place in range(len(times)):
        last = believed.get(place, last)
        mended.append(last)
    return mended


def _changes(repository: Path, pattern: str) -> list[Change]:
    """All changes of the files that match, by path and age."""
    log = _git(
        repository,
        *("-c", "log.showRoot=true", "-c", "log.showSignature=false", "log"),
        *("--first-parent", "-m", "--reverse", "--no-renames", "--raw", "--no-abbrev", "-z"),
        *("--format=%x00commit %ct", "--", pattern),
    )
    times: list[int] = []
    found: list[tuple[str, int, str | None]] = []  # path, number of its commit, blob
    fields = iter(log.split(b"\0"))
    for field in fields:
        entry = field.strip().decode("ascii", "replace")
        if entry.startswith("commit "):
            times.append(int(entry.removeprefix("commit ")))
        elif entry.startswith(":"):
            _, mode, _, blob, _ = entry[1:].split(" ")
            path = os.fsdecode(next(fields))
            is_file = mode != _GITLINK and not _NO_BLOB.fullmatch(blob)
            found.append((path, len(times) - 1, blob if is_file else None))
    mended = mended_times(times)
    found.sort(key=lambda change: change[:2])
    return [(path, mended[number], blob) for path, number, blob in found]


def _versions(page: str, changes: Iterable[Change], read: Callable[[str], bytes]) -> Iterator[Version]:
    """The versions of one file."""
    blob_before: str | None = None
    text_before: str | None = None
    at_before = float("-inf")
    for path, time, blob in changes:
        if blob == blob_before:  # only its mode changed, or it was never a file
            continue
        at_before = at = max(float(time), at_before + 1)  # commits in the same second
        if blob is None:
            kind, text = Kind.GONE, None
        else:
            text = _text(path, blob, read(blob))
            kind = Kind.FIRST if text_before is None else Kind.NOISE if text == text_before else Kind.CHANGE
        yield Version(page=page, at=at, kind=kind, lines=None if text is None else tuple(text.split("\n")))
        blob_before, text_before = blob, text


def _text(path: str, blob: str, content: bytes) -> str:
    """The text of a file; the name of its blob if it has none."""
    if b"\0" in content[:_BINARY_START]:
        return blob
    text = content.decode("utf-8", "replace")
    if PurePosixPath(path).suffix.lower() not in _HTML:
        return text
    # Visible text is one line; in sentences, versions share what did not change.
    return _SENTENCE_END.sub("\n", visible_text(text))


@contextmanager
def _blobs(repository: Path) -> Iterator[Callable[[str], bytes]]:
    """A function that reads blobs by their names."""
    command = [*_command(repository), "cat-file", "--batch"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment()
    ) as process:
        requests, answers = process.stdin, process.stdout
        assert requests is not None
        assert answers is not None

        def read(blob: str) -> bytes:
            requests.write(f"{blob}\n".encode())
            requests.flush()
            header = answers.readline().split()
            if len(header) != 3:
                raise TraceError(f"{repository}: git has lost object {blob}")
            return answers.read(int(header[2]) + 1)[:-1]

        try:
            yield read
        finally:
            requests.close()


def _git(repository: Path, *arguments: str) -> bytes:
    """What git prints."""
    try:
        done = subprocess.run(
            [*_command(repository), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=_environment(),
        )
    except FileNotFoundError as error:
        raise TraceError("git is not installed, or not on the PATH") from error
    if done.returncode:
        reasons = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
        raise TraceError(f"{repository}: {reasons[0].removeprefix('fatal: ')}")
    return done.stdout


def _command(repository: Path) -> list[str]:
    return ["git", "--no-optional-locks", "-C", str(repository)]


def _environment() -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name not in _LOCATIONS}, "LC_ALL": "C"}
