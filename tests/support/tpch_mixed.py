"""TPC-H data as batches that mix inserts, deletes and updates in all eight tables, as drops and as rows in DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from m3.program import Relation

__all__ = ["Change", "batches", "land", "replay"]

#: What an update changes: the values of these columns are shuffled among the updated rows.
CHANGED = {
    "region": ["r_comment"],
    "nation": ["n_regionkey"],
    "supplier": ["s_nationkey", "s_acctbal"],
    "customer": ["c_nationkey", "c_mktsegment", "c_acctbal", "c_phone"],
    "part": ["p_brand", "p_type", "p_size", "p_container", "p_name"],
    "partsupp": ["ps_availqty", "ps_supplycost"],
    "orders": ["o_custkey", "o_orderdate", "o_orderpriority", "o_comment"],
    "lineitem": ["l_quantity", "l_extendedprice", "l_shipdate", "l_commitdate", "l_shipmode", "l_returnflag", "l_suppkey"],
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """What one batch does to one relation: rows that go, rows that come."""

    deleted: pa.Table
    inserted: pa.Table


Batch = dict[str, Change]


def batches(
    tables: Path, relations: tuple[Relation, ...], count: int, *, loaded: float, share: float, seed: int
) -> Iterator[Batch]:
    """An initial load, ``count`` mixed batches, and one that deletes everything that is left.

    Args:
        tables: folder of <relation>.parquet.
        relations: their declarations.
        count: how many mixed batches.
        loaded: which part of each table the first batch loads; the rest comes in equal parts.
        share: which part of the loaded rows each batch deletes, and updates (at least one row).
        seed: of the choices.
    """
    random = np.random.default_rng(seed)
    live = {r.name: _Live(_read(tables / f"{r.name}.parquet"), r, random, loaded) for r in relations}
    yield {name: Change(t.rows.slice(0, 0), t.load()) for name, t in live.items()}
    for number in range(count):
        yield {name: t.mixed(number, count, share) for name, t in live.items()}
    yield {name: Change(t.left(), t.rows.slice(0, 0)) for name, t in live.items()}


def _read(file: Path) -> pa.Table:
    """The table, with plain strings."""
    table = pq.read_table(file)
    types = [pa.string() if t == pa.string_view() else t for t in table.schema.types]
    return table.cast(pa.schema(list(zip(table.column_names, types, strict=True))))


class _Live:
    """One relation's rows: those that are there, and those that are still to come."""

    def __init__(self, rows: pa.Table, relation: Relation, random: np.random.Generator, loaded: float) -> None:
        self.rows = rows.select([c.name for c in relation.columns]).take(pa.array(random.permutation(len(rows))))
        self.relation, self.random = relation, random
        self.first = max(1, int(len(rows) * loaded))
        self.there = np.zeros(0, np.int64)

    def load(self) -> pa.Table:
        self.there = np.arange(self.first)
        return self.rows.slice(0, self.first)

    def mixed(self, number: int, count: int, share: float) -> Change:
        total = len(self.rows) if number == 0 else self.total
        self.total = total
        waiting = total - self.first
        begin, end = (self.first + waiting * n // count for n in (number, number + 1))
        chosen = self.random.permutation(len(self.there))
        amount = max(1, int(self.first * share))
        gone, updated = self.there[chosen[:amount]], self.there[chosen[amount : 2 * amount]]
        old = self.rows.take(pa.array(updated))
        new = self._changed(old)
        places = len(self.rows) + np.arange(len(new))
        deleted = pa.concat_tables([self.rows.take(pa.array(gone)), old])
        inserted = pa.concat_tables([self.rows.slice(begin, end - begin), new])
        self.rows = pa.concat_tables([self.rows, new])
        self.there = np.concatenate([self.there[chosen[2 * amount :]], np.arange(begin, end), places])
        return Change(deleted, inserted)

    def _changed(self, rows: pa.Table) -> pa.Table:
        for column in CHANGED[self.relation.name]:
            place = rows.column_names.index(column)
            shuffled = rows[column].take(pa.array(self.random.permutation(len(rows))))
            rows = rows.set_column(place, rows.field(place), shuffled)
        return rows

    def left(self) -> pa.Table:
        return self.rows.take(pa.array(self.there))


def land(folder: Path, batch: Batch, first_event: int) -> int:
    """Write a batch as a drop; deletes come before inserts.

    Returns:
        the next event's number.
    """
    folder.mkdir(parents=True)
    event = first_event
    for name, change in batch.items():
        rows = pa.concat_tables([change.deleted, change.inserted])
        if len(rows):
            ops = pa.array(["D"] * len(change.deleted) + ["I"] * len(change.inserted), pa.string())
            numbers = pa.array(range(event, event + len(rows)), pa.int64())
            pq.write_table(rows.append_column("op", ops).append_column("event", numbers), folder / f"{name}.parquet")
            event += len(rows)
    return event


def replay(connection: duckdb.DuckDBPyConnection, relations: tuple[Relation, ...], batch: Batch) -> None:
    """Do to DuckDB's tables, which are made when there is none, what a batch does."""
    for relation in relations:
        change = batch[relation.name]
        key = ", ".join(relation.key)
        deleted, inserted = change.deleted, change.inserted
        connection.register("deleted", deleted)
        connection.register("inserted", inserted)
        connection.execute(f"CREATE TABLE IF NOT EXISTS {relation.name} AS SELECT * FROM inserted LIMIT 0")
        connection.execute(f"DELETE FROM {relation.name} WHERE ({key}) IN (SELECT ({key}) FROM deleted)")
        connection.execute(f"INSERT INTO {relation.name} SELECT * FROM inserted")
        connection.unregister("deleted")
        connection.unregister("inserted")
