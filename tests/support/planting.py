"""Rows for queries: for each block of a query some that fulfil its conditions together, and others; then they change.

A block is a SELECT with the tables of its FROM. What it says of one table chooses among random rows that have the constants of its conditions; what is
equal in two tables has one value. Conditions with subqueries are left to chance.
"""

from __future__ import annotations

import datetime
import itertools
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from cumulus_ops.maps.columns import logical_type
from m3.datatypes import INT, TIMESTAMP, Type
from m3.program import Column, Relation

__all__ = ["Batch", "Row", "batches", "constants_of", "finds", "fit", "plant"]

Row = tuple[Any, ...]
Batch = list[tuple[int, str, Row]]
Place = tuple[str, str]  # an alias, a column

ROUNDS, NOISE, CANDIDATES = 8, 8, 100  # consistent sets of rows; random rows; random rows to choose one from
SMALL = 4  # what is equal has few values, so that rows of two rounds meet
TEXTS = ("a", "bb", "Ccc", "")
NUMBERS = ("1", "5", "20", "99.5", "250", "-1.5")
START = datetime.datetime(2000, 1, 1)
CAST_TO = {
    (exp.DType.DATE, *exp.DataType.TEMPORAL_TYPES): TIMESTAMP,
    tuple(exp.DataType.NUMERIC_TYPES): INT,
}
COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Like, exp.ILike)


@dataclass(frozen=True)
class _Block:
    """The tables of one SELECT by their aliases, its conditions, and what USING says is equal."""

    tables: Mapping[str, Relation]
    conditions: Sequence[exp.Expression]
    equal: Sequence[tuple[Place, Place]]


@dataclass
class _Garden:
    """Where rows are planted: what is random, DuckDB for conditions, the columns that matter, what texts are cast to, numbers for keys."""

    rnd: random.Random
    connection: duckdb.DuckDBPyConnection
    mentioned: frozenset[str]
    casts: Mapping[str, Type]
    keys: Iterator[int] = field(default_factory=lambda: itertools.count(1))


def plant(
    query: exp.Expression, relations: Sequence[Relation], seed: int, rounds: int = ROUNDS
) -> dict[str, list[Row]]:
    """Rows for the tables of a query, those of a table with a key under different keys."""
    everything = frozenset(c.name.lower() for r in relations for c in r.columns)
    mentioned = frozenset(c.name.lower() for c in query.find_all(exp.Column))
    planted: dict[str, list[Row]] = {relation.name: [] for relation in relations}
    blocks = [block for select in query.find_all(exp.Select) if (block := _read_block(select, relations)).tables]
    with duckdb.connect(config={"threads": 1}) as connection:
        garden = _Garden(
            random.Random(seed), connection, everything if query.find(exp.Star) else mentioned, _casts(query)
        )
        for number, block in itertools.product(range(rounds), blocks):
            for relation, row in _plant_block(block, number % SMALL + 1, garden):
                planted[relation].append(row)
        for relation, _ in itertools.product(relations, range(NOISE)):
            row = _random_row(relation, {}, garden.rnd.randint(1, SMALL), garden)
            planted[relation.name].append(tuple(row.values()))
    return {relation.name: _with_own_keys(relation, planted[relation.name]) for relation in relations}


def _casts(query: exp.Expression) -> dict[str, Type]:
    """What columns are cast to that a text may not be."""
    casts = [(c.this, c.to) for c in query.find_all(exp.Cast) if isinstance(c.this, exp.Column)]
    return {column.name.lower(): t for column, to in casts for kind, t in CAST_TO.items() if to.is_type(*kind)}


def _read_block(select: exp.Select, relations: Sequence[Relation]) -> _Block:
    start, joins = select.args.get("from_"), select.args.get("joins") or []
    sources = [node.this for node in [start, *joins] if node is not None and isinstance(node.this, exp.Table)]
    named = {relation.name.lower(): relation for relation in relations}
    tables = {t.alias_or_name.lower(): named[t.name.lower()] for t in sources if t.name.lower() in named}
    where = select.args.get("where")
    conditions = [where.this] if where is not None else []
    conditions += [join.args["on"] for join in joins if join.args.get("on") is not None]
    equal: list[tuple[Place, Place]] = []
    for name in (u.name.lower() for join in joins for u in join.args.get("using") or ()):
        places = [(alias, name) for alias, relation in tables.items() if name in _columns(relation)]
        equal += itertools.pairwise(places)
    return _Block(tables, conditions, equal)


def _columns(relation: Relation) -> dict[str, Column]:
    return {column.name.lower(): column for column in relation.columns}


