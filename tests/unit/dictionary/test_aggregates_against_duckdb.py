"""Aggregates and window functions of DuckDB's dialect are what DuckDB says, of random values of each type that they take, NaN, infinities and NULL among them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from m3 import compile_views
from m3.dictionary.groups import GROUPS, WINDOWS
from m3.errors import M3Error
from m3.evaluate import FAILURES
from m3.interpreter import Interpreter
from m3.program import Column, Relation
from tests.support.forms import FAILED, NAMES, TYPES, agree, all_rows, arrow_rows, choices_of
from tests.support.sampling import WHOLE, sampled

ROWS = all_rows(45)
#: Groups: of nine rows, and one without values.
GROUPS_OF_ROWS = 5
#: Of what has no end, and of squares beyond DOUBLE, DuckDB's statistics are errors or nothing; a total of more than 38 digits is an error here, and of an INT one of more than 64 bits.
STATISTICS = re.compile(r"VAR|STDDEV|CORR|COVAR|REGR|SKEW|KURT|PRODUCT")


def tame(value: Any, text: str) -> Any:
    """A value of which sums of squares are in reach."""
    if isinstance(value, float) and STATISTICS.search(text):
        return value if abs(value) < 1_000 else 1.5
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and abs(value) > 2**31:
        return type(value)(7)
    return value


#: The rows, by whether they are for statistics.
TAME = {text: [{c: tame(v, text) for c, v in row.items()} for row in ROWS] for text in ("", "VAR")}
#: What is anybody's choice: which of several values is taken, or comes first.
CHOICES = re.compile(r"^(ANY_VALUE|FIRST|LAST|ARG_M|M(AX|IN)_BY|MODE|STRING_AGG\(s, ','\))")


def name_of(text: str) -> str:
    """Which rows a form is asked for."""
    return "VAR" if STATISTICS.search(text) else ""


def forms() -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Each form with the kinds of its arguments: an aggregate by group, or a window function in the order of the rows' numbers."""
    for entry in (*GROUPS, *WINDOWS):
        for form in entry.said:
            if form.is_of("duckdb") and not CHOICES.search(form.text) and entry.name != "grouping":
                text = (
                    form.example("duckdb")
                    .replace("PARTITION BY i", "PARTITION BY grp")
                    .replace("ORDER BY n", "ORDER BY k")
                )
                yield from ((entry.name, text, kinds) for kinds in choices_of(text))


def ours(text: str, kinds: Mapping[str, str]) -> dict[int, Any] | None:
    """Group or row -> its value; None for types that are refused."""
    columns = [Column(name, TYPES[kind].with_null()) for name, kind in kinds.items()]
    key = Column("k", TYPES["int"]), Column("grp", TYPES["int"])
    by = "k" if " OVER " in text else "grp"
    sql = f"SELECT {by}, {text} AS c FROM r" + " GROUP BY grp" * (by == "grp")
    try:
        interpreter = Interpreter(compile_views("v", [Relation("r", (*key, *columns))], {"v": sql}, dialect="duckdb"))
    except M3Error:
        return None
    try:
        for k, row in enumerate(TAME[name_of(text)]):
            given = [None if k % GROUPS_OF_ROWS == 0 else row[NAMES[n][kind]] for n, kind in kinds.items()]
            interpreter.apply(1, "r", (k, k % GROUPS_OF_ROWS, *given))
        return dict(interpreter.view_rows("v"))  # type: ignore[arg-type]
    except (M3Error, *FAILURES):
        return {}


def theirs(connection: duckdb.DuckDBPyConnection, text: str, kinds: Mapping[str, str]) -> dict[int, Any] | None:
    """The same in DuckDB; nothing where it is in error."""
    part = f"k % {GROUPS_OF_ROWS}"
    columns = [f"CASE WHEN {part} <> 0 THEN {NAMES[n][kind]} END AS {n}" for n, kind in kinds.items()]
    table = f"(SELECT {', '.join([f'CAST(k AS BIGINT) AS k, {part} AS grp', *columns])} FROM given{name_of(text)}) AS r"
    by = "k" if " OVER " in text else "grp"
    try:
        found = connection.execute(f"SELECT {by}, {text} FROM {table}" + " GROUP BY grp" * (by == "grp")).fetchall()
    except (duckdb.BinderException, duckdb.CatalogException):
        return None
    except duckdb.Error:
        return {}
    return dict(found)


#: Form -> how DuckDB's is another.
DIFFERS: Mapping[str, str] = {
    "COUNT_IF(b) of bool": "NULL where there are NULLs alone; here 0, as of no rows",
    **{
        f"{name}(x) OVER (PARTITION BY grp ORDER BY k) of decimal": "a DECIMAL of as many digits as the values have, cut off; here exact, as a DOUBLE"
        for name in ("MEDIAN", "MAD")
    },
}


def said(text: str, kinds: Mapping[str, str]) -> str:
    """What a form of such arguments is called."""
    return f"{text} of {', '.join(kinds.values())}"


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same, up to the digits that DuckDB has of averages and what it interpolates."""
    if isinstance(a, int | float | Decimal) and isinstance(b, int | float | Decimal) and not isinstance(a, bool):
        return agree(a, b) or math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-9)
    return agree(a, b)


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name, rows in TAME.items():
        connection.register(f"given{name}", arrow_rows(rows))
    return connection


def test_aggregates_and_windows_are_duckdbs(connection: duckdb.DuckDBPyConnection) -> None:
    wrong: dict[str, list[Any]] = {}
    compared = 0
    differing = [(text, kinds) for _, text, kinds in forms() if said(text, kinds) in DIFFERS]
    chosen = sampled(((text, kinds) for _, text, kinds in forms() if said(text, kinds) not in DIFFERS), 4)
    for text, kinds in [*chosen, *differing]:
        there = theirs(connection, text, kinds)
        here = ours(text, kinds) if there is not None else None
        if here is None or there is None:
            continue
        compared += 1
        pairs = [(here.get(k, FAILED), there.get(k, FAILED)) for k in sorted({*here, *there})]
        if not all(same(a, b) for a, b in pairs):
            wrong[said(text, kinds)] = [p for p in pairs if not same(*p)][:2]
    assert set(wrong) == set(DIFFERS), wrong
    assert compared > (250 if WHOLE else 60)
