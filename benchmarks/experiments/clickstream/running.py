"""Play a load on the engine: producers, and as many working processes as there are cores."""

from __future__ import annotations

import json
import multiprocessing
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiments.clickstream.clicks import Load, write_drop
from benchmarks.experiments.clickstream.feeding import feed
from benchmarks.experiments.clickstream.project import ALONE, SEALING, clickstream_project
from cumulus_ops.config import Project
from cumulus_ops.engine import Runtime, initialise, open_runtime
from cumulus_ops.query import read_view
from cumulus_ops.snapshot import run_minibatch
from cumulus_ops.snapshot.finals import finalise

__all__ = ["Run", "Worker", "check", "run_load"]

CORES = 2
READY_S = 120.0
HEAD_START_S = 0.5
IDLE_S = 0.002  # between two looks for drops
FINALISE_S = 0.5  # the longest time between two looks for closed values, if there is always something to apply
WARM = "0-warm"


@dataclass
class Run:
    """What was seen, in seconds since the producers began. ``progress``: when so many clicks more were processed: applied, or, where campaigns are sealed, final.
    ``after_s``: how long after the last click of a campaign its rows were final. ``cpu_s`` is of the working processes."""

    seconds: float = 0.0
    cpu_s: float = 0.0
    progress: list[tuple[float, int]] = field(default_factory=list)
    after_s: list[float] = field(default_factory=list)


def run_load(home: Path, load: Load, regime: str) -> Run:
    """Play a load in an empty folder; the view is checked at the end."""
    project = clickstream_project(home, regime, load.producers)
    initialise(project)
    staged = list(load.staged(home / "staged", sealing=regime in SEALING))
    for coordinator in range(project.coordinators):
        write_drop(project.landing / str(coordinator) / WARM, np.full(1, -1), np.full(1, -1), -1 - coordinator)
    workers = 1 if regime == ALONE else min(CORES, project.coordinators)
    context = _context()
    ready, gate, results = context.Barrier(workers + 1), context.Value("d", 0.0), context.Queue()
    processes = [
        context.Process(target=_work, args=(home, load, regime, worker, workers, ready, gate, results))
        for worker in range(workers)
    ]
    for process in processes:
        process.start()
    try:
        ready.wait(READY_S)
        begin = time.monotonic() + HEAD_START_S
        gate.value = begin
        feed(load, staged, project.landing, ordered=regime == "ordered", begin=begin)
        found = [_result(results, processes) for _ in processes]
    finally:
        for process in processes:
            process.join(60)
            process.kill()
    check(project, load)
    return _joined(found, load, regime)


def _result(results: Any, processes: Sequence[BaseProcess]) -> dict[str, Any]:
    while True:
        try:
            found: dict[str, Any] = results.get(timeout=1)
            return found
        except queue.Empty:
            assert not any(process.exitcode for process in processes), "a working process died"


def check(project: Project, load: Load) -> None:
    """The view shows what it ought to."""
    with open_runtime(project, "inprocess") as rt:
        rows = read_view(rt, "campaign", tentative=True).to_pylist()
    assert {(r["campaign"], r["id"], r["n"]) for r in rows if r["campaign"] >= 0} == load.poor(), "the view is wrong"


def _context() -> ForkServerContext:
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["cumulus_ops.snapshot"])
    return server


def _joined(found: Sequence[dict[str, Any]], load: Load, regime: str) -> Run:
    ended = {c: load.due_s(p, end - 1) for c, end, p in _last_clicks(load)}
    run = Run(max(f["seconds"] for f in found), sum(f["cpu_s"] for f in found))
    run.progress = sorted(p for f in found for p in f["progress"])
    run.after_s = [at - ended[c] for f in found for c, at in f["finals"]]
    return run


def _last_clicks(load: Load) -> list[tuple[int, int, int]]:
    """Of each campaign: the drop behind its last click, and who has that last of all."""
    last = load.producers - 1
    return [(c, end, track if load.independent else last) for c, (track, _, end) in load.spans.items()]


def _work(home: Path, load: Load, regime: str, worker: int, workers: int, ready: Any, gate: Any, results: Any) -> None:
    project = clickstream_project(home, regime, load.producers)
    with open_runtime(project, "inprocess") as rt:
        own = list(range(worker, project.coordinators, workers))
        for coordinator in own:
            assert run_minibatch(rt, coordinator) is not None
        ready.wait(READY_S)
        while not gate.value:
            time.sleep(IDLE_S)
        begun = time.process_time()
        played = Worker(rt, load, regime, worker, workers, gate.value)
        played.play()
        found = {"seconds": played.ended, "cpu_s": time.process_time() - begun}
        results.put({**found, "progress": played.progress, "finals": played.finals})


class Worker:
    """Applies the drops of some coordinators; the first one finalises, too."""

    def __init__(self, rt: Runtime, load: Load, regime: str, worker: int, workers: int, begin: float) -> None:
        self.rt, self.load, self.regime, self.begin = rt, load, regime, begin
        self.coordinators = range(worker, rt.project.coordinators, workers)
        share = load.producers if regime == "ordered" else len(self.coordinators)
        self.left = share * load.drops
        self.progress: list[tuple[float, int]] = []
        self.finals: list[tuple[int, float]] = []
        self.ended = 0.0
        self.finalises = regime in SEALING and worker == 0
        self._next, self._looked = 0, 0.0

    def play(self) -> None:
        """Until all of it is applied, and final."""
        step: Callable[[], int] = self._in_order if self.regime == "ordered" else self._as_they_come
        while self.left or (self.finalises and len(self.finals) < len(self.load.spans)):
            events = step()
            if events and self.regime not in SEALING:
                self.progress.append((self._now(), events))
            if self.finalises and (not events or self._now() - self._looked > FINALISE_S):
                self._finalise()
            elif not events:
                time.sleep(IDLE_S)
        self.ended = self._now()

    def _now(self) -> float:
        return time.monotonic() - self.begin

    def _as_they_come(self) -> int:
        """A drop of each coordinator that has one."""
        reports = [report for c in self.coordinators if (report := run_minibatch(self.rt, c))]
        self.left -= len(reports)
        return sum(report.events for report in reports)

    def _in_order(self) -> int:
        """The next drop of the one order, if it is there; the one behind it is appended meanwhile."""
        report = run_minibatch(self.rt, 0, [f"{self._next:08}", f"{self._next + 1:08}"])
        if report is None:
            return 0
        self._next += 1
        self.left -= 1
        return report.events

    def _finalise(self) -> None:
        """Make final what is closed by now."""
        finalise(self.rt)
        self._looked = self._now()
        known = {campaign for campaign, _ in self.finals}
        new = {int(json.loads(f.value)[0]) for f in self.rt.catalog.finals("campaign")} - known
        self.finals += [(campaign, self._looked) for campaign in new]
        if new:
            self.progress.append((self._looked, sum(self.load.clicks_of[campaign] for campaign in new)))