def _plant_block(block: _Block, number: int, garden: _Garden) -> Iterator[tuple[str, Row]]:
    """A row for each of the block's tables."""
    about, equal = _sort_conditions(block, garden.rnd)
    rows = {a: _fulfilling_row(a, r, about[a], number, garden) for a, r in block.tables.items()}
    stated = {
        (a, c.name.lower()) for a, its in about.items() for condition in its for c in condition.find_all(exp.Column)
    }
    keys = {
        (a, r.key[0].lower())
        for a, r in block.tables.items()
        if len(r.key) == 1 and _columns(r)[r.key[0].lower()].type.kind == "int"
    }
    for places in _classes(equal, keys):
        lead = next((p for p in places if p in stated), places[0])
        value = next(garden.keys) if lead not in stated and keys & set(places) else rows[lead[0]][lead[1]]
        for alias, name in places:
            rows[alias][name] = fit(value, _columns(block.tables[alias])[name].type)
    for alias, relation in block.tables.items():
        yield relation.name, tuple(rows[alias].values())


def _sort_conditions(
    block: _Block, rnd: random.Random
) -> tuple[dict[str, list[exp.Expression]], list[tuple[Place, Place]]]:
    """What is said of one table, and what is equal in two; of alternatives over several tables one is taken."""
    about: dict[str, list[exp.Expression]] = defaultdict(list)
    equal, waiting = list(block.equal), list(block.conditions)
    while waiting:
        condition = waiting.pop().unnest()
        if isinstance(condition, exp.And):
            waiting += [condition.this, condition.expression]
            continue
        places = [_place(column, block.tables) for column in condition.find_all(exp.Column)]
        if not places or None in places or condition.find(exp.Query):
            continue
        if len({place[0] for place in places if place}) == 1:
            about[places[0][0]].append(condition)  # type: ignore[index]
        elif isinstance(condition, exp.Or):
            waiting.append(rnd.choice([condition.this, condition.expression]))
        elif (
            isinstance(condition, exp.EQ)
            and isinstance(condition.this, exp.Column)
            and isinstance(condition.expression, exp.Column)
        ):
            equal.append((places[0], places[1]))  # type: ignore[arg-type]
    return about, equal


def _place(column: exp.Column, tables: Mapping[str, Relation]) -> Place | None:
    name, said = column.name.lower(), column.table.lower()
    return next(((a, name) for a, r in tables.items() if name in _columns(r) and said in ("", a)), None)


def _classes(equal: Sequence[tuple[Place, Place]], alone: set[Place]) -> list[list[Place]]:
    """What is equal to each other, and alone what is equal to nothing."""
    classes: list[list[Place]] = [[place] for place in sorted(alone)]
    for pair in equal:
        touched = [its for its in classes if set(pair) & set(its)]
        classes = [its for its in classes if its not in touched]
        classes.append(list(dict.fromkeys(place for its in [*touched, list(pair)] for place in its)))
    return classes


def _fulfilling_row(
    alias: str, relation: Relation, conditions: Sequence[exp.Expression], number: int, garden: _Garden
) -> dict[str, Any]:
    """A random row of which the conditions hold, if there is one."""
    if not conditions:
        return _random_row(relation, {}, number, garden)
    constants = constants_of(conditions)
    rows = [_random_row(relation, constants, number, garden) for _ in range(CANDIDATES)]
    columns = {
        c.name: pa.array([row[name] for row in rows], logical_type(c.type)) for name, c in _columns(relation).items()
    }
    garden.connection.register("candidates", pa.table(columns | {"row number": range(CANDIDATES)}))
    stated = " AND ".join(f"({condition.sql('duckdb', identify=True)})" for condition in conditions)
    with suppress(duckdb.Error):
        found = garden.connection.execute(f'SELECT "row number" FROM candidates AS "{alias}" WHERE {stated}').fetchall()
        return rows[garden.rnd.choice(found)[0]] if found else rows[0]
    return rows[0]


def _random_row(
    relation: Relation, constants: Mapping[str, Sequence[Any]], number: int, garden: _Garden
) -> dict[str, Any]:
    return {name: _value(name, column.type, constants, number, garden) for name, column in _columns(relation).items()}


def _value(name: str, t: Type, constants: Mapping[str, Sequence[Any]], number: int, garden: _Garden) -> Any:
    rnd = garden.rnd
    if t.nullable and (name not in garden.mentioned or rnd.random() < 0.04):
        return None
    fitting = [v for v in (fit(c, t) for c in constants.get(name, ())) if v is not None]
    if fitting and rnd.random() < 0.9:
        return rnd.choice(fitting)
    match t.kind:
        case "int":
            return number if rnd.random() < 0.8 else rnd.randint(1, SMALL)
        case "bool":
            return rnd.random() < 0.5
        case "string":
            return (
                str(_value(name, garden.casts[name], constants, number, garden))
                if name in garden.casts
                else rnd.choice(TEXTS)
            )
        case "date":
            return (START + datetime.timedelta(rnd.randint(0, 60))).date()
        case "timestamp":
            return START + datetime.timedelta(minutes=rnd.randint(0, 3000))
        case _:
            return fit(rnd.choice(NUMBERS), t) or fit("0", t)


