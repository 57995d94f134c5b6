"""Curves as SVG files, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from cumulus_ops.simulation.experiments.table import Plot, Row

__all__ = ["draw"]

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
        (_bars if plot.bars else _curves)(axes, plot, _points(rows, plot))
        axes.set_xlabel(_words(plot.x))
        axes.set_ylabel(_words(plot.y))
        axes.set_title(plot.title, fontsize=11, loc="left")
        beside = (
            {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if len(axes.get_legend_handles_labels()[0]) > 6 else {}
        )
        axes.legend(frameon=False, fontsize=9, **beside)
        figure.savefig(file, metadata={"Date": None})
        plt.close(figure)


def _points(rows: Sequence[Row], plot: Plot) -> dict[str, dict[str, float]]:
    """curve -> x -> mean of y, in the order of the rows."""
    columns = (plot.by,) if isinstance(plot.by, str) else plot.by
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.get(plot.y) in (None, ""):
            continue
        curve = ", ".join(str(row[c]) for c in columns)
        found.setdefault(curve, {}).setdefault(str(row[plot.x]), []).append(float(row[plot.y]))
    return {curve: {x: fmean(ys) for x, ys in points.items()} for curve, points in found.items()}


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
