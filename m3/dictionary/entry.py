"""What a function is, in one row: its types, its NULLs, how it fails, how it is said in SQL, and how other databases are asked for it.

An :class:`Entry` is read by all: the interpreter and the engine (which add what it computes), the SQL compiler (how it is said), the proof
(how Spark is asked), the analyses of failures and of growth, the generated tests, and the page of functions.

**Parameters** are named by what they take: a kind of type (``string``, ``int``, ``bool``, ``date``), ``number`` (INT or DECIMAL), ``numeric``
(a number or DOUBLE), ``moment`` (DATE or TIMESTAMP), ``any``; or by what arguments are cast to: ``double`` (from numbers) and
``timestamp`` (from dates).

**Forms** are how it is said in SQL, as text: ``"UPPER(s)"``. Names of arguments are those of :data:`PLACEHOLDERS`, which say what
they stand for. A form of some dialects only names them first, ``"spark duckdb | UCASE(s)"``; a form that means more than the operation of its arguments in their
order says so last, ``"NULLIFZERO(x) := CASE WHEN x = 0 THEN NULL ELSE x END"``. The meaning is SQL in which every function is an
operation of M3. A form that is read by code of its own means ``...``: it is here for the page and the tests.

>>> Form.of("spark | LEN(s) := length(s)")
Form(text='LEN(s)', dialects=('spark',), meaning='length(s)')
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from m3.datatypes import DOUBLE, TIMESTAMP, Type
from m3.dictionary.types import Operand, Rule

__all__ = ["ACCEPTED", "BY_HAND", "CONVERTED", "DIALECTS", "GENERIC", "PLACEHOLDERS", "WRITTEN", "Entry", "Form"]

#: Dialects of views that the dictionary speaks of, beside sqlglot's generic one.
DIALECTS = ("postgres", "spark", "duckdb", "mysql", "tsql", "snowflake", "bigquery", "trino")
#: What sqlglot's generic dialect is called in forms.
GENERIC = "generic"
#: Dialect that the dictionary does not speak of -> the one whose functions it has.
LIKE = {"databricks": "spark", **dict.fromkeys(("redshift", "materialize", "risingwave"), "postgres")}
#: The meaning of a form that is read by code of its own.
BY_HAND = "..."
#: Parameter -> the kinds of types that it takes.
ACCEPTED: Mapping[str, tuple[str, ...]] = {
    "string": ("string",), "int": ("int",), "bool": ("bool",), "date": ("date",), "number": ("int", "decimal"),
    "numeric": ("int", "decimal", "double"), "double": ("int", "decimal", "double"), "moment": ("date", "timestamp"),
    "timestamp": ("date", "timestamp"), "any": ("int", "decimal", "double", "string", "date", "timestamp", "bool"),
}  # fmt: skip
#: Parameter -> the type that its argument is cast to.
CONVERTED: Mapping[str, Type] = {"double": DOUBLE, "timestamp": TIMESTAMP}
#: Name of an argument in a form -> what it stands for, as a parameter does; ``pattern``, ``format`` and their like are texts that are written out.
PLACEHOLDERS: Mapping[str, str] = {
    **dict.fromkeys(("s", "part", "old", "new", "delimiter", "glue", "fill", "characters", "json"), "string"),
    **dict.fromkeys(("pattern", "template", "path", "unit", "format", "joda"), "constant"),
    **dict.fromkeys(("n", "i", "len", "start", "digits", "bits", "y", "mon", "dd", "hh", "mi"), "int"),
    **dict.fromkeys(("x", "z", "low", "high", "base"), "numeric"),
    **dict.fromkeys(("f", "g"), "double"),
    **dict.fromkeys(("b", "c"), "bool"),
    **dict.fromkeys(("d", "e"), "date"),
    **dict.fromkeys(("t", "u"), "timestamp"),
    **dict.fromkeys(("m", "later", "earlier"), "moment"),
    **dict.fromkeys(("v", "w"), "any"),
}  # fmt: skip
#: Argument that has to be written out -> one that the page and the tests write.
WRITTEN: Mapping[str, str] = {
    "bits": "256",
    "digits": "1",
    "pattern": "'a+'",
    "template": "'%Y'",
    "path": "'$.a'",
    "unit": "month",
    "joda": "'yyyy-MM-dd'",
}
#: Dialect -> a format there.
FORMATS: Mapping[str, str] = {
    **dict.fromkeys((GENERIC, "duckdb", "mysql", "bigquery", "trino"), "'%Y-%m-%d'"), **dict.fromkeys(("spark", "tsql"), "'yyyy-MM-dd'"),
    **dict.fromkeys(("postgres", "snowflake"), "'YYYY-MM-DD'"),
}  # fmt: skip


@dataclass(frozen=True)
class Form:
    """A way to say a function; ``dialects`` is empty for all, ``meaning`` for the operation of its arguments in their order."""

    text: str
    dialects: tuple[str, ...] = ()
    meaning: str = ""

    @classmethod
    def of(cls, written: str) -> Form:
        """A form as an entry writes it."""
        dialects, _, rest = written.rpartition(" | ")
        text, _, meaning = rest.partition(" := ")
        return cls(text.strip(), tuple(dialects.split()), meaning.strip())

    def example(self, dialect: str | None) -> str:
        """Its text, with what has to be written out in a dialect."""
        texts = {**WRITTEN, "format": FORMATS[dialect or GENERIC]}
        return re.sub(r"\b[a-z]+\b", lambda word: texts.get(word[0], word[0]), self.text)

    def is_of(self, dialect: str | None) -> bool:
        """Whether it is a form of a dialect."""
        return not self.dialects or LIKE.get(dialect or GENERIC, dialect or GENERIC) in self.dialects


@dataclass(frozen=True)
class Entry:
    """A function of scalars, or, without ``parameters``, a way to say something that is none of its own.

    Attributes:
        name: in M3 text and as the operation's name.
        text: what it computes, for errors and for the page.
        parameters: see the module; the last one repeats when ``variadic``.
        result: the type, or how it follows from the arguments (nullability left aside).
        optional: how many of the last parameters may be left out.
        variadic: whether the last parameter repeats.
        nulls: ``strict`` (NULL exactly when an argument is), ``partial`` (also elsewhere), ``first`` (NULL when the
            first argument is) or ``all`` (NULL when all are). The last two are computed with None for NULL.
        alike: arguments get one common type where one of them is a DOUBLE or a TIMESTAMP.
        fails: the kinds of errors that it has for values that its parameters take; nothing if it always has a value.
        blame: the arguments that alone make it fail: where they are written out, the compiler looks.
        bounded: it fails only where its result is too large for its type.
        rises, falls: the arguments in which it only rises, or falls, while the others stay (ties allowed).
        distinct: different first arguments have different values, while the others stay.
        forms: how SQL says it.
        spark, duckdb: an expression of these that is the same, with ``a``, ``b``, ``c`` for the arguments; empty where code of its own
            writes it, or for DuckDB where its own form says the same. Where arguments may be left out there is one for each number of them,
            ``"trim(a) | TRIM(BOTH b FROM a)"``. ``place(b)`` is a number cut off at 32 bits, ``exactly_repeat(a, b)`` a function of the proof's own.
        differs: database -> in what its own function of that name differs, for the page; the generated test lets that pass.
        errors: database -> what it has where a value is an error here: words of ``NULL``, ``NaN``, ``infinity`` and ``a value``. Where nothing is said both fail.
        examples: SQL -> its value as text.
    """

    name: str
    text: str
    parameters: tuple[str, ...] | None = None
    result: Type | Rule | None = None
    optional: int = 0
    variadic: bool = False
    nulls: str = "strict"
    alike: bool = False
    fails: tuple[str, ...] = ()
    blame: tuple[int, ...] = ()
    bounded: bool = False
    rises: tuple[int, ...] = ()
    falls: tuple[int, ...] = ()
    distinct: bool = False
    forms: tuple[str, ...] = ()
    spark: str = ""
    duckdb: str = ""
    differs: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def takes(self) -> tuple[str, ...]:
        """What its parameters take; nothing for an entry that is no operation."""
        return self.parameters or ()

    @property
    def said(self) -> tuple[Form, ...]:
        """Its forms."""
        return tuple(map(Form.of, self.forms))

    @property
    def arity(self) -> tuple[int, int]:
        """The least and the largest number of arguments."""
        return len(self.takes) - self.optional, 99 if self.variadic else len(self.takes)

    @property
    def computes_nulls(self) -> bool:
        """Whether it sees NULL arguments, instead of being NULL."""
        return self.nulls in ("first", "all")

    def parameter(self, index: int) -> str:
        """What the argument at ``index`` must be."""
        return self.takes[min(index, len(self.takes) - 1)]

    def result_type(self, args: Sequence[Operand]) -> Type:
        """The type of a call, apart from nullability."""
        assert self.result is not None
        return self.result if isinstance(self.result, Type) else self.result(args)
