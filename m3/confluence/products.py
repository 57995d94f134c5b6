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

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from m3.evaluate import FAILURES, coerce
from m3.scalars import STRICT, Const, Scalar, Var

__all__ = [
    "CHANGE",
    "DELETES",
    "DELETES_CHANGE",
    "NULL_TESTED",
    "ROWS",
    "Atom",
    "Coefficient",
    "Contradiction",
    "Nullable",
    "Product",
    "Rules",
    "Sum",
    "Term",
    "add",
    "column",
    "is_column",
    "is_constant",
    "keyed",
    "mapped",
    "nonnull_parts",
    "normal",
    "shifted",
    "term",
    "variables",
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

        return self.with_columns(change)

    def with_columns(self, change: Callable[[Term], Term]) -> Product:
        """With its columns changed."""
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
        return min((_order_atoms(product, order, nullable, given) for order in _orders(product)), default=None)
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


def _order_atoms(product: Product, order: Sequence[int], nullable: Nullable, given: Mapping[int, str]) -> Product:
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
        tuple(sorted(_drop_implied(conditions, rules, relations, nullable))),
        tuple(sorted(map(rules.of, moved.factors))),
    )


def _drop_implied(conditions: set[Term], rules: Rules, relations: Mapping[int, str], nullable: Nullable) -> set[Term]:
    """The conditions, with those that say IS NOT NULL replaced by all that follows from them and not from the others, or from types."""
    tested = {part for c in conditions if c[1] == NULL_TESTED for part in nonnull_parts(c[3])}
    others = {c for c in conditions if c[1] != NULL_TESTED}
    if not tested:
        return others
    known = {part for c in others if c[0] > 1 and c[1] in STRICT for part in nonnull_parts(c)}
    terms = [t for sides in rules.found() for t in sides]
    columns = {v for t in (*tested, *terms) for v in variables(t)}
    known |= {c for c in columns if not nullable[relations[c[2]]][c[3]]}
    known = _close_nonnull(known, rules)
    return others | {(1 + part[0], NULL_TESTED, "BOOL", part) for part in _close_nonnull(known | tested, rules) - known}


def _close_nonnull(nonnull: set[Term], rules: Rules) -> set[Term]:
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


# Scalar expressions over the rows of a join, as plain tuples that are quick to compare, to sort and to rewrite.
#
# Grammar::
#
#     Term := (1, 0, type, value)                -- a constant
#           | (1, 1, atom, column)               -- a column of one of the joined rows
#           | (size, operation, type, Term*)     -- an operation; size = 1 + the sizes of its arguments, at least 2
#
# Operations are not interpreted: two are equal where they are applied to equal arguments. Only the order of arguments that does
# not matter is made one (``a = b`` and ``b = a``), and ``a > b`` is ``b < a``. Whether a value may be NULL is no part of its type
# here, except where it decides the value (ATTEMPT).


Term = tuple[Any, ...]
COMMUTATIVE = frozenset({"eq", "ne", "same", "and", "or", "add", "mul"})
TURNED = {"gt": "lt", "ge": "le"}
#: Operations that take -0.0 for 0.0.
COMPARED = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "same", "in", "is_null"})
#: The operation that makes -0.0 0.0.
ONE_ZERO = "one_zero"
#: The operation that stands for NOT (x IS NULL).
NULL_TESTED = "is_not_null"


def column(atom: int, place: int) -> Term:
    """A column of a joined row."""
    return (1, 1, atom, place)


def is_column(given: Term) -> bool:
    """Whether a term is a column."""
    return bool(given[0] == 1 and given[1] == 1)


def is_constant(given: Term) -> bool:
    """Whether a term is a literal."""
    return bool(given[0] == 1 and given[1] == 0)


def term(scalar: Scalar, values: Mapping[str, Term]) -> Term:
    """A scalar as a term.

    >>> from m3.datatypes import INT
    >>> from m3.scalars import call
    >>> a, b = Var("a", INT), Var("b", INT)
    >>> places = {"a": column(0, 0), "b": column(1, 0)}
    >>> term(call("gt", a, b), places) == term(call("lt", b, a), places)
    True

    Args:
        scalar: any scalar.
        values: what its variables are.
    """
    if isinstance(scalar, Var):
        return values[scalar.name]
    if isinstance(scalar, Const):
        # Equal values of one type are one term, however they are written.
        try:
            value = coerce(scalar.value, scalar.type)
        except FAILURES:
            # It is no value, so it cannot differ from another one either.
            return (2, "literal", f"{_type_name(scalar.type)} {scalar.value!r}")
        return (1, 0, _type_name(scalar.type), repr(value))
    args = [(keyed if scalar.op in COMPARED else term)(a, values) for a in scalar.args]
    if scalar.op == "not":
        (inner,) = args
        if inner[1] == "is_null":
            return _made(NULL_TESTED, "BOOL", inner[3:])
    if scalar.op in TURNED:
        return _made(TURNED[scalar.op], "BOOL", args[::-1])
    text = _type_name(scalar.type)
    if scalar.op == "attempt" and scalar.type.nullable:
        text += " NULL"
    return _made(scalar.op, text, args)


