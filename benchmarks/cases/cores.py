"""Large drops on a standalone cluster of one worker and of several, each held to half a core: appended, applied, and merged at the commit."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.answers import arrow_rows, check_answer, net_tables
from benchmarks.contest import Entry, Turn, compete
from benchmarks.peers.cluster import cpu_seconds, held_to, spark_cluster
from benchmarks.peers.spark import session_of, wait_for_tasks
from benchmarks.rows import Label, Row
from benchmarks.settings import ALL_QUERIES, Settings
from benchmarks.states import project_of, scratch
from benchmarks.workload import drops_of, forget, relations_of, tables_of
from cumulus_ops.append.append import append_delivery
from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.compute.steps import MergeTask, StepResult, Task
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.local.processes import interruptible
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.processes import MakeCalls
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.query.read import read_view

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["CPU", "Clusters", "contest", "run"]

#: A batch that is worth two tasks, and of which a scale factor has two or more: or else there would be nothing to merge.
EVENTS, REPETITIONS, WARM_UPS = 4_000_000, 3, 1
SHARE = 0.5
#: A merge holds 1.3 million rows at a time then, and cuts copies with more into ranges, however many tasks there are.
MEMORY = 512 << 20
#: The parts of a turn, one after the other; nearly all of a commit's is its merge, which has a row, too.
TOGETHER = ("append", "apply", "commit")
#: What stands behind a part for the CPU seconds of the worker that had most of them: what others do on the machine changes these less.
CPU = ", CPU"
#: Part of a turn -> its seconds, turn by turn.
Parts = dict[str, list[float]]


def run(settings: Settings) -> Iterator[list[Row]]:
    """Some queries, and all as one program (``all``), on clusters of one worker and of ``--cores`` workers, turn by turn; ``q5 strict``: with keys of a mode."""
    with interruptible(), Clusters(settings.home) as clusters:
        for scale_factor in settings.scale_factors or (1.0,):
            for query in settings.queries or ("q3", "q5", "q5 strict", "q5 upsert", "all"):
                if not settings.has_time():
                    return
                yield contest(settings, clusters, scale_factor, query)


def contest(settings: Settings, clusters: Clusters, scale_factor: float, query: str) -> list[Row]:
    """The rows of a program: for each number of workers those of whole turns, and of each part.

    Args:
        settings: of the run; ``cores`` is the larger number of workers.
        clusters: where they are.
        scale_factor: of the tables, all of which arrive, in drops of ``batch_sizes`` events.
        query: the program's only query, or ``all``; behind it the mode of all keys, if they are not trusted.
    """
    name, _, mode = query.partition(" ")
    tables = tables_of(settings.home, scale_factor)
    queries = ALL_QUERIES if name == "all" else (name,)
    events = settings.batch_sizes[0] if settings.batch_sizes else EVENTS
    load = Load(
        settings.home,
        queries,
        drops_of(settings.home, tables, relations_of(queries), events),
        events,
        mode or "trusted",
    )
    numbers = {str(workers): workers for workers in (1, settings.cores)}
    parts: dict[str, Parts] = {name: {} for name in numbers}

    def entry(name: str) -> Entry:
        return lambda: nullcontext(_Loads(load, tables, clusters.start(numbers[name]), parts[name]))

    label = Label("cores", query, "", scale_factor, events, settings.cores)
    entries = {name: entry(name) for name in numbers}
    whole = compete(label, entries, settings.repetitions or REPETITIONS, WARM_UPS, numbers)
    forget(load.landing, settings.keep)
    rows = [row for one in whole for row in (one, *_by_part(one, parts[one.contestant]))]
    return [replace(row, contestant="cumulus-spark") for row in rows]


def _by_part(whole: Row, parts: Parts) -> Iterator[Row]:
    """The row of each part, from that of whole turns."""
    for part, seconds in parts.items() if whole.seconds is not None else ():
        measured = seconds[WARM_UPS:]
        yield replace(
            whole, variant=part, seconds=statistics.median(measured), min=min(measured), max=max(measured),
            events_per_s=None, note="",
        )  # fmt: skip


@dataclass(frozen=True)
class Cluster:
    """A cluster's master, the control groups of its workers, how these are held, and a process for sessions on it, which nothing holds."""

    master: str
    groups: tuple[Path, ...]
    how: str
    driver: ProcessPoolExecutor


