"""Which column a name means; and the reader of expressions, with the rules of columns, literals and CAST."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from sqlglot import exp

from cumulus_ops.project.errors import InputProblem
from cumulus_ops.validation.meaning.exact import Needed
from cumulus_ops.validation.meaning.terms import Term, as_type, cast, fn, literal, refusal, text, when
from m3.datatypes import BOOL, DATE, DOUBLE, INT, INT64_MAX, MAX_PRECISION, STRING, TIMESTAMP, Type, decimal
from m3.dictionary.forms import expand, expand_by_name

__all__ = ["VALUES", "Columns", "Options", "Reader", "Rule", "Scope", "cast_to", "read_type"]


# Which column a name means, and of which type it is.


#: Names and types of a table's columns, in order.
Columns = list[tuple[str, "Type | None"]]


@dataclass
class Scope:
    """The tables of one SELECT, within those of the queries around it.

    ``merged`` are the columns that USING and NATURAL made one, ``hidden`` their sides by table and name, ``sides`` the
    tables whose columns they are (none where it depends on the row), ``queries`` the common table expressions, ``carried`` the columns of queries
    around that its first table has to have besides its own: name -> what it is there."""

    parent: Scope | None
    tables: dict[str, Columns] = field(default_factory=dict)
    merged: dict[str, tuple[str, Type | None]] = field(default_factory=dict)
    hidden: set[tuple[str, str]] = field(default_factory=set)
    sides: dict[str, str] = field(default_factory=dict)
    queries: dict[str, tuple[exp.Expr, Columns]] = field(default_factory=dict)
    carried: dict[str, exp.Expr] = field(default_factory=dict)

    def query(self, name: str) -> tuple[exp.Expr, Columns] | None:
        """A common table expression that is known here, and its columns."""
        scope: Scope | None = self
        while scope is not None:
            if name.lower() in scope.queries:
                return scope.queries[name.lower()]
            scope = scope.parent
        return None

    def own(self, node: exp.Column) -> bool:
        """Whether a reference means a column of this SELECT's tables."""
        return any(True for _ in self._candidates(node))

    def type_of(self, node: exp.Column) -> Type | None:
        """The type of the column that a reference means.

        Raises:
            KeyError: there is none.
        """
        scope: Scope | None = self
        while scope is not None:
            for found in scope._candidates(node):
                return found
            scope = scope.parent
        raise KeyError(node.sql())

    def reach(self, node: exp.Column) -> exp.Expr:
        """A reference as it can be written where Spark sees the columns of the query directly around, and of no other: those between carry it,
        each as a column of its first table.

        Raises:
            KeyError: there is no such column.
        """
        between: list[Scope] = []
        scope: Scope | None = self
        while scope is not None and not scope.own(node):
            if scope.tables:  # others are steps on the way: set operations, derived tables
                between.append(scope)
            scope = scope.parent
        if scope is None:
            raise KeyError(node.sql())
        if len(between) < 2:
            return node.copy()
        owner = next(t for t, columns in scope.tables.items()
                     if node.table.lower() in ("", t.lower()) and any(c.lower() == node.name.lower() for c, _ in columns))  # fmt: skip
        found: exp.Expr = exp.column(
            exp.to_identifier(node.name, quoted=True), table=exp.to_identifier(owner, quoted=True)
        )
        for one in reversed(between[1:]):
            found = one._carry(found)
        return found

    def _carry(self, column: exp.Expr) -> exp.Expr:
        name = next((n for n, known in self.carried.items() if known == column), f"#up_{len(self.carried)}")
        self.carried[name] = column
        first = next(iter(self.tables))
        return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(first, quoted=True))

    def _candidates(self, node: exp.Column) -> Iterator[Type | None]:
        wanted, name = node.table.lower(), node.name.lower()
        if not wanted and name in self.merged:
            yield self.merged[name][1]
            return
        for alias, columns in self.tables.items():
            if wanted in ("", alias.lower()):
                yield from (t for column, t in columns if column.lower() == name)

    def star(self, table: str) -> list[tuple[str, str, Type | None]]:
        """What a star stands for: (table or "", column, type); one of a table may be that of a query around."""
        if table and self.parent is not None and table.lower() not in map(str.lower, self.tables):
            return self.parent.star(table)
        found = [] if table else [(self._side(name), name, t) for name, t in self.merged.values()]
        for alias, columns in self.tables.items():
            if table.lower() in ("", alias.lower()):
                found += [(alias, n, t) for n, t in columns if table or (alias, n.lower()) not in self.hidden]
        return found

    def _side(self, name: str) -> str:
        """The table of a merged column, where its name alone could be another column, too."""
        low = name.lower()
        named = ((a, n.lower()) for a, columns in self.tables.items() for n, _ in columns)
        if not any(n == low and (a, n) not in self.hidden for a, n in named):
            return ""
        if not self.sides[low]:
            raise refusal(f"the column {name} of a FULL JOIN beside another of this name")
        return self.sides[low]


