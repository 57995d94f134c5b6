"""The derived relations of a program: what is not linear, each kept once however many views need it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from m3.algebra.canonical import canonical
from m3.algebra.rows import Branch, Source
from m3.algebra.terms import Polynomial
from m3.program import Column, OutputColumn, Relation, WindowFunction
from m3.scalars import Scalar, Scope, rename

__all__ = ["DerivedQuery", "InputQuery", "Registry", "WindowQuery"]


@dataclass(frozen=True)
class InputQuery:
    """An input of a derivation (see :class:`m3.program.Input`) and what its map holds."""

    name: str
    kind: str
    polynomial: Polynomial
    at: tuple[str, ...] = ()
    order: tuple[tuple[bool, bool], ...] = ()
    parameter: Decimal | str | None = None


@dataclass(frozen=True)
class DerivedQuery:
    """A derivation in the algebra; the leading columns of ``relation``, its key, are the group."""

    relation: Relation
    inputs: tuple[InputQuery, ...]
    outputs: tuple[OutputColumn, ...]
    count: Scalar


@dataclass(frozen=True)
class WindowQuery:
    """Window functions over the rows of ``source``, partitioned by its first ``partition`` columns."""

    relation: Relation
    source: Polynomial
    partition: int
    functions: tuple[WindowFunction, ...]


class Registry:
    """The derived relations so far, in an order in which each depends only on earlier ones.

    Args:
        taken: names that derived relations must not have.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.queries: list[DerivedQuery | WindowQuery] = []
        self._taken = {name.lower() for name in taken}
        self._known: dict[object, Relation] = {}
        self._numbers = itertools.count(1)

    def number(self) -> int:
        """A number that no one else gets."""
        return next(self._numbers)

    def scope(self, kind: str, label: str = "") -> Scope:
        """A scope of its own."""
        return Scope(kind, self.number(), label)

    def source(self, relation: Relation) -> Source:
        """A new occurrence of a relation."""
        return Source(self.scope("row", relation.name), relation)

    def rows_of(self, relation: Relation) -> tuple[Source, Branch]:
        """A new occurrence as a bag of its own."""
        source = self.source(relation)
        return source, Branch(1, (source,))

    def derive(
        self,
        wish: str,
        keys: Sequence[Column],
        inputs: Sequence[InputQuery],
        outputs: Sequence[OutputColumn],
        count: Scalar,
    ) -> Relation:
        """The relation ``keys, outputs`` with ``count`` copies of the row of each group; an equal one is used again.

        Args:
            wish: its name, if it is free.
            keys: the group's columns.
            inputs: what the group's row is computed from; their polynomials have the group's columns.
            outputs: the other columns, over keys and inputs.
            count: the row's multiplicity.
        """
        places = {c.name: f"k{i}" for i, c in enumerate(keys)} | {x.name: f"i{i}" for i, x in enumerate(inputs)}
        meaning = (
            tuple(c.type for c in keys),
            tuple(
                (x.kind, canonical(x.polynomial), tuple(places[n] for n in x.at), x.order, x.parameter) for x in inputs
            ),
            tuple((rename(o.expression, places), o.expression.type) for o in outputs),
            rename(count, places),
        )
        if meaning not in self._known:
            columns = (*keys, *(Column(o.name, o.expression.type) for o in outputs))
            relation = Relation(self._fresh(wish), columns, tuple(c.name for c in keys))
            self._known[meaning] = relation
            self.queries.append(DerivedQuery(relation, tuple(inputs), tuple(outputs), count))
        return self._known[meaning]

    def window(
        self, wish: str, source: Polynomial, partition: int, functions: Sequence[tuple[str, WindowFunction]]
    ) -> Relation:
        """The rows of ``source`` with the named results of window functions over its first ``partition`` columns."""
        places = {c.name: f"k{i}" for i, c in enumerate(source.columns)}
        shapes = tuple(
            (
                f.op,
                tuple(rename(a, places) for a in f.args),
                tuple((rename(s, places), d, n) for s, d, n in f.order),
                f.frame,
            )
            for _, f in functions
        )
        meaning = (tuple(c.type for c in source.columns), canonical(source), partition, shapes)
        if meaning not in self._known:
            columns = (*source.columns, *(Column(name, f.type) for name, f in functions))
            relation = Relation(self._fresh(wish), columns)
            self._known[meaning] = relation
            self.queries.append(WindowQuery(relation, source, partition, tuple(f for _, f in functions)))
        return self._known[meaning]

    def _fresh(self, wish: str) -> str:
        name, n = wish, 1
        while name.lower() in self._taken:
            n += 1
            name = f"{wish}_{n}"
        self._taken.add(name.lower())
        return name
