"""SQL scalar expressions (sqlglot) -> typed :mod:`m3.scalars`, with constants folded.

A reader never guesses: a function or form that is not listed here is a CompileError that names the nearest one that is.
This module has what all forms need: literals, types, casts, comparisons and NULL. The forms themselves are in
:mod:`m3.sql.functions` and the modules next to it; a reader is handed their table, so that this module knows none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from m3.algebra.temporal import HINT as NOW_HINT
from m3.algebra.temporal import compare_with_now, mentions_now
from m3.datatypes import BOOL, DATE, DOUBLE, INT, INT64_MAX, MAX_PRECISION, STRING, TIMESTAMP, Type
from m3.dictionary import FUNCTIONS
from m3.dictionary.forms import expand, expand_by_name
from m3.dictionary.types import quotient_type
from m3.errors import CompileError, ProgramError, ValueProblem
from m3.evaluate import evaluate
from m3.failures import ARITHMETIC, BY_LITERAL, given_by_literals, may_fail, wrong_literal
from m3.scalars import STRICT, Call, Const, Scalar, call, const
from m3.simplify import LONGEST_KEPT
from m3.sql.hints import hint_call
from m3.sql.places import Source

__all__ = ["ExpressionReader", "Handler", "Leaf", "as_condition", "is_bare_null", "refuse_form", "refuse_random"]


Leaf = Callable[[exp.Expr], Scalar | None]
#: Reads one form of expression.
Handler = Callable[["ExpressionReader", exp.Expr], Scalar]

LISTS = (
    "a list is a column of a view, and in no expression: compute it from the rows, by COUNT, STRING_AGG, BOOL_OR(x = ..) or FIRST "
    "instead, or keep a view with a row for each element"
)
RANDOM = {
    "rand", "random", "uuid", "gen_random_uuid", "clock_timestamp", "localtime", "systimestamp", "timeofday", "nextval", "monotonically_increasing_id", "user",
    "current_user", "session_user", "version", "input_file_name", "spark_partition_id", "txid_current", "setseed",
}  # fmt: skip

TYPES: Mapping[str, Type] = {
    "INT": INT, "BIGINT": INT, "SMALLINT": INT, "TINYINT": INT, "DOUBLE": DOUBLE, "FLOAT": DOUBLE, "TEXT": STRING,
    "VARCHAR": STRING, "CHAR": STRING, "NCHAR": STRING, "NVARCHAR": STRING, "BPCHAR": STRING, "DATE": DATE,
    "TIMESTAMP": TIMESTAMP, "TIMESTAMPNTZ": TIMESTAMP, "DATETIME": TIMESTAMP, "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP, "DATETIME2": TIMESTAMP, "SMALLDATETIME": TIMESTAMP, "BOOLEAN": BOOL,
}  # fmt: skip
#: What a bare NULL is until its neighbours say more; as an output column it stays that.
NULL = Const(None, STRING.with_null())
MISSING = "wrong-arity"
FALLBACKS = (STRING, INT, BOOL, DATE, DOUBLE)
#: Dialects in which a number with decimals is rounded when it is cast to an integer; elsewhere it is cut off.
ROUNDING = ("postgres", "duckdb")
#: Dialects in which the length of VARCHAR(n) says nothing, and in which a text that is longer is an error; in others it is cut off.
UNLIMITED, TOO_LONG = ("spark", "databricks", "duckdb", "sqlite"), ("snowflake", "bigquery")
#: Kind -> the most characters of its values as texts.
LONGEST: Mapping[str, int] = {"int": 20, "decimal": 40, "double": 25, "date": 10, "timestamp": 26, "bool": 5}
#: Decimals of a DOUBLE that is cast to a NUMERIC without a size.
DOUBLE_DIGITS = 15
#: What PostgreSQL, DuckDB and Spark call the DOUBLEs that are no finite numbers.
NOT_FINITE = re.compile(r"\s*(nan|[-+]?inf(inity)?)\s*", re.IGNORECASE)
INTEGER = re.compile(r"\s*[-+]?[0-9]+\s*")


class ExpressionReader:
    """Reads expressions of one SQL text.

    Args:
        source: the text, for errors.
        leaf: asked first for every node; a scalar it returns is taken as it is. It must know columns.
        handlers: how each form is read, but for literals, parentheses and casts.
    """

    def __init__(self, source: Source, leaf: Leaf, handlers: Mapping[type[exp.Expr], Handler]) -> None:
        self.source, self.leaf, self._handlers = source, leaf, handlers
        self.dialect: str | None = getattr(source, "dialect", None)

    def read(self, node: exp.Expr | None) -> Scalar:
        """The scalar that ``node`` means.

        Raises:
            CompileError: an unsupported form, or types that do not fit, at the node's place.
        """
        if not isinstance(node, exp.Expr):
            raise CompileError("an argument is missing", kind=MISSING, hint="see how the function is written")
        known = self.leaf(node)
        if known is not None:
            if known.type.kind == "list" and not _is_listed(node):
                self.source.fail(node, "a list in an expression", "list-in-expression", LISTS)
            return known
        with self.source.guard(node):
            meaning = expand_by_name(node, self.dialect)
        if meaning is not None:
            handler: Handler | None = lambda reader, _: reader.read(meaning)  # noqa: E731
        else:
            handler = _OWN.get(type(node)) or self._handlers.get(type(node))
        if handler is None:
            refuse_random(self, node)
            if any(map(_is_list_call, node.iter_expressions())):
                self.source.fail(node, f"{self.source.name(node)} of a list", "list-in-expression", LISTS)
            handler = ExpressionReader.read_in_dictionary
        with self.source.guard(node):
            try:
                result = handler(self, node)
            except (
                AttributeError,
                TypeError,
                CompileError,
            ) as error:  # the parser has left out what the function needs
                if isinstance(error, CompileError):
                    missing = error.kind == MISSING and error.span is None
                else:
                    missing = any(n.error_messages() for n in node.walk())
                if not missing:
                    raise
                self.source.fail(
                    node, f"{self.source.name(node)} takes more arguments", "wrong-arity", hint_call(self, node)
                )
        rewritten = meaning is not None or handler is ExpressionReader.read_in_dictionary
        if isinstance(result, Call) and (result.span is None or rewritten) and may_fail(result):
            result = replace(result, span=self.source.point(node))
        return self.call(node, "not", result) if node.args.get("negate") else result

    def find_in_dictionary(self, node: exp.Expr) -> Handler | None:
        """How a call is read that the dictionary of functions has; None if it has not."""
        meaning = expand(node, self.dialect)
        return None if meaning is None else lambda reader, _: reader.read(meaning)

    def read_in_dictionary(self, node: exp.Expr) -> Scalar:
        """A call that the dictionary of functions has.

        Raises:
            CompileError: it has not.
        """
        with self.source.guard(node):
            found = self.find_in_dictionary(node)
        if found is None:
            name = self.source.name(node)
            self.source.fail(node, f"{name} is not supported", "unsupported-expression", hint_call(self, node))
        return found(self, node)

    def call(self, node: exp.Expr, op: str, *args: Scalar, to: Type | None = None) -> Scalar:
        """A typed call, folded to a literal when all arguments are, or when a NULL decides it.

        Raises:
            CompileError: the types do not fit, or the literals have no such value.
        """
        first: ProgramError | None = None
        for typed in _type_nulls(args):
            try:
                made = call(op, *typed, to=to)
                if op == "div" and isinstance(made, Call) and made.type.kind == "decimal":
                    made = replace(made, type=quotient_type(made.args, self.dialect).with_null(made.type.nullable))
                return self._fold_call(node, made)
            except ProgramError as error:
                first = first or error
        assert first is not None
        known = FUNCTIONS.get(op)
        message = first.message if known is None else first.message.replace(known.text, self.source.name(node), 1)
        self.source.fail(node, message, first.kind, first.hint)

    def _fold_call(self, node: exp.Expr, result: Scalar) -> Scalar:
        args: tuple[Scalar, ...] = getattr(result, "args", ())
        if getattr(result, "op", "") in STRICT and any(isinstance(a, Const) and a.value is None for a in args):
            return Const(None, result.type.with_null())
        if not all(isinstance(a, Const) for a in args) or result.type.kind == "double":
            if isinstance(result, Call) and result.op in BY_LITERAL and given_by_literals(result):
                # a literal that no value of the other arguments goes with, such as a format, is a mistake in the text
                problem = wrong_literal(result)
                if problem is not None:
                    self.source.fail(node, problem.message, problem.kind, problem.hint)
            return result
        try:
            value = evaluate(result, {})
        except ValueProblem as error:
            if getattr(result, "op", "") in ARITHMETIC:
                return result  # it fails, but only where it is computed
            self.source.fail(node, error.message, error.kind, error.hint)
        return result if len(str(value)) > LONGEST_KEPT else Const(value, result.type.with_null(value is None))

    def compare(self, node: exp.Expr, op: str, left: Scalar, right: Scalar) -> Scalar:
        """A comparison; a string literal is read as what it is compared with. One with now is solved for a row's value, or refused."""
        made = self.call(node, op, self.adapt_literal(node, left, right), self.adapt_literal(node, right, left))
        if not mentions_now(made):
            return made
        solved = compare_with_now(made)
        if solved is None:
            message = "a comparison of now() that says of no value of a row from when, or until when it is there"
            self.source.fail(node, message, "now", NOW_HINT)
        return solved

    def adapt_literal(self, node: exp.Expr, scalar: Scalar, other: Scalar) -> Scalar:
        """A string literal next to a value of another kind becomes a literal of that kind."""
        kind = other.type.kind
        if not isinstance(scalar, Const) or not isinstance(scalar.value, str) or kind == "string":
            return scalar
        if kind in ("int", "decimal"):
            return self._read_exact(node, scalar.value)
        if kind == "double":
            if NOT_FINITE.fullmatch(scalar.value):  # programs write no such literals
                return self.call(node, "cast", const(scalar.value.strip()), to=DOUBLE)
            return self._read_float(node, scalar.value)
        return self.call(node, "cast", scalar, to=other.type.with_null(False))

    def _read_exact(self, node: exp.Expr, text: str) -> Const:
        """A number in quotes, compared with a number: it keeps all its digits."""
        if INTEGER.fullmatch(text) and abs(int(text)) <= INT64_MAX:
            return const(int(text))
        try:
            value = Decimal(text.strip())
        except InvalidOperation:
            self.source.fail(node, f"cannot cast {text!r} to a number", "bad-cast", "a number without quotes")
        digits, exponent = value.as_tuple().digits, value.as_tuple().exponent
        if not isinstance(exponent, int) or max(len(digits), -exponent, len(digits) + exponent) > MAX_PRECISION:
            self.source.fail(node, f"{text!r} has too many digits", "bad-cast", f"at most {MAX_PRECISION}")
        return const(Decimal(format(value, "f")))

    def _read_float(self, node: exp.Expr, text: str) -> Const:
        try:
            return const(float(text))
        except (ValueError, ProgramError):
            self.source.fail(
                node,
                f"cannot cast {text!r} to DOUBLE",
                "bad-cast",
                "a number without quotes, 'NaN', 'Infinity' or '-Infinity'",
            )

    def read_constant(self, node: exp.Expr | None) -> object:
        """The value of a node that is a literal, or an expression of literals; None for all others."""
        scalar = self.read(node) if node is not None else None
        return scalar.value if isinstance(scalar, Const) else None

    def read_text(self, node: exp.Expr) -> Scalar:
        """A node where text is meant: other kinds are cast to STRING, as in SQL's ``||``."""
        scalar = self.read(node)
        return scalar if scalar.type.kind == "string" else self.call(node, "cast", scalar, to=STRING)

    def read_condition(self, node: exp.Expr) -> Scalar:
        """A node where a condition is meant: a bare NULL is neither true nor false."""
        return as_condition(self.read(node))

    def choose(self, node: exp.Expr, conditions: Iterable[Scalar], results: Iterable[exp.Expr | None]) -> Scalar:
        """CASE: one more result than there are conditions; None is NULL."""
        read = [NULL if n is None else self.read(n) for n in results]
        known = next((v.type for v in read if not is_bare_null(v)), STRING)
        *values, otherwise = (Const(None, known.with_null()) if is_bare_null(v) else v for v in read)
        pairs = zip(conditions, values, strict=True)
        return self.call(node, "case", *(x for pair in pairs for x in pair), otherwise)

    def cast(self, node: exp.Expr, inner: Scalar, to: Type, *, safe: bool = False) -> Scalar:
        """``inner`` as ``to``, itself if it is that already; NULL where there is no such value if that is ``safe``."""
        if is_bare_null(inner):
            return Const(None, to.with_null())
        op = "try_cast" if safe else "cast"
        return inner if inner.type.same_as(to) else self.call(node, op, inner, to=to)

    def read_type(self, node: exp.Expr) -> Type:
        """The type that a type name means."""
        kind = _name_type(node)
        if kind == "DECIMAL":
            names = [p.name for p in node.expressions]
            if not all(n.isdigit() for n in names) or len(names) > 2:
                self.source.fail(
                    node, f"type {self.source.text(node)} is not supported", "unsupported-type", "DECIMAL(p, s)"
                )
            sizes = [int(n) for n in names] or [10]
            return Type("decimal", sizes[0], sizes[1] if len(sizes) > 1 else 0)
        if kind not in TYPES:
            self.source.fail(
                node,
                f"type {node.sql(self.dialect)} is not supported",
                "unsupported-type",
                f"one of {', '.join(TYPES)}",
            )
        return TYPES[kind]

    def _read_literal(self, node: exp.Expr) -> Scalar:
        text = str(node.this)
        if node.args.get("is_string"):
            return const(text)
        if not set(text) <= set("0123456789."):
            return self._read_float(node, text)
        value = Decimal(text)
        return const(int(text) if text.isdigit() and int(text) <= INT64_MAX else value)

    def _read_cast(self, node: exp.Expr) -> Scalar:
        """CAST. Spark's own is parsed as TRY_CAST; the real one says that it is safe."""
        safe = bool(node.args.get("safe")) and isinstance(node, exp.TryCast)
        inner, to = self.read(node.this), node.args["to"]
        if self.dialect == "postgres" and _name_type(to) == "DECIMAL" and not to.expressions:
            return self._cast_unbounded(node, inner)
        if is_bare_null(inner):
            return Const(None, self.read_type(to).with_null())
        wanted = self.read_type(to)
        if wanted.kind == "int" and self.dialect in ROUNDING:
            inner = self._round_half(node, inner)
        made = self.call(node, "try_cast" if safe else "cast", inner, to=wanted)
        return self._cut_off(node, inner, made) if wanted.kind == "string" else made

    def _cut_off(self, node: exp.Expr, inner: Scalar, made: Scalar) -> Scalar:
        """A text as VARCHAR(n): its first characters; too long a text is an error in some dialects, and stays in others."""
        length = _length_of(node.args["to"], self.dialect)
        if length is None or self.dialect in UNLIMITED or LONGEST.get(inner.type.kind, length + 1) <= length:
            return made
        kept: Scalar = const(length)
        if self.dialect in TOO_LONG or (self.dialect == "tsql" and inner.type.kind != "string"):
            fits = self.call(node, "le", self.call(node, "length", made), kept)
            kept = self.call(node, "case", fits, kept, const(-1))  # LEFT of -1 characters is an error
        return self.call(node, "left", made, kept)

    def _round_half(self, node: exp.Expr, inner: Scalar) -> Scalar:
        """The nearest whole number: of two the one that is farther from 0 for a DECIMAL, and the even one for a DOUBLE."""
        if inner.type.kind != "double":
            return self.call(node, "round", inner) if inner.type.kind == "decimal" else inner
        part = self.call(node, "sub", inner, self.call(node, "trunc", inner))
        tie = self.call(node, "eq", self.call(node, "abs", part), const(0.5))
        even = self.call(node, "mul", const(2.0), self.call(node, "round", self.call(node, "div", inner, const(2.0))))
        return self.call(node, "case", tie, even, self.call(node, "round", inner))

    def _cast_unbounded(self, node: exp.Expr, inner: Scalar) -> Scalar:
        """PostgreSQL's NUMERIC without a size keeps all digits; of a DOUBLE, 15 decimals."""
        if inner.type.kind == "double":
            return self.call(node, "cast", inner, to=Type("decimal", MAX_PRECISION, DOUBLE_DIGITS))
        if inner.type.kind == "int":
            return self.call(node, "cast", inner, to=Type("decimal", 19, 0))
        if inner.type.kind != "decimal":
            self.source.fail(node, f"{inner.type} as NUMERIC without a size", "unsupported-type", "NUMERIC(p, s)")
        return inner


