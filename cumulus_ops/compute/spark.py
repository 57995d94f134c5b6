"""The Spark executor: one Spark job per step, by the DataFrame API only (classic, standalone and Connect alike).

A small batch is one task without an exchange; the stages of a larger one are in :mod:`cumulus_ops.compute.staged`.
"""

from __future__ import annotations

import base64
import logging
import os
import pickle
import re
import socket
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa

from cumulus_ops.catalog.records import NewRun
from cumulus_ops.compute.apply import ApplyTask
from cumulus_ops.compute.correct import CorrectTask
from cumulus_ops.compute.extend import ExtendTask
from cumulus_ops.compute.portions import PortionTask, rows_concerned, run_levels
from cumulus_ops.compute.reading import STATEMENTS_PER_EVENT, rows_of
from cumulus_ops.compute.refresh import RefreshTask
from cumulus_ops.compute.staged import MESSAGE, RESULT, Batches, finish_spread, plan_stages, result_batch, staged_steps
from cumulus_ops.compute.steps import MergeTask, MinibatchTask, StepResult, Task, run_step
from cumulus_ops.layout.partitioning import fixed_labels
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.project.names import hide, require_clear, shown_url
from cumulus_ops.project.processes import MakeCalls
from cumulus_ops.project.settings import ExecutorSettings, LayoutSettings

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "SENT",
    "WORKER_DAEMON",
    "SparkExecutor",
    "count_events",
    "count_tasks",
    "launch_logged",
    "log_lines",
    "quiet_client",
    "require_listening",
    "spark_session",
    "tasks_at_once",
]


# What Spark says, as log records of this process like all others.
#
# A Java process that PySpark starts writes to this process's standard error: greetings, warnings, and the errors of its Python workers, all
# alike. Airflow logs as an error whatever a task writes there. So the stream is read, and each line is logged with the level that
# Spark's own pattern gives it. The Connect client has a logger, which is silent until somebody configures logging, as Airflow does for each
# task; then it writes to standard error, too.


log = logging.getLogger("cumulus_ops.spark")
#: Spark's pattern: date, time, level, class: message.
PATTERN = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (.*)")
LEVELS = {"TRACE": logging.DEBUG, "WARN": logging.WARNING, "FATAL": logging.CRITICAL}
QUERIES = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
ASKED = "SPARK_CONNECT_LOG_LEVEL"
JOIN_S = 5.0
REMEMBERED = 20  # lines, for when it does not start


def quiet_client(*, remote: bool) -> None:
    """Have nothing of PySpark write to standard error by itself. The Connect client's records go where all others go, with their levels,
    unless somebody has asked for them where they are, by SPARK_CONNECT_LOG_LEVEL. Each failing query is an exception already, of
    which whoever catches it says what is to be said: it need not be logged when it is made."""
    from pyspark.logger import PySparkLogger

    if remote and ASKED not in os.environ:
        from pyspark.sql.connect.logging import logger as client

        _without_handlers(client)
    for name in QUERIES:
        logger = PySparkLogger.getLogger(name)
        _without_handlers(logger)
        logging.Logger.addHandler(logger, logging.NullHandler())


def _without_handlers(logger: logging.Logger) -> None:
    for handler in list(logger.handlers):
        logger.removeHandler(handler)


def launch_logged(conf: SparkConf) -> Any:
    """Start the JVM of a classic session, and give the gateway to it; what it says from now on is logged.

    Raises:
        PySparkRuntimeError: it did not start, with what it said as a note.
    """
    from pyspark.java_gateway import launch_gateway

    reading, writing = os.pipe()
    last: deque[str] = deque(maxlen=REMEMBERED)
    reader = Thread(target=_read, args=(os.fdopen(reading, errors="replace"), last), name="spark log", daemon=True)
    reader.start()
    try:
        gateway = launch_gateway(conf, popen_kwargs={"stderr": writing})
    except Exception as error:
        os.close(writing)
        reader.join(JOIN_S)
        error.add_note("\n".join(last))
        raise
    os.close(writing)  # the JVM has its own
    return gateway


def _read(stream: IO[str], last: deque[str]) -> None:
    with stream:
        log_lines(_run_remembered(stream, last))


