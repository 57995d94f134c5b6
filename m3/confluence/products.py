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
from typing import Any, NamedTuple

from m3.confluence.equations import Contradiction, Rules
from m3.confluence.terms import NULL_TESTED, Term, mapped, nonnull_parts, variables
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
#: Up to so many are tried without looking for differences first.
FEW_ORDERS = 2


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
    looks = _looks(product) if math.prod(math.factorial(atoms.count(a)) for a in set(atoms)) > FEW_ORDERS else atoms
    ordered = sorted(range(len(atoms)), key=lambda i: (atoms[i], looks[i]))
    groups = [list(g) for _, g in itertools.groupby(ordered, key=lambda i: (atoms[i], looks[i]))]
    if math.prod(math.factorial(len(g)) for g in groups) > MAX_ORDERS:
        return [tuple(ordered)]
    choices = itertools.product(*(itertools.permutations(g) for g in groups))
    return [tuple(i for group in choice for i in group) for choice in choices]


def _looks(product: Product) -> list[Any]:
    """Something by which atoms can be told apart, however they are numbered, and whatever is written for what is equal."""
    rules = Rules(product.equations)
    equal: dict[Term, list[tuple[Atom, int]]] = {}
    for member in {v for t in product.terms() for v in variables(t)}:
        equal.setdefault(rules.of(member), []).append(
            (product.atoms[member[2]] if member[2] >= 0 else ("", member[2]), member[3])
        )
    kinds = {representative: tuple(sorted(members)) for representative, members in equal.items()}
    parts = [(0, place, rules.of(key)) for place, key in enumerate(product.keys)]
    parts += [(1, 0, c) for c in {rules.of(c) for c in product.conditions} if c[1] != NULL_TESTED]
    parts += [(2, 0, rules.of(f)) for f in product.factors]

    def look(atom: int) -> Any:
        mine = {rules.of(v): v[3] for t in product.terms() for v in variables(t) if v[2] == atom}

        def skeleton(given: Term) -> Any:
            if given in kinds:
                return (0, kinds[given], mine.get(given, -1))
            return (1, str(given)) if given[0] == 1 else (2, given[1], sorted(skeleton(a) for a in given[3:]))

        return sorted((group, place, skeleton(t)) for group, place, t in parts)

    return [look(i) for i in range(len(product.atoms))]


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
    """The conditions, with those that say IS NOT NULL replaced by all that follows from them and not from the others, or from types."""
    tested = {part for c in conditions if c[1] == NULL_TESTED for part in nonnull_parts(c[3])}
    others = {c for c in conditions if c[1] != NULL_TESTED}
    if not tested:
        return others
    known = {part for c in others if c[0] > 1 and c[1] in STRICT for part in nonnull_parts(c)}
    terms = [t for sides in rules.found() for t in sides]
    columns = {v for t in (*tested, *terms) for v in variables(t)}
    known |= {c for c in columns if not nullable[relations[c[2]]][c[3]]}
    known = _closed(known, rules)
    return others | {(1 + part[0], NULL_TESTED, "BOOL", part) for part in _closed(known | tested, rules) - known}


def _closed(nonnull: set[Term], rules: Rules) -> set[Term]:
    """All that is not NULL because what it is equal to is not."""
    sides = [(set(nonnull_parts(a)), set(nonnull_parts(b))) for a, b in rules.found()]
    found, before = set(nonnull), -1
    while len(found) > before:
        before = len(found)
        for left, right in sides:
            if left <= found or right <= found:
                found |= left | right
    return found


def subsets(places: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """All that are not empty."""
    return itertools.chain.from_iterable(itertools.combinations(places, n) for n in range(1, len(places) + 1))
