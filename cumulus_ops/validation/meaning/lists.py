"""Lists of a group's values, in an order that says all, and functions of one list.

Spark's own lists have the order in which rows come. Here the values are collected with what they are ordered by, sorted by a comparison that
is written out, and taken from that. Values that the order leaves equal, and those without an order, ascend, NULL first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import Term, cast, column_of, fn, number, quote, refusal, text, when
from cumulus_ops.validation.meaning.texts import as_text
from m3.datatypes import INT, STRING, list_of
from m3.dictionary.forms import expand

__all__ = ["collect_values", "is_list", "of_lists", "open_list", "unify_list"]

Wrap = Callable[[exp.Expr], exp.Expr]
#: An expression, whether it descends, and whether NULLs come first.
Place = tuple[exp.Expr, bool, bool]
#: Dialects in which the list of nothing is empty, and not NULL.
EMPTY_LISTS = ("spark", "spark2", "databricks", "snowflake")
#: Spark's lists, of which some dialects of sqlglot do not know the names.
SPARKS: Mapping[str, type[exp.Expr]] = {"collect_list": exp.ArrayAgg, "collect_set": exp.ArrayUniqueAgg}
EMPTY = "empty_list"
LEFT, RIGHT, ROW = "#left", "#right", "#row"


def is_list(node: exp.Expr | None) -> bool:
    """Whether an expression is the list of a group's values, or made of one."""
    if isinstance(node, exp.Paren | exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup | exp.ArraySort):
        return is_list(node.this)
    if isinstance(node, exp.ArrayDistinct | exp.ArrayCompact):
        return is_list(node.this)
    if isinstance(node, exp.Coalesce):
        return is_list(node.this) and len(node.expressions) == 1 and _is_empty(node.expressions[0])
    return isinstance(unify_list(node) if node is not None else None, exp.ArrayAgg | exp.ArrayUniqueAgg)


def unify_list(node: exp.Expr) -> exp.Expr:
    """A list by the name that sqlglot has for it; anything else as it is. Spark's are what they are there in every dialect."""
    if isinstance(node, exp.List) and len(node.expressions) == 1:
        return exp.ArrayAgg(this=node.expressions[0])
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) and len(node.expressions) == 1 else ""
    if name not in SPARKS:
        return node
    return SPARKS[name](this=node.expressions[0], nulls_excluded=True, **{EMPTY: True})


def collect_values(
    reader: Reader, node: exp.Expr, wrap: Wrap, *, skips: bool | None = None, places: Sequence[exp.Expr] | None = None
) -> Term:
    """The list of an aggregate call.

    Args:
        reader: of the SELECT.
        node: the call.
        wrap: puts FILTER around an aggregate of Spark's.
        skips: whether NULLs are left out, where IGNORE NULLS or RESPECT NULLS says so.
        places: what it is ordered by, where that stands outside of the call.
    """
    inner, limit = node.this, None
    if isinstance(inner, exp.Limit):
        inner, limit = inner.this, inner.expression
    if isinstance(inner, exp.Order):
        inner, places = inner.this, inner.expressions if places is None else places
    unique = isinstance(node, exp.ArrayUniqueAgg) or isinstance(inner, exp.Distinct)
    inner = inner.expressions[0] if isinstance(inner, exp.Distinct) else inner
    value = reader.read(inner)
    if skips is None:
        skips = bool(node.args.get("nulls_excluded")) or isinstance(node, exp.ArrayUniqueAgg)
    keys = [_read_place(reader, o) for o in places or ()]
    if not keys and skips and not unique:
        made: exp.Expr = fn("sort_array", wrap(fn("collect_list", value.node)))
    else:
        made = _sort_rows(value, keys, wrap, skips=skips)
    made = fn("array_distinct", made) if unique else made
    if limit is not None:
        made = fn("slice", made, exp.Literal.number(1), limit)
    to = list_of(value.known.with_null())
    if reader.dialect in EMPTY_LISTS or node.args.get(EMPTY):
        return Term(made, to)
    some = exp.GT(this=wrap(fn("count", value.node if skips else number(1))), expression=number(0))
    return Term(when(some, made), to)


def _read_place(reader: Reader, entry: exp.Expr) -> Place:
    return reader.read(entry.this).node, bool(entry.args.get("desc")), bool(entry.args.get("nulls_first"))


def _sort_rows(value: Term, keys: Sequence[Place], wrap: Wrap, *, skips: bool) -> exp.Expr:
    """The values of the rows ``{v, o0, o1, ..}``, sorted; a row that is left out is NULL, which Spark does not collect."""
    fields = [text("v"), value.node, *(x for i, (n, _, _) in enumerate(keys) for x in (text(f"o{i}"), n))]
    row = fn("named_struct", *fields)
    if skips:
        row = when(exp.Not(this=exp.Is(this=exp.Paren(this=value.node.copy()), expression=exp.Null())), row)
    order = [(f"o{i}", down, first) for i, (_, down, first) in enumerate(keys)] + [("v", False, True)]
    compare = exp.Lambda(this=_compare(order), expressions=[quote(LEFT), quote(RIGHT)])
    rows = exp.Anonymous(this="array_sort", expressions=[wrap(fn("collect_list", row)), compare])
    take = exp.Lambda(this=column_of("v", ROW), expressions=[quote(ROW)])
    return exp.Anonymous(this="transform", expressions=[rows, take])


