"""The same transfers, with each coordinator in a process of its own and a reader that looks whenever it can: apply and refresh of one
process then fall between those of another."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np

from benchmarks.experiments.bank.playing import apart, balances
from benchmarks.experiments.bank.project import bank_project
from benchmarks.experiments.bank.transfers import Scenario, Transfers, land
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import current_epoch, run_minibatch
from cumulus_ops.epochs.voting import is_complete, vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import Conflict, NotYet
from cumulus_ops.query.read import read_view

__all__ = ["Race", "Raced", "race"]


@dataclass(frozen=True)
class Raced:
    """A reading between commits. ``behind`` is None where something was committed while it was read, so that it cannot be said
    what it should have shown; see :class:`~benchmarks.experiments.bank.playing.Reading` for the rest."""

    seconds: float
    total: int
    windows: int
    behind: int | None


@dataclass(frozen=True)
class Race:
    """``committed``: the total of each snapshot; ``wrong``: in how many of them a balance is; ``conflicts``: commits
    that gave up, because the coordinators refreshed all the time, and were tried again."""

    seconds: float
    events: int
    readings: tuple[Raced, ...]
    committed: tuple[int, ...]
    wrong: int
    corrections: int
    conflicts: int

    def summary(self) -> dict[str, object]:
        """The numbers to keep."""
        behind = [r.behind for r in self.readings if r.behind is not None]
        return {
            "events": self.events,
            "seconds": round(self.seconds, 2),
            "committed": len(self.committed),
            "committed_not_0": sum(total != 0 for total in self.committed),
            "balances_wrong": self.wrong,
            "corrections": self.corrections,
            "commits_tried_again": self.conflicts,
            "readings": len(self.readings),
            "total_not_0": sum(r.total != 0 for r in self.readings),
            "windows_not_0": sum(r.windows != 0 for r in self.readings),
            "readings_between_commits": len(behind),
            "balances_behind": sum(b != 0 for b in behind),
            "largest_behind": max(behind, default=0),
        }


def race(home: Path, scenario: Scenario) -> Race:
    """Play a scenario in a new folder, as fast as the coordinators can, until all its epochs are committed."""
    project = bank_project(home, scenario.coordinators)
    initialise(project)
    transfers = Transfers(scenario)
    nets = {
        (c, f"p{period:06}"): land(project.landing, transfers, period, c)
        for c in range(scenario.coordinators)
        for period in range(scenario.coordinators * scenario.epochs)
    }
    started = time.perf_counter()
    processes = [_start(home, scenario, coordinator) for coordinator in range(scenario.coordinators)]
    try:
        with open_runtime(project, "inprocess") as rt:
            found = _watch(rt, scenario, processes, nets, started)
    finally:
        for process in processes:
            process.kill()
            process.join()
    return found


def _context() -> ForkServerContext:
    """Children start in milliseconds, and inherit no threads."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["cumulus_ops.epochs"])
    return server


def _start(home: Path, scenario: Scenario, coordinator: int) -> BaseProcess:
    process = _context().Process(target=_work, args=(home, scenario, coordinator))
    process.start()
    return process


def _work(home: Path, scenario: Scenario, coordinator: int) -> None:
    """A coordinator: its drops, and its seals as soon as it has the token."""
    with open_runtime(bank_project(home, scenario.coordinators), "inprocess") as rt:
        for epoch in range(scenario.epochs):
            for _ in range(scenario.coordinators):
                assert run_minibatch(rt, coordinator) is not None
            while current_epoch(rt, coordinator) == epoch:
                with suppress(NotYet):
                    vote(rt, coordinator, epoch)
                os.sched_yield()


def _watch(
    rt: Runtime,
    scenario: Scenario,
    processes: Sequence[BaseProcess],
    nets: dict[tuple[int, str], np.ndarray],
    started: float,
) -> Race:
    readings: list[Raced] = []
    totals: list[int] = []
    corrections = wrong = conflicts = 0
    while len(totals) < scenario.epochs:
        assert not any(process.exitcode for process in processes), "a coordinator died"
        readings.append(_read(rt, nets, scenario.accounts, time.perf_counter() - started))
        epoch = len(totals)
        if is_complete(rt, epoch):
            try:
                corrections += commit(rt, epoch).corrections
            except Conflict:
                conflicts += 1
                continue
            totals += read_view(rt, "total", as_of=epoch)["total"].to_pylist()
            truth = _truth(nets, [(b.coordinator, b.drop) for b in rt.catalog.log.batches() if b.epoch <= epoch])
            wrong += apart(balances(rt, epoch, scenario.accounts), truth) > 0
    events = sum(b.events for b in rt.catalog.log.batches())
    seconds = time.perf_counter() - started
    return Race(seconds, events, tuple(readings), tuple(totals), wrong, corrections, conflicts)


def _read(rt: Runtime, nets: dict[tuple[int, str], np.ndarray], accounts: int, seconds: float) -> Raced:
    total = read_view(rt, "total", tentative=True)["total"].to_pylist()[0] or 0
    windows = sum(t != 0 for t in read_view(rt, "window_total", tentative=True)["total"].to_pylist())
    at = rt.catalog.commits.last_commit()
    found = balances(rt, None, accounts)
    applied = [(b.coordinator, b.drop) for b in rt.catalog.log.batches() if b.commit is not None and b.commit <= at]
    behind = apart(found, _truth(nets, applied)) if rt.catalog.commits.last_commit() == at else None
    return Raced(round(seconds, 3), total, windows, behind)


def _truth(nets: dict[tuple[int, str], np.ndarray], applied: Sequence[tuple[int, str]]) -> np.ndarray:
    return sum((nets[drop] for drop in applied), np.zeros_like(next(iter(nets.values()))))
