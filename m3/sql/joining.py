"""A FROM clause -> signed joins.

An outer join is its inner join plus the rows without a match, whose other side is NULL: the rows less those for which a
match exists (a derived relation, see :mod:`m3.sql.correlation`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from m3.algebra.derive import InputQuery
from m3.algebra.rows import Branch, Rows, add_conditions, bind, product
from m3.datatypes import INT
from m3.program import Relation
from m3.scalars import Const, Key, Scalar, Var, call, const, named, vars_of
from m3.sql.block import Block, Combined, Constants, From, Join, Subquery, Table, columns_of, is_placeholder
from m3.sql.correlation import close, converted, counted, existence, plain, standalone, stored
from m3.sql.names import Context

__all__ = ["BRANCHES", "Case", "Workspace", "combined_rows", "constant_rows", "join_tables"]


# One block while it is joined: its rows so far, as signed joins, and the subqueries that are not decided yet.


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


#: A derived table with more branches is kept as a relation of its own.
TABLE_BRANCHES = 3


def join_tables(source: From | None, space: Workspace) -> None:
    """Make the workspace's branches the rows of a FROM clause.

    >>> from m3.sql.show import joined, show_rows
    >>> print(show_rows(joined("SELECT a, c FROM r LEFT JOIN s ON b = id")))
    + r.a AS a, s.c AS c FROM r, s WHERE s.b = r.id
    + r.a AS a, NULL :: INT AS c FROM r
    - r.a AS a, NULL :: INT AS c FROM r, v_matched WHERE v_matched.b = r.id
    """
    if source is not None:
        _joined(source, space)


def _joined(source: From, space: Workspace) -> None:
    """Multiply the workspace's rows by a FROM clause; afterwards these are its columns."""
    if isinstance(source, Table):
        space.branches = product(space.branches, _table(source, space))
        space.columns = source.columns
        return
    _joined(source.left, space)
    if source.side in ("SEMI", "ANTI"):
        _semi(source, space)
    else:
        _combine(source, space)


def _operand(source: From, space: Workspace) -> list[Branch]:
    """The rows of the right side of a join, not joined yet."""
    if isinstance(source, Table):
        return _table(source, space)
    before, columns, early = space.branches, space.columns, space.early
    space.branches, space.early = [Branch()], []
    _joined(source, space)
    branches = space.branches
    space.branches, space.columns, space.early = before, columns, early
    return branches


def _table(table: Table, space: Workspace) -> list[Branch]:
    from m3.sql.select import rows_of

    if isinstance(table.rows, Relation):
        source = space.context.registry.source(table.rows)
        found = zip(table.columns, source.variables(), strict=True)
        return [Branch(1, (source,), (), {mine.key: v for mine, v in found})]
    rows = rows_of(table.rows, space)
    branches = rows.branches
    if len(branches) > TABLE_BRANCHES:  # joins multiply branches
        branches = tuple(stored(space, branches, rows.columns))
    return [
        Branch(b.coefficient, b.sources, b.conditions, {
            mine.key: b.env[c.key] for mine, c in zip(table.columns, rows.columns, strict=True)
        })
        for b in branches
    ]  # fmt: skip


def _combine(join: Join, space: Workspace) -> None:
    right = _operand(join.right, space)
    left, side = space.branches, join.side
    mine, theirs = columns_of(join.left), columns_of(join.right)
    if len(left) * len(right) > BRANCHES and len(right) > 1:
        right = stored(space, right, [v for v in theirs if v.key in right[0].env])
    lonely = _without(space, left, right, join.on, theirs) if side in ("LEFT", "FULL") else []
    others = _without(space, right, left, join.on, mine) if side in ("RIGHT", "FULL") else []
    space.columns = columns_of(Join(join.left, join.right, side))
    space.branches = product(left, right)
    for condition in join.on:
        space.filter(condition)
    space.branches = [*space.branches, *lonely, *others]
    if len(space.branches) > BRANCHES:
        _filter_early(space)
    space.compact()
    for _, variable, what in join.merged:
        space.branches = [bind(b, {variable.key: b.value(what)}) for b in space.branches]
    space.columns = columns_of(join)


