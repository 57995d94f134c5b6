"""Forms of the dictionary of functions beside the databases of their dialects: the same text, over the same random rows, is the same value."""

from __future__ import annotations

import datetime
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from m3.dictionary import ENTRIES, PLACEHOLDERS, SCALARS, Entry, forms
from m3.evaluate import FAILURES, evaluate
from m3.sql.page import COLUMNS, read_form

__all__ = ["FAILED", "TABLE", "UNREADABLE", "Ask", "Row", "all_rows", "compare_forms", "insert", "planted"]

Row = dict[str, Any]
#: What a database answers where it has an error, and here where a row has one.
FAILED = "(error)"
#: What a database answers that Python has no value for, as years beyond 9999 and BC.
UNREADABLE = "(unreadable)"
#: Asks a database for a form's values, in the order of rows, beside those here; None if it has no such form.
Ask = Callable[[str, Sequence[Any]], Sequence[Any] | None]

DAYS = ("2024-02-29", "2023-12-31", "1969-07-20", "2000-01-01", "0001-01-01", "9999-12-31", "2024-01-31", "1970-01-01")
TIMES = (
    "2024-01-31 09:00:00", "2024-02-29 09:30:00", "2023-12-31 23:59:59.999999", "1969-07-20 01:02:03", "2000-01-01 00:00:00.5", "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999", "1970-01-01 00:00:00", "1900-02-28 12:00:00", "2024-03-31 00:00:00",
)  # fmt: skip
EXACT = "0 1 -1 0.50 2.50 -2.50 0.05 -0.15 1234567890.12 -9999999999.99 9999999999.99 3.14 10 12 59.99"
#: Kind of placeholder -> values.
VALUES: dict[str, list[Any]] = {
    "string": ["", "a", "Ab", "hello world", "  x ", "日本é", "straße", "12", "-3.5", "2024-02-29", "a%b_c", "aXa", "é", "xyzzy", "ß", "İ", "2024-01-31 10:11:12", "Müller-Lüdenscheidt", "a,b", '{"a": ["x", 1]}', '{"a": {"b": "y"}}', '{"a": "x"}'],
    "int": [0, 1, -1, 2, 3, 5, 7, 12, -7, 31, 60, 64, 100, 2024, 2**31, -(2**31), 2**63 - 1, -(2**63)],
    "numeric": [Decimal(x) for x in EXACT.split()],
    "double": [0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e300, -1e300, 1e-300, 3.14, 100.0, 0.1, 709.0],
    "bool": [True, False],
    "date": [datetime.date.fromisoformat(d) for d in DAYS],
    "timestamp": [datetime.datetime.fromisoformat(t) for t in TIMES],
}  # fmt: skip
VALUES |= {"moment": VALUES["timestamp"], "any": VALUES["int"]}
#: Placeholder -> values near what it stands for; texts do not get too long for a test.
NEAR: dict[str, list[Any]] = {
    "len": [0, 1, -1, 2, 3, 5, -7, 12], "start": [0, 1, -1, 2, 3, 5, -4, 12], "y": [2024, 2023, 1, 9999, 1969], "mon": [1, 2, 12, 13, 0, 6],
    "dd": [1, 28, 29, 30, 31, 0], "hh": [0, 23, 24, 5], "mi": [0, 59, 60, 7], "json": ['{"a":1}', '{"a":"x"}', "{}", "null", '{"a":null}', '{"a":{"b":2}}'],
}  # fmt: skip
#: Functions that repeat a text: a small number of times, here.
REPEATING = ("repeat", "space")
#: Arguments that are asked for in 32 bits, where a database has no such function of 64.
INTS = "|".join(name for name in COLUMNS if COLUMNS[name].kind == "int")

KINDS = {
    "int": "BIGINT",
    "string": "TEXT",
    "double": "DOUBLE PRECISION",
    "bool": "BOOLEAN",
    "decimal": "DECIMAL(12, 2)",
}
TABLE = f"CREATE TABLE r (k INT, {', '.join(f'{n} {KINDS.get(t.kind, t.kind.upper())}' for n, t in COLUMNS.items())})"