Rule = Callable[["Reader", exp.Expr], Term]


class Queries(Protocol):
    """Reads queries within expressions."""

    def __call__(self, node: exp.Expr, parent: Scope | None) -> tuple[exp.Expr, Columns]:
        """The query in Spark's words, and its columns."""


@dataclass
class Options:
    """How a whole view is read.

    Args:
        rules: what each form of SQL means. They read parts of it by a reader, and so cannot be imported here.
        dialect: sqlglot's name of the view's dialect.
        wide: sums of decimals have no limit on the way to their result (and collect their values for that).
        apart: a SELECT that is grouped, and has subqueries, groups in a query of its own; and columns are handed on to subqueries of subqueries.
        now: what now() is in the snapshot; None if no tick has come yet, and now() is NULL.
        needed: gathers the functions that the query uses beyond Spark's own.
    """

    rules: Mapping[type[exp.Expr], Rule]
    dialect: str | None
    wide: bool = False
    apart: bool = False
    now: datetime.datetime | None = None
    needed: set[Needed] = field(default_factory=set)


@dataclass
class Reader:
    """Reads the expressions of one SELECT.

    Args:
        options: of the view.
        scope: what names mean.
        query: reads subqueries.
        ties: what decides between rows that a window's ORDER BY does not tell apart.
    """

    options: Options
    scope: Scope
    query: Queries
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    ties: list[exp.Expr] = field(default_factory=list)
    #: Whether the expression decides which rows there are: Spark knows EXISTS and IN only there.
    filtering: bool = False

    def read(self, node: exp.Expr | None) -> Term:
        """An expression in Spark's words.

        Raises:
            InputProblem: a form without a rule.
        """
        if node is None:
            raise refusal("an argument that is missing")
        meaning, rule = expand_by_name(node, self.dialect), self.options.rules.get(type(node))
        if meaning is not None:
            try:
                return self.read(meaning)
            except InputProblem:  # an operation that Spark is not asked for by its row
                if rule is None:
                    raise
        if rule is None:
            meaning = expand(node, self.dialect)
            if meaning is None:
                raise refusal(node.key.upper())
            return self.read(meaning)
        result = rule(self, node)
        if node.args.get("negate") and not isinstance(node, exp.Column):
            return Term(exp.Not(this=exp.Paren(this=result.node)), result.type)
        return result

    def condition(self, node: exp.Expr) -> exp.Expr:
        """The condition of WHERE, HAVING, ON or QUALIFY."""
        self.filtering = True
        try:
            found = self.read(node).node
            return cast(found, BOOL) if isinstance(node.unnest(), exp.Null) else found
        finally:
            self.filtering = False

    def exactly(self, function: str, to: Type, *args: exp.Expr) -> exp.Expr:
        """A call of one of :data:`~cumulus_ops.validation.meaning.exact.FUNCTIONS`."""
        needed = Needed(function, to.with_null(False))
        self.options.needed.add(needed)
        return exp.Anonymous(this=needed.name, expressions=[_kept_from_comparison(a) for a in args])

    @property
    def dialect(self) -> str | None:
        """sqlglot's name of the view's dialect."""
        return self.options.dialect


# Columns, literals and CAST.


NAMES: Mapping[str, Type] = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT"), INT),
    **dict.fromkeys(("DOUBLE", "FLOAT"), DOUBLE),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NCHAR", "NVARCHAR", "BPCHAR"), STRING),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME", "TIMESTAMPTZ", "TIMESTAMPLTZ", "DATETIME2", "SMALLDATETIME"), TIMESTAMP),
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
    "date": "(?!0000)[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?)?",
    "timestamp": "(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?",
    "bool": "(?i:true|t|1|false|f|0)",
}


