"""The life of every row: when and where it is inserted, perhaps updated, perhaps deleted. Vectorised, seeded.

A row's later events go to the coordinator of its insert, in the same period or a later one: that makes them later
versions, so no prefix of the log takes away what it has not got.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cumulus_ops.demo.periods import last_period

__all__ = ["CHANGES", "Life", "Schedule", "changed_rows", "make_lives"]

Random = np.random.Generator


@dataclass(frozen=True)
class Schedule:
    """The frame of a stream: see :mod:`cumulus_ops.demo.periods`; the shares are of a table's rows.

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
        lives[name] = _slow_life(len(tables[name]()), schedule, np.random.default_rng([seed, place]), name)
    orders, lineitem = tables["orders"](), tables["lineitem"]()
    lives["orders"] = _order_life(orders["o_orderdate"], schedule, np.random.default_rng([seed, 6]))
    parent = _parents(orders["o_orderkey"].to_numpy(), lineitem["l_orderkey"].to_numpy())
    lives["lineitem"] = _item_life(lives["orders"], parent, schedule, np.random.default_rng([seed, 7]))
    return lives


def _slow_life(rows: int, schedule: Schedule, random: Random, name: str) -> Life:
    """Tables that are loaded in period 0, with latecomers and a few updates; region and nation never change."""
    coordinator = random.integers(0, schedule.coordinators, rows)
    never = np.full(rows, -1)
    if name in ("region", "nation"):
        return Life(coordinator, np.zeros(rows, dtype=np.int64), never, never)
    late = random.random(rows) < schedule.late
    insert = schedule.clip(np.where(late, random.integers(1, schedule.end + 1, rows), 0), coordinator)
    updated = random.random(rows) < schedule.updated / 5
    return Life(coordinator, insert, _later(insert, updated, coordinator, schedule, random), never)


def _order_life(dates: pa.ChunkedArray, schedule: Schedule, random: Random) -> Life:
    days = dates.cast(pa.int32()).to_numpy()
    rows = len(days)
    coordinator = random.integers(0, schedule.coordinators, rows)
    first, span = days.min(), max(1, days.max() - days.min() + 1)
    by_date = (days - first) * schedule.end // span
    insert = np.where(random.random(rows) < schedule.initial, 0, by_date + random.integers(-1, 2, rows))
    insert = schedule.clip(insert, coordinator)
    update = _later(insert, random.random(rows) < schedule.updated, coordinator, schedule, random)
    deleted = random.random(rows) < schedule.deleted
    delete = _later(np.maximum(insert, update), deleted, coordinator, schedule, random)
    return Life(coordinator, insert, update, delete)


def _item_life(orders: Life, parent: np.ndarray, schedule: Schedule, random: Random) -> Life:
    """Lineitems come up to two periods before or after their order, from any coordinator, and go when it goes."""
    rows = len(parent)
    coordinator = random.integers(0, schedule.coordinators, rows)
    insert = schedule.clip(orders.insert[parent] + random.integers(-2, 3, rows), coordinator)
    update = _later(insert, random.random(rows) < schedule.updated / 2, coordinator, schedule, random)
    with_order = orders.delete[parent]
    delete = np.maximum(with_order + random.integers(-1, 2, rows), np.maximum(insert, update))
    return Life(coordinator, insert, update, np.where(with_order < 0, -1, schedule.clip(delete, coordinator)))


def _later(
    after: np.ndarray, chosen: np.ndarray, coordinator: np.ndarray, schedule: Schedule, random: Random
) -> np.ndarray:
    """For the chosen rows a period from ``after`` on (inclusive), -1 for the others."""
    room = schedule.clip(np.full(len(after), schedule.end * 2), coordinator) - after
    return np.where(chosen, after + (random.random(len(after)) * (room + 1)).astype(np.int64), -1)


def _parents(keys: np.ndarray, children: np.ndarray) -> np.ndarray:
    """The index of each child's parent row."""
    order = np.argsort(keys, kind="stable")
    return np.asarray(order[np.searchsorted(keys, children, sorter=order)])


def changed_rows(name: str, rows: pa.Table, seed: int) -> pa.Table:
    """``rows`` with the columns that an update changes replaced, by the rules of :data:`CHANGES`."""
    random = np.random.default_rng([seed, 100, *name.encode()])
    for column, change in CHANGES[name].items():
        rows = rows.set_column(rows.schema.get_field_index(column), column, change(rows[column], random))
    return rows


def _scaled(low: float, high: float) -> Callable[[pa.ChunkedArray, Random], pa.Array]:
    """Multiplies exact decimals by a random percentage, in whole units."""

    def change(column: pa.ChunkedArray, random: Random) -> pa.Array:
        percent = random.integers(int(low * 100), int(high * 100) + 1, len(column))
        return _from_units(_units(column) * percent // 100 + 1, column.type)

    return change


def _drawn(low: int, high: int) -> Callable[[pa.ChunkedArray, Random], pa.Array]:
    """Whole numbers, or units of a decimal, from ``low`` to ``high`` (inclusive)."""

    def change(column: pa.ChunkedArray, random: Random) -> pa.Array:
        values = random.integers(low, high + 1, len(column))
        return _from_units(values, column.type) if pa.types.is_decimal(column.type) else pa.array(values)

    return change


def _chosen(*texts: str) -> Callable[[pa.ChunkedArray, Random], pa.Array]:
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
        "c_acctbal": _scaled(0.5, 1.5),
        "c_nationkey": _drawn(0, 24),
        "c_mktsegment": _chosen("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"),
    },
    "supplier": {"s_acctbal": _scaled(0.5, 1.5), "s_nationkey": _drawn(0, 24)},
    "part": {"p_retailprice": _scaled(0.9, 1.1)},
    "partsupp": {"ps_availqty": _drawn(1, 9999), "ps_supplycost": _scaled(0.9, 1.1)},
    "orders": {
        "o_totalprice": _scaled(0.8, 1.2),
        "o_shippriority": _drawn(1, 3),
        "o_orderpriority": _chosen("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"),
    },
    "lineitem": {"l_quantity": _drawn(1_00, 50_00), "l_extendedprice": _scaled(0.8, 1.2), "l_discount": _drawn(0, 10)},
}
