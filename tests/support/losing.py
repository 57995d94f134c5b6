"""Runs that are lost: what they held is remembered, and their bytes are overwritten."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from random import Random

from cumulus_ops.catalog.records import Run
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.versions import epoch_end, epoch_of
from cumulus_ops.repair.truths import State
from tests.support.runs import forget_runs
from tests.support.staging import Rows, copy_entries

__all__ = ["Held", "choose_runs", "choose_told_apart", "held", "lose"]

#: By who reads (a clock, or everybody else) what each copy of each map holds, as far as versions are told apart.
Held = dict[object, Rows]


def choose_runs(rt: Runtime, choose: Random) -> list[Run]:
    """One or two runs, a whole pack, all runs of a copy, or all of what is old."""
    runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
    if not runs:
        return []
    kind, run = choose.choice(("one", "one", "two", "pack", "pack", "copy", "old")), choose.choice(runs)
    if kind == "one":
        return [run]
    if kind == "two":
        return [run] if len(runs) < 2 else choose.sample(runs, 2)
    if kind == "old":
        return [r for r in runs if r.max_version <= epoch_end(rt.catalog.snapshots.oldest_readable())]
    same = (
        (lambda r: r.path == run.path)
        if kind == "pack"
        else (lambda r: (r.map, r.access_path) == (run.map, run.access_path))
    )
    return [r for r in runs if same(r)]


def choose_told_apart(rt: Runtime) -> list[Run]:
    """Of each copy runs that may have deltas of the same live batch, and that some clock tells apart."""
    state, whole, found = State.now(rt), rt.plan.versions.whole, dict[int, Run]()
    lowest = state.lowest(rt.plan)
    live = [r for r in state.runs if r.map in rt.plan.base and epoch_of(r.min_version) > state.newest]
    for a, b in itertools.combinations(live, 2):
        is_one = (a.map, a.access_path) == (b.map, b.access_path) and max(a.origin, lowest) != max(b.origin, lowest)
        if is_one and whole(a.min_version) <= whole(b.max_version) and whole(b.min_version) <= whole(a.max_version):
            found |= {a.id: a, b.id: b}
    return list(found.values())


def lose(rt: Runtime, runs: Collection[Run]) -> None:
    """Overwrite them, and let this process forget what it has of them."""
    for run in runs:
        with (rt.project.state / run.path).open("r+b") as file:
            file.seek(run.offset)
            file.write(bytes(run.bytes))
    forget_runs()


def held(rt: Runtime) -> Held:
    """What there is, for all who tell it apart."""
    at = rt.catalog.commits.last_commit()
    runs = rt.catalog.commits.runs(at)
    readers: dict[object, list[Run]] = {"all": runs}
    for shared in rt.catalog.commits.clocks(at):
        mine = [r for r in runs if r.map in rt.plan.base and shared.clock.covers(r.origin)]
        readers[shared.clock.prefix, shared.clock.exceptions] = mine
    readers["refreshed"] = [r for r in runs if r.origin <= rt.catalog.commits.refreshed()]
    newest, oldest = rt.catalog.snapshots.newest(), rt.catalog.snapshots.oldest_readable()
    since = next(r.since or 0 for r in rt.catalog.revisions.all() if r.number == rt.revision)
    base = min(newest, max(oldest, since - 1))

    def folded(version: int) -> int:
        return version if epoch_of(version) > newest else epoch_end(max(base, epoch_of(version)))

    found: Held = {}
    for reader, chosen in readers.items():
        found[reader] = {}
        for path in (path for paths in rt.plan.paths.values() for path in paths):
            for name, rows in copy_entries(rt.plan, path, rt.project.state, chosen).items():
                entries: dict[tuple[object, ...], int] = {}
                for (*key, version), units in rows.items():
                    entry = (*key, folded(int(str(version))))
                    entries[entry] = entries.get(entry, 0) + units
                found[reader][f"{name} in {path.label}"] = {e: units for e, units in entries.items() if units}
    return found
