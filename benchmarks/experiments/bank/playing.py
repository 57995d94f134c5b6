"""Streaming consistency: credits and debits of random transfers in separate views, joined in a third, and their total.

Money is neither made nor lost, so the total is 0 in every consistent state, whatever has arrived. After each mini-batch the
tentative answer is read; after each epoch the committed one, and the published one at the end. All are compared with the
balances that follow from what was applied until then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from deltalake import DeltaTable

from benchmarks.experiments.bank.transfers import Scenario, Transfers, land
from benchmarks.experiments.rounds import Rounds
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.publishing.publishing import publish
from cumulus_ops.query.read import read_view
from cumulus_ops.validation.run import validate

__all__ = ["Found", "Reading", "Snapshots", "apart", "balances", "play"]


@dataclass(frozen=True)
class Reading:
    """One tentative reading, after the mini-batch of a coordinator. ``total``: the view's; ``windows``: how many windows of time
    have a total other than 0. ``behind``: how much money is missing in the balances, compared with all that was
    applied. ``apart``: credits that were read before the mini-batch, less debits that were read after it: what
    two queries show that do not look at the same state."""

    seconds: float
    period: int
    coordinator: int
    total: int
    windows: int
    behind: int
    apart: int


@dataclass(frozen=True)
class Snapshots:
    """How many committed snapshots were looked at, and how many of them were wrong, in what way. ``total``, ``windows`` and
    ``balances`` as of the epoch; ``published``: the total in the Delta table's version of the epoch."""

    epochs: int
    total: int = 0
    windows: int = 0
    balances: int = 0
    published: int = 0


@dataclass
class Found:
    """What a run has shown."""

    events: int = 0
    batches: list[float] = field(default_factory=list)
    commits: list[float] = field(default_factory=list)
    corrections: int = 0
    readings: list[Reading] = field(default_factory=list)
    wrong: dict[str, list[int]] = field(default_factory=dict)  # kind -> epochs
    committed: list[int] = field(default_factory=list)
    validated: dict[int, bool] = field(default_factory=dict)

    @property
    def snapshots(self) -> Snapshots:
        """What the committed snapshots have shown."""
        return Snapshots(len(self.committed), **{kind: len(epochs) for kind, epochs in self.wrong.items()})

    def note(self, kind: str, epoch: int, *, wrong: bool) -> None:
        """Remember what is wrong in a snapshot."""
        if wrong:
            self.wrong.setdefault(kind, []).append(epoch)

    def summary(self) -> dict[str, Any]:
        """The numbers to keep."""
        applying, committing = sum(self.batches), sum(self.commits)
        totals = [abs(r.total) for r in self.readings]
        behind, between = [r.behind for r in self.readings], [abs(r.apart) for r in self.readings]
        return {
            "events": self.events,
            "batches": len(self.batches),
            "applying_s": round(applying, 2),
            "committing_s": round(committing, 2),
            "events_per_s": round(self.events / (applying + committing)),
            "median_batch_s": round(float(np.median(self.batches)), 4),
            "corrections": self.corrections,
            "committed": asdict(self.snapshots),
            "validated": {str(epoch): success for epoch, success in self.validated.items()},
            "tentative": {
                "readings": len(self.readings),
                "total_not_0": _count(totals),
                "largest_total": max(totals),
                "windows_not_0": _count(r.windows for r in self.readings),
                "balances_behind": _count(behind),
                "largest_behind": max(behind),
                "read_apart_not_0": _count(between),
                "largest_read_apart": max(between),
                "median_read_apart": float(np.median(between)),
            },
        }


def _count(values: Collection[int] | Iterator[int]) -> int:
    return sum(value != 0 for value in values)


