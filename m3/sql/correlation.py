"""Decorrelation: a subquery that mentions outer columns becomes one that does not, keyed by what it is asked about.

Where outer columns occur only in equalities (``inner expression = outer expression``), the inner expressions are the
key. Otherwise the subquery is joined with its **domain**, the distinct outer values that it is asked about, which is a
derived relation like any other (so the subquery is maintained for the values that occur, and no others).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3.algebra import (
    Branch,
    InputQuery,
    Monomial,
    Polynomial,
    Rows,
    common_type,
    free,
    owners,
    polynomial,
    to_monomial,
)
from m3.datatypes import INT
from m3.errors import CompileError
from m3.program import Column, Relation
from m3.scalars import Call, Const, Scalar, Var, call, const, substitute, variables, vars_of
from m3.simplify import as_filter, simplify

if TYPE_CHECKING:
    from m3.sql.block import Block

__all__ = [
    "Closed",
    "Link",
    "close",
    "converted",
    "counted",
    "distinct",
    "existence",
    "plain",
    "positive",
    "several",
    "standalone",
    "stored",
    "term",
]

COUNT = Var("n", INT)
#: Joins of more tables are split, since maintaining one takes a map per connected part of it; the parts have this many.
JOINED, PART = 8, 6


@dataclass(frozen=True)
class Link:
    """A key of a closed subquery: its column, the expression per branch under the name of the column, and the outer
    expression that it is compared with by ``op`` (``eq``, or ``same`` where NULL finds NULL)."""

    column: Column
    outer: Scalar
    op: str


@dataclass(frozen=True)
class Closed:
    """Branches without free variables. ``guards`` are conditions on outer columns alone."""

    branches: tuple[Branch, ...]
    links: tuple[Link, ...] = ()
    guards: tuple[Scalar, ...] = ()

    def columns(self) -> list[Column]:
        """The key columns."""
        return [link.column for link in self.links]

    def conditions(self, keys: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """What ties ``keys``, the columns of a relation made from these branches, to the outer query."""
        return (*(call(x.op, k, x.outer) for k, x in zip(keys, self.links, strict=False)), *self.guards)


def close(block: Block, branches: Iterable[Branch], needed: Sequence[str] = ()) -> Closed:
    """Remove the outer columns from the branches of a subquery.

    Args:
        block: the block around the subquery.
        branches: the subquery's.
        needed: the columns that will be grouped by or aggregated.
    """
    branches = tuple(branches)
    closed = Closed(branches)
    if any(_outer(branch, needed) for branch in branches):
        closed = _by_equality(block, branches, needed) or _by_domain(block, branches, needed)
    wanted = [*(link.column.name for link in closed.links), *needed]
    return replace(closed, branches=tuple(_split(block, branch, wanted) for branch in closed.branches))


def _split(block: Block, branch: Branch, needed: Sequence[str]) -> Branch:
    """The branch with parts of a join of many tables kept as relations of their own."""
    while len(branch.sources) > JOINED:
        branch = _with_part(block, branch, needed)
    return branch


def _with_part(block: Block, branch: Branch, needed: Sequence[str]) -> Branch:
    part = _part(branch)
    inside = tuple(c for c in branch.conditions if owners(c) and set(owners(c)) <= part)
    left = [c for c in branch.conditions if c not in inside]
    env = {name: branch.env[name] for name in needed}
    wanted = [v for v in vars_of(*left, *env.values()).values() if v.name.split(".", 1)[0] in part]
    columns = [Column(v.name, v.type) for v in wanted]
    joined = Branch(1, tuple(s for s in branch.sources if s.alias in part), inside, {v.name: v for v in wanted})
    (kept,) = stored(block, [joined], columns)
    sources = tuple(s for s in branch.sources if s.alias not in part)
    return Branch(
        branch.coefficient,
        (*kept.sources, *sources),
        tuple(substitute(c, kept.env) for c in left),
        {name: substitute(s, kept.env) for name, s in env.items()},
    )


def _part(branch: Branch) -> set[str]:
    """Sources that belong together: the one that most conditions are about, and its neighbours, filtered ones first."""
    touched = [set(owners(c)) for c in branch.conditions]
    aliases = [s.alias for s in branch.sources]
    chosen = [max(aliases, key=lambda a: sum(a in t for t in touched if len(t) > 1))]
    while len(chosen) < PART:
        near = {a for t in touched if t & set(chosen) for a in t}
        filtered = {a for t in touched if len(t) == 1 for a in t}
        left = [a for a in aliases if a not in chosen]
        chosen.append(max(left, key=lambda a: (a in near, a in filtered)))
    return set(chosen)


def _is_outer(variable: str) -> bool:
    return "#" not in variable.split(".", 1)[0]


def _outer(branch: Branch, needed: Sequence[str]) -> set[str]:
    return {v for v in free([*branch.conditions, *(branch.env[n] for n in needed)]) if _is_outer(v)}


def _by_equality(block: Block, branches: Sequence[Branch], needed: Sequence[str]) -> Closed | None:
    """The keys are the inner sides of equalities, if outer columns occur nowhere else and all branches agree."""
    if any(_is_outer(v) for b in branches for n in needed for v in variables(b.env[n])):
        return None
    sorted_out = [_sorted_out(branch) for branch in branches]
    if any(x is None for x in sorted_out):
        return None
    found = [x for x in sorted_out if x is not None]
    _, first_links, first_guards = found[0]
    if any(set(links) != set(first_links) or set(guards) != set(first_guards) for _, links, guards in found[1:]):
        return None
    links = tuple(
        _link(block, number, outer, op, [links[outer, op] for _, links, _ in found])
        for number, (outer, op) in enumerate(first_links)
    )
    closed = []
    for branch, (conditions, inner, _) in zip(branches, found, strict=True):
        env = {x.column.name: converted(inner[key], x.column) for x, key in zip(links, first_links, strict=True)}
        strict = (e for x, e in zip(links, env.values(), strict=True) if x.op == "eq" and e.type.nullable)
        required = tuple(call("not", call("is_null", e)) for e in strict)
        closed.append(replace(branch, conditions=(*conditions, *required), env={**branch.env, **env}))
    return Closed(tuple(closed), links, tuple(first_guards))


Sorted = tuple[list[Scalar], dict[tuple[Scalar, str], Scalar], dict[Scalar, None]]


def _sorted_out(branch: Branch) -> Sorted | None:
    """A branch's conditions: its own, those that link it (by the outer side), and those on outer columns alone."""
    mine: list[Scalar] = []
    links: dict[tuple[Scalar, str], Scalar] = {}
    guards: dict[Scalar, None] = {}
    for condition in branch.conditions:
        names = set(variables(condition))
        if not any(map(_is_outer, names)):
            mine.append(condition)
        elif all(map(_is_outer, names)):
            guards[condition] = None
        else:
            linked = _linked(condition)
            if linked is None:
                return None
            inner, key = linked
            known = links.setdefault(key, inner)
            if known != inner:
                mine.append(call(key[1], known, inner))
    return mine, links, guards


