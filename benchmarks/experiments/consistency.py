"""The experiment on streaming consistency: the run to keep, a race of processes, what the views cost, and the plot."""

from __future__ import annotations

import datetime
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from benchmarks.experiments.bank import (
    VIEWS,
    Found,
    Scenario,
    Transfers,
    bank_project,
    land,
    play,
    race,
)
from benchmarks.experiments.data import COLOURS, figure, merge_json, read_csv, save, write_csv
from benchmarks.experiments.rounds import Rounds
from benchmarks.progress import say
from benchmarks.rows import machine
from benchmarks.settings import HOME
from benchmarks.states import scratch
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import initialise, open_runtime

__all__ = ["Scenario", "plot", "run", "run_race", "run_views"]

NAME = "streaming-consistency"
#: What the views cost is measured on so many epochs.
COSTED = 20


def run(out: Path, scenario: Scenario, validated: Collection[int]) -> None:
    """Play the scenario with coordinators in turns; write data and plot.

    Args:
        out: the folder of the pages.
        scenario: what arrives.
        validated: the epochs that are validated on Spark, too.
    """
    found = _play(scenario, validated)
    write_csv(out / "data" / f"{NAME}.csv", map(asdict, found.readings))
    _keep(out, in_turns={"scenario": asdict(scenario), **found.summary()})


def run_race(out: Path, scenario: Scenario) -> None:
    """Play a scenario with coordinators in processes of their own; write data and plot."""
    with scratch(HOME) as folder:
        found = race(folder, scenario)
    write_csv(out / "data" / f"{NAME}-racing.csv", map(asdict, found.readings))
    _keep(out, racing={"scenario": asdict(scenario), **found.summary()})


def run_views(out: Path, scenario: Scenario) -> None:
    """What the views cost: mini-batches of the scenario's size, with fewer and more views behind them."""
    by_views = {
        "credits and debits": _throughput(VIEWS[:2], scenario),
        "with balance and total": _throughput(VIEWS, scenario),
        "with those by window": _throughput(None, scenario),
    }
    _keep(out, by_views=by_views)


def _keep(out: Path, **numbers: dict[str, Any]) -> None:
    measured = {"date": datetime.date.today().isoformat(), "machine": machine()}
    merge_json(out / "data" / f"{NAME}.json", {name: measured | found for name, found in numbers.items()})
    plot(out)


def plot(out: Path) -> None:
    """Draw what there are data for."""
    readings, raced = (read_csv(out / "data" / f"{NAME}{part}.csv") for part in ("", "-racing"))
    if readings or raced:
        _plot(readings, raced, out / f"{NAME}.svg")


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


def _plot(readings: Sequence[Mapping[str, str]], raced: Sequence[Mapping[str, str]], file: Path) -> None:
    """Above, coordinators in turns: the tentative total, and what two queries at different moments show; below, the race."""
    drawn, axes = figure(rows=2, height=4.5)
    _line(axes[0], readings, "apart", COLOURS[1], "credits - debits, read apart")
    _line(axes[0], readings, "total", COLOURS[0], "total, tentative")
    axes[0].set_title("coordinators in turns: after each mini-batch", loc="left", fontsize=9)
    _line(axes[1], [r for r in raced if r["behind"]], "behind", COLOURS[1], "missing in balances")
    _line(axes[1], raced, "total", COLOURS[0], "total, tentative")
    axes[1].set_title("coordinators in processes of their own: whenever the reader looks", loc="left", fontsize=9)
    for each in axes:
        each.set_xlabel("seconds of the run")
        each.set_ylabel("money")
        each.legend(frameon=False, fontsize=8)
    save(drawn, file)


def _line(axes: Axes, rows: Sequence[Mapping[str, str]], column: str, colour: str, label: str) -> None:
    values = [int(row[column]) for row in rows]
    axes.plot([float(row["seconds"]) for row in rows], values, color=colour, linewidth=0.8, label=label)
