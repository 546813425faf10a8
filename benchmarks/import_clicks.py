"""How fast is an access log imported, in how much memory, and does it go on after `kill -9`?

A log in the Combined Log Format is generated: requests for 200,000 pages, two thirds of them for a few, from
browsers and bots, with answers of all kinds. It is imported by `scrapy freshness import clicks`, killed twice
on the way, beside two rivals in the same run: one that takes each line apart with a regular expression and
counts clicks per page in a dictionary, keeping nothing; and one that inserts each click into SQLite, a
transaction per 10,000.

    python benchmarks/import_clicks.py                    # 100 MB
    python benchmarks/import_clicks.py --megabytes 1000
    python benchmarks/import_clicks.py --megabytes 10000 --no-rivals
    python benchmarks/import_clicks.py --megabytes 10000 --pipe   # never on disk
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from scrapy_freshness.commands.importing import number_of
from scrapy_freshness.model import Batch, PageKind, PageRecord
from scrapy_freshness.storage.store import Store

SITE = "https://www.example.com"
START = 1_782_864_000  # 2026-07-01: ten gigabytes end in the past, as what has not happened yet is refused
N_PAGES, N_SOURCES = 200_000, 500
LINES_A_DAY = 400_000
BROWSER = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0"
AGENTS = [
    *(f"{BROWSER.format(version)} Safari/537.36" for version in range(90, 140)),
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
]
STATUS = [200] * 16 + [304, 304, 404, 301]


def path_of(page: int) -> str:
    return f"/section-{page % 97}/{page}/the-title-of-a-page.html"


def log_lines(n_bytes: int, seed: int = 1) -> Iterator[bytes]:
    """Blocks of a log; the same for the same seed. After some 100 MB the same requests come a day later."""
    rng = random.Random(seed)
    written, day = 0, 0
    first_day: list[bytes] = []
    for number in range(0, LINES_A_DAY, 2_000):
        if written >= n_bytes:
            return
        first_day.append("".join(log_line(number + n, rng) for n in range(2_000)).encode())
        written += len(first_day[-1])
        yield first_day[-1]
    today = time.strftime("%d/%b/%Y", time.gmtime(START)).encode()
    while True:
        day += 1
        other = time.strftime("%d/%b/%Y", time.gmtime(START + 86_400 * day)).encode()
        for block in first_day:
            if written >= n_bytes:
                return
            written += len(block)
            yield block.replace(today, other)


def log_line(number: int, rng: random.Random) -> str:
    """One request; a third are for any page, one in fifty of them for one that is not known."""
    at = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(START + number * 86_400 // LINES_A_DAY))
    draw = rng.random()
    page = int(rng.random() * 1.02 * N_PAGES) if draw < 0.33 else int(rng.paretovariate(0.7))
    method, status = "POST" if draw > 0.98 else "GET", STATUS[int(draw * 1000) % 20]
    return (
        f"10.{number % 256}.{number % 199}.{number % 251} - - [{at}] "
        f'"{method} {path_of(page)} HTTP/1.1" {status} {int(draw * 90000)} "{SITE}/" '
        f'"{AGENTS[int(draw * 1e6) % len(AGENTS)]}"\n'
    )


def fill(url: str) -> None:
    """Pages that the log is about, found on sources just before it begins."""
    with Store.open(url) as store:
        first = store.next_page_id("news")
        sources = [
            PageRecord(
                page_id=first + n,
                fingerprint=number_of(f"{SITE}/hub/{n}"),
                url=f"{SITE}/hub/{n}",
                host="www.example.com",
                kind=PageKind.SOURCE,
                discovered_at=START - 86_400.0,
            )
            for n in range(N_SOURCES)
        ]
        store.save("news", Batch(pages=sources))
        for start in range(0, N_PAGES, 20_000):
            pages = [
                PageRecord(
                    page_id=first + N_SOURCES + n,
                    fingerprint=number_of(SITE + path_of(n)),
                    url=SITE + path_of(n),
                    host="www.example.com",
                    discovered_at=START + n * 0.1,
                    found_on=first + n % N_SOURCES,
                )
                for n in range(start, start + 20_000)
            ]
            store.save("news", Batch(pages=pages))


def import_command(url: str, name: str) -> list[str]:
    command = "from scrapy.cmdline import execute; execute()"
    arguments = [
        "scrapy",
        "freshness",
        "import",
        "clicks",
        name,
        "--base-url",
        SITE,
        "--json",
        "--database",
        url,
    ]
    return [sys.executable, "-c", f"import sys; sys.argv = {arguments!r}; {command}"]


def measured(command: list[str], stdin: object = None) -> tuple[dict[str, object], float, float, float]:
    """What a process prints, its wall and CPU seconds, and the most memory it had, in MB."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE) as process:  # type: ignore[call-overload]
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    cpu = usage.ru_utime + usage.ru_stime
    if process.returncode:
        raise SystemExit(f"the import failed with exit code {process.returncode}")
    return json.loads(output), seconds, cpu, usage.ru_maxrss / 1024


def totals(path: Path) -> list[tuple[object, ...]]:
    """All that an import has written, for comparison."""
    with sqlite3.connect(path) as connection:
        tables = ("page_click", "source_click", "click_span", "waiting_click")
        rows = [row for table in tables for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")]
    connection.close()
    return rows


def killed(url: str, log: Path, database: Path, n_bytes: float) -> None:
    """Begin to import, and be killed when so much has been written."""
    with subprocess.Popen(import_command(url, str(log)), stdout=subprocess.DEVNULL) as process:
        position = 0
        while position < n_bytes and process.poll() is None:
            with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
                position = connection.execute(
                    "SELECT coalesce(max(position), 0) FROM import_file"
                ).fetchone()[0]
            connection.close()
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)


