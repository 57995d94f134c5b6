"""TPC-H as a stream: drops of inserts, updates and deletes for several coordinators, from tables and a seed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cumulus_ops.demo.tpch import TABLES, read_table
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.small_files import replace_file

__all__ = [
    "CHANGES",
    "Life",
    "Schedule",
    "changed_rows",
    "deliver_period",
    "drop_name",
    "last_period",
    "make_events",
    "make_lives",
    "periods",
]


# Which drops there are: coordinators move from epoch to epoch one after the other (Cumulus paper, section 4.2).
#
# Time is counted in periods, one per drop; with N coordinators an epoch has N periods. Coordinator c spends the periods
# ``e*N + c`` to ``e*N + c + N - 1`` (inclusive) in epoch e, and the periods before its first transition in epoch 0.


def periods(epochs: int, coordinators: int) -> int:
    """How many periods it takes until every coordinator has finished the last epoch."""
    return epochs * coordinators + coordinators - 1


def last_period(coordinator: int | np.ndarray, epochs: int, coordinators: int) -> int | np.ndarray:
    """The last period (inclusive) in which a coordinator gets a drop."""
    return epochs * coordinators + coordinator - 1


def drop_name(period: int) -> str:
    """The folder name of a period's drops."""
    return f"p{period:04d}"


# The life of every row: when and where it is inserted, perhaps updated, perhaps deleted. Vectorised, seeded.
#
# A row's later events go to the coordinator of its insert, in the same period or a later one: that makes them later
# versions, so no prefix of the log takes away what it has not got.


Random = np.random.Generator


@dataclass(frozen=True)
class Schedule:
    """The frame of a stream: see :mod:`cumulus_ops.demo.events`; the shares are of a table's rows.

    ``initial``: orders that are there from the start, whatever their date. ``late``: rows of customer, supplier, part
    and partsupp that arrive after period 0. ``updated``, ``deleted``: orders changed and deleted later; lineitems and
    the other tables are updated at half and a fifth of that.
    """

    epochs: int
    coordinators: int
    initial: float = 0.1
    late: float = 0.05
    updated: float = 0.05
    deleted: float = 0.05

    @property
    def end(self) -> int:
        """The first period that not every coordinator has (exclusive end of the common ones)."""
        return self.epochs * self.coordinators

    def clip(self, period: np.ndarray, coordinator: np.ndarray) -> np.ndarray:
        """Periods moved into those that the row's coordinator has."""
        return np.asarray(np.clip(period, 0, last_period(coordinator, self.epochs, self.coordinators)))


@dataclass(frozen=True)
class Life:
    """The events of a table's rows, one entry per row: ``coordinator``, and the periods of ``insert``, ``update`` and
    ``delete``, -1 for never; insert <= update <= delete."""

    coordinator: np.ndarray
    insert: np.ndarray
    update: np.ndarray
    delete: np.ndarray


def make_lives(tables: Mapping[str, Callable[[], pa.Table]], schedule: Schedule, seed: int) -> dict[str, Life]:
    """The life of each row of each table.

    Args:
        tables: table name -> function giving the columns that lives depend on (order keys and dates).
    """
    lives: dict[str, Life] = {}
    for place, name in enumerate(("region", "nation", "customer", "supplier", "part", "partsupp")):
        lives[name] = _make_slow_life(len(tables[name]()), schedule, np.random.default_rng([seed, place]), name)
    orders, lineitem = tables["orders"](), tables["lineitem"]()
    lives["orders"] = _make_order_life(orders["o_orderdate"], schedule, np.random.default_rng([seed, 6]))
    keys = orders["o_orderkey"].to_numpy()
    order = np.argsort(keys, kind="stable")
    parent = np.asarray(order[np.searchsorted(keys, lineitem["l_orderkey"].to_numpy(), sorter=order)])
    lives["lineitem"] = _make_item_life(lives["orders"], parent, schedule, np.random.default_rng([seed, 7]))
    return lives


