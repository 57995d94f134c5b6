"""TPC-H as a stream: drops of inserts, updates and deletes for several coordinators, from tables and a seed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cumulus_ops.demo.changes import CHANGES, Life, Schedule, changed_rows, make_lives
from cumulus_ops.demo.periods import drop_name, last_period
from cumulus_ops.demo.tpch import TABLES, read_table
from cumulus_ops.errors import InputProblem

__all__ = ["EventCount", "count_events", "deliver_period", "make_events"]

MARKER = ".stream.json"
INSERT, DELETE = 0, 1


def make_events(tables: Path, out: Path, *, epochs: int = 4, coordinators: int = 3, seed: int = 0) -> Path:
    """Writes a whole stream as drops ``<out>/<coordinator>/p<period>/<table>.parquet``.

    Every coordinator has a drop for each of its periods (see :mod:`cumulus_ops.demo.periods`), so that an epoch is
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
    if _is_there(out, settings):
        return out
    out.mkdir(parents=True, exist_ok=True)
    lives = make_lives({t: lambda t=t: _life_columns(tables, t) for t in TABLES}, schedule, seed)  # type: ignore[misc]
    for coordinator, period in _places(schedule):
        _temporary(out, coordinator, period).mkdir(parents=True)
    for table in TABLES:
        _write_table(read_table(tables, table), table, lives[table], schedule, out, seed)
    for coordinator, period in sorted(_places(schedule), key=lambda place: place[1]):
        _temporary(out, coordinator, period).rename(out / str(coordinator) / drop_name(period))
    (out / MARKER).write_text(json.dumps(settings))
    return out


def _is_there(out: Path, settings: dict[str, object]) -> bool:
    marker = out / MARKER
    if marker.is_file() and json.loads(marker.read_text()) == settings:
        return True
    if out.is_dir() and any(out.glob("*/p*")):
        hint = "choose another folder, or remove it"
        raise InputProblem("holds another stream", kind="other-stream", place=str(out), hint=hint)
    for left in out.glob("*/.p*.tmp"):
        shutil.rmtree(left)
    return False


def _places(schedule: Schedule) -> Iterator[tuple[int, int]]:
    """(coordinator, period) of every drop."""
    for coordinator in range(schedule.coordinators):
        for period in range(int(last_period(coordinator, schedule.epochs, schedule.coordinators)) + 1):
            yield coordinator, period


def _temporary(out: Path, coordinator: int, period: int) -> Path:
    return out / str(coordinator) / f".{drop_name(period)}.tmp"


def _life_columns(tables: Path, table: str) -> pa.Table:
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
    events = _events(life, updated)
    for coordinator, period in _places(schedule):
        first, last = np.searchsorted(events.drop, [(coordinator << 20) + period, (coordinator << 20) + period + 1])
        if first < last:
            part = slice(int(first), int(last))
            content = rows.take(pa.array(events.source[part]))
            content = content.append_column("op", pa.array(["I", "D"]).take(pa.array(events.op[part])))
            content = content.append_column("event", pa.array(events.event[part]))
            pq.write_table(content, _temporary(out, coordinator, period) / f"{table}.parquet", compression="zstd")


def _events(life: Life, updated: np.ndarray) -> _Events:
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
    return _Events(source, op, _number(row, phase, drop), drop)


def _number(row: np.ndarray, phase: np.ndarray, drop: np.ndarray) -> np.ndarray:
    """Offsets 0, 1, ... per coordinator: a new one wherever row, phase or drop differ from the row before."""
    new = np.ones(len(row), dtype=bool)
    new[1:] = (row[1:] != row[:-1]) | (phase[1:] != phase[:-1]) | (drop[1:] != drop[:-1])
    count = np.cumsum(new) - 1
    coordinator = drop >> 20
    first = np.searchsorted(coordinator, coordinator)
    return np.asarray(count - count[first]) if len(count) else count


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


@dataclass(frozen=True)
class EventCount:
    """What a table's files hold: rows to insert, rows to delete, atomic events (an update is one event of two rows)."""

    inserts: int
    deletes: int
    events: int


def count_events(landing: Path) -> dict[str, EventCount]:
    """Counts what lies in a folder of drops, by table."""
    return {table: _count(sorted(landing.glob(f"*/p*/{table}.parquet"))) for table in TABLES}


def _count(paths: list[Path]) -> EventCount:
    inserts = deletes = events = 0
    for path in paths:
        columns = pq.read_table(path, columns=["op", "event"])
        inserted = int(pc.sum(pc.equal(columns["op"], "I")).as_py() or 0)
        inserts, deletes = inserts + inserted, deletes + len(columns) - inserted
        events += pc.count_distinct(columns["event"]).as_py()
    return EventCount(inserts, deletes, events)
