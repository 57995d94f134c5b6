"""What a loaded state takes: live runs, and files on disk, after the load and after epochs of changes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.answers import arrow_rows, check_answer
from benchmarks.changes import Changes, make_changes
from benchmarks.contest import Contestant, Turn, compete
from benchmarks.rows import Label, Row
from benchmarks.settings import ALL_QUERIES, Settings
from benchmarks.states import State, copied, loaded, project_of
from benchmarks.workload import forget, relations_of, tables_of
from cumulus_ops.epochs.checkpoint import collect_garbage, commit
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.query.read import read_view

__all__ = ["run"]

EPOCHS, EVENTS = 20, 1_000


def run(settings: Settings) -> Iterator[list[Row]]:
    """All queries together, and Q3 alone."""
    for scale_factor in settings.scale_factors or (0.1, 1.0):
        tables = tables_of(settings.home, scale_factor)
        for query in settings.queries or ("all", "q3"):
            if not settings.has_time():
                return
            queries = ALL_QUERIES if query == "all" else (query,)
            with loaded(settings.home, tables, queries, keep=settings.keep) as state:
                changes = make_changes(settings.home, tables, relations_of(queries), EVENTS, EPOCHS, every_table=True)
                label = Label("size", query, "", scale_factor, EVENTS, 1, state.events)
                yield compete(label, {"cumulus": partial(_epochs, settings.home, state, changes)}, 1)
                forget(changes.folder, settings.keep)


@dataclass
class _Epochs:
    """Applies each change in an epoch of its own; the turn's seconds are of all of them."""

    rt: Runtime
    state: State
    changes: Changes
    sizes: list[str] = field(default_factory=list)

    def turn(self, number: int) -> Turn:
        self.sizes.append(f"after the load {self._size()}, peak of the load {self.state.peak_rss_mb:.0f} MB")
        begun, events = time.perf_counter(), 0
        for drop in self.changes.batches[:EPOCHS]:
            shutil.copytree(drop, self.rt.project.landing / "0" / drop.name)
            report = run_minibatch(self.rt, 0)
            assert report is not None
            vote(self.rt, 0, report.epoch)
            commit(self.rt, report.epoch)
            events += report.events
        collect_garbage(self.rt)
        self.sizes.append(f"after {EPOCHS} epochs {self._size()}")
        return Turn(time.perf_counter() - begun, events)

    def _size(self) -> str:
        live = sum(run.bytes for run in self.rt.catalog.commits.runs(self.rt.catalog.commits.last_commit()))
        disk = sum(file.stat().st_size for file in (self.rt.project.state / "runs").iterdir())
        return f"{live / 1e6:.1f} MB live, {disk / 1e6:.1f} MB on disk"

    def finish(self) -> str:
        tables = self.changes.after(EPOCHS)
        for query in self.rt.project.views:
            rows = arrow_rows(read_view(self.rt, query, ordered=False))
            check_answer(query, rows, {r: tables[r] for r in relations_of([query])})
        return f"{'; '.join(self.sizes)}; {len(self.rt.project.views)} answers checked"


@contextmanager
def _epochs(home: Path, state: State, changes: Changes) -> Iterator[Contestant]:
    with copied(home, state) as folder:
        project = project_of(folder, state.queries, ExecutorSettings(kind="inprocess"))
        (project.landing / "0").mkdir(parents=True)
        with open_runtime(project) as rt:
            yield _Epochs(rt, state, changes)
