"""Base tables from scratch, on Spark, from the event log, sharing nothing with what is maintained incrementally.

The base table of a relation at an epoch is the sum of its events' signs per distinct row (the row's multiplicity); views
run on that.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cumulus_ops.files.columns import arrow_type
from cumulus_ops.files.projection import as_declared, names_in_file
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.versions import epoch_end
from cumulus_ops.validation.judge import Compared, Terms
from cumulus_ops.validation.meaning import register, write_out
from cumulus_ops.validation.request import ArrowFile, Handle, NetToProve, ViewToValidate, write_arrow
from m3.errors import LONGEST_MESSAGE, shortened
from m3.interpreter import Interpreter
from m3.program import Program, Relation, View

__all__ = [
    "MULTIPLICITY",
    "OFF_BY",
    "base_table",
    "differing_rows",
    "kept_tables",
    "own_session",
    "recompute_m3",
    "recompute_views",
    "spark_column",
    "spark_schema",
    "used_columns",
    "view_table",
]


MULTIPLICITY, OFF_BY = "_multiplicity", "_off_by"
VERSION, SIGN, HASH = "_version", "_sign", "_hash"

#: Errors instead of NULLs; and few, small jobs: what adapts plans while they run costs more than it saves here.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",  # listing log files needs no Spark job
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",  # sessions of steps have 0, any number: no table can be sent so
}
COPIED = ("spark.sql.shuffle.partitions",)

SPARK: dict[str, T.DataType] = {
    "int": T.LongType(),
    "double": T.DoubleType(),
    "string": T.StringType(),
    "date": T.DateType(),
    "timestamp": T.TimestampNTZType(),
    "bool": T.BooleanType(),
}


def own_session(spark: SparkSession) -> SparkSession:
    """A session beside the given one (classic or Connect): its own temporary views and settings, the same executors."""
    session = spark.newSession()
    for key in COPIED:
        session.conf.set(key, spark.conf.get(key) or "")
    for key, value in SETTINGS.items():
        session.conf.set(key, value)
    return session


def spark_schema(relation: Relation) -> T.StructType:
    """The relation's columns as Spark sees them."""
    schema = T.StructType()
    for name, t in ((c.name, c.type) for c in relation.columns):
        schema.add(name, T.DecimalType(t.precision, t.scale) if t.kind == "decimal" else SPARK[t.kind])
    return schema


def base_table(
    spark: SparkSession,
    relation: Relation,
    log_files: Collection[Path],
    epoch: int,
    chosen: Callable[[DataFrame], DataFrame] | None = None,
) -> DataFrame:
    """A relation at the end of an epoch.

    Args:
        spark: the session, see :func:`own_session`.
        relation: its declaration.
        log_files: Parquet files with the relation's columns, ``_version`` int64 and ``_sign`` int8; may be none. Those of the log are of batches
            up to ``epoch``, and say in ``_version`` how far a row is behind the first one.
        epoch: counted are the versions up to its end (inclusive), of files that have them whole.
        chosen: which of the events count, as a part of all; they have the relation's columns.

    Returns:
        The relation's columns and ``_multiplicity`` bigint: 1 for a row, which stands as often as it is there, or
        negative for one that was deleted more often than inserted, an error that someone should see. Only rows that
        were deleted at least once are summed up (NULL equals NULL); the others, nearly all, need no grouping.
    """
    names = [c.name for c in relation.columns]
    log = _read_log(spark, relation, log_files)
    unsigned = {
        c.name: spark_column(c.name) + F.lit(0.0) for c in relation.columns if c.type.kind == "double"
    }  # no -0.0
    log = log.where(F.col(VERSION) <= epoch_end(epoch)).drop(VERSION)
    log = log.withColumns(unsigned) if unsigned else log  # Spark Connect refuses none
    # A hash that equal rows share; other rows that share it are only summed up needlessly. So a declared key is enough to hash, and need not
    # even be one.
    hashed = [c for c in relation.columns if c.name in relation.key] or relation.columns
    events = (log if chosen is None else chosen(log)).withColumn(
        HASH, F.xxhash64(*(spark_column(c.name) for c in hashed))
    )
    deleted = F.broadcast(events.where(F.col(SIGN) < 0).select(HASH).distinct())
    kept = events.join(deleted, HASH, "left_anti").select(
        *map(spark_column, names), F.col(SIGN).cast("long").alias(MULTIPLICITY)
    )
    touched = events.join(deleted, HASH, "left_semi").groupBy(*map(spark_column, names))
    summed = touched.agg(F.sum(SIGN).alias(MULTIPLICITY)).where(F.col(MULTIPLICITY) != 0)
    # positive multiplicities are written out as rows of multiplicity 1, since views' SQL knows rows only
    copies = F.array_repeat(F.lit(1).cast("long"), F.greatest(F.col(MULTIPLICITY), F.lit(1)).cast("int"))
    rows = F.when(F.col(MULTIPLICITY) < 0, F.array(F.col(MULTIPLICITY))).otherwise(copies)
    return kept.unionAll(summed.select(*map(spark_column, names), F.explode(rows).alias(MULTIPLICITY)))


