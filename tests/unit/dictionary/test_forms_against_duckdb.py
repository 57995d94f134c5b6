"""Every form of DuckDB's dialect is what DuckDB says, on random rows, and of dates on ends of months, of years and of days; wrong rows are noticed."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import product
from typing import Any

import duckdb
import pytest

from m3.dictionary import ENTRIES
from m3.errors import M3Error
from m3.functions import KERNELS
from m3.sql.functions import read_constant
from m3.sql.page import read_form
from m3.sql.places import Source
from tests.support.forms import (
    FAILED,
    UNREADABLE,
    Ask,
    Asked,
    all_rows,
    answer_forms,
    arrow_rows,
    compare_forms,
    judge,
    planted,
)
from tests.support.sampling import deep
from tests.support.wrong_kernels import judge_mistakes, operations_of

MOMENTS = (
    "2024-01-31 09:00:00", "2024-02-29 09:30:00", "2023-12-31 23:59:59.999999", "2023-02-28 12:00:00", "1969-07-20 01:02:03", "2024-03-31 00:00:00", "2000-01-01 00:00:00.5",
)  # fmt: skip
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
FORMATS = ("%a %-d %B %Y %I:%M:%S.%g %p %j %G-%V %u", "%y/%m %H %-H %-I %f %A %b %w %-j %-M %-S %-m %% %-y %d", "%n")
#: Texts and formats, some of which do not fit.
READ = (
    ("2024-01-31", "%Y-%m-%d"), ("2024-1-3", "%Y-%m-%d"), ("31 Jan 2024 10:11:12", "%d %b %Y %H:%M:%S"), ("january 5, 2024", "%B %d, %Y"), ("2024-02-30", "%Y-%m-%d"),
    ("20240131", "%Y%m%d"), ("2024-01-31  10", "%Y-%m-%d %H"), ("68-01-31", "%y-%m-%d"), ("69-01-31", "%y-%m-%d"), ("10:11 PM 2024", "%I:%M %p %Y"), ("12:11 am 2024", "%I:%M %p %Y"),
    ("2024-060", "%Y-%j"), ("2024-01-31 10:11:12.5", "%Y-%m-%d %H:%M:%S.%f"), ("2024-01-31 10:11:12.123", "%Y-%m-%d %H:%M:%S.%g"), ("Wed 2024-01-31", "%a %Y-%m-%d"),
    ("2024-01-31x", "%Y-%m-%d"), ("2024-01-31 24", "%Y-%m-%d %H"), ("13 PM 2024", "%I %p %Y"),
)  # fmt: skip
PARTS = (
    "decade",
    "century",
    "millennium",
    "yearweek",
    "milliseconds",
    "microseconds",
    "isoyear",
    "isodow",
    "dow",
    "doy",
    "week",
    "quarter",
    "second",
)
OF_NUMBERS = (
    "GCD(12, -18)", "GCD(0, 0)", "LCM(4, -6)", "LCM(0, 3)", "FACTORIAL(0)", "FACTORIAL(33)", "ROUND_EVEN(2.5, 0)", "ROUND_EVEN(-3.45, 1)", "ROUNDBANKERS(0.125, 2)", "-9 >> 1", "9 >> 2",
    "ADD(1, 2)", "SUBTRACT(1.5, 2)", "MULTIPLY(2, 3)", "BIT_COUNT(-1::BIGINT)",
)  # fmt: skip


def expressions() -> Iterator[str]:
    """What is asked of both."""
    for unit, a, b in product(UNITS, MOMENTS, MOMENTS):
        yield f"DATE_DIFF('{unit}', TIMESTAMP '{a}', TIMESTAMP '{b}')"
        yield f"DATE_SUB('{unit}', TIMESTAMP '{a}', TIMESTAMP '{b}')"
    for a in MOMENTS:
        yield from (f"DATE_TRUNC('{unit}', TIMESTAMP '{a}')" for unit in (*UNITS, "decade", "isoyear"))
        yield from (f"EXTRACT({part} FROM TIMESTAMP '{a}')" for part in PARTS)
        yield from (f"STRFTIME(TIMESTAMP '{a}', '{written}')" for written in FORMATS)
        named = (
            "EPOCH_MS",
            "EPOCH_US",
            "EPOCH_NS",
            "YEARWEEK",
            "CENTURY",
            "DECADE",
            "MILLISECOND",
            "MICROSECOND",
            "LAST_DAY",
            "DAYNAME",
            "MONTHNAME",
            "WEEKDAY",
            "ISOYEAR",
        )
        yield from (f"{name}(TIMESTAMP '{a}')" for name in named)
    yield from (f"TRY_STRPTIME('{text}', '{written}')" for text, written in READ)
    yield from (f"CAST(TO_TIMESTAMP({n}) AS TIMESTAMP)" for n in ("1700000000", "1700000000.25", "-1.5"))
    yield "MAKE_TIMESTAMP(1700000000123456)"
    yield from OF_NUMBERS


def ours(sql: str) -> object:
    """The value of an expression here; the error's message if it has none."""
    source = Source(f"select {sql}", "v")
    try:
        return read_constant(source.parse("duckdb").expressions[0], source)
    except M3Error as error:
        return error.message


def differing(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, object, object]]:
    """Expressions that are something else in DuckDB."""
    asked = list(expressions())
    theirs = connection.execute(f"SELECT {', '.join(asked)}").fetchone()
    assert theirs is not None
    pairs = ((sql, _plain(ours(sql)), _plain(value)) for sql, value in zip(asked, theirs, strict=True))
    return [found for found in pairs if found[1] != found[2]]


