"""Typed pieces of Spark SQL, and the documented types of results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from cumulus_ops.project.errors import InputProblem
from m3.datatypes import BOOL, DATE, DOUBLE, INT, MAX_PRECISION, STRING, TIMESTAMP, Type, decimal

__all__ = [
    "SPARK",
    "Term",
    "as_table",
    "as_type",
    "average_type",
    "bound_type",
    "cast",
    "column_of",
    "common",
    "exact_type",
    "fn",
    "literal",
    "number",
    "quote",
    "quotient_type",
    "refusal",
    "same_kind",
    "spark_type",
    "sum_type",
    "text",
    "unify",
    "when",
]


#: Spark's decimal literals and INT operands: an INT has room in 19 digits.
INT_DIGITS = 19
QUOTIENT_DECIMALS = 19
#: Dialects in which quotients and averages of DECIMALs have Spark's few decimals.
SPARK = ("spark", "databricks")
SPARK_NAMES = {"int": "BIGINT", "double": "DOUBLE", "string": "STRING", "date": "DATE", "timestamp": "TIMESTAMP_NTZ", "bool": "BOOLEAN"}  # fmt: skip


@dataclass(frozen=True)
class Term:
    """An expression in Spark's words with its declared type; None for a bare NULL. ``value`` is that of a literal."""

    node: exp.Expr
    type: Type | None
    value: object = None

    @property
    def kind(self) -> str:
        """The kind of the type, ``null`` for a bare NULL."""
        return self.type.kind if self.type is not None else "null"

    @property
    def known(self) -> Type:
        """The type; that of a bare NULL is STRING."""
        return self.type if self.type is not None else STRING


def refusal(what: str) -> InputProblem:
    """The error of a form that has no entry here."""
    hint = "the view itself may be right; report the form, or write it in another way"
    return InputProblem(f"{what} has no meaning written out for Spark", kind="not-recomputable", hint=hint)


def spark_type(type_: Type) -> exp.DataType:
    """A type in Spark's words."""
    if type_.element is not None:
        return exp.DataType(this=exp.DType.ARRAY, expressions=[spark_type(type_.element)], nested=True)
    name = f"DECIMAL({type_.precision}, {type_.scale})" if type_.kind == "decimal" else SPARK_NAMES[type_.kind]
    return exp.DataType.build(name, dialect="spark")


def fn(name: str, *args: exp.Expr) -> exp.Expr:
    """A call of a function of Spark's."""
    return exp.Anonymous(this=name, expressions=[a.copy() for a in args])


def cast(node: exp.Expr, to: Type) -> exp.Expr:
    """``CAST(node AS to)``."""
    return exp.Cast(this=node.copy(), to=spark_type(to))


def text(value: str) -> exp.Expr:
    """A text literal."""
    return exp.Literal.string(value)


def number(value: int) -> exp.Expr:
    """A 64-bit integer literal. (One without the L would be a position after GROUP BY, and 32 bits.)"""
    return exp.Literal(this=f"{value}L", is_string=False) if value >= 0 else exp.Neg(this=number(-value))


def literal(value: int) -> Term:
    """An INT literal as a term."""
    return Term(number(value), INT, value)


def when(*parts: exp.Expr) -> exp.Expr:
    """``CASE WHEN part THEN part ... [ELSE part] END``."""
    pairs = zip(parts[::2], parts[1::2], strict=False)
    otherwise = parts[-1].copy() if len(parts) % 2 else None
    return exp.Case(ifs=[exp.If(this=c.copy(), true=v.copy()) for c, v in pairs], default=otherwise)


def as_type(term: Term, to: Type) -> exp.Expr:
    """A term's node as ``to``, without a CAST if it is that."""
    return term.node.copy() if term.type is not None and term.type.same_as(to) else cast(term.node, to)


def exact_type(term: Term) -> Type:
    """An exact number as DECIMAL: an INT literal counts with its own digits, any other INT with 19."""
    if term.kind == "int":
        value = term.value
        return decimal(len(str(abs(value))) if isinstance(value, int) else INT_DIGITS, 0)
    assert term.type is not None
    return term.type.with_null(False)


