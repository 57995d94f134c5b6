"""Queries as values: what SQL text means once every name is resolved, and before anything is joined.

Grammar::

    Query    := Block | Combined | Constants | Numbers | Limited
    Block    := Block(source: From?, conditions: Scalar*, grouping: Grouping?, having: Scalar?, windows: Window*,
                      qualify: Scalar?, outputs: Output*, order: Order*, first_of: Scalar*?, distinct, limit?, offset,
                      subqueries: Subquery*)
    Combined := Combined(operator: union | except | intersect, distinct, left: Query, right: Query, order, limit, offset)
    Constants:= Constants(columns: Var*, rows: (Scalar*)*)
    Numbers  := Numbers(columns: Var, count: Scalar)
    Limited  := Limited(query: Query, columns: Var*, order, limit?, offset)
    From     := Table(alias, columns: Var*, rows: Relation | Query)
              | Join(left: From, right: From, side: "" | LEFT | RIGHT | FULL | SEMI | ANTI, on: Scalar*, merged)
    Grouping := Grouping(keys: (Var, Scalar)*, sets: (Scalar*)*, aggregates: Aggregate*, indicators)
    Aggregate:= Aggregate(variable: Var, call: AggregateCall, name)
    Window   := Window(variable: Var, partition: Scalar*, function: WindowFunction)
    Subquery := Subquery(variable: Var, kind: exists | any | value, query: Query, operator, operands: Scalar*)
    Output   := Output(name, Scalar)
    Order    := (Scalar, descending, NULLs first)

All of it is immutable. A variable belongs to a scope (:class:`m3.scalars.Scope`): a column of a table to the scope
``table``; a key or an aggregate, over which HAVING, the list and ORDER BY of a grouped block are, to ``group``; what stands
for a subquery or a window function to ``subquery`` or ``window``. ``conditions`` (WHERE), the keys' expressions and the
aggregates' arguments are over the tables' columns. Variables of other blocks are outer columns: the query is correlated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property

from sqlglot import exp

from m3.datatypes import Type
from m3.errors import Span
from m3.program import Relation, WindowFunction
from m3.scalars import Key, Scalar, Scope, Var, vars_of

__all__ = [
    "Aggregate",
    "AggregateCall",
    "Block",
    "Combined",
    "Constants",
    "From",
    "Grouping",
    "Join",
    "Limited",
    "Merged",
    "Numbers",
    "Order",
    "Origin",
    "Output",
    "Place",
    "Query",
    "Subquery",
    "Table",
    "Window",
    "columns_of",
    "is_placeholder",
    "is_total",
    "placeholders",
    "unique_names",
]

#: A column of a base table: which occurrence, the table, and the column's name.
Origin = tuple[Scope, Relation, str]
#: (descending, NULLs first)
Place = tuple[bool, bool]
#: (expression, descending, NULLs first)
Order = tuple[Scalar, bool, bool]


@dataclass(frozen=True)
class Output:
    """A column of a query's result. Names may repeat. ``place``: where it is written."""

    name: str
    scalar: Scalar
    place: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Table:
    """An entry of FROM: its columns are variables of its own."""

    alias: str
    columns: tuple[Var, ...]
    rows: Relation | Query


#: A column that USING adds: its name in lower case, its variable, and what that is.
Merged = tuple[str, Var, Scalar]


@dataclass(frozen=True)
class Join:
    """A join. ``merged`` are the columns that USING adds."""

    left: From
    right: From
    side: str = ""
    on: tuple[Scalar, ...] = ()
    merged: tuple[Merged, ...] = ()

    @cached_property
    def columns(self) -> tuple[Var, ...]:
        """The columns of its tables; an outer join makes those of its other side nullable."""
        if self.side in ("SEMI", "ANTI"):
            return _tables_columns(self.left)
        left = _nullable(_tables_columns(self.left), self.side in ("RIGHT", "FULL"))
        return (*left, *_nullable(_tables_columns(self.right), self.side in ("LEFT", "FULL")))


From = Table | Join


@dataclass(frozen=True)
class AggregateCall:
    """A call: its function, its arguments and filter over the block's columns, and its result's type.

    ``function`` is count, sum, avg, min, max, one of the moments or statistics of pairs, or one of :data:`m3.sql.calls.ORDERED`,
    which ``order`` and ``parameter`` say more about; no arguments count rows."""

    function: str
    args: tuple[Scalar, ...]
    where: Scalar | None
    distinct: bool
    type: Type
    order: tuple[Place, ...] = ()
    parameter: Decimal | str | None = None


@dataclass(frozen=True)
class Aggregate:
    """An aggregate call over a block's rows; ``name`` is what its result is called, where that is free."""

    variable: Var
    call: AggregateCall
    name: str
    node: exp.Expr = field(compare=False, repr=False)


@dataclass(frozen=True)
class Grouping:
    """GROUP BY: ``keys`` are the groups' columns and what they are over the rows; each of the ``sets`` has some of these
    expressions. ``indicators`` (GROUPING) have a value for each set. Without GROUP BY there is one set, which is empty."""

    keys: tuple[tuple[Var, Scalar], ...]
    sets: tuple[tuple[Scalar, ...], ...]
    aggregates: tuple[Aggregate, ...] = ()
    indicators: tuple[tuple[Var, tuple[Scalar, ...]], ...] = ()

    def variable(self, key: Scalar) -> Var:
        """The group's column for an expression that is grouped by."""
        return next(v for v, scalar in self.keys if scalar == key)


