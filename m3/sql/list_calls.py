"""Functions of the list of a group's values: what can be said without a list, is.

>>> import sqlglot
>>> def show(sql, dialect):
...     return respell_lists(sqlglot.parse_one(sql, read=dialect), dialect).sql()
>>> show("SELECT ARRAY_TO_STRING(ARRAY_AGG(x ORDER BY y), ',') FROM r", "postgres")
"SELECT CASE WHEN COUNT(*) > 0 THEN COALESCE(GROUP_CONCAT(x ORDER BY y NULLS LAST, ','), '') END FROM r"
>>> show("SELECT SIZE(COLLECT_LIST(x)), SORT_ARRAY(COLLECT_LIST(x), FALSE) FROM r", "spark")
'SELECT COUNT(x), ARRAY_AGG(x ORDER BY x DESC) FROM r'
>>> show("SELECT (ARRAY_AGG(x ORDER BY y))[1] FROM r", "postgres")
'SELECT FIRST(x ORDER BY y NULLS LAST) FROM r'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

__all__ = ["EMPTY_LIST", "EMPTY_LISTS", "IGNORE_NULLS", "respell_lists", "skips_nulls"]

#: The argument of an aggregate that says that it skips NULLs.
IGNORE_NULLS = "skips_nulls"
#: The argument of ARRAY_AGG that says that the list of nothing is empty, and not NULL.
EMPTY_LIST = "empty_list"
#: Dialects in which it is so anyhow.
EMPTY_LISTS = ("spark", "spark2", "databricks", "snowflake")
#: Lists by names that some dialects of sqlglot do not know: Spark's, wherever they are written.
NAMED: Mapping[str, type[exp.Expr]] = {"collect_list": exp.ArrayAgg, "collect_set": exp.ArrayUniqueAgg}
#: Those of functions of one list.
SIZES = ("cardinality", "array_size", "list_length")


def respell_lists(tree: exp.Expr, dialect: str | None) -> exp.Expr:
    """A query in which of lists is asked what can be asked without them.

    Args:
        tree: the query, with one spelling for each aggregate; it is changed.
        dialect: sqlglot's name of its dialect.
    """
    for node in reversed(list(tree.walk(bfs=False))):  # from the inside
        made = _respell(node, dialect)
        if made is not None and made is not node:
            made.meta.update(node.meta)
            node.replace(made)
    return tree


def skips_nulls(node: exp.Expr) -> bool:
    """Whether a list leaves NULLs out."""
    return bool(node.args.get("nulls_excluded") or node.args.get(IGNORE_NULLS)) or isinstance(node, exp.ArrayUniqueAgg)


@dataclass(frozen=True)
class _Collected:
    """A list in a query: the call, and its FILTER."""

    call: exp.Expr
    where: exp.Expr | None
    dialect: str | None

    @classmethod
    def of(cls, node: exp.Expr | None, dialect: str | None) -> _Collected | None:
        inner = node.unnest() if isinstance(node, exp.Paren) else node
        where = inner.expression.this if isinstance(inner, exp.Filter) else None
        call = inner.this if isinstance(inner, exp.Filter) else inner
        if inner is None or not isinstance(call, exp.ArrayAgg | exp.ArrayUniqueAgg):
            return None
        if isinstance(call.this, exp.Limit):  # which is of no concern to its first element alone
            if not isinstance(inner.parent, exp.Bracket) and not isinstance(inner.parent, exp.Paren):
                return None
            call = exp.ArrayAgg(**{**call.args, "this": call.this.this})
        return None if isinstance(inner.parent, exp.Window) else cls(call, where, dialect)

    @property
    def order(self) -> list[exp.Expr]:
        """The entries of its ORDER BY."""
        return self.call.this.expressions if isinstance(self.call.this, exp.Order) else []

    @property
    def is_distinct(self) -> bool:
        """Whether each value is once in it."""
        inner = self.call.this.this if isinstance(self.call.this, exp.Order) else self.call.this
        return isinstance(inner, exp.Distinct) or isinstance(self.call, exp.ArrayUniqueAgg)

    @property
    def value(self) -> exp.Expr:
        """What it is a list of."""
        inner: exp.Expr = self.call.this.this if isinstance(self.call.this, exp.Order) else self.call.this
        found: exp.Expr = inner.expressions[0] if isinstance(inner, exp.Distinct) else inner
        return found

    @property
    def is_empty_of_nothing(self) -> bool:
        """Whether the list of nothing is empty, and not NULL."""
        return bool(self.call.args.get(EMPTY_LIST)) or self.dialect in EMPTY_LISTS

    def argument(self, *, distinct: bool, order: list[exp.Expr]) -> exp.Expr:
        """The value, each once or as often as it is there, in an order."""
        value = exp.Distinct(expressions=[self.value.copy()]) if distinct else self.value.copy()
        return exp.Order(this=value, expressions=[o.copy() for o in order]) if order else value

    def filtered(self, call: exp.Expr) -> exp.Expr:
        """Another aggregate of the same rows."""
        return call if self.where is None else exp.Filter(this=call, expression=exp.Where(this=self.where.copy()))

    def changed(self, argument: exp.Expr, **flags: bool) -> exp.Expr:
        """A list of the same rows."""
        kept = {IGNORE_NULLS: skips_nulls(self.call), EMPTY_LIST: self.is_empty_of_nothing}
        return self.filtered(exp.ArrayAgg(this=argument, **{**kept, **flags}))

    def count(self) -> exp.Expr:
        """How many values it has; 0 of nothing."""
        value = self.value.copy()
        if not self.is_distinct:
            return self.filtered(exp.Count(this=value if skips_nulls(self.call) else exp.Star()))
        known = self.filtered(exp.Count(this=exp.Distinct(expressions=[value])))
        if skips_nulls(self.call):
            return known
        every, others = (self.filtered(exp.Count(this=x)) for x in (exp.Star(), self.value.copy()))
        null = _choose(exp.GT(this=every, expression=others), exp.Literal.number(1), exp.Literal.number(0))
        return exp.Paren(this=exp.Add(this=known, expression=null))


def _choose(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)


def _respell(node: exp.Expr, dialect: str | None) -> exp.Expr | None:
    """What a node is without the list in it; None if it has none, or is not known."""
    if isinstance(node, exp.Anonymous):
        return _respell_named(node, dialect)
    if isinstance(node, exp.List) and len(node.expressions) == 1:
        return exp.ArrayAgg(this=node.expressions[0])
    rule = _RULES.get(type(node))
    first = node.expressions[1] if isinstance(node, exp.ConcatWs) and len(node.expressions) == 2 else node.this
    given = _Collected.of(first, dialect) if rule is not None and isinstance(first, exp.Expr) else None
    return None if rule is None or given is None else rule(node, given)


def _respell_named(node: exp.Anonymous, dialect: str | None) -> exp.Expr | None:
    name, args = str(node.this).lower(), node.expressions
    if name in NAMED and len(args) == 1:
        return NAMED[name](this=args[0], **{IGNORE_NULLS: True, EMPTY_LIST: True})
    given = _Collected.of(args[0], dialect) if args else None
    if given is not None and name in SIZES and len(args) == 1:
        return _size(exp.ArraySize(this=args[0]), given)
    if given is not None and name == "list_extract" and len(args) == 2 and args[1] == exp.Literal.number(1):
        return _element(exp.Bracket(this=args[0], expressions=[exp.Literal.number(0)]), given)
    return None


def _text(node: exp.Expr, given: _Collected) -> exp.Expr | None:
    """A list in one text is STRING_AGG, but of NULLs alone it is empty, and not NULL; in DuckDB it is NULL, too."""
    if node.args.get("null") is not None:
        return None
    separator = node.expressions[0] if isinstance(node, exp.ConcatWs) else node.expression
    text = exp.GroupConcat(
        this=given.argument(distinct=given.is_distinct, order=given.order), separator=separator.copy()
    )
    if given.dialect == "duckdb" and isinstance(node, exp.ArrayToString):
        return given.filtered(text)
    known = exp.Coalesce(this=given.filtered(text), expressions=[exp.Literal.string("")])
    if given.is_empty_of_nothing or isinstance(node, exp.ConcatWs):
        return known
    counted = exp.Count(this=given.value.copy() if skips_nulls(given.call) else exp.Star())
    return _choose(exp.GT(this=given.filtered(counted), expression=exp.Literal.number(0)), known)


def _size(node: exp.Expr, given: _Collected) -> exp.Expr | None:
    dimension = node.args.get("expression")
    if dimension is not None and dimension != exp.Literal.number(1):
        return None
    if given.is_empty_of_nothing and dimension is None:
        return given.count()
    return exp.Nullif(this=given.count(), expression=exp.Literal.number(0))


def _element(node: exp.Expr, given: _Collected) -> exp.Expr | None:
    """The first element is FIRST, and of an ordered list the last is LAST."""
    if len(node.expressions) != 1:
        return None
    (at,), start = node.expressions, node.args.get("offset") or 0
    first = isinstance(at, exp.Literal) and not at.is_string and str(at.this) == str(start)
    last = isinstance(at, exp.Neg) and start == 1 and at.this == exp.Literal.number(1)
    if not first and not last:
        return None
    kind = exp.First if first else exp.Last
    made = kind(this=given.argument(distinct=False, order=given.order))
    made.set(IGNORE_NULLS, skips_nulls(given.call))
    return given.filtered(made)


def _sort(node: exp.Expr, given: _Collected) -> exp.Expr | None:
    asc, nulls = node.args.get("asc"), node.args.get("nulls_first")
    if node.args.get("expression") is not None or not all(isinstance(x, exp.Boolean | None) for x in (asc, nulls)):
        return None
    ordered = exp.Ordered(
        this=given.value.copy(),
        desc=asc is not None and not asc.this,
        nulls_first=nulls is not None and bool(nulls.this),
    )
    return given.changed(given.argument(distinct=given.is_distinct, order=[ordered]))


def _distinct(node: exp.Expr, given: _Collected) -> exp.Expr | None:
    if any(o.this != given.value for o in given.order) or node.args.get("check_null") is False:
        return None  # DuckDB's is empty of NULLs alone, and NULL of nothing
    return given.changed(given.argument(distinct=True, order=given.order))


def _compact(_: exp.Expr, given: _Collected) -> exp.Expr:
    return given.changed(given.argument(distinct=given.is_distinct, order=given.order), **{IGNORE_NULLS: True})


def _or_empty(node: exp.Expr, given: _Collected) -> exp.Expr | None:
    if len(node.expressions) != 1:
        return None
    other = node.expressions[0]
    while isinstance(other, exp.Cast):
        other = other.this
    written = given.dialect == "postgres" and isinstance(other, exp.Literal) and str(other.this).strip() == "{}"
    if not written and not (isinstance(other, exp.Array) and not other.expressions):
        return None
    return given.changed(given.argument(distinct=given.is_distinct, order=given.order), **{EMPTY_LIST: True})


#: Function of a list -> what it is without.
_RULES: Mapping[type[exp.Expr], Callable[[exp.Expr, _Collected], exp.Expr | None]] = {
    exp.ArrayToString: _text,
    exp.ConcatWs: _text,
    exp.ArraySize: _size,
    exp.Length: _size,
    exp.Bracket: _element,
    exp.ArraySort: _sort,
    exp.ArrayDistinct: _distinct,
    exp.ArrayCompact: _compact,
    exp.Coalesce: _or_empty,
}
