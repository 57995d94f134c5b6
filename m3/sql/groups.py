"""A grouping -> polynomials, where its aggregates are linear, else rows of derived relations, one for each grouping set."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from m3.algebra import Branch, InputQuery, Polynomial
from m3.program import Column, OutputColumn
from m3.scalars import Const, Key, Scalar, Var, const, vars_of
from m3.sql import aggregates
from m3.sql.aggregates import AggregateCall, default_of
from m3.sql.block import Grouping
from m3.sql.correlation import Closed, close, counted, plain, positive, stored
from m3.sql.workspace import Workspace

__all__ = ["LinearGroups", "derived_groups", "linear_groups"]

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


def linear_groups(grouping: Grouping, space: Workspace) -> LinearGroups | None:
    """The grouping of a workspace's rows as a view reads it off its maps, where that is possible."""
    return _Groups(grouping, space).linear()


def derived_groups(grouping: Grouping, space: Workspace) -> list[Branch]:
    """The groups of a workspace's rows as rows of derived relations.

    >>> from m3.sql.show import joined, show_rows
    >>> print(show_rows(joined("SELECT a, MAX(x) AS m FROM r GROUP BY a HAVING COUNT(*) > 1")))
    + v_groups.a AS a, v_groups.m_2 AS m FROM v_groups WHERE v_groups.count_2 > 1
    """
    groups = _Groups(grouping, space)
    return [branch for number in range(len(grouping.sets)) for branch in groups.derived(number)]


@dataclass(frozen=True)
class _Groups:
    grouping: Grouping
    base: Workspace

    def linear(self) -> LinearGroups | None:
        if len(self.grouping.sets) != 1:
            return None
        (chosen,) = self.grouping.sets
        closed, names, args = self._closed(chosen)
        grouped = self._grouped(closed, names)
        results = self._results(grouped, args)
        if closed.links or any(x.kind != "value" for x in grouped.inputs):
            return None
        keys = plain(names)
        env: dict[Key, Scalar] = {
            self.grouping.variable(key).key: Var(column.name, column.type)
            for key, column in zip(chosen, keys, strict=True)
        }
        env |= {a.variable.key: r for a, r in zip(self.grouping.aggregates, results, strict=True)}
        env |= {v.key: const(int(False)) for v, _ in self.grouping.indicators}
        return LinearGroups(tuple(keys), tuple(grouped.inputs), counted(closed.branches, names), env)

    def _closed(self, keys: Sequence[Scalar]) -> tuple[Closed, list[Var], list[AggregateCall]]:
        """The base rows without outer columns, knowing the keys and the arguments of all calls."""
        registry = self.base.context.registry
        names = [Var(self.grouping.variable(k).name, k.type, registry.scope("part")) for k in keys]
        env: dict[Key, Scalar] = {c.key: k for c, k in zip(names, keys, strict=True)}
        args = []
        for wanted in (a.call for a in self.grouping.aggregates):
            scope = registry.scope("part")
            given = tuple(Var(f"{i}", a.type, scope) for i, a in enumerate(wanted.args))
            env |= {v.key: a for v, a in zip(given, wanted.args, strict=True)}
            where = None
            if wanted.where is not None:
                where = Var("where", wanted.where.type, scope)
                env[where.key] = wanted.where
            args.append(replace(wanted, args=given, where=where))
        self.base.expand(env.values())
        self._store()
        branches = [replace(b, env={**b.env, **{n: b.value(s) for n, s in env.items()}}) for b in self.base.branches]
        return close(self.base, branches, list(env)), names, args

    def _store(self) -> None:
        """Keep the base rows as a relation of their own if many maps would repeat the same join."""
        base, calls = self.base, [a.call for a in self.grouping.aggregates]
        work = sum(2 ** max(0, len(b.sources) - 1) for b in base.branches) * len(base.branches)
        if (
            work * len(self.grouping.sets) * (len(calls) + 1) <= MUCH
            or max((len(b.sources) for b in base.branches), default=0) < 2
        ):
            return
        asked = [s for _, s in self.grouping.keys]
        asked += [s for c in calls for s in (*c.args, *([c.where] if c.where is not None else []))]
        base.expand(asked)
        base.branches = stored(base, base.branches, list(vars_of(*asked).values()))

    def _grouped(self, closed: Closed, names: Sequence[Var]) -> aggregates.Grouping:
        keys = [*closed.columns(), *names]
        return aggregates.Grouping(self.base, closed.branches, keys, {c.name for c in plain(keys)}, not names)

    def _results(self, grouped: aggregates.Grouping, args: Sequence[AggregateCall]) -> list[Scalar]:
        return [grouped.result(c, a.node, a.name) for c, a in zip(args, self.grouping.aggregates, strict=True)]

    def derived(self, number: int) -> list[Branch]:
        """The groups of one grouping set."""
        keys = self.grouping.sets[number]
        closed, names, args = self._closed(keys)
        grouped = self._grouped(closed, names)
        count = grouped.rows()
        results = self._results(grouped, args)
        columns = plain(grouped.keys)
        inputs = {x.name: x for x in grouped.inputs}
        taken = {c.name.lower() for c in columns} | {name.lower() for name in inputs}
        outputs = []
        for result, aggregate in zip(results, self.grouping.aggregates, strict=True):
            wish = aggregate.name
            names_ = itertools.chain([wish], (f"{wish}_{i}" for i in itertools.count(2)))
            name = next(n for n in names_ if n.lower() not in taken)
            taken.add(name.lower())
            outputs.append(OutputColumn(name, result))
        context = self.base.context
        relation = context.registry.derive(f"{context.view}_groups", columns, grouped.inputs, outputs, positive(count))
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
            nothing: dict[Key, Scalar] = {k: default_of(r, inputs) for k, r in zip(called, results, strict=True)}
            branches.append(Branch(1, (), (), {**env, **nothing}))
            branches.append(Branch(-1, (source,), conditions, {**env, **nothing}))
        return branches
