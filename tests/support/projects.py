"""Small projects for tests: built in a temporary folder, fed row by row, compared with the serial interpreter."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from cumulus_ops.catalog.records import LogFile, NewBatch
from cumulus_ops.catalog.values import Sealing
from cumulus_ops.files.new_files import write_parquet
from cumulus_ops.maps.columns import logical_type
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.settings import EpochSettings, ExecutorSettings, Project
from cumulus_ops.project.versions import STATEMENT_BITS, event_version
from cumulus_ops.query.read import read_map
from m3 import Interpreter
from m3.datatypes import from_units
from m3.program import Program, Relation

Row = tuple[object, ...]
#: (relation, sign, row)
Event = tuple[str, int, Row]


def make_project(
    folder: Path,
    relations: Sequence[Relation],
    *,
    views: Mapping[str, str] | None = None,
    program: str | None = None,
    coordinators: int = 3,
    catalog_url: str | None = None,
    executor: ExecutorSettings | None = None,
    retain: int = 16,
) -> Project:
    """A project with the given relations that maintains SQL views or an M3 program."""
    program_file = None
    if program is not None:
        folder.mkdir(parents=True, exist_ok=True)
        program_file = folder / "program.m3"
        program_file.write_text(program, encoding="utf-8")
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    return Project(
        "test",
        folder,
        tuple(relations),
        coordinators,
        EpochSettings(datetime.timedelta(seconds=30), start, None, retain),
        folder / "landing",
        folder / "state",
        catalog_url or f"sqlite:///{folder}/state/catalog.db",
        folder / "published",
        folder / "reports",
        dict(views or {}),
        program_file,
        executor or ExecutorSettings(kind="inprocess"),
        settle=datetime.timedelta(0),
    )


def as_row(values: Iterable[object]) -> Row:
    """A row of a table as the interpreter has it: its lists are tuples."""
    return tuple(tuple(v) if isinstance(v, list) else v for v in values)


def append_events(
    rt: Runtime, coordinator: int, events: Sequence[Event], drop: str, sealing: Sealing | None = None
) -> int:
    """Stamp and append rows as one batch, in the given order (what the readers do for files, row by row), with what they say of sealed values."""
    epoch, sequence = rt.catalog.members.position(coordinator)
    files = []
    for relation in rt.program.relations:
        stamped = [(sequence + i, s, row) for i, (name, s, row) in enumerate(events) if name == relation.name]
        if stamped:
            path = write_parquet(
                rt.project.state, f"log/{relation.name}", log_table(relation, epoch, coordinator, stamped)
            )
            files.append(LogFile(0, relation.name, path, len(stamped), f"{coordinator}/{relation.name}", 0, 0))
    inserts = sum(s > 0 for _, s, _ in events)
    end = sequence + len(events)
    counts = (inserts, len(events) - inserts, 0, 0)
    new = NewBatch(coordinator, drop, epoch, sequence, end, *counts, tuple(files), ())
    return rt.catalog.log.append([new], sealing=sealing)[0]


def log_table(relation: Relation, epoch: int, coordinator: int, stamped: Sequence[tuple[int, int, Row]]) -> pa.Table:
    columns = {
        relation.in_log(c.name): pa.array([row[i] for _, _, row in stamped], logical_type(c.type))
        for i, c in enumerate(relation.columns)
    }
    columns["_sign"] = pa.array([s for _, s, _ in stamped], pa.int8())
    columns["_offset"] = pa.array([n for n, _, _ in stamped], pa.int64())
    first = event_version(epoch, coordinator, 0)
    columns["_version"] = pa.array([first + (n << STATEMENT_BITS) for n, _, _ in stamped], pa.int64())
    return pa.table(columns)


def interpret(program: Program, events: Sequence[Event]) -> Interpreter:
    """The oracle: all events applied one after the other."""
    oracle = Interpreter(program)
    for relation, sign, row in events:
        oracle.apply(sign, relation, row)
    return oracle


def engine_maps(rt: Runtime, upto: int | None = None) -> dict[str, dict[Row, int]]:
    """All maps of the engine as the interpreter holds them: key tuples of Python values to units."""
    return {m.name: _entries(rt, m.name, upto) for m in rt.program.maps}


def _entries(rt: Runtime, name: str, upto: int | None) -> dict[Row, int]:
    decl = rt.program.map_by_name[name]
    table = read_map(rt, name, upto)
    columns = [table[k.name].to_pylist() for k in decl.keys]
    for i, key in enumerate(decl.keys):
        if key.type.kind == "decimal":
            columns[i] = [None if v is None else Decimal(from_units(int(v), key.type.scale)) for v in columns[i]]
    keys = list(zip(*columns, strict=True)) if columns else [()] * len(table)
    return dict(zip(keys, map(int, table["_value"].to_pylist()), strict=True))


def oracle_maps(oracle: Interpreter) -> dict[str, dict[Row, int]]:
    """The interpreter's maps without zero entries; those of more than 38 digits as they are read: a number that no type holds."""
    return {name: {k: _held(v) for k, v in entries.items() if v} for name, entries in oracle.maps.items()}


def _held(units: int) -> int:
    return units if abs(units) < 10**38 else (2**127 - 1) * (1 if units > 0 else -1)
