"""Aggregates of pairs: CORR, COVAR and REGR. A pair in which one number is NULL does not count."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from cumulus_ops.validation.meaning.reader import Reader
from cumulus_ops.validation.meaning.terms import Term, cast, fn, refused, text, when
from m3.datatypes import DOUBLE, INT

__all__ = ["PAIRS", "average_of", "pair_of", "statistic"]

Wrap = Callable[[exp.Expr], exp.Expr]
#: Their arguments are x, y; those of the others are y, x.
SYMMETRIC = (exp.Corr, exp.CovarPop, exp.CovarSamp)
#: Form -> the name of its statistic.
STATISTICS: Mapping[type[exp.Expr], str] = {
    exp.Corr: "corr", exp.CovarPop: "covar_pop", exp.CovarSamp: "covar_samp", exp.RegrSlope: "regr_slope",
    exp.RegrIntercept: "regr_intercept", exp.RegrR2: "regr_r2", exp.RegrSxx: "regr_sxx", exp.RegrSyy: "regr_syy",
    exp.RegrSxy: "regr_sxy",
}  # fmt: skip
#: Those that DuckDB has as NaN where they are not defined.
NAN = (exp.Corr, exp.RegrSlope)
PAIRS = (*STATISTICS, exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy)


def pair_of(reader: Reader, node: exp.Expr) -> tuple[Term, Term]:
    """The numbers x and y of a call."""
    first, second = reader.read(node.this), reader.read(node.args["expression"])
    if not {first.kind, second.kind} <= {"int", "decimal"}:
        raise refused(f"{node.key.upper()} of {first.known} and {second.known}")
    return (first, second) if isinstance(node, SYMMETRIC) else (second, first)


def average_of(node: exp.Expr, x: Term, y: Term) -> Term:
    """What REGR_AVGX or REGR_AVGY averages: one number where the other is known."""
    wanted, other = (x, y) if isinstance(node, exp.RegrAvgx) else (y, x)
    missing = exp.Is(this=other.node, expression=exp.Null())
    return Term(when(missing, cast(exp.Null(), wanted.known), wanted.node), wanted.type)


def statistic(reader: Reader, node: exp.Expr, x: Term, y: Term, wrap: Wrap) -> Term:
    """The number of pairs, or a statistic of them: they are collected, and an exact function looks at them."""
    count = wrap(fn("count", x.node, y.node))
    if isinstance(node, exp.RegrCount):
        return Term(count, INT)
    rows = wrap(fn("collect_list", fn("named_struct", text("x"), x.node, text("y"), y.node)))
    result = reader.exactly(STATISTICS[type(node)], DOUBLE, rows)
    if reader.dialect == "duckdb" and isinstance(node, NAN):
        some = exp.GT(this=count, expression=exp.Literal.number(0))
        result = when(some, fn("coalesce", result, cast(text("NaN"), DOUBLE)), cast(exp.Null(), DOUBLE))
    return Term(result, DOUBLE)
