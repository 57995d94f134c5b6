"""Comparisons with a subquery that counts: what its default takes away is joined with what its groups add, where that is right."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import pytest

from m3 import compile_views
from m3.algebra import attempts
from m3.datatypes import INT
from m3.program import Column, Relation
from m3.scalars import Scalar, const
from tests.fuzz.compare import same_rows
from tests.fuzz.database import Database
from tests.support.sampling import sampled
from tests.unit.m3.oracle import Event, run

RELATIONS = (
    Relation("ads", (Column("id", INT), Column("owner", INT.with_null()))),
    Relation("clicks", (Column("id", INT), Column("day", INT.with_null()))),
)
COMPARISONS = ("ads.owner {} ({})", "({}) {} ads.owner", "NOT ads.owner {} ({})")
COUNTED = (
    "SELECT COUNT(*) FROM clicks",
    "SELECT COUNT(*) FROM clicks WHERE clicks.id = ads.id",
    "SELECT COUNT(day) FROM clicks WHERE clicks.id = ads.id",
)


def queries() -> Iterator[str]:
    for form in COMPARISONS:
        for op in ("<", "<=", ">", ">=", "=", "<>"):
            for counted in COUNTED:
                parts = (counted, op) if form.startswith("({})") else (op, counted)
                yield f"SELECT ads.id, COUNT(*) AS n, SUM(owner) AS s FROM ads WHERE {form.format(*parts)} GROUP BY ads.id"


def stream(seed: int) -> list[Event]:
    """Few rows, of which some are deleted; owners below, among and above the counts."""
    draw = random.Random(seed)
    events: list[Event] = []
    for _ in range(12):
        name = draw.choice(("ads", "clicks", "clicks"))
        row = draw.choice((1, 2)), draw.choice((None, -1, 0, 1, 2, 3))
        events.append((1, name, row))
        if draw.random() < 0.3:
            events.append(
                (-1, *draw.choice([e for e in events if events.count((1, *e[1:])) > events.count((-1, *e[1:]))])[1:])
            )
    return events


def differing(seeds: Sequence[int] = range(4)) -> Iterator[str]:
    """The queries that have other rows than in DuckDB."""
    everything, database = list(queries()), Database(RELATIONS)
    program = compile_views("p", RELATIONS, {f"v{i}": sql for i, sql in enumerate(everything)}, "duckdb")
    for seed in seeds:
        database.clear()
        database.apply(stream(seed))
        interpreter, _ = run(program, stream(seed))
        for i, sql in enumerate(everything):
            if not same_rows(interpreter.view_rows(f"v{i}"), database.rows(sql)):
                yield sql


def test_rows_are_those_of_duckdb() -> None:
    assert not list(differing(sampled(range(4), 3)))


def test_what_rises_takes_nothing_away() -> None:
    rising = "SELECT id FROM ads WHERE owner < (SELECT COUNT(*) FROM clicks)"
    falling = rising.replace("<", ">")
    taken = {
        sql: [
            s
            for t in compile_views("p", RELATIONS, {"v": sql}).triggers
            if t.sign >= 0
            for s in t.statements
            if const(-1) in s.factors
        ]
        for sql in (rising, falling)
    }
    assert not taken[rising]
    assert taken[falling]


def _turned(condition: Scalar) -> tuple[str, Scalar, Scalar]:
    op, low, high = _order_sides(condition)
    return op, high, low


#: A wrong rule: what it does instead.
WRONG: dict[str, tuple[str, Callable[..., object]]] = {
    "the other direction": ("_order_sides", _turned),
    "nothing is left out": ("_find_rest", lambda more, less: _find_rest(more, less) and const(True)),
    "what is implied is what is left": (
        "_find_rest",
        lambda more, less: _find_rest(more, less) and less.branch.conditions[-1],
    ),
}


@pytest.mark.parametrize("rule", sampled(WRONG, 3))
def test_a_wrong_rule_is_noticed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, *WRONG[rule])
    assert next(differing(), None) is not None


_order_sides, _find_rest = attempts._order_sides, attempts._find_rest
