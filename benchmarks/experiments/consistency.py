"""The experiment on streaming consistency: the run to keep, a race of processes, what the views cost, and the plot."""

from __future__ import annotations

import datetime
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.experiments.bank import (
    VIEWS,
    Found,
    Raced,
    Reading,
    Scenario,
    Transfers,
    bank_project,
    land,
    play,
    race,
)
from benchmarks.experiments.data import COLOURS, figure, save, write_csv, write_json
from benchmarks.experiments.rounds import Rounds
from benchmarks.progress import say
from benchmarks.rows import machine
from benchmarks.settings import HOME
from benchmarks.states import scratch
from cumulus_ops.engine import initialise, open_runtime
from cumulus_ops.snapshot import commit, run_minibatch

__all__ = ["Scenario", "run"]

NAME = "streaming-consistency"
#: What the views cost is measured on so many epochs.
COSTED = 20


def run(out: Path, scenario: Scenario, validated: Collection[int], raced: Scenario | None) -> None:
    """Play the scenario, and another one as a race; write data and plot.

    Args:
        out: the folder of the pages.
        scenario: what is played with coordinators in turns.
        validated: the epochs that are validated on Spark, too.
        raced: what is played with coordinators in processes of their own; None leaves that out.
    """
    by_views = {
        "credits and debits": _throughput(VIEWS[:2], scenario),
        "with balance and total": _throughput(VIEWS, scenario),
        "with those by window": _throughput(None, scenario),
    }
    found = _play(scenario, validated)
    race_found = None
    if raced:
        with scratch(HOME) as folder:
            race_found = race(folder, raced)
        write_csv(out / "data" / f"{NAME}-racing.csv", map(asdict, race_found.readings))
    numbers = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "scenario": asdict(scenario),
        "in_turns": found.summary(),
        "racing_scenario": raced and asdict(raced),
        "racing": race_found and race_found.summary(),
        "by_views": by_views,
    }
    write_json(out / "data" / f"{NAME}.json", numbers)
    write_csv(out / "data" / f"{NAME}.csv", map(asdict, found.readings))
    _plot(found.readings, race_found.readings if race_found else (), out / f"{NAME}.svg")


def _play(scenario: Scenario, validated: Collection[int]) -> Found:
    with scratch(HOME) as folder:
        project = bank_project(folder, scenario.coordinators)
        initialise(project)
        with open_runtime(project, "inprocess") as rt:
            return play(rt, scenario, validated, say)


def _throughput(views: Collection[str] | None, scenario: Scenario) -> dict[str, float]:
    """What batches cost, with nothing read in between; on a part of the scenario with batches of the same size."""
    epochs = min(scenario.epochs, COSTED)
    part = Scenario(scenario.transfers * epochs // scenario.epochs, epochs, scenario.shares)
    transfers = Transfers(part)
    times: list[float] = []
    with scratch(HOME) as folder:
        project = bank_project(folder, part.coordinators, views)
        initialise(project)
        with open_runtime(project, "inprocess") as rt:
            rounds = Rounds(rt)
            for period in range(part.periods):
                for coordinator in range(part.coordinators):
                    land(project.landing, transfers, period, coordinator)
                    begun = time.perf_counter()
                    run_minibatch(rt, coordinator)
                    times.append(time.perf_counter() - begun)
                for epoch in rounds.end_period():
                    commit(rt, epoch)
    say(f"{views or 'all views'}: {part.transfers / sum(times):.0f} events/s")
    return {
        "maps": len(rt.plan.program.maps),
        "events_per_batch": round(part.transfers / len(times)),
        "median_batch_s": round(float(np.median(times)), 4),
        "events_per_s": round(part.transfers / sum(times)),
    }


def _plot(readings: Sequence[Reading], raced: Sequence[Raced], file: Path) -> None:
    """Above, coordinators in turns: the tentative total, and what two queries at different moments show; below, the race."""
    drawn, axes = figure(rows=2 if raced else 1, height=4.5 if raced else 2.5)
    seconds = [r.seconds for r in readings]
    axes[0].plot(
        seconds, [r.apart for r in readings], color=COLOURS[1], linewidth=0.6, label="credits - debits, read apart"
    )
    axes[0].plot(seconds, [r.total for r in readings], color=COLOURS[0], label="total, tentative")
    axes[0].set_title("coordinators in turns: after each mini-batch", loc="left", fontsize=9)
    if raced:
        known = {r.seconds: r.behind for r in raced if r.behind is not None}
        axes[1].plot(
            list(known), list(known.values()), ".", markersize=2, color=COLOURS[1], label="missing in balances"
        )
        axes[1].plot([r.seconds for r in raced], [r.total for r in raced], color=COLOURS[0], label="total, tentative")
        axes[1].set_title("coordinators in processes of their own: whenever the reader looks", loc="left", fontsize=9)
    for each in axes:
        each.set_xlabel("seconds of the run")
        each.set_ylabel("money")
        each.legend(frameon=False, fontsize=8)
    save(drawn, file)
