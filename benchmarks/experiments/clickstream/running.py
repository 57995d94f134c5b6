"""Play a load on the engine, in one process, as if several worked on cores of their own.

Each **worker** has a clock, which its steps move on by the CPU time that they take; the one whose clock is behind all others does the next step, and finds what has
landed by then. Commits take their turn, as they do in the catalog. So others on the machine do not matter, and there may be more workers than cores.
What is left out is waiting for the disk.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.experiments.clickstream.clicks import Load, write_drop
from benchmarks.experiments.clickstream.project import SEALING, clickstream_project
from benchmarks.experiments.clickstream.sequencer import Sequencer
from cumulus_ops.append.append import append_delivery
from cumulus_ops.epochs.finals import finalise
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import Project
from cumulus_ops.query.read import read_view

__all__ = ["Run", "run_load"]

FINALISE_S = 0.5  # the longest time between two looks for closed values, if there is always something to apply
TICK_S = 0.001


@dataclass
class Run:
    """What was seen, in seconds since the producers began. ``progress``: when so many clicks more were processed: applied, or, where campaigns are sealed, final.
    ``after_s``: how long after the last click of a campaign its rows were final. ``cpu_s`` is all that was worked."""

    seconds: float = 0.0
    cpu_s: float = 0.0
    progress: list[tuple[float, int]] = field(default_factory=list)
    after_s: list[float] = field(default_factory=list)


def run_load(home: Path, load: Load, regime: str, cores: int) -> Run:
    """Play a load in an empty folder; the view is checked at the end.

    Args:
        home: the folder.
        load: who produces what when.
        regime: how it is coordinated.
        cores: there are so many workers, but not more than there are coordinators. Of an ordered run one appends, and another one applies.
    """
    project = clickstream_project(home, regime, load.producers)
    initialise(project)
    for coordinator in range(project.coordinators):
        write_drop(project.landing / str(coordinator) / "0-warm", np.full(1, -1), np.full(1, -1), -1 - coordinator)
    with ExitStack() as opened:
        begin = Beginning(home, load, project, regime)
        workers = list(_workers(begin, min(cores, project.coordinators), opened))
        while busy := [worker for worker in workers if worker.is_busy]:
            first = min(busy, key=lambda worker: worker.clock_s)
            first.turn(busy)
    _check(project, load)
    return _joined(workers, load)


class Beginning:
    """What all workers share: drops that land when they are due, and whose commit is over when."""

    def __init__(self, home: Path, load: Load, project: Project, regime: str) -> None:
        self.load, self.project, self.regime = load, project, regime
        self.committed_s = 0.0
        staged = sorted(load.staged(home / "staged", sealing=regime in SEALING))
        self._coming = list(_sequenced(home, staged) if regime == "ordered" else staged)
        self._coming.reverse()

    def land(self, upto_s: float) -> None:
        """Land what is due."""
        while self._coming and self._coming[-1][0] <= upto_s:
            _, producer, place = self._coming.pop()
            target = self.project.landing / str(producer)
            place.rename(target / place.name)

    @property
    def next_s(self) -> float | None:
        """When the next drop is due."""
        return self._coming[-1][0] if self._coming else None


def _sequenced(home: Path, staged: Sequence[tuple[float, int, Path]]) -> Iterator[tuple[float, int, Path]]:
    """The drops in one order, each with its place for a name, and due when the sequencer has given it."""
    sequencer, free_s = Sequencer(home / "order.db"), 0.0
    for due_s, _, place in staged:
        begun = time.process_time()
        named = place.rename(place.parent.parent / f"{sequencer.take():08}")
        free_s = max(free_s, due_s) + time.process_time() - begun
        yield free_s, 0, named


def _workers(begin: Beginning, cores: int, opened: ExitStack) -> Iterator[Worker]:
    for number in range(2 if begin.regime == "ordered" else cores):
        rt = opened.enter_context(open_runtime(begin.project, "inprocess"))
        if begin.regime == "ordered":
            yield (Appender, Applier)[number](begin, rt, range(1))
        else:
            yield Worker(begin, rt, range(number, begin.project.coordinators, cores))


class Worker:
    """Appends and applies the drops of some coordinators, as they come; the one of coordinator 0 finalises, too."""

    def __init__(self, begin: Beginning, rt: Runtime, coordinators: range) -> None:
        self.begin, self.rt, self.coordinators = begin, rt, coordinators
        self.clock_s = self.cpu_s = self.ended_s = self._looked_s = 0.0
        self.left = begin.load.events if begin.regime == "ordered" else self._share()
        self.progress: list[tuple[float, int]] = []
        self.finals: list[tuple[int, float]] = []
        self._finalises = begin.regime in SEALING and 0 in coordinators
        self.warm()

    def warm(self) -> None:
        """Do the first batch, which costs more than others."""
        for coordinator in self.coordinators:
            assert run_minibatch(self.rt, coordinator) is not None

    def _share(self) -> int:
        return len(self.coordinators) * self.begin.load.drops * self.begin.load.size

    @property
    def is_busy(self) -> bool:
        """Whether there is something left to do, or to come."""
        return self.left > 0 or (self._finalises and len(self.finals) < len(self.begin.load.spans))

    def turn(self, busy: Sequence[Worker]) -> None:
        """Do what there is to do; if that is nothing, the clock goes on to when there may be something."""
        self.begin.land(self.clock_s)
        with self._timed():
            events = self.step()
        self.left -= events
        if events and self.begin.regime not in SEALING:
            self.progress.append((self.clock_s, events))
        finals = len(self.finals)
        if self._finalises and (not events or self.clock_s - self._looked_s > FINALISE_S):
            with self._timed():
                new = self._finalise()
            self._say(new)
        if not events and len(self.finals) == finals:
            others = [worker.clock_s for worker in busy if worker is not self]
            coming = [at for at in (self.begin.next_s, *others) if at is not None and at > self.clock_s]
            self.clock_s = min(coming, default=self.clock_s + TICK_S)
        self.ended_s = self.clock_s

    def step(self) -> int:
        """A drop of each coordinator that has one; returns the number of events."""
        reports = [run_minibatch(self.rt, coordinator) for coordinator in self.coordinators]
        return sum(report.events for report in reports if report)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Move the clock by the CPU time that is spent; commits of all workers come one after the other."""
        committing, commit_apply = 0.0, self.rt.catalog.commits.commit_apply

        def timed(*args: object, **options: object) -> object:
            nonlocal committing
            begun = time.process_time()
            try:
                return commit_apply(*args, **options)  # type: ignore[arg-type]
            finally:
                committing += time.process_time() - begun

        begun = time.process_time()
        with patch.object(self.rt.catalog.commits, "commit_apply", timed):
            yield
        spent = time.process_time() - begun
        self.cpu_s += spent
        self.clock_s += spent - committing
        if committing:
            self.clock_s = max(self.clock_s, self.begin.committed_s) + committing
            self.begin.committed_s = self.clock_s

    def _finalise(self) -> set[int]:
        """Make final what is closed by now; returns the campaigns that are new."""
        finalise(self.rt)
        known = {campaign for campaign, _ in self.finals}
        return {int(json.loads(f.value)[0]) for f in self.rt.catalog.finals.finals("campaign")} - known

    def _say(self, campaigns: set[int]) -> None:
        self._looked_s = self.clock_s
        self.finals += [(campaign, self.clock_s) for campaign in campaigns]
        if campaigns:
            clicks = sum(self.begin.load.clicks_of[campaign] for campaign in campaigns)
            self.progress.append((self.clock_s, clicks))