def _linked(condition: Scalar) -> tuple[Scalar, tuple[Scalar, str]] | None:
    if not (isinstance(condition, Call) and condition.op in ("eq", "same")):
        return None
    for inner, outer in (condition.args, condition.args[::-1]):
        if not any(map(_is_outer, variables(inner))) and all(map(_is_outer, variables(outer))):
            return inner, (outer, condition.op)
    return None


def _link(block: Block, number: int, outer: Scalar, op: str, inner: Sequence[Scalar]) -> Link:
    common = inner[0].type
    if not all(s.type.same_as(common) for s in (*inner, outer)):
        common = common_type(*inner, outer)
    nullable = any(s.type.nullable for s in inner)
    first = inner[0]
    wish = first.name.rsplit(".", 1)[1] if isinstance(first, Var) else f"key_{number + 1}"
    column = Column(f"{wish}", common.with_null(nullable))
    column = Column(f"{column.name}^{number}", column.type)
    return Link(column, converted(outer, Column("", common.with_null(True))), op)


def _by_domain(block: Block, branches: Sequence[Branch], needed: Sequence[str]) -> Closed:
    """Join the branches with the values of their outer columns."""
    asked = list(dict.fromkeys(v for b in branches for v in sorted(_outer(b, needed))))
    typed = vars_of(*(s for b in branches for s in (*b.conditions, *(b.env[n] for n in needed))))
    extra = Branch()
    columns: dict[str, Scalar] = {}
    links: list[Link] = []
    for owner, names in _by_owner(block, asked):
        relation = _domain(owner, [typed[n] for n in names])
        source = block.context.registry.source(relation)
        extra = replace(extra, sources=(*extra.sources, source))
        for name, variable in zip(names, source.variables(), strict=True):
            columns[name] = variable
            wish = name.rsplit(".", 1)[-1]
            links.append(Link(Column(f"{wish}^{len(links)}", variable.type), typed[name], "same"))
    closed = []
    env = {link.column.name: columns[name] for link, name in zip(links, columns, strict=True)}
    for branch in branches:
        conditions = [as_filter(substitute(c, columns)) for c in branch.conditions]
        known = {name: simplify(substitute(s, columns)) for name, s in branch.env.items()}
        closed.append(
            Branch(branch.coefficient, (*branch.sources, *extra.sources), tuple(conditions), {**known, **env})
        )
    return Closed(tuple(closed), tuple(links))


