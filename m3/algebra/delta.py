"""Deltas: by how much an aggregate changes when one row is inserted into, or deleted from, a relation.

For a product of atoms ``A1 * ... * An`` over the state D before the event, with ``dAi`` the atom on the event's row
alone (or nothing, when Ai is another relation), insertion gives ``prod(Ai + dAi) - prod(Ai)`` and deletion
``prod(Ai - dAi) - prod(Ai)``: a sum over the non-empty sets S of occurrences of the relation, of
``sign^|S| * prod(dAi, i in S) * prod(Aj, j not in S)``. So the delta of a delete is the delta of an insert with the
factor -1, except for the even terms of a self-join.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from m3.algebra.terms import Aggregate, Atom
from m3.scalars import Scalar, call

__all__ = ["DeltaTerm", "delta"]


@dataclass(frozen=True)
class DeltaTerm:
    """One monomial of a delta.

    ``bound`` gives the variables that the event determines as expressions over its columns, ``conditions`` and
    ``factors`` are over its columns too, ``rest`` are the atoms that still have to be read, as before the event.
    """

    coefficient: int
    bound: tuple[tuple[str, Scalar], ...]
    conditions: tuple[Scalar, ...]
    factors: tuple[Scalar, ...]
    rest: tuple[Atom, ...]


def delta(aggregate: Aggregate, relation: str, sign: int) -> Iterator[DeltaTerm]:
    """The monomials of the change of ``aggregate`` when a row of ``relation`` is inserted (1) or deleted (-1)."""
    occurrences = [i for i, a in enumerate(aggregate.atoms) if a.relation == relation]
    for size in range(1, len(occurrences) + 1):
        for chosen in itertools.combinations(occurrences, size):
            replaced = [aggregate.atoms[i] for i in chosen]
            rest = tuple(a for i, a in enumerate(aggregate.atoms) if i not in chosen)
            yield _term(replaced, rest, sign**size)


def _term(replaced: list[Atom], rest: tuple[Atom, ...], coefficient: int) -> DeltaTerm:
    bound: dict[str, Scalar] = {}
    conditions = [c for a in replaced for c in a.conditions]
    for name, expr in (b for a in replaced for b in a.bindings):
        first = bound.setdefault(name, expr)
        if first != expr:
            conditions.append(call("eq", first, expr))
    factors = tuple(f for a in replaced for f in a.factors)
    return DeltaTerm(coefficient, tuple(bound.items()), tuple(dict.fromkeys(conditions)), factors, rest)