def fit(value: Any, t: Type) -> Any:
    """A constant as a value of the type; None if it is none."""
    try:
        match t.kind:
            case "int":
                return int(value)
            case "string":
                return str(value)
            case "double":
                return float(value)
            case "bool":
                return value if isinstance(value, bool) else None
            case "date":
                return datetime.datetime.fromisoformat(_day(value)).date()
            case "timestamp":
                return datetime.datetime.fromisoformat(_day(value))
            case _:
                fitted = Decimal(str(value)).quantize(Decimal(1).scaleb(-t.scale))
                return fitted if abs(fitted) < 10 ** (t.precision - t.scale) else None
    except (ValueError, TypeError, ArithmeticError):
        return None


def _day(value: Any) -> str:
    """A date, a time or their text; of a number, which may be a year, a day in it."""
    return f"{value}-07-01" if isinstance(value, int) else str(value)


def constants_of(conditions: Sequence[exp.Expression]) -> dict[str, list[Any]]:
    """What each column is compared with in the conditions, and what lies beside it; texts that match its patterns, also all of them."""
    found: dict[str, list[Any]] = defaultdict(list)
    matching: dict[str, list[str]] = defaultdict(list)
    for node in (node for condition in conditions for node in condition.find_all(*COMPARISONS)):
        if not node.find(exp.Query):
            names = {column.name.lower() for column in node.find_all(exp.Column)}
            values = [v for side in node.iter_expressions() for v in _constant(side)]
            for name in names:
                found[name] += values
                matching[name] += [v for v in values if isinstance(v, str) and isinstance(node, exp.Like | exp.ILike)]
    for name, texts in matching.items():
        found[name] += [" ".join(texts)] if len(texts) > 1 else []
    return found


def _constant(side: exp.Expression) -> Iterator[Any]:
    """The value of a side of a comparison that has no columns, and for numbers and dates its neighbours."""
    if side.find(exp.Column):
        return
    try:
        value = duckdb.sql(f"SELECT {side.sql('duckdb')}").fetchone()[0]  # type: ignore[index]
    except duckdb.Error:
        return
    if isinstance(value, str):
        yield value.replace("%", "")
    else:
        yield value
        if isinstance(value, datetime.date):
            yield from (value + datetime.timedelta(days) for days in (-1, 1, 10))
        elif isinstance(value, int | Decimal):
            yield from (value - 1, value + 1)


def _with_own_keys(relation: Relation, rows: Sequence[Row]) -> list[Row]:
    """The rows, of each key the first."""
    at = _key_places(relation)
    return list({tuple(row[i] for i in at): row for row in reversed(rows)}.values())[::-1] if at else list(rows)


def _key_places(relation: Relation) -> list[int]:
    return [i for i, column in enumerate(relation.columns) if column.name in relation.key]


def batches(
    planted: Mapping[str, Sequence[Row]], relations: Sequence[Relation], seed: int, count: int = 3
) -> list[Batch]:
    """Most rows, then batches of inserts, deletes and updates, at last deletes of all that is left."""
    rnd = random.Random(seed)
    waiting = {table: list(rows) for table, rows in planted.items()}
    live = {table: [rows.pop() for _ in range(len(rows) * 4 // 5)] for table, rows in waiting.items()}
    kept = {relation.name: _key_places(relation) for relation in relations}
    made: list[Batch] = [[(1, table, row) for table, rows in live.items() for row in rows]]
    for left in range(count, 0, -1):
        batch: Batch = []
        for table, rows in live.items():
            coming = [waiting[table].pop() for _ in range(-(-len(waiting[table]) // left))]
            rnd.shuffle(rows)
            going = [rows.pop() for _ in range(max(1, len(rows) // 10)) if rows]
            old = [rows.pop() for _ in range(max(1, len(rows) // 10)) if rows]
            new = [_mixed(row, rnd.choice(planted[table]), kept[table], rnd) for row in old]
            batch += [(-1, table, row) for row in going + old] + [(1, table, row) for row in coming + new]
            rows += coming + new
        made.append(batch)
    return [*made, [(-1, table, row) for table, rows in live.items() for row in rows]]


def _mixed(row: Row, other: Row, key: Sequence[int], rnd: random.Random) -> Row:
    """The row with some of another's values, under the same key."""
    return tuple(a if i in key or rnd.random() >= 0.3 else b for i, (a, b) in enumerate(zip(row, other, strict=True)))


def finds(rows: Sequence[Row] | None) -> bool:
    """Whether there is more among the rows than NULL and 0."""
    return any(value not in (None, 0) for row in rows or () for value in row)