def _by_owner(block: Block, names: Sequence[str]) -> list[tuple[Block, list[str]]]:
    """The outer columns by the block that has them."""
    groups: dict[int, tuple[Block, list[str]]] = {}
    for name in names:
        owner: Block | None = block
        while owner is not None and not _knows(owner, name):
            owner = owner.parent
        if owner is None:
            raise CompileError(
                f"a subquery compares {name.split('@')[0].strip('?')} in a way that cannot be undone",
                kind="correlation",
                hint="compare outer columns by equality, or aggregate in a derived table first",
            )
        groups.setdefault(owner.number, (owner, []))[1].append(name)
    return list(groups.values())


def _knows(block: Block, name: str) -> bool:
    if block.base is not None:
        return name in block.base[1]
    return any(name in branch.env for branch in block.branches) or f"@{block.number}." in name


def _domain(owner: Block, asked: Sequence[Var]) -> Relation:
    """The distinct values of some of a block's columns, over as few of its sources as possible."""
    block, names = owner.base if owner.base is not None else (owner, {v.name: v for v in asked})
    columns = [Column(v.name.rsplit(".", 1)[-1], v.type) for v in asked]
    columns = [
        Column(f"{c.name}_{i}" if c.name in {x.name for x in columns[:i]} else c.name, c.type)
        for i, c in enumerate(columns)
    ]
    branches = []
    for branch in block.branches:
        values = [branch.value(names[v.name]) for v in asked]
        if branch.coefficient > 0:
            branches.append(_needed_sources(branch, values, columns))
    return distinct(owner, branches, columns, "domain")


def _needed_sources(branch: Branch, values: Sequence[Scalar], columns: Sequence[Column]) -> Branch:
    wanted = {alias for value in values for alias in owners(value)}
    if any(_is_outer(v) for value in values for v in variables(value)):
        hint = "compare columns of outer queries by equality"
        raise CompileError("a subquery about two outer queries at once", kind="correlation", hint=hint)
    conditions = tuple(
        c for c in branch.conditions if set(owners(c)) <= wanted and not any(map(_is_outer, variables(c)))
    )
    env = {column.name: converted(value, column) for column, value in zip(columns, values, strict=True)}
    return Branch(1, tuple(s for s in branch.sources if s.alias in wanted), conditions, env)


def converted(scalar: Scalar, column: Column) -> Scalar:
    """The scalar in the type of a column (NULL-ability apart)."""
    if scalar.type.same_as(column.type):
        return scalar
    if isinstance(scalar, Const) and scalar.value is None:
        return Const(None, column.type.with_null())
    return simplify(call("cast", scalar, to=column.type))


