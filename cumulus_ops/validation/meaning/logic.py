"""Conditions and choices: comparisons, three-valued logic, IN, IS, CASE and its other names; and what is said of subqueries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from sqlglot import exp

from cumulus_ops.validation.meaning.reader import Columns, Reader, Rule
from cumulus_ops.validation.meaning.terms import (
    Term,
    as_type,
    cast,
    column_of,
    common,
    exact_type,
    fn,
    quote,
    refusal,
    same_kind,
    unify,
    when,
)
from m3.datatypes import BOOL, INT, MAX_PRECISION

__all__ = ["LOGIC"]


COMPARISONS: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.LT: exp.LT, exp.LTE: exp.LTE, exp.GT: exp.GT, exp.GTE: exp.GTE,
    exp.NullSafeEQ: exp.NullSafeEQ, exp.NullSafeNEQ: exp.NullSafeEQ,
}  # fmt: skip


def compare_terms(reader: Reader, form: type[exp.Expr], left: Term, right: Term) -> Term:
    """A comparison of two values of one kind; numbers by all their digits."""
    left, right = same_kind(left, right), same_kind(right, left)
    if _too_wide(left, right) and form is not exp.NullSafeEQ:
        sign = reader.exactly("compare", INT, *(as_type(t, exact_type(t)) for t in (left, right)))
        return Term(exp.Paren(this=form(this=sign, expression=exp.Literal.number(0))), BOOL)
    if left.kind in ("int", "decimal") and right.kind in ("int", "decimal"):
        nodes = [t.node.copy() if t.kind == "int" else as_type(t, exact_type(t)) for t in (left, right)]
    else:
        nodes, _ = unify("a comparison", [left, right])
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
        return _compare_with_rows(reader, node, form)
    if isinstance(left.unnest(), exp.Tuple):
        result = _rows(reader, form, _pairs(reader, left, right))
    else:
        result = compare_terms(reader, form, reader.read(left), reader.read(right))
    return _negate(result) if isinstance(node, exp.NullSafeNEQ) else result


def _pairs(reader: Reader, left: exp.Expr, right: exp.Expr) -> list[tuple[Term, Term]]:
    pairs = zip(left.unnest().expressions, right.unnest().expressions, strict=True)
    return [(reader.read(a), reader.read(b)) for a, b in pairs]


def _rows(reader: Reader, form: type[exp.Expr], pairs: Sequence[tuple[Term, Term]]) -> Term:
    """Rows are equal if all pairs are; by order the first pair that differs decides."""
    if form in (exp.EQ, exp.NullSafeEQ, exp.NEQ):
        equal = _join_terms(
            exp.And, [compare_terms(reader, exp.EQ if form is exp.NEQ else form, a, b) for a, b in pairs]
        )
        return _negate(equal) if form is exp.NEQ else equal
    (a, b), rest = pairs[0], pairs[1:]
    if not rest:
        return compare_terms(reader, form, a, b)
    strict = exp.LT if form is exp.LTE else exp.GT if form is exp.GTE else form
    later = _join_terms(exp.And, [compare_terms(reader, exp.EQ, a, b), _rows(reader, form, rest)])
    return _join_terms(exp.Or, [compare_terms(reader, strict, a, b), later])


def _join_terms(form: type[exp.Expr], terms: Sequence[Term]) -> Term:
    return Term(exp.Paren(this=reduce(lambda x, y: form(this=x, expression=y), (t.node for t in terms))), BOOL)


def _negate(term: Term) -> Term:
    return Term(exp.Not(this=exp.Paren(this=as_type(term, BOOL))), BOOL)


def _logic(reader: Reader, node: exp.Expr) -> Term:
    form = type(node)
    return _join_terms(form, [Term(as_type(reader.read(x), BOOL), BOOL) for x in node.flatten(unnest=False)])


def _between(reader: Reader, node: exp.Expr) -> Term:
    value, low, high = (reader.read(node.args[x]) for x in ("this", "low", "high"))

    def inside(low: Term, high: Term) -> Term:
        return _join_terms(
            exp.And, [compare_terms(reader, exp.GTE, value, low), compare_terms(reader, exp.LTE, value, high)]
        )

    return (
        _join_terms(exp.Or, [inside(low, high), inside(high, low)]) if node.args.get("symmetric") else inside(low, high)
    )


def _in(reader: Reader, node: exp.Expr) -> Term:
    if node.args.get("query"):
        return _is_in_rows(reader, node)
    if isinstance(node.this.unnest(), exp.Tuple):
        return _join_terms(exp.Or, [_rows(reader, exp.EQ, _pairs(reader, node.this, row)) for row in node.expressions])
    value = reader.read(node.this)
    options = [same_kind(reader.read(e), value) for e in node.expressions]
    if value.kind == "string" or all(o.kind == "int" for o in (value, *options)):
        nodes, _ = unify("IN", [value, *options])
        return Term(exp.In(this=nodes[0], expressions=nodes[1:]), BOOL)
    return _join_terms(exp.Or, [compare_terms(reader, exp.EQ, value, o) for o in options])


def _is(reader: Reader, node: exp.Expr) -> Term:
    inner, other = reader.read(node.this), node.args["expression"]
    if isinstance(other, exp.Null):
        return Term(exp.Paren(this=exp.Is(this=inner.node, expression=exp.Null())), BOOL)
    if not isinstance(other, exp.Boolean):
        raise refusal("IS with something else")
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
    nodes, to = unify("CASE", values)
    pairs = [x for pair in zip(conditions, nodes, strict=False) for x in pair]
    return Term(when(*pairs, nodes[-1]), to if any(v.type is not None for v in values) else None)


def _case(reader: Reader, node: exp.Expr) -> Term:
    branches, operand = node.args["ifs"], node.this
    if operand is None:
        conditions = [as_type(reader.read(b.this), BOOL) for b in branches]
    else:
        value = reader.read(operand)
        conditions = [compare_terms(reader, exp.EQ, value, reader.read(b.this)).node for b in branches]
    return choice(reader, conditions, [*(b.args["true"] for b in branches), node.args.get("default")])


def _nvl2(reader: Reader, node: exp.Expr) -> Term:
    known = exp.Not(this=exp.Is(this=reader.read(node.this).node, expression=exp.Null()))
    return choice(reader, [known], [node.args["true"], node.args.get("false")])


def _decode(reader: Reader, node: exp.Expr) -> Term:
    operand, *rest = node.expressions
    pairs, default = rest[: len(rest) // 2 * 2], rest[-1] if len(rest) % 2 else None
    value = reader.read(operand)
    conditions = [compare_terms(reader, exp.NullSafeEQ, value, reader.read(s)).node for s in pairs[::2]]
    return choice(reader, conditions, [*pairs[1::2], default])


def _coalesce(reader: Reader, node: exp.Expr) -> Term:
    args = [reader.read(n) for n in (node.this, *node.expressions)]
    typed = next((a for a in args if a.value is None and a.type is not None), args[0])
    nodes, to = unify("COALESCE", [same_kind(a, typed) for a in args])
    return Term(exp.Anonymous(this="coalesce", expressions=nodes), to)


def _nullif(reader: Reader, node: exp.Expr) -> Term:
    value = reader.read(node.this)
    same = compare_terms(reader, exp.EQ, value, reader.read(node.args["expression"]))
    return Term(when(same.node, exp.Null(), value.node), value.type)


# EXISTS, IN, ANY, ALL and scalar subqueries. Spark has the first two in conditions only, and the others not at all: there the truth follows
# from the rows' number, their values, and the least and the greatest of them.


OPPOSITES: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ, exp.NEQ: exp.EQ, exp.LT: exp.GTE, exp.GTE: exp.LT, exp.GT: exp.LTE, exp.LTE: exp.GT,
}  # fmt: skip


def _query(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Subquery | exp.Paren) and not node.args.get("with_"):
        node = node.this
    return node


def _exists(reader: Reader, node: exp.Expr) -> Term:
    query, _ = reader.query(_query(node.this), reader.scope)
    if reader.filtering:
        return Term(exp.Exists(this=query), BOOL)
    counted = _from(query, fn("count", exp.Literal.number(1)))
    return Term(exp.Paren(this=exp.GT(this=exp.Subquery(this=counted), expression=exp.Literal.number(0))), BOOL)


def _from(query: exp.Expr, *items: exp.Expr) -> exp.Expr:
    """``SELECT items FROM (query)``."""
    table = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("q_")))
    return exp.Select(expressions=list(items), from_=exp.From(this=table))


def _scalar(reader: Reader, node: exp.Expr) -> Term:
    query, columns = reader.query(_query(node), reader.scope)
    return Term(exp.Subquery(this=query), columns[0][1])


def _is_in_rows(reader: Reader, node: exp.Expr) -> Term:
    """``x IN (query)``, also of rows."""
    operand = node.this
    nodes = operand.expressions if isinstance(operand, exp.Tuple) else [operand.unnest()]
    mine = [reader.read(n) for n in nodes]
    query, columns = reader.query(_query(node.args["query"]), reader.scope)
    if not reader.filtering:
        return _any(reader, exp.EQ, mine, query, columns)
    types = [common("IN", [t.type, c]) for t, (_, c) in zip(mine, columns, strict=True)]
    left = [as_type(t, to) for t, to in zip(mine, types, strict=True)]
    if any(c is None or not c.same_as(to) for (_, c), to in zip(columns, types, strict=True)):
        query = _from(query, *(cast(column_of(n), to) for (n, _), to in zip(columns, types, strict=True)))
    value = left[0] if len(left) == 1 else exp.Tuple(expressions=left)
    return Term(exp.In(this=value, query=exp.Subquery(this=query)), BOOL)


def _compare_with_rows(reader: Reader, node: exp.Expr, form: type[exp.Expr]) -> Term:
    """``x op ANY (query)`` and ``x op ALL (query)``."""
    right = node.args["expression"]
    inner = _query(right.this)
    if not isinstance(inner, exp.Query):
        raise refusal("ANY or ALL of something else")
    query, columns = reader.query(inner, reader.scope)
    mine = [reader.read(node.args["this"].unnest())]
    if isinstance(right, exp.Any):
        return _any(reader, form, mine, query, columns)
    opposite = _any(reader, OPPOSITES[form], mine, query, columns)
    return Term(exp.Not(this=exp.Paren(this=opposite.node)), BOOL)


def _any(reader: Reader, form: type[exp.Expr], mine: list[Term], query: exp.Expr, columns: Columns) -> Term:
    """Whether a comparison with some row is true, else whether it is unknown for some, from what is known of all rows."""
    if len(mine) != 1 or form not in OPPOSITES:
        raise refusal("a comparison with rows outside of a condition")
    (name, type_), value = columns[0], mine[0]
    to = common("IN", [value.type, type_])
    column = as_type(Term(column_of(name), type_), to)
    known = fn(
        "struct",
        fn("count", exp.Literal.number(1)),
        fn("count", column),
        fn("min", column),
        fn("max", column),
        fn("collect_set", column),
    )
    found = exp.Subquery(this=_from(query, known))
    rows, values, least, most, every = (exp.Dot(this=found.copy(), expression=quote(f"col{i}")) for i in range(1, 6))
    x = Term(as_type(value, to), to)
    if form is exp.EQ:
        match = fn("array_contains", every, x.node)
    elif form is exp.NEQ:
        match = exp.Or(
            this=compare_terms(reader, form, x, Term(least, to)).node,
            expression=compare_terms(reader, form, x, Term(most, to)).node,
        )
    else:
        match = compare_terms(reader, form, x, Term(most if form in (exp.LT, exp.LTE) else least, to)).node
    null = exp.Is(this=x.node.copy(), expression=exp.Null())
    nothing = exp.EQ(this=rows, expression=exp.Literal.number(0))
    unknown = exp.LT(this=values, expression=rows.copy())
    hit = fn("coalesce", match, exp.false())
    return Term(when(nothing, exp.false(), null, exp.Null(), hit, exp.true(), unknown, exp.Null(), exp.false()), BOOL)


LOGIC: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(COMPARISONS, _comparison),
    exp.Exists: _exists,
    **dict.fromkeys((exp.Subquery, exp.Select, exp.Union, exp.Except, exp.Intersect), _scalar),
    exp.And: _logic,
    exp.Or: _logic,
    exp.Not: lambda reader, node: _negate(reader.read(node.this)),
    exp.Xor: lambda reader, node: compare_terms(
        reader, exp.NEQ, reader.read(node.args["this"]), reader.read(node.args["expression"])
    ),
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.Case: _case,
    exp.If: lambda reader, node: choice(
        reader, [as_type(reader.read(node.this), BOOL)], [node.args["true"], node.args.get("false")]
    ),
    exp.Nvl2: _nvl2,
    exp.DecodeCase: _decode,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
}
