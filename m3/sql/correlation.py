"""Decorrelation: a subquery that mentions outer columns becomes one that does not, keyed by what it is asked about.

Where outer columns occur only in equalities (``inner expression = outer expression``), the inner expressions are the
key. Otherwise the subquery is joined with its **domain**, the distinct outer values that it is asked about, which is a
derived relation like any other (so the subquery is maintained for the values that occur, and no others).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from m3.algebra.attempts import Part, sum_parts
from m3.algebra.derive import InputQuery
from m3.algebra.normal import common_type
from m3.algebra.rows import Branch, Rows, is_row, outer, owners
from m3.algebra.terms import Polynomial, unused_name
from m3.datatypes import INT
from m3.errors import CompileError
from m3.failures import attempted, may_fail
from m3.program import Column, Relation, WindowFunction
from m3.scalars import Call, Const, Key, Scalar, Scope, Var, call, const, scopes_of, substitute, vars_of
from m3.simplify import as_filter, simplify
from m3.sql.names import Context
from m3.windows import NUMBERS

__all__ = [
    "JOINED",
    "Closed",
    "Link",
    "Space",
    "close",
    "convert",
    "count_rows",
    "derive_distinct",
    "derive_existence",
    "derive_numbers",
    "find_unused_names",
    "indicate_positive",
    "is_standalone",
    "name_columns",
    "pair_columns",
    "rename_columns",
    "store_rows",
]

COUNT = Var("n", INT)
#: Names that the inputs of derivations have, and so no column of theirs.
TAKEN = frozenset({COUNT.name, "left_rows", "right_rows"})
#: Joins of more tables are split, since maintaining one takes a map per connected part of it; the parts have this many.
JOINED, PART = 8, 6


@dataclass
class Space:
    """A block as its subqueries see it: its rows so far, and the blocks around it. In each branch, ``env`` says what the block's
    columns are.

    ``columns`` are those of the tables that are joined so far. For what is behind a GROUP BY, ``base`` is the space before
    it, and what the group's columns are there.
    """

    context: Context
    parent: Space | None = None
    branches: list[Branch] = field(default_factory=lambda: [Branch()])
    columns: tuple[Var, ...] = ()
    base: tuple[Space, Mapping[Key, Scalar]] | None = None

    def knows(self, key: Key) -> bool:
        """Whether a variable is this block's."""
        if self.base is not None:
            return key in self.base[1]
        return any(key in branch.env for branch in self.branches) or any(key == v.key for v in self.columns)


@dataclass(frozen=True)
class Link:
    """A key of a closed subquery: its column, which all branches know, and the outer expression that
    it is compared with by ``op`` (``eq``, or ``same`` where NULL finds NULL)."""

    column: Var
    outer: Scalar
    op: str


