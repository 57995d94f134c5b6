"""The experiment on coordination: what order costs, and seals, against none, by the number of producers (Blazes, section VIII)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.experiments.clickstream import REGIMES, Load, Run, run_load
from benchmarks.experiments.data import COLOURS, figure, merge_csv, read_csv, save
from benchmarks.progress import say
from benchmarks.settings import HOME
from benchmarks.states import scratch

__all__ = ["RATES", "plot_coordination", "run_coordination"]

NAME, PROGRESS = "engine-coordination", "engine-coordination-progress"
PRODUCERS = (1, 2, 5, 10, 20)
#: Drops per second of each producer, by what works: two cores for all of them, or one for each.
RATES = {"two": 5.0, "one each": 20.0}
SHOWN = (5, 10)  # whose progress is kept, as in the paper's figures 9 to 11; with a core each
POINTS = 100
KEYS = ("study", "cores", "producers", "repetition", "regime")
#: Blazes, figure 8 and section VIII-A: how much more an uncoordinated word count does than an ordered one, by the number of nodes.
PAPER = {5: 1.8, 20: 3.0}


def run_coordination(
    out: Path,
    producers: Sequence[int] = PRODUCERS,
    repetitions: int = 3,
    drops: int = Load.drops,
    cores: Sequence[str] = tuple(RATES),
) -> None:
    """Every regime for every number of producers, in an order that changes from repetition to repetition."""
    for repetition, machine, count in itertools.product(range(repetitions), cores, producers):
        loads = {
            regime: Load(count, regime == "independent", drops, RATES[machine])
            for regime in _rotated(REGIMES, repetition)
        }
        runs = {regime: _run(regime, load, machine) for regime, load in loads.items()}
        same = {"study": "ads", "cores": machine, "producers": count, "repetition": repetition}
        merge_csv(out / "data" / f"{NAME}.csv", _rows(runs, loads, same), KEYS)
        if machine == "one each" and count in SHOWN:
            merge_csv(out / "data" / f"{PROGRESS}.csv", _progress(runs, count), ("producers", "regime", "point"))
    plot_coordination(out)


def _rotated(regimes: Sequence[str], by: int) -> list[str]:
    """So that none is always the first.

    >>> _rotated(("a", "b", "c"), 4)
    ['b', 'c', 'a']
    """
    at = by % len(regimes)
    return [*regimes[at:], *regimes[:at]]


def _run(regime: str, load: Load, machine: str) -> Run:
    with scratch(HOME) as folder:
        run = run_load(folder, load, regime, 2 if machine == "two" else load.producers)
    say(f"cores {machine}, {load.producers} producers, {regime}: {run.seconds:.2f} s, CPU {run.cpu_s:.2f} s")
    return run


def _rows(runs: dict[str, Run], loads: dict[str, Load], same: dict[str, object]) -> Iterator[dict[str, object]]:
    for regime, run in runs.items():
        load = loads[regime]
        yield {
            **same,
            "regime": regime,
            "events": load.events,
            "produced_s": round(load.due_s(load.producers - 1, load.drops - 1), 2),
            "seconds": round(run.seconds, 3),
            "events_per_s": round(load.events / run.seconds),
            "relative": round(runs["uncoordinated"].seconds / run.seconds, 3),
            "cpu_ms_per_drop": round(1000 * run.cpu_s * load.size / load.events, 2),
            "final_after_s": round(median(run.after_s), 3) if run.after_s else "",
        }


def _progress(runs: dict[str, Run], producers: int) -> Iterator[dict[str, object]]:
    """Clicks processed, at so many points; the last one is the end."""
    for regime, run in runs.items():
        sums = list(itertools.accumulate(clicks for _, clicks in run.progress))
        for point in range(POINTS):
            at = round(point * (len(sums) - 1) / (POINTS - 1))
            yield {
                "producers": producers,
                "regime": regime,
                "point": point,
                "seconds": round(run.progress[at][0], 3),
                "clicks": sums[at],
            }


def plot_coordination(out: Path) -> None:
    """Throughput by producers, how much longer a run takes beside the paper's word count, and clicks processed over time."""
    rows = read_csv(out / "data" / f"{NAME}.csv")
    drawn, axes = figure(columns=3, height=3.2)
    for colour, regime in zip(COLOURS, REGIMES, strict=False):
        for each, machine in ((axes[0], "two"), (axes[1], "one each")):
            _draw_throughput(each, [r for r in rows if r["cores"] == machine], regime, colour)
        _draw_slower(axes[2], [r for r in rows if r["cores"] == "one each"], regime, colour)
    axes[2].plot(list(PAPER), list(PAPER.values()), "x", color=COLOURS[5], label="the paper's word count")
    axes[0].set(ylabel="clicks per second", title="two cores")
    axes[1].set(title="a core for each producer")
    axes[2].set(ylabel="times as long as uncoordinated", title="a core for each producer")
    for each in axes:
        each.set(xlabel="producers", ylim=0)
        each.title.set_fontsize(8)
    axes[2].legend(frameon=False, fontsize=8)
    _legend(drawn, axes[0])
    save(drawn, out / f"{NAME}.svg")
    _plot_progress(out)


def _draw_throughput(axes: Axes, rows: Sequence[dict[str, str]], regime: str, colour: str) -> None:
    """The median of the repetitions, with the lowest and the highest."""
    counts = sorted({int(r["producers"]) for r in rows if r["regime"] == regime})
    each = [[float(r["events_per_s"]) for r in _of(rows, regime, n)] for n in counts]
    middle = [median(values) for values in each]
    errors = [
        [m - min(v) for m, v in zip(middle, each, strict=True)],
        [max(v) - m for m, v in zip(middle, each, strict=True)],
    ]
    axes.errorbar(counts, middle, errors, fmt="o-", color=colour, label=regime, markersize=4, capsize=2)


def _draw_slower(axes: Axes, rows: Sequence[dict[str, str]], regime: str, colour: str) -> None:
    counts = sorted({int(r["producers"]) for r in rows if r["regime"] == regime})
    slower = [median(1 / float(r["relative"]) for r in _of(rows, regime, n)) for n in counts]
    axes.plot(counts, slower, "o-", color=colour, markersize=4)


def _of(rows: Sequence[dict[str, str]], regime: str, producers: int) -> list[dict[str, str]]:
    return [r for r in rows if r["regime"] == regime and int(r["producers"]) == producers]


def _legend(drawn: Figure, axes: Axes) -> None:
    drawn.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False, fontsize=8)


def _plot_progress(out: Path) -> None:
    """As the paper's figures 9, 10 and 11."""
    rows = read_csv(out / "data" / f"{PROGRESS}.csv")
    drawn, axes = figure(columns=3, height=2.8)
    panels = [(5, REGIMES), (10, REGIMES), (10, ("sealed", "independent"))]
    for each, (count, regimes) in zip(axes, panels, strict=True):
        _draw_progress(each, rows, count, regimes)
    axes[0].set_ylabel("clicks processed")
    _legend(drawn, axes[0])
    save(drawn, out / f"{PROGRESS}.svg")


def _draw_progress(axes: Axes, rows: Sequence[dict[str, str]], producers: int, regimes: Sequence[str]) -> None:
    for colour, regime in zip(COLOURS, REGIMES, strict=False):
        found = _of(rows, regime, producers) if regime in regimes else []
        places = [float(r["seconds"]) for r in found], [int(r["clicks"]) for r in found]
        axes.plot(*places, drawstyle="steps-post", color=colour, label=regime, linewidth=1.2)
    axes.set_title(f"{producers} producers, a core each", loc="left", fontsize=8)
    axes.set_xlabel("seconds")