def _length_of(to: exp.Expr, dialect: str | None) -> int | None:
    """The most characters of a type of texts; None without end. What has no number is one character in CHAR of PostgreSQL, and 30 in T-SQL."""
    named = to.expressions[0].name if to.expressions else ""
    if named or _name_type(to) == "TEXT":
        return int(named) if named.isdigit() else None
    if dialect == "tsql":
        return 30
    return 1 if dialect in ("postgres", "redshift") and _name_type(to) == "CHAR" else None


def _name_type(node: exp.Expr) -> str:
    """The name of a type; empty for those that are no plain type, such as intervals and object identifiers."""
    return node.this.value if isinstance(node, exp.DataType) and isinstance(node.this, exp.DataType.Type) else ""


def refuse_form(message: str, hint: str, kind: str = "unsupported-expression") -> Handler:
    """How a form is read that is known and not supported."""
    return lambda reader, node: reader.source.fail(node, message, kind, hint)


def refuse_random(reader: ExpressionReader, node: exp.Expr) -> None:
    """Fail if the node's value depends on when or where it is computed."""
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else node.sql_name().lower() if isinstance(
        node, exp.Func
    ) else node.key  # fmt: skip
    if name in RANDOM or name.startswith(("current", "rand")):
        hint = "a view depends on its tables and now() alone: store the value in a column, or write a constant"
        reader.source.fail(node, f"{reader.source.name(node)} is not deterministic", "not-deterministic", hint)


