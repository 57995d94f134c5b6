"""The plots, as SVG files; each is left out where its case has no rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from benchmarks.report.figures import fraction_of, geometric_mean, measured
from benchmarks.report.recovery import LOST, lost_kinds, lost_maps, programs_of, scales_of
from benchmarks.rows import Row

__all__ = ["draw"]

#: A colour per contestant, the same in all plots, told apart by people who see no red or green too.
COLOURS = {
    "cumulus": "#0072B2",
    "cumulus-spark": "#56B4E9",
    "spark-recompute": "#E69F00",
    "duckdb-recompute": "#009E73",
    "flink": "#D55E00",
    "pathway": "#CC79A7",
    "postgres-ivm": "#666666",
    "dbtoaster-published": "#BBBBBB",
    "empty-job": "#BBBBBB",
}
#: Published or recomputed, not maintained here: another shape.
MARKERS = {"dbtoaster-published": "x", "spark-recompute": "s", "duckdb-recompute": "s"}
#: Of what is lost.
LOST_COLOURS = dict(
    zip(LOST, ("#56B4E9", "#0072B2", "#F0E442", "#E69F00", "#D55E00", "#009E73", "#000000"), strict=True)
)
Drawing = Callable[[Axes, list[Row]], None]


def draw(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write a plot per case and scale factor that there are rows for, and those of recovery; returns the files."""
    matplotlib.rcParams.update(
        {"svg.hashsalt": "cumulus", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
         "axes.spines.right": False}
    )  # fmt: skip
    files = []
    for case, (drawing, height) in DRAWINGS.items():
        chosen = measured(rows, case=case)
        if case == "stream":
            chosen = [row for row in chosen if row.batch_events == max(r.batch_events for r in chosen)]
        scales = sorted({row.scale_factor for row in chosen})
        groups = (
            [("", chosen)] if case == "state" else [(f"-sf{s:g}", measured(chosen, scale_factor=s)) for s in scales]
        )
        for suffix, group in groups:
            if group:
                files.append(_figure(folder / f"{case}{suffix}.svg", drawing, group, height))
    return [*files, *_draw_recovery(rows, folder)]


def _figure(file: Path, drawing: Drawing, rows: list[Row], height: float) -> Path:
    figure, axes = plt.subplots(figsize=(8, height), layout="constrained")
    drawing(axes, rows)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
    return file


def _dots(axes: Axes, rows: list[Row], field: str) -> None:
    """A column per query, a dot per contestant (no bars: a logarithmic axis has no zero to stand on)."""
    queries = sorted({row.query for row in rows}, key=lambda q: int(q[1:]) if q[1:].isdigit() else 99)
    names = [name for name in COLOURS if any(row.contestant == name for row in rows)]
    width = 0.7 / max(1, len(names))
    for place, name in enumerate(names):
        own = [row for row in rows if row.contestant == name]
        at = [queries.index(row.query) + (place - (len(names) - 1) / 2) * width for row in own]
        values = [getattr(row, field) for row in own]
        axes.plot(at, values, MARKERS.get(name, "o"), markersize=5, label=name, color=COLOURS[name])
    axes.set_xticks(range(len(queries)), queries)
    for place in range(1, len(queries)):
        axes.axvline(place - 0.5, color="#eeeeee", linewidth=0.8, zorder=0)
    axes.set_yscale("log")
    axes.grid(axis="y", color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)


def _stream(axes: Axes, rows: list[Row]) -> None:
    _dots(axes, [row for row in rows if row.events_per_s], "events_per_s")
    axes.set_ylabel("events per second (log)")
    axes.set_title(f"Whole stream of inserts, scale factor {rows[0].scale_factor:g}: higher is better")


def _refresh(axes: Axes, rows: list[Row]) -> None:
    variants = {row.variant for row in rows}
    if len(variants) == 1:
        _dots(axes, rows, "seconds")
        axes.set_title(f"A change of {fraction_of(rows[0]):.2%} of the rows, scale factor {rows[0].scale_factor:g}")
    else:
        _curves_by_fraction(axes, rows)
    axes.set_ylabel("seconds (log)")


def _curves_by_fraction(axes: Axes, rows: list[Row]) -> None:
    """Geometric mean over the queries that have all fractions, per contestant."""
    fractions = sorted({fraction_of(row) for row in rows})
    complete = {
        q for q in {row.query for row in rows} if len({r.variant for r in rows if r.query == q}) == len(fractions)
    }
    for name in COLOURS:
        own = [row for row in rows if row.contestant == name and row.query in complete]
        points = [(f, geometric_mean(r.seconds for r in own if r.seconds and fraction_of(r) == f)) for f in fractions]
        known = [(f * 100, value) for f, value in points if value is not None]
        if known:
            axes.plot(*zip(*known, strict=True), marker="o", markersize=4, label=name, color=COLOURS[name])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.set_xlabel("changed rows, % (log)")
    axes.set_title(
        f"Maintaining or recomputing, scale factor {rows[0].scale_factor:g}: geometric mean of {len(complete)} queries"
    )