def count_with_a_regular_expression(log: Path) -> int:
    """The rival that keeps nothing: clicks per page in a dictionary."""
    line = re.compile(r'(\S+) (\S+) (\S+) \[([^\]]+)\] "(\S+) (\S+)[^"]*" (\d+) (\S+) "([^"]*)" "([^"]*)"')
    counts: dict[str, int] = {}
    with log.open(encoding="utf-8", errors="replace") as file:
        for text in file:
            found = line.match(text)
            if found and found[5] == "GET" and found[7] in ("200", "304") and "bot" not in found[10]:
                time.strptime(found[4][:20], "%d/%b/%Y:%H:%M:%S")
                counts[found[6]] = counts.get(found[6], 0) + 1
    return len(counts)


def insert_each_click(log: Path, database: Path, n_bytes: int) -> int:
    """The rival that keeps all: one row a click; stops after some bytes."""
    line = re.compile(rb'\S+ \S+ \S+ \[([^\]]+)\] "GET (\S+)[^"]*" (?:200|304) \S+ "[^"]*" "([^"]*)"')
    read = 0
    with sqlite3.connect(database) as connection, log.open("rb") as file:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE click (url TEXT, at TEXT)")
        connection.execute("CREATE INDEX ix_click ON click (url)")
        rows = []
        for text in file:
            read += len(text)
            found = line.match(text)
            if found and b"bot" not in found[3]:
                rows.append((found[2].decode(), found[1].decode()))
            if len(rows) == 10_000:
                connection.executemany("INSERT INTO click VALUES (?, ?)", rows)
                connection.commit()
                rows.clear()
            if read >= n_bytes:
                break
    connection.close()
    return read


def report(what: str, n_bytes: float, n_lines: float, seconds: float, cpu: float, memory: float) -> None:
    mega = n_bytes / 1e6
    print(
        f"{what:<44} {mega:8.0f} MB {mega / seconds:7.1f} MB/s {n_lines / seconds:10,.0f} lines/s "
        f"{mega / cpu:7.1f} MB/CPU s {memory:6.0f} MB peak"
    )


def piped(megabytes: int, folder: Path) -> None:
    url = f"sqlite:///{folder / 'piped.db'}"
    fill(url)
    generator = subprocess.Popen(
        [sys.executable, __file__, "--generate", "--megabytes", str(megabytes)], stdout=subprocess.PIPE
    )
    summary, seconds, cpu, memory = measured(import_command(url, "-"), generator.stdout)
    generator.wait()
    (file,) = summary["files"]  # type: ignore[misc]
    report("import clicks, from a pipe", file["bytes"], file["lines"], seconds, cpu, memory)
    size = (folder / "piped.db").stat().st_size / 1e6
    print(
        f"the database has {size:.0f} MB; {file['bad_lines']} bad lines; wall time includes the generator's"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--pipe", action="store_true", help="generate into a pipe; no rivals, no kills")
    parser.add_argument("--no-rivals", action="store_true", help="only ours")
    parser.add_argument("--generate", action="store_true", help="only write the log, to standard output")
    options = parser.parse_args()
    n_bytes = options.megabytes * 1_000_000
    if options.generate:
        for block in log_lines(n_bytes):
            sys.stdout.buffer.write(block)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.pipe:
            piped(options.megabytes, folder)
            return
        compare(folder, n_bytes, rivals=not options.no_rivals)


def compare(folder: Path, n_bytes: int, *, rivals: bool) -> None:
    log = folder / "access.log"
    with log.open("wb") as file:
        file.writelines(log_lines(n_bytes))
    size = log.stat().st_size
    fill(f"sqlite:///{folder / 'pages.db'}")
    url = f"sqlite:///{folder / 'whole.db'}"
    shutil.copy(folder / "pages.db", folder / "whole.db")
    summary, seconds, cpu, memory = measured(import_command(url, str(log)))
    (imported,) = summary["files"]  # type: ignore[misc]
    lines = imported["lines"]
    report("import clicks", size, lines, seconds, cpu, memory)
    assert not imported["bad_lines"], imported
    ours = size / cpu

    summary, again, cpu, memory = measured(import_command(url, str(log)))
    report("import clicks, the same file again", size, lines, again, cpu, memory)
    assert summary["files"][0]["lines"] == 0  # type: ignore[index]

    resumed_url = f"sqlite:///{folder / 'resumed.db'}"
    shutil.copy(folder / "pages.db", folder / "resumed.db")
    for share in (0.2, 0.6):
        killed(resumed_url, log, folder / "resumed.db", share * size)
    summary, rest_seconds, cpu, memory = measured(import_command(resumed_url, str(log)))
    (rest,) = summary["files"]  # type: ignore[misc]
    read = rest["bytes"] - rest["known_bytes"]
    report("import clicks, the rest after kill -9", read, rest["lines"], rest_seconds, cpu, memory)
    same = totals(folder / "whole.db") == totals(folder / "resumed.db")
    print(
        f"killed twice, gone on with after {rest['known_bytes'] / size:.0%}: "
        f"{'the same sums to the last bit' if same else 'OTHER SUMS'}"
    )

    if not rivals:
        return
    began = time.process_time()
    count_with_a_regular_expression(log)
    rival = time.process_time() - began
    report("rival: regular expression, dictionary", size, lines, rival, rival, 0)
    began = time.process_time()
    some = insert_each_click(log, folder / "rival.db", min(size, 200_000_000))
    kept = time.process_time() - began
    report("rival: a row a click in SQLite", some, lines * some / size, kept, kept, 0)
    print(
        f"per CPU second, ours reads {ours / (size / rival):.1f} and {ours / (some / kept):.1f} times as much"
    )


if __name__ == "__main__":
    main()