def all_rows(count: int) -> list[Row]:
    """Rows with a column per placeholder, every value in each, NULL too; always the same ones."""
    chosen = random.Random(20)

    def values(name: str) -> list[Any]:
        pool = [*NEAR.get(name, VALUES[PLACEHOLDERS[name]]), None]
        return [v for _ in range(count // len(pool) + 1) for v in chosen.sample(pool, len(pool))][:count]

    columns = {name: values(name) for name in COLUMNS}
    return [{name: column[k] for name, column in columns.items()} for k in range(count)]


def insert(rows: Sequence[Row], mark: str) -> tuple[str, list[Any]]:
    """What fills :data:`TABLE`: a statement and its values."""
    marks = ", ".join([f"({', '.join([mark] * (len(COLUMNS) + 1))})"] * len(rows))
    return f"INSERT INTO r VALUES {marks}", [value for k, row in enumerate(rows) for value in (k, *row.values())]


def compare_forms(
    dialect: str, rows: Sequence[Row], ask: Ask, names: Iterable[str] = ()
) -> tuple[dict[str, list[Any]], int]:
    """Forms that are something else than in the database of their dialect, with up to three rows each; and how many were compared.

    An error where the other has a value is no wrong answer, if the row of the dictionary says that it fails. A row that ``differs``
    may do so in the smaller part of them.
    """
    wrong: dict[str, list[Any]] = {}
    compared = 0
    for entry, text, ours in _readings(dialect, rows, set(names)):
        theirs = _ask(ask, entry, text, ours)
        if theirs is None:
            continue
        compared += 1
        pairs = list(zip(rows, ours, theirs, strict=True))
        differing = [(_used(text, row), a, b) for row, a, b in pairs if not _agree(entry, a, b)]
        said = dialect in entry.differs and len(differing) < len(rows) / 2
        if differing and not said:
            wrong[text] = differing[:3]
        elif not any(a not in (None, FAILED) for a in ours):
            wrong[text] = ["no row has a value"]
    return wrong, compared


def _readings(dialect: str, rows: Sequence[Row], names: set[str]) -> Iterator[tuple[Entry, str, list[Any]]]:
    """The forms of a dialect, and their values here."""
    for entry in (e for entries in SCALARS.values() for e in entries if not names or e.name in names):
        for form in entry.said:
            if form.is_of(dialect):
                scalar = read_form(form, dialect)
                small = [{**r, "n": _small(r["n"])} for r in rows] if entry.name in REPEATING else rows
                yield entry, form.example(dialect), [_value(scalar, row) for row in small]


def _ask(ask: Ask, entry: Entry, text: str, ours: Sequence[Any]) -> Sequence[Any] | None:
    """Ask with numbers of 64 bits; with 32, first for all but the first, where there is no such function."""
    if entry.name in REPEATING:
        text = re.sub(r"\bn\b", "(CASE WHEN n < -3 THEN -3 WHEN n > 9 THEN 9 ELSE n END)", text)
    for small in (r"(?!)", rf"\b(?!n\b)({INTS})\b(?!\()", rf"\b({INTS})\b(?!\()"):
        found = ask(re.sub(small, r"CAST(\g<0> AS INT)", text), ours)
        if found is not None:
            return found
    return None


def _small(number: int | None) -> int | None:
    return None if number is None else max(-3, min(number, 9))


def _value(scalar: Any, row: Row) -> Any:
    try:
        return evaluate(scalar, row)
    except FAILURES:
        return FAILED


def _used(text: str, row: Row) -> Row:
    return {name: row[name] for name in re.findall(r"\b[a-z]+\b", text) if name in row}


def _agree(entry: Entry, ours: Any, theirs: Any) -> bool:
    if FAILED in (ours, theirs):
        return theirs == FAILED or bool(entry.fails) or entry.parameters is None
    if theirs == UNREADABLE:
        return False
    a, b = _plain(ours), _plain(theirs)
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(float(a), float(b), rel_tol=1e-11)
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
