"""What is read off a run: latencies, corrections, and how much load the busiest actor leaves room for."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import matplotlib
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from cumulus_papers.case import Version
from cumulus_papers.kernel import Costs, Disorder, Sent
from cumulus_papers.run import Load, Outcome, Spec, load_case, run_case

__all__ = [
    "Experiment",
    "Measured",
    "Plot",
    "Row",
    "capacity",
    "corrections_by_coordinator",
    "draw",
    "latencies_ms",
    "measured",
    "percentile",
    "read_csv",
    "write_csv",
]


# What an experiment measures: a table, and the curves to be drawn from it.


Row = Mapping[str, str | int | float]


@dataclass(frozen=True)
class Plot:
    """Curves of ``y`` over ``x``, one for each value of the column ``by`` (or several columns). Where the table has several rows for a point,
    their mean is drawn. ``log``: the axes that are logarithmic, "x", "y" or "xy". ``bars``: x is a name, not a number."""

    x: str
    y: str
    by: str | tuple[str, ...]
    title: str
    log: str = ""
    bars: bool = False

    @property
    def name(self) -> str:
        """What its file is called, after the experiment."""
        return f"{self.y}-by-{self.x}".replace("_", "-")


@dataclass(frozen=True)
class Experiment:
    """A question to the simulator. ``measure`` yields rows as they are measured; its argument scales how much is simulated: 1.0 is what the
    documentation shows."""

    name: str
    question: str
    measure: Callable[[float], Iterable[Row]]
    plots: Sequence[Plot]


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write a table; its columns are those of the first row, and what another one lacks stays empty."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {k: (float(f"{v:.6g}") if isinstance(v, float) else v) for k, v in row.items()} for row in rows
        )


def read_csv(path: Path) -> list[dict[str, str]]:
    """A table as text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Curves as SVG files, by matplotlib.


matplotlib.use("svg")


STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "cumulus",  # the same table gives the same file
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "figure.facecolor": "white",
}
MARKERS = "osD^vPX*"


def draw(rows: Sequence[Row], plot: Plot, file: Path) -> None:
    """Draw one plot of a table."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
        # Curve -> x -> mean of y, in the order of the rows.
        columns = (plot.by,) if isinstance(plot.by, str) else plot.by
        found: dict[str, dict[str, list[float]]] = {}
        for row in rows:
            if row.get(plot.y) in (None, ""):
                continue
            curve = ", ".join(str(row[c]) for c in columns)
            found.setdefault(curve, {}).setdefault(str(row[plot.x]), []).append(float(row[plot.y]))
        means = {curve: {x: fmean(ys) for x, ys in points.items()} for curve, points in found.items()}
        (_bars if plot.bars else _curves)(axes, plot, means)
        axes.set_xlabel(_words(plot.x))
        axes.set_ylabel(_words(plot.y))
        axes.set_title(plot.title, fontsize=11, loc="left")
        beside = (
            {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if len(axes.get_legend_handles_labels()[0]) > 6 else {}
        )
        axes.legend(frameon=False, fontsize=9, **beside)
        figure.savefig(file, metadata={"Date": None})
        plt.close(figure)


def _curves(axes: Axes, plot: Plot, points: dict[str, dict[str, float]]) -> None:
    for i, (curve, by_x) in enumerate(points.items()):
        xs = sorted(by_x, key=float)
        axes.plot(
            [float(x) for x in xs], [by_x[x] for x in xs], marker=MARKERS[i % len(MARKERS)], markersize=4, label=curve
        )
    if "x" in plot.log:
        axes.set_xscale("log")
    if "y" in plot.log:
        axes.set_yscale("log")


def _bars(axes: Axes, plot: Plot, points: dict[str, dict[str, float]]) -> None:
    names = list(dict.fromkeys(x for by_x in points.values() for x in by_x))
    width = 0.8 / len(points)
    for i, (curve, by_x) in enumerate(points.items()):
        places = [n + (i - (len(points) - 1) / 2) * width for n in range(len(names))]
        axes.bar(places, [by_x.get(x, 0.0) for x in names], width, label=curve)
    axes.set_xticks(range(len(names)), names)
    if "y" in plot.log:
        axes.set_yscale("log")


def _words(column: str) -> str:
    name, _, unit = column.rpartition("_")
    return f"{name.replace('_', ' ')} [{unit}]" if unit in ("s", "ms", "bytes") and name else column.replace("_", " ")


SEEDS = 3


def measured(
    spec: Spec,
    load: Load,
    options: Mapping[str, Any] | None = None,
    *,
    scale: float = 1.0,
    disorder: Disorder | None = None,
    costs: Costs | None = None,
    seeds: int = SEEDS,
) -> Measured:
    """Some runs of a protocol under a load that differ in their seeds only; ``scale`` multiplies the number of events."""
    loads = [replace(load, seed=load.seed + i, events=max(10, round(load.events * scale))) for i in range(seeds)]
    return Measured([run_case(load_case(spec, each, options, disorder, costs), spec, record=True) for each in loads])


class Measured:
    """Runs, and what they have on average."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes

    def mean(self, of: Callable[[Outcome], float]) -> float:
        """The mean of something over the runs."""
        return fmean(map(of, self.outcomes))

    def messages(self, *kinds: str) -> float:
        """Messages per event, of these kinds, or all."""
        return self.mean(lambda o: sum(n for k, n in o.messages.items() if not kinds or k in kinds) / o.events)

    def bytes(self) -> float:
        """Bytes per event."""
        return self.mean(lambda o: sum(o.bytes.values()) / o.events)

    def count(self, name: str) -> float:
        """What the protocol counts, per event."""
        return self.mean(lambda o: o.counts[name] / o.events)

    def capacity(self, actors: str = "") -> float:
        """Events a second; see :func:`capacity`."""
        return self.mean(lambda o: capacity(o, actors))

    def settled_ms(self, share: float = 0.5) -> float:
        """After how long nothing about an event is under way any more; the median, or another quantile."""
        return self.mean(lambda o: percentile(latencies_ms(o), share))


def latencies_ms(outcome: Outcome, counts: Callable[[Sent], bool] = lambda sent: True) -> list[float]:
    """For each event the time from its dispatch to the last message about it that ``counts``, in milliseconds. The run must have been recorded."""
    first: dict[Version, float] = {}
    last: dict[Version, float] = {}
    for sent in outcome.trace:
        for version in sent.message.about():
            first[version] = min(first.get(version, sent.sent_s), sent.sent_s)
            if counts(sent):
                last[version] = max(last.get(version, 0.0), sent.arrived_s)
    return [(last[v] - first[v]) * 1e3 for v in outcome.stamped if v in last]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that a share of all lie below; 0 of nothing.

    >>> percentile([3.0, 1.0, 2.0, 4.0], 0.5)
    3.0
    """
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0.0


def capacity(outcome: Outcome, actors: str = "") -> float:
    """Events a second that the busiest actor (whose name begins with ``actors``) could keep up with, were it always busy."""
    busiest = max(s for name, s in outcome.busy_s.items() if name.startswith(actors))
    return outcome.events / busiest if busiest else 0.0


def corrections_by_coordinator(outcome: Outcome) -> Counter[int]:
    """Coordinator -> corrections of its events, in a run of the eventual protocol."""
    pushed = outcome.system.pushed  # type: ignore[union-attr]
    return Counter(p.stamp.version.coordinator for p in pushed if p.cascade)
