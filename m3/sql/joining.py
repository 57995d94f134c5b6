"""A FROM clause and the subqueries of a block -> signed joins.

An outer join is its inner join plus the rows without a match, whose other side is NULL: the rows less those for which a
match exists (a derived relation, see :mod:`m3.sql.correlation`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from m3.algebra.rows import Branch, Rows, add_conditions, bind, is_row, outer, product
from m3.datatypes import BOOL
from m3.program import Relation
from m3.scalars import Const, Key, Scalar, Var, call, const, named, vars_of
from m3.sql.block import Block, From, Join, Query, Subquery, Table, columns_of, is_placeholder, placeholders
from m3.sql.correlation import (
    JOINED,
    Space,
    close,
    convert,
    count_rows,
    derive_existence,
    is_standalone,
    rename_columns,
    store_rows,
)
from m3.sql.names import Context
from m3.sql.normalise import find_scalars
from m3.sql.subqueries import compare

__all__ = ["BRANCHES", "Case", "Workspace", "decide", "join_tables"]


# One block while it is joined: its rows so far, as signed joins, and the subqueries that are not decided yet.


#: What a placeholder may be: (value, factor) pairs whose factors, as sums of branches, partition the block's rows.
Case = tuple[Scalar, list[Branch]]
#: Blocks with more branches are kept as relations of their own, since joins and subqueries multiply branches. The queries of the
#: test suite take 3,714 statements with 9, 3,800 with 3 and 4,023 with 200, where one query has 492 instead of 196.
BRANCHES = 9


#: The rows of a query inside a block: :func:`m3.sql.select.rows_of`, which itself reads FROM clauses.
RowsOf = Callable[[Query, "Workspace"], Rows]


@dataclass
class Workspace(Space):
    """The rows of a block so far, and the subqueries that they may ask. ``rows_of`` reads the queries inside the block."""

    rows_of: RowsOf = field(kw_only=True)
    #: How many expressions read a column, less those of joins that are done.
    reads: dict[Key, int] = field(default_factory=dict)
    early: list[Scalar] = field(default_factory=list)
    subqueries: Mapping[Key, Subquery] = field(default_factory=dict)
    #: The cases of subqueries that are not joined in yet, and for some a factor that is 1 where it has several rows.
    cases: dict[Key, list[Case]] = field(default_factory=dict)
    several: dict[Key, Branch] = field(default_factory=dict)

    @staticmethod
    def of(block: Block, context: Context, parent: Space | None, rows_of: RowsOf) -> Workspace:
        """An empty space for a block."""
        asked = {s.variable.key: s for s in block.subqueries}
        early = list(block.early)
        return Workspace(context, parent, rows_of=rows_of, reads=dict(block.reads), early=early, subqueries=asked)

    def behind(self, keys: Mapping[Key, Scalar]) -> Workspace:
        """The space behind a GROUP BY, of groups with these keys."""
        base = (self, keys)
        return Workspace(self.context, self.parent, base=base, rows_of=self.rows_of, subqueries=self.subqueries)

    def prepare(self, scalars: Iterable[Scalar]) -> None:
        """Work out the cases of the subqueries in ``scalars`` that the rows do not know yet."""
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
                self._check_single(self.subqueries[key], self.several.pop(key))
            if len(self.branches) * sum(len(factor) for _, factor in cases) > BRANCHES:
                cases = self._pack_cases(variable, cases)
            self.branches = [
                bind(b, {key: b.value(value)}) for value, factor in cases for b in product(self.branches, factor)
            ]
            self.compact()

    def _check_single(self, subquery: Subquery, several: Branch) -> None:
        """There must be no row for which the subquery has several rows."""
        closed = close(self.parent or self, product(self.branches, [several]))
        if closed.links:
            hint = "aggregate it, e.g. with MIN or MAX, or add LIMIT 1"
            self.context.source.fail(
                subquery.node, "a scalar subquery that may have several rows", "scalar-subquery", hint
            )
        self.context.checks.append((count_rows(closed.branches, ()), self.context.source.point_query(subquery.node)))

    def _pack_cases(self, wanted: Var, cases: list[Case]) -> list[Case]:
        """The cases as one relation with one row, if they are the same for all rows of the block."""
        branches = [
            Branch(f.coefficient, f.sources, f.conditions, {wanted.key: convert(value, wanted)})
            for value, factor in cases
            for f in factor
        ]
        if not is_standalone(branches):
            return cases
        (kept,) = store_rows(self, branches, [wanted])
        return [(kept.env[wanted.key], [Branch(1, kept.sources, kept.conditions)])]

    def compact(self, *, placeholders: bool = True, most: int = BRANCHES) -> None:
        """Keep the rows as a relation of their own if they have many branches.

        Args:
            placeholders: keep what the decided subqueries are.
            most: how many branches are not many.
        """
        if len(self.branches) <= most:
            return
        typed = {v.key: v.type for v in self.columns}
        first, *others = self.branches
        columns = []
        for key, scalar in first.env.items():
            found = [scalar.type, *(b.env[key].type for b in others if key in b.env)]
            if (
                len(found) == len(self.branches)
                and (key not in typed or self.reads.get(key))
                and (placeholders or not is_placeholder(key))
            ):
                nullable = any(t.nullable for t in found)
                columns.append(named(key, typed.get(key, scalar.type).with_null(nullable)))
        self.branches = store_rows(self, self.branches, columns)

    def forget(self, scalars: Iterable[Scalar]) -> None:
        """Expressions of a join that is done read nothing any more."""
        for scalar in scalars:
            for key in vars_of(scalar):
                self.reads[key] = self.reads.get(key, 0) - 1

    def filter(self, condition: Scalar) -> None:
        """Keep the rows for which a condition is true."""
        self.expand([condition])
        self.branches = add_conditions(self.branches, [condition])


#: A derived table with more branches is kept as a relation of its own. On the suite 1 takes 2 % more maps, 9 as many as 3.
TABLE_BRANCHES = 3


def join_tables(source: From | None, space: Workspace) -> None:
    """Make the workspace's branches the rows of a FROM clause.

    >>> from m3.sql.show import join_example, show_rows
    >>> print(show_rows(join_example("SELECT a, c FROM r LEFT JOIN s ON b = id")))
    + r.a AS a, s.c AS c FROM r, s WHERE s.b = r.id
    + r.a AS a, NULL :: INT AS c FROM r
    - r.a AS a, NULL :: INT AS c FROM r, v_matched WHERE v_matched.b = r.id
    """
    if source is not None:
        _join(source, space)


def _join(source: From, space: Workspace) -> None:
    """Multiply the workspace's rows by a FROM clause; afterwards these are its columns."""
    if isinstance(source, Table):
        space.branches = product(space.branches, _read_table(source, space))
        space.columns = source.columns
        return
    _join(source.left, space)
    if source.side in ("SEMI", "ANTI"):
        right = _read_operand(source.right, space)
        there = _derive_match(space, right, source.on)
        space.branches = product(space.branches, [Branch(), _negate(there)] if source.side == "ANTI" else [there])
        space.forget(source.on)
    else:
        _join_sides(source, space)