def _filter_early(space: Workspace) -> None:
    """Apply the conditions of WHERE that are about the tables so far, before their rows are kept."""
    known = {v.key for v in space.columns}
    for condition in [c for c in space.early if known.issuperset(vars_of(c))]:
        space.early.remove(condition)
        space.filter(condition)


def _without(
    space: Workspace, kept: list[Branch], other: list[Branch], on: Sequence[Scalar], missing: Sequence[Var]
) -> list[Branch]:
    """The rows of ``kept`` for which ``other`` has none: all of them less those with a match."""
    asking = Workspace(space.context, space.parent, branches=kept)
    there = existence(asking, Rows((), tuple(add_conditions(other, on))), "matched")
    absent: dict[Key, Scalar] = {v.key: Const(None, v.type.with_null()) for v in missing}
    minus = Branch(-1, there.sources, there.conditions)
    return [bind(b, absent) for b in product(kept, [Branch(), minus])]


def _semi(join: Join, space: Workspace) -> None:
    right = _operand(join.right, space)
    there = existence(space, Rows((), tuple(add_conditions(right, join.on))), "matched")
    minus = Branch(-1, there.sources, there.conditions)
    space.branches = product(space.branches, [Branch(), minus] if join.side == "ANTI" else [there])


# Set operations and VALUES -> bags of rows.
#
# UNION ALL adds bags. The others compare how often a row is on each side (``l`` and ``r``), which is not linear: a derived
# relation has it ``max(l - r, 0)`` times for EXCEPT ALL, ``min(l, r)`` times for INTERSECT ALL, and at most once without ALL.


LEFT, RIGHT, ZERO, ONE = Var("left_rows", INT), Var("right_rows", INT), const(0), const(1)


def constant_rows(query: Constants) -> Rows:
    """The rows of VALUES."""
    envs: list[dict[Key, Scalar]] = [{c.key: s for c, s in zip(query.columns, row, strict=True)} for row in query.rows]
    return Rows(query.columns, tuple(Branch(1, (), (), env) for env in envs))


def combined_rows(query: Combined, left: Rows, right: Rows, space: Workspace) -> Rows:
    """The rows of a set operation, from those of its sides."""
    ours, theirs = (_converted(rows, query.columns) for rows in (left, right))
    if query.operator == "union" and not query.distinct:
        return Rows(query.columns, (*ours, *theirs))
    return _compared(query, space, ours, theirs)


def _converted(rows: Rows, columns: Sequence[Var]) -> list[Branch]:
    return [
        Branch(b.coefficient, b.sources, b.conditions, {
            new.key: converted(b.env[old.key], new) for old, new in zip(rows.columns, columns, strict=True)
        })
        for b in rows.branches
    ]  # fmt: skip


def _compared(query: Combined, space: Workspace, ours: list[Branch], theirs: list[Branch]) -> Rows:
    columns = query.columns
    closed = close(space, [*ours, *theirs], [c.key for c in columns])
    keys = [*closed.columns(), *columns]
    if query.operator == "union":
        inputs = [InputQuery(LEFT.name, "value", counted(closed.branches, keys))]
    else:
        sides = (closed.branches[: len(ours)], closed.branches[len(ours) :])
        inputs = [InputQuery(v.name, "value", counted(b, keys)) for v, b in zip((LEFT, RIGHT), sides, strict=True)]
    context = space.context
    relation = context.registry.derive(f"{context.view}_{query.operator}", plain(keys), inputs, (), _count(query))
    source = context.registry.source(relation)
    variables = source.variables()
    env: dict[Key, Scalar] = {c.key: v for c, v in zip(columns, variables[len(closed.links) :], strict=True)}
    return Rows(tuple(columns), (Branch(1, (source,), closed.conditions(variables), env),))


def _count(query: Combined) -> Scalar:
    here = call("gt", LEFT, ZERO)
    if query.operator == "union":
        return call("case", here, ONE, ZERO)
    if query.operator == "except":
        if query.distinct:
            return call("case", call("and", here, call("le", RIGHT, ZERO)), ONE, ZERO)
        return call("case", call("gt", LEFT, RIGHT), call("sub", LEFT, RIGHT), ZERO)
    both = call("and", here, call("gt", RIGHT, ZERO))
    if query.distinct:
        return call("case", both, ONE, ZERO)
    return call("case", call("not", both), ZERO, call("lt", LEFT, RIGHT), LEFT, RIGHT)