def _plain(value: object) -> object:
    """A date as the timestamp at its midnight, a DOUBLE as the DECIMAL of its digits: some functions have one where DuckDB has the other."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    return value


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def test_dates_and_numbers_are_duckdbs(connection: duckdb.DuckDBPyConnection) -> None:
    assert differing(connection) == []


ROWS = all_rows(60)


@pytest.fixture(scope="module")
def table(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    connection.register("given", arrow_rows(ROWS))
    connection.execute("CREATE TABLE r AS SELECT * FROM given")
    return connection


def asker(table: duckdb.DuckDBPyConnection) -> Ask:
    """Asks DuckDB for a form's values: NULL of TRY is an error where the rows alone have one."""
    unknown: set[str] = set()

    def failing(form: str, rows: Sequence[int]) -> list[int]:
        if not rows:
            return []
        try:
            table.execute(f"SELECT {form} FROM r WHERE k IN ({', '.join(map(str, rows))})").fetchall()
        except duckdb.Error:
            half = len(rows) // 2
            return [*failing(form, rows[:half]), *failing(form, rows[half:])] if half else list(rows)
        return []

    def ask_one(asked: Asked) -> Sequence[Any] | None:
        if asked.form in unknown:
            return None
        try:
            found = table.execute(f"SELECT TRY({asked.written}) FROM r ORDER BY k")
            moment = found.description[0][1] in ("DATE", "TIMESTAMP")
            values = [UNREADABLE if moment and isinstance(v, str) else v for (v,) in found.fetchall()]
        except duckdb.CatalogException:
            unknown.add(asked.form)
            return None
        except duckdb.Error:
            return None
        nothing = [k for k, value in enumerate(values) if value is None]
        errors = [k for k in nothing if asked.ours[k] == FAILED]
        for k in [*failing(asked.written, errors), *failing(asked.written, sorted({*nothing} - {*errors}))]:
            values[k] = FAILED
        return values

    return lambda all_asked: [ask_one(asked) for asked in all_asked]


@pytest.fixture(scope="module")
def answered(table: duckdb.DuckDBPyConnection) -> list[Asked]:
    return answer_forms("duckdb", ROWS, asker(table))


def test_every_form_is_duckdbs(answered: list[Asked]) -> None:
    assert not judge("duckdb", ROWS, answered)
    assert len(answered) > 480


#: Mistakes that the values of DuckDB cannot tell from what the dictionary says of it.
#: Few of its texts have one length, so HAMMING sees few.
BLIND = {
    ("sign", "NaN as 0"),
    ("hamming", "lower case"),
    *((op, "ASCII alone") for op in ("levenshtein", "hamming", "jaro", "jaro_winkler")),
}


@deep
def test_mistakes_of_kernels_are_noticed(answered: list[Asked]) -> None:
    found = judge_mistakes("duckdb", ROWS, answered)
    unnoticed = {(op, m) for op, mistakes in found.items() for m, noticed in mistakes.items() if not noticed}
    assert unnoticed == BLIND
    assert len(found) > 110
    assert sum(map(len, found.values())) > 700


#: Kernels that no form of the three databases calls: what statistics and series are computed with, other dialects' functions, and parts of other kernels.
ELSEWHERE = {
    'add_micros', 'add_months', 'corr', 'count_parts', 'covar_pop', 'covar_samp', 'regr_intercept', 'regr_r2', 'regr_slope', 'regr_sxx', 'regr_sxy', 'right', 'series_length', 'stddev_pop',
    'stddev_samp', 'var_pop', 'var_samp', 'skewness_pop', 'skewness_samp', 'kurtosis_pop', 'kurtosis_samp',
}  # fmt: skip


def test_every_kernel_is_compared_with_a_database() -> None:
    forms = [(f, d) for e in ENTRIES.values() for f in e.said for d in ("duckdb", "postgres", "spark") if f.is_of(d)]
    asked = {op for form, dialect in forms for op in operations_of(read_form(form, dialect))}
    assert set(KERNELS) - asked == ELSEWHERE


#: Rows that would be wrong: (function, what its forms say, what they would say).
WRONG = [
    ("boundaries", "boundaries(unit, u, t)", "boundaries(unit, t, u)"),
    ("boundaries", "boundaries(unit, u, t)", "elapsed(unit, u, t)"),
    ("elapsed_to_last_day", "elapsed_to_last_day(unit, u, t)", "elapsed(unit, u, t)"),
    ("sunday", "day_of_week(m) - 1", "(day_of_week(m) + 5) % 7"),
    ("yearweek", "iso_year(m) * 100", "year(m) * 100"),
    ("decade", "(year(m) - 1) DIV 100 + 1", "year(m) DIV 100 + 1"),
]


@pytest.mark.parametrize(("name", "right", "wrong"), WRONG, ids=[name for name, _, _ in WRONG])
def test_a_wrong_row_is_noticed(
    name: str, right: str, wrong: str, connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with planted(name, right, wrong, monkeypatch):
        assert differing(connection)


def test_a_wrong_form_is_noticed(table: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    with planted("bit_length", "8 * octet_length(s)", "8 * length(s)", monkeypatch):
        wrong, compared = compare_forms("duckdb", ROWS, asker(table), ["bit_length"])
    assert (list(wrong), compared) == (["BIT_LENGTH(s)"], 1)


def test_operators_that_are_something_else_in_duckdb_are_refused(connection: duckdb.DuckDBPyConnection) -> None:
    assert connection.execute("SELECT 7.5 // 2, 'abc' ~ 'b', REGEXP_MATCHES('abc', 'b')").fetchone() == (
        3.75,
        False,
        True,
    )
    assert ours("7.5 // 2") == "// of numbers that are not INT"
    assert ours("'abc' ~ 'b'") == "~, which matches whole texts in DuckDB"
    assert (ours("7 // 2"), ours("REGEXP_MATCHES('abc', 'b')")) == (3, True)
