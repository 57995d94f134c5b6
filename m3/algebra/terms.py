"""The ring algebra of this compiler: what a map holds, as a sum of products of base tables, in one normal form.

Grammar::

    Polynomial := Polynomial(columns: Column*, value: Type, terms: Monomial*)
    Monomial   := Monomial(coefficient, keys: Scalar*, atoms: Atom*, conditions: Scalar*, factors: Scalar*)
    Atom       := Atom(relation, bindings: (variable, Scalar)*, conditions: Scalar*, factors: Scalar*)

A polynomial is the map ``keys -> sum of its terms``; a term is ``SUM(coefficient * product of all factors)`` over the
rows of the join of its atoms that meet all conditions. Relations are base tables or derived maps. The scalars of an
atom are over the columns of its relation alone, by their bare names; those of the monomial are over its variables:
everything that ties atoms together is in the variables. A variable bound by several atoms is an equi-join; that NULLs
do not join is said by the atoms' conditions. Products of filters, factors and joins are monomials of the ring of
multisets with exact numbers as multiplicities (AGCA, VLDB Journal 2014, section 3).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from m3.datatypes import INT, MAX_PRECISION, Type
from m3.errors import CompileError
from m3.program import Column
from m3.scalars import Scalar, Var, as_decimal, call, numeric_as_decimal, substitute, variables

__all__ = [
    "Atom",
    "Failure",
    "Monomial",
    "Polynomial",
    "components",
    "free",
    "localise",
    "narrow",
    "polynomial",
    "sum_type",
    "unused_name",
    "value_type",
    "variable_type",
]


@dataclass(frozen=True)
class Atom:
    """One occurrence of a relation. Each variable is bound at most once per atom."""

    relation: str
    bindings: tuple[tuple[str, Scalar], ...] = ()
    conditions: tuple[Scalar, ...] = ()
    factors: tuple[Scalar, ...] = ()

    def variables(self) -> set[str]:
        """The variables this atom binds."""
        return {name for name, _ in self.bindings}


@dataclass(frozen=True)
class Monomial:
    """One product; without factors it counts rows."""

    keys: tuple[Scalar, ...]
    atoms: tuple[Atom, ...]
    conditions: tuple[Scalar, ...] = ()
    factors: tuple[Scalar, ...] = ()
    coefficient: int = 1

    def scalars(self) -> Iterator[Scalar]:
        """Everything over variables: keys, conditions, factors."""
        yield from (*self.keys, *self.conditions, *self.factors)

    def bindings(self, variable: str) -> Iterator[Scalar]:
        """The expressions that are equal to ``variable``, atom by atom."""
        return (expr for atom in self.atoms for name, expr in atom.bindings if name == variable)


@dataclass(frozen=True)
class Polynomial:
    """``columns -> sum of terms``; the names of ``columns`` are for people, the terms' keys are in their order. ``failures``:
    what may fail in it, see :mod:`m3.algebra.attempts`."""

    columns: tuple[Column, ...]
    value: Type
    terms: tuple[Monomial, ...]
    failures: tuple[Failure, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Failure:
    """An expression of some relations, and the count of the rows for which it fails, by columns that the expression is over."""

    expression: Scalar
    relations: tuple[str, ...]
    polynomial: Polynomial


def polynomial(columns: Iterable[Column], value: Type, terms: Iterable[Monomial]) -> Polynomial:
    """A polynomial with equal terms added up; terms that cancel out vanish."""
    totals: dict[Monomial, int] = {}
    for term in terms:
        shape = replace(term, coefficient=1)
        totals[shape] = totals.get(shape, 0) + term.coefficient
    kept = tuple(replace(shape, coefficient=total) for shape, total in totals.items() if total)
    return Polynomial(tuple(columns), value, kept)


def sum_type(t: Type) -> Type:
    """The type of SUM, by Spark's rule: DECIMAL(min(38, p + 10), s); INT stays INT and is checked for overflow."""
    return INT if t.kind == "int" else Type("decimal", min(MAX_PRECISION, t.precision + 10), t.scale)


def value_type(factors: Iterable[Scalar]) -> Type:
    """The type of a map's values: the SUM of the exact product of ``factors``.

    Raises:
        CompileError: the product has more than 38 decimals.
    """
    factors = list(factors)
    if all(f.type.kind == "int" for f in factors):
        return INT
    decimals = [numeric_as_decimal(as_decimal(f)) for f in factors]
    scale = sum(t.scale for t in decimals)
    if scale > MAX_PRECISION:
        raise CompileError(
            f"a product with {scale} decimals", kind="too-precise", hint="CAST the factors to fewer decimals"
        )
    return sum_type(Type("decimal", min(MAX_PRECISION, sum(t.precision for t in decimals)), scale))