class Appender(Worker):
    """Appends the drops of an ordered run: the next one of the order, when it is there."""

    def warm(self) -> None:
        """The first delivery; :class:`Applier` applies it."""
        self._append()

    def step(self) -> int:
        """One drop."""
        return sum(self.rt.catalog.log.batch(batch).events for batch in self._append())

    def turn(self, busy: Sequence[Worker]) -> None:
        """As any other's, but nothing is processed by it."""
        super().turn(busy)
        self.progress.clear()

    def _append(self) -> tuple[int, ...]:
        waiting = self.rt.sources.pending(0)
        return append_delivery(self.rt.project, self.rt.catalog, 0, waiting[0], room=self.rt.room) if waiting else ()


class Applier(Worker):
    """Applies the batches of an ordered run, one by one in the order in which they were appended."""

    def step(self) -> int:
        """What is appended."""
        report = run_minibatch(self.rt, 0, [])
        return report.events if report else 0


def _check(project: Project, load: Load) -> None:
    """The view shows what it ought to."""
    with open_runtime(project, "inprocess") as rt:
        rows = read_view(rt, "campaign", tentative=True).to_pylist()
    assert {(r["campaign"], r["id"], r["n"]) for r in rows if r["campaign"] >= 0} == load.poor(), "the view is wrong"


def _joined(workers: Sequence[Worker], load: Load) -> Run:
    last = load.producers - 1
    spans = load.spans.items()
    ended = {c: load.due_s(track if load.independent else last, end - 1) for c, (track, _, end) in spans}
    run = Run(max(w.ended_s for w in workers), sum(w.cpu_s for w in workers))
    run.progress = sorted(p for w in workers for p in w.progress)
    run.after_s = [at - ended[c] for w in workers for c, at in w.finals]
    return run
