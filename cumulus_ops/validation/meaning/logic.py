"""Conditions and choices: comparisons, three-valued logic, IN, IS, CASE and its other names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from sqlglot import exp

from cumulus_ops.validation.meaning.moments import (
    added,
    amount_of,
    made_date,
    made_timestamp,
    micros,
    part,
    to_date,
    truncated,
)
from cumulus_ops.validation.meaning.numbers import EXPM1, LOG1P, arithmetic, bits, positive_mod
from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.subqueries import SUBQUERIES, quantified, within
from cumulus_ops.validation.meaning.terms import (
    Term,
    as_type,
    cast,
    exact_type,
    fn,
    literal,
    refused,
    same_kind,
    unified,
    when,
)
from cumulus_ops.validation.meaning.texts import as_text, trimmed
from cumulus_ops.validation.meaning.values import cast_to
from m3.datatypes import BOOL, INT, MAX_PRECISION, STRING, TIMESTAMP

__all__ = ["LOGIC", "NAMED", "compared"]


COMPARISONS: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.LT: exp.LT, exp.LTE: exp.LTE, exp.GT: exp.GT, exp.GTE: exp.GTE,
    exp.NullSafeEQ: exp.NullSafeEQ, exp.NullSafeNEQ: exp.NullSafeEQ,
}  # fmt: skip


def compared(reader: Reader, form: type[exp.Expr], left: Term, right: Term) -> Term:
    """A comparison of two values of one kind; numbers by all their digits."""
    left, right = same_kind(left, right), same_kind(right, left)
    if _too_wide(left, right) and form is not exp.NullSafeEQ:
        sign = reader.exactly("compare", INT, *(as_type(t, exact_type(t)) for t in (left, right)))
        return Term(exp.Paren(this=form(this=sign, expression=exp.Literal.number(0))), BOOL)
    if left.kind in ("int", "decimal") and right.kind in ("int", "decimal"):
        nodes = [t.node.copy() if t.kind == "int" else as_type(t, exact_type(t)) for t in (left, right)]
    else:
        nodes, _ = unified("a comparison", [left, right])
    return Term(exp.Paren(this=form(this=nodes[0], expression=nodes[1])), BOOL)


def _too_wide(left: Term, right: Term) -> bool:
    """Whether Spark would round one of two numbers to compare them."""
    if not all(t.kind in ("int", "decimal") for t in (left, right)) or left.kind == right.kind == "int":
        return False
    a, b = exact_type(left), exact_type(right)
    return max(a.precision - a.scale, b.precision - b.scale) + 1 + max(a.scale, b.scale) > MAX_PRECISION


def _comparison(reader: Reader, node: exp.Expr) -> Term:
    form, left, right = COMPARISONS[type(node)], node.args["this"], node.args["expression"]
    if isinstance(right, exp.Any | exp.All):
        return quantified(reader, node, form, compared)
    if isinstance(left.unnest(), exp.Tuple):
        result = _rows(reader, form, _pairs(reader, left, right))
    else:
        result = compared(reader, form, reader.read(left), reader.read(right))
    return _not(result) if isinstance(node, exp.NullSafeNEQ) else result


def _pairs(reader: Reader, left: exp.Expr, right: exp.Expr) -> list[tuple[Term, Term]]:
    pairs = zip(left.unnest().expressions, right.unnest().expressions, strict=True)
    return [(reader.read(a), reader.read(b)) for a, b in pairs]


def _rows(reader: Reader, form: type[exp.Expr], pairs: Sequence[tuple[Term, Term]]) -> Term:
    """Rows are equal if all pairs are; by order the first pair that differs decides."""
    if form in (exp.EQ, exp.NullSafeEQ, exp.NEQ):
        equal = _joined(exp.And, [compared(reader, exp.EQ if form is exp.NEQ else form, a, b) for a, b in pairs])
        return _not(equal) if form is exp.NEQ else equal
    (a, b), rest = pairs[0], pairs[1:]
    if not rest:
        return compared(reader, form, a, b)
    strict = exp.LT if form is exp.LTE else exp.GT if form is exp.GTE else form
    later = _joined(exp.And, [compared(reader, exp.EQ, a, b), _rows(reader, form, rest)])
    return _joined(exp.Or, [compared(reader, strict, a, b), later])


def _joined(form: type[exp.Expr], terms: Sequence[Term]) -> Term:
    return Term(exp.Paren(this=reduce(lambda x, y: form(this=x, expression=y), (t.node for t in terms))), BOOL)


def _not(term: Term) -> Term:
    return Term(exp.Not(this=exp.Paren(this=as_type(term, BOOL))), BOOL)


def _logic(reader: Reader, node: exp.Expr) -> Term:
    form = type(node)
    return _joined(form, [Term(as_type(reader.read(x), BOOL), BOOL) for x in node.flatten(unnest=False)])


def _negated(reader: Reader, node: exp.Expr) -> Term:
    return _not(reader.read(node.this))


def _xor(reader: Reader, node: exp.Expr) -> Term:
    return compared(reader, exp.NEQ, reader.read(node.args["this"]), reader.read(node.args["expression"]))


def _between(reader: Reader, node: exp.Expr) -> Term:
    value, low, high = (reader.read(node.args[x]) for x in ("this", "low", "high"))

    def inside(low: Term, high: Term) -> Term:
        return _joined(exp.And, [compared(reader, exp.GTE, value, low), compared(reader, exp.LTE, value, high)])

    return _joined(exp.Or, [inside(low, high), inside(high, low)]) if node.args.get("symmetric") else inside(low, high)


def _in(reader: Reader, node: exp.Expr) -> Term:
    if node.args.get("query"):
        return within(reader, node, compared)
    if isinstance(node.this.unnest(), exp.Tuple):
        return _joined(exp.Or, [_rows(reader, exp.EQ, _pairs(reader, node.this, row)) for row in node.expressions])
    value = reader.read(node.this)
    options = [same_kind(reader.read(e), value) for e in node.expressions]
    if value.kind == "string" or all(o.kind == "int" for o in (value, *options)):
        nodes, _ = unified("IN", [value, *options])
        return Term(exp.In(this=nodes[0], expressions=nodes[1:]), BOOL)
    return _joined(exp.Or, [compared(reader, exp.EQ, value, o) for o in options])


def _is(reader: Reader, node: exp.Expr) -> Term:
    inner, other = reader.read(node.this), node.args["expression"]
    if isinstance(other, exp.Null):
        return Term(exp.Paren(this=exp.Is(this=inner.node, expression=exp.Null())), BOOL)
    if not isinstance(other, exp.Boolean):
        raise refused("IS with something else")
    tested = as_type(inner, BOOL)
    return Term(
        exp.Anonymous(
            this="coalesce", expressions=[tested if other.this else exp.Not(this=exp.Paren(this=tested)), exp.false()]
        ),
        BOOL,
    )


def choice(reader: Reader, conditions: Sequence[exp.Expr], results: Sequence[exp.Expr | None]) -> Term:
    """CASE; one more result than there are conditions, None is NULL."""
    values = [reader.read(r) if r is not None else Term(exp.Null(), None) for r in results]
    nodes, to = unified("CASE", values)
    pairs = [x for pair in zip(conditions, nodes, strict=False) for x in pair]
    return Term(when(*pairs, nodes[-1]), to if any(v.type is not None for v in values) else None)


def _case(reader: Reader, node: exp.Expr) -> Term:
    branches, operand = node.args["ifs"], node.this
    if operand is None:
        conditions = [as_type(reader.read(b.this), BOOL) for b in branches]
    else:
        value = reader.read(operand)
        conditions = [compared(reader, exp.EQ, value, reader.read(b.this)).node for b in branches]
    return choice(reader, conditions, [*(b.args["true"] for b in branches), node.args.get("default")])


def _if(reader: Reader, node: exp.Expr) -> Term:
    return choice(reader, [as_type(reader.read(node.this), BOOL)], [node.args["true"], node.args.get("false")])


def _nvl2(reader: Reader, node: exp.Expr) -> Term:
    known = exp.Not(this=exp.Is(this=reader.read(node.this).node, expression=exp.Null()))
    return choice(reader, [known], [node.args["true"], node.args.get("false")])


def _decode(reader: Reader, node: exp.Expr) -> Term:
    operand, *rest = node.expressions
    pairs, default = rest[: len(rest) // 2 * 2], rest[-1] if len(rest) % 2 else None
    value = reader.read(operand)
    conditions = [compared(reader, exp.NullSafeEQ, value, reader.read(s)).node for s in pairs[::2]]
    return choice(reader, conditions, [*pairs[1::2], default])


def _coalesce(reader: Reader, node: exp.Expr) -> Term:
    args = [reader.read(n) for n in (node.this, *node.expressions)]
    typed = next((a for a in args if a.value is None and a.type is not None), args[0])
    nodes, to = unified("COALESCE", [same_kind(a, typed) for a in args])
    return Term(exp.Anonymous(this="coalesce", expressions=nodes), to)


def _nullif(reader: Reader, node: exp.Expr) -> Term:
    value = reader.read(node.this)
    same = compared(reader, exp.EQ, value, reader.read(node.args["expression"]))
    return Term(when(same.node, exp.Null(), value.node), value.type)


LOGIC: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(COMPARISONS, _comparison),
    **SUBQUERIES,
    exp.And: _logic, exp.Or: _logic, exp.Not: _negated, exp.Xor: _xor, exp.Between: _between, exp.In: _in, exp.Is: _is,
    exp.Case: _case, exp.If: _if, exp.Nvl2: _nvl2, exp.DecodeCase: _decode, exp.Coalesce: _coalesce, exp.Nullif: _nullif,
}  # fmt: skip


# Functions that sqlglot does not know by name, in any dialect.


Args = Sequence[exp.Expr]


def _is_null(reader: Reader, args: Args, *, negated: bool = False) -> Term:
    tested = exp.Paren(this=exp.Is(this=reader.read(args[0]).node, expression=exp.Null()))
    return Term(exp.Not(this=tested) if negated else tested, BOOL)


def _zero_if_null(reader: Reader, args: Args) -> Term:
    nodes, to = unified("COALESCE", [reader.read(args[0]), literal(0)])
    return Term(fn("coalesce", *nodes), to)


def _shift(reader: Reader, unit: str, amount: exp.Expr, start: exp.Expr, sign: int = 1) -> Term:
    steps = amount_of(reader, amount, unit)
    if sign < 0:
        steps = {u: exp.Paren(this=exp.Neg(this=exp.Paren(this=n))) for u, n in steps.items()}
    return added(reader.read(start), steps)


def _texts(name: str) -> Callable[[Reader, Args], Term]:
    return lambda reader, args: Term(fn(name, *(as_text(reader, a).node for a in args)), BOOL)


def _mid(reader: Reader, args: Args) -> Term:
    places = [
        exp.Cast(this=as_type(reader.read(a), INT), to=exp.DataType.build("INT", dialect="spark")) for a in args[1:]
    ]
    return Term(fn("substring", as_text(reader, args[0]).node, *places), STRING)


#: (name, number of arguments) -> its meaning.
NAMED: Mapping[tuple[str, int], Callable[[Reader, Args], Term]] = {
    ("date_part", 2): lambda reader, args: part(reader, args[0].name.upper(), reader.read(args[1])),
    ("datepart", 2): lambda reader, args: part(reader, args[0].name.upper(), reader.read(args[1])),
    ("isodow", 1): lambda reader, args: part(reader, "ISODOW", reader.read(args[0])),
    ("make_date", 3): lambda reader, args: made_date(*map(reader.read, args)),
    ("to_date", 1): lambda reader, args: to_date(reader, args[0]),
    ("isnull", 1): _is_null,
    ("isnotnull", 1): lambda reader, args: _is_null(reader, args, negated=True),
    ("btrim", 1): lambda reader, args: trimmed("", as_text(reader, args[0]).node, None),
    ("btrim", 2): lambda reader, args: trimmed("", as_text(reader, args[0]).node, as_text(reader, args[1]).node),
    ("mid", 3): _mid,
    ("zeroifnull", 1): _zero_if_null,
    ("dateadd", 2): lambda reader, args: _shift(reader, "DAY", args[1], args[0]),
    ("date_sub", 2): lambda reader, args: _shift(reader, "DAY", args[1], args[0], -1),
    ("dateadd", 3): lambda reader, args: _shift(reader, args[0].name, args[1], args[2]),
    ("timestampadd", 3): lambda reader, args: _shift(reader, args[0].name, args[1], args[2]),
    ("datetrunc", 2): lambda reader, args: truncated(reader, reader.read(args[1]), args[0]),
    ("octet_length", 1): lambda reader, args: Term(cast(fn("octet_length", as_text(reader, args[0]).node), INT), INT),
    ("xor", 2): lambda reader, args: bits(reader, exp.BitwiseXor(this=args[0], expression=args[1])),
    ("pmod", 2): lambda reader, args: positive_mod(reader, *map(reader.read, args)),
    ("fmod", 2): lambda reader, args: arithmetic(reader, "mod", *map(reader.read, args)),
    ("log1p", 1): lambda reader, args: LOG1P(reader.read(args[0])),
    ("expm1", 1): lambda reader, args: EXPM1(reader.read(args[0])),
    ("epoch_us", 1): lambda reader, args: Term(micros(reader.read(args[0])), INT),
    ("make_timestamp", 6): lambda reader, args: made_timestamp(*map(reader.read, args)),
    ("try_to_timestamp", 1): lambda reader, args: cast_to(reader, reader.read(args[0]), TIMESTAMP, safe=True),
    ("prefix", 2): _texts("startswith"),
    ("suffix", 2): _texts("endswith"),
}
