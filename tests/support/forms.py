"""Forms of the dictionary of functions beside the databases of their dialects: the same text, over the same random rows, is the same value.

A form is asked for once for each choice of types that its arguments may have (:func:`choices_of`). Values are all that a type has of odd ones; where a row is in
error here it has to be in error there, and the other way round. What differs is told in the row of the dictionary (:attr:`Entry.differs`), and has to.
"""

from __future__ import annotations

import datetime
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.dictionary import ENTRIES, PLACEHOLDERS, SCALARS, Entry, Form, forms
from m3.errors import M3Error
from m3.evaluate import FAILURES, evaluate
from m3.scalars import Scalar
from m3.sql.page import COLUMNS, read_form
from tests.support.listed import FAILED, is_listed

__all__ = [
    "COLUMNS_SQL",
    "FAILED",
    "NAMES",
    "TABLE",
    "TYPES",
    "UNREADABLE",
    "Ask",
    "Asked",
    "Row",
    "agree",
    "all_rows",
    "answer_forms",
    "arrow_rows",
    "choices_of",
    "compare_forms",
    "insert",
    "judge",
    "planted",
]

Row = dict[str, Any]
#: What a database answers that there is no value for here, as years beyond 9999 and BC.
UNREADABLE = "(unreadable)"

DAYS = ("2024-02-29", "2023-12-31", "1969-07-20", "2000-01-01", "0001-01-01", "9999-12-31", "2024-01-31", "1970-01-01")
TIMES = (
    "2024-01-31 09:00:00", "2024-02-29 09:30:00", "2023-12-31 23:59:59.999999", "1969-07-20 01:02:03", "2000-01-01 00:00:00.5", "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999", "1970-01-01 00:00:00", "1900-02-28 12:00:00", "2024-03-31 00:00:00",
)  # fmt: skip
EXACT = "0 1 -1 0.50 2.50 -2.50 0.05 -0.15 1234567890.12 -9999999999.99 9999999999.99 3.14 10 12 59.99"
WIDE = "0 1 -1 0.5 2.5 -0.0000000001 0.3333333333 3.1415926535 12 9999999999999999999999999999.9999999999 -9999999999999999999999999999.9999999999 9223372036854775808"
#: Kind of type -> values.
VALUES: dict[str, list[Any]] = {
    "string": ["", "a", "Ab", "hello world", "  x ", "日本é", "straße", "12", "-3.5", "2024-02-29", "a%b_c", "aXa", "é", "xyzzy", "ß", "İ", "2024-01-31 10:11:12", "Müller-Lüdenscheidt", "a,b", '{"a": ["x", 1]}', '{"a": {"b": "y"}}', '{"a": "x"}', "🙂b", '{"a": 1.50}', "e\u0301a", "aa\nab"],
    "int": [0, 1, -1, 2, 3, 5, 7, 12, -7, 31, 60, 64, 100, 2024, 2**31, -(2**31), 2**63 - 1, -(2**63)],
    "decimal": [Decimal(x) for x in EXACT.split()],
    "double": [0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e300, -1e300, 1e-300, 3.14, 100.0, 0.1, 709.0, -0.0, math.nan, math.inf, -math.inf, 5e-324],
    "bool": [True, False],
    "date": [datetime.date.fromisoformat(d) for d in DAYS],
    "timestamp": [datetime.datetime.fromisoformat(t) for t in TIMES],
}  # fmt: skip
TYPES: dict[str, Type] = {
    "string": STRING, "int": INT, "decimal": decimal(12, 2), "wide": decimal(38, 10), "double": DOUBLE, "bool": BOOL, "date": DATE, "timestamp": TIMESTAMP,
}  # fmt: skip
VALUES["wide"] = [Decimal(f"{x}e0") for x in WIDE.split()]
#: What a placeholder stands for -> the kinds of types that it is tried with; the first one is that of :data:`COLUMNS`.
TRIED: dict[str, tuple[str, ...]] = {
    "numeric": ("decimal", "int", "double", "wide"), "double": ("double", "decimal", "int"), "moment": ("timestamp", "date"),
    "timestamp": ("timestamp", "date"), "date": ("date", "timestamp"), "any": ("int", "decimal", "double", "string", "date", "timestamp", "bool"),
    "string": ("string",), "int": ("int",), "bool": ("bool",),
}  # fmt: skip
#: Placeholder -> values near what it stands for; texts do not get too long for a test.
NEAR: dict[str, list[Any]] = {
    **{name: ["", "a", ",", "-", "l", " ", "é", "ß", "A", "x", "ll", "aX", "%", "日", "🙂"] for name in ("part", "old", "delimiter", "characters")},
    **{name: ["", "*", "ab", " ", "é", "🙂"] for name in ("fill", "glue")},
    "len": [0, 1, -1, 2, 3, 5, -7, 12], "start": [0, 1, -1, 2, 3, 5, -4, 12], "y": [2024, 2023, 1, 9999, 1969], "mon": [1, 2, 12, 13, 0, 6],
    "dd": [1, 28, 29, 30, 31, 0], "hh": [0, 23, 24, 5], "mi": [0, 59, 60, 7], "json": ['{"a":1}', '{"a":"x"}', "{}", "null", '{"a":null}', '{"a":{"b":2}}'],
}  # fmt: skip
#: Values that have to meet in a row.
PINNED: list[Row] = [
    {"x_int": -(2**63), "z_int": -1, "s": "a,b", "delimiter": "", "i": 2},
    {"f_decimal": Decimal("9999999999.99"), "g_decimal": Decimal("59.99"), "f": 1.0, "g": math.inf},
    {"f": 0.0, "g": -math.inf, "x_double": -2.5, "z_double": -math.inf},
]
#: Functions that repeat a text: a small number of times, here.
REPEATING = ("repeat", "space")
#: Placeholder -> kind of type -> its column of the table.
NAMES = {
    name: {kind: name if i == 0 else f"{name}_{kind}" for i, kind in enumerate(TRIED[PLACEHOLDERS[name]])}
    for name in COLUMNS
}
KINDS = {
    "int": "BIGINT",
    "string": "TEXT",
    "double": "DOUBLE PRECISION",
    "bool": "BOOLEAN",
    "decimal": "DECIMAL(12, 2)",
    "wide": "DECIMAL(38, 10)",
}
#: Column of the table -> kind.
COLUMNS_SQL = {column: kind for columns in NAMES.values() for kind, column in columns.items()}
TABLE = (
    f"CREATE TABLE r (k INT, {', '.join(f'{c} {KINDS.get(kind, kind.upper())}' for c, kind in COLUMNS_SQL.items())})"
)