def _make_slow_life(rows: int, schedule: Schedule, random: Random, name: str) -> Life:
    """Tables that are loaded in period 0, with latecomers and a few updates; region and nation never change."""
    coordinator = random.integers(0, schedule.coordinators, rows)
    never = np.full(rows, -1)
    if name in ("region", "nation"):
        return Life(coordinator, np.zeros(rows, dtype=np.int64), never, never)
    late = random.random(rows) < schedule.late
    insert = schedule.clip(np.where(late, random.integers(1, schedule.end + 1, rows), 0), coordinator)
    updated = random.random(rows) < schedule.updated / 5
    return Life(coordinator, insert, _draw_later(insert, updated, coordinator, schedule, random), never)


def _make_order_life(dates: pa.ChunkedArray, schedule: Schedule, random: Random) -> Life:
    days = dates.cast(pa.int32()).to_numpy()
    rows = len(days)
    coordinator = random.integers(0, schedule.coordinators, rows)
    first, span = days.min(), max(1, days.max() - days.min() + 1)
    by_date = (days - first) * schedule.end // span
    insert = np.where(random.random(rows) < schedule.initial, 0, by_date + random.integers(-1, 2, rows))
    insert = schedule.clip(insert, coordinator)
    update = _draw_later(insert, random.random(rows) < schedule.updated, coordinator, schedule, random)
    deleted = random.random(rows) < schedule.deleted
    delete = _draw_later(np.maximum(insert, update), deleted, coordinator, schedule, random)
    return Life(coordinator, insert, update, delete)


def _make_item_life(orders: Life, parent: np.ndarray, schedule: Schedule, random: Random) -> Life:
    """Lineitems come up to two periods before or after their order, from any coordinator, and go when it goes."""
    rows = len(parent)
    coordinator = random.integers(0, schedule.coordinators, rows)
    insert = schedule.clip(orders.insert[parent] + random.integers(-2, 3, rows), coordinator)
    update = _draw_later(insert, random.random(rows) < schedule.updated / 2, coordinator, schedule, random)
    with_order = orders.delete[parent]
    delete = np.maximum(with_order + random.integers(-1, 2, rows), np.maximum(insert, update))
    return Life(coordinator, insert, update, np.where(with_order < 0, -1, schedule.clip(delete, coordinator)))


def _draw_later(
    after: np.ndarray, chosen: np.ndarray, coordinator: np.ndarray, schedule: Schedule, random: Random
) -> np.ndarray:
    """For the chosen rows a period from ``after`` on (inclusive), -1 for the others."""
    room = schedule.clip(np.full(len(after), schedule.end * 2), coordinator) - after
    return np.where(chosen, after + (random.random(len(after)) * (room + 1)).astype(np.int64), -1)


def changed_rows(name: str, rows: pa.Table, seed: int) -> pa.Table:
    """``rows`` with the columns that an update changes replaced, by the rules of :data:`CHANGES`."""
    random = np.random.default_rng([seed, 100, *name.encode()])
    for column, change in CHANGES[name].items():
        rows = rows.set_column(rows.schema.get_field_index(column), column, change(rows[column], random))
    return rows


