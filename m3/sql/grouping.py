"""GROUP BY and aggregates: what is grouped by, which aggregates are asked for, and expressions over groups.

Grouping sets (ROLLUP, CUBE) are one grouping each, in which the other keys are NULL.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from m3.algebra.derive import InputQuery
from m3.algebra.rows import Branch, ListQuery, owners
from m3.algebra.terms import Polynomial, unused_name
from m3.datatypes import INT
from m3.program import Column, OutputColumn
from m3.scalars import Const, Key, Scalar, Var, const, vars_of
from m3.sql import aggregates
from m3.sql.aggregates import compute_default
from m3.sql.block import Aggregate, AggregateCall, Grouping
from m3.sql.calls import read_call
from m3.sql.correlation import Closed, close, count_rows, indicate_positive, name_columns, store_rows
from m3.sql.functions import make_reader
from m3.sql.joining import Workspace
from m3.sql.lines import Line, find_lines
from m3.sql.names import Names
from m3.sql.places import fold_case

__all__ = [
    "GroupReader",
    "Groups",
    "LinearGroups",
    "has_aggregates",
    "is_aggregate",
    "read_grouping",
]


def read_grouping(
    select: exp.Select, items: Sequence[exp.Expr], names: Names, read: Callable[[exp.Expr], Scalar]
) -> GroupReader:
    """What a SELECT groups by.

    Args:
        select: the SELECT.
        items: its list, without stars.
        names: of its tables.
        read: reads an expression over its rows.

    Returns:
        The reader of expressions over the groups, whose names are those behind the GROUP BY.
    """
    written = _read_sets(select, items, names)
    named = [*written, _read_unset(select, items, names)]
    targets: dict[exp.Expr, Scalar] = {}
    source = names.context.source
    before = source.failures
    for node in (node for keys in named for node, _ in keys):
        with source.attempt(node):
            targets[fold_case(node)] = read(node)
    source.stop(before)
    sets = tuple(tuple(dict.fromkeys(targets[fold_case(node)] for node, _ in keys)) for keys in written)
    group = select.args.get("group")
    if group is not None and group.args.get("all") is False:  # GROUP BY DISTINCT
        sets = tuple({frozenset(s): s for s in reversed(sets)}.values())[::-1]
    registry = names.context.registry
    keys: dict[Scalar, Var] = {}
    for node, wish in (k for entry in written for k in entry):
        scalar = targets[fold_case(node)]
        nullable = scalar.type.nullable or len(sets) > 1
        keys.setdefault(scalar, Var(wish, scalar.type.with_null(nullable), registry.scope("group")))
    after = Names(names.context, names.parent, views=names.views, base=names, keys=keys)
    return GroupReader(after, items, read, targets, sets, _find_determined(names, sets))


def _find_determined(names: Names, sets: Sequence[Sequence[Scalar]]) -> dict[Scalar, Var]:
    """The other columns of tables whose declared keys are grouped by: they may be used, and are keys then too, which
    changes no group."""
    if len(sets) != 1 or not sets[0]:
        return {}
    columns = [c for t in names.tables for c in t.columns if c.origin is not None]
    present = {c.origin for c in columns if c.variable in sets[0]}
    found: dict[Scalar, Var] = {}
    for column in columns:
        assert column.origin is not None
        scope, relation, _ = column.origin
        known = relation.key and all((scope, relation, key) in present for key in relation.key)
        if known and column.variable not in sets[0]:
            wish = column.origin[2]
            found[column.variable] = Var(wish, column.variable.type, names.context.registry.scope("group"))
    return found


@dataclass
class GroupReader:
    """Reads expressions over the rows of a grouping: HAVING, the list, ORDER BY; collects the aggregates in them.

    ``targets`` is what is grouped by, as it is written, up to case; ``subqueries`` knows those of the grouped block.
    """

    names: Names
    items: Sequence[exp.Expr]
    read_base: Callable[[exp.Expr], Scalar]
    targets: Mapping[exp.Expr, Scalar]
    sets: tuple[tuple[Scalar, ...], ...]
    determined: Mapping[Scalar, Var]
    aggregates: dict[AggregateCall, Aggregate] = field(default_factory=dict)
    indicators: dict[Var, tuple[Scalar, ...]] = field(default_factory=dict)
    subqueries: Callable[[exp.Expr], Scalar | None] = lambda _: None
    #: Whether a subquery of HAVING or the list has an aggregate of this grouping.
    asked_within: bool = False

    def __post_init__(self) -> None:
        self._expressions = make_reader(self.names.context.source, self._read_leaf)
        self.names.read_aggregate = self._read_within

    @property
    def base(self) -> Names:
        """The names before the GROUP BY."""
        assert self.names.base is not None
        return self.names.base

    def read(self, node: exp.Expr) -> Scalar:
        """An expression over groups."""
        return self._expressions.read(node)

    def grouping(self, scalars: Iterable[Scalar]) -> Grouping:
        """The grouping, once everything over it, ``scalars``, has been read."""
        used = vars_of(*scalars)
        extra = {s: v for s, v in self.determined.items() if v.key in used}
        keys = {**self.names.keys, **extra}
        sets = tuple((*s, *extra) for s in self.sets)
        calls, indicators = tuple(self.aggregates.values()), tuple(self.indicators.items())
        return Grouping(tuple((v, s) for s, v in keys.items()), sets, calls, indicators)

    def _read_leaf(self, node: exp.Expr) -> Scalar | None:
        target = self.targets.get(fold_case(node))
        if target is not None:
            return self._read_key(target)
        if is_aggregate(node):
            return self._add_aggregate(node)
        if isinstance(node, exp.Grouping | exp.GroupingId):
            # a bit per argument, the last one the lowest, set where the row's grouping does not have it
            args = [self.read_base(a) for a in (node.expressions or [node.this])]
            if not set(args) <= set(self.targets.values()):
                hint = "columns and expressions as they are in GROUP BY"
                self.names.fail(node, "GROUPING of what is not grouped by", "not-grouped", hint)
            variable = Var("grouping", INT, self.names.context.registry.scope("group"))
            bits = (sum((a not in keys) << i for i, a in enumerate(reversed(args))) for keys in self.sets)
            self.indicators[variable] = tuple(map(const, bits))
            return variable
        found = self.subqueries(node)
        if found is not None:
            return found
        if isinstance(node, exp.Column):
            return self._read_column(node)
        if (
            node.find(exp.AggFunc, exp.Query, exp.Window)
            or not node.find(exp.Column)
            or any(self._find_alias(c) is not None for c in node.find_all(exp.Column))
        ):
            return None
        return self.names.keys.get(self.read_base(node))

    def _read_within(self, node: exp.Expr) -> Scalar | None:
        self.asked_within = True
        return self._read_leaf(node)

    def _read_key(self, target: Scalar) -> Scalar:
        """What is grouped by; NULL where no grouping set has it."""
        return self.names.keys.get(target) or Const(None, target.type.with_null())

    def _add_aggregate(self, node: exp.Expr) -> Scalar:
        """The column of an aggregate call; equal ones are one."""
        columns = list(node.find_all(exp.Column))
        # a column that no query has is unknown, and said to be so where the argument is read
        if any(self.base.is_outer(c) for c in columns) and not any(self.base.has(c) for c in columns):
            found = self.base.aggregate_around(node)
            if found is not None:
                return found
            hint = "aggregate in the outer query, in a derived table"
            self.names.fail(node, "an aggregate of an outer query's columns", "misplaced-aggregate", hint)
        wanted = read_call(node, self.base, self.read_base)
        if wanted not in self.aggregates:
            wish = self._name_call(node)
            variable = Var(wish, wanted.type, self.names.context.registry.scope("group"))
            self.aggregates[wanted] = Aggregate(variable, wanted, wish, node)
        return self.aggregates[wanted].variable

    def _name_call(self, node: exp.Expr) -> str:
        """A name for a call: its output column's, if it is in one."""
        parent: exp.Expr | None = node
        while parent is not None and not isinstance(parent, exp.Alias | exp.Select):
            parent = parent.parent
        if isinstance(parent, exp.Alias):
            return parent.alias
        inner = node.this if isinstance(node, exp.Filter) else node
        return inner.key.lower()

    def _find_alias(self, node: exp.Column) -> exp.Expr | None:
        """The list item that a name means, where no table has a column of that name."""
        if node.table or self.base.has(node):
            return None
        return next(
            (i.this for i in self.items if isinstance(i, exp.Alias) and i.alias.lower() == node.name.lower()),
            None,
        )

    def _read_column(self, node: exp.Column) -> Scalar:
        named = self._find_alias(node)
        if named is not None and node not in list(named.walk()):
            return self.read(named)
        scalar = self.read_base(node)
        known = self.determined.get(scalar)
        if known is not None:
            return known
        if scalar in self.targets.values():
            return self._read_key(scalar)
        if not self.base.has(node):
            return scalar  # an outer column
        hint = "add it to GROUP BY, or aggregate it"
        self.names.fail(node, f"column {self.names.context.source.text(node)!r} is not grouped", "not-grouped", hint)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is an aggregate call, with or without FILTER."""
    if isinstance(node, exp.Filter):
        return isinstance(node.this, exp.AggFunc)
    return isinstance(node, exp.AggFunc) and not isinstance(node, exp.Grouping | exp.GroupingId)


def has_aggregates(select: exp.Select, items: Iterable[exp.Expr]) -> bool:
    """Whether a SELECT without GROUP BY aggregates nevertheless."""
    order = select.args.get("order")
    return select.args.get("having") is not None or any(
        map(_contains_aggregate, [*items, *(o.this for o in (order.expressions if order is not None else ()))])
    )


def _contains_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):
        inner = node.this
        while isinstance(inner, exp.IgnoreNulls | exp.RespectNulls | exp.Filter | exp.WithinGroup):
            inner = inner.this
        inside = [
            *inner.iter_expressions(),
            *(node.args.get("partition_by") or ()),
            *([node.args["order"]] if node.args.get("order") else []),
        ]
        return any(map(_contains_aggregate, inside))
    return is_aggregate(node) or any(_contains_aggregate(child) for child in node.iter_expressions())


Named = tuple[exp.Expr, str]


def _read_sets(select: exp.Select, items: Sequence[exp.Expr], names: Names) -> list[list[Named]]:
    """The entries of each grouping set, with their names."""
    group = select.args.get("group")
    if group is None:
        return [[]]
    target = _Targets(items, names)
    if group.args.get("all") and not any(v for name, v in group.args.items() if name != "all"):
        return [[target(i.unalias()) for i in items if not _contains_aggregate(i)]]
    # GROUP BY a, b GROUPING SETS (..), without a comma, says its columns twice
    parts = [_read_part(node, target) for node in (() if group.args.get("grouping_sets") else group.expressions)]
    for clause in ("rollup", "cube", "grouping_sets"):
        parts += [_read_part(node, target) for node in group.args.get(clause) or ()]
    return [[key for keys in choice for key in keys] for choice in itertools.product(*parts)]


def _read_unset(select: exp.Select, items: Sequence[exp.Expr], names: Names) -> list[Named]:
    """What GROUP BY names before its sets; what none of them has is NULL in each group."""
    group = select.args.get("group")
    if group is None or not group.args.get("grouping_sets"):
        return []
    target = _Targets(items, names)
    return [key for node in group.expressions for key in _read_unit(node, target)]


def _read_part(node: exp.Expr, target: _Targets) -> list[list[Named]]:
    """The alternatives of one entry of GROUP BY."""
    if isinstance(node, exp.Rollup):
        units = [_read_unit(n, target) for n in node.expressions]
        return [[k for u in units[:n] for k in u] for n in range(len(units), -1, -1)]
    if isinstance(node, exp.Cube):
        units = [_read_unit(n, target) for n in node.expressions]
        chosen = itertools.product((True, False), repeat=len(units))
        return [[k for u, wanted in zip(units, choice, strict=True) if wanted for k in u] for choice in chosen]
    if isinstance(node, exp.GroupingSets):
        return [
            keys
            for n in node.expressions
            for keys in (
                _read_part(n, target)
                if isinstance(n, exp.Rollup | exp.Cube | exp.GroupingSets)
                else [_read_unit(n, target)]
            )
        ]
    return [_read_unit(node, target)]


def _read_unit(node: exp.Expr, target: _Targets) -> list[Named]:
    """An entry of a set: what is in further parentheses belongs to it as well."""
    if isinstance(node, exp.Tuple):
        return [key for n in node.expressions for key in _read_unit(n, target)]
    return _read_unit(node.this, target) if isinstance(node, exp.Paren) else [target(node)]


@dataclass
class _Targets:
    """Finds the expression that an entry means, and a name: ordinals and aliases stand for list items."""

    items: Sequence[exp.Expr]
    names: Names
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __call__(self, node: exp.Expr) -> Named:
        """An entry of GROUP BY."""
        items, chosen, number = self.items, None, next(self.numbers)
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            if not str(node.this).isdigit() or not 1 <= int(node.this) <= len(items):
                self.names.fail(node, f"no output column {node.this}", "bad-ordinal", f"there are {len(items)} columns")
            chosen = items[int(node.this) - 1]
        elif isinstance(node, exp.Column) and not node.table and not self.names.has(node):
            chosen = next((i for i in items if i.alias.lower() == node.name.lower()), None)
        body, wish = (node, "") if chosen is None else (chosen.unalias(), chosen.alias)
        if _contains_aggregate(body):
            self.names.fail(node, "GROUP BY an aggregate", "group-by", "group by columns of the tables")
        wish = wish or next((i.alias for i in items if isinstance(i, exp.Alias) and i.this == body), "")
        return body, wish or (body.name if isinstance(body, exp.Column) else f"key_{number}")


# A grouping -> polynomials, where its aggregates are linear, else rows of derived relations, one for each grouping set.


#: The maps for one grouping, roughly, from which on the rows that are grouped are kept as a relation of their own. Measured on
#: TPC-DS: with 64 instead of 390 its queries take a quarter fewer maps. An event of the fact table of query 27 touches 306 entries
#: instead of 1,000, and the engine's time for the same events of queries 16 and 27 is about half. An event of a dimension may touch
#: fewer or more: query 61 looks 13% more up for an address, and 3% more for a store.
MUCH = 64
#: The same where tables say how many rows they have: lookups then replace most of the maps that are counted here (decision 10).
MUCH_DECLARED = 390
#: The same where a condition ties three tables or more, such as an OR of ANDs over several: then none of them can be summed up
#: before it is joined, and every map of a part of the join has the columns of all that is tied. TPC-DS 13 takes 45 maps instead of 229.
MUCH_TIED = 120


#: A call over what the rows of a grouping know, and the line that its argument is of something else, if that is of use.
Asked = tuple[AggregateCall, Line | None]


@dataclass(frozen=True)
class LinearGroups:
    """A grouping whose aggregates are all linear, or lists: its keys, its inputs and lists, the count of a group's rows, and
    what the variables behind the grouping are over keys, inputs and lists."""

    keys: tuple[Column, ...]
    inputs: tuple[InputQuery, ...]
    lists: tuple[ListQuery, ...]
    exists: Polynomial
    env: Mapping[Key, Scalar]


@dataclass(frozen=True)
class Groups:
    """The groups of a workspace's rows."""

    grouping: Grouping
    base: Workspace

    def derive_rows(self) -> list[Branch]:
        """The groups as rows of derived relations.

        >>> from m3.sql.show import join_example, show_rows
        >>> print(show_rows(join_example("SELECT a, MAX(x) AS m FROM r GROUP BY a HAVING COUNT(*) > 1")))
        + v_groups.a AS a, v_groups.m_2 AS m FROM v_groups WHERE v_groups.count_2 > 1
        """
        return [branch for number in range(len(self.grouping.sets)) for branch in self._derive_set(number)]

    def find_linear(self) -> LinearGroups | None:
        """The groups as a view reads them off its maps, where that is possible."""
        if len(self.grouping.sets) != 1:
            return None
        (chosen,) = self.grouping.sets
        closed, names, args = self._close_base(chosen)
        grouped = self._start_grouping(closed, names)
        results = self._compute_results(grouped, args)
        if closed.links or any(x.kind != "value" for x in grouped.inputs):
            return None
        keys = name_columns(names)
        env: dict[Key, Scalar] = {
            self.grouping.variable(key).key: Var(column.name, column.type)
            for key, column in zip(chosen, keys, strict=True)
        }
        env |= {a.variable.key: r for a, r in zip(self.grouping.aggregates, results, strict=True)}
        env |= {v.key: values[0] for v, values in self.grouping.indicators}
        return LinearGroups(
            tuple(keys), tuple(grouped.inputs), tuple(grouped.lists), count_rows(closed.branches, names), env
        )

    def _close_base(self, keys: Sequence[Scalar]) -> tuple[Closed, list[Var], list[Asked]]:
        """The base rows without outer columns, knowing the keys and the arguments of all calls."""
        registry = self.base.context.registry
        names = [Var(self.grouping.variable(k).name, k.type, registry.scope("part")) for k in keys]
        env: dict[Key, Scalar] = {c.key: k for c, k in zip(names, keys, strict=True)}
        args = []
        calls = [a.call for a in self.grouping.aggregates]
        for wanted, line in zip(calls, find_lines(calls), strict=True):
            scope = registry.scope("part")
            given = tuple(Var(f"{i}", a.type, scope) for i, a in enumerate(wanted.args))
            env |= {v.key: a for v, a in zip(given, wanted.args, strict=True)}
            where = None
            if wanted.where is not None:
                where = Var("where", wanted.where.type, scope)
                env[where.key] = wanted.where
            if line is not None:
                base = Var("base", line.base.type, scope)
                env[base.key] = line.base
                line = replace(line, base=base)
            args.append((replace(wanted, args=given, where=where), line))
        self.base.expand(env.values())
        self._store_base()
        branches = [replace(b, env={**b.env, **{n: b.value(s) for n, s in env.items()}}) for b in self.base.branches]
        return close(self.base, branches, list(env)), names, args

    def _store_base(self) -> None:
        """Keep the base rows as a relation of their own if many maps would repeat the same join."""
        base, calls = self.base, [a.call for a in self.grouping.aggregates]
        # a join of n tables takes about a map for every set of its other tables, and each aggregate has maps of its own
        work = sum(2 ** max(0, len(b.sources) - 1) for b in base.branches) * len(base.branches)
        tied = any(len(owners(c)) > 2 for b in base.branches for c in b.conditions)
        # derived relations never say it
        declared = any(s.relation.rows is not None for b in base.branches for s in b.sources)
        most = MUCH_DECLARED if declared else MUCH
        if (
            work * len(self.grouping.sets) * (len(calls) + 1) <= (min(most, MUCH_TIED) if tied else most)
            or max((len(b.sources) for b in base.branches), default=0) < 2
        ):
            return
        asked = [s for _, s in self.grouping.keys]
        asked += [s for c in calls for s in (*c.args, *([c.where] if c.where is not None else []))]
        base.expand(asked)
        base.branches = store_rows(base, base.branches, list(vars_of(*asked).values()))

    def _start_grouping(self, closed: Closed, names: Sequence[Var]) -> aggregates.Grouping:
        keys = [*closed.columns(), *names]
        return aggregates.Grouping(self.base, closed.branches, keys, {c.name for c in name_columns(keys)}, not names)

    def _compute_results(self, grouped: aggregates.Grouping, args: Sequence[Asked]) -> list[Scalar]:
        pairs = zip(args, self.grouping.aggregates, strict=True)
        return [grouped.compute_result(wanted, a.node, a.name, line) for (wanted, line), a in pairs]

    def _derive_set(self, number: int) -> list[Branch]:
        """The groups of one grouping set."""
        keys = self.grouping.sets[number]
        closed, names, args = self._close_base(keys)
        grouped = self._start_grouping(closed, names)
        count = grouped.count_rows()
        results = self._compute_results(grouped, args)
        columns = name_columns(grouped.keys)
        inputs = {x.name: x for x in grouped.inputs}
        taken = {c.name.lower() for c in columns} | {name.lower() for name in inputs}
        outputs, context = [], self.base.context
        for result, aggregate in zip(results, self.grouping.aggregates, strict=True):
            name = unused_name(aggregate.name, taken, fold=True)
            taken.add(name.lower())
            outputs.append(OutputColumn(name, result, context.source.point(aggregate.node)))
        relation = context.registry.derive(
            f"{context.view}_groups", columns, grouped.inputs, outputs, indicate_positive(count)
        )
        source = context.registry.source(relation)
        variables, width = source.variables(), len(closed.links)
        env: dict[Key, Scalar] = {v.key: Const(None, v.type.with_null()) for v, _ in self.grouping.keys}
        env |= {self.grouping.variable(k).key: v for k, v in zip(keys, variables[width:], strict=False)}
        env |= {v.key: values[number] for v, values in self.grouping.indicators}
        called = [a.variable.key for a in self.grouping.aggregates]
        found: dict[Key, Scalar] = dict(zip(called, variables[len(columns) :], strict=False))
        conditions = closed.conditions(variables)
        branches = [Branch(1, (source,), conditions, {**env, **found})]
        if not keys:
            nothing: dict[Key, Scalar] = {k: compute_default(r, inputs) for k, r in zip(called, results, strict=True)}
            branches.append(Branch(1, (), (), {**env, **nothing}))
            branches.append(Branch(-1, (source,), conditions, {**env, **nothing}))
        return branches