def play(
    rt: Runtime,
    scenario: Scenario,
    validated: Collection[int] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Found:
    """Play a scenario on an initialised project without history, coordinators in turns.

    Args:
        rt: the open project, see :func:`~benchmarks.experiments.bank.bank_project`.
        scenario: what arrives.
        validated: the epochs whose snapshots are also validated on Spark.
        say: called with a line for each epoch.
    """
    transfers = Transfers(scenario)
    found, rounds = Found(), Rounds(rt)
    truth = np.zeros(scenario.accounts, np.int64)
    by_epoch: dict[int, np.ndarray] = {}
    started = time.perf_counter()
    for period in range(scenario.periods):
        for coordinator in range(scenario.coordinators):
            net = land(rt.project.landing, transfers, period, coordinator)
            before = _sum(rt, "credits")
            epoch = _apply(rt, coordinator, found)
            truth = truth + net
            by_epoch[epoch] = by_epoch.get(epoch, np.zeros_like(truth)) + net
            seconds = round(time.perf_counter() - started, 3)
            found.readings.append(_read(rt, (seconds, period, coordinator), truth, before))
        for epoch in rounds.end_period():
            _commit(rt, epoch, by_epoch, found, validated, say)
    for epoch in rounds.end_all():
        _commit(rt, epoch, by_epoch, found, validated, say)
    _look_at_published(rt, found)
    return found


def _apply(rt: Runtime, coordinator: int, found: Found) -> int:
    begun = time.perf_counter()
    report = run_minibatch(rt, coordinator)
    found.batches.append(time.perf_counter() - begun)
    assert report is not None
    assert report.quarantined == report.duplicates == 0
    found.events += report.events
    return report.epoch


def _read(rt: Runtime, moment: tuple[float, int, int], truth: np.ndarray, before: int) -> Reading:
    rows = read_view(rt, "total", tentative=True).column("total").to_pylist()
    windows = _windows(rt, None)
    behind = apart(balances(rt, None, len(truth)), truth)
    return Reading(*moment, rows[0] or 0, windows, behind, before - _sum(rt, "debits"))


def apart(balance: np.ndarray, truth: np.ndarray) -> int:
    """How much money the balances would have to be moved by to be as in truth.

    >>> apart(np.array([5, -5]), np.array([7, -7]))
    2
    """
    return int(np.abs(balance - truth).sum()) // 2


def balances(rt: Runtime, epoch: int | None, accounts: int) -> np.ndarray:
    """The balance of each account, 0 where the view has no row; tentative, if no epoch is named."""
    rows = read_view(rt, "balance", as_of=epoch, tentative=epoch is None)
    found = np.zeros(accounts, np.int64)
    found[rows["account"].to_numpy()] = rows["balance"].to_numpy()
    return found


def _windows(rt: Runtime, epoch: int | None) -> int:
    if "window_total" not in rt.project.views:
        return 0
    return _count(read_view(rt, "window_total", as_of=epoch, tentative=epoch is None)["total"].to_pylist())


def _sum(rt: Runtime, view: str) -> int:
    return sum(read_view(rt, view, tentative=True)[view].to_pylist())


def _commit(
    rt: Runtime,
    epoch: int,
    by_epoch: dict[int, np.ndarray],
    found: Found,
    validated: Collection[int],
    say: Callable[[str], None],
) -> None:
    begun = time.perf_counter()
    report = commit(rt, epoch)
    found.commits.append(time.perf_counter() - begun)
    found.corrections += report.corrections
    found.committed.append(epoch)
    publish(rt, epoch)
    truth = sum((net for e, net in by_epoch.items() if e <= epoch), np.zeros(1, np.int64))
    found.note("total", epoch, wrong=read_view(rt, "total", as_of=epoch)["total"].to_pylist() != [0])
    found.note("windows", epoch, wrong=_windows(rt, epoch) > 0)
    found.note("balances", epoch, wrong=apart(balances(rt, epoch, len(truth)), truth) > 0)
    if epoch in validated:
        found.validated[epoch] = validate(rt, epoch).success
    say(f"epoch {epoch}: {found.events} events so far, snapshots {found.snapshots}")


def _look_at_published(rt: Runtime, found: Found) -> None:
    """The Delta table's version of each epoch, as anybody else reads it."""
    assert rt.project.published is not None
    folder: Path = rt.project.published / "total"
    versions = {e: version for (view, e), version in rt.catalog.results.published().items() if view == "total"}
    for epoch in found.committed:
        rows = DeltaTable(folder, version=versions[epoch]).to_pyarrow_table()
        found.note("published", epoch, wrong=rows["total"].to_pylist() != [0])
