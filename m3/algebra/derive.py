"""The derived relations of a program: what is not linear, each kept once however many views need it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from m3.algebra.attempts import FAILED
from m3.algebra.normal import canonical
from m3.algebra.rows import Source
from m3.algebra.terms import Polynomial, unused_name
from m3.datatypes import INT, MAX_PRECISION
from m3.errors import Span
from m3.failures import attempted, failed, may_fail, nonzero
from m3.program import Column, OutputColumn, Relation, WindowFunction
from m3.scalars import Call, Const, Scalar, Scope, Var, call, const, numeric_as_decimal, rename

__all__ = ["DerivedQuery", "InputQuery", "Registry", "WindowQuery", "map_function"]


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
    """A derivation in the algebra; the leading columns of ``relation``, its key, are the group. ``failing``: the outputs that
    may fail, as they were before they were attempted; the last column of the relation is 1 then in rows where one does."""

    relation: Relation
    inputs: tuple[InputQuery, ...]
    outputs: tuple[OutputColumn, ...]
    count: Scalar
    failing: tuple[OutputColumn, ...] = ()

    def polynomials(self) -> Iterator[Polynomial]:
        """What it is computed from."""
        return (given.polynomial for given in self.inputs)


@dataclass(frozen=True)
class WindowQuery:
    """Window functions over the rows of ``source``, partitioned by its first ``partition`` columns. ``failing``: the functions'
    results that may fail; the last column of the relation is 1 then in rows where one does."""

    relation: Relation
    source: Polynomial
    partition: int
    functions: tuple[WindowFunction, ...]
    failing: tuple[OutputColumn, ...] = ()

    def polynomials(self) -> Iterator[Polynomial]:
        """What it is computed from."""
        return iter((self.source,))


def _attempt_row(
    keys: Sequence[Column], inputs: Sequence[InputQuery], outputs: Sequence[OutputColumn], count: Scalar
) -> tuple[tuple[OutputColumn, ...], Scalar, tuple[OutputColumn, ...]]:
    """A group's row of expressions that never fail, and those that do."""
    counts = frozenset(given.name for given in inputs if given.kind == "value" and _counts_rows(given.polynomial))
    totals = frozenset(given.name for given in inputs if given.kind == "value" and _may_overflow(given.polynomial))
    # a group is there where its number of rows is not 0: there nothing else is computed, and AVG divides by it
    there = nonzero([count.args[0]]) if isinstance(count, Call) and count.op == "case" else frozenset()
    asked = (*(o.expression for o in outputs), count)
    failing = tuple(dict.fromkeys(s for s in asked if may_fail(s, there, totals, counts)))
    if not failing:
        return tuple(outputs), count, ()
    attempts = [OutputColumn(o.name, call("attempt", o.expression)) if o.expression in failing else o for o in outputs]
    conditions = [failed(s) for s in failing]
    either = conditions[0] if len(conditions) == 1 else call("or", *conditions)
    name = _name_flag(FAILED, [*keys, *(Column(x.name, INT) for x in inputs), *(Column(x.name, INT) for x in outputs)])
    flag = OutputColumn(name, call("case", either, const(1), const(0)))
    if count in failing:
        count = call("case", failed(count), const(1), call("attempt", count))
    places = {o.expression: o.place for o in reversed(outputs)}
    return (*attempts, flag), count, tuple(OutputColumn("", s, places.get(s)) for s in failing)


def _find_counts(inputs: Sequence[InputQuery], outputs: Sequence[OutputColumn], count: Scalar) -> Iterator[str]:
    """The outputs that are the number of rows by which the group is there."""
    for given in inputs:
        here = call("case", call("gt", number := Var(given.name, INT), const(0)), const(1), const(0))
        if given.kind == "value" and _counts_rows(given.polynomial) and count == here:
            yield from (o.name for o in outputs if o.expression == number)


def _counts_rows(polynomial: Polynomial) -> bool:
    """Whether a sum counts rows: no number of rows leaves 64 bits."""
    return not any(t.factors or any(a.factors for a in t.atoms) for t in polynomial.terms)


def _may_overflow(polynomial: Polynomial) -> bool:
    """Whether a sum may leave its type. SUM has ten digits more than what it sums, as far as there are any."""
    value = polynomial.value
    return not _counts_rows(polynomial) and (value.kind == "int" or value.precision == MAX_PRECISION)