@dataclass(frozen=True)
class Asked:
    """A form that a database is asked for.

    Attributes:
        entry: the row of the dictionary that has it.
        form: an expression over the placeholders.
        scalar: what it means here.
        kinds: placeholder -> the kind of its column.
        ours: its values here, for each row.
        reasons: row -> the kind of its error here.
        small: the placeholders that are cast to 32 bits, where a database has no such function of 64.
        theirs: the database's values; None if it has no such form.
    """

    entry: Entry
    form: str
    scalar: Scalar
    kinds: Mapping[str, str]
    ours: Sequence[Any]
    reasons: Mapping[int, str]
    small: tuple[str, ...] = ()
    theirs: Sequence[Any] | None = None

    @property
    def title(self) -> str:
        """The form, with the types that are others than its own."""
        odd = [f"{name} {kind.upper()}" for name, kind in sorted(self.kinds.items()) if NAMES[name][kind] != name]
        return f"{self.form}{' of ' * bool(odd)}{', '.join(odd)}"

    @property
    def is_plain(self) -> bool:
        """Whether its arguments have the types of :data:`COLUMNS`."""
        return all(NAMES[name][kind] == name for name, kind in self.kinds.items())

    @property
    def few(self) -> bool:
        """Whether ``n`` is a small number: that of repetitions."""
        return self.entry.name in REPEATING

    def environment(self, row: Row) -> Row:
        """The values of its placeholders."""
        found = {name: row[NAMES[name][kind]] for name, kind in self.kinds.items()}
        if self.few and found.get("n") is not None:
            found["n"] = max(-3, min(found["n"], 9))
        return found

    def compute(self, row: Row) -> Any:
        """Its value here."""
        try:
            return evaluate(self.scalar, self.environment(row))
        except FAILURES:
            return FAILED

    def may_differ(self, dialect: str, row: Row, ours: Any, theirs: Any) -> bool:
        """Whether the dictionary says that the database's value may be another one so."""
        return is_listed(self.entry, dialect, self.environment(row), self.form, ours, theirs)

    @property
    def written(self) -> str:
        """The form over the columns of the table."""
        return re.sub(
            r"'[^']*'|\b[a-z]+\b(?!\()",
            lambda word: self._column(word[0]) if word[0] in self.kinds else word[0],
            self.form,
        )

    def _column(self, name: str) -> str:
        column = NAMES[name][self.kinds[name]]
        if self.few and name == "n":
            column = "(CASE WHEN n < -3 THEN -3 WHEN n > 9 THEN 9 ELSE n END)"
        return f"CAST({column} AS INT)" if name in self.small else column

    def cannot_hold(self, row: Row) -> bool:
        """Whether a number of a row is beyond the 32 bits that it is cast to."""
        values = [row[NAMES[name][self.kinds[name]]] for name in self.small]
        return not self.few and any(v is not None and not -(2**31) <= v < 2**31 for v in values)