def _run_remembered(lines: Iterable[str], last: deque[str]) -> Iterable[str]:
    for line in lines:
        last.append(line.rstrip())
        yield line


def log_lines(lines: Iterable[str]) -> None:
    """Log lines with their levels; one without a level belongs to the line before, and what comes before all levels is no news."""
    level = logging.INFO
    for line in lines:
        found = PATTERN.match(line)
        if found is not None:
            level = LEVELS.get(found[1]) or logging.getLevelNamesMapping()[found[1]]
        text = found[2] if found else line.rstrip()
        if text:
            log.log(level, "%s", text)


#: What Spark forks its Python workers from; a server that a project connects to has this in its own configuration.
WORKER_DAEMON = "cumulus_ops.compute.worker_daemon"
EMPTY_MESSAGE = ("'' as kind", "'' as name", "cast('' as binary) as payload")
#: What a call returns, pickled.
RETURNED = "returned binary"
#: The property of a job that holds the task that it is to run, pickled, in base64.
SENT = "cumulus.task"
WARM_UPS = 3
#: How often a session asks its server again, and how many milliseconds it waits before: six seconds in all, where Spark's own policy waits ten minutes.
RETRIES, RETRY_MS = 8, 1_000
PORT, LISTEN_S = 15002, 5.0
SPARK_URL = re.compile(r"sc://[^/?#@;\s]+/?(;[^/?#@\s]*)?")


def spark_session(settings: ExecutorSettings, *, for_steps: bool = True) -> SparkSession:
    """The session of this process: Spark Connect when ``remote`` is set, else a classic one on ``master``. One that is begun ``for_steps`` has its Python workers
    running; whoever proves snapshots needs none of them, or few."""
    from pyspark.sql import SparkSession

    quiet_client(remote=bool(settings.remote))
    if settings.remote:
        return _remote(settings.remote)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers on this machine need this environment's packages
    options = {
        "spark.app.name": "cumulus",
        "spark.master": settings.master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "0",
        "spark.python.daemon.module": WORKER_DAEMON,
    }
    # If this process has no JVM yet it gets one now, whose words are logged.
    from pyspark import SparkConf, SparkContext

    conf = SparkConf().setAll(list(options.items()))
    is_new = not _is_running()
    if SparkContext._gateway is None and is_new:
        SparkContext(conf=conf, gateway=launch_logged(conf))
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    if is_new and (for_steps or not settings.master.startswith("local")):  # a cluster's executors register meanwhile
        _run_like_steps(session)
    session.conf.set("spark.sql.shuffle.partitions", str(tasks_at_once(session)))
    return session


def _run_like_steps(session: SparkSession) -> None:
    """Jobs like the ones to come: after them the workers run, and the code for exchanges is generated. What is wrong, real jobs will find."""
    with suppress(Exception):
        tasks = session.sparkContext.defaultParallelism
        frame = session.range(0, tasks, 1, tasks).selectExpr("cast(id as int) as destination", *EMPTY_MESSAGE)
        frame = (
            frame.mapInArrow(_passed_on, MESSAGE).repartitionById(tasks, "destination").mapInArrow(_passed_on, MESSAGE)
        )
        for _ in range(WARM_UPS):
            frame.collect()


def _remote(url: str) -> SparkSession:
    """A session on a server; it is warm from whoever came before. Its URL may hold a token, which Spark's own messages show.

    Raises:
        SetupProblem: there is none.
    """
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client.retries import DefaultPolicy

    require_clear(url, "executor.remote", "spark-url")
    if not SPARK_URL.fullmatch(url):
        hint = "write sc://HOST:PORT/;token=TOKEN, and percent-encode odd characters of the token: %2F for /, %3F for ?"
        raise SetupProblem("is no URL of a Spark Connect server", kind="spark-url", place="executor.remote", hint=hint)
    try:
        require_listening(url)  # Spark's client would ask again and again for ten minutes
        session = SparkSession.builder.remote(url).getOrCreate()
        # Whoever needs the session waits for a server that is gone, in steps of at most a few seconds, and makes another one then: this one's is lost.
        session.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES, max_backoff=RETRY_MS)])
        return session
    except Exception as error:
        line = next(iter(hide(str(error), [url]).strip().splitlines()), "")
        hint = "check `executor: remote` in cumulus.yaml, or CUMULUS_SPARK_REMOTE, and that the server runs"
        message = f"Spark Connect does not answer: {line or type(error).__name__}"
        raise SetupProblem(message, kind="spark-unreachable", place=shown_url(url), hint=hint) from None