def keyed(scalar: Scalar, values: Mapping[str, Term]) -> Term:
    """A scalar as what it is as a key of a map, or compared: 0.0 for -0.0, which are equal, and which other operations tell apart. Columns
    are 0.0 already, as events are taken in and maps are kept.

    >>> from m3.datatypes import DOUBLE
    >>> from m3.scalars import call
    >>> x = Var("x", DOUBLE)
    >>> keyed(x, {"x": column(0, 0)}), keyed(call("neg", x), {"x": column(0, 0)})
    ((1, 1, 0, 0), (3, 'one_zero', 'DOUBLE', (2, 'neg', 'DOUBLE', (1, 1, 0, 0))))
    """
    made = term(scalar, values)
    if scalar.type.kind != "double" or is_column(made) or made[1] == ONE_ZERO:
        return made
    if is_constant(made):
        return (*made[:3], repr(0.0) if made[3] == repr(-0.0) else made[3])
    return (1 + made[0], ONE_ZERO, made[2], made)


_type_name = functools.lru_cache(maxsize=1 << 10)(str)


def _made(op: str, type_: str, args: list[Term] | Term) -> Term:
    if op in COMMUTATIVE:
        args = sorted(args)
    return (1 + max(1, sum(a[0] for a in args)), op, type_, *args)


def mapped(given: Term, change: Callable[[Term], Term]) -> Term:
    """The term with its columns changed."""
    if given[0] == 1:
        return change(given) if given[1] == 1 else given
    return _made(given[1], given[2], [mapped(a, change) for a in given[3:]])


def rebuilt(given: Term, args: list[Term]) -> Term:
    """An operation with other arguments."""
    return _made(given[1], given[2], args)


def shifted(given: Term, by: int) -> Term:
    """The term with its rows numbered from ``by`` on."""
    return mapped(given, lambda c: (1, 1, c[2] + by, c[3])) if by else given


def variables(given: Term) -> Iterator[Term]:
    """The columns in a term, each as often as it occurs."""
    if given[0] == 1:
        if given[1] == 1:
            yield given
    else:
        for arg in given[3:]:
            yield from variables(arg)


def nonnull_parts(given: Term) -> Iterator[Term]:
    """What is not NULL where the term is not: an operation that is NULL exactly when an argument is hands the question on."""
    if given[0] > 1 and (given[1] in STRICT or given[1] == ONE_ZERO):
        for arg in given[3:]:
            yield from nonnull_parts(arg)
    elif not is_constant(given) or given[3] == repr(None):
        yield given


# What equalities between terms imply: one representative for all terms that are equal (ground completion).
#
# The rules ``larger -> smaller`` that equations become are applied to each other until none applies to another. Such a set of rules is
# the same for all sets of equations that imply each other, whatever order they come in: so it is a normal form of them.


class Contradiction(Exception):
    """Two constants would be equal: no row meets that."""


class Rules:
    """The rules of some equations.

    >>> from m3.confluence.products import column
    >>> a, b, c = column(0, 0), column(1, 0), column(2, 0)
    >>> Rules([(c, b), (b, a)]).found() == Rules([(c, a), (a, b)]).found()
    True

    Raises:
        Contradiction: two constants are equal.
    """

    def __init__(self, equations: Iterable[tuple[Term, Term]]) -> None:
        self._by: dict[Term, Term] = {}
        self._deep = False  # some left side is an operation
        waiting = list(equations)
        while waiting:
            left, right = map(self.of, waiting.pop())
            if left == right:
                continue
            if is_constant(left) and is_constant(right):
                raise Contradiction
            if left < right:
                left, right = right, left
            # The rules that the new one changes become equations again.
            self._by[left] = right
            self._deep = self._deep or left[0] > 1
            again = [(a, b) for a, b in self._by.items() if a != left and (_has(a, left) or _has(b, left))]
            for a, _ in again:
                del self._by[a]
            waiting += again

    def of(self, given: Term) -> Term:
        """The representative of a term."""
        if not self._by:
            return given
        if given[0] > 1:
            args = [self.of(a) for a in given[3:]]
            given = rebuilt(given, args)
            if not self._deep:
                return given
        return self._by.get(given, given)

    def found(self) -> tuple[tuple[Term, Term], ...]:
        """The rules, sorted."""
        return tuple(sorted(self._by.items()))


def _has(given: Term, part: Term) -> bool:
    return given == part or (given[0] > part[0] and any(_has(a, part) for a in given[3:]))
