"""Views recomputed on Spark, each by itself: whatever happens to one, the others are recomputed. The rows go to files, where they are compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from cumulus_ops.errors import InputProblem
from cumulus_ops.validation.handles import ArrowFile, Handle, write_arrow
from cumulus_ops.validation.judge import Compared, Terms
from cumulus_ops.validation.meaning import register, written_out
from cumulus_ops.validation.request import ViewToValidate
from m3.errors import LONGEST_MESSAGE, shortened
from m3.program import Relation

__all__ = ["recompute_views"]

#: Views that are recomputed at the same time: while one is planned, others are computed.
AT_ONCE = 4
#: How errors of the data are known: a bad value, several rows where one is meant, an error that the query itself raises.
DATA_STATE = re.compile(r"SQLSTATE: (?:22|21|P0001)|\b(?:OverflowError|ZeroDivisionError|ValueError): ")
#: How it is known that Spark has no plan for a query, although it reads it: not supported, or a mistake of its own.
QUERY_STATE = re.compile(r"SQLSTATE: (?:0A|42|XX)")
OVERFLOWS = ("NUMERIC_VALUE_OUT_OF_RANGE", "ARITHMETIC_OVERFLOW")


class _Failing(Exception):
    """The recomputation fails on its data."""


class _Impossible(Exception):
    """There is no recomputation."""


def recompute_views(
    session: SparkSession,
    views: Sequence[ViewToValidate],
    relations: Sequence[Relation],
    texts: Mapping[str, str],
    folder: Path,
    on_view: Callable[[int, str], None] = lambda _done, _view: None,
) -> list[Compared]:
    """What there is to compare of each view.

    Args:
        session: has the views' relations as temporary views.
        views: what to recompute.
        relations: the relations' declarations.
        texts: the SQL of all views by name, for those that read others.
        folder: an empty folder for the rows.
        on_view: called with the number of views that are recomputed, and the name of the last, in the order of the views.
    """

    def one(place: int, view: ViewToValidate) -> Compared:
        snapshot = view.snapshot
        if isinstance(snapshot, pa.Table):
            snapshot = write_arrow(snapshot, folder / f"{place}-snapshot.arrow")
        file = folder / f"{place}-recomputed.arrow"
        recomputed, terms = _recomputed(session, view, relations, texts, file)
        return Compared(view.name, snapshot, view.shown, recomputed, terms)

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="recompute") as pool:
        found = []
        for compared in pool.map(one, range(len(views)), views):
            found.append(compared)
            on_view(len(found), compared.view)
        return found


def _recomputed(
    session: SparkSession, view: ViewToValidate, relations: Sequence[Relation], texts: Mapping[str, str], file: Path
) -> tuple[Handle | None, Terms]:
    if view.recomputation is not None:
        return write_arrow(view.recomputation, file), Terms.of(view)
    unordered = ""
    try:
        if view.ordered:
            try:
                return _rows(session, view, relations, texts, file, ordered=True), Terms.of(view)
            except (_Impossible, InputProblem) as problem:
                unordered = _reason(problem)
        rows = _rows(session, view, relations, texts, file, ordered=False)
    except _Failing as failure:
        return None, Terms.of(view, fails=str(failure))
    except (_Impossible, InputProblem) as problem:
        return None, Terms.of(view, impossible=_reason(problem))
    return rows, Terms.of(view, unordered=unordered)


def _rows(
    session: SparkSession,
    view: ViewToValidate,
    relations: Sequence[Relation],
    texts: Mapping[str, str],
    file: Path,
    *,
    ordered: bool,
) -> ArrowFile:
    """All rows of a view. Where Spark has no plan for its query, it is written in another way. Spark's sums have 38 digits on their way, too;
    where that was the reason to fail, they are computed by exact functions."""

    def run(*, apart: bool) -> pa.Table:
        try:
            return _run(session, view, relations, texts, wide=False, ordered=ordered, apart=apart)
        except _Failing as failure:
            if not any(state in str(failure) for state in OVERFLOWS):
                raise
            return _run(session, view, relations, texts, wide=True, ordered=ordered, apart=apart)

    try:
        rows = run(apart=False)
    except _Impossible as problem:
        try:
            rows = run(apart=True)
        except (_Impossible, InputProblem):
            raise problem from None
    return write_arrow(rows, file)


def _run(
    session: SparkSession,
    view: ViewToValidate,
    relations: Sequence[Relation],
    texts: Mapping[str, str],
    *,
    wide: bool,
    ordered: bool,
    apart: bool,
) -> pa.Table:
    query = written_out(
        view.sql, relations, view.dialect, view.columns, views=texts, wide=wide, ordered=ordered, apart=apart
    )
    register(session, query.needed)
    try:
        return session.sql(query.sql).toArrow()
    except AnalysisException as problem:
        raise _Impossible(f"Spark cannot run its query: {_reason(problem)}") from problem
    except Exception as problem:  # not all of them are pyspark's
        if DATA_STATE.search(str(problem)):
            raise _Failing(_reason(problem)) from problem
        if QUERY_STATE.search(str(problem)):
            raise _Impossible(f"Spark cannot run its query: {_reason(problem)}") from problem
        raise


def _reason(problem: BaseException) -> str:
    """The line that says what failed, without traces."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    telling = [line for line in lines if DATA_STATE.search(line)]
    return shortened((telling or lines or [type(problem).__name__])[0], LONGEST_MESSAGE)
