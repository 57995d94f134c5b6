"""Forms of Spark's dialect are what Spark says in ANSI mode, on random rows; a wrong row is noticed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from cumulus_ops.validation.recompute import own_session, spark_schema
from m3.datatypes import INT
from m3.dictionary import ENTRIES
from m3.program import Column, Relation
from m3.sql.page import COLUMNS
from tests.support.forms import FAILED, UNREADABLE, Ask, all_rows, compare_forms, planted

pytestmark = pytest.mark.spark
ROWS = all_rows(32)
for row in ROWS:  # most functions take their second number in 32 bits; extremes of 64 are those of n
    row["i"] = row["i"] and max(-(2**31), min(row["i"], 2**31 - 1))
for row, text in zip(ROWS[::5], ("MO", "tuesday", "2024-02-29", "Wed", "1969-07-20", "SUN"), strict=False):
    row["s"] = text
#: Every third function, for the sake of the suite's time; FORMS=all compares all of them.
NAMES = list(ENTRIES) if os.environ.get("FORMS") == "all" else list(ENTRIES)[::3]
RELATION = Relation("r", (Column("k", INT), *(Column(name, t.with_null()) for name, t in COLUMNS.items())))
#: How many rows that are in error here are asked for; the others of a form are taken to be so there.
ASKED_ERRORS = 1


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    session = own_session(spark)
    session.conf.set("spark.sql.ansi.enabled", "true")
    rows = [(k, *row.values()) for k, row in enumerate(ROWS)]
    # Rows that come from Arrow are part of the plan: Spark answers without starting tasks, in a few milliseconds.
    held = session.createDataFrame(rows, spark_schema(RELATION)).toArrow()
    session.createDataFrame(held).createOrReplaceTempView("r")
    return session


def asker(session: SparkSession) -> Ask:
    """Asks Spark for a form's values: all rows that have a value here at once, and a few of the others."""

    def ask(form: str, ours: Sequence[Any]) -> Sequence[Any] | None:
        failing = [k for k, value in enumerate(ours) if value == FAILED]
        found = dict.fromkeys(failing, FAILED)
        try:
            found |= _values(session, form, [k for k in range(len(ours)) if k not in found])
            for k in failing[:ASKED_ERRORS]:
                found |= _values(session, form, [k])
        except AnalysisException:
            return None
        return [found[k] for k in range(len(ours))]

    return ask


def _values(session: SparkSession, form: str, ks: Sequence[int]) -> dict[int, Any]:
    """Row -> its value; halves of the rows are asked where a row is in error."""
    if not ks:
        return {}
    try:
        # The rows are picked in a query of their own, since Spark may compute a column of rows that it does not need.
        picked = f"SELECT * FROM r WHERE k IN ({', '.join(map(str, ks))})"
        table = session.sql(f"SELECT k, {form} AS found FROM ({picked})").toArrow()
        return dict(zip(table["k"].to_pylist(), table["found"].to_pylist(), strict=True))
    except AnalysisException:
        raise
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
    wrong, compared = compare_forms("spark", ROWS, asker(session), NAMES)
    assert not wrong
    assert compared > (230 if os.environ.get("FORMS") == "all" else 60)


def test_a_wrong_row_is_noticed(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with planted("bit_length", "8 * octet_length(s)", "8 * length(s)", monkeypatch):
        wrong, compared = compare_forms("spark", ROWS, asker(session), ["bit_length"])
    assert (list(wrong), compared) == (["BIT_LENGTH(s)"], 1)
