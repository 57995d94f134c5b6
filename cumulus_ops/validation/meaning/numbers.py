"""Arithmetic and functions of numbers: exact numbers by the documented types, DOUBLE as floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce

from sqlglot import exp

from cumulus_ops.validation.meaning.moments import shift_moment, truncate_moment
from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import (
    SPARK,
    Term,
    as_type,
    bound_type,
    cast,
    exact_type,
    fn,
    literal,
    number,
    quotient_type,
    refusal,
    text,
    unify,
    when,
)
from m3.datatypes import BOOL, DOUBLE, INT, MAX_PRECISION, Type

__all__ = ["EXPM1", "LOG1P", "NUMBERS", "arithmetic", "bits", "divide", "fail_with", "positive_mod"]

FORMS: Mapping[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "sub",
    exp.Mul: "mul",
    exp.Mod: "mod",
    exp.IntDiv: "idiv",
}
NODES: Mapping[str, type[exp.Expr]] = {
    "add": exp.Add, "sub": exp.Sub, "mul": exp.Mul, "div": exp.Div, "mod": exp.Mod, "idiv": exp.IntDiv,
}  # fmt: skip
FOLDED: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
}  # fmt: skip
#: DECIMALs without decimals and with at most so many digits are computed with as 64-bit integers.
INT64_DIGITS = 18
#: Spark divides to 38 decimals and then rounds to the type; a divisor with more digits than are left could show that.
QUOTIENT_DECIMALS = 22
#: Where CEIL and FLOOR of a DOUBLE are DOUBLE; elsewhere they are INT.
STAYING = ("postgres", "duckdb")


def fail_with(message: str) -> exp.Expr:
    """An expression that is an error when it is computed."""
    return fn("raise_error", text(message))


def arithmetic(reader: Reader, op: str, a: Term, b: Term) -> Term:
    """``add``, ``sub``, ``mul``, ``div``, ``mod`` or ``idiv`` of two numbers."""
    if a.type is None or b.type is None:
        other = b if a.type is None else a
        return Term(exp.Null(), None if other.type is None else _type_of(reader, op, other, other))
    if isinstance(a.value, int) and isinstance(b.value, int) and op in FOLDED and a.kind == b.kind == "int":
        return literal(FOLDED[op](a.value, b.value))
    if not {a.kind, b.kind} <= {"int", "decimal", "double"}:
        raise refusal(f"{op} of {a.known} and {b.known}")
    if "double" in (a.kind, b.kind):
        node = _apply("div" if op == "idiv" else op, as_type(a, DOUBLE), as_type(b, DOUBLE))
        return Term(cast(node, INT), INT) if op == "idiv" else Term(node, DOUBLE)
    to = _type_of(reader, op, a, b)
    if to.kind == "int" and all(t.kind == "int" or exact_type(t).scale == 0 for t in (a, b)):
        return Term(_apply(op, as_type(a, INT), as_type(b, INT)), INT)
    x, y = exact_type(a), exact_type(b)
    if op == "div":
        return Term(divide(reader, as_type(a, x), x, as_type(b, y), y, to), to)
    return Term(_apply(op, _exact(a, x), _exact(b, y)), to)


def _exact(term: Term, to: Type) -> exp.Expr:
    return cast(term.node, to) if term.kind == "int" else as_type(term, to)


def _apply(op: str, a: exp.Expr, b: exp.Expr) -> exp.Expr:
    return exp.Paren(this=NODES[op](this=a, expression=b))


def _type_of(reader: Reader, op: str, a: Term, b: Term) -> Type:
    x, y = exact_type(a), exact_type(b)
    whole = x.scale == y.scale == 0 and all(t.kind == "int" or t.known.precision <= INT64_DIGITS for t in (a, b))
    if op == "idiv" or (op != "div" and whole):
        return INT
    if op in ("add", "sub"):
        scale = max(x.scale, y.scale)
        return bound_type(max(x.precision - x.scale, y.precision - y.scale) + scale + 1, scale)
    if op == "mul":
        return bound_type(x.precision + y.precision + 1, x.scale + y.scale)
    if op == "mod":
        scale = max(x.scale, y.scale)
        return bound_type(max(1, min(x.precision - x.scale, y.precision - y.scale) + scale), scale)
    if reader.dialect not in SPARK or a.kind == b.kind == "int":
        return quotient_type(x)
    return _spark_quotient(x, y)


def _spark_quotient(x: Type, y: Type) -> Type:
    scale = max(6, x.scale + y.precision + 1)
    return bound_type(x.precision - x.scale + y.scale + scale, scale)


def divide(reader: Reader, a: exp.Expr, x: Type, b: exp.Expr, y: Type, to: Type) -> exp.Expr:
    """The quotient of decimals of types ``x`` and ``y``, rounded half up once, as ``to``."""
    raised = to.scale - y.precision - 1  # of a dividend with so many decimals Spark's quotient has those of the type
    if raised > x.scale and x.precision - x.scale + max(raised, y.scale + to.scale) <= MAX_PRECISION:
        x = Type("decimal", x.precision - x.scale + raised, raised)
        a = cast(a, x)
    spark = _spark_quotient(x, y)
    once = spark.scale == to.scale and (to.scale <= QUOTIENT_DECIMALS or y.precision + to.scale <= MAX_PRECISION)
    if not once:
        return reader.exactly("quotient", to, a, b)
    return _apply("div", a, b) if spark == to else cast(_apply("div", a, b), to)


def _binary(reader: Reader, node: exp.Expr) -> Term:
    if isinstance(node, exp.Add | exp.Sub):
        found = shift_moment(reader, node)
        if found is not None:
            return found
    return arithmetic(reader, FORMS[type(node)], reader.read(node.args["this"]), reader.read(node.args["expression"]))


def _quotient(reader: Reader, node: exp.Expr) -> Term:
    """``/`` of two integers is an integer where the dialect says so, and DECIMAL elsewhere."""
    a, b = reader.read(node.args["this"]), reader.read(node.args["expression"])
    whole = node.args.get("typed") and a.kind == b.kind == "int"
    return arithmetic(reader, "idiv" if whole else "div", a, b)


def bits(reader: Reader, node: exp.Expr) -> Term:
    """``&``, ``|``, ``~`` and the exclusive or, of the 64 bits of INTs."""
    args = [reader.read(node.args[x]) for x in ("this", "expression") if node.args.get(x) is not None]
    if any(a.kind not in ("int", "null") for a in args):
        raise refusal(f"bits of {' and '.join(str(a.known) for a in args)}")
    nodes = [exp.Paren(this=as_type(a, INT)) for a in args]
    made = type(node)(this=nodes[0]) if len(nodes) == 1 else type(node)(this=nodes[0], expression=nodes[1])
    return Term(exp.Paren(this=made), INT)


def _minus(reader: Reader, node: exp.Expr) -> Term:
    inner = reader.read(node.this)
    if isinstance(inner.value, int) and inner.kind == "int":
        return literal(-inner.value)
    return Term(exp.Paren(this=exp.Neg(this=exp.Paren(this=inner.node))), inner.type)


def _absolute(reader: Reader, node: exp.Expr) -> Term:
    inner = reader.read(node.this)
    return Term(fn("abs", inner.node), inner.type)


def _sign(reader: Reader, node: exp.Expr) -> Term:
    inner = reader.read(node.this)
    to = DOUBLE if inner.kind == "double" else INT
    return Term(cast(fn("sign", inner.node), to), to)


def _round(reader: Reader, node: exp.Expr) -> Term:
    """ROUND (half up) and TRUNC (towards zero) to a number of digits."""
    op = "round" if isinstance(node, exp.Round) else "trunc"
    value, wanted = reader.read(node.this), node.args.get("decimals")
    if value.kind in ("date", "timestamp"):
        return truncate_moment(reader, value, wanted)
    digits = reader.read(wanted) if wanted is not None else literal(0)
    if op == "round" and value.kind == "double" and reader.dialect in ("postgres", "redshift", "mysql"):
        op = "round_even"
    return round_number(reader, op, value, digits)


def round_number(reader: Reader, op: str, value: Term, digits: Term) -> Term:
    """ROUND or TRUNC of a number."""
    if not isinstance(digits.value, int) or value.kind == "double":
        return Term(reader.exactly(op, value.known, value.node, as_type(digits, INT)), value.known)
    to = value.known
    if value.kind == "decimal":
        scale = max(0, min(to.scale, digits.value))
        to = bound_type(to.precision - to.scale + 1 + scale, scale)
    elif digits.value >= 0:
        return value
    if op == "trunc":
        return Term(reader.exactly(op, to, value.node, number(digits.value)), to)
    places = exp.Literal.number(abs(digits.value))
    return Term(cast(fn("round", value.node, exp.Neg(this=places) if digits.value < 0 else places), to), to)


def _whole(reader: Reader, node: exp.Expr) -> Term:
    inner = reader.read(node.this)
    if node.args.get("decimals") is not None or node.args.get("to") is not None:
        raise refusal(f"{node.key.upper()} with digits")
    if inner.kind == "int":
        return inner
    up = isinstance(node, exp.Ceil)
    if inner.kind == "double" and reader.dialect in STAYING:
        return Term(reader.exactly("ceil" if up else "floor", DOUBLE, inner.node), DOUBLE)
    t = inner.known
    to = bound_type(t.precision - t.scale + 1, 0) if t.kind == "decimal" else INT
    return Term(cast(fn("ceil" if up else "floor", inner.node), to), to)


def _extreme(reader: Reader, node: exp.Expr) -> Term:
    """The greatest or least that is not NULL."""
    nodes, to = unify(node.key, [reader.read(n) for n in (node.this, *node.expressions)])
    return Term(
        fn("greatest" if isinstance(node, exp.Greatest) else "least", *nodes) if len(nodes) > 1 else nodes[0], to
    )


def _where(form: type[exp.Expr], limit: str, *, size: bool = False) -> Callable[..., exp.Expr]:
    """Whether the last argument, or its ``size`` without its sign, compares so with a limit."""
    return lambda *nodes: form(
        this=fn("abs", nodes[-1]) if size else nodes[-1].copy(), expression=cast(text(limit), DOUBLE)
    )


_above_zero = _where(exp.GT, "0")
_finite, _infinite = (_where(form, "Infinity", size=True) for form in (exp.LT, exp.EQ))


def _double(name: str, defined: Callable[..., exp.Expr]) -> Callable[..., Term]:
    """A function of DOUBLEs that is an error outside of its domain, and where the result is too large."""

    def called(*args: Term) -> Term:
        nodes = [as_type(a, DOUBLE) for a in args]
        result = fn(name, *nodes)
        known = exp.Paren(this=exp.Or(this=defined(*nodes), expression=exp.Or(this=fn("isnan", nodes[0]), expression=fn("isnan", nodes[-1]))))  # fmt: skip
        missing = exp.Not(this=exp.Paren(this=known))
        overflow = reduce(lambda a, b: exp.And(this=a, expression=b), [_infinite(result), *map(_finite, nodes)])
        wrong = cast(fail_with(f"{name} is not defined there"), DOUBLE)
        return Term(when(missing, wrong, overflow, wrong, result), DOUBLE)

    return called


def _always(*_: exp.Expr) -> exp.Expr:
    return exp.true()


def _power_defined(*nodes: exp.Expr) -> exp.Expr:
    """Python's and PostgreSQL's domain: no root of a negative number, no negative power of zero."""
    base, exponent = nodes
    zero = cast(text("0"), DOUBLE)
    return exp.Paren(this=exp.Or(
        this=exp.GT(this=base.copy(), expression=zero.copy()),
        expression=exp.Paren(this=exp.Or(
            this=exp.And(this=exp.EQ(this=base.copy(), expression=zero.copy()), expression=exp.GTE(this=exponent.copy(), expression=zero.copy())),
            expression=exp.And(this=exp.LT(this=base.copy(), expression=zero), expression=exp.EQ(this=exponent.copy(), expression=fn("rint", exponent))),
        )),
    ))  # fmt: skip


SQRT, EXP, LN = _double("sqrt", _where(exp.GTE, "0")), _double("exp", _always), _double("ln", _above_zero)
LOG10, LOG2, POWER = _double("log10", _above_zero), _double("log2", _above_zero), _double("power", _power_defined)
LOG = _double("log", lambda base, x: exp.And(this=_above_zero(base), expression=_above_zero(x)))


def _power(base: Term, exponent: Term) -> Term:
    """POWER, where Java has NaN for powers of 1 that are 1 in C and in PostgreSQL: 1 to the power of NaN, -1 to that of an infinity."""
    one = cast(text("1"), DOUBLE)
    same = exp.EQ(this=as_type(base, DOUBLE), expression=one)
    turned = exp.And(
        this=exp.EQ(this=fn("abs", as_type(base, DOUBLE)), expression=one),
        expression=_infinite(as_type(exponent, DOUBLE)),
    )
    known = exp.Not(this=exp.Is(this=as_type(exponent, DOUBLE), expression=exp.Null()))
    special = exp.And(this=known, expression=exp.Paren(this=exp.Or(this=same, expression=turned)))
    return Term(when(special, one, POWER(base, exponent).node), DOUBLE)


#: Functions of DOUBLEs: Spark's name, and where they are defined.
OF_DOUBLES: Mapping[type[exp.Expr], Callable[..., Term]] = {
    exp.Sqrt: SQRT,
    exp.Exp: EXP,
    exp.Ln: LN,
    exp.Pow: _power,
    exp.Cbrt: _double("cbrt", _always),
    exp.Sin: _double("sin", _finite),
    exp.Cos: _double("cos", _finite),
    exp.Tan: _double("tan", _finite),
    exp.Cot: _double("cot", _finite),
    exp.Asin: _double("asin", _where(exp.LTE, "1", size=True)),
    exp.Acos: _double("acos", _where(exp.LTE, "1", size=True)),
    exp.Atan: _double("atan", _always),
    exp.Atan2: _double("atan2", _always),
    exp.Sinh: _double("sinh", _always),
    exp.Cosh: _double("cosh", _always),
    exp.Tanh: _double("tanh", _always),
    exp.Asinh: _double("asinh", _always),
    exp.Acosh: _double("acosh", _where(exp.GTE, "1")),
    exp.Atanh: _double("atanh", _where(exp.LT, "1", size=True)),
    exp.Degrees: _double("degrees", _always),
    exp.Radians: _double("radians", _always),
}
LOG1P = _double("log1p", _where(exp.GT, "-1"))
EXPM1 = _double("expm1", _always)


def _is_nan(reader: Reader, node: exp.Expr) -> Term:
    """NULL of NULL, except in Spark."""
    value = as_type(reader.read(node.this), DOUBLE)
    known = when(exp.Is(this=value, expression=exp.Null()), exp.Null(), fn("isnan", value))
    return Term(fn("isnan", value) if reader.dialect in ("spark", "databricks") else known, BOOL)


def positive_mod(reader: Reader, a: Term, b: Term) -> Term:
    """PMOD: the remainder, moved by b into the sign of b where it is negative."""
    rest = arithmetic(reader, "mod", a, b)
    moved = arithmetic(reader, "mod", arithmetic(reader, "add", rest, b), b)
    zero = number(0) if rest.kind == "int" else cast(text("0"), rest.known)
    return Term(when(exp.LT(this=rest.node, expression=zero), as_type(moved, rest.known), rest.node), rest.type)


def _of_doubles(reader: Reader, node: exp.Expr) -> Term:
    given = [node.args[x] for x in ("this", "expression") if node.args.get(x) is not None]
    return OF_DOUBLES[type(node)](*map(reader.read, given))


def _logarithm(reader: Reader, node: exp.Expr) -> Term:
    """With one argument the base is 10; with two it comes first."""
    base, value = reader.read(node.this), node.args.get("expression")
    return LOG10(base) if value is None else LOG(base, reader.read(value))


NUMBERS: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(FORMS, _binary),
    exp.Div: _quotient,
    exp.Neg: _minus,
    exp.Abs: _absolute,
    exp.Sign: _sign,
    exp.Round: _round,
    exp.Trunc: _round,
    exp.Ceil: _whole,
    exp.Floor: _whole,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    **dict.fromkeys(OF_DOUBLES, _of_doubles),
    exp.IsNan: _is_nan,
    exp.IsInf: lambda reader, node: Term(exp.Paren(this=_infinite(as_type(reader.read(node.this), DOUBLE))), BOOL),
    **dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot), bits),
    exp.Log: _logarithm,
    exp.Pi: lambda *_: Term(cast(text(repr(math.pi)), DOUBLE), DOUBLE),
}
