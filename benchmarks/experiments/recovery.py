"""What it costs to make lost runs of maps again, beside filling their maps and beside filling all maps, for TPC-H's 22 queries in one project.

Lost are the runs of one batch of 1,000 events, all of them or one; the same of an epoch that is committed and still told apart; and all that there is of one map, for maps of different
sizes. Everything is measured in CPU seconds of this process, in one run, on copies of one loaded state.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.changes import make_changes
from benchmarks.experiments.data import COLOURS, figure, merge_csv, read_csv, save
from benchmarks.progress import say
from benchmarks.settings import ALL_QUERIES, HOME
from benchmarks.states import copied, loaded, project_of
from benchmarks.workload import relations_of, tables_of
from cumulus_ops.catalog.records import Run
from cumulus_ops.compute.extend import choose_drivers
from cumulus_ops.deploying.deploy import fill_groups
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.repair.maps import repair_runs

__all__ = ["plot_recovery", "run_recovery"]

#: Batches of so many events: some of epochs that are committed after the load, some that are live.
EVENTS, COMMITTED, LIVE = 1_000, 2, 3
#: As many maps are lost altogether, from small to large, and repairs of deltas are measured so often.
MAPS, TURNS = 8, 3


def run_recovery(out: Path, scale_factors: Sequence[float]) -> None:
    """Measure; what was found is in ``out``."""
    for sf in scale_factors:
        tables = tables_of(HOME, sf)
        with loaded(HOME, tables, ALL_QUERIES, keep=True) as state, copied(HOME, state) as folder:
            changes = make_changes(
                HOME, tables, relations_of(ALL_QUERIES), EVENTS, COMMITTED + LIVE + 1, every_table=True
            )
            with open_runtime(project_of(folder, ALL_QUERIES, ExecutorSettings(kind="inprocess"))) as rt:
                rows = [{"sf": sf, **row} for row in _measure(rt, changes.batches)]
        merge_csv(out / "data" / "recovery.csv", rows, ("sf", "lost", "map"))
        for row in rows:
            say(str(row))
    plot_recovery(out)


def _measure(rt: Runtime, batches: Sequence[Path]) -> Iterator[dict[str, Any]]:
    waiting = iter(batches)
    for _ in range(COMMITTED):
        _apply(rt, next(waiting))
        epoch = rt.catalog.members.position(0)[0]
        vote(rt, 0, epoch)
        commit(rt, epoch)
    for _ in range(LIVE):
        _apply(rt, next(waiting))
    all_groups = frozenset(rt.plan.groups)
    everything_s = _fill(rt, all_groups, {})
    committed = rt.catalog.snapshots.newest()
    for what, epoch in (("a live batch", committed + 1), ("a batch of a committed epoch", committed)):
        for row in _lose_batch(rt, what, epoch):
            yield {**row, "everything_s": everything_s}
    for name in _some_maps(rt):
        runs = _runs(rt, lambda r, name=name: r.map == name)  # type: ignore[misc]
        entries = max(sum(r.rows for r in runs if r.access_path == path.label) for path in rt.plan.paths[name])
        fill_s = _fill(rt, frozenset([name]), choose_drivers(rt.plan, [name], _count_rows(rt)))
        row = {"lost": "a whole map", "map": name, "runs": len(runs), "rows": entries}
        yield {**row, "repair_s": _repair(rt, runs), "fill_s": fill_s, "everything_s": everything_s}


def _apply(rt: Runtime, drop: Path) -> None:
    target = rt.project.landing / "0" / drop.name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(drop, target)
    assert run_minibatch(rt, 0, [drop.name]) is not None


def _lose_batch(rt: Runtime, what: str, epoch: int) -> Iterator[dict[str, Any]]:
    """All runs of a batch that are there still, and each of them alone; what was made is lost next."""
    newest = max(b.commit or 0 for b in rt.catalog.log.batches(epoch=epoch) if b.counts)
    runs = _runs(rt, lambda r: r.commit == newest)
    seconds: list[float] = []
    for _ in range(TURNS):
        seconds.append(_repair(rt, runs))
        known = {(run.map, run.access_path, run.min_version) for run in runs}
        runs = _runs(rt, lambda r, known=known: (r.map, r.access_path, r.min_version) in known)  # type: ignore[misc]
    row = {"lost": f"all runs of {what}", "map": "", "runs": len(runs), "rows": sum(r.rows for r in runs)}
    yield {**row, "repair_s": sorted(seconds)[len(seconds) // 2], "fill_s": None}
    single = sorted((_repair(rt, [run]), run.rows) for run in runs)
    for which, (spent, rows) in (("typical", single[len(single) // 2]), ("dearest", single[-1])):
        row = {"lost": f"one run of {what}, the {which} one", "map": "", "runs": 1, "rows": rows}
        yield {**row, "repair_s": spent, "fill_s": None}


def _repair(rt: Runtime, runs: Collection[Run]) -> float:
    return _timed(lambda: repair_runs(rt, runs))[1]


def _fill(rt: Runtime, names: frozenset[str], drivers: Mapping[str, str]) -> float:
    """What it takes to fill some maps as of the newest snapshot, as a deployment does."""
    stored = _runs(rt, lambda r: r.map not in names)
    with rt.catalog.leases.step() as step:
        upto = rt.catalog.snapshots.newest()
        (_, runs), spent = _timed(lambda: fill_groups(rt, rt, names, drivers, None, upto, stored, step))
    for path in {run.path for run in runs}:
        (rt.project.state / path).unlink()
    return spent


def _timed(action: Callable[[], Any]) -> tuple[Any, float]:
    before = time.process_time()
    found = action()
    return found, round(time.process_time() - before, 3)


def _runs(rt: Runtime, chosen: Callable[[Run], bool]) -> list[Run]:
    return [run for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit()) if chosen(run)]


def _some_maps(rt: Runtime) -> list[str]:
    """Base maps, from one of few entries to the largest."""
    sizes: dict[str, int] = {}
    for run in _runs(rt, lambda r: r.map in rt.plan.base):
        if run.access_path == rt.plan.paths[run.map][0].label:
            sizes[run.map] = sizes.get(run.map, 0) + run.rows
    ordered = sorted(sizes, key=lambda name: sizes[name])
    return [ordered[(len(ordered) - 1) * i // (MAPS - 1)] for i in range(MAPS)]


def _count_rows(rt: Runtime) -> dict[str, int]:
    rows: dict[str, int] = {}
    for file in rt.catalog.log.files():
        rows[file.relation] = rows.get(file.relation, 0) + file.rows
    return rows


def plot_recovery(out: Path) -> None:
    """Draw what was found."""
    rows = read_csv(out / "data" / "recovery.csv")
    if not rows:
        return
    drawn, (axes,) = figure(height=4)
    for colour, sf in zip(COLOURS, sorted({row["sf"] for row in rows}), strict=False):
        maps = [row for row in rows if row["sf"] == sf and row["map"]]
        sizes = [int(row["rows"]) for row in maps]
        axes.scatter(sizes, [float(r["repair_s"]) for r in maps], c=colour, label=f"made again, SF {sf}")
        axes.scatter(sizes, [float(r["fill_s"]) for r in maps], c=colour, marker="x", label=f"filled, SF {sf}")
        axes.axhline(float(maps[0]["everything_s"]), color=colour, linestyle=":", label=f"all maps filled, SF {sf}")
    axes.set(xscale="log", yscale="log", xlabel="entries of the map that is lost", ylabel="CPU seconds")
    axes.legend()
    save(drawn, out / "engine-recovery.svg")
