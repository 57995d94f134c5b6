"""Each view recomputed and compared, by itself: whatever happens to one, the others are judged."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from cumulus_ops.errors import InputProblem
from cumulus_ops.validation.comparison import compare, difference_lines, observed
from cumulus_ops.validation.meaning import register, written_out
from cumulus_ops.validation.request import DIFFERS, EQUAL, IN_ERROR, UNPROVED, ViewToValidate, ViewVerdict
from m3.program import Relation

__all__ = ["judge", "recompute_view"]

#: Views that are recomputed at the same time: while one is planned, others are computed.
AT_ONCE = 4
#: How errors of the data are known: a bad value, several rows where one is meant, an error that the query itself raises.
DATA_STATE = re.compile(r"SQLSTATE: (?:22|21|P0001)|\b(?:OverflowError|ZeroDivisionError|ValueError): ")
OVERFLOWS = ("NUMERIC_VALUE_OUT_OF_RANGE", "ARITHMETIC_OVERFLOW")


class _Failing(Exception):
    """The recomputation fails on its data."""


def judge(
    session: SparkSession,
    views: Sequence[ViewToValidate],
    relations: Sequence[Relation],
    texts: Mapping[str, str] | None = None,
) -> list[ViewVerdict]:
    """A verdict for each view.

    Args:
        session: has the views' relations as temporary views.
        views: what to recompute and compare.
        relations: the relations' declarations.
        texts: the SQL of all views by name, for those that read others.
    """
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="recompute") as pool:
        return list(pool.map(lambda view: _verdict(session, view, relations, texts or {}), views))


def _verdict(
    session: SparkSession, view: ViewToValidate, relations: Sequence[Relation], texts: Mapping[str, str]
) -> ViewVerdict:
    try:
        recomputed = recompute_view(session, view, relations, texts)
    except _Failing as failure:
        if view.error:
            return ViewVerdict(view.name, IN_ERROR, f"in error, as its recomputation is: {view.error}")
        return ViewVerdict(view.name, DIFFERS, f"not in error, but its recomputation fails: {failure}")
    except (AnalysisException, InputProblem) as problem:
        return ViewVerdict(view.name, UNPROVED, f"not proved, Spark cannot run its query: {_reason(problem)}")
    if view.snapshot is None:
        return ViewVerdict(view.name, DIFFERS, f"in error ({view.error}), but its recomputation is not")
    found = compare(view.snapshot, recomputed, view.key_columns, view.tolerances, view.double_tolerance)
    outcome = EQUAL if found.equal else DIFFERS
    return ViewVerdict(view.name, outcome, observed(found), tuple(difference_lines(found)))


def recompute_view(
    session: SparkSession, view: ViewToValidate, relations: Sequence[Relation], texts: Mapping[str, str]
) -> pa.Table:
    """All rows of a view. Spark's sums have 38 digits on their way, too; where that was the reason to fail, they are computed
    by exact functions."""
    if view.recomputation is not None:
        return view.recomputation
    try:
        return _run(session, view, relations, texts, wide=False)
    except _Failing as failure:
        if not any(state in str(failure) for state in OVERFLOWS):
            raise
        return _run(session, view, relations, texts, wide=True)


def _run(
    session: SparkSession,
    view: ViewToValidate,
    relations: Sequence[Relation],
    texts: Mapping[str, str],
    *,
    wide: bool,
) -> pa.Table:
    query = written_out(view.sql, relations, view.dialect, view.columns, views=texts, wide=wide)
    register(session, query.needed)
    try:
        return session.sql(query.sql).toArrow()
    except AnalysisException:
        raise
    except Exception as problem:  # not all of them are pyspark's
        if not DATA_STATE.search(str(problem)):
            raise
        raise _Failing(_reason(problem)) from problem


def _reason(problem: BaseException) -> str:
    """The line that says what failed, without traces."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    telling = [line for line in lines if DATA_STATE.search(line)]
    return (telling or lines or [type(problem).__name__])[0]
