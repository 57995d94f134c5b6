"""The experiment on the buffer period of corrections: how often ``correct`` runs, against what that costs and how long tentative answers
stay wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.experiments.data import COLOURS, figure, read_csv, save, write_csv
from benchmarks.experiments.rounds import staggered
from benchmarks.experiments.shop import Settings, run_shop
from benchmarks.progress import say
from benchmarks.settings import HOME
from benchmarks.states import scratch

__all__ = ["plot_buffers", "run_buffers"]

NAME = "engine-buffers"
EVERY = (1, 2, 5, 10, None)


def run_buffers(out: Path) -> None:
    """Staggered epochs, skewed load; batches of a period read together."""
    rows = []
    for versions in ("batch", "event"):
        for every in EVERY:
            settings = Settings(
                versions, (0.7, 0.2, 0.1), staggered(3, Settings.periods), together=True, every=every, watched=True
            )
            with scratch(HOME) as folder:
                run = run_shop(folder, settings)
            passes = [p.seconds for p in run.passes]
            rows.append(
                {
                    "versions": versions,
                    "correct_after_batches": every or "commit",
                    "events": run.events.total(),
                    "batches": run.batches,
                    "passes": len(passes),
                    "corrected": run.corrected.total(),
                    "applying_cpu_s": round(run.applying_s, 3),
                    "correcting_cpu_s": round(sum(passes), 3),
                    "committing_cpu_s": round(run.committing_s, 3),
                    "events_per_cpu_s": round(run.events.total() / run.total_s),
                    "wrong_readings": sum(w > 0 for w in run.wrong),
                    "share_wrong": round(float(np.mean([w > 0 for w in run.wrong])), 4),
                    "longest_wrong_batches": _longest(run.wrong),
                    "mean_wrong_by": round(float(np.mean(run.wrong))),
                }
            )
            say(str(rows[-1]))
            write_csv(out / "data" / f"{NAME}.csv", rows)
    plot_buffers(out)


def _longest(wrong: list[int]) -> int:
    """The most readings in a row that were wrong.

    >>> _longest([0, 3, 1, 0, 2])
    2
    """
    longest = now = 0
    for difference in wrong:
        now = now + 1 if difference else 0
        longest = max(longest, now)
    return longest


def plot_buffers(out: Path) -> None:
    """Throughput and share of wrong readings by how often corrections run."""
    rows = read_csv(out / "data" / f"{NAME}.csv")
    drawn, axes = figure(columns=2, height=2.8)
    for place, versions in enumerate(("batch", "event")):
        found = [row for row in rows if row["versions"] == versions]
        labels = [row["correct_after_batches"] for row in found]
        for each, column in ((axes[0], "events_per_cpu_s"), (axes[1], "share_wrong")):
            values = [float(row[column]) for row in found]
            each.plot(labels, values, "o-", color=COLOURS[place], label=f"versions by {versions}")
            each.set_ylim(0)
            each.set_xlabel("batches between corrections")
    axes[0].set_ylabel("events per second of CPU")
    axes[1].set_ylabel("share of readings that are wrong")
    axes[0].legend(frameon=False, fontsize=8)
    save(drawn, out / f"{NAME}.svg")
