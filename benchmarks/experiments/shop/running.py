"""Play the shop on the engine in this process: coordinators in any rhythm, corrections as often as wanted, everything counted."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.experiments.attribution import corrected_by_coordinator
from benchmarks.experiments.rounds import Rounds
from benchmarks.experiments.shop.project import shop_project
from benchmarks.experiments.shop.stories import NATIONS, Stories
from cumulus_ops.append.append import append_delivery
from cumulus_ops.epochs.checkpoint import commit, correct, merge
from cumulus_ops.epochs.minibatch import commit_batch, compute_batch
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.query.read import read_view
from cumulus_ops.sources.landing import drop_delivery

__all__ = ["Pass", "Run", "Settings", "run_shop"]


@dataclass(frozen=True)
class Settings:
    """What is played.

    ``versions``: ``batch`` or ``event``. ``shares``: of the events, by coordinator. An epoch has ``periods`` periods, in each of which every
    coordinator applies a batch. ``delays``: how many periods later than coordinator 0 each one leaves its epochs. ``together``: the
    batches of a period all read before the first of them commits; otherwise one after the other. ``every``: corrections run
    after so many batches; None only at the commits. ``late``: a story's rows come within so many periods. ``passing``: who is to leave an
    epoch does so, whoever has the token."""

    versions: str
    shares: tuple[float, ...]
    delays: tuple[int, ...]
    periods: int = 6
    epochs: int = 5
    stories: int = 4000
    late: float = 3.0
    together: bool = False
    every: int | None = None
    seed: int = 0
    watched: bool = False
    passing: bool = False


@dataclass(frozen=True)
class Pass:
    """A pass of corrections: its time, and what it corrected."""

    seconds: float
    entries: int


@dataclass
class Run:
    """What was seen. Times are of the process's CPU, so that others on the machine do not matter; waiting for the disk is not in
    them. ``wrong``: for each batch, by how much the tentative answer differed afterwards from all that was applied.
    ``applying_s`` is of batches alone."""

    events: Counter[int] = field(default_factory=Counter)
    corrected: Counter[int] = field(default_factory=Counter)
    batches: int = 0
    applying_s: float = 0.0
    committing_s: float = 0.0
    passes: list[Pass] = field(default_factory=list)
    wrong: list[int] = field(default_factory=list)

    @property
    def total_s(self) -> float:
        """Of all work: batches, corrections, commits."""
        return self.applying_s + self.committing_s + sum(p.seconds for p in self.passes)


def run_shop(home: Path, settings: Settings) -> Run:
    """Play the settings in an empty folder."""
    coordinators = len(settings.shares)
    project = shop_project(home, coordinators)
    if settings.passing:
        project = replace(project, patience=replace(project.patience, token=datetime.timedelta()))
    initialise(project, versions=settings.versions)
    last = settings.periods * settings.epochs + max(settings.delays)
    stories = Stories(settings.stories, last, settings.late, settings.shares, settings.seed)
    with open_runtime(project, "inprocess") as rt:
        player = _Player(rt, settings, stories)
        rounds = Rounds(rt, settings.periods, settings.delays)
        for period in range(last):
            player.period(period)
            for epoch in rounds.end_period():
                player.commit(epoch)
        for epoch in rounds.end_all():
            player.commit(epoch)
        _check(rt, stories)
    return player.run


def _check(rt: Runtime, stories: Stories) -> None:
    epoch = rt.catalog.snapshots.all()[-1].epoch
    assert (_revenue(rt, epoch) == stories.revenue()).all(), "the last snapshot is wrong"


def _revenue(rt: Runtime, epoch: int | None) -> np.ndarray:
    rows = read_view(rt, "revenue", as_of=epoch, tentative=epoch is None)
    found = np.zeros(NATIONS, np.int64)
    found[rows["nation"].to_numpy()] = rows["revenue"].to_numpy()
    return found


class _Player:
    def __init__(self, rt: Runtime, settings: Settings, stories: Stories) -> None:
        self.rt, self.settings, self.stories, self.run = rt, settings, stories, Run()
        self._order = np.random.default_rng(settings.seed + 1)
        self._since = 0

    def period(self, period: int) -> None:
        """Every coordinator's batch, in an order that changes from period to period."""
        batches = [self._append(period, int(c)) for c in self._order.permutation(len(self.settings.shares))]
        groups = [batches] if self.settings.together else [[batch] for batch in batches]
        for group in groups:
            self._apply(group)

    def _append(self, period: int, coordinator: int) -> tuple[int, dict[str, np.ndarray]]:
        rows = self.stories.land(self.rt.project.landing, period, coordinator)
        drop = self.rt.project.landing / str(coordinator) / f"p{period:06}"
        delivery = drop_delivery(self.rt.project, drop)
        (batch,) = append_delivery(self.rt.project, self.rt.catalog, coordinator, delivery, room=self.rt.room)
        self.run.events[coordinator] += sum(map(len, rows.values()))
        return batch, rows

    def _apply(self, batches: Sequence[tuple[int, dict[str, np.ndarray]]]) -> None:
        """All read, then all commit."""
        with contextlib.ExitStack() as steps:
            begun = time.process_time()
            computed = [
                compute_batch(self.rt, batch, steps.enter_context(self.rt.catalog.leases.step()))
                for batch, _ in batches
            ]
            for (batch, _), result in zip(batches, computed, strict=True):
                commit_batch(self.rt, batch, result)
            self.run.applying_s += time.process_time() - begun
        for _, rows in batches:
            self.stories.arrived(rows)
            self.run.batches += 1
            self._since += 1
        if self.settings.every is not None and self._since >= self.settings.every:
            self.correct()
        if self.settings.watched:
            difference = int(np.abs(_revenue(self.rt, None) - self.stories.revenue()).sum())
            self.run.wrong += [difference] * len(batches)

    def correct(self) -> None:
        """A pass of corrections; whose batches it corrects is seen from the versions of what it wrote."""
        self._since = 0
        before = self.rt.catalog.commits.last_commit()
        begun = time.process_time()
        correct(self.rt)
        seconds = time.process_time() - begun
        after = self.rt.catalog.commits.last_commit()
        runs = [r for r in self.rt.catalog.commits.runs(after) if before < r.commit <= after]
        found = corrected_by_coordinator(self.rt, runs)
        self.run.corrected.update(found)
        self.run.passes.append(Pass(seconds, sum(found.values())))
        if self.settings.every is not None:
            begun = time.process_time()
            merge(self.rt)
            self.run.applying_s += time.process_time() - begun

    def commit(self, epoch: int) -> None:
        """The epoch's snapshot; corrections before, so that they are counted."""
        self.correct()
        begun = time.process_time()
        commit(self.rt, epoch)
        self.run.committing_s += time.process_time() - begun