def _compare(order: Sequence[tuple[str, bool, bool]]) -> exp.Expr:
    """Which of two rows comes first: below 0 the left one."""
    parts: list[exp.Expr] = []
    for name, down, first in order:
        left, right = column_of(name, LEFT), column_of(name, RIGHT)
        missing = [exp.Is(this=side.copy(), expression=exp.Null()) for side in (left, right)]
        before, after = exp.Neg(this=exp.Literal.number(1)), exp.Literal.number(1)
        parts += [exp.And(this=missing[0], expression=exp.Not(this=missing[1])), before if first else after]
        parts += [exp.And(this=exp.Not(this=missing[0]), expression=missing[1]), after if first else before]
        parts += [exp.LT(this=left, expression=right), after if down else before]
        parts += [exp.GT(this=left, expression=right), before if down else after]
    return when(*parts, exp.Literal.number(0))


# Functions of one list.


def of_lists(rules: Mapping[type[exp.Expr], Rule]) -> dict[type[exp.Expr], Rule]:
    """Rules for functions of one list; of anything else they are as they were."""
    made: dict[type[exp.Expr], Rule] = {}
    for form, rule in _OF_LISTS.items():
        made[form] = _or_else(rule, rules.get(form))
    return made


def _or_else(rule: Rule, otherwise: Rule | None) -> Rule:
    def read(reader: Reader, node: exp.Expr) -> Term:
        given = node.expressions[1] if isinstance(node, exp.ConcatWs) and len(node.expressions) == 2 else node.this
        if isinstance(given, exp.Expr) and is_list(given):
            return rule(reader, node)
        if otherwise is None:
            meaning = expand(node, reader.dialect)
            if meaning is None:
                raise refusal(node.key.upper())
            return reader.read(meaning)
        return otherwise(reader, node)

    return read


def _is_empty(node: exp.Expr) -> bool:
    """Whether an expression is an empty array."""
    while isinstance(node, exp.Cast):
        node = node.this
    return (isinstance(node, exp.Array) and not node.expressions) or (
        isinstance(node, exp.Literal) and str(node.this).strip() == "{}"
    )


def _or_empty(reader: Reader, node: exp.Expr) -> Term:
    if len(node.expressions) != 1 or not _is_empty(node.expressions[0]):
        raise refusal("COALESCE of a list")
    given = reader.read(node.this)
    return Term(fn("coalesce", given.node, cast(fn("array"), given.known)), given.type)


def _size(reader: Reader, node: exp.Expr) -> Term:
    size = cast(fn("size", reader.read(node.this).node), INT)
    return Term(fn("nullif", size, number(0)) if node.args.get("expression") is not None else size, INT)


def _join(reader: Reader, node: exp.Expr) -> Term:
    """A list in one text: its values are texts before they are collected."""
    if node.args.get("null") is not None:
        raise refusal("a text for NULL in a list")
    given, separator = (
        (node.expressions[1], node.expressions[0]) if isinstance(node, exp.ConcatWs) else (node.this, node.expression)
    )
    found = reader.read(given)
    if found.known.element is None or found.known.element.kind not in ("string", "int", "decimal"):
        raise refusal(f"a text of {found.known}")
    texts = cast(found.node, list_of(STRING))
    joined = fn("array_join", texts, as_text(reader, separator).node)
    if isinstance(node, exp.ConcatWs):
        joined = fn("coalesce", joined, text(""))
    elif reader.dialect == "duckdb":  # which has no text of NULLs alone
        joined = when(exp.GT(this=fn("size", fn("array_compact", texts)), expression=number(0)), joined)
    return Term(joined, STRING)


def _sorted(reader: Reader, node: exp.Expr) -> Term:
    call, wrap = open_list(reader, node.this)
    asc, nulls = node.args.get("asc"), node.args.get("nulls_first")
    value = call.this.this if isinstance(call.this, exp.Order) else call.this
    value = value.expressions[0] if isinstance(value, exp.Distinct) else value
    down = asc is not None and not asc.this
    place = exp.Ordered(this=value, desc=down, nulls_first=nulls is not None and bool(nulls.this))
    return collect_values(reader, call, wrap, places=[place])


def open_list(reader: Reader, node: exp.Expr) -> tuple[exp.Expr, Wrap]:
    """The aggregate call of a list, and its FILTER."""
    inner = node.unnest()
    if isinstance(inner, exp.Filter):
        condition = reader.read(inner.expression.this).node
        return unify_list(inner.this), lambda x: exp.Filter(this=x, expression=exp.Where(this=condition.copy()))
    return unify_list(inner), lambda x: x


def _compacted(reader: Reader, node: exp.Expr) -> Term:
    call, wrap = open_list(reader, node.this)
    return collect_values(reader, call, wrap, skips=True)


def _distinct(reader: Reader, node: exp.Expr) -> Term:
    given = reader.read(node.this)
    return Term(fn("array_distinct", given.node), given.type)


_OF_LISTS: Mapping[type[exp.Expr], Rule] = {
    exp.ArraySize: _size,
    exp.Length: _size,
    exp.ArrayToString: _join,
    exp.ConcatWs: _join,
    exp.ArraySort: _sorted,
    exp.ArrayDistinct: _distinct,
    exp.ArrayCompact: _compacted,
    exp.Coalesce: _or_empty,
}