def bound_type(precision: int, scale: int) -> Type:
    """Beyond 38 digits, those before the point stay, and at least 6 (or all) after it."""
    if precision > MAX_PRECISION:
        scale = max(MAX_PRECISION - (precision - scale), min(scale, 6))
    return decimal(min(precision, MAX_PRECISION), scale)


def sum_type(t: Type) -> Type:
    """Of SUM: DECIMAL(p + 10, s), and INT of INT."""
    return decimal(min(MAX_PRECISION, t.precision + 10), t.scale) if t.kind == "decimal" else t.with_null(False)


def average_type(t: Type, dialect: str | None) -> Type:
    """Of AVG: that of SUM / COUNT; in Spark's dialect DECIMAL(p + 4, s + 4) of a DECIMAL."""
    if t.kind == "double":
        return DOUBLE
    if t.kind == "decimal" and dialect in SPARK:
        return decimal(min(MAX_PRECISION, t.precision + 4), min(MAX_PRECISION, t.scale + 4))
    return quotient_type(decimal(INT_DIGITS, 0) if t.kind == "int" else sum_type(t))


def quotient_type(dividend: Type) -> Type:
    """Of a quotient outside of Spark's dialect: 38 digits, 19 of them decimals if the dividend's digits before the point leave so many."""
    whole = dividend.precision - dividend.scale
    return decimal(MAX_PRECISION, min(max(QUOTIENT_DECIMALS, dividend.scale), max(6, MAX_PRECISION - whole)))


def common(what: str, types: Sequence[Type | None]) -> Type:
    """The type of alternatives of one value; a bare NULL has any."""
    known = [t.with_null(False) for t in types if t is not None]
    if not known:
        return STRING
    result = known[0]
    for t in known[1:]:
        result = _common(what, result, t)
    return result


def _common(what: str, a: Type, b: Type) -> Type:
    kinds = {a.kind, b.kind}
    if a == b:
        return a
    if kinds == {"date", "timestamp"}:
        return TIMESTAMP
    if kinds <= {"int", "decimal", "double"}:
        if "double" in kinds:
            return DOUBLE
        x, y = (decimal(INT_DIGITS, 0) if t.kind == "int" else t for t in (a, b))
        scale = max(x.scale, y.scale)
        return decimal(min(MAX_PRECISION, max(x.precision - x.scale, y.precision - y.scale) + scale), scale)
    raise refusal(f"{what} of {a} and {b}")


def unify(what: str, terms: Sequence[Term]) -> tuple[list[exp.Expr], Type]:
    """Alternatives of one value, all as their common type."""
    to = common(what, [t.type for t in terms])
    return [as_type(t, to) for t in terms], to


def same_kind(term: Term, other: Term) -> Term:
    """A text literal next to a value of another kind is a literal of that kind."""
    if not isinstance(term.value, str) or other.kind in ("string", "null"):
        return term
    if other.kind in ("int", "decimal"):
        return Term(
            cast(term.node, decimal(MAX_PRECISION, _decimals(term.value))),
            decimal(MAX_PRECISION, _decimals(term.value)),
        )
    kinds = {"double": DOUBLE, "date": DATE, "timestamp": TIMESTAMP, "bool": BOOL}
    return Term(cast(term.node, kinds[other.kind]), kinds[other.kind])


def _decimals(value: str) -> int:
    return min(MAX_PRECISION, len(value.strip().partition(".")[2]))


# Small pieces of queries.


def quote(name: str) -> exp.Identifier:
    """A name as it is written."""
    return exp.to_identifier(name, quoted=True)


def column_of(name: str, table: str = "") -> exp.Column:
    """A column, of a table where one is given."""
    quoted = exp.to_identifier(table, quoted=True) if table else None
    return exp.column(exp.to_identifier(name, quoted=True), table=quoted)


def as_table(query: exp.Expr, alias: str = "q_", names: Sequence[str] = ()) -> exp.Subquery:
    """A query as a table."""
    columns = [exp.to_identifier(n, quoted=True) for n in names]
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True), columns=columns))
