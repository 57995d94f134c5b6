"""A small stream of shop orders as drops on disk, for tests that start real processes."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cumulus_ops.maps.columns import logical_type
from cumulus_ops.project.settings import Project
from m3.datatypes import INT, STRING, decimal
from m3.program import Column, Relation
from tests.support.projects import make_project

CUSTOMER = Relation("customer", (Column("ck", INT), Column("nation", STRING.with_null())), ("ck",))
ORDER = Relation("orders", (Column("ok", INT), Column("ck", INT), Column("priority", INT)), ("ok",))
ITEM = Relation("item", (Column("ok", INT), Column("price", decimal(12, 2)), Column("discount", decimal(4, 2))))
RELATIONS = (CUSTOMER, ORDER, ITEM)
VIEWS = {
    "revenue": (
        "SELECT nation, SUM(price * (1 - discount)) AS revenue, COUNT(*) AS items FROM customer c, orders o, item i "
        "WHERE c.ck = o.ck AND o.ok = i.ok GROUP BY nation"
    ),
    "by_priority": (
        "SELECT priority, COUNT(*) AS n, AVG(price) AS average FROM orders o JOIN item i ON o.ok = i.ok GROUP BY priority"
    ),
    "total": "SELECT SUM(price) AS total, COUNT(*) AS n FROM item",
}


def make_shop(folder: Path, *, periods: int = 7, rows: int = 20, seed: int = 0, **options: object) -> Project:
    """A project over the shop's relations, with ``periods`` landed drops for each of its three coordinators; it maintains
    its views, unless the options name a program."""
    options = {"views": VIEWS, **options} if "program" not in options else options
    project = make_project(folder, RELATIONS, **options)  # type: ignore[arg-type]
    write_drops(project.landing, periods, rows, seed)
    return dataclasses.replace(project, landing=project.landing)


def write_drops(landing: Path, periods: int, rows: int, seed: int) -> None:
    """Seeded drops: rows arrive at any coordinator, some are deleted or changed later by the coordinator they came to."""
    rng = random.Random(seed)
    live: list[list[tuple[Relation, tuple[object, ...]]]] = [[], [], []]
    offsets: dict[tuple[int, str], int] = {}
    for period in range(periods):
        for coordinator in range(3):
            events: dict[str, list[tuple[str, int, tuple[object, ...]]]] = {}
            for _ in range(rows):
                for relation, op, row, event in _draw(rng, live[coordinator], coordinator, offsets):
                    events.setdefault(relation.name, []).append((op, event, row))
            _write(landing / str(coordinator) / f"p{period:04d}", events)


def _draw(
    rng: random.Random,
    live: list[tuple[Relation, tuple[object, ...]]],
    coordinator: int,
    offsets: dict[tuple[int, str], int],
) -> list[tuple[Relation, str, tuple[object, ...], int]]:
    kind = rng.random()
    if live and kind < 0.25:
        relation, row = live.pop(rng.randrange(len(live)))
        event = _next(offsets, coordinator, relation)
        if kind < 0.12:
            return [(relation, "D", row, event)]
        new = _row(rng, relation)
        live.append((relation, new))
        return [(relation, "D", row, event), (relation, "I", new, event)]
    relation = rng.choice([CUSTOMER, ORDER, ITEM, ITEM])
    row = _row(rng, relation)
    live.append((relation, row))
    return [(relation, "I", row, _next(offsets, coordinator, relation))]


def _next(offsets: dict[tuple[int, str], int], coordinator: int, relation: Relation) -> int:
    offsets[coordinator, relation.name] = offsets.get((coordinator, relation.name), -1) + 1
    return offsets[coordinator, relation.name]


def _row(rng: random.Random, relation: Relation) -> tuple[object, ...]:
    from decimal import Decimal

    if relation is CUSTOMER:
        return rng.randrange(20), rng.choice([None, "FRANCE", "JAPAN", "PERU"])
    if relation is ORDER:
        return rng.randrange(60), rng.randrange(20), rng.randrange(3)
    return rng.randrange(60), Decimal(rng.randrange(100, 99999)).scaleb(-2), Decimal(rng.randrange(0, 11)).scaleb(-2)


def _write(drop: Path, events: dict[str, list[tuple[str, int, tuple[object, ...]]]]) -> None:
    drop.mkdir(parents=True)
    for relation in RELATIONS:
        rows = events.get(relation.name, [])
        if not rows:
            continue
        columns = {
            c.name: pa.array([row[i] for _, _, row in rows], logical_type(c.type))
            for i, c in enumerate(relation.columns)
        }
        table = pa.table({"op": [op for op, _, _ in rows], "event": pa.array([e for _, e, _ in rows]), **columns})
        pq.write_table(table, drop / f"{relation.name}.parquet")