def _is_listed(node: exp.Expr) -> bool:
    """Whether a node is a column of a SELECT list by itself; a column of a star has no place yet."""
    inner = node
    while isinstance(inner.parent, exp.Alias | exp.Paren):
        inner = inner.parent
    return inner.parent is None or (isinstance(inner.parent, exp.Select) and inner.arg_key == "expressions")


def _is_list_call(node: exp.Expr) -> bool:
    while isinstance(node, exp.Paren | exp.Filter):
        node = node.this
    return isinstance(node, exp.ArrayAgg | exp.ArrayUniqueAgg)


def as_condition(scalar: Scalar) -> Scalar:
    """What stands where a condition is meant: a bare NULL is neither true nor false."""
    return Const(None, BOOL.with_null()) if is_bare_null(scalar) else scalar


def is_bare_null(scalar: Scalar) -> bool:
    """Whether a NULL literal has no type of its own (a NULL of type STRING counts as such)."""
    return isinstance(scalar, Const) and scalar.value is None and scalar.type.kind == "string"


def _type_nulls(args: tuple[Scalar, ...]) -> Iterator[tuple[Scalar, ...]]:
    """The arguments, with bare NULLs typed like one of the others, then as whatever fits."""
    if not any(is_bare_null(a) for a in args):
        yield args
        return
    for type_ in dict.fromkeys([*(a.type.with_null(False) for a in args if not is_bare_null(a)), *FALLBACKS]):
        yield tuple(Const(None, type_.with_null()) if is_bare_null(a) else a for a in args)


_OWN: Mapping[type[exp.Expr], Handler] = {
    exp.Paren: lambda reader, node: reader.read(node.this),
    exp.Boolean: lambda _, node: const(bool(node.this)),
    exp.Null: lambda _, node: NULL,
    exp.Literal: ExpressionReader._read_literal,
    exp.Cast: ExpressionReader._read_cast,
    exp.TryCast: ExpressionReader._read_cast,
}
