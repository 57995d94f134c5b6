"""Products over joined rows in a normal form, and sums of them.

Grammar::

    Sum     := {Product: coefficient}
    Product := Product(atoms: Atom*, keys: Term*, equations: (Term, Term)*, conditions: Term*, factors: Term*)
    Atom    := (relation, kind)

A product is, for each key, the sum of its factors' product over the rows of the join of its atoms that meet the equations and the
conditions, each row as often as all its atoms have it. An atom's kind says which of a relation's rows it means (:data:`ROWS` and the
others). Columns of the row ``i`` are ``column(i, ...)``; a negative row is no atom but one given row.

Two products with one normal form are the same function of the relations. The converse holds as far as operations are not interpreted
and self-joins have few look-alike atoms, which is what proofs need: one that is missed costs speed and is never wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from m3.confluence.equations import Contradiction, Rules
from m3.confluence.terms import NULL_TESTED, Term, is_column, is_constant, mapped, nonnull_parts, variables
from m3.scalars import STRICT

__all__ = [
    "CHANGE",
    "DELETES",
    "DELETES_CHANGE",
    "ROWS",
    "Atom",
    "Coefficient",
    "Nullable",
    "Product",
    "Sum",
    "add",
    "normal",
]

Coefficient = int | Fraction
#: What a relation contains: its inserts less its deletes.
ROWS = 0
#: By how much that changes.
CHANGE = 1
#: All of its deletes so far, and by how much they change.
DELETES, DELETES_CHANGE = 2, 3
Atom = tuple[str, int]
#: For each relation, which of its columns may be NULL.
Nullable = Mapping[str, Sequence[bool]]
#: Orders of look-alike atoms that are tried.
MAX_ORDERS = 720


class Product(NamedTuple):
    """One product; see the module."""

    atoms: tuple[Atom, ...]
    keys: tuple[Term, ...]
    equations: tuple[tuple[Term, Term], ...] = ()
    conditions: tuple[Term, ...] = ()
    factors: tuple[Term, ...] = ()

    def moved(self, places: Mapping[int, int]) -> Product:
        """With the rows numbered otherwise."""

        def change(given: Term) -> Term:
            return (1, 1, places.get(given[2], given[2]), given[3])

        return self._replace(
            keys=tuple(mapped(t, change) for t in self.keys),
            equations=tuple((mapped(a, change), mapped(b, change)) for a, b in self.equations),
            conditions=tuple(mapped(t, change) for t in self.conditions),
            factors=tuple(mapped(t, change) for t in self.factors),
        )

    def terms(self) -> Iterator[Term]:
        """All its terms."""
        yield from self.keys
        yield from itertools.chain.from_iterable(self.equations)
        yield from self.conditions
        yield from self.factors


Sum = dict[Product, Coefficient]


def add(total: Sum, product: Product, coefficient: Coefficient) -> None:
    """Add to a sum; what becomes 0 vanishes."""
    new = total.get(product, 0) + coefficient
    if new:
        total[product] = new
    else:
        total.pop(product, None)


def normal(product: Product, nullable: Nullable, given: Mapping[int, str] = MappingProxyType({})) -> Product | None:
    """The normal form of a product; None where no row can meet its conditions. ``given``: the relations of its given rows."""
    try:
        return min((_ordered(product, order, nullable, given) for order in _orders(product)), default=None)
    except Contradiction:
        return None


def _orders(product: Product) -> list[tuple[int, ...]]:
    """The orders of the atoms by name; look-alikes in all orders, if they are not too many."""
    atoms = product.atoms
    if len(set(atoms)) == len(atoms):
        return [tuple(sorted(range(len(atoms)), key=atoms.__getitem__))]
    looks = [(atom, _look(product, i)) for i, atom in enumerate(atoms)]
    ordered = sorted(range(len(atoms)), key=looks.__getitem__)
    groups = [list(g) for _, g in itertools.groupby(ordered, key=looks.__getitem__)]
    if math.prod(math.factorial(len(g)) for g in groups) > MAX_ORDERS:
        return [tuple(ordered)]
    choices = itertools.product(*(itertools.permutations(g) for g in groups))
    return [tuple(i for group in choice for i in group) for choice in choices]


def _look(product: Product, atom: int) -> tuple[object, ...]:
    """What is said of one atom's columns alone."""
    mine = product.moved({atom: -99})
    own = [t for t in (*mine.conditions, *mine.factors) if _is_of(t)]
    return tuple(sorted(own)), tuple((i, k) for i, k in enumerate(mine.keys) if _is_of(k))


def _is_of(given: Term) -> bool:
    rows = {v[2] for v in variables(given)}
    return rows == {-99}


def _ordered(product: Product, order: Sequence[int], nullable: Nullable, given: Mapping[int, str]) -> Product:
    """The product with its atoms in an order, and one representative for all that is equal."""
    moved = (
        product.moved({old: new for new, old in enumerate(order) if old != new})
        if list(order) != sorted(order)
        else product
    )
    atoms = tuple(product.atoms[i] for i in order)
    rules = Rules(moved.equations)
    conditions = {rules.of(c) for c in moved.conditions}
    relations = {**given, **{i: relation for i, (relation, _) in enumerate(atoms)}}
    return Product(
        atoms,
        tuple(map(rules.of, moved.keys)),
        rules.found(),
        tuple(sorted(_needed(conditions, rules, relations, nullable))),
        tuple(sorted(map(rules.of, moved.factors))),
    )


def _needed(conditions: set[Term], rules: Rules, relations: Mapping[int, str], nullable: Nullable) -> set[Term]:
    """The conditions without those that say IS NOT NULL of what never is, by its type or by another condition."""
    tested = {part for c in conditions if c[1] == NULL_TESTED for part in nonnull_parts(c[3])}
    if not tested:
        return conditions
    others = {c for c in conditions if c[1] != NULL_TESTED}
    known = {part for c in others if c[0] > 1 and c[1] in STRICT for part in nonnull_parts(c)}
    open_ = (p for p in map(rules.of, tested - known) if not _never_null(p, rules, relations, nullable))
    return others | {(1 + part[0], NULL_TESTED, "BOOL", part) for part in open_}


def _never_null(part: Term, rules: Rules, relations: Mapping[int, str], nullable: Nullable) -> bool:
    if is_constant(part):
        return True
    columns = (m for m in rules.members(part) if is_column(m))
    return any(not nullable[relations[m[2]]][m[3]] for m in columns)


def subsets(places: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """All that are not empty."""
    return itertools.chain.from_iterable(itertools.combinations(places, n) for n in range(1, len(places) + 1))
