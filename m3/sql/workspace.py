"""One block while it is joined: its rows so far, as signed joins, and the subqueries that are not decided yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from m3.algebra import Branch, add_conditions, bind, product
from m3.scalars import Key, Scalar, Var, named, vars_of
from m3.sql.block import Block, Subquery, is_placeholder
from m3.sql.correlation import close, converted, counted, standalone, stored
from m3.sql.names import Context

__all__ = ["BRANCHES", "Case", "Workspace"]

#: What a placeholder may be: (value, factor) pairs whose factors, as sums of branches, partition the block's rows.
Case = tuple[Scalar, list[Branch]]
#: Blocks with more branches are kept as relations of their own.
BRANCHES = 9


@dataclass
class Workspace:
    """The rows of a block so far. In each branch, ``env`` says what the block's columns are.

    ``columns`` are those of the tables that are joined so far. For what is behind a GROUP BY, ``base`` is the space before
    it, and what the group's columns are there.
    """

    context: Context
    parent: Workspace | None = None
    branches: list[Branch] = field(default_factory=lambda: [Branch()])
    columns: tuple[Var, ...] = ()
    unread: frozenset[Key] = frozenset()
    early: list[Scalar] = field(default_factory=list)
    subqueries: Mapping[Key, Subquery] = field(default_factory=dict)
    base: tuple[Workspace, Mapping[Key, Scalar]] | None = None
    #: The cases of subqueries that are not joined in yet, and for some a factor that is 1 where it has several rows.
    cases: dict[Key, list[Case]] = field(default_factory=dict)
    several: dict[Key, Branch] = field(default_factory=dict)

    @staticmethod
    def of(block: Block, context: Context, parent: Workspace | None) -> Workspace:
        """An empty space for a block."""
        subqueries = {s.variable.key: s for s in block.subqueries}
        return Workspace(context, parent, unread=block.unread, early=list(block.early), subqueries=subqueries)

    def behind(self, keys: Mapping[Key, Scalar]) -> Workspace:
        """The space behind a GROUP BY, of groups with these keys."""
        return Workspace(self.context, self.parent, subqueries=self.subqueries, base=(self, keys))

    def knows(self, key: Key) -> bool:
        """Whether a variable is this block's."""
        if self.base is not None:
            return key in self.base[1]
        return any(key in branch.env for branch in self.branches) or any(key == v.key for v in self.columns)

    def prepare(self, scalars: Iterable[Scalar]) -> None:
        """Work out the cases of the subqueries in ``scalars`` that the rows do not know yet."""
        from m3.sql.decide import decide

        for key in vars_of(*scalars):
            if key in self.subqueries and key not in self.cases and not all(key in b.env for b in self.branches):
                self.cases[key] = decide(self.subqueries[key], self)

    def expand(self, scalars: Iterable[Scalar]) -> None:
        """Make the subqueries in ``scalars`` known in all branches."""
        scalars = list(scalars)
        self.prepare(scalars)
        for key, variable in vars_of(*scalars).items():
            cases = self.cases.pop(key, None)
            if cases is None:
                continue
            if key in self.several:
                self._check(self.subqueries[key], self.several.pop(key))
            if len(self.branches) * sum(len(factor) for _, factor in cases) > BRANCHES:
                cases = self._packed(variable, cases)
            self.branches = [
                joined for value, factor in cases for joined in _with_value(product(self.branches, factor), key, value)
            ]
            self.compact()

    def _check(self, subquery: Subquery, several: Branch) -> None:
        """There must be no row for which the subquery has several rows."""
        closed = close(self.parent or self, product(self.branches, [several]))
        if closed.links:
            hint = "aggregate it, e.g. with MIN or MAX, or add LIMIT 1"
            self.context.fail(subquery.node, "a scalar subquery that may have several rows", "scalar-subquery", hint)
        self.context.checks.append(counted(closed.branches, ()))

    def _packed(self, wanted: Var, cases: list[Case]) -> list[Case]:
        """The cases as one relation with one row, if they are the same for all rows of the block."""
        branches = [
            Branch(f.coefficient, f.sources, f.conditions, {wanted.key: converted(value, wanted)})
            for value, factor in cases
            for f in factor
        ]
        if not standalone(branches):
            return cases
        (kept,) = stored(self, branches, [wanted])
        return [(kept.env[wanted.key], [Branch(1, kept.sources, kept.conditions)])]

    def compact(self, *, placeholders: bool = True) -> None:
        """Keep the rows as a relation of their own if they have many branches.

        Args:
            placeholders: keep what the decided subqueries are.
        """
        if len(self.branches) <= BRANCHES:
            return
        typed = {v.key: v.type for v in self.columns}
        first, *others = self.branches
        columns = []
        for key, scalar in first.env.items():
            found = [scalar.type, *(b.env[key].type for b in others if key in b.env)]
            if (
                len(found) == len(self.branches)
                and key not in self.unread
                and (placeholders or not is_placeholder(key))
            ):
                nullable = any(t.nullable for t in found)
                columns.append(named(key, typed.get(key, scalar.type).with_null(nullable)))
        self.branches = stored(self, self.branches, columns)

    def filter(self, condition: Scalar) -> None:
        """Keep the rows for which a condition is true."""
        self.expand([condition])
        self.branches = add_conditions(self.branches, [condition])


def _with_value(branches: Iterable[Branch], key: Key, value: Scalar) -> Iterator[Branch]:
    for branch in branches:
        yield bind(branch, {key: branch.value(value)})
