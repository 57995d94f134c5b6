"""Each view recomputed and compared, by itself: whatever happens to one, the others are judged."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pyspark.errors import (
    AnalysisException,
    ArithmeticException,
    DateTimeException,
    NumberFormatException,
    ParseException,
    PySparkException,
    PythonException,
)
from pyspark.sql import SparkSession

from cumulus_ops.errors import InputProblem
from cumulus_ops.validation.comparison import compare, difference_lines, observed
from cumulus_ops.validation.meaning import register, written_out
from cumulus_ops.validation.request import DIFFERS, EQUAL, IN_ERROR, UNPROVED, ViewToValidate, ViewVerdict
from m3.program import Relation

__all__ = ["judge"]

#: Views that are recomputed at the same time: while one is planned, others are computed.
AT_ONCE = 4
#: Errors of values. Any other is not the view's.
VALUES = (ArithmeticException, DateTimeException, NumberFormatException)
DATA_STATES = ("22", "21", "P0001")
PYTHON_VALUES = ("OverflowError", "ZeroDivisionError", "ValueError")
OVERFLOWS = ("NUMERIC_VALUE_OUT_OF_RANGE", "ARITHMETIC_OVERFLOW")


class _Failing(Exception):
    """The recomputation fails on its data."""


def judge(session: SparkSession, views: Sequence[ViewToValidate], relations: Sequence[Relation]) -> list[ViewVerdict]:
    """A verdict for each view.

    Args:
        session: has the views' relations as temporary views.
        views: what to recompute and compare.
        relations: the relations' declarations.
    """
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="recompute") as pool:
        return list(pool.map(lambda view: _verdict(session, view, relations), views))


def _verdict(session: SparkSession, view: ViewToValidate, relations: Sequence[Relation]) -> ViewVerdict:
    try:
        recomputed = _recomputed(session, view, relations)
    except _Failing as failure:
        if view.error:
            return ViewVerdict(view.name, IN_ERROR, f"in error, as its recomputation is: {view.error}")
        return ViewVerdict(view.name, DIFFERS, f"not in error, but its recomputation fails: {failure}")
    except (AnalysisException, InputProblem) as problem:
        return ViewVerdict(view.name, UNPROVED, f"not proved, Spark cannot run its query: {_first_line(problem)}")
    if view.snapshot is None:
        return ViewVerdict(view.name, DIFFERS, f"in error ({view.error}), but its recomputation is not")
    found = compare(view.snapshot, recomputed, view.key_columns, view.tolerances, view.double_tolerance)
    outcome = EQUAL if found.equal else DIFFERS
    return ViewVerdict(view.name, outcome, observed(found), tuple(difference_lines(found)))


def _recomputed(session: SparkSession, view: ViewToValidate, relations: Sequence[Relation]) -> pa.Table:
    """All rows of a view. Spark's sums have 38 digits on their way, too; where that was the reason to fail, they are computed
    by exact functions."""
    if view.recomputation is not None:
        return view.recomputation
    try:
        return _run(session, view, relations, wide=False)
    except _Failing as failure:
        if not any(state in str(failure) for state in OVERFLOWS):
            raise
        return _run(session, view, relations, wide=True)


def _run(session: SparkSession, view: ViewToValidate, relations: Sequence[Relation], *, wide: bool) -> pa.Table:
    query = written_out(view.sql, relations, view.dialect, view.columns, wide=wide)
    register(session, query.needed)
    try:
        return session.sql(query.sql).toArrow()
    except PySparkException as problem:
        if not _of_values(problem):
            raise
        raise _Failing(_first_line(problem)) from problem


def _of_values(problem: PySparkException) -> bool:
    """Whether an error is one of the data: a divisor of zero, an overflow, a bad cast, several rows where one is meant."""
    if isinstance(problem, VALUES):
        return True
    if isinstance(problem, AnalysisException | ParseException):
        return False
    if isinstance(problem, PythonException):
        return any(name in str(problem) for name in PYTHON_VALUES)
    return str(problem.getSqlState() or "").startswith(DATA_STATES)


def _first_line(problem: BaseException) -> str:
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return (
        next((x for x in reversed(lines) if x.startswith(PYTHON_VALUES)), lines[0]) if lines else type(problem).__name__
    )
