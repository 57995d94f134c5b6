"""Pass 3 and 4: sum equal statements, and order the statements of each trigger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from m3.compiler.draft import Draft
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
    """Within a trigger, a map is written only after all statements that read it.

    A statement reads maps with fewer atoms than its target has, so larger maps come first. Then running the statements
    in order (sequential semantics) and all at once (snapshot semantics) is the same.
    """
    sizes = {d.name: (-len(d.aggregate.atoms), i) for i, d in enumerate(draft.definitions)}
    relations = {r.name: i for i, r in enumerate(draft.relations)}
    ordered: Iterable[tuple[int, str, Statement]] = sorted(
        draft.statements, key=lambda s: (relations[s[1]], -s[0], sizes[s[2].target])
    )
    return replace(draft, statements=tuple(ordered))
