"""GROUP BY and aggregates: what is grouped by, which aggregates are asked for, and the groups as rows.

Grouping sets (ROLLUP, CUBE) are one grouping each, in which the other keys are NULL.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from m3.algebra import Branch, InputQuery, Polynomial
from m3.datatypes import INT
from m3.program import Column, OutputColumn
from m3.scalars import Const, Key, Scalar, Var, const, vars_of
from m3.sql.aggregates import AggregateCall, Grouping, default_of, read_call
from m3.sql.block import Block
from m3.sql.correlation import Closed, close, counted, plain, positive, stored
from m3.sql.expressions import ExpressionReader
from m3.sql.places import folded

__all__ = ["Grouped", "LinearGroups", "has_aggregates", "is_aggregate", "read_grouping"]

#: The maps for one grouping, roughly, from which on the rows that are grouped are kept as a relation of their own.
MUCH = 390


@dataclass(frozen=True)
class LinearGroups:
    """A grouping whose aggregates are all linear: its keys, its inputs, the count of a group's rows, and what the
    variables behind the grouping are over keys and inputs."""

    keys: tuple[Column, ...]
    inputs: tuple[InputQuery, ...]
    exists: Polynomial
    env: Mapping[Key, Scalar]


@dataclass
class Grouped:
    """A grouping. ``block`` is the block behind it, in which group keys and aggregates are columns."""

    base: Block
    block: Block
    items: Sequence[exp.Expr]
    read_base: Callable[[exp.Expr], Scalar]
    keys: dict[Scalar, tuple[Var, str]] = field(default_factory=dict)
    sets: list[tuple[Scalar, ...]] = field(default_factory=list)
    calls: dict[AggregateCall, tuple[Var, exp.Expr, str]] = field(default_factory=dict)
    indicators: dict[Key, tuple[Scalar, ...]] = field(default_factory=dict)
    #: What is grouped by, as it is written, up to case.
    targets: dict[exp.Expr, Scalar] = field(default_factory=dict)

    def reader(self, leaf: Callable[[exp.Expr], Scalar | None]) -> _GroupReader:
        """Reads expressions over groups; ``leaf`` knows subqueries."""
        return _GroupReader(self, leaf)

    def call(self, node: exp.Expr, wish: str) -> Var:
        """The column of an aggregate call."""
        wanted = read_call(node, self.base, self.read_base)
        if wanted not in self.calls:
            self.calls[wanted] = (Var(wish, wanted.type, self.base.context.registry.scope("group")), node, wish)
        return self.calls[wanted][0]

    def linear(self) -> LinearGroups | None:
        """The grouping as a view reads it off its maps, where that is possible."""
        if len(self.sets) != 1:
            return None
        closed, names, args = self._closed(self.sets[0])
        grouping = self._grouping(closed, names)
        results = self._results(grouping, args)
        if closed.links or any(x.kind != "value" for x in grouping.inputs):
            return None
        keys = plain(names)
        env: dict[Key, Scalar] = {
            self.keys[key][0].key: Var(column.name, column.type) for key, column in zip(self.sets[0], keys, strict=True)
        }
        env |= {var.key: result for (var, _, _), result in zip(self.calls.values(), results, strict=True)}
        env |= {key: const(int(False)) for key in self.indicators}
        return LinearGroups(tuple(keys), tuple(grouping.inputs), counted(closed.branches, names), env)

    def derived(self) -> list[Branch]:
        """The groups as rows of derived relations."""
        return [branch for keys in self.sets for branch in self._derived(keys)]

    def _closed(self, keys: Sequence[Scalar]) -> tuple[Closed, list[Var], list[tuple[AggregateCall, AggregateCall]]]:
        """The base rows without outer columns, knowing the keys and the arguments of all calls."""
        registry = self.base.context.registry
        names = [Var(self.keys[k][1], k.type, registry.scope("part")) for k in keys]
        env: dict[Key, Scalar] = {c.key: k for c, k in zip(names, keys, strict=True)}
        args = []
        for wanted in self.calls:
            scope = registry.scope("part")
            given = tuple(Var(f"{i}", a.type, scope) for i, a in enumerate(wanted.args))
            env |= {v.key: a for v, a in zip(given, wanted.args, strict=True)}
            where = None
            if wanted.where is not None:
                where = Var("where", wanted.where.type, scope)
                env[where.key] = wanted.where
            args.append((wanted, replace(wanted, args=given, where=where)))
        self.base.expand(env.values())
        self._store()
        branches = [replace(b, env={**b.env, **{n: b.value(s) for n, s in env.items()}}) for b in self.base.branches]
        return close(self.base, branches, list(env)), names, args

    def _store(self) -> None:
        """Keep the base rows as a relation of their own if many maps would repeat the same join."""
        base = self.base
        work = sum(2 ** max(0, len(b.sources) - 1) for b in base.branches) * len(base.branches)
        if (
            work * len(self.sets) * (len(self.calls) + 1) <= MUCH
            or max((len(b.sources) for b in base.branches), default=0) < 2
        ):
            return
        asked = [*self.keys, *(s for c in self.calls for s in (*c.args, *([c.where] if c.where is not None else [])))]
        base.expand(asked)
        base.branches = stored(base, base.branches, list(vars_of(*asked).values()))

    def _grouping(self, closed: Closed, names: Sequence[Var]) -> Grouping:
        keys = [*closed.columns(), *names]
        return Grouping(self.base, closed.branches, keys, {c.name for c in plain(keys)}, not names)

    def _results(self, grouping: Grouping, args: Sequence[tuple[AggregateCall, AggregateCall]]) -> list[Scalar]:
        return [grouping.result(given, self.calls[wanted][1], self.calls[wanted][2]) for wanted, given in args]

    def _derived(self, keys: Sequence[Scalar]) -> list[Branch]:
        closed, names, args = self._closed(keys)
        grouping = self._grouping(closed, names)
        count = grouping.rows()
        results = self._results(grouping, args)
        columns = plain(grouping.keys)
        inputs = {x.name: x for x in grouping.inputs}
        taken = {c.name.lower() for c in columns} | {name.lower() for name in inputs}
        outputs = []
        for result, (_, _, wish) in zip(results, self.calls.values(), strict=True):
            name = next(
                n
                for n in itertools.chain([wish], (f"{wish}_{i}" for i in itertools.count(2)))
                if n.lower() not in taken
            )
            taken.add(name.lower())
            outputs.append(OutputColumn(name, result))
        context = self.base.context
        relation = context.registry.derive(f"{context.view}_groups", columns, grouping.inputs, outputs, positive(count))
        source = context.registry.source(relation)
        variables, width = source.variables(), len(closed.links)
        env: dict[Key, Scalar] = {var.key: Const(None, var.type.with_null()) for var, _ in self.keys.values()}
        env |= {self.keys[k][0].key: v for k, v in zip(keys, variables[width:], strict=False)}
        env |= {key: values[self.sets.index(tuple(keys))] for key, values in self.indicators.items()}
        found: dict[Key, Scalar] = {
            var.key: v for (var, _, _), v in zip(self.calls.values(), variables[len(columns) :], strict=False)
        }
        conditions = closed.conditions(variables)
        branches = [Branch(1, (source,), conditions, {**env, **found})]
        if not keys:
            nothing: dict[Key, Scalar] = {
                v.key: default_of(r, inputs) for (v, _, _), r in zip(self.calls.values(), results, strict=True)
            }
            branches.append(Branch(1, (), (), {**env, **nothing}))
            branches.append(Branch(-1, (source,), conditions, {**env, **nothing}))
        return branches


class _GroupReader:
    """Reads expressions over the rows of a grouping: HAVING, the list, ORDER BY."""

    def __init__(self, grouped: Grouped, leaf: Callable[[exp.Expr], Scalar | None]) -> None:
        self.grouped, self.subqueries = grouped, leaf
        self._expressions = ExpressionReader(grouped.base.context.source, self._leaf)

    def read(self, node: exp.Expr) -> Scalar:
        """An expression over groups."""
        return self._expressions.read(node)

    def _leaf(self, node: exp.Expr) -> Scalar | None:
        grouped = self.grouped
        target = grouped.targets.get(folded(node))
        if target is not None:
            return grouped.keys[target][0]
        if is_aggregate(node):
            return grouped.call(node, self._wish(node))
        if isinstance(node, exp.Grouping | exp.GroupingId):
            return self._indicator(node)
        found = self.subqueries(node)
        if found is not None:
            return found
        if isinstance(node, exp.Column):
            return self._column(node)
        if node.find(exp.AggFunc, exp.Query, exp.Window) or not node.find(exp.Column) or self._uses_alias(node):
            return None
        known = grouped.keys.get(grouped.read_base(node))
        return known[0] if known is not None else None

    def _wish(self, node: exp.Expr) -> str:
        """A name for a call: its output column's, if it is in one."""
        parent: exp.Expr | None = node
        while parent is not None and not isinstance(parent, exp.Alias | exp.Select):
            parent = parent.parent
        if isinstance(parent, exp.Alias):
            return parent.alias
        inner = node.this if isinstance(node, exp.Filter) else node
        return inner.key.lower()

    def _uses_alias(self, node: exp.Expr) -> bool:
        return any(self._alias(c) is not None for c in node.find_all(exp.Column))

    def _alias(self, node: exp.Column) -> exp.Expr | None:
        """The list item that a name means, where no table has a column of that name."""
        if node.table or any(True for _ in self.grouped.base.candidates(node)):
            return None
        return next(
            (i.this for i in self.grouped.items if isinstance(i, exp.Alias) and i.alias.lower() == node.name.lower()),
            None,
        )

    def _column(self, node: exp.Column) -> Scalar:
        named = self._alias(node)
        if named is not None and node not in list(named.walk()):
            return self.read(named)
        scalar = self.grouped.read_base(node)
        known = self.grouped.keys.get(scalar)
        if known is not None:
            return known[0]
        if not any(True for _ in self.grouped.base.candidates(node)):
            return scalar  # an outer column
        extra = self._determined(scalar)
        if extra is not None:
            return extra
        hint = "add it to GROUP BY, or aggregate it"
        return self.grouped.base.fail(node, f"column {node.sql()!r} is not grouped", "not-grouped", hint)

    def _determined(self, scalar: Scalar) -> Var | None:
        """A column of a table whose declared key is grouped by becomes a key as well; it changes no group."""
        grouped = self.grouped
        if len(grouped.sets) != 1 or not grouped.keys or len(grouped.base.branches) != 1:
            return None
        branch = grouped.base.branches[0]
        value = branch.value(scalar)
        if not isinstance(value, Var):
            return None
        source = next((s for s in branch.sources if value.scope == s.scope), None)
        present = {branch.value(k) for k in grouped.sets[0]}
        if source is None or not source.relation.key:
            return None
        if not all(source.variable(c) in present for c in source.relation.columns if c.name in source.relation.key):
            return None
        grouped.sets[0] = (*grouped.sets[0], scalar)
        return add_key(grouped, scalar, value.name)

    def _indicator(self, node: exp.Expr) -> Var:
        """GROUPING(a, b): a bit per argument, set where the row's grouping does not have it."""
        grouped = self.grouped
        args = [grouped.read_base(a) for a in (node.expressions or [node.this])]
        variable = Var("grouping", INT, grouped.base.context.registry.scope("group"))
        values = []
        for keys in grouped.sets:
            bits = [int(a not in keys) for a in args]
            values.append(const(sum(bit << i for i, bit in enumerate(reversed(bits)))))
        grouped.indicators[variable.key] = tuple(values)
        return variable