def _read_log(spark: SparkSession, relation: Relation, log_files: Collection[Path]) -> DataFrame:
    """All events, with the columns that the relation has now, whichever each file was written with: what a file does not have is NULL, or the default."""
    schema = spark_schema(relation)
    schema.add(VERSION, T.LongType()).add(SIGN, T.ByteType())
    if not log_files:
        return spark.createDataFrame([], schema)
    parts: dict[tuple[frozenset[str], frozenset[str]], list[str]] = {}
    for path in log_files:
        parts.setdefault(_shape(relation, path), []).append(str(path))
    tables = []
    for (whole, missing), paths in parts.items():  # Spark reads decimals of fewer digits, and no integers as decimals
        types = {f.name: T.LongType() if f.name in whole else f.dataType for f in schema}
        stored = T.StructType([T.StructField(relation.in_log(name), of) for name, of in types.items()])
        log = spark.read.schema(stored).parquet(*paths)
        log = log.toDF(*schema.names) if relation.stored else log
        changed = {n: spark_column(n).cast(schema[n].dataType) for n in whole}
        changed |= {n: F.lit(relation.default_of(n)).cast(schema[n].dataType) for n in missing}
        tables.append(log.withColumns(changed) if changed else log)
    return functools.reduce(DataFrame.unionAll, tables)


