"""Spark: the session that contestants share, recomputation by Spark SQL, and the smallest job of the engine's kind."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks.answers import check_answer, net_tables
from benchmarks.contest import Contestant, Turn
from benchmarks.workload import relations_of, sql_of, without_order
from cumulus_ops.project.settings import ExecutorSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["empty_job", "session_of", "spark_recompute", "stop_session", "wait_for_tasks"]

#: With 4g a text of TPC-H runs out of memory at scale factor 10.
DRIVER_MEMORY = "8g"
WAIT_S = 120.0


def session_of(master: str) -> SparkSession:
    """The engine's own session on a ``master`` (``local[2]``), warmed up by a few small jobs; one at a time in a process."""
    from cumulus_ops.compute.spark import spark_session

    os.environ.setdefault(
        "PYSPARK_SUBMIT_ARGS",
        f"--driver-memory {DRIVER_MEMORY} --conf spark.ui.showConsoleProgress=false pyspark-shell",
    )
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and running.sparkContext.master == master:
        return running
    if running is not None:
        running.stop()
    session = spark_session(ExecutorSettings(kind="spark", master=master))
    for _ in range(3):
        _empty(session)
    return session


def wait_for_tasks(session: SparkSession, number: int) -> None:
    """Wait until as many tasks may run at once: a cluster's executors start after the session."""
    from cumulus_ops.compute.spark import tasks_at_once

    deadline = time.monotonic() + WAIT_S
    while tasks_at_once(session) < number:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the cluster does not run {number} tasks at once")
        time.sleep(0.1)


def stop_session() -> None:
    """Stop this process's session, if there is one."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        running.stop()


def _identity(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"result": ["{}"]})


def _empty(session: SparkSession) -> list[Any]:
    return list(session.range(0, 1, 1, 1).mapInArrow(_identity, "result string").collect())


@dataclass
class _EmptyJob:
    session: SparkSession

    def turn(self, number: int) -> Turn:
        begun = time.perf_counter()
        _empty(self.session)
        return Turn(time.perf_counter() - begun, 0)

    def finish(self) -> str:
        return "one stage, one task, one row"


@contextmanager
def empty_job(cores: int) -> Iterator[Contestant]:
    """A job of one stage and one task that does nothing: what any step on Spark costs at least."""
    yield _EmptyJob(session_of(f"local[{cores}]"))


@dataclass
class _Recompute:
    session: SparkSession
    query: str
    tables: Path
    events: int

    def __post_init__(self) -> None:
        for relation in relations_of([self.query]):
            self.session.read.parquet(f"{self.tables / relation}.parquet").createOrReplaceTempView(relation)
        self.rows: list[tuple[object, ...]] = []

    def turn(self, number: int) -> Turn:
        begun = time.perf_counter()
        rows = self.session.sql(without_order(sql_of(self.query))).toArrow()
        seconds = time.perf_counter() - begun
        self.rows = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
        return Turn(seconds, self.events)

    def finish(self) -> str:
        return check_answer(self.query, self.rows, net_tables(self.tables, relations_of([self.query])), 1e-6)


@contextmanager
def spark_recompute(query: str, tables: Path, events: int, cores: int) -> Iterator[Contestant]:
    """The query's text on Spark SQL over Parquet files that have the change already."""
    yield _Recompute(session_of(f"local[{cores}]").newSession(), query, tables, events)