#: Asks a database for forms' values, in the order of rows; None for one that it does not have.
Ask = Callable[[Sequence[Asked]], Sequence[Sequence[Any] | None]]


def all_rows(count: int) -> list[Row]:
    """Rows with a value for each column of the table, every value in each, NULL too; always the same ones."""
    chosen = random.Random(20)

    def values(name: str, kind: str) -> list[Any]:
        pool = [*(NEAR.get(name) or VALUES[kind]), None]
        return [v for _ in range(count // len(pool) + 1) for v in chosen.sample(pool, len(pool))][:count]

    columns = {c: values(name, kind) for name, of in NAMES.items() for kind, c in of.items()}
    rows = [{c: column[k] for c, column in columns.items()} for k in range(count)]
    return [row | (PINNED[k] if k < len(PINNED) else {}) for k, row in enumerate(rows)]


def _plain_zero(value: Any) -> Any:
    """What a database is asked with: 0.0 for -0.0, since zero has no sign here (docs/sql.md)."""
    return value + 0.0 if isinstance(value, float) else value


def arrow_rows(rows: Sequence[Row]) -> pa.Table:
    """The table, for databases that read Arrow."""
    types = {
        "int": pa.int64(), "string": pa.string(), "double": pa.float64(), "bool": pa.bool_(), "decimal": pa.decimal128(12, 2), "wide": pa.decimal128(38, 10),
        "date": pa.date32(), "timestamp": pa.timestamp("us"),
    }  # fmt: skip
    columns = {c: pa.array([_plain_zero(row[c]) for row in rows], types[kind]) for c, kind in COLUMNS_SQL.items()}
    return pa.table({"k": pa.array(range(len(rows)), pa.int32()), **columns})


def insert(rows: Sequence[Row], mark: str) -> tuple[str, list[Any]]:
    """What fills :data:`TABLE`: a statement and its values."""
    marks = ", ".join([f"({', '.join([mark] * (len(COLUMNS_SQL) + 1))})"] * len(rows))
    return f"INSERT INTO r VALUES {marks}", [
        v for k, row in enumerate(rows) for v in (k, *map(_plain_zero, row.values()))
    ]


def compare_forms(
    dialect: str, rows: Sequence[Row], ask: Ask, names: Iterable[str] = (), *, all_types: bool = True
) -> tuple[dict[str, list[Any]], int]:
    """Forms that are something else than in the database of their dialect, with up to three rows each; and how many were compared."""
    answered = answer_forms(dialect, rows, ask, names, all_types=all_types)
    return judge(dialect, rows, answered, complete=all_types), len(answered)


def answer_forms(
    dialect: str, rows: Sequence[Row], ask: Ask, names: Iterable[str] = (), *, all_types: bool = True
) -> list[Asked]:
    """The forms of a dialect that its database has, with the values of both.

    Args:
        dialect: the database's.
        rows: values for all columns.
        ask: asks the database.
        names: the rows of the dictionary that are asked for; all by default.
        all_types: whether each choice of types is asked for, and not only the first.
    """
    some = set(names)
    entries = [e for entries in SCALARS.values() for e in entries if not some or e.name in some]
    found = [
        a
        for e in entries
        for form in e.said
        if form.is_of(dialect)
        for a in _read(e, form, dialect, rows)
        if all_types or a.is_plain
    ]
    for spared in (
        None,
        ("n",),
        (),
    ):  # with numbers of 64 bits; with 32, first for all but ``n``, where there is no such function
        again = {
            i: replace(asked, small=small)
            for i, asked in enumerate(found)
            if asked.theirs is None and ((small := _small(asked, spared)) not in ((), asked.small) or spared is None)
        }
        for (i, asked), theirs in zip(again.items(), ask(list(again.values())), strict=True):
            found[i] = replace(asked, theirs=theirs)
    return [asked for asked in found if asked.theirs is not None]


def _small(asked: Asked, spared: tuple[str, ...] | None) -> tuple[str, ...]:
    return () if spared is None else tuple(n for n in asked.kinds if PLACEHOLDERS[n] == "int" and n not in spared)


def judge(
    dialect: str, rows: Sequence[Row], answered: Sequence[Asked], *, complete: bool = True
) -> dict[str, list[Any]]:
    """Form -> up to three rows that are something else there, and are not said to be; name of a row of the dictionary -> what it says to differ and does not.

    The latter only where all is compared (``complete``).
    """
    wrong: dict[str, list[Any]] = {}
    listed = {
        (a.entry.name, what)
        for a in answered
        if complete
        for what in ("differs", "errors")
        if dialect in getattr(a.entry, what)
    }
    for asked in answered:
        pairs = zip(rows, asked.ours, asked.theirs or (), strict=True)
        differing = [(row, a, b) for row, a, b in pairs if not asked.cannot_hold(row) and not agree(a, b)]
        unsaid = [d for d in differing if not asked.may_differ(dialect, *d)]
        listed -= {(asked.entry.name, "errors" if a == FAILED else "differs") for _, a, b in differing}
        if unsaid:
            wrong[asked.title] = [(asked.environment(row), a, b) for row, a, b in unsaid[:3]]
    return wrong | {name: [f"nothing {what}"] for name, what in listed}


def _read(entry: Entry, form: Form, dialect: str, rows: Sequence[Row]) -> Iterator[Asked]:
    """A form with the values of rows here, for each choice of types that it takes."""
    for number, kinds in enumerate(choices_of(form.example(dialect))):
        types = {name: TYPES[kind].with_null() for name, kind in kinds.items()}
        try:
            scalar = read_form(form, dialect, {**COLUMNS, **types})
        except M3Error:
            if number == 0:
                raise
            continue  # it takes no such types
        asked = Asked(entry, form.example(dialect), scalar, kinds, (), {})
        ours, reasons = [], {}
        for k, row in enumerate(rows):
            try:
                ours.append(evaluate(scalar, asked.environment(row)))
            except FAILURES as error:
                ours.append(FAILED)
                reasons[k] = getattr(error, "kind", "overflow")
        yield replace(asked, ours=ours, reasons=reasons)


def choices_of(text: str) -> Iterator[dict[str, str]]:
    """Kinds of types for the placeholders of a form: the first of each; then the others, for all of one sort, and for the first one alone."""
    names = [w for w in dict.fromkeys(re.findall(r"\b[a-z]+\b", re.sub(r"'[^']*'", "", text))) if w in COLUMNS]
    first = {name: next(iter(NAMES[name])) for name in names}
    yield first
    for sort in dict.fromkeys(PLACEHOLDERS[name] for name in names):
        alike = [name for name in names if PLACEHOLDERS[name] == sort]
        for kind in TRIED[sort][1:]:
            yield first | dict.fromkeys(alike, kind)
            if len(alike) > 1:
                yield first | {alike[0]: kind}


def agree(ours: Any, theirs: Any) -> bool:
    """Whether two values are the same."""
    if ours == FAILED:
        return theirs in (FAILED, UNREADABLE)
    if theirs in (FAILED, UNREADABLE):
        return False
    a, b = _plain(ours), _plain(theirs)
    if isinstance(a, float) or isinstance(b, float):
        if a is None or b is None:
            return False
        return math.isclose(float(a), float(b), rel_tol=1e-11, abs_tol=1e-300) or (math.isnan(a) and math.isnan(b))
    return bool(a == b)


def _plain(value: Any) -> Any:
    """A date as the timestamp at its midnight, a span in seconds: some functions have one where databases have the other."""
    if isinstance(value, datetime.timedelta):
        return Decimal(value.days * 86_400 + value.seconds) + Decimal(value.microseconds).scaleb(-6)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    return value


@contextmanager
def planted(name: str, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A row whose forms say ``wrong`` where they say ``right``."""
    row = ENTRIES[name]
    other = replace(row, forms=tuple(form.replace(right, wrong) for form in row.forms))
    assert other != row
    caches = (forms._names, forms._patterns_of, forms._patterns_by_class)
    with monkeypatch.context() as patch:
        patch.setattr(forms, "ENTRIES", {**ENTRIES, name: other})
        for cache in caches:
            cache.cache_clear()
        yield
    for cache in caches:
        cache.cache_clear()