class Clusters(ExitStack):
    """Clusters that are started when they are first needed, and stay: so a turn waits for no Java to start.

    Args:
        home: for their files.
        share: of a core that each worker has.
    """

    def __init__(self, home: Path, share: float = SHARE) -> None:
        super().__init__()
        self._home, self._share = home, share
        self._started: dict[int, Cluster] = {}

    def start(self, workers: int) -> Cluster:
        """The cluster with so many workers, with one core each.

        Raises:
            NotMeasured: workers cannot be held here.
        """
        if workers not in self._started:
            with ExitStack() as stack:
                groups = tuple(stack.enter_context(held_to(self._share, f"{workers}-{n}")) for n in range(workers))
                home = stack.enter_context(scratch(self._home))
                master = stack.enter_context(spark_cluster(home, groups, cores=1))
                driver = stack.enter_context(ProcessPoolExecutor(1, multiprocessing.get_context("spawn")))
                how = f"held to {self._share:g} of a core each, by the control groups of {groups[0].parent}"
                self._started[workers] = Cluster(master, groups, how, driver)
                self.enter_context(stack.pop_all())
        return self._started[workers]


@dataclass
class _Loads:
    """A load per turn."""

    load: Load
    tables: Path
    cluster: Cluster
    parts: Parts
    notes: list[str] = field(default_factory=list)

    def turn(self, number: int) -> Turn:
        done = self.cluster.driver.submit(self.load, self.cluster.master, self.cluster.groups).result()
        for part, seconds in done.parts.items():
            self.parts.setdefault(part, []).append(seconds)
        if not self.notes:
            answers = {query: arrow_rows(rows) for query, rows in done.answers.items()}
            self.notes = [check_answer(q, a, net_tables(self.tables, relations_of([q]))) for q, a in answers.items()]
        return Turn(sum(done.parts[part] for part in TOGETHER), done.events)

    def finish(self) -> str:
        checked = self.notes[0] if len(self.notes) == 1 else f"answers of {len(self.notes)} queries checked"
        return f"{checked}; {self.cluster.how}"


@dataclass(frozen=True)
class Loaded:
    """What came of a load: the seconds of each part, and the views' rows."""

    parts: dict[str, float]
    events: int
    answers: dict[str, pa.Table]


@dataclass(frozen=True)
class Load:
    """Appends and applies all drops of ``landing``, one after the other, to a new project, and commits them; no batch of a drop is cut by the number of ``events``."""

    home: Path
    queries: tuple[str, ...]
    landing: Path
    events: int
    mode: str

    def __call__(self, master: str, groups: tuple[Path, ...]) -> Loaded:
        """Do it on a cluster with workers in ``groups``, with this process's session."""
        executor = ExecutorSettings(kind="spark", master=master)
        with scratch(self.home) as folder:
            project = replace(
                project_of(folder, self.queries, executor, self.landing, self.mode),
                memory=MEMORY,
                batch_rows=2 * self.events,
            )
            initialise(project)
            session = session_of(master)
            wait_for_tasks(session, len(groups))
            watch = _Watch(groups)
            spark = _Timed(executor, session, watch)
            with open_runtime(project, "inprocess") as opened:
                rt = replace(opened, executor=spark)
                spark.prepare(rt.plan)
                spark.close()  # waits until that is done; the session is kept
                events = _run(rt, watch)
                answers = {query: read_view(rt, query, ordered=False) for query in self.queries}
            return Loaded(watch.parts(), events, answers)


def _run(rt: Runtime, watch: _Watch) -> int:
    """All drops, and the commit of their epoch; how many events they are."""
    events = 0
    for delivery in rt.sources.pending(0):
        with watch.part("append"):
            append_delivery(rt.project, rt.catalog, 0, delivery, rt.executor.beside, rt.room)
        with watch.part("apply"):
            report = run_minibatch(rt, 0, [])
        assert report is not None
        events += report.events
    vote(rt, 0, 0)
    with watch.part("commit"):
        commit(rt, 0)
    return events


class _Watch:
    """Seconds of parts, and CPU seconds of the control groups meanwhile."""

    def __init__(self, groups: tuple[Path, ...]) -> None:
        self._groups = groups
        self._used: dict[str, np.ndarray] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """What happens in the block is of this part."""
        begun = self._now()
        yield
        self._used[name] = self._used.get(name, 0.0) + self._now() - begun

    def _now(self) -> np.ndarray:
        return np.array([time.perf_counter(), *map(cpu_seconds, self._groups)])

    def parts(self) -> dict[str, float]:
        """Part -> its seconds, and with :data:`CPU` behind it those of the busiest group."""
        found = {name: float(used[0]) for name, used in self._used.items()}
        return found | {name + CPU: float(used[1:].max()) for name, used in self._used.items()}


class _Timed(SparkExecutor):
    """Says when it merges. On one worker, too, its tasks append; without it the driver would, which nothing holds."""

    def __init__(self, settings: ExecutorSettings, session: SparkSession, watch: _Watch) -> None:
        super().__init__(settings, session)
        self._watch = watch

    def beside(self, rows: int, calls: int) -> MakeCalls | None:
        return self._make_calls if calls > 1 else None

    def run(self, task: Task) -> StepResult:
        with self._watch.part("merge") if isinstance(task, MergeTask) else nullcontext():
            return super().run(task)
