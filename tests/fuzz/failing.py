"""Expressions that may fail: DuckDB's own rules for them are others, so it is asked in ways that do not depend on them.

DuckDB says NULL for ``x % 0``, infinity for ``x / 0``, and stops for a bad CAST or an overflow, even in rows that do not
matter. So each expression that may fail is replaced by one that never does, but has some value instead:

>>> for text in variants("SELECT a % b AS c, CAST(s AS BIGINT) AS d FROM t")[:2]:
...     print(text)
SELECT a % NULLIF(b, 0) AS c, TRY(CAST(s AS BIGINT)) AS d FROM t
SELECT CASE WHEN b = 0 AND NOT a IS NULL THEN 1 ELSE a % b END AS c, CASE WHEN TRY(CAST(s AS BIGINT)) IS NULL AND NOT s IS NULL THEN 1 ELSE TRY(CAST(s AS BIGINT)) END AS d FROM t

What follows, and what does not:

- While the interpreter has rows, they are those of every variant: what stands in for a failure must not show. Where the
  variants differ, the result depends on a failing row, and the interpreter has missed an error.
- While the interpreter is in error, nothing is compared: for which rows an expression is computed at all, SQL leaves open.
  That a view is in error for no reason is found otherwise: views without such expressions never are, each stream is
  deleted at last, when the view has to be right again without a residue in any map, and the share of the seeds whose views
  are in error in the end is bounded.
"""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp, parse_one
from sqlglot.dialects.duckdb import DuckDB

__all__ = ["LARGE", "variants"]

#: What stands in for the value of a number, and of a date.
STAND_INS = (None, ("1", "DATE '2024-01-01'"), ("2", "DATE '2024-02-29'"))
#: An INT of 2 and above times this, twice, is beyond 64 bits.
LARGE = "3000000000"


class SmallNulls(DuckDB):
    """DuckDB as :class:`~tests.fuzz.database.Database` sets it up: NULLs are the smallest values where ORDER BY does not say."""

    NULL_ORDERING = "nulls_are_small"


@lru_cache(maxsize=1024)
def variants(sql: str) -> tuple[str, ...]:
    """A query with NULL, and with two different values in place of what fails; only itself where nothing may."""
    if not _failing(parse_one(sql, dialect=SmallNulls)):
        return (sql,)
    return tuple(_variant(sql, stand_in) for stand_in in STAND_INS)


def _variant(sql: str, stand_in: tuple[str, str] | None) -> str:
    tree = parse_one(sql, dialect=SmallNulls)
    for node in sorted(_failing(tree), key=lambda node: -node.depth):  # what is within others first
        node.replace(_replaced(node.copy(), stand_in))
    return tree.sql(dialect=SmallNulls)


def _failing(tree: exp.Expr) -> list[exp.Expr]:
    return [node for node in tree.walk() if _may_fail(node)]


def _may_fail(node: exp.Expr) -> bool:
    if isinstance(node, exp.Mod | exp.Div):
        return not node.expression.is_number or float(node.expression.name) == 0
    if isinstance(node, exp.Mul):
        return node.expression.name == LARGE
    return isinstance(node, exp.DateFromParts) or (isinstance(node, exp.Cast) and node.to.is_type("bigint"))


def _replaced(node: exp.Expr, stand_in: tuple[str, str] | None) -> exp.Expr:
    value = None if stand_in is None else parse_one(stand_in[isinstance(node, exp.DateFromParts)], dialect=SmallNulls)
    if isinstance(node, exp.Mod | exp.Div):
        divisor = node.expression.copy()
        if value is None:
            node.set("expression", exp.func("NULLIF", divisor, exp.Literal.number(0)))
            return node
        zero = exp.Paren(this=divisor).unnest().eq(0)
        return exp.Case().when(exp.and_(zero, _known(node.this)), value).else_(node)
    attempt = exp.Try(this=node)
    if value is None:
        return attempt
    operands = [x for x in node.iter_expressions() if not isinstance(x, exp.DataType | exp.Literal)]
    missing = exp.and_(attempt.copy().is_(exp.null()), *map(_known, operands))
    return exp.Case().when(missing, value).else_(attempt)


def _known(operand: exp.Expr) -> exp.Expr:
    """It is not NULL: ``NULL / 0`` does not fail."""
    return exp.Paren(this=operand.copy()).unnest().is_(exp.null()).not_()
