"""Pass 3 and 4: sum equal statements, and order the statements of each trigger."""

from __future__ import annotations

from dataclasses import replace

from m3.compiler.draft import Draft
from m3.graphs import graph_of, in_order
from m3.program import Factor, Statement
from m3.scalars import Const, Scalar, const

__all__ = ["merge_statements", "order_statements"]

Event = tuple[int, str]
Shape = tuple[Event, str, tuple[Scalar, ...], tuple[Factor, ...], frozenset[Scalar]]


def merge_statements(draft: Draft) -> Draft:
    """Statements of one trigger that differ only in an integer coefficient become one; zero ones vanish.

    The two first-order terms of a symmetric self-join are the same statement::

        q[] += m[a]; q[] += m[a]   =>   q[] += 2 * m[a]
    """
    totals: dict[Shape, tuple[int, Statement]] = {}
    for sign, relation, statement in draft.statements:
        coefficient, rest = _split(statement.factors)
        shape = ((sign, relation), statement.target, statement.keys, rest, frozenset(statement.conditions))
        before, first = totals.get(shape, (0, statement))
        totals[shape] = (before + coefficient, first)
    merged = ((shape, total, first) for shape, (total, first) in totals.items() if total)
    return replace(draft, statements=tuple((*s[0], _scaled(first, s[3], total)) for s, total, first in merged))


def _split(factors: tuple[Factor, ...]) -> tuple[int, tuple[Factor, ...]]:
    """The product of the literal integers, and the other factors."""
    coefficient, rest = 1, []
    for factor in factors:
        if isinstance(factor, Const) and type(factor.value) is int and factor.type.kind == "int":
            coefficient *= factor.value
        else:
            rest.append(factor)
    return coefficient, tuple(rest)


def _scaled(statement: Statement, rest: tuple[Factor, ...], coefficient: int) -> Statement:
    return replace(statement, factors=rest if coefficient == 1 else (const(coefficient), *rest))


def order_statements(draft: Draft) -> Draft:
    """Within a trigger, a map is written after all statements that read it as before the event, and before those that
    read it after.

    Then running the statements in order (sequential semantics) and all at once (snapshot semantics) is the same. Only
    where a relation joins itself three times or more there may be no such order: a statement can then need one map both
    before and after the event. All programs of the compiler are declared with snapshot semantics, which is right always.
    """
    events = list(dict.fromkeys((sign, relation) for sign, relation, _ in draft.statements))
    ranks = {name: i for i, name in enumerate(["", *draft.sources()])}
    ordered: list[tuple[int, str, Statement]] = []
    for event in sorted(events, key=lambda e: (ranks[e[1]], -e[0])):
        mine = [s for sign, relation, s in draft.statements if (sign, relation) == event]
        ordered += [(*event, s) for s in _ordered(mine, draft)]
    return replace(draft, statements=tuple(ordered))


def _ordered(statements: list[Statement], draft: Draft) -> list[Statement]:
    sizes = {d.name: (-d.size, i) for i, d in enumerate(draft.definitions)}
    writers: dict[str, list[int]] = {}
    for i, statement in enumerate(statements):
        writers.setdefault(statement.target, []).append(i)
    edges = [
        (w, i) if ref.after else (i, w)
        for i, statement in enumerate(statements)
        for ref in statement.reads()
        for w in writers.get(ref.map, ())
    ]
    places = {i: (*sizes[s.target], i) for i, s in enumerate(statements)}
    order = in_order(graph_of(range(len(statements)), edges), places.__getitem__)
    return [statements[i] for i in order or sorted(places, key=places.__getitem__)]
