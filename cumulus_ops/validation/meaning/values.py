"""Columns, literals and CAST."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from sqlglot import exp

from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import Term, as_type, cast, fn, literal, refused, text, when
from m3.datatypes import BOOL, DATE, DOUBLE, INT, INT64_MAX, MAX_PRECISION, STRING, TIMESTAMP, Type, decimal

__all__ = ["VALUES", "cast_to", "declared"]

NAMES: Mapping[str, Type] = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT"), INT),
    **dict.fromkeys(("DOUBLE", "FLOAT"), DOUBLE),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NCHAR", "NVARCHAR", "BPCHAR"), STRING),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME", "TIMESTAMPTZ", "TIMESTAMPLTZ"), TIMESTAMP),
    "DATE": DATE, "BOOLEAN": BOOL,
}  # fmt: skip
#: Where CAST of a DECIMAL to an integer rounds half up; elsewhere it cuts off.
ROUNDING = ("postgres", "duckdb")
#: What a text may be that is cast, without the spaces around it.
SPACES = "[ \t\n\r\f\v]"
NUMBER = "[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?"
FORMS: Mapping[str, str] = {
    "decimal": NUMBER,
    "double": f"{NUMBER}|(?i:nan|[-+]?inf(inity)?)",
    "date": "(?!0000)[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}",
    "timestamp": "(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?",
    "bool": "(?i:true|t|1|false|f|0)",
}


def declared(node: exp.Expr) -> Type:
    """The type that a type's name means; integers have 64 bits."""
    kind = node.this.value if isinstance(node, exp.DataType) else ""
    if kind == "DECIMAL":
        sizes = [int(p.name) for p in node.expressions] or [10]
        return decimal(sizes[0], sizes[1] if len(sizes) > 1 else 0)
    if kind not in NAMES:
        raise refused(f"the type {node.sql()}")
    return NAMES[kind]


def _column(reader: Reader, node: exp.Expr) -> Term:
    assert isinstance(node, exp.Column)
    try:
        written = reader.scope.reached(node) if reader.options.apart else node.copy()
        return Term(written, reader.scope.type_of(node))
    except KeyError as error:
        raise refused(f"the column {node.sql()}") from error


def _literal(_: Reader, node: exp.Expr) -> Term:
    value = str(node.this)
    if node.args.get("is_string"):
        return Term(node.copy(), STRING, value)
    if not set(value) <= set("0123456789."):
        return Term(cast(text(value), DOUBLE), DOUBLE, float(value))
    if value.isdigit() and int(value) <= INT64_MAX:
        return literal(int(value))
    return _decimal(Decimal(value))


def _decimal(value: Decimal) -> Term:
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    to = decimal(max(len(digits) + max(0, int(exponent)), scale, 1), scale)
    return Term(cast(text(format(value, "f")), to), to, value)


def _cast(reader: Reader, node: exp.Expr) -> Term:
    safe = isinstance(node, exp.TryCast) and bool(node.args.get("safe"))
    inner, to = reader.read(node.this), node.args["to"]
    if reader.dialect == "postgres" and to.this.value == "DECIMAL" and not to.expressions:
        if inner.kind == "int":
            return cast_to(reader, inner, decimal(19, 0))
        if inner.kind == "double":
            return cast_to(reader, inner, decimal(MAX_PRECISION, 15))
        return inner  # NUMERIC without a size keeps all digits
    return cast_to(reader, inner, declared(to), safe=safe)


def cast_to(reader: Reader, inner: Term, to: Type, *, safe: bool = False) -> Term:
    """``CAST(inner AS to)`` as the view's dialect means it; NULL instead of an error if that is ``safe``."""
    if inner.type is None or inner.type.same_as(to):
        return Term(as_type(inner, to), to)
    special = _CASTS.get((inner.kind, to.kind))
    made = cast(inner.node, to) if special is None else special(reader, inner.node, to)
    if safe:
        for part in made.find_all(exp.Cast):
            part.replace(exp.TryCast(this=part.this, to=part.args["to"], safe=True)) if part is not made else None
        made = exp.TryCast(this=made.this, to=made.args["to"], safe=True) if isinstance(made, exp.Cast) else made
    return Term(made, to)


def _to_whole(reader: Reader, node: exp.Expr, to: Type) -> exp.Expr:
    return cast(fn("round", node, exp.Literal.number(0)) if reader.dialect in ROUNDING else node, to)


def _double_to_whole(reader: Reader, node: exp.Expr, to: Type) -> exp.Expr:
    """Spark's RINT rounds halves to the even number."""
    return cast(fn("rint", node) if reader.dialect in ROUNDING else node, to)


def _text_to_whole(reader: Reader, node: exp.Expr, to: Type) -> exp.Expr:
    """A text with decimals is cut off, and not rounded to 18 of them before."""
    cut = (
        node
        if isinstance(node, exp.Literal)
        else fn("regexp_replace", node, text(f"([.][0-9]{{18}})[0-9]+({SPACES}*)$"), text("$1"))
    )
    return cast(_from_text(reader, cut, decimal(MAX_PRECISION, 18)), to)


def _from_text(_: Reader, node: exp.Expr, to: Type) -> exp.Expr:
    """Spark reads more than is meant (``1d``, ``y``, a year alone): what has not the documented form is no value for it either."""
    if isinstance(node, exp.Literal):  # the compiler has seen it
        return cast(node, to)
    inner = fn("regexp_replace", node, text(f"^{SPACES}+|{SPACES}+$"), text(""))
    has_form = fn("rlike", inner, text(f"^({FORMS[to.kind]})$"))
    return cast(when(exp.Not(this=has_form), text("?"), inner), to)  # of NULL, neither: it stays NULL


def _stamp_to_text(_: Reader, node: exp.Expr, to: Type) -> exp.Expr:
    """Seconds have no decimals or six."""
    whole, parts = (fn("date_format", node, text("yyyy-MM-dd HH:mm:ss" + x)) for x in ("", ".SSSSSS"))
    return when(fn("endswith", parts, text(".000000")), whole, parts)


def _double_to_text(reader: Reader, node: exp.Expr, to: Type) -> exp.Expr:
    """Spark writes other exponents: 1.0E308."""
    return reader.exactly("double_to_text", to, node)


_CASTS: Mapping[tuple[str, str], Callable[[Reader, exp.Expr, Type], exp.Expr]] = {
    ("decimal", "int"): _to_whole,
    ("double", "int"): _double_to_whole,
    ("string", "int"): _text_to_whole,
    **{("string", kind): _from_text for kind in ("decimal", "double", "date", "timestamp", "bool")},
    ("timestamp", "string"): _stamp_to_text,
    ("double", "string"): _double_to_text,
}

VALUES: Mapping[type[exp.Expr], Rule] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda _, node: Term(node.copy(), BOOL, bool(node.this)),
    exp.Null: lambda _, node: Term(node.copy(), None),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Paren: lambda reader, node: _in_parentheses(reader.read(node.this)),
}


def _in_parentheses(inner: Term) -> Term:
    return Term(exp.Paren(this=inner.node), inner.type, inner.value)