def _read_operand(source: From, space: Workspace) -> list[Branch]:
    """The rows of the right side of a join, not joined yet."""
    if isinstance(source, Table):
        return _read_table(source, space)
    before, columns, early = space.branches, space.columns, space.early
    space.branches, space.early = [Branch()], []
    _join(source, space)
    branches = space.branches
    space.branches, space.columns, space.early = before, columns, early
    return branches


def _read_table(table: Table, space: Workspace) -> list[Branch]:
    if isinstance(table.rows, Relation):
        source = space.context.registry.source(table.rows)
        found = zip(table.columns, source.variables(), strict=True)
        return [Branch(1, (source,), (), {mine.key: v for mine, v in found})]
    rows = space.rows_of(table.rows, space)
    branches = rows.branches
    if len(branches) > TABLE_BRANCHES:  # the join multiplies them with those of the other side
        branches = tuple(store_rows(space, branches, rows.columns))
    return rename_columns(replace(rows, branches=branches), table.columns)


def _ask_sides(join: Join, space: Workspace, right: list[Branch]) -> tuple[list[Branch], list[Var]]:
    """The rows of the right side of an outer join, which know the subqueries of its ON that read only them, and these; those that read
    only the left side are known to the workspace's rows. Which rows lack a match is asked of each side by itself, so a subquery
    that reads both sides is refused."""
    mine, theirs = ({v.key for v in columns_of(side)} for side in (join.left, join.right))
    asked: dict[bool, list[Var]] = {False: [], True: []}
    for key in placeholders(join.on):
        subquery = space.subqueries[key]
        read = _find_reads(subquery, space)
        lateral = any(mine & outer((*b.conditions, *b.env.values())).keys() for b in right)
        if (read & mine and read & theirs) or lateral:
            message = "a subquery in the ON of an outer join that reads both of its sides"
            space.context.source.fail(subquery.node, message, "unsupported-join", "join a derived table")
        asked[bool(read & theirs) or not (read & mine or join.side == "RIGHT")].append(subquery.variable)
    space.expand(asked[False])
    left, columns = space.branches, space.columns
    space.branches, space.columns = right, columns_of(join.right)
    space.expand(asked[True])
    right, space.branches, space.columns = space.branches, left, columns
    return right, asked[True]


