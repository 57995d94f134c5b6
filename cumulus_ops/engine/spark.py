"""The Spark executor: one Spark job per step, by the DataFrame API only (classic, standalone and Connect alike).

A small batch is one task without an exchange. A larger one has a stage per level of the dataflow: each task evaluates
the level's statements for its slice of the events, and sends every other task a **message** per map: (destination, map,
Arrow payload of the whole slice of deltas), the papers' coalescing of all messages with one source, destination and
version. A last stage writes the runs, each map in one task. What crosses a shuffle are messages, never rows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import networkx as nx
import pyarrow as pa

from cumulus_ops.config import ExecutorSettings
from cumulus_ops.engine.apply import ApplyTask, apply_events
from cumulus_ops.engine.events import rows_of
from cumulus_ops.engine.sources import write_deltas
from cumulus_ops.engine.steps import MinibatchTask, StepResult, Task, run_step
from cumulus_ops.faults import reach
from cumulus_ops.layout import ProgramPlan
from cumulus_ops.mapstore import sum_deltas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkExecutor", "levels", "spark_session"]

MESSAGE = "destination int, map string, payload binary"
MESSAGE_ARROW = pa.schema([("destination", pa.int32()), ("map", pa.string()), ("payload", pa.binary())])
RESULT = "result string"
Batches = Iterator[pa.RecordBatch]


def spark_session(settings: ExecutorSettings) -> SparkSession:
    """The session of this process: Spark Connect when ``remote`` is set, else a classic one on ``master``."""
    from pyspark.sql import SparkSession

    if settings.remote:
        return SparkSession.builder.remote(settings.remote).getOrCreate()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers on this machine need this environment's packages
    builder = SparkSession.builder.appName("cumulus").master(settings.master)
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "0",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


class SparkExecutor:
    """Runs steps on a Spark session that it opens when first used.

    Args:
        settings: which Spark, and how many events make up one task.
        session: a session to use instead; it is not stopped by :meth:`close`.
    """

    def __init__(self, settings: ExecutorSettings, session: SparkSession | None = None) -> None:
        self._settings = settings
        self._session = session
        self._owned = session is None

    @property
    def session(self) -> SparkSession:
        """The session, started on first use."""
        if self._session is None:
            self._session = spark_session(self._settings)
        return self._session

    def run(self, task: Task) -> StepResult:
        """See :class:`~cumulus_ops.engine.executor.Executor`."""
        tasks = self._tasks(task)
        if tasks > 1 and isinstance(task, MinibatchTask):
            task = task.apply  # the refresh, one task, follows on its own
        frame = self._single(task) if tasks == 1 else self._staged(task, tasks)  # type: ignore[arg-type]
        results = [StepResult.from_json(row[0]) for row in frame.collect()]
        if len(results) == 1:
            return results[0]
        return StepResult(tuple(r for result in results for r in result.runs), {})

    def close(self) -> None:
        """Stop the session if this executor started it."""
        if self._session is not None and self._owned:
            self._session.stop()
            self._session = None

    def _tasks(self, task: Task) -> int:
        apply = task.apply if isinstance(task, MinibatchTask) else task
        if not isinstance(apply, ApplyTask) or any(apply.plan.cyclic):
            return 1
        wanted = -(-rows_of([apply.batch]) // self._settings.rows_per_task)
        return max(1, min(wanted, self._parallelism()))

    def _parallelism(self) -> int:
        value = self.session.conf.get("spark.sql.shuffle.partitions")
        return int(value) if value else 1

    def _single(self, task: Task) -> DataFrame:
        return self.session.range(0, 1, 1, 1).mapInArrow(_whole_step(task), RESULT)

    def _staged(self, task: ApplyTask, tasks: int) -> DataFrame:
        from pyspark.sql import functions as f

        frame = self.session.range(0, tasks, 1, tasks).select(
            f.col("id").cast("int").alias("destination"), f.lit("").alias("map"), f.lit(b"").alias("payload")
        )
        stages = levels(task.plan)
        for number, maps in enumerate(stages):
            last = number == len(stages) - 1
            frame = frame.repartitionById(tasks, "destination").mapInArrow(
                _level_step(task, maps, tasks, last), MESSAGE
            )
        return frame.repartitionById(tasks, "destination").mapInArrow(_write_step(task, tasks), RESULT)


def levels(plan: ProgramPlan) -> list[tuple[str, ...]]:
    """The maps that apply maintains by depth: a map's statements read only maps of earlier levels (acyclic programs)."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    names = [name for name in plan.statements if name in plan.base]
    graph.add_nodes_from(names)
    for name in names:
        graph.add_edges_from((read.path.map, name) for s in plan.statements[name] for read in s.reads)
    return [tuple(sorted(generation)) for generation in nx.topological_generations(graph)]


def _whole_step(task: Task) -> Callable[[Batches], Batches]:
    def step(batches: Batches) -> Batches:
        for _ in batches:
            yield _result(run_step(task))

    return step


def _result(result: StepResult) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"result": [result.to_json()]})


def _level_step(task: ApplyTask, maps: tuple[str, ...], tasks: int, last: bool) -> Callable[[Batches], Batches]:
    def step(batches: Batches) -> Batches:
        here, received = _receive(batches)
        if here is None:
            return
        given = {name: sum_deltas(tables) for name, tables in received.items()}
        deltas = apply_events(task, (here, tasks), maps, given)
        for name, table in given.items():  # everyone has these already
            yield _message(here, name, table)
        yield _message(here, "", None)
        for name in maps:
            table = deltas.table(name)
            if table is not None and len(table):
                for destination in [_owner(task.plan, name, tasks)] if last else range(tasks):
                    yield _message(destination, name, table)

    return step


def _write_step(task: ApplyTask, tasks: int) -> Callable[[Batches], Batches]:
    def step(batches: Batches) -> Batches:
        here, received = _receive(batches)
        if here is None:
            return
        reach("apply.before-files")
        mine = {n: sum_deltas(tables) for n, tables in received.items() if _owner(task.plan, n, tasks) == here}
        yield _result(StepResult(write_deltas(task.plan, task.root, {n: t for n, t in mine.items() if len(t)}), {}))

    return step


def _owner(plan: ProgramPlan, name: str, tasks: int) -> int:
    """The task that writes a map's runs."""
    return list(plan.statements).index(name) % tasks


def _message(destination: int, name: str, table: pa.Table | None) -> pa.RecordBatch:
    """A map's slice of deltas for one task; without a table, only a sign of life that keeps the task running."""
    payload = b""
    if table is not None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        payload = sink.getvalue().to_pybytes()
    return pa.RecordBatch.from_pydict(
        {"destination": [destination], "map": [name], "payload": [payload]}, MESSAGE_ARROW
    )


def _receive(batches: Iterable[pa.RecordBatch]) -> tuple[int | None, dict[str, list[pa.Table]]]:
    """This task's number and the slices it was sent, by map."""
    here: int | None = None
    received: dict[str, list[pa.Table]] = {}
    for batch in batches:
        columns = (batch.column(i) for i in range(3))
        for destination, name, payload in zip(*columns, strict=True):
            here = destination.as_py()
            if name.as_py():
                received.setdefault(name.as_py(), []).append(pa.ipc.open_stream(payload.as_buffer()).read_all())
    return here, received