@dataclass(frozen=True)
class Closed:
    """Branches without free variables. ``guards`` are conditions on outer columns alone."""

    branches: tuple[Branch, ...]
    links: tuple[Link, ...] = ()
    guards: tuple[Scalar, ...] = ()

    def columns(self) -> list[Var]:
        """The key columns."""
        return [link.column for link in self.links]

    def conditions(self, keys: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """What ties ``keys``, the columns of a relation made from these branches, to the outer query."""
        return (*(call(x.op, k, x.outer) for k, x in zip(keys, self.links, strict=False)), *self.guards)

    def occurrence(self, space: Space, relation: Relation, columns: Iterable[Var]) -> Branch:
        """An occurrence of a relation made from these branches: its first columns are their links, the next are ``columns``."""
        source = space.context.registry.source(relation)
        variables = source.variables()
        env: dict[Key, Scalar] = {c.key: v for c, v in zip(columns, variables[len(self.links) :], strict=False)}
        return Branch(1, (source,), self.conditions(variables), env)


def close(space: Space, branches: Iterable[Branch], needed: Sequence[Key] = ()) -> Closed:
    """Remove the outer columns from the branches of a subquery.

    The sum of s by b is kept once for all rows of r; where no equality says which b is asked about, for the x of r:

    >>> from m3.sql.show import join_example, show_rows
    >>> print(show_rows(join_example("SELECT a FROM r WHERE a = (SELECT SUM(c) FROM s WHERE b = id)")))
    + r.a AS a FROM r, v_groups WHERE v_groups.b = r.id AND r.a = v_groups.sum_2
    >>> print(show_rows(join_example("SELECT a FROM r WHERE a = (SELECT SUM(c) FROM s WHERE b > x)")))
    + r.a AS a FROM r, v_groups WHERE SAME(v_groups.x, r.x) AND r.a = v_groups.sum_2

    Args:
        space: of the block around the subquery.
        branches: the subquery's.
        needed: the columns that will be grouped by or aggregated.
    """
    branches = tuple(branches)
    closed = Closed(branches)
    if any(_find_outer(branch, needed) for branch in branches):
        closed = _close_by_equality(space, branches, needed) or _close_by_domain(space, branches, needed)
    wanted = [*(link.column.key for link in closed.links), *needed]
    return replace(closed, branches=tuple(_split_join(space, branch, wanted) for branch in closed.branches))


def _split_join(space: Space, branch: Branch, needed: Sequence[Key]) -> Branch:
    """The branch with parts of a join of many tables kept as relations of their own."""
    while len(branch.sources) > JOINED:
        part = _choose_part(branch)
        inside = tuple(c for c in branch.conditions if owners(c) and set(owners(c)) <= part)
        left = [c for c in branch.conditions if c not in inside]
        env = {name: branch.env[name] for name in needed}
        columns = [v for v in vars_of(*left, *env.values()).values() if v.scope in part]
        joined = Branch(1, tuple(s for s in branch.sources if s.scope in part), inside, {v.key: v for v in columns})
        (kept,) = store_rows(space, [joined], columns)
        sources = tuple(s for s in branch.sources if s.scope not in part)
        branch = Branch(
            branch.coefficient,
            (*kept.sources, *sources),
            tuple(substitute(c, kept.env) for c in left),
            {name: substitute(s, kept.env) for name, s in env.items()},
        )
    return branch


def _choose_part(branch: Branch) -> set[Scope]:
    """Sources that belong together: the one that most conditions are about, and its neighbours, filtered ones first."""
    touched = [set(owners(c)) for c in branch.conditions]
    scopes = [s.scope for s in branch.sources]
    chosen = [max(scopes, key=lambda a: sum(a in t for t in touched if len(t) > 1))]
    while len(chosen) < PART:
        near = {a for t in touched if t & set(chosen) for a in t}
        filtered = {a for t in touched if len(t) == 1 for a in t}
        left = [a for a in scopes if a not in chosen]
        chosen.append(max(left, key=lambda a: (a in near, a in filtered)))
    return set(chosen)


def _find_outer(branch: Branch, needed: Sequence[Key]) -> dict[Key, Var]:
    return outer([*branch.conditions, *(branch.env[n] for n in needed)])


def _close_by_equality(space: Space, branches: Sequence[Branch], needed: Sequence[Key]) -> Closed | None:
    """The keys are the inner sides of equalities, if outer columns occur nowhere else and all branches agree."""
    if any(outer([b.env[n]]) for b in branches for n in needed):
        return None
    sorted_out = [_sort_conditions(branch) for branch in branches]
    if any(x is None for x in sorted_out):
        return None
    found = [x for x in sorted_out if x is not None]
    _, first_links, first_guards = found[0]
    if any(map(may_fail, first_guards)):
        return None  # the failure is one of the subquery's rows, not of the rows that lack one
    if any(set(links) != set(first_links) or set(guards) != set(first_guards) for _, links, guards in found[1:]):
        return None
    links = tuple(
        _make_link(space, number, theirs, op, [links[theirs, op] for _, links, _ in found])
        for number, (theirs, op) in enumerate(first_links)
    )
    closed = []
    for branch, (conditions, inner, _) in zip(branches, found, strict=True):
        env: dict[Key, Scalar] = {
            x.column.key: _cast_side(inner[key], x.column, x.op) for x, key in zip(links, first_links, strict=True)
        }
        strict = (e for x, e in zip(links, env.values(), strict=True) if x.op == "eq" and e.type.nullable)
        required = tuple(call("not", call("is_null", e)) for e in strict)
        closed.append(replace(branch, conditions=(*conditions, *required), env={**branch.env, **env}))
    return Closed(tuple(closed), links, tuple(first_guards))


Sorted = tuple[list[Scalar], dict[tuple[Scalar, str], Scalar], dict[Scalar, None]]


def _sort_conditions(branch: Branch) -> Sorted | None:
    """A branch's conditions: its own, those that link it (by the outer side), and those on outer columns alone."""
    mine: list[Scalar] = []
    links: dict[tuple[Scalar, str], Scalar] = {}
    guards: dict[Scalar, None] = {}
    for condition in branch.conditions:
        inside = [is_row(scope) for scope in scopes_of(condition)]
        if all(inside):
            mine.append(condition)
        elif not any(inside):
            guards[condition] = None
        else:
            linked = _read_link(condition)
            if linked is None:
                return None
            inner, key = linked
            known = links.setdefault(key, inner)
            if known != inner:
                mine.append(call(key[1], known, inner))
    return mine, links, guards


def _read_link(condition: Scalar) -> tuple[Scalar, tuple[Scalar, str]] | None:
    if not (isinstance(condition, Call) and condition.op in ("eq", "same")):
        return None
    for inner, theirs in (condition.args, condition.args[::-1]):
        if not outer([inner]) and not owners(theirs):
            return inner, (theirs, condition.op)
    return None


def _make_link(space: Space, number: int, theirs: Scalar, op: str, inner: Sequence[Scalar]) -> Link:
    common = inner[0].type
    if not all(s.type.same_as(common) for s in (*inner, theirs)):
        common = common_type(*inner, theirs)
    nullable = any(s.type.nullable or _cast_side(s, Var("", common), op).type.nullable for s in inner)
    first = inner[0]
    wish = first.name if isinstance(first, Var) else f"key_{number + 1}"
    column = Var(wish, common.with_null(nullable), space.context.registry.scope("link"))
    return Link(column, _cast_side(theirs, Var("", common.with_null(True)), op), op)


def _cast_side(scalar: Scalar, column: Var, op: str) -> Scalar:
    """One side of an equality in the type of both. What has no room in it is equal to nothing: it is NULL for ``=``."""
    cast = convert(scalar, column)
    fails = op == "eq" and cast != scalar and may_fail(cast) and not may_fail(scalar)
    return Call("attempt", (cast,), cast.type.with_null()) if fails else cast


def _close_by_domain(space: Space, branches: Sequence[Branch], needed: Sequence[Key]) -> Closed:
    """Join the branches with the values of their outer columns."""
    asked = outer(s for b in branches for s in (*b.conditions, *(b.env[n] for n in needed)))
    extra = Branch()
    columns: dict[Key, Scalar] = {}
    links: list[Link] = []
    fails = any(may_fail(s) for b in branches for s in (*b.conditions, *(b.env[n] for n in needed)))
    for owner, theirs in _group_by_owner(space, sorted(asked.values(), key=_rank_variable)):
        relation = _derive_domain(owner, theirs, whole=fails)
        source = space.context.registry.source(relation)
        extra = replace(extra, sources=(*extra.sources, source))
        for variable, column in zip(theirs, source.variables(), strict=True):
            columns[variable.key] = column
            key = Var(variable.name, column.type, space.context.registry.scope("link"))
            links.append(Link(key, variable, "same"))  # NULL is asked about like any other value
    closed = []
    env = {link.column.key: columns[key] for link, key in zip(links, columns, strict=True)}
    for branch in branches:
        conditions = [as_filter(substitute(c, columns)) for c in branch.conditions]
        known = {name: simplify(substitute(s, columns)) for name, s in branch.env.items()}
        closed.append(
            Branch(branch.coefficient, (*branch.sources, *extra.sources), tuple(conditions), {**known, **env})
        )
    return Closed(tuple(closed), tuple(links))


def _rank_variable(variable: Var) -> tuple[object, ...]:
    scope = variable.scope
    return (scope.label, scope.number, variable.name) if scope is not None else ("", 0, variable.name)


def _group_by_owner(space: Space, variables: Sequence[Var]) -> list[tuple[Space, list[Var]]]:
    """The outer columns by the block that has them."""
    groups: dict[int, tuple[Space, list[Var]]] = {}
    for variable in variables:
        owner: Space | None = space
        while owner is not None and not owner.knows(variable.key):
            owner = owner.parent
        if owner is None:
            label = f"{variable.scope.label}." if variable.scope is not None and variable.scope.label else ""
            message = f"a subquery compares {label}{variable.name} in a way that cannot be undone"
            hint = "compare outer columns by equality, or aggregate in a derived table first"
            raise CompileError(message, kind="correlation", hint=hint)
        groups.setdefault(id(owner), (owner, []))[1].append(variable)
    return list(groups.values())


def _derive_domain(owner: Space, asked: Sequence[Var], *, whole: bool) -> Relation:
    """The distinct values of some of a block's columns, over as few of its sources as possible; or over the ``whole`` join, where
    the subquery may fail for values that no joined row has."""
    return derive_distinct(owner, _list_values(owner, {v: v for v in asked}, whole=whole), asked, "domain")


def _list_values(owner: Space, asked: Mapping[Var, Scalar], *, whole: bool = False) -> list[Branch]:
    """The values of some expressions over a block's columns, with every row of as few of its sources as possible, or of the ``whole`` join."""
    space, known = owner.base if owner.base is not None else (owner, {})
    branches = []
    for branch in space.branches:
        values = [branch.value(substitute(s, known)) for s in asked.values()]
        if branch.coefficient > 0:  # what is subtracted has been added: it has no values of its own
            scopes = (s.scope for s in branch.sources) if whole else (s for value in values for s in owners(value))
            wanted = set(scopes)
            if outer(values):
                hint = "compare columns of outer queries by equality"
                raise CompileError("a subquery about two outer queries at once", kind="correlation", hint=hint)
            # without the other conditions there may be more values than are asked about, never fewer
            conditions = tuple(c for c in branch.conditions if set(owners(c)) <= wanted and not outer([c]))
            env = {column.key: convert(value, column) for column, value in zip(asked, values, strict=True)}
            branches.append(Branch(1, tuple(s for s in branch.sources if s.scope in wanted), conditions, env))
    return branches


def derive_numbers(space: Space, count: Scalar, number: Var) -> Branch:
    """The numbers from 1 up to ``count``, which is about columns of the blocks around ``space``.

    All rows with one count share their numbers: a series is its numbers, and its elements are computed from them and the row's columns.

    >>> from m3.sql.show import join_example, show_rows
    >>> print(show_rows(join_example("SELECT a, n FROM r, UNNEST(GENERATE_SERIES(0, a)) AS g(n)")))
    + r.a AS a, 0 + (v_numbers.number - 1) AS n FROM r, v_numbers WHERE v_numbers.count = SERIES_LENGTH(CASE WHEN 0 <= r.a THEN r.a - 0 + 1 ELSE 0 END)
    """
    column = Var("count", INT)
    asking = _group_by_owner(space, list(vars_of(count).values()))
    if len(asking) > 1:
        hint = "take its bounds from columns of one query"
        raise CompileError("a series about two outer queries at once", kind="correlation", hint=hint)
    # a row whose series is too long, or fails otherwise, has none here; where it is joined with them, that is an error
    known = attempted(count)
    branches = _list_values(asking[0][0], {column: known}) if asking else [Branch(env={column.key: known})]
    registry = space.context.registry
    # the counts that there are, and not how often: a row more with one of them changes no numbers
    lengths = registry.source(
        derive_distinct(space, [_require_some(b, b.env[column.key]) for b in branches], [column], "lengths")
    )
    rows = count_rows([Branch(1, (lengths,), (), {column.key: lengths.variables()[0]})], [column])
    function = WindowFunction(NUMBERS, (Var(rows.columns[0].name, INT),), (), None, INT)
    relation = registry.window(f"{space.context.view}_numbers", rows, 1, [(number.name, function, None)])
    source = registry.source(relation)
    found, place = source.variables()
    return Branch(1, (source,), (call("eq", found, count),), {number.key: place})


def _require_some(branch: Branch, count: Scalar) -> Branch:
    there = [call("not", call("is_null", count))] if count.type.nullable else []
    return replace(branch, conditions=(*branch.conditions, *there, as_filter(call("ge", count, const(1)))))


def convert(scalar: Scalar, column: Var) -> Scalar:
    """The scalar in the type of a column (NULL-ability apart)."""
    if scalar.type.same_as(column.type):
        return scalar
    if isinstance(scalar, Const) and scalar.value is None:
        return Const(None, column.type.with_null())
    return simplify(call("cast", scalar, to=column.type))


def rename_columns(rows: Rows, columns: Sequence[Var]) -> list[Branch]:
    """The branches of some rows under other columns, in their types."""
    pairs = list(zip(columns, rows.columns, strict=True))
    return [replace(b, env={new.key: convert(b.env[old.key], new) for new, old in pairs}) for b in rows.branches]


def count_rows(branches: Iterable[Branch], columns: Sequence[Var], asked: Sequence[Scalar] = ()) -> Polynomial:
    """How many rows the branches have for each value of some columns, which all branches know.

    Args:
        branches: the rows.
        columns: what they are counted by.
        asked: what else is computed for each row, over what the branches know.
    """
    parts = (Part(b, pair_columns(b, columns), asked=[b.value(s) for s in asked]) for b in branches)
    return sum_parts(name_columns(columns), INT, parts)


def pair_columns(branch: Branch, columns: Sequence[Var]) -> list[tuple[Column, Scalar]]:
    """What some columns are in a branch, in their types."""
    named = zip(name_columns(columns), columns, strict=True)
    return [(new, convert(branch.env[column.key], column)) for new, column in named]


def indicate_positive(count: Scalar = COUNT, over: int = 0) -> Scalar:
    """1 where the count is above zero, or another number, else 0."""
    return call("case", call("gt", count, const(over)), const(1), const(0))


def derive_distinct(
    space: Space, branches: Iterable[Branch], columns: Sequence[Var], wish: str, count: Scalar | None = None
) -> Relation:
    """The distinct values of ``columns``, as a relation; each ``count`` times, if that is given."""
    context = space.context
    given = [InputQuery(COUNT.name, "value", count_rows(branches, columns))]
    return context.registry.derive(
        f"{context.view}_{wish}", name_columns(columns), given, (), count or indicate_positive()
    )


def store_rows(space: Space, branches: Sequence[Branch], columns: Sequence[Var]) -> list[Branch]:
    """The same rows as one relation of its own, so that what is made of them does not multiply their branches.

    Args:
        space: of the block around them.
        branches: the rows, which know ``columns``.
        columns: what is kept.
    """
    closed = close(space, branches, [c.key for c in columns])
    keys = [*closed.columns(), *columns]
    context = space.context
    given = [InputQuery(COUNT.name, "value", count_rows(closed.branches, keys))]
    relation = context.registry.derive(f"{context.view}_rows", name_columns(keys), given, (), COUNT)
    return [closed.occurrence(space, relation, columns)]


def is_standalone(branches: Iterable[Branch]) -> bool:
    """Whether nothing in the branches belongs to an outer query."""
    return not any(_find_outer(branch, list(branch.env)) for branch in branches)


def name_columns(columns: Sequence[Var], taken: Iterable[str] = TAKEN) -> list[Column]:
    """Columns of a relation for some variables, by their names, which are made unique.

    >>> [c.name for c in name_columns([Var("a", INT, Scope("link", 1)), Var("A", INT, Scope("table", 2)), Var("n", INT)])]
    ['a', 'A_2', 'n_2']
    """
    used, made = set(taken), []  # SQL's names do not tell cases apart
    for column in columns:
        name = unused_name(column.name or "key", used, fold=True)
        used.add(name.lower())
        made.append(Column(name, column.type))
    return made


def find_unused_names(wishes: Sequence[str], columns: Sequence[Column]) -> list[str]:
    """Names for further columns next to some."""
    taken = {c.name.lower() for c in columns}
    found = name_columns([Var(wish, INT) for wish in wishes], taken)
    return [c.name for c in found]


def derive_existence(space: Space, rows: Rows, wish: str, over: int = 0) -> Branch:
    """A factor that is 1 where the subquery has a row, or more than ``over``, and 0 elsewhere."""
    closed = close(space, rows.branches)
    count = indicate_positive(over=over)
    relation = derive_distinct(space, closed.branches, closed.columns(), wish, count)
    return closed.occurrence(space, relation, ())
