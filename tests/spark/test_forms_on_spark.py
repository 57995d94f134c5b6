"""Forms of Spark's dialect are what Spark says in ANSI mode, on random rows; a wrong row is noticed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from cumulus_ops.validation.recompute import own_session
from m3.dictionary import ENTRIES
from tests.support.forms import FAILED, UNREADABLE, Ask, Asked, all_rows, arrow_rows, compare_forms, planted
from tests.support.sampling import WHOLE, sampled

pytestmark = pytest.mark.spark
ROWS = all_rows(32)
for row in ROWS:  # most functions take their second number in 32 bits; extremes of 64 are those of n
    row["i"] = row["i"] and max(-(2**31), min(row["i"], 2**31 - 1))
for row, text in zip(ROWS[::5], ("MO", "tuesday", "2024-02-29", "Wed", "1969-07-20", "SUN"), strict=False):
    row["s"] = text
#: FORMS=all compares all functions with all types, and not a part of them with the types of its columns.
ALL = os.environ.get("FORMS") == "all"
NAMES = list(ENTRIES) if ALL else sampled(ENTRIES, 9)
#: How many forms are asked for at once.
BATCH = 40


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    session = own_session(spark)
    session.conf.set("spark.sql.ansi.enabled", "true")
    # Rows that come from Arrow are part of the plan: Spark answers without starting tasks, in a few milliseconds.
    session.createDataFrame(arrow_rows(ROWS)).createOrReplaceTempView("r")
    return session


def asker(session: SparkSession) -> Ask:
    """Asks Spark for forms' values: all rows that have a value here at once, and one of each error."""

    def ask(all_asked: Sequence[Asked]) -> Sequence[Sequence[Any] | None]:
        known = [i for i, asked in enumerate(all_asked) if _is_known(session, asked)]
        found: list[Sequence[Any] | None] = [None] * len(all_asked)
        for some in (known[i : i + BATCH] for i in range(0, len(known), BATCH)):
            for i, values in zip(some, _ask_together(session, [all_asked[i] for i in some]), strict=True):
                found[i] = values
        return found

    return ask


def _is_known(session: SparkSession, asked: Asked) -> bool:
    """Whether Spark has such a form: it looks at a query before anything runs."""
    try:
        session.sql(f"SELECT {asked.written} FROM r")
    except AnalysisException:
        return False
    return True


def _ask_together(session: SparkSession, all_asked: Sequence[Asked]) -> list[Sequence[Any]]:
    """Forms in one query; in two where one of them is in error."""
    if len(all_asked) == 1:
        return [_ask_alone(session, all_asked[0])]
    columns = [
        f"CASE WHEN k IN ({_listed(_valued(asked))}) THEN {asked.written} END AS c{i}"
        for i, asked in enumerate(all_asked)
    ]
    try:
        table = session.sql(f"SELECT {', '.join(columns)} FROM r ORDER BY k").toArrow()
        found = [table[f"c{i}"].to_pylist() for i in range(len(all_asked))]
    except (PySparkException, ValueError, OverflowError):
        half = len(all_asked) // 2
        return [*_ask_together(session, all_asked[:half]), *_ask_together(session, all_asked[half:])]
    for asked, values in zip(all_asked, found, strict=True):
        for k, value in _ask_errors(session, asked).items():
            values[k] = value
    return list(found)


def _ask_alone(session: SparkSession, asked: Asked) -> Sequence[Any]:
    found = _values(session, asked.written, _valued(asked)) | _ask_errors(session, asked)
    return [found.get(k) for k in range(len(ROWS))]


def _valued(asked: Asked) -> list[int]:
    """The rows that have a value here, and that can be asked for."""
    return [k for k, value in enumerate(asked.ours) if value != FAILED and not asked.cannot_hold(ROWS[k])]


def _ask_errors(session: SparkSession, asked: Asked) -> dict[int, Any]:
    """What there is where a row is in error here: one row of each kind of error is asked for, the others are taken to be so there."""
    found: dict[int, Any] = dict.fromkeys(asked.reasons, FAILED)
    examples = {kind: k for k, kind in asked.reasons.items() if not asked.cannot_hold(ROWS[k])}
    for k in examples.values():
        found |= _values(session, asked.written, [k])
    return found


def _listed(rows: Sequence[int]) -> str:
    return ", ".join(map(str, rows)) or "-1"


def _values(session: SparkSession, form: str, ks: Sequence[int]) -> dict[int, Any]:
    """Row -> its value; halves of the rows are asked where a row is in error."""
    if not ks:
        return {}
    try:
        # The rows are picked in a query of their own, since Spark may compute a column of rows that it does not need.
        picked = f"SELECT * FROM r WHERE k IN ({_listed(ks)})"
        table = session.sql(f"SELECT k, {form} AS found FROM ({picked})").toArrow()
        return dict(zip(table["k"].to_pylist(), table["found"].to_pylist(), strict=True))
    except (
        PySparkException,
        ValueError,
        OverflowError,
    ) as error:  # the last two are Python's, for years that it does not have
        if len(ks) == 1:
            return {ks[0]: FAILED if isinstance(error, PySparkException) else UNREADABLE}
        half = len(ks) // 2
        return _values(session, form, ks[:half]) | _values(session, form, ks[half:])


def test_forms_are_sparks(session: SparkSession) -> None:
    wrong, compared = compare_forms("spark", ROWS, asker(session), NAMES, all_types=ALL)
    assert not wrong
    assert compared > (560 if ALL else 60 if WHOLE else 10)


def test_a_wrong_row_is_noticed(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with planted("bit_length", "8 * octet_length(s)", "8 * length(s)", monkeypatch):
        wrong, compared = compare_forms("spark", ROWS, asker(session), ["bit_length"])
    assert (list(wrong), compared) == (["BIT_LENGTH(s)"], 1)
