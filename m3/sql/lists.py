"""Lists as output columns of a view: the only place where they are, since keys and values of maps are scalars.

A list is made when the view is read, from a map of its values by the group's keys. So of a query with lists there is left a
query without them whose rows know the keys of their groups, and for each list the map that it is read off.

What only selects from a grouping and filters it is put together with it, so that its lists are the view's:

>>> from m3.sql.show import resolve_example, show
>>> query = resolve_example("SELECT l FROM (SELECT a, ARRAY_AGG(x) AS l FROM r GROUP BY a) AS t WHERE t.a > 1 ORDER BY a")
>>> print(show(place_lists(query)))
FROM r
GROUP BY (a)
  a := r.a
  l := array(r.x)
HAVING a > 1
SELECT l AS l
ORDER BY a

Lists of inner queries that nobody reads are left out:

>>> print(show(place_lists(resolve_example("SELECT COUNT(*) AS n FROM (SELECT ARRAY_AGG(x) AS l FROM r) AS t"))))
FROM (t) AS t
  (t) :=
    FROM r
    GROUP BY ()
    SELECT 0 AS l
GROUP BY ()
  n := count(*)
SELECT n AS n
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from m3.algebra.rows import ListQuery, ViewQuery
from m3.algebra.terms import unused_name
from m3.datatypes import INT
from m3.program import OutputColumn, Relation
from m3.scalars import Key, Scalar, Var, call, const, substitute
from m3.sql.block import (
    Aggregate,
    Block,
    Combined,
    From,
    Grouping,
    Join,
    Limited,
    Output,
    Query,
    Table,
    unique_names,
)

__all__ = ["Stripped", "find_foreign", "has_lists", "place_lists", "strip_lists", "weave_lists"]


def is_list(scalar: Scalar) -> bool:
    """Whether an expression is a list."""
    return scalar.type.kind == "list"


def has_lists(query: Query) -> bool:
    """Whether some column of a query is a list."""
    return any(map(is_list, query.columns))


def place_lists(query: Query) -> Query:
    """The same query with lists in the list of its outermost block only, as far as that is possible."""
    return _drop_inner(_inline(query) if isinstance(query, Block) else query)


# A query that only selects from another one is put together with it.


def _inline(block: Block) -> Block:
    """The block over the tables of the grouping that it selects lists from, if it does no more than that."""
    if not any(is_list(o.scalar) for o in block.outputs) or not isinstance(block.source, Table):
        return block
    opened = _open(block.source)
    if opened is None or not _only_selects(block):
        return block
    inner, env = opened
    conditions = tuple(substitute(c, env) for c in block.conditions)
    made = replace(
        inner,
        outputs=tuple(replace(o, scalar=substitute(o.scalar, env)) for o in block.outputs),
        order=tuple((substitute(s, env), down, first) for s, down, first in block.order),
        limit=block.limit,
        offset=block.offset,
        single=inner.single or block.single,
        origins=(),
        untyped=frozenset(),
    )
    if inner.windows:
        return replace(made, qualify=_all_of(inner.qualify, conditions))
    if inner.grouping is not None:
        return replace(made, having=_all_of(inner.having, conditions))
    return replace(made, conditions=(*inner.conditions, *conditions))


def _open(table: Table) -> tuple[Block, dict[Key, Scalar]] | None:
    """The block that a table is, and what its columns are there; None if it does more than to have rows."""
    query, columns = table.rows, table.columns
    while isinstance(query, Limited) and query.limit is None and not query.offset:
        query = query.query
    if not isinstance(query, Block):
        return None
    inner = _inline(query)
    # of rows that are equal by the order of a LIMIT, all columns of its query decide
    if inner.limit is not None or inner.offset or inner.distinct or inner.first_of is not None:
        return None
    scalars = [o.scalar for o in inner.outputs]
    return inner, {c.key: s for c, s in zip(columns, scalars, strict=True)}


def _only_selects(block: Block) -> bool:
    return block.grouping is None and not (
        block.windows or block.subqueries or block.distinct or block.qualify is not None or block.first_of is not None
    )


def _all_of(first: Scalar | None, others: Sequence[Scalar]) -> Scalar | None:
    every = [*([first] if first is not None else []), *others]
    return call("and", *every) if len(every) > 1 else every[0] if every else None


# Lists of inner queries, which only the blocks around them could read, and may not.


def _drop_inner(query: Query) -> Query:
    match query:
        case Block():
            subqueries = tuple(replace(s, query=_drop_lists(s.query)) for s in query.subqueries)
            return replace(query, source=_drop_source(query.source), subqueries=subqueries)
        case Combined():
            return replace(query, left=_drop_lists(query.left), right=_drop_lists(query.right))
        case Limited():
            return replace(query, query=_drop_inner(query.query))
    return query


def _drop_source(source: From | None) -> From | None:
    if isinstance(source, Join):
        left, right = _drop_source(source.left), _drop_source(source.right)
        assert left is not None
        assert right is not None
        return replace(source, left=left, right=right)
    if source is None or isinstance(source.rows, Relation):
        return source
    return replace(source, rows=_drop_lists(source.rows))


def _drop_lists(query: Query) -> Query:
    """An inner query whose lists, of which nobody reads any, are numbers."""
    query = _drop_inner(query)
    if isinstance(query, Limited):
        inner = _drop_lists(query.query)
        return replace(
            query, query=inner, columns=tuple(replace(c, type=INT) if is_list(c) else c for c in query.columns)
        )
    if not isinstance(query, Block):
        return query
    outputs = tuple(replace(o, scalar=const(0)) if is_list(o.scalar) else o for o in query.outputs)
    grouping = None if query.grouping is None else _split_aggregates(query.grouping)[0]
    return replace(query, outputs=outputs, grouping=grouping)


def _split_aggregates(grouping: Grouping) -> tuple[Grouping, tuple[Aggregate, ...]]:
    """A grouping without its lists, and those."""
    lists = tuple(a for a in grouping.aggregates if is_list(a.variable))
    return replace(grouping, aggregates=tuple(a for a in grouping.aggregates if a not in lists)), lists


# The lists of the outermost block: a block without them, and what they are read off.


@dataclass(frozen=True)
class Stripped:
    """A block without the lists of its list. ``grouping`` has nothing but the lists; ``keys`` says which outputs of ``block``, from the
    first, are the group's keys; of these, those behind the first ``shown`` were no outputs before."""

    block: Block
    grouping: Grouping
    keys: tuple[int, ...]
    shown: int