def may_overflow(function: WindowFunction) -> bool:
    """Whether a result of a window function may fail where its arguments do not."""
    if function.op == "sum":
        return function.type.kind == "int" or function.type.precision == MAX_PRECISION
    if function.op == "avg" and function.type.kind == "decimal":
        given = numeric_as_decimal(function.args[0].type)
        return given.precision - given.scale > function.type.precision - function.type.scale
    if function.op in ("lag", "lead") and len(function.args) == 3:
        return not all(a.type.same_as(function.type) or is_null(a) for a in (function.args[0], function.args[2]))
    nth = function.args[1:2]
    counts = {"ntile": function.args[:1], "nth_value": nth, "nth_known": nth}.get(function.op, ())
    literal = all(is_null(a) or (isinstance(a, Const) and isinstance(a.value, int) and a.value > 0) for a in counts)
    frame = function.frame
    distance: object = frame is not None and frame.unit == "range" and {frame.start, frame.end} - {None, 0}
    return not literal or bool(distance)


def map_function(function: WindowFunction, change: Callable[[Scalar], Scalar]) -> WindowFunction:
    """A window function over changed expressions."""
    order = tuple((change(s), down, first) for s, down, first in function.order)
    return replace(function, args=tuple(map(change, function.args)), order=order)


def is_null(scalar: Scalar) -> bool:
    """Whether it is the literal NULL."""
    return isinstance(scalar, Const) and scalar.value is None


def _name_flag(wish: str, columns: Iterable[Column]) -> str:
    return unused_name(wish, {c.name.lower() for c in columns}, fold=True)


class Registry:
    """The derived relations so far, in an order in which each depends only on earlier ones.

    Args:
        taken: names that derived relations must not have.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.queries: list[DerivedQuery | WindowQuery] = []
        self._taken = {name.lower() for name in taken}
        self._known: dict[object, Relation] = {}
        self._counts: dict[str, frozenset[str]] = {}
        self._numbers = itertools.count(1)

    def scope(self, kind: str, label: str = "") -> Scope:
        """A scope of its own."""
        return Scope(kind, next(self._numbers), label)

    def source(self, relation: Relation) -> Source:
        """A new occurrence of a relation."""
        return Source(self.scope("row", relation.name), relation, self._counts.get(relation.name, frozenset()))

    def derive(
        self,
        wish: str,
        keys: Sequence[Column],
        inputs: Sequence[InputQuery],
        outputs: Sequence[OutputColumn],
        count: Scalar,
    ) -> Relation:
        """The relation ``keys, outputs`` with ``count`` copies of the row of each group; an equal one is used again.

        >>> from m3.sql.show import join_example, show_rows
        >>> print(show_rows(join_example("SELECT DISTINCT a FROM r UNION ALL SELECT DISTINCT t.a FROM r AS t")))
        + v_distinct.a AS a FROM v_distinct
        + v_distinct.a AS a FROM v_distinct

        Args:
            wish: its name, if it is free.
            keys: the group's columns.
            inputs: what the group's row is computed from; their polynomials have the group's columns.
            outputs: the other columns, over keys and inputs.
            count: the row's multiplicity.

        Returns:
            the relation. Where something of it may fail, it has a column more than was asked for, the last one.
        """
        # what a relation means does not depend on what its keys and inputs are called, only on their places
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
            made, number, failing = _attempt_row(keys, inputs, outputs, count)
            columns = (*keys, *(Column(o.name, o.expression.type) for o in made))
            relation = Relation(self._name_relation(wish), columns, tuple(c.name for c in keys))
            self._known[meaning] = relation
            self._counts[relation.name] = frozenset(_find_counts(inputs, outputs, count))
            self.queries.append(DerivedQuery(relation, tuple(inputs), made, number, failing))
        return self._known[meaning]

    def window(
        self,
        wish: str,
        source: Polynomial,
        partition: int,
        functions: Sequence[tuple[str, WindowFunction, Span | None]],
    ) -> Relation:
        """The rows of ``source`` with the named results of window functions, with their places, over its first ``partition`` columns."""
        places = {c.name: f"k{i}" for i, c in enumerate(source.columns)}
        shapes = tuple(
            (
                f.op,
                tuple(rename(a, places) for a in f.args),
                tuple((rename(s, places), d, n) for s, d, n in f.order),
                f.frame,
            )
            for _, f, _ in functions
        )
        meaning = (tuple(c.type for c in source.columns), canonical(source), partition, shapes)
        if meaning not in self._known:
            columns = (*source.columns, *(Column(name, f.type) for name, f, _ in functions))
            made = tuple(map_function(f, attempted) for _, f, _ in functions)
            failing = tuple((f, place) for _, f, place in functions if may_overflow(f))
            if failing:
                columns = (*columns, Column(_name_flag(FAILED, columns), INT))
            relation = Relation(self._name_relation(wish), columns)
            self._known[meaning] = relation
            named = tuple(OutputColumn("", Var(f"{f.op.upper()}() OVER ()", f.type), place) for f, place in failing)
            self.queries.append(WindowQuery(relation, source, partition, made, named))
        return self._known[meaning]

    def _name_relation(self, wish: str) -> str:
        name = unused_name(wish, self._taken, fold=True)
        self._taken.add(name.lower())
        return name
