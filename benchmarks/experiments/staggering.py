"""The experiments on staggering: whose batches are corrected how much, by how and when coordinators leave their epochs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.experiments.data import COLOURS, figure, merge_csv, read_csv, save
from benchmarks.experiments.rounds import staggered
from benchmarks.experiments.shop import Run, Settings, run_shop
from benchmarks.progress import say
from benchmarks.settings import HOME
from benchmarks.states import scratch

__all__ = ["LOADS", "plot_staggering", "run_late", "run_skew", "run_staggering"]

LOADS = {"even": (1 / 3, 1 / 3, 1 / 3), "skewed": (0.7, 0.2, 0.1), "skewed to the last": (0.1, 0.2, 0.7)}
PERIODS = Settings.periods
VERSIONS = ("batch", "event")
NAME, SKEW, LATE = "engine-staggering", "engine-skew", "engine-late"


def run_staggering(out: Path, chosen: Sequence[str] = VERSIONS) -> None:
    """Versions by batch and by event; epochs staggered and aligned; batches one after the other, or reading together; several loads."""
    for versions in chosen:
        for applies in ("in turns", "together"):
            for load, shares in LOADS.items():
                for epochs, delays in (("aligned", (0, 0, 0)), ("staggered", staggered(3, PERIODS))):
                    settings = Settings(versions, shares, delays, together=applies == "together")
                    named: dict[str, str | int | float] = {
                        "versions": versions,
                        "applies": applies,
                        "load": load,
                        "epochs": epochs,
                    }
                    merge_csv(out / "data" / f"{NAME}.csv", _by_coordinator(named, settings), (*named, "coordinator"))
        plot_staggering(out)


def _by_coordinator(named: Mapping[str, object], settings: Settings) -> Iterator[dict[str, object]]:
    """A row per coordinator."""
    run = _run(settings)
    say(f"{named}: {dict(run.corrected)}")
    for coordinator in range(len(settings.shares)):
        events, corrected = run.events[coordinator], run.corrected[coordinator]
        counts = {"coordinator": coordinator, "events": events, "corrected": corrected}
        yield {**named, **counts, "per_event": round(corrected / events, 5)}


def _run(settings: Settings) -> Run:
    with scratch(HOME) as folder:
        return run_shop(folder, settings)


def run_skew(out: Path, chosen: Sequence[str] = VERSIONS) -> None:
    """Corrections by clock skew between neighbouring coordinators (in periods of an epoch), and by the number of coordinators."""
    for versions in chosen:
        for coordinators in range(1, 6):
            shares = (1 / coordinators,) * coordinators
            for skew in (0, 1, 2) if coordinators > 1 else (0,):
                delays = tuple(i * skew for i in range(coordinators))
                run = _run(Settings(versions, shares, delays))
                events, corrected = run.events.total(), run.corrected.total()
                say(f"{versions}, {coordinators} coordinators, skew {skew}: {corrected}")
                named: dict[str, object] = {"versions": versions, "coordinators": coordinators, "skew_periods": skew}
                named |= {"skew_epochs": round(skew / PERIODS, 4), "events": events, "corrected": corrected}
                row = {**named, "per_event": round(corrected / events, 5)}
                merge_csv(out / "data" / f"{SKEW}.csv", [row], ("versions", "coordinators", "skew_periods"))


def run_late(out: Path, chosen: Sequence[str] = VERSIONS) -> None:
    """Corrections where one coordinator leaves each epoch some periods late, and the others do not wait for it. If they did, theirs would be as with nobody
    late, and their rows would wait for so many periods."""
    for versions in chosen:
        for late in (0, 1, 2, 3, 6, 12):
            run = _run(Settings(versions, LOADS["even"], (late, 0, 0), passing=True))
            say(f"{versions}, coordinator 0 late by {late} periods: {dict(run.corrected)}")
            events, corrected = run.events.total(), run.corrected.total()
            row: dict[str, object] = {
                "versions": versions,
                "late_periods": late,
                "late_epochs": round(late / PERIODS, 4),
            }
            row |= {f"corrected_{c}": run.corrected[c] for c in range(3)}
            row |= {"events": events, "corrected": corrected, "per_event": round(corrected / events, 5)}
            merge_csv(out / "data" / f"{LATE}.csv", [row], ("versions", "late_periods"))


def plot_staggering(out: Path) -> None:
    """Corrected entries per event, by coordinator; a panel for each kind of version and load."""
    rows = read_csv(out / "data" / f"{NAME}.csv")
    drawn, axes = figure(rows=2, columns=len(LOADS), height=4.5)
    panels = [(versions, load) for versions in VERSIONS for load in LOADS]
    for each, (versions, load) in zip(axes, panels, strict=True):
        series = [(applies, epochs) for applies in ("in turns", "together") for epochs in ("aligned", "staggered")]
        for place, (applies, epochs) in enumerate(series):
            wanted = {"versions": versions, "load": load, "applies": applies, "epochs": epochs}
            found = [row for row in rows if wanted.items() <= row.items()]
            at = [int(row["coordinator"]) + (place - 1.5) * 0.2 for row in found]
            each.bar(
                at, [float(r["per_event"]) for r in found], 0.18, color=COLOURS[place], label=f"{epochs}, {applies}"
            )
        parts = "/".join(f"{share:.0%}".rstrip("%") for share in LOADS[load])
        each.set_title(f"versions by {versions}, load {parts}", loc="left", fontsize=8)
        each.set_xticks(range(3))
    axes[0].set_ylabel("corrected entries per event")
    axes[3].set_ylabel("corrected entries per event")
    axes[4].set_xlabel("coordinator (the order of priority)")
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False, fontsize=8)
    save(drawn, out / f"{NAME}.svg")
