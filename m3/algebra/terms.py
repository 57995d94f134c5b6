"""The ring algebra of this compiler: sums over products of filtered, weighted base tables, in one normal form.

Grammar::

    Aggregate := Aggregate(keys: variable*, atoms: Atom*)
    Atom      := Atom(relation, bindings: (variable, Scalar)*, conditions: Scalar*, factors: Scalar*)

An aggregate is the map ``keys -> SUM over all rows of the join of its atoms of the product of their factors``. The
scalars of an atom are over the columns of its relation alone, by their bare names: everything that ties atoms together
is in the variables. A variable bound by several atoms is an equi-join; its bindings are equal, and not NULL because the
atoms' conditions say so. Products of filters, factors and joins are monomials of the ring of multisets with exact
numbers as multiplicities (AGCA); sums of monomials are kept as several aggregates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from m3.datatypes import INT, MAX_PRECISION, Type
from m3.errors import CompileError
from m3.program import Column, OutputColumn
from m3.scalars import Scalar, as_decimal, numeric_as_decimal

__all__ = ["Aggregate", "Atom", "ViewQuery", "components", "restrict", "sum_type", "value_type", "variable_type"]


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
class Aggregate:
    """``keys -> SUM(product of all factors)`` over the join of ``atoms``; without factors it counts rows."""

    keys: tuple[str, ...]
    atoms: tuple[Atom, ...]

    def bindings(self, variable: str) -> Iterator[Scalar]:
        """The expressions that are equal to ``variable``, atom by atom."""
        return (expr for atom in self.atoms for name, expr in atom.bindings if name == variable)


@dataclass(frozen=True)
class ViewQuery:
    """A view in the algebra: what to maintain (``values``, ``exists``) and what to do when it is read (the rest).

    ``keys`` are the group's columns, named as the variables of all aggregates; ``values`` names each aggregate that the
    output expressions use; ``exists`` counts the rows of a group.
    """

    name: str
    keys: tuple[Column, ...]
    values: tuple[tuple[str, Aggregate], ...]
    exists: Aggregate
    columns: tuple[OutputColumn, ...]
    having: Scalar | None
    order: tuple[tuple[int, bool], ...]
    limit: int | None
    sql: str


def sum_type(t: Type) -> Type:
    """The type of SUM, by Spark's rule: DECIMAL(min(38, p + 10), s); INT stays INT and is checked for overflow."""
    return INT if t.kind == "int" else Type("decimal", min(MAX_PRECISION, t.precision + 10), t.scale)


def value_type(aggregate: Aggregate) -> Type:
    """The type of the map's values: the SUM of the exact product of the factors.

    Raises:
        CompileError: the product has more than 38 decimals.
    """
    types = [as_decimal(f) for atom in aggregate.atoms for f in atom.factors]
    if all(f.type.kind == "int" for atom in aggregate.atoms for f in atom.factors):
        return INT
    decimals = [numeric_as_decimal(t) for t in types]
    scale = sum(t.scale for t in decimals)
    if scale > MAX_PRECISION:
        raise CompileError(
            f"a product with {scale} decimals", kind="too-precise", hint="CAST the factors to fewer decimals"
        )
    return sum_type(Type("decimal", min(MAX_PRECISION, sum(t.precision for t in decimals)), scale))


def variable_type(aggregate: Aggregate, variable: str) -> Type:
    """The type of a variable; nullable when one of its bindings is."""
    types = [expr.type for expr in aggregate.bindings(variable)]
    return types[0].with_null(any(t.nullable for t in types))


def restrict(atoms: Iterable[Atom], keys: Iterable[str]) -> tuple[Atom, ...]:
    """``atoms`` without the variables that are neither keys nor shared between two of them."""
    atoms, wanted = tuple(atoms), set(keys)
    used = [v for atom in atoms for v in atom.variables()]
    wanted |= {v for v in used if used.count(v) > 1}
    return tuple(
        Atom(a.relation, tuple(b for b in a.bindings if b[0] in wanted), a.conditions, a.factors) for a in atoms
    )


def components(atoms: Iterable[Atom], bound: set[str]) -> tuple[tuple[Atom, ...], ...]:
    """``atoms`` split into parts that share no variable outside ``bound``, in order of their first atom.

    A product of parts that share nothing can be summed part by part, so each becomes a map of its own.
    """
    parts: list[list[tuple[int, Atom]]] = []
    for position, atom in enumerate(atoms):
        mine = [(position, atom)]
        free = atom.variables() - bound
        touching = [p for p in parts if any(free & (other.variables() - bound) for _, other in p)]
        parts = [p for p in parts if p not in touching] + [[x for p in touching for x in p] + mine]
    ordered = sorted((sorted(p, key=lambda x: x[0]) for p in parts), key=lambda p: p[0][0])
    return tuple(tuple(atom for _, atom in p) for p in ordered)
