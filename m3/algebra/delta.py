"""Deltas: by how much a product changes when rows are inserted into, or deleted from, a relation.

For a product of atoms ``A1 * ... * An`` and a change ``dR`` of a relation R, the occurrences of R change one after the
other, so the difference telescopes: occurrence i contributes ``dAi`` times the earlier occurrences of R after the change
and the later ones before it. Each term has one changed atom, whatever the change, so a delete is an insert times -1, and
many rows can change at once.

The papers' form is given too, over the state before the event alone: ``prod(Ai + dAi) - prod(Ai)`` expands into a sum
over the non-empty sets S of occurrences, of ``sign^|S| * prod(dAi, i in S) * prod(Aj, j not in S)``. It holds for single
rows only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from m3.algebra.terms import Atom, Monomial
from m3.scalars import Scalar, call

__all__ = ["DeltaTerm", "delta"]


@dataclass(frozen=True)
class DeltaTerm:
    """One product of a delta.

    ``bound`` gives the variables that the event determines as expressions over its columns, ``conditions`` and
    ``factors`` are over its columns too. ``rest`` are the atoms that still have to be read, each with ``True`` where it
    must be read after the event, ``False`` where before, and ``None`` where it makes no difference.
    """

    coefficient: int
    bound: tuple[tuple[str, Scalar], ...]
    conditions: tuple[Scalar, ...]
    factors: tuple[Scalar, ...]
    rest: tuple[tuple[Atom, bool | None], ...]


def delta(monomial: Monomial, relation: str, sign: int, *, single: bool = False) -> Iterator[DeltaTerm]:
    """The terms of the change of ``monomial`` when rows of ``relation`` are inserted (1) or deleted (-1).

    Args:
        monomial: the product.
        relation: what changes.
        sign: 1 or -1; 0 for a change whose rows carry their own signs.
        single: the papers' form for single rows.
    """
    places = [i for i, a in enumerate(monomial.atoms) if a.relation == relation]
    if single:
        yield from _expanded(monomial, places, sign)
        return
    for place in places:
        rest = [(a, None if i not in places else i < place) for i, a in enumerate(monomial.atoms) if i != place]
        yield _term([monomial.atoms[place]], tuple(rest), monomial.coefficient * (sign or 1))


def _expanded(monomial: Monomial, places: list[int], sign: int) -> Iterator[DeltaTerm]:
    for size in range(1, len(places) + 1):
        for chosen in itertools.combinations(places, size):
            replaced = [monomial.atoms[i] for i in chosen]
            rest = tuple((a, None) for i, a in enumerate(monomial.atoms) if i not in chosen)
            yield _term(replaced, rest, monomial.coefficient * sign**size)


def _term(replaced: list[Atom], rest: tuple[tuple[Atom, bool | None], ...], coefficient: int) -> DeltaTerm:
    bound: dict[str, Scalar] = {}
    conditions = [c for a in replaced for c in a.conditions]
    for name, expr in (b for a in replaced for b in a.bindings):
        first = bound.setdefault(name, expr)
        if first != expr:
            conditions.append(call("same", first, expr))
    factors = tuple(f for a in replaced for f in a.factors)
    return DeltaTerm(coefficient, tuple(bound.items()), tuple(dict.fromkeys(conditions)), factors, rest)