def counted(branches: Iterable[Branch], columns: Sequence[Column]) -> Polynomial:
    """How many rows the branches have for each value of some columns, which all branches know by their names."""
    terms = (term(branch, columns) for branch in branches)
    return polynomial(plain(columns), INT, (t for t in terms if t is not None))


def term(
    branch: Branch, columns: Sequence[Column], factors: Sequence[Scalar] = (), conditions: Sequence[Scalar] = ()
) -> Monomial | None:
    """One branch's part of a polynomial by ``columns``."""
    named = zip(plain(columns), columns, strict=True)
    keys = [(new, converted(branch.env[column.name], column)) for new, column in named]
    return to_monomial(branch, keys, factors, conditions)


def positive(count: Scalar = COUNT, over: int = 0) -> Scalar:
    """1 where the count is above zero, or another number, else 0."""
    return call("case", call("gt", count, const(over)), const(1), const(0))


def distinct(
    block: Block, branches: Iterable[Branch], columns: Sequence[Column], wish: str, count: Scalar | None = None
) -> Relation:
    """The distinct values of ``columns``, as a relation; each ``count`` times, if that is given."""
    context = block.context
    given = [InputQuery(COUNT.name, "value", counted(branches, columns))]
    return context.registry.derive(f"{context.view}_{wish}", plain(columns), given, (), count or positive())


def stored(block: Block, branches: Sequence[Branch], columns: Sequence[Column]) -> list[Branch]:
    """The same rows as one relation of its own, so that what is made of them does not multiply their branches.

    Args:
        block: the block around them.
        branches: the rows, which know ``columns`` by name.
        columns: what is kept.
    """
    closed = close(block, branches, [c.name for c in columns])
    keys = [*closed.columns(), *columns]
    context = block.context
    labelled = plain([*closed.columns(), *(Column(_label(c.name), c.type) for c in columns)])
    given = [InputQuery(COUNT.name, "value", replace(counted(closed.branches, keys), columns=tuple(labelled)))]
    relation = context.registry.derive(f"{context.view}_rows", labelled, given, (), COUNT)
    source = context.registry.source(relation)
    variables = source.variables()
    env = {c.name: v for c, v in zip(columns, variables[len(closed.links) :], strict=True)}
    return [Branch(1, (source,), closed.conditions(variables), env)]


def _label(name: str) -> str:
    """What people call a variable: the column's name, if it is one."""
    return name.rsplit(".", 1)[-1].split("@", 1)[0].strip("?%")


def standalone(branches: Iterable[Branch]) -> bool:
    """Whether nothing in the branches belongs to an outer query."""
    return not any(_outer(branch, list(branch.env)) for branch in branches)


def plain(columns: Sequence[Column]) -> list[Column]:
    """The columns with names that are unique and fit for people."""
    names: list[str] = []
    for column in columns:
        base = column.name.split("^", 1)[0].replace("$", "value") or "key"
        name, n = base, 1
        while name.lower() in {x.lower() for x in (*names, COUNT.name)}:
            n += 1
            name = f"{base}_{n}"
        names.append(name)
    return [Column(name, c.type) for name, c in zip(names, columns, strict=True)]


def existence(block: Block, rows: Rows, wish: str) -> Branch:
    """A factor that is 1 where the subquery has a row, and 0 where it has none."""
    return _factor(block, rows, wish, positive())


def several(block: Block, rows: Rows) -> Branch:
    """A factor that is 1 where the subquery has more than one row, and 0 elsewhere."""
    return _factor(block, rows, "several", positive(over=1))


def _factor(block: Block, rows: Rows, wish: str, count: Scalar) -> Branch:
    closed = close(block, rows.branches)
    relation = distinct(block, closed.branches, closed.columns(), wish, count)
    source = block.context.registry.source(relation)
    return Branch(1, (source,), closed.conditions(source.variables()))