def read_type(node: exp.Expr) -> Type:
    """The type that a type's name means; integers have 64 bits."""
    kind = node.this.value if isinstance(node, exp.DataType) else ""
    if kind == "DECIMAL":
        sizes = [int(p.name) for p in node.expressions] or [10]
        return decimal(sizes[0], sizes[1] if len(sizes) > 1 else 0)
    if kind not in NAMES:
        raise refusal(f"the type {node.sql()}")
    return NAMES[kind]


def _column(reader: Reader, node: exp.Expr) -> Term:
    assert isinstance(node, exp.Column)
    try:
        written = reader.scope.reach(node) if reader.options.apart else node.copy()
        return Term(written, reader.scope.type_of(node))
    except KeyError as error:
        raise refusal(f"the column {node.sql()}") from error


def _literal(_: Reader, node: exp.Expr) -> Term:
    value = str(node.this)
    if node.args.get("is_string"):
        return Term(node.copy(), STRING, value)
    if not set(value) <= set("0123456789."):
        return Term(cast(text(value), DOUBLE), DOUBLE, float(value))
    if value.isdigit() and int(value) <= INT64_MAX:
        return literal(int(value))
    exact = Decimal(value)
    digits, exponent = exact.as_tuple()[1:]
    scale = max(0, -int(exponent))
    to = decimal(max(len(digits) + max(0, int(exponent)), scale, 1), scale)
    return Term(cast(text(format(exact, "f")), to), to, exact)


def _cast(reader: Reader, node: exp.Expr) -> Term:
    safe = isinstance(node, exp.TryCast) and bool(node.args.get("safe"))
    inner, to = reader.read(node.this), node.args["to"]
    if reader.dialect == "postgres" and to.this.value == "DECIMAL" and not to.expressions:
        if inner.kind == "int":
            return cast_to(reader, inner, decimal(19, 0))
        if inner.kind == "double":
            return cast_to(reader, inner, decimal(MAX_PRECISION, 15))
        return inner  # NUMERIC without a size keeps all digits
    made = cast_to(reader, inner, read_type(to), safe=safe)
    return _cut_off(reader, inner, made, to) if made.kind == "string" else made


def _cut_off(reader: Reader, inner: Term, made: Term, to: exp.Expr) -> Term:
    """What VARCHAR(n) keeps of a text, and where it is an error instead."""
    if reader.dialect in ("spark", "databricks", "duckdb", "sqlite") or made.type is None:
        return made
    length = to.expressions[0].name if to.expressions else ""
    if not length and to.this.value != "TEXT":
        length = {"tsql": "30"}.get(reader.dialect or "", "")
        if reader.dialect in ("postgres", "redshift") and to.this.value == "CHAR":
            length = "1"
    if not length.isdigit():
        return made
    if reader.dialect in ("snowflake", "bigquery") or (reader.dialect == "tsql" and inner.kind != "string"):
        too_long = exp.GT(this=fn("char_length", made.node), expression=exp.Literal.number(length))
        error = cast(fn("raise_error", text("a text that is too long")), STRING)
        return Term(when(too_long, error, made.node), STRING)
    return Term(fn("left", made.node, exp.Literal.number(length)), STRING)


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


_CASTS: Mapping[tuple[str, str], Callable[[Reader, exp.Expr, Type], exp.Expr]] = {
    ("decimal", "int"): lambda reader, node, to: cast(
        fn("round", node, exp.Literal.number(0)) if reader.dialect in ROUNDING else node, to
    ),
    ("double", "int"): lambda reader, node, to: cast(fn("rint", node) if reader.dialect in ROUNDING else node, to),
    ("string", "int"): _text_to_whole,
    **{("string", kind): _from_text for kind in ("decimal", "double", "date", "timestamp", "bool")},
    ("timestamp", "string"): _stamp_to_text,
    ("double", "string"): lambda reader, node, to: reader.exactly("double_to_text", to, node),
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


def _kept_from_comparison(argument: exp.Expr) -> exp.Expr:
    """An argument of a function in Python. Spark looks in its executors whether two arguments are the same, if both are deterministic; for a scalar
    subquery it asks the plan, whose cached tables are not there, and fails. So one with a subquery says that it is not deterministic."""
    if argument.find(exp.Subquery, exp.Select) is None:
        return argument.copy()
    always = exp.GTE(this=exp.Anonymous(this="SPARK_PARTITION_ID"), expression=exp.Literal.number(0))
    return exp.If(this=always, true=argument.copy(), false=exp.Null())