def _find_reads(subquery: Subquery, space: Workspace) -> set[Key]:
    """The variables in a subquery, and in those that its operands ask."""
    found = {key for scalar in find_scalars(subquery) for key in vars_of(scalar)}
    nested = (found & space.subqueries.keys()) - {subquery.variable.key}
    return found.union(*(_find_reads(space.subqueries[key], space) for key in nested))


def _join_sides(join: Join, space: Workspace) -> None:
    right, asked = _read_operand(join.right, space), []  # type: tuple[list[Branch], list[Var]]
    if join.side and placeholders(join.on):
        right, asked = _ask_sides(join, space, right)
    if join.side == "FULL" and len(space.branches) * (len(right) + 2) + 2 * len(right) > BRANCHES:
        space.compact(most=1)  # before the join it is cheaper than behind it, where there are more branches
    widest = max((len(b.sources) for b in right), default=0)
    if join.side in ("LEFT", "FULL") and any(len(b.sources) + widest > JOINED for b in space.branches):
        # such a join is kept in parts, once for each branch that this one makes of it: kept as a whole before, it is kept once
        _apply_early(space)
        space.compact(most=0)
    left, side = space.branches, join.side
    mine, theirs = columns_of(join.left), columns_of(join.right)
    if len(left) * len(right) > BRANCHES and len(right) > 1:
        right = store_rows(
            space, right, [v for v in (*theirs, *asked) if v.key in right[0].env and space.reads.get(v.key)]
        )
    lonely = _subtract_matches(space, left, right, join.on, theirs) if side in ("LEFT", "FULL") else []
    others = _subtract_matches(space, right, left, join.on, mine) if side in ("RIGHT", "FULL") else []
    space.columns = columns_of(Join(join.left, join.right, side))
    space.branches = product(left, right)
    for condition in join.on:
        space.filter(condition)
    space.branches = [*space.branches, *lonely, *others]
    if len(space.branches) > BRANCHES:
        _apply_early(space)
    for _, variable, what in join.merged:
        space.branches = [bind(b, {variable.key: b.value(what)}) for b in space.branches]
    space.columns = columns_of(join)
    space.forget([*join.on, *(s for _, *both in join.merged for s in both)])
    space.compact()


def _apply_early(space: Workspace) -> None:
    """Apply what WHERE says of the tables so far, before their rows are kept."""
    known = {v.key for v in space.columns}
    for condition in [c for c in space.early if known.issuperset(vars_of(c))]:
        space.early.remove(condition)
        space.filter(condition)


def _derive_match(space: Space, other: list[Branch], on: Sequence[Scalar]) -> Branch:
    """A factor that is 1 for the rows that find one of ``other``, and 0 for the rest."""
    return derive_existence(space, Rows((), tuple(add_conditions(other, on))), "matched")


def _subtract_matches(
    space: Workspace, kept: list[Branch], other: list[Branch], on: Sequence[Scalar], missing: Sequence[Var]
) -> list[Branch]:
    """The rows of ``kept`` for which ``other`` has none: all of them less those with a match."""
    asking = Space(space.context, space.parent, kept)
    there = _derive_match(asking, other, on)
    absent: dict[Key, Scalar] = {v.key: Const(None, v.type.with_null()) for v in missing}
    return [bind(b, absent) for b in product(kept, [Branch(), _negate(there)])]