def require_listening(url: str) -> None:
    """See that something listens where a URL of Spark Connect leads.

    Raises:
        OSError: nothing does.
    """
    found = urlsplit(url.partition("/;")[0])
    with socket.create_connection((found.hostname or "", found.port or PORT), timeout=LISTEN_S):
        pass


def _is_running() -> bool:
    """Whether this process has a classic Spark, which :func:`spark_session` then shares."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None


def tasks_at_once(session: SparkSession) -> int:
    """How many tasks may run at the same time: a core each. A server says it by the number of its shuffle partitions."""
    from pyspark.sql import SparkSession as Classic

    if not isinstance(session, Classic):
        return int(session.conf.get("spark.sql.shuffle.partitions") or 1)
    # Asked anew for each step: workers of a cluster register some time after the session began, and come and go. `defaultParallelism` says 2
    # of a cluster whatever it has, until its workers have registered and where they have one core together.
    context = session.sparkContext._jsc.sc()
    return max(1, int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile())))


#: What several tasks do, of what one does alone: more than 1, for each looks up keys that others look up, too, and what a batch adds is
#: sent, or read again. Measured with two tasks and 1.73 million events of 22 queries: 1.33 for applying, 1.37 for refreshing.
WORK_OF_SEVERAL = 1.35
#: As many rows that a refresh or a correction goes through cost that, too: of 22 queries 1.2 microseconds each, 0.2 to 2 of single ones.
ROWS_PER_EVENT = 2
FEW_ROWS = 10_000


def count_tasks(events: int, cores: int, saved_events: int) -> int:
    """Over how many tasks a step is split; 1 if more would cost more than they save.

    Args:
        events: how many it applies, or what costs as much.
        cores: how many tasks may run at the same time.
        saved_events: so many have to be taken off one task, or else the work of stages and exchanges is not worth it; a task gets half of it or more.

    >>> [count_tasks(1_000_000, cores, 350_000) for cores in (1, 2, 4, 8)], count_tasks(2_000_000, 2, 350_000)
    ([1, 1, 4, 6], 2)
    """
    tasks = min(cores, -(-2 * events // saved_events))
    return tasks if tasks > 1 and events * (1 - WORK_OF_SEVERAL / tasks) >= saved_events else 1


def count_events(task: ApplyTask | MinibatchTask | ExtendTask) -> int:
    """How many events, met by as many statements as :data:`STATEMENTS_PER_EVENT` says, cost what a step does with its batch, a refresh that follows with it: to load one costs
    about what a statement does. Few rows count as they are, so that `rows_per_task: 1` splits every step."""
    step, plan = task.apply if isinstance(task, MinibatchTask) else task, task.plan
    names = step.spread if isinstance(step, ExtendTask) else plan.base
    names = names | plan.refreshed if isinstance(task, MinibatchTask) else names
    statements = Counter(statement.relation for name in names for statement in plan.statements[name])
    met = sum(file.rows * statements[file.relation] for file in step.batch.files)
    rows = rows_of([step.batch])
    return max((rows + met) // (1 + STATEMENTS_PER_EVENT), min(rows, FEW_ROWS))


#: An append reads by Arrow's threads and writes by others: it keeps so many cores at work. Where tasks have no more, because they run on this machine, they take longer: Q3's stream by
#: two tasks at a time 4.3 s, and 3.1 by threads; 7.7 million events at once 2.9 to 3.5, and 2.7.
THREADS = 2


class SparkExecutor:
    """Runs steps on a Spark session that it opens when first used.

    Args:
        settings: which Spark, and how many events are worth splitting a step.
        session: a session to use instead; it is not stopped by :meth:`close`.
        layout: what the project decides about the layout of large batches.
    """

    def __init__(
        self, settings: ExecutorSettings, session: SparkSession | None = None, layout: LayoutSettings | None = None
    ) -> None:
        self._settings = settings
        self._layout = layout or LayoutSettings()
        self._session = session
        self._frame: DataFrame | None = None
        self._owned = False
        self._starting = Lock()
        self._prepared: set[ProgramPlan] = set()
        self._preparation: Thread | None = None

    @property
    def session(self) -> SparkSession:
        """The session, started on first use."""
        with self._starting:
            if self._session is None:
                self._owned = not _is_running()
                self._session = spark_session(self._settings)
            return self._session

    def prepare(self, plan: ProgramPlan) -> None:
        """See :class:`~cumulus_ops.compute.steps.Executor`: starts the session, and its workers make the plan. A server keeps
        its workers longer than each of its clients lives, so there it would be done too often."""
        if plan in self._prepared or self._settings.remote:
            return
        self._prepared.add(plan)
        self._preparation = Thread(target=self._warm_up, args=(plan,), name="prepare", daemon=True)
        self._preparation.start()

    def _warm_up(self, plan: ProgramPlan) -> None:
        """Have every worker make the plan. What goes wrong will be found by real jobs."""
        with suppress(Exception):
            tasks = tasks_at_once(self.session)
            self.session.range(0, tasks, 1, tasks).mapInArrow(_plan_made(plan), RESULT).collect()

    def run(self, task: Task) -> StepResult:
        """See :class:`~cumulus_ops.compute.steps.Executor`."""
        tasks = self._tasks(task)
        if tasks == 1:
            return self._run_whole(task)
        match task:
            case MinibatchTask():
                return StepResult.together(self._run_staged(task.apply, tasks))  # the refresh follows on its own
            case ApplyTask():
                return StepResult.together(self._run_staged(task, tasks))
            case ExtendTask():
                written = StepResult.together(self._run_staged(task, tasks)).runs
                return finish_spread(task, written, self._run_whole)
            case MergeTask():
                return StepResult.together(self._run_beside(task.cut(tasks)))
            case RefreshTask() | CorrectTask():
                return self._run_levels(task, tasks)
        raise AssertionError(f"{type(task).__name__} is one task")

    def _run_whole(self, task: Task) -> StepResult:
        """Run a step as a job of one task. All such jobs have one frame, which is planned once; the task is sent beside it. Planning is nearly half of
        what a small job costs: 118 ms of the JVM's CPU time with it, 67 without, and 11 and 6 of this process's."""
        context = _context_of(self.session)
        if context is None:
            (result,) = self._run_beside([task])
            return result
        frame = self._frame = self._frame or self.session.range(0, 1, 1, 1).mapInArrow(_run_sent, RESULT)
        context.setLocalProperty(SENT, base64.b64encode(pickle.dumps(task)).decode())
        try:
            (row,) = frame.collect()
        except BaseException:
            self._frame = None  # Spark may remember of it what has failed
            raise
        finally:
            with suppress(Exception):
                context.setLocalProperty(SENT, None)  # which takes it away
        return StepResult.from_json(row[0])

    def _run_beside(self, tasks: Sequence[Task]) -> list[StepResult]:
        """Run tasks that do not need each other, as one job."""
        frame = self.session.range(0, len(tasks), 1, len(tasks)).mapInArrow(_whole_steps(tasks), RESULT)
        return [StepResult.from_json(row[0]) for row in frame.collect()]

    def beside(self, rows: int, calls: int) -> MakeCalls | None:
        """See :class:`~cumulus_ops.project.processes.Beside`: each call is a task of one job. Nothing is done twice, so that is worth it as soon as a job is, and
        there are cores that this process's threads do not keep at work."""
        if rows < self._settings.rows_per_task or calls == 1:
            return None
        is_here = not self._settings.remote and self.session.sparkContext.master.split("[")[0] == "local"
        return self._make_calls if tasks_at_once(self.session) > (THREADS if is_here else 1) else None

    def _make_calls(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        frame = self.session.range(0, len(calls), 1, len(calls)).mapInArrow(_called(calls), RETURNED)
        return [pickle.loads(row[0]) for row in frame.collect()]

    def _run_levels(self, task: RefreshTask | CorrectTask, tasks: int) -> StepResult:
        results: list[StepResult] = []

        def run(portions: list[PortionTask]) -> Iterable[NewRun]:
            done = self._run_beside(portions)
            results.extend(done)
            return (written for result in done for written in result.runs)

        run_levels(task, tasks, self._settings.rows_per_task, run)
        return StepResult.together(results)

    def _run_staged(self, task: ApplyTask | ExtendTask, tasks: int) -> list[StepResult]:
        return [StepResult.from_json(row[0]) for row in self._staged(task, tasks).collect()]

    def close(self) -> None:
        """Stop the session if this executor started it; one that this process had already is for who did."""
        if self._preparation is not None:
            self._preparation.join()
        if self._session is not None and self._owned:
            self._session.stop()
            self._session = self._frame = None

    def _tasks(self, task: Task) -> int:
        """How many tasks a step is done by: as many as there are cores for, or one, if more would not save more than they cost."""
        match task:
            case MergeTask():
                events = task.rows
            case RefreshTask() | CorrectTask():
                events = rows_concerned(task) // ROWS_PER_EVENT
            case ExtendTask() if not task.spread:
                return 1
            case ApplyTask() | MinibatchTask() | ExtendTask():
                events = count_events(task)
            case _:
                return 1
        least = self._settings.rows_per_task
        if events <= least:
            return 1  # however many cores there are: Spark is not asked
        cores = tasks_at_once(self.session)
        if isinstance(task, MergeTask):  # nothing is done twice, and one job does it either way
            return min(-(-events // least), cores)
        tasks = count_tasks(events, cores, least)
        staged = task.apply if isinstance(task, MinibatchTask) else task
        if tasks > 1 and isinstance(staged, ApplyTask | ExtendTask):
            alone = plan_stages(staged, tasks, fixed_labels(staged.plan, self._layout)).layout.alone
            return 1 if alone else tasks
        return tasks

    def _staged(self, task: ApplyTask | ExtendTask, tasks: int) -> DataFrame:
        frame = self.session.range(0, tasks, 1, tasks).selectExpr("cast(id as int) as destination", *EMPTY_MESSAGE)
        first, *others = staged_steps(task, tasks, fixed_labels(task.plan, self._layout))
        frame = frame.mapInArrow(first, MESSAGE if others else RESULT)
        for number, step in enumerate(others, 2):
            schema = MESSAGE if number <= len(others) else RESULT
            frame = frame.repartitionById(tasks, "destination").mapInArrow(step, schema)
        return frame


def _context_of(session: SparkSession) -> SparkContext | None:
    """What passes properties on to jobs; None of a server, which has no such thing, and where the JVM does not know one thread of this process from another."""
    from py4j.clientserver import ClientServer
    from pyspark.sql import SparkSession as Classic

    context = session.sparkContext if isinstance(session, Classic) else None
    return context if context is not None and isinstance(context._gateway, ClientServer) else None


def _run_sent(batches: Batches) -> Batches:
    """Runs the task that the job's property holds."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    for _ in batches:
        yield result_batch(run_step(pickle.loads(base64.b64decode(context.getLocalProperty(SENT) or ""))))


def _plan_made(plan: ProgramPlan) -> Callable[[Batches], Batches]:
    """A task that has its worker make the plan, by merely being sent it, and the things that follow from it."""

    def step(batches: Batches) -> Batches:
        for _ in batches:
            plan.prepare()
            yield result_batch(StepResult((), {}))

    return step


def _passed_on(batches: Batches) -> Batches:
    yield from batches


def _called(calls: Sequence[Callable[[], Any]]) -> Callable[[Batches], Batches]:
    """Makes the calls with the numbers that it is sent."""

    def step(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield pa.record_batch([pa.array([pickle.dumps(calls[number]())], pa.binary())], ["returned"])

    return step


def _whole_steps(tasks: Sequence[Task]) -> Callable[[Batches], Batches]:
    """Runs the tasks with the numbers that it is sent."""

    def step(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield result_batch(run_step(tasks[number]))

    return step