def add_key(grouped: Grouped, scalar: Scalar, wish: str) -> Var:
    """Make an expression over the base block a key."""
    if scalar not in grouped.keys:
        nullable = scalar.type.nullable or len(grouped.sets) > 1
        grouped.keys[scalar] = (
            Var(wish, scalar.type.with_null(nullable), grouped.base.context.registry.scope("group")),
            wish,
        )
        assert grouped.block.base is not None
        grouped.block.base[1][grouped.keys[scalar][0].key] = scalar
    return grouped.keys[scalar][0]


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is an aggregate call, with or without FILTER."""
    if isinstance(node, exp.Filter):
        return isinstance(node.this, exp.AggFunc)
    return isinstance(node, exp.AggFunc) and not isinstance(node, exp.Grouping | exp.GroupingId)


def has_aggregates(select: exp.Select, items: Iterable[exp.Expr]) -> bool:
    """Whether a SELECT without GROUP BY aggregates nevertheless."""
    order = select.args.get("order")
    return select.args.get("having") is not None or any(
        map(_aggregates, [*items, *(o.this for o in (order.expressions if order is not None else ()))])
    )


def _aggregates(node: exp.Expr) -> bool:
    if isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Window):
        inside = [
            *node.this.iter_expressions(),
            *(node.args.get("partition_by") or ()),
            *([node.args["order"]] if node.args.get("order") else []),
        ]
        return any(map(_aggregates, inside))
    return is_aggregate(node) or any(_aggregates(child) for child in node.iter_expressions())


def read_grouping(
    select: exp.Select, items: Sequence[exp.Expr], base: Block, read: Callable[[exp.Expr], Scalar]
) -> Grouped:
    """The grouping of a SELECT."""
    after = Block.inside(base.context, base.parent)
    after.base = (base, {})
    after.views = base.views
    grouped = Grouped(base, after, items, read)
    sets = _sets(select, grouped)
    grouped.sets = [()] * len(sets)
    for keys in sets:
        for node, wish in keys:
            grouped.targets[folded(node)] = read(node)
            add_key(grouped, grouped.targets[folded(node)], wish)
    grouped.sets = [tuple(dict.fromkeys(grouped.targets[folded(node)] for node, _ in keys)) for keys in sets]
    return grouped


Named = tuple[exp.Expr, str]


def _sets(select: exp.Select, grouped: Grouped) -> list[list[Named]]:
    group = select.args.get("group")
    if group is None:
        return [[]]
    if group.args.get("all"):
        plain_items = [i for i in grouped.items if not _aggregates(i)]
        return [[_target(i.unalias(), grouped) for i in plain_items]]
    parts = [_part(node, grouped) for node in group.expressions]
    for clause in ("rollup", "cube", "grouping_sets"):
        parts += [_part(node, grouped) for node in group.args.get(clause) or ()]
    return [[key for keys in choice for key in keys] for choice in itertools.product(*parts)]


def _part(node: exp.Expr, grouped: Grouped) -> list[list[Named]]:
    """The alternatives of one entry of GROUP BY."""
    if isinstance(node, exp.Rollup):
        units = [_unit(n, grouped) for n in node.expressions]
        return [[k for u in units[:n] for k in u] for n in range(len(units), -1, -1)]
    if isinstance(node, exp.Cube):
        units = [_unit(n, grouped) for n in node.expressions]
        chosen = itertools.product((True, False), repeat=len(units))
        return [[k for u, wanted in zip(units, choice, strict=True) if wanted for k in u] for choice in chosen]
    if isinstance(node, exp.GroupingSets):
        return [
            keys
            for n in node.expressions
            for keys in (_part(n, grouped) if isinstance(n, exp.Rollup | exp.Cube) else [_unit(n, grouped)])
        ]
    return [_unit(node, grouped)]


def _unit(node: exp.Expr, grouped: Grouped) -> list[Named]:
    if isinstance(node, exp.Tuple):
        return [_target(n, grouped) for n in node.expressions]
    return [_target(node.this if isinstance(node, exp.Paren) else node, grouped)]


def _target(node: exp.Expr, grouped: Grouped) -> Named:
    """The expression that an entry means, and a name: ordinals and aliases stand for list items."""
    items = grouped.items
    chosen: exp.Expr | None = None
    if isinstance(node, exp.Literal) and not node.args.get("is_string"):
        if not str(node.this).isdigit() or not 1 <= int(node.this) <= len(items):
            grouped.base.fail(node, f"no output column {node.this}", "bad-ordinal", f"there are {len(items)} columns")
        chosen = items[int(node.this) - 1]
    elif isinstance(node, exp.Column) and not node.table and not any(True for _ in grouped.base.candidates(node)):
        chosen = next((i for i in items if i.alias.lower() == node.name.lower()), None)
    body, wish = (node, "") if chosen is None else (chosen.unalias(), chosen.alias)
    if _aggregates(body):
        grouped.base.fail(node, "GROUP BY an aggregate", "group-by", "group by columns of the tables")
    wish = wish or next((i.alias for i in items if isinstance(i, exp.Alias) and i.this == body), "")
    return body, wish or (body.name if isinstance(body, exp.Column) else f"key_{len(grouped.keys) + 1}")