def _state(axes: Axes, rows: list[Row]) -> None:
    _lines(axes, rows, "scale_factor", "seconds")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("scale factor of the state (log)")
    axes.set_ylabel("seconds per batch")
    axes.set_title(f"A batch of {rows[0].batch_events:,} events on states of different size: flat is good")


def _batches(axes: Axes, rows: list[Row]) -> None:
    _lines(axes, rows, "batch_events", "events_per_s")
    axes.set_yscale("log")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.set_xlabel("events per batch (log)")
    axes.set_ylabel("events per second (log)")
    axes.set_title(f"Throughput by batch size, scale factor {rows[0].scale_factor:g}: higher is better")


def _lines(axes: Axes, rows: list[Row], x: str, y: str) -> None:
    """A line per contestant (its colour) and query (its stroke)."""
    strokes = dict(zip(sorted({row.query for row in rows}), ["-", "--", ":", "-."] * 6, strict=False))
    for name in ("cumulus", "cumulus-spark"):
        for query, stroke in strokes.items():
            own = sorted((getattr(r, x), getattr(r, y)) for r in rows if (r.contestant, r.query) == (name, query))
            if own:
                label = f"{name} {query}"
                axes.plot(*zip(*own, strict=True), stroke, marker="o", markersize=4, color=COLOURS[name], label=label)
    axes.set_xscale("log")


def _draw_recovery(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write ``recovery.svg``, by size of state and program, and ``recovery-maps.svg``, by size of a lost map; returns the files."""
    found = measured(rows, case="recovery")
    programs = programs_of(found)
    if not programs:
        return []
    size = (max(8.0, 2.6 * len(programs) + 2.4), 3.8)
    figure, panels = plt.subplots(1, len(programs), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for axes, query in zip(panels[0], programs, strict=True):
        _by_state(axes, query, measured(found, query=query))
    panels[0][0].set_ylabel("CPU seconds (log)")
    handles: dict[str, object] = {}
    for axes in panels[0]:
        handles |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    known = {name: handles[name] for name in reversed(LOST) if name in handles}
    figure.legend(known.values(), known.keys(), loc="outside right center", frameon=False, fontsize=8)
    figure.suptitle(
        "Made again after a loss, by scale factor of the state; all maps: recomputing everything", fontsize=10
    )
    files = [_save(folder / "recovery.svg")]
    _, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    query = programs[-1]
    _by_map(axes, query, measured(found, query=query))
    return [*files, _save(folder / "recovery-maps.svg")]


def _save(file: Path) -> Path:
    plt.savefig(file, metadata={"Date": None})
    plt.close()
    return file


def _by_state(axes: Axes, query: str, rows: Sequence[Row]) -> None:
    by_kind: dict[str, dict[float, float]] = {}
    for scale in scales_of(rows):
        for what, row in lost_kinds(rows, scale).items():
            by_kind.setdefault(what, {})[scale] = row.seconds or 0.0
    for what, points in by_kind.items():
        axes.plot([*points], [*points.values()], marker="o", markersize=4, color=LOST_COLOURS[what], label=what)
    groups = next((row.note.partition(";")[0] for row in rows if row.variant.startswith("all maps")), "")
    _logarithmic(axes)
    axes.set_xticks(scales_of(rows), [f"{scale:g}" for scale in scales_of(rows)])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("scale factor (log)")
    axes.set_title(f"{_say_program(query)}:\n{groups}", fontsize=8)


def _say_program(query: str) -> str:
    return "all queries in one program" if query == "all" else query.upper()


def _by_map(axes: Axes, query: str, rows: Sequence[Row]) -> None:
    colours: Mapping[float, str] = dict(
        zip(scales_of(rows), ("#56B4E9", "#E69F00", "#D55E00", "#000000"), strict=False)
    )
    for scale, colour in colours.items():
        pairs = lost_maps(rows, scale)
        sizes = [lost.events for lost, _ in pairs]
        axes.plot(
            sizes,
            [lost.seconds or 0.0 for lost, _ in pairs],
            "o-",
            markersize=5,
            color=colour,
            label=f"made again, SF {scale:g}",
        )
        axes.plot(
            sizes,
            [fill.seconds or 0.0 for _, fill in pairs],
            "x",
            markersize=6,
            color=colour,
            label=f"its backfill, SF {scale:g}",
        )
        anew = lost_kinds(rows, scale).get("all maps")
        if anew is not None and anew.seconds:
            axes.axhline(anew.seconds, color=colour, linestyle=":", label=f"all maps, SF {scale:g}")
    _logarithmic(axes)
    axes.set_xlabel("rows of the lost map, in all its copies (log)")
    axes.set_ylabel("CPU seconds (log)")
    axes.set_title(f"A lost map of {_say_program(query)}, with the batches since")
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _logarithmic(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)


DRAWINGS: dict[str, tuple[Drawing, float]] = {
    "stream": (_stream, 4.0),
    "refresh": (_refresh, 4.0),
    "state": (_state, 3.5),
    "batches": (_batches, 3.5),
}
