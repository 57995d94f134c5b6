"""PostgreSQL with incrementally maintained tables: triggers in plain SQL, rows by COPY; a new server per turn."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.answers import check_answer
from benchmarks.contest import Contestant, Turn, Unsupported
from benchmarks.peers.postgres_views import QUERIES, Incremental, incremental
from benchmarks.processes import watch_memory
from benchmarks.workload import drops_of, relations_of
from cumulus_ops.demo.tpch import plain_schema
from cumulus_ops.local.processes import LOOPBACK, Child, free_port, stop_all
from cumulus_ops.local.spark_service import wait_for_port

__all__ = ["postgres_stream"]

USER = "cumulus"
SETTINGS = (
    "fsync=off",
    "synchronous_commit=off",
    "shared_buffers=2GB",
    "work_mem=256MB",
    "max_wal_size=8GB",
    "jit=off",
)
TYPES = {pa.int64(): "bigint", pa.string(): "text", pa.date32(): "date", pa.decimal128(15, 2): "numeric(15, 2)"}


@dataclass
class _Postgres:
    programs: Path
    query: str
    tables: Path
    drops: list[Path]
    note: str = ""

    def turn(self, number: int) -> Turn:
        import psycopg2

        view = incremental(self.query)
        relations = relations_of([self.query])
        with tempfile.TemporaryDirectory() as folder, _server(self.programs) as (port, process):
            files = _as_csv(self.drops, relations, Path(folder))
            with closing(psycopg2.connect(host=LOOPBACK, port=port, user=USER, dbname="postgres")) as connection:
                connection.autocommit = True
                with connection.cursor() as cursor, watch_memory(lambda: [process]) as memory:
                    _prepare(cursor, self.tables, relations, view)
                    seconds = _copy(cursor, files)
                    cursor.execute(view.answer)
                    rows = [tuple(row) for row in cursor.fetchall()]
        self.note = self.note or check_answer(self.query, rows, self._expected(relations), 1e-6)
        events = sum(pq.read_metadata(f).num_rows for drop in self.drops for f in drop.glob("*.parquet"))
        return Turn(seconds, events, memory.resident_mb)

    def _expected(self, relations: Sequence[str]) -> dict[str, str]:
        files = {r: [str(f) for drop in self.drops if (f := drop / f"{r}.parquet").is_file()] for r in relations}
        return {r: f"SELECT * EXCLUDE (op, event) FROM read_parquet({found})" for r, found in files.items()}

    def finish(self) -> str:
        return f"{self.note}; triggers with transition tables, COPY of CSV, fsync off"


@contextmanager
def postgres_stream(home: Path, tables: Path, query: str, batch_events: int, part: float) -> Iterator[Contestant]:
    """A query over the stream of the relations it reads.

    Args:
        home: where the drops are kept.
        tables: the generated tables.
        query: the query's name.
        batch_events: events per COPY, over all tables.
        part: the first part of the stream only.

    Raises:
        Unsupported: there is no server here, or the query needs more than the delta rule.
    """
    if query not in QUERIES:
        raise Unsupported("EXISTS, MIN, outer joins and nested aggregates need more than triggers with the delta rule")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise Unsupported("no PostgreSQL server here: apt-get install postgresql")
    drops = sorted((drops_of(home, tables, relations_of([query]), batch_events) / "0").iterdir())
    yield _Postgres(found[-1].parent, query, tables, drops[: max(1, round(len(drops) * part))])


def _as_csv(drops: Sequence[Path], relations: Sequence[str], folder: Path) -> list[tuple[str, Path]]:
    """The drops' files in the order in which they are copied: parents first within a drop."""
    files = []
    for drop in drops:
        for relation in relations:
            source, target = drop / f"{relation}.parquet", folder / f"{drop.name}-{relation}.csv"
            if source.is_file():
                sql = f"SELECT * EXCLUDE (op, event) FROM read_parquet('{source}')"
                duckdb.execute(f"COPY ({sql}) TO '{target}' (FORMAT csv, HEADER false)")
                files.append((relation, target))
    return files


def _prepare(cursor: Any, tables: Path, relations: Sequence[str], view: Incremental) -> None:
    for relation in relations:
        schema = plain_schema(pq.read_schema(tables / f"{relation}.parquet"))
        cursor.execute(f"CREATE TABLE {relation} ({', '.join(f'{f.name} {TYPES[f.type]}' for f in schema)})")
    for statement in view.statements:
        cursor.execute(statement)


def _copy(cursor: Any, files: Sequence[tuple[str, Path]]) -> float:
    """Seconds for all files; statistics are gathered after the first of each relation, as autovacuum would later."""
    begun = time.perf_counter()
    seen: set[str] = set()
    for relation, file in files:
        with file.open("rb") as lines:
            cursor.copy_expert(f"COPY {relation} FROM STDIN (FORMAT csv)", lines)
        if relation not in seen:
            cursor.execute(f"ANALYZE {relation}")
            seen.add(relation)
    return time.perf_counter() - begun


@contextmanager
def _server(programs: Path) -> Iterator[tuple[int, int]]:
    """A server with a new cluster on the loopback address: its port and process id."""
    folder = Path(tempfile.mkdtemp(prefix="cumulus-bench-postgresql-"))
    as_user = _as_ordinary_user(folder)
    port = free_port()
    try:
        initdb = [str(programs / "initdb"), "-D", str(folder / "data"), "-U", USER, "--auth", "trust", "--no-sync"]
        subprocess.run([*as_user, *initdb, "--encoding", "UTF8", "--locale", "C"], check=True, capture_output=True)
        options = (*SETTINGS, f"listen_addresses={LOOPBACK}", f"unix_socket_directories={folder}")
        flags = [part for option in options for part in ("-c", option)]
        command = [*as_user, str(programs / "postgres"), "-D", str(folder / "data"), "-p", str(port), *flags]
        server = Child("postgresql", command, folder / "log")
        try:
            wait_for_port(port, server)
            _wait_ready(programs, port)
            yield port, server.process.pid
        finally:
            stop_all([server])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _as_ordinary_user(folder: Path) -> Sequence[str]:
    """A prefix that runs a command as ``postgres`` when we are root, which the server refuses to run as."""
    if os.geteuid() != 0:
        return ()
    user = pwd.getpwnam("postgres")
    folder.chmod(0o755)
    os.chown(folder, user.pw_uid, user.pw_gid)
    return ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--")


def _wait_ready(programs: Path, port: int, timeout_s: float = 30.0) -> None:
    command = [str(programs / "pg_isready"), "-q", "-h", LOOPBACK, "-p", str(port)]
    deadline = time.monotonic() + timeout_s
    while subprocess.run(command, check=False).returncode != 0:
        if time.monotonic() > deadline:
            raise TimeoutError("PostgreSQL does not answer")
        time.sleep(0.1)