def variable_type(monomial: Monomial, variable: str) -> Type:
    """The type of a variable: it is never NULL when one of its bindings never is, by type or by a condition."""
    found = [(atom, expr) for atom in monomial.atoms for name, expr in atom.bindings if name == variable]
    known = any(not e.type.nullable or (a.conditions and _not_null(e) in a.conditions) for a, e in found)
    return found[0][1].type.with_null(not known)


@lru_cache(maxsize=4096)
def _not_null(scalar: Scalar) -> Scalar:
    return call("not", call("is_null", scalar))


def narrow(polynomial: Polynomial) -> Polynomial:
    """The same with columns that are NULL only where some term can make them NULL. What asks for it may know less; as
    equal polynomials are one map, its columns must be as narrow as anyone needs them, whoever asks first."""
    if not polynomial.terms:
        return polynomial
    columns = tuple(
        Column(
            c.name,
            c.type.with_null(c.type.nullable and any(_find_key_type(t, t.keys[i]).nullable for t in polynomial.terms)),
        )
        for i, c in enumerate(polynomial.columns)
    )
    return replace(polynomial, columns=columns)


def _find_key_type(term: Monomial, key: Scalar) -> Type:
    return variable_type(term, key.name) if isinstance(key, Var) else key.type


def unused_name(wish: str, taken: Container[str], *, fold: bool = False) -> str:
    """The wish, else with the first number from 2 on with which it is not taken.

    Args:
        wish: the name.
        taken: all other names, in lower case if ``fold``.
        fold: names that differ in case only are one.
    """
    names = itertools.chain([wish], (f"{wish}_{n}" for n in itertools.count(2)))
    return next(name for name in names if (name.lower() if fold else name) not in taken)


def free(scalars: Iterable[Scalar]) -> set[str]:
    """The variables of some scalars."""
    return {v for s in scalars for v in variables(s)}


def localise(monomial: Monomial) -> Monomial:
    """The same with conditions and factors that need only one atom moved into it, and unneeded variables dropped.

    A condition over variables of one atom is a filter on its relation; so nothing has to be kept to decide it later.
    """
    atoms = list(monomial.atoms)
    conditions, factors = list(monomial.conditions), list(monomial.factors)
    for i, atom in enumerate(atoms):
        columns = dict(atom.bindings)
        mine = [c for c in conditions if _is_within(c, columns)]
        terms = [f for f in factors if _is_within(f, columns)]
        conditions = [c for c in conditions if c not in mine]
        factors = [f for f in factors if f not in terms]
        atoms[i] = replace(
            atom,
            conditions=(*atom.conditions, *(substitute(c, columns) for c in mine)),
            factors=(*atom.factors, *(substitute(f, columns) for f in terms)),
        )
    wanted = free((*monomial.keys, *conditions, *factors))
    used = Counter(v for atom in atoms for v in atom.variables())
    wanted |= {v for v, count in used.items() if count > 1}
    kept = tuple(replace(a, bindings=tuple(b for b in a.bindings if b[0] in wanted)) for a in atoms)
    return replace(monomial, atoms=kept, conditions=tuple(conditions), factors=tuple(factors))


def _is_within(scalar: Scalar, columns: dict[str, Scalar]) -> bool:
    names = set(variables(scalar))
    return bool(names) and names <= set(columns)


def components(atoms: Iterable[Atom], bound: set[str]) -> tuple[tuple[Atom, ...], ...]:
    """``atoms`` split into parts that share no variable outside ``bound``, in order of their first atom.

    A product of parts that share nothing can be summed part by part, so each becomes a map of its own.

    >>> chain = [Atom(name, tuple((v, Var(v, INT)) for v in name)) for name in ("ab", "bc", "cd")]
    >>> [[atom.relation for atom in part] for part in components(chain, {"b"})]
    [['ab'], ['bc', 'cd']]
    """
    parts: list[list[tuple[int, Atom]]] = []
    for position, atom in enumerate(atoms):
        mine = [(position, atom)]
        open_ = atom.variables() - bound
        touching = [p for p in parts if any(open_ & (other.variables() - bound) for _, other in p)]
        parts = [p for p in parts if p not in touching] + [[x for p in touching for x in p] + mine]
    ordered = sorted((sorted(p, key=lambda x: x[0]) for p in parts), key=lambda p: p[0][0])
    return tuple(tuple(atom for _, atom in p) for p in ordered)