# The subqueries of a block -> the cases that their values may be, as factors of the block's rows.
#
# A subquery's truth is joined in as a derived relation with one row per group of its correlation: ``EXISTS`` is true for
# the rows that find theirs, and false for all rows less those. So nothing here is a special form of join: a condition that
# contains subqueries anywhere is decided case by case, and cases in which it is never true vanish.


TRUE, FALSE, UNKNOWN = const(True), const(False), Const(None, BOOL.with_null())


def decide(subquery: Subquery, space: Workspace) -> list[Case]:
    """The values of a subquery, each with the rows of the workspace that have it.

    >>> from m3.sql.show import join_example, show_rows
    >>> print(show_rows(join_example("SELECT a FROM r WHERE NOT EXISTS (SELECT * FROM s WHERE b = id)")))
    + r.a AS a FROM r
    - r.a AS a FROM r, v_exists WHERE v_exists.b = r.id
    """
    space.expand(subquery.operands)
    rows = space.rows_of(subquery.query, space)
    if subquery.kind == "exists":
        return _decide_between(derive_existence(space, rows, "exists"))
    if subquery.kind == "any":
        return _decide_any(subquery, rows, space)
    return _decide_value(subquery, rows, space)


def _decide_between(there: Branch) -> list[Case]:
    return [(TRUE, [there]), (FALSE, [Branch(), _negate(there)])]


def _decide_any(subquery: Subquery, rows: Rows, space: Workspace) -> list[Case]:
    """``x op ANY (query)``: true if some row makes it true, else unknown if some row makes it unknown."""
    condition = compare(subquery.operator, subquery.operands, rows.columns)
    match = derive_existence(space, _restrict(rows, condition), "in")
    if not condition.type.nullable:
        return _decide_between(match)
    # a match -> TRUE; none, but something unknown -> NULL; neither -> FALSE, by inclusion and exclusion
    unknown = derive_existence(space, _restrict(rows, call("is_null", condition)), "null")
    both = Branch(1, (*match.sources, *unknown.sources), (*match.conditions, *unknown.conditions))
    return [
        (TRUE, [match]),
        (UNKNOWN, [unknown, _negate(both)]),
        (FALSE, [Branch(), _negate(match), _negate(unknown), both]),
    ]


def _decide_value(subquery: Subquery, rows: Rows, space: Workspace) -> list[Case]:
    """The value of a subquery: that of its row, NULL when it has none."""
    (column,) = rows.columns
    present: list[Case] = [(b.env[column.key], [replace(b, env={})]) for b in rows.branches]
    if subquery.total:
        return present
    if not subquery.single and not (len(rows.branches) == 1 and _is_single(rows.branches[0])):
        space.several[subquery.variable.key] = derive_existence(space, rows, "several", over=1)
    there = derive_existence(space, rows, "some")
    return [*present, (Const(None, column.type.with_null()), [Branch(), _negate(there)])]


def _negate(branch: Branch) -> Branch:
    return replace(branch, coefficient=-branch.coefficient)


def _restrict(rows: Rows, condition: Scalar) -> Rows:
    return Rows(rows.columns, tuple(add_conditions(rows.branches, [condition])))


def _is_single(branch: Branch) -> bool:
    """Whether equalities with constants and outer columns determine a key of each source."""
    known: set[Key] = set()
    changed = True  # a key that is known makes its row known, and so perhaps the key of another one
    while changed:
        before = len(known)
        for condition in branch.conditions:
            if getattr(condition, "op", "") in ("eq", "same"):
                left, right = condition.args  # type: ignore[union-attr]
                for a, b in ((left, right), (right, left)):
                    if (
                        isinstance(a, Var)
                        and is_row(a.scope)
                        and all(not is_row(v.scope) or key in known for key, v in vars_of(b).items())
                    ):
                        known.add(a.key)
        for source in branch.sources:
            key = source.relation.key
            if (key or not source.relation.columns) and all((source.scope, k) in known for k in key):
                known |= {v.key for v in source.variables()}
        changed = len(known) > before
    return all(v.key in known for s in branch.sources for v in s.variables())