def _scale(low: float, high: float) -> Callable[[pa.ChunkedArray, Random], pa.Array]:
    """Multiplies exact decimals by a random percentage, in whole units."""

    def change(column: pa.ChunkedArray, random: Random) -> pa.Array:
        percent = random.integers(int(low * 100), int(high * 100) + 1, len(column))
        return _from_units(_units(column) * percent // 100 + 1, column.type)

    return change


def _draw(low: int, high: int) -> Callable[[pa.ChunkedArray, Random], pa.Array]:
    """Whole numbers, or units of a decimal, from ``low`` to ``high`` (inclusive)."""

    def change(column: pa.ChunkedArray, random: Random) -> pa.Array:
        values = random.integers(low, high + 1, len(column))
        return _from_units(values, column.type) if pa.types.is_decimal(column.type) else pa.array(values)

    return change


def _choose(*texts: str) -> Callable[[pa.ChunkedArray, Random], pa.Array]:
    return lambda column, random: pa.array(texts).take(pa.array(random.integers(0, len(texts), len(column))))


def _units(column: pa.ChunkedArray) -> np.ndarray:
    """A decimal column without NULLs as its smallest units, which fit 64 bits."""
    array = column.combine_chunks()
    array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
    return np.frombuffer(array.buffers()[1], dtype=np.int64)[2 * array.offset : 2 * (array.offset + len(array)) : 2]


def _from_units(units: np.ndarray, type_: pa.DataType) -> pa.Array:
    words = np.stack([units, units >> 63], axis=1).astype(np.int64)
    return pa.Array.from_buffers(type_, len(units), [None, pa.py_buffer(words.tobytes())])


#: Table -> column -> how an update changes it.
CHANGES: Mapping[str, Mapping[str, Callable[[pa.ChunkedArray, Random], pa.Array]]] = {
    "customer": {
        "c_acctbal": _scale(0.5, 1.5),
        "c_nationkey": _draw(0, 24),
        "c_mktsegment": _choose("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"),
    },
    "supplier": {"s_acctbal": _scale(0.5, 1.5), "s_nationkey": _draw(0, 24)},
    "part": {"p_retailprice": _scale(0.9, 1.1)},
    "partsupp": {"ps_availqty": _draw(1, 9999), "ps_supplycost": _scale(0.9, 1.1)},
    "orders": {
        "o_totalprice": _scale(0.8, 1.2),
        "o_shippriority": _draw(1, 3),
        "o_orderpriority": _choose("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"),
    },
    "lineitem": {"l_quantity": _draw(1_00, 50_00), "l_extendedprice": _scale(0.8, 1.2), "l_discount": _draw(0, 10)},
}


MARKER = ".stream.json"
INSERT, DELETE = 0, 1


def make_events(tables: Path, out: Path, *, epochs: int = 4, coordinators: int = 3, seed: int = 0) -> Path:
    """Writes a whole stream as drops ``<out>/<coordinator>/p<period>/<table>.parquet``.

    Every coordinator has a drop for each of its periods (see :mod:`cumulus_ops.demo.events`), so that an epoch is
    over when its drops are consumed. Files have the table's columns, ``op`` (I or D) and ``event`` (int64, increasing
    per coordinator and table; an update's D and I rows share it). Orders and lineitems arrive by order date with some
    jitter, a tenth of them at the start; children often arrive elsewhere, and before their parents.

    Args:
        tables: folder made by :func:`~cumulus_ops.demo.tpch.generate_tables`.
        out: where to put the drops; each appears by one rename. A stream of the same settings is kept as it is.

    Returns:
        ``out``.

    Raises:
        InputProblem: ``out`` has drops of another stream.
    """
    schedule = Schedule(epochs, coordinators)
    settings = {"tables": str(tables.resolve()), "epochs": epochs, "coordinators": coordinators, "seed": seed}
    marker = out / MARKER
    if marker.is_file() and json.loads(marker.read_text()) == settings:
        return out
    if out.is_dir() and any(out.glob("*/p*")):
        hint = "choose another folder, or remove it"
        raise InputProblem("holds another stream", kind="other-stream", place=str(out), hint=hint)
    for left in out.glob("*/.p*.tmp"):
        shutil.rmtree(left)
    out.mkdir(parents=True, exist_ok=True)
    lives = make_lives({t: lambda t=t: _read_life_columns(tables, t) for t in TABLES}, schedule, seed)  # type: ignore[misc]
    for coordinator, period in _list_drops(schedule):
        _temporary_folder(out, coordinator, period).mkdir(parents=True)
    for table in TABLES:
        _write_table(read_table(tables, table), table, lives[table], schedule, out, seed)
    for coordinator, period in sorted(_list_drops(schedule), key=lambda place: place[1]):
        _temporary_folder(out, coordinator, period).rename(out / str(coordinator) / drop_name(period))
    replace_file(marker, json.dumps(settings))
    return out


def _list_drops(schedule: Schedule) -> Iterator[tuple[int, int]]:
    """(coordinator, period) of every drop."""
    for coordinator in range(schedule.coordinators):
        for period in range(int(last_period(coordinator, schedule.epochs, schedule.coordinators)) + 1):
            yield coordinator, period


def _temporary_folder(out: Path, coordinator: int, period: int) -> Path:
    return out / str(coordinator) / f".{drop_name(period)}.tmp"


def _read_life_columns(tables: Path, table: str) -> pa.Table:
    columns = {"orders": ["o_orderkey", "o_orderdate"], "lineitem": ["l_orderkey"]}
    path = tables / f"{table}.parquet"
    return pq.read_table(path, columns=columns.get(table, pq.read_schema(path).names[:1]))


@dataclass(frozen=True)
class _Events:
    """Rows of events, ascending by ``drop`` (``coordinator * 2**20 + period``) and ``event``; ``source`` is the index
    of a row's content."""

    source: np.ndarray
    op: np.ndarray
    event: np.ndarray
    drop: np.ndarray


def _write_table(rows: pa.Table, table: str, life: Life, schedule: Schedule, out: Path, seed: int) -> None:
    updated = np.flatnonzero(life.update >= 0)
    if table in CHANGES:
        rows = pa.concat_tables([rows, changed_rows(table, rows.take(pa.array(updated)), seed)])
    rows = rows.combine_chunks()
    events = _make_events(life, updated)
    for coordinator, period in _list_drops(schedule):
        first, last = np.searchsorted(events.drop, [(coordinator << 20) + period, (coordinator << 20) + period + 1])
        if first < last:
            part = slice(int(first), int(last))
            content = rows.take(pa.array(events.source[part]))
            content = content.append_column("op", pa.array(["I", "D"]).take(pa.array(events.op[part])))
            content = content.append_column("event", pa.array(events.event[part]))
            pq.write_table(
                content, _temporary_folder(out, coordinator, period) / f"{table}.parquet", compression="zstd"
            )


def _make_events(life: Life, updated: np.ndarray) -> _Events:
    """All events of a table; the content of an updated row stands behind the table's own rows."""
    rows = len(life.coordinator)
    index = np.arange(rows)
    latest = index.copy()
    latest[updated] = rows + np.arange(len(updated))
    deleted = np.flatnonzero(life.delete >= 0)
    # (row, content, op, period, phase): an update is two rows of one phase
    parts = [
        (index, index, INSERT, life.insert, 0),
        (updated, updated, DELETE, life.update[updated], 1),
        (updated, latest[updated], INSERT, life.update[updated], 1),
        (deleted, latest[deleted], DELETE, life.delete[deleted], 2),
    ]
    row = np.concatenate([p[0] for p in parts])
    source = np.concatenate([p[1] for p in parts])
    op = np.concatenate([np.full(len(p[0]), p[2], dtype=np.int8) for p in parts])
    phase = np.concatenate([np.full(len(p[0]), p[4], dtype=np.int8) for p in parts])
    drop = (life.coordinator[row] << 20) + np.concatenate([p[3] for p in parts])
    order = np.lexsort((1 - op, row, phase, drop))
    row, source, op, phase, drop = row[order], source[order], op[order], phase[order], drop[order]
    # Offsets 0, 1, ... per coordinator: a new one wherever row, phase or drop differ from the row before.
    new = np.ones(len(row), dtype=bool)
    new[1:] = (row[1:] != row[:-1]) | (phase[1:] != phase[:-1]) | (drop[1:] != drop[:-1])
    count = np.cumsum(new) - 1
    coordinator = drop >> 20
    first = np.searchsorted(coordinator, coordinator)
    return _Events(source, op, np.asarray(count - count[first]) if len(count) else count, drop)


def deliver_period(staging: Path, landing: Path, period: int) -> list[Path]:
    """Lands the drops of one period, as sources would: each appears by one rename; those there already are left alone.

    Returns:
        The drops that were landed now, by coordinator.
    """
    landed = []
    for drop in sorted(staging.glob(f"*/{drop_name(period)}"), key=lambda p: int(p.parent.name)):
        target = landing / drop.parent.name / drop.name
        if not target.exists():
            temporary = target.with_name(f".{drop.name}.{os.getpid()}.tmp")
            shutil.copytree(drop, temporary)
            temporary.rename(target)
            landed.append(target)
    return landed