@dataclass(frozen=True)
class Window:
    """A window function over the block's rows, or groups. ``place``: where it is written."""

    variable: Var
    partition: tuple[Scalar, ...]
    function: WindowFunction
    place: Span | None = field(default=None, compare=False)

    def scalars(self) -> tuple[Scalar, ...]:
        """All expressions in it."""
        return (*self.partition, *self.function.args, *(s for s, _, _ in self.function.order))


@dataclass(frozen=True)
class Subquery:
    """``variable`` is whether a query has a row (``exists``), whether ``operands operator row`` is true for one of its rows
    (``any``), or its only value (``value``). ``total``: it has always one row; ``single``: never more than one."""

    variable: Var
    kind: str
    query: Query
    operator: str = ""
    operands: tuple[Scalar, ...] = ()
    total: bool = False
    single: bool = False
    node: exp.Expr = field(default_factory=exp.Null, compare=False, repr=False)


@dataclass(frozen=True)
class Block:
    """A SELECT."""

    source: From | None
    outputs: tuple[Output, ...]
    conditions: tuple[Scalar, ...] = ()
    grouping: Grouping | None = None
    having: Scalar | None = None
    windows: tuple[Window, ...] = ()
    qualify: Scalar | None = None
    order: tuple[Order, ...] = ()
    first_of: tuple[Scalar, ...] | None = None
    distinct: bool = False
    limit: int | None = None
    offset: int = 0
    subqueries: tuple[Subquery, ...] = ()
    #: Conditions of WHERE that may be applied as soon as their columns are there: no later join brings rows back.
    early: tuple[Scalar, ...] = ()
    #: Columns of the tables that nothing reads.
    reads: Mapping[Key, int] = field(default_factory=dict, compare=False)
    #: Whether there is at most one row.
    single: bool = False
    #: For each output the column of a base table that it is, if it is one; the outputs that are NULL and nothing else.
    origins: tuple[Origin | None, ...] = ()
    untyped: frozenset[int] = frozenset()
    #: Where HAVING is written.
    having_place: Span | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[Var, ...]:
        """The columns of the result, with names that do not repeat."""
        names = unique_names([o.name for o in self.outputs])
        return tuple(Var(name, o.scalar.type) for name, o in zip(names, self.outputs, strict=True))

    def results(self) -> tuple[Scalar, ...]:
        """What is computed from each row, or group: the list, then what is ordered by."""
        return (*(o.scalar for o in self.outputs), *(s for s, _, _ in self.order))


@dataclass(frozen=True)
class Combined:
    """A set operation: the rows of both sides, with the names of the left one's columns."""

    operator: str
    distinct: bool
    left: Query
    right: Query
    columns: tuple[Var, ...]
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    single: bool = False


@dataclass(frozen=True)
class Constants:
    """VALUES."""

    columns: tuple[Var, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    single: bool = False


@dataclass(frozen=True)
class Numbers:
    """The numbers from 1 up to ``count``, which is about columns of the queries around it: none where that is NULL."""

    columns: tuple[Var, ...]
    count: Scalar
    single: bool = False


@dataclass(frozen=True)
class Limited:
    """A query in parentheses, with a LIMIT of its own, or other names for its columns."""

    query: Query
    columns: tuple[Var, ...]
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def single(self) -> bool:
        """Whether there is surely at most one row."""
        return self.query.single


Query = Block | Combined | Constants | Numbers | Limited


def is_placeholder(key: Key) -> bool:
    """Whether a variable stands for the value of a subquery or window function."""
    return not isinstance(key, str) and key[0].kind in ("subquery", "window")


def columns_of(source: From | None) -> tuple[Var, ...]:
    """The columns that a FROM clause has, those of USING last; an outer join makes those of its other side nullable."""
    return (*_tables_columns(source), *_merged(source).values())


def _tables_columns(source: From | None) -> tuple[Var, ...]:
    return source.columns if source is not None else ()


def _merged(source: From | None) -> dict[str, Var]:
    if not isinstance(source, Join):
        return {}
    if source.side in ("SEMI", "ANTI"):
        return _merged(source.left)
    found: dict[str, Var] = {}
    for side, lost in ((source.left, ("RIGHT", "FULL")), (source.right, ("LEFT", "FULL"))):
        inside = _merged(side)
        found |= dict(zip(inside, _nullable(inside.values(), source.side in lost), strict=True))
    return found | {name: variable for name, variable, _ in source.merged}


def _nullable(variables: Iterable[Var], lost: bool) -> Iterator[Var]:
    return (replace(v, type=v.type.with_null()) if lost and not v.type.nullable else v for v in variables)


def is_total(query: Query) -> bool:
    """Whether a query has exactly one row: an aggregate without GROUP BY, HAVING and LIMIT."""
    return (
        isinstance(query, Block) and query.grouping is not None and query.grouping.sets == ((),)
        and query.having is None and query.limit is None and not query.offset and query.qualify is None
    )  # fmt: skip


def unique_names(names: Sequence[str]) -> list[str]:
    """The names of output columns: one that is there already gets a number, which leaves other columns their names.

    >>> unique_names(["a", "A", "a_2", "a"])
    ['a', 'A_3', 'a_2', 'a_4']
    """
    taken = {name.lower() for name in names}
    found: list[str] = []
    for wish in names:
        name, n = wish, 1
        while (n > 1 and name.lower() in taken) or name.lower() in {x.lower() for x in found}:
            n += 1
            name = f"{wish}_{n}"
        found.append(name)
    return found


def placeholders(scalars: Iterable[Scalar]) -> list[Key]:
    """The variables in some scalars that stand for subqueries and window functions."""
    return [key for key in vars_of(*scalars) if is_placeholder(key)]
