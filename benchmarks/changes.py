"""Changes to loaded tables: batches in the style of TPC-H's refresh functions, and the tables after them.

A change deletes orders with their lineitems and inserts as many new ones: copies of other orders under keys that
the generator leaves unused (it uses the first 8 of every 32), as RF1 and RF2 do. Rows of the other tables are updated:
deleted, and inserted with other values. No row is touched twice, so that the tables after all batches are simple to tell.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.answers import connect, net_tables
from benchmarks.progress import say
from benchmarks.workload import count_rows, first_rows

__all__ = ["Changes", "make_changes", "make_continuation"]

LINEITEMS_PER_ORDER = 4
#: Above every event number of a load.
FIRST_EVENT = 1 << 50
KEYS = {
    "region": "r_regionkey",
    "nation": "n_nationkey",
    "supplier": "s_suppkey",
    "customer": "c_custkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey * 1000000000 + ps_suppkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey",
}
#: How an update changes a row; a nation or region comes back as it was.
UPDATES = {
    "region": "*",
    "nation": "*",
    "supplier": "* REPLACE ((s_nationkey + 1) % 25 AS s_nationkey, s_acctbal + 1 AS s_acctbal)",
    "customer": "* REPLACE ((c_nationkey + 1) % 25 AS c_nationkey, c_acctbal + 1 AS c_acctbal, "
    "CASE c_mktsegment WHEN 'BUILDING' THEN 'MACHINERY' ELSE 'BUILDING' END AS c_mktsegment)",
    "part": "* REPLACE (p_size % 50 + 1 AS p_size, p_retailprice + 1 AS p_retailprice)",
    "partsupp": "* REPLACE (ps_availqty % 9999 + 1 AS ps_availqty, ps_supplycost + 1 AS ps_supplycost)",
}
COPIES = {
    "orders": "* REPLACE (o_orderkey + 8 AS o_orderkey)",
    "lineitem": "* REPLACE (l_orderkey + 8 AS l_orderkey)",
}


@dataclass(frozen=True)
class Changes:
    """Batches on disk, ``b00000``, ``b00001``, ... in ``folder``, each in the form of a landed drop. Before them, the
    first ``loaded`` parts (so many of so many) of the tables were there."""

    folder: Path
    tables: Path
    relations: tuple[str, ...]
    loaded: tuple[int, int] = (1, 1)

    @property
    def batches(self) -> tuple[Path, ...]:
        """The batches in their order."""
        return tuple(sorted(p for p in self.folder.iterdir() if p.name.startswith("b")))

    def after(self, batches: int) -> dict[str, str]:
        """Relation -> SQL that gives its rows after the first ``batches`` batches."""
        written = self._written(batches)
        return net_tables(written, self.relations) if written.exists() else self._made(batches)

    def _written(self, batches: int) -> Path:
        return self.folder / f"after{batches}"

    def _made(self, batches: int) -> dict[str, str]:
        return {r: self._after(r, batches) for r in self.relations}

    def _after(self, relation: str, batches: int) -> str:
        files = [f for b in self.batches[:batches] if (f := b / f"{relation}.parquet").is_file()]
        rows = rows_loaded(self.tables, relation, self.loaded)
        base = f"SELECT * FROM ({first_rows(self.tables / f'{relation}.parquet', rows)})"
        if not files or relation in ("region", "nation"):
            return base
        changes = f"read_parquet([{', '.join(repr(str(f)) for f in files)}])"
        key = KEYS[relation]
        return (
            f"{base} WHERE {key} NOT IN (SELECT DISTINCT {key} FROM {changes} WHERE op = 'D') "
            f"UNION ALL SELECT * EXCLUDE (op, event) FROM {changes} WHERE op = 'I'"
        )

    def write_after(self, batches: int) -> Path:
        """The tables after the batches as Parquet files, for contestants that recompute."""
        folder = self._written(batches)
        temporary = folder.with_suffix(".tmp")
        if not folder.exists():
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            with connect() as connection:
                for relation, sql in self._made(batches).items():
                    connection.execute(f"COPY ({sql}) TO '{temporary / relation}.parquet' (FORMAT parquet)")
            temporary.rename(folder)
        return folder


def make_changes(
    home: Path, tables: Path, relations: Sequence[str], events: int, count: int, *, every_table: bool = False
) -> Changes:
    """Batches for some relations, the same for every call with the same arguments.

    Args:
        home: where they are kept.
        tables: the loaded tables.
        relations: what the queries read; other relations get no events.
        events: of each batch, about.
        count: how many batches.
        every_table: update rows of all relations as well, in proportion to their sizes but at least one of each.
    """
    text = f"{tables.name} {sorted(relations)} {events} {count} {every_table} {Path(__file__).read_text()}"
    folder = home / "changes" / hashlib.sha256(text.encode()).hexdigest()[:16]
    changes = Changes(folder, tables, tuple(relations))
    if folder.exists():
        return changes
    say(f"making {count} changes of {events} events")
    temporary = folder.with_suffix(".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    for number in range(count):
        (temporary / f"b{number:05}").mkdir(parents=True)
    with connect() as connection:
        for relation, sql in net_tables(tables, tuple(sorted({*relations, "orders"}))).items():
            connection.execute(f"CREATE VIEW {relation} AS {sql}")
        _Writer(connection, temporary, tables, tuple(relations), events, count).write(every_table)
    temporary.rename(folder)
    return changes


def rows_loaded(tables: Path, relation: str, loaded: tuple[int, int]) -> int:
    """How many rows of a relation the first parts of the stream have."""
    return count_rows(tables, (relation,)) * loaded[0] // loaded[1]


def make_continuation(
    home: Path, tables: Path, relations: Sequence[str], loaded: tuple[int, int], events: int, count: int
) -> Changes:
    """The next batches of the whole stream, inserts only, after the first ``loaded`` parts of it.

    Returns:
        ``count`` batches of ``events`` events, or fewer and smaller where the stream ends.
    """
    everything = count_rows(tables, relations)
    left = everything * (loaded[1] - loaded[0]) // loaded[1]
    events = min(events, left)
    text = f"{tables.name} {sorted(relations)} {loaded} {events} {count} {Path(__file__).read_text()}"
    changes = Changes(
        home / "changes" / hashlib.sha256(text.encode()).hexdigest()[:16], tables, tuple(relations), loaded
    )
    if changes.folder.exists():
        return changes
    temporary = changes.folder.with_suffix(".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    event = FIRST_EVENT
    with connect() as connection:
        for number in range(min(count, left // events)):
            folder = temporary / f"b{number:05}"
            folder.mkdir(parents=True)
            for relation in relations:
                rows = count_rows(tables, (relation,))
                first = rows_loaded(tables, relation, loaded) + rows * events * number // everything
                last = rows_loaded(tables, relation, loaded) + rows * events * (number + 1) // everything
                sql = (
                    f"SELECT * EXCLUDE (file_row_number), 'I' AS op, {event} + file_row_number AS event "
                    f"FROM read_parquet('{tables / relation}.parquet', file_row_number = true) "
                    f"WHERE file_row_number >= {first} AND file_row_number < {last}"
                )
                if last > first:
                    connection.execute(f"COPY ({sql}) TO '{folder / relation}.parquet' (FORMAT parquet)")
                event += rows
    temporary.rename(changes.folder)
    return changes


@dataclass
class _Writer:
    connection: duckdb.DuckDBPyConnection
    folder: Path
    tables: Path
    relations: tuple[str, ...]
    events: int
    count: int
    next_event: int = FIRST_EVENT

    def write(self, every_table: bool) -> None:
        refreshed = tuple(r for r in ("orders", "lineitem") if r in self.relations)
        updated = tuple(r for r in self.relations if r not in refreshed)
        everything = count_rows(self.tables, self.relations)
        if refreshed:
            share = count_rows(self.tables, refreshed) / everything if every_table else 1.0
            self._refresh(refreshed, max(1, round(self.events * share)))
        if not refreshed or every_table:
            for relation in updated:
                rows = count_rows(self.tables, (relation,))
                self._update(relation, rows, max(1, round(self.events / 2 * rows / everything)))

    def _refresh(self, relations: tuple[str, ...], events: int) -> None:
        weight = sum({"orders": 1, "lineitem": LINEITEMS_PER_ORDER}[r] for r in relations)
        orders = max(1, round(events / 2 / weight))
        for operation, seed in (("D", 1), ("I", 2)):
            self._pick("orders", orders, seed)
            for relation in relations:
                self._export(relation, operation, "*" if operation == "D" else COPIES[relation])

    def _update(self, relation: str, rows: int, count: int) -> None:
        if relation in ("region", "nation"):
            self.connection.execute(
                f"CREATE OR REPLACE TABLE picked AS SELECT {KEYS[relation]} AS key, batch "
                f"FROM {relation}, range({self.count}) AS numbers(batch) WHERE {KEYS[relation]} = batch % {rows}"
            )
        else:
            self._pick(relation, min(count, rows // self.count), 3)
        for operation, columns in (("D", "*"), ("I", UPDATES[relation])):
            self._export(relation, operation, columns)

    def _pick(self, relation: str, each: int, seed: int) -> None:
        """The keys that each batch touches: an order that only looks random, cut in pieces."""
        key = KEYS[relation]
        self.connection.execute(
            f"CREATE OR REPLACE TABLE picked AS SELECT key, (row_number() OVER (ORDER BY place) - 1) // {each} AS batch "
            f"FROM (SELECT {key} AS key, hash({key}, {seed}) AS place FROM {relation} "
            f"ORDER BY place LIMIT {each * self.count})"
        )

    def _export(self, relation: str, operation: str, columns: str) -> None:
        key = KEYS[relation]
        self.connection.execute(
            f"CREATE OR REPLACE TABLE events AS SELECT {relation}.{columns}, '{operation}' AS op, 0::BIGINT AS event, batch "
            f"FROM {relation} JOIN picked ON {key} = key"
        )
        for number in range(self.count):
            file = self.folder / f"b{number:05}" / f"{relation}.parquet"
            rows = (
                f"SELECT * EXCLUDE (batch) REPLACE ({self.next_event} + row_number() OVER () AS event) "
                f"FROM events WHERE batch = {number}"
            )
            earlier = f"SELECT * FROM read_parquet('{file}') UNION ALL " if file.exists() else ""
            temporary = file.with_suffix(".tmp")
            self.connection.execute(f"COPY ({earlier}{rows}) TO '{temporary}' (FORMAT parquet)")
            temporary.rename(file)
            counted = self.connection.execute(f"SELECT count(*) FROM events WHERE batch = {number}").fetchone()
            self.next_event += counted[0] + 1 if counted else 1
