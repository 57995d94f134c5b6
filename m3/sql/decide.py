"""Subqueries of a block -> the cases that their values may be, as factors of the block's rows.

A subquery's truth is joined in as a derived relation with one row per group of its correlation: ``EXISTS`` is true for
the rows that find theirs, and false for all rows less those. So nothing here is a special form of join: a condition that
contains subqueries anywhere is decided case by case, and cases in which it is never true vanish.
"""

from __future__ import annotations

from m3.algebra.normal import common_type
from m3.algebra.rows import Branch, Rows, add_conditions, is_row
from m3.datatypes import BOOL
from m3.scalars import Const, Key, Scalar, Var, call, const, vars_of
from m3.simplify import simplify
from m3.sql.block import Subquery
from m3.sql.correlation import existence, several
from m3.sql.joining import Case, Workspace

__all__ = ["compared", "decide"]

TRUE, FALSE, UNKNOWN = const(True), const(False), Const(None, BOOL.with_null())


def decide(subquery: Subquery, space: Workspace) -> list[Case]:
    """The values of a subquery, each with the rows of the workspace that have it.

    >>> from m3.sql.show import joined, show_rows
    >>> print(show_rows(joined("SELECT a FROM r WHERE NOT EXISTS (SELECT * FROM s WHERE b = id)")))
    + r.a AS a FROM r
    - r.a AS a FROM r, v_exists WHERE v_exists.b = r.id
    """
    from m3.sql.select import rows_of

    space.expand(subquery.operands)
    rows = rows_of(subquery.query, space)
    if subquery.kind == "exists":
        return _two_valued(existence(space, rows, "exists"))
    if subquery.kind == "any":
        return _any(subquery, rows, space)
    return _value(subquery, rows, space)


def _two_valued(there: Branch) -> list[Case]:
    return [(TRUE, [there]), (FALSE, [Branch(), _minus(there)])]


def compared(operator: str, operands: tuple[Scalar, ...], columns: tuple[Var, ...]) -> Scalar:
    """``(operands) operator (columns)``."""
    pairs = [call(operator, *_alike(a, b)) for a, b in zip(operands, columns, strict=True)]
    return pairs[0] if len(pairs) == 1 else call("and", *pairs)


def _any(subquery: Subquery, rows: Rows, space: Workspace) -> list[Case]:
    """``x op ANY (query)``: true if some row makes it true, else unknown if some row makes it unknown."""
    condition = compared(subquery.operator, subquery.operands, rows.columns)
    match = existence(space, _where(rows, condition), "in")
    if not condition.type.nullable:
        return _two_valued(match)
    return _three_valued(match, existence(space, _where(rows, call("is_null", condition)), "null"))


def _value(subquery: Subquery, rows: Rows, space: Workspace) -> list[Case]:
    """The value of a subquery: that of its row, NULL when it has none."""
    (column,) = rows.columns
    present: list[Case] = [(b.env[column.key], [_bare(b)]) for b in rows.branches]
    if subquery.total:
        return present
    if not subquery.single and not (len(rows.branches) == 1 and _fixed(rows.branches[0])):
        space.several[subquery.variable.key] = several(space, rows)
    there = existence(space, rows, "some")
    return [*present, (Const(None, column.type.with_null()), [Branch(), _minus(there)])]


def _bare(branch: Branch) -> Branch:
    return Branch(branch.coefficient, branch.sources, branch.conditions)


def _minus(branch: Branch) -> Branch:
    return Branch(-branch.coefficient, branch.sources, branch.conditions, branch.env)


def _where(rows: Rows, condition: Scalar) -> Rows:
    return Rows(rows.columns, tuple(add_conditions(rows.branches, [condition])))


def _three_valued(match: Branch, unknown: Branch) -> list[Case]:
    """match -> TRUE; no match but unknown -> NULL; neither -> FALSE."""
    both = Branch(1, (*match.sources, *unknown.sources), (*match.conditions, *unknown.conditions))
    return [
        (TRUE, [match]),
        (UNKNOWN, [unknown, _minus(both)]),
        (FALSE, [Branch(), _minus(match), _minus(unknown), both]),
    ]


def _alike(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    if a.type.same_as(b.type) or (a.type.is_numeric and b.type.is_numeric):
        return a, b
    common = common_type(a, b).with_null(False)
    x, y = (s if s.type.same_as(common) else call("cast", s, to=common) for s in (a, b))
    return simplify(x), simplify(y)


def _fixed(branch: Branch) -> bool:
    """Whether equalities with constants and outer columns determine a key of each source."""
    known: set[Key] = set()
    changed = True
    while changed:
        before = len(known)
        for condition in branch.conditions:
            if getattr(condition, "op", "") in ("eq", "same"):
                left, right = condition.args  # type: ignore[union-attr]
                for a, b in ((left, right), (right, left)):
                    if isinstance(a, Var) and is_row(a.scope) and _known(b, known):
                        known.add(a.key)
        for source in branch.sources:
            key = source.relation.key
            if (key or not source.relation.columns) and all((source.scope, k) in known for k in key):
                known |= {v.key for v in source.variables()}
        changed = len(known) > before
    return all(v.key in known for s in branch.sources for v in s.variables())


def _known(scalar: Scalar, known: set[Key]) -> bool:
    return all(not is_row(v.scope) or key in known for key, v in vars_of(scalar).items())