def _shape(relation: Relation, path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The decimal columns that a file has as integers, for it was written before they were decimals; and those with a default that it does not have."""
    names = {relation.in_log(c.name): c.name for c in relation.columns if c.type.kind == "decimal"}
    fields = list(pq.read_schema(path)) if names or relation.defaults else []
    found = {f.name for f in fields}
    missing = frozenset(name for name, _ in relation.defaults if relation.in_log(name) not in found)
    return frozenset(names[f.name] for f in fields if f.name in names and pa.types.is_integer(f.type)), missing


def differing_rows(spark: SparkSession, relation: Relation, net: NetToProve) -> DataFrame:
    """The rows that a net table does not have as often as its sources do; :data:`OFF_BY` is how often more (less: negative)."""
    names = [c.name for c in relation.columns]

    def signed(paths: Sequence[Path], sign: int) -> DataFrame:
        rows = _read_log(spark, relation, paths).where(F.col(VERSION) <= epoch_end(net.epoch))
        return rows.select(*map(spark_column, names), (F.col(SIGN).cast("long") * sign).alias(OFF_BY))

    both = signed([net.file], 1).unionAll(signed(net.sources, -1))
    return both.groupBy(*map(spark_column, names)).agg(F.sum(OFF_BY).alias(OFF_BY)).where(F.col(OFF_BY) != 0)


@contextmanager
def kept_tables(
    session: SparkSession,
    relations: Sequence[Relation],
    views: Sequence[ViewToValidate],
    texts: Mapping[str, str],
    log_files: Mapping[str, Collection[Path]],
    epoch: int,
    chosen: Mapping[str, Callable[[DataFrame], DataFrame] | None] | None = None,
) -> Iterator[dict[str, DataFrame]]:
    """The base tables that views may read, each read once and kept meanwhile; their rows are temporary views of the session.

    Args:
        session: see :func:`own_session`.
        relations: all relations.
        views: the views.
        texts: the SQL of all views by name, which the views may read.
        log_files: relation -> its files, see :func:`base_table`.
        epoch: counted are the versions up to its end (inclusive).
        chosen: relation -> which of its events count; None for all.
    """
    bases: dict[str, DataFrame] = {}
    try:
        for relation, columns in used_columns(relations, views, texts):
            files, part = log_files.get(relation.name, ()), (chosen or {}).get(relation.name)
            base = (
                base_table(session, relation, files, epoch, part)
                .select(*map(spark_column, columns), MULTIPLICITY)
                .persist()
            )
            base.where(F.col(MULTIPLICITY) > 0).drop(MULTIPLICITY).createOrReplaceTempView(relation.name)
            bases[relation.name] = base
        yield bases
    finally:
        for base in bases.values():
            base.unpersist()


def used_columns(
    relations: Sequence[Relation], views: Sequence[ViewToValidate], texts: Mapping[str, str]
) -> Iterator[tuple[Relation, list[str]]]:
    """The relations that a view may read, with the columns it may: those whose names occur in some view's text. A
    table's projection has the same rows as the table, as far as these columns show them."""
    text = "\n".join([*texts.values(), *(view.sql for view in views)]).lower()
    unknown = any(view.recomputation is not None for view in views)
    everything = unknown or re.search(r"(select|distinct|all|,|\.)\s*\*|\bnatural\b", text)
    for relation in relations:
        if relation.name.lower() in text:
            wanted = [
                c.name for c in relation.columns if everything or c.name.lower() in text or c.name in relation.key
            ]
            yield relation, wanted or [relation.columns[0].name]


def spark_column(name: str) -> Any:
    """A column by its name, whatever characters that has."""
    return F.col("`" + name.replace("`", "``") + "`")


def recompute_m3(
    program: Program,
    log_files: Mapping[str, Mapping[Path, int]],
    epoch: int,
    kept: Callable[[str, pa.Table], pa.Table] = lambda _, rows: rows,
) -> dict[str, pa.Table]:
    """The views of a program that has no SQL: the serial interpreter over the log, event by event in version order.

    Args:
        program: the program.
        log_files: relation -> Parquet files of its log, with the version of the first row of each; all events are held in memory.
        epoch: counted are the versions up to its end (inclusive).
        kept: which of a relation's events count.

    Returns:
        View -> all its rows in the types of its columns, in the view's order, without its OFFSET and LIMIT.
    """
    interpreter = Interpreter(replace(program, views=tuple(replace(v, offset=0, limit=None) for v in program.views)))
    for _, _, sign, relation, row in sorted(_read_events(program, log_files, epoch, kept), key=lambda event: event[:2]):
        interpreter.apply(sign, relation, row)
    return {view.name: view_table(view, interpreter.view_rows(view.name)) for view in program.views}


def view_table(view: View, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Rows of a view in the types of its columns."""
    types = [arrow_type(column.expression.type) for column in view.visible]
    columns = [pa.array([row[i] for row in rows], type_) for i, type_ in enumerate(types)]
    return pa.Table.from_arrays(columns, names=[column.name for column in view.visible])


def _read_events(
    program: Program,
    log_files: Mapping[str, Mapping[Path, int]],
    epoch: int,
    kept: Callable[[str, pa.Table], pa.Table],
) -> Iterator[tuple[int, int, int, str, tuple[Any, ...]]]:
    """(version, place in the log, sign, relation, row); rows with the same version stay in the order of their file."""
    place = 0
    for relation in program.relations:
        names = [c.name for c in relation.columns]
        for path, first in log_files.get(relation.name, {}).items():
            found, wanted = pq.read_schema(path).names, [*names, VERSION, SIGN]
            stored = pq.read_table(path, columns=names_in_file(relation, wanted, found))
            rows: pa.Table = kept(relation.name, as_declared(relation, wanted, stored))
            for *values, version, sign in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                place += 1
                if first + version <= epoch_end(epoch):
                    yield first + version, place, sign, relation.name, tuple(values)


# Views recomputed on Spark, each by itself: whatever happens to one, the others are recomputed. The rows go to files, where they are compared.


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
        recomputed, terms = _recompute(session, view, relations, texts, file)
        return Compared(view.name, snapshot, view.shown, recomputed, terms)

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="recompute") as pool:
        found = []
        for compared in pool.map(one, range(len(views)), views):
            found.append(compared)
            on_view(len(found), compared.view)
        return found


def _recompute(
    session: SparkSession, view: ViewToValidate, relations: Sequence[Relation], texts: Mapping[str, str], file: Path
) -> tuple[Handle | None, Terms]:
    """A view's rows, and how they are to be compared; no rows where the recomputation fails on its data, or there is none."""
    if view.recomputation is not None:
        return write_arrow(view.recomputation, file), Terms.of(view)
    unordered = ""
    try:
        if view.ordered:
            try:
                return _compute_rows(session, view, relations, texts, file, ordered=True), Terms.of(view)
            except (
                _Impossible,
                InputProblem,
            ) as problem:  # without an order its rows can still be compared, as a multiset
                unordered = _find_reason(problem)
        rows = _compute_rows(session, view, relations, texts, file, ordered=False)
    except _Failing as failure:
        return None, Terms.of(view, fails=str(failure))
    except (_Impossible, InputProblem) as problem:
        return None, Terms.of(view, impossible=_find_reason(problem))
    return rows, Terms.of(view, unordered=unordered)


def _compute_rows(
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
    query = write_out(
        view.sql,
        relations,
        view.dialect,
        view.columns,
        views=texts,
        wide=wide,
        ordered=ordered,
        apart=apart,
        now=view.now,
    )
    register(session, query.needed)
    try:
        return session.sql(query.sql).toArrow()
    except AnalysisException as problem:
        raise _Impossible(f"Spark cannot run its query: {_find_reason(problem)}") from problem
    except Exception as problem:  # not all of them are pyspark's
        if DATA_STATE.search(str(problem)):
            raise _Failing(_find_reason(problem)) from problem
        if QUERY_STATE.search(str(problem)):
            raise _Impossible(f"Spark cannot run its query: {_find_reason(problem)}") from problem
        raise


def _find_reason(problem: BaseException) -> str:
    """The line that says what failed, without traces."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    telling = [line for line in lines if DATA_STATE.search(line)]
    return shortened((telling or lines or [type(problem).__name__])[0], LONGEST_MESSAGE)
