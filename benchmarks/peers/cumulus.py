"""Cumulus: batches on a loaded state, and whole streams in a process of their own."""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.answers import arrow_rows, check_answer, net_tables
from benchmarks.changes import Changes
from benchmarks.contest import Contestant, Turn
from benchmarks.processes import run_worker
from benchmarks.states import State, copied, project_of, scratch
from benchmarks.workload import relations_of
from cumulus_ops.append.append import append_delivery
from cumulus_ops.deploying.deploy import deploy
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import Runtime, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.query.read import read_view

__all__ = ["OnState", "on_state", "whole_stream"]


@dataclass
class OnState:
    """Applies the next ``group`` changes per turn to a copy of a state; of each, ``times`` are the seconds, ``appended`` those in which it
    got into the log."""

    rt: Runtime
    changes: Changes
    group: int
    times: list[float] = field(default_factory=list)
    appended: list[float] = field(default_factory=list)

    def turn(self, number: int) -> Turn:
        """See :class:`~benchmarks.contest.Contestant`."""
        turns = [self._apply(drop) for drop in self.changes.batches[number * self.group :][: self.group]]
        return Turn(sum(turn.seconds for turn in turns), sum(turn.events for turn in turns))

    def _apply(self, drop: Path) -> Turn:
        shutil.copytree(drop, self.rt.project.landing / "0" / drop.name)
        (delivery,) = self.rt.sources.pending(0)
        begun = time.perf_counter()
        self.rt.executor.prepare(self.rt.plan)
        append_delivery(self.rt.project, self.rt.catalog, 0, delivery, self.rt.executor.beside, self.rt.room)
        self.appended.append(time.perf_counter() - begun)
        report = run_minibatch(self.rt, 0)
        self.times.append(time.perf_counter() - begun)
        assert report is not None
        assert report.quarantined == report.duplicates == 0
        return Turn(self.times[-1], report.events)

    def finish(self) -> str:
        """See :class:`~benchmarks.contest.Contestant`."""
        notes = []
        for query in self.rt.project.views:
            rows = arrow_rows(read_view(self.rt, query, tentative=True, ordered=False))
            notes.append(check_answer(query, rows, _only(self.changes.after(len(self.times)), query)))
        checked = notes[0] if len(notes) == 1 else f"answers of {len(notes)} queries checked"
        return f"{checked}; mean of all {len(self.times)} batches {sum(self.times) / len(self.times):.3f} s"


def _only(tables: dict[str, str], query: str) -> dict[str, str]:
    wanted = relations_of([query])
    return {relation: sql for relation, sql in tables.items() if relation in wanted}


@contextmanager
def on_state(
    home: Path,
    state: State,
    changes: Changes,
    spark_cores: int | None,
    group: int = 1,
    queries: Sequence[str] | None = None,
) -> Iterator[OnState]:
    """Batches on a copy of a state.

    Args:
        home: where the copy lives meanwhile.
        state: the loaded state.
        changes: the batches.
        spark_cores: run steps on Spark ``local[N]``; None runs them in this process.
        group: how many batches make a turn.
        queries: of those that are loaded. The others are no longer maintained: a deployment has left them out.
    """
    with copied(home, state) as folder:
        project = project_of(folder, queries or state.queries, ExecutorSettings(kind="inprocess"))
        (project.landing / "0").mkdir(parents=True)
        if queries:
            with open_runtime(project) as before:
                deploy(before)
        with open_runtime(project) as rt:
            yield OnState(rt if spark_cores is None else _on_spark(rt, spark_cores), changes, group)


def _on_spark(rt: Runtime, cores: int) -> Runtime:
    from benchmarks.peers.spark import session_of
    from cumulus_ops.compute.spark import SparkExecutor

    settings = ExecutorSettings(kind="spark", master=f"local[{cores}]")
    return dataclasses.replace(rt, executor=SparkExecutor(settings, session_of(settings.master)))


@dataclass
class _WholeStream:
    """Applies a whole landing folder per turn, from an empty state to a committed snapshot, in a new process."""

    home: Path
    queries: tuple[str, ...]
    landing: Path
    tables: Path
    spark_cores: int | None
    mode: str = "trusted"
    detail: str = ""
    notes: list[str] = field(default_factory=list)

    def turn(self, number: int) -> Turn:
        with scratch(self.home) as folder:
            spec = {
                "folder": str(folder),
                "queries": list(self.queries),
                "landing": str(self.landing),
                "batches": None,
                "kind": "inprocess" if self.spark_cores is None else "spark",
                "cores": self.spark_cores or 1,
                "answers": str(folder),
                "mode": self.mode,
            }
            done = run_worker("cumulus_worker", spec)
            if not self.notes:
                self.notes = [self._check(folder, query) for query in self.queries]
        self.detail = f"peak without mapped files {done.peak_anonymous_mb:.0f} MB"
        return Turn(done.result["seconds"], done.result["events"], done.peak_rss_mb)

    def _check(self, folder: Path, query: str) -> str:
        rows = arrow_rows(pq.read_table(folder / f"{query}.parquet"))
        return check_answer(query, rows, net_tables(self.tables, relations_of([query])))

    def finish(self) -> str:
        answers = self.notes[0] if len(self.notes) == 1 else f"answers of {len(self.notes)} queries checked"
        return f"{answers}; {self.detail}"


@contextmanager
def whole_stream(
    home: Path, tables: Path, landing: Path, queries: Sequence[str], spark_cores: int | None, mode: str = "trusted"
) -> Iterator[Contestant]:
    """A whole stream of inserts; see :func:`on_state` for the arguments. ``mode`` is that of all keys."""
    yield _WholeStream(home, tuple(queries), landing, tables, spark_cores, mode)
