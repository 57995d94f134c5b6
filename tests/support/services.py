"""Real services on the loopback address, without Docker: PostgreSQL, Spark Connect.

Each is a context manager that starts its processes, waits until they answer, and stops them by their ids.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from cumulus_ops.local.processes import LOOPBACK, Child, end_all, free_port, stop_all
from cumulus_ops.local.servers import Server
from cumulus_ops.local.spark_service import start_connect_server, wait_for_port

__all__ = ["PostgreSQL", "SparkServer", "connect_server", "postgresql"]

USER = "cumulus"
#: How long a program that is started may take to answer: only one that hangs takes so long, on a busy machine, too.
WAIT_S = 240.0


@dataclass(frozen=True)
class PostgreSQL:
    """A running server; ``bin`` is the folder of its programs. ``crash`` ends it at once, and starts it again; ``out`` does so by a signal, and after something has been done.
    ``refuse_one`` waits for the next who wants to connect while it is out, and closes the connection: else nobody may notice that it was."""

    bin: Path
    port: int
    crash: Callable[[], None]
    out: Callable[[signal.Signals, Callable[[], None]], None]

    def refuse_one(self) -> None:
        with socket.create_server((LOOPBACK, self.port)) as listening:
            listening.settimeout(WAIT_S)
            listening.accept()[0].close()

    def url(self, database: str) -> str:
        """The SQLAlchemy URL of ``database``."""
        return f"postgresql+psycopg2://{USER}@{LOOPBACK}:{self.port}/{database}"

    def create_database(self, name: str) -> str:
        """Make an empty database; returns its URL."""
        command = [str(self.bin / "createdb"), "-h", LOOPBACK, "-p", str(self.port), "-U", USER, name]
        subprocess.run(command, check=True, capture_output=True)
        return self.url(name)


@contextmanager
def postgresql(*more: str) -> Iterator[PostgreSQL]:
    """A server of Debian's package with a cluster of its own, and ``more`` settings (``name=value``); the test is skipped where there is
    none, except in CI."""
    programs = _postgresql_programs()
    folder = Path(tempfile.mkdtemp(prefix="cumulus-postgresql-"))
    as_user = _as_ordinary_user(folder)
    port = free_port()
    try:
        options = ["--username", USER, "--auth", "trust", "--no-sync", "--encoding", "UTF8"]
        subprocess.run(
            [*as_user, str(programs / "initdb"), "-D", str(folder / "data"), *options], check=True, capture_output=True
        )
        settings = [
            f"listen_addresses={LOOPBACK}",
            f"unix_socket_directories={folder}",
            "fsync=off",
            "max_connections=200",
            *more,
        ]
        flags = [part for setting in settings for part in ("-c", setting)]
        command = [*as_user, str(programs / "postgres"), "-D", str(folder / "data"), "-p", str(port), *flags]
        servers: list[Child] = []

        def begin() -> None:
            servers.append(Child("postgresql", command, folder / "log", stop_signal=signal.SIGQUIT))
            wait_for_port(port, servers[-1], WAIT_S)
            _wait_ready(programs, port)

        def out(how: signal.Signals, meanwhile: Callable[[], None]) -> None:
            left = servers[-1].known
            servers[-1].process.send_signal(how)
            servers[-1].process.wait()
            end_all([left], 1.0)  # of one that was killed, its processes hold the shared memory until they notice
            meanwhile()
            begin()

        try:
            begin()
            yield PostgreSQL(programs, port, lambda: out(signal.SIGQUIT, lambda: None), out)
        finally:
            stop_all(servers[-1:])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _postgresql_programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        message = "no PostgreSQL server: apt-get install postgresql"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return found[-1].parent


def _as_ordinary_user(folder: Path) -> Sequence[str]:
    """A prefix that runs a command as the user ``postgres`` when we are root, which the server refuses to run as."""
    if os.geteuid() != 0:
        return ()
    user = pwd.getpwnam("postgres")
    folder.chmod(0o755)
    os.chown(folder, user.pw_uid, user.pw_gid)
    return ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--")


def _wait_ready(programs: Path, port: int, timeout_s: float = WAIT_S) -> None:
    command = [str(programs / "pg_isready"), "-q", "-h", LOOPBACK, "-p", str(port)]
    deadline = time.monotonic() + timeout_s
    while subprocess.run(command, check=False).returncode != 0:
        if time.monotonic() > deadline:
            raise TimeoutError("PostgreSQL does not answer")
        time.sleep(0.1)


@dataclass(frozen=True)
class SparkServer:
    """A Spark Connect server. ``out`` kills it, and starts another one in its place."""

    url: str
    out: Callable[[], None]


@contextmanager
def connect_server(home: Path, master: str = "local[2]") -> Iterator[SparkServer]:
    """A Spark Connect server on ``master``."""
    port = free_port()
    servers = [Server(partial(start_connect_server, port, home, master))]

    def out() -> None:
        servers[0].child.process.kill()
        servers[0].child.process.wait()
        assert servers[0].revive() is not None

    try:
        wait_for_port(port, servers[0].child, WAIT_S)
        yield SparkServer(f"sc://{LOOPBACK}:{port}", out)
    finally:
        stop_all([servers[0].child])


def answers(port: int) -> bool:
    """True when something listens on the loopback address."""
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0