def find_foreign(block: Block) -> int | None:
    """The first output of a block that is a list of another query than this grouping; None if there is none."""
    own = {a.variable.key for a in block.grouping.aggregates} if block.grouping is not None else set()
    lists = ((i, o.scalar) for i, o in enumerate(block.outputs) if is_list(o.scalar))
    return next((i for i, s in lists if not isinstance(s, Var) or s.key not in own), None)


def strip_lists(block: Block) -> Stripped:
    """A block without its lists, whose rows know the keys of their groups."""
    assert block.grouping is not None
    rest, lists = _split_aggregates(block.grouping)
    outputs = [o for o in block.outputs if not is_list(o.scalar)]
    shown, scalars = len(outputs), [o.scalar for o in outputs]
    for key in block.grouping.sets[0]:
        variable = block.grouping.variable(key)
        if variable not in scalars:
            outputs.append(Output(variable.name, variable))
            scalars.append(variable)
    keys = tuple(scalars.index(block.grouping.variable(key)) for key in block.grouping.sets[0])
    if not outputs:  # one row, of lists alone
        outputs.append(Output("one", const(1)))
    stripped = replace(block, outputs=tuple(outputs), grouping=rest, origins=(), untyped=frozenset())
    return Stripped(stripped, replace(block.grouping, aggregates=lists), keys, shown)


def weave_lists(block: Block, stripped: Stripped, view: ViewQuery, lists: Sequence[ListQuery]) -> ViewQuery:
    """The view of a block, from that of the block without its lists, and these in the order of the grouping's."""
    at = tuple(_name_of(view.columns[place].expression) for place in stripped.keys)
    taken = {c.name.lower() for c in view.keys} | {name.lower() for name, _ in view.values}
    made: dict[Key, ListQuery] = {}
    for aggregate, one in zip(stripped.grouping.aggregates, lists, strict=True):
        name = unused_name(one.name, taken, fold=True)
        taken.add(name.lower())
        made[aggregate.variable.key] = replace(one, name=name, at=at)
    others = iter(range(stripped.shown))
    places = [None if is_list(o.scalar) else next(others) for o in block.outputs]
    visible = len(view.columns) - view.hidden
    scalars = [
        made[o.scalar.key].variable
        if place is None and isinstance(o.scalar, Var)
        else view.columns[place or 0].expression
        for o, place in zip(block.outputs, places, strict=True)
    ]
    names = unique_names([*(o.name for o in block.outputs), *(c.name for c in view.columns[visible:])])
    hidden = [c.expression for c in view.columns[visible:]]
    now = {place: i for i, place in enumerate(places) if place is not None}
    # what is ordered by may be a key that is no output: it is hidden, too
    for place in dict.fromkeys(place for place, _ in view.order if place not in now):
        now[place] = len(scalars) + (place - visible if place >= visible else len(hidden))
        if place < visible:
            hidden.append(view.columns[place].expression)
            names = unique_names([*names, view.columns[place].name])
    own = [*(o.place for o in block.outputs), *(None for _ in hidden)]
    columns = tuple(OutputColumn(*c) for c in zip(names, [*scalars, *hidden], own, strict=True))
    order = tuple((now[place], down) for place, down in view.order)
    return replace(view, columns=columns, order=order, hidden=len(hidden), lists=tuple(made.values()))


def _name_of(scalar: Scalar) -> str:
    assert isinstance(scalar, Var)
    return scalar.name
