"""A partitioned apply without Spark: the steps of the stages, with a dictionary for the shuffle."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import LogFile, NewRun, Run
from cumulus_ops.compute.apply import ApplyTask
from cumulus_ops.compute.extend import ExtendTask
from cumulus_ops.compute.reading import BatchRef
from cumulus_ops.compute.staged import MESSAGE_ARROW, staged_steps
from cumulus_ops.compute.steps import StepResult, run_step
from cumulus_ops.files.new_files import write_parquet
from cumulus_ops.layout.costs import Labels
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.maps.deltas import VERSION
from cumulus_ops.maps.packs import open_run
from cumulus_ops.maps.runs import AccessPath
from tests.support.projects import Event, log_table

__all__ = ["Rows", "copy_entries", "in_process", "in_stages", "write_batch"]

#: Map -> (keys, version) -> units.
Rows = dict[str, dict[tuple[object, ...], int]]


def write_batch(plan: ProgramPlan, root: Path, number: int, events: Sequence[Event]) -> BatchRef:
    """A batch of epoch 0 in the log, stamped in the order of ``events``."""
    files = []
    for relation in plan.program.relations:
        stamped = [(1000 * number + i, s, row) for i, (name, s, row) in enumerate(events) if name == relation.name]
        if stamped:
            path = write_parquet(root, f"log/{relation.name}", log_table(relation, 0, 0, stamped))
            files.append(LogFile(number, relation.name, path, len(stamped), "source", 0, 0))
    return BatchRef(number, 0, number, tuple(files), 0, 1000 * number, len(events))


def in_stages(task: ApplyTask | ExtendTask, tasks: int, fixed: Labels | None = None) -> tuple[NewRun, ...]:
    """The runs that all tasks of all stages write."""
    inboxes = {i: [pa.RecordBatch.from_pylist([_alive(i)], MESSAGE_ARROW)] for i in range(tasks)}
    results: list[StepResult] = []
    steps = staged_steps(task, tasks, fixed)
    for number, step in enumerate(steps):
        sent = [batch for messages in inboxes.values() for batch in step(iter(messages))]
        if number == len(steps) - 1:
            results = [StepResult.from_json(text) for batch in sent for text in batch["result"].to_pylist()]
        inboxes = {i: [b for b in sent if b.schema == MESSAGE_ARROW and b[0][0].as_py() == i] for i in range(tasks)}
    return tuple(run for result in results for run in result.runs)


def _alive(task: int) -> dict[str, object]:
    return {"destination": task, "kind": "", "name": "", "payload": b""}


def in_process(task: ApplyTask) -> tuple[NewRun, ...]:
    """The runs that one process writes."""
    return run_step(task).runs


def visible(runs: Sequence[NewRun], commit: int) -> tuple[Run, ...]:
    """Runs as the catalog would hand them out."""
    return tuple(
        Run(**dataclasses.asdict(r), id=1000 * commit + i, commit=commit, origin=commit) for i, r in enumerate(runs)
    )


def summed(plan: ProgramPlan, root: Path, runs: Sequence[NewRun]) -> Rows:
    """What runs add up to, by map; every copy of a group must say the same of the columns that it keeps.

    Raises:
        AssertionError: two copies of a group differ.
    """
    found: Rows = {}
    for name, paths in plan.paths.items():
        entire = copy_entries(plan, paths[0], root, runs)
        assert set(entire) == set(plan.groups[name].members)
        for path in paths[1:]:
            copy = copy_entries(plan, path, root, runs)
            assert set(copy) == set(entire if path.values is None else path.values)
            assert all(copy[m] == _projected(entire[m], path.keys) for m in copy), f"copies of {name} differ"
        found |= entire
    return found


def copy_entries(plan: ProgramPlan, path: AccessPath, root: Path, runs: Sequence[NewRun]) -> Rows:
    """What the runs of one copy add up to, by map."""
    group = plan.groups[path.map]
    names = [key.name for key in group.keys]
    kept = [*(names if path.keys is None else [names[i] for i in path.keys]), VERSION]
    found: Rows = {name: {} for name in (group.members if path.values is None else path.values)}
    for run in runs:
        if (run.map, run.access_path) == (path.map, path.label):
            opened = open_run(root / run.path, run.offset, run.bytes)
            assert opened.path == path
            rows = opened.table(names, ()).to_pylist()
            for name in found:
                for row, units in zip(rows, opened.units(name, np.arange(len(rows))).tolist(), strict=True):
                    entry = tuple(row[n] for n in kept)
                    found[name][entry] = found[name].get(entry, 0) + units
    return {name: _without_zeros(entries) for name, entries in found.items()}


def _projected(entries: dict[tuple[object, ...], int], keys: tuple[int, ...] | None) -> dict[tuple[object, ...], int]:
    """Entries summed over the keys that a copy does not keep."""
    if keys is None:
        return entries
    summed: dict[tuple[object, ...], int] = {}
    for (*key, version), units in entries.items():
        short = (*(key[i] for i in keys), version)
        summed[short] = summed.get(short, 0) + units
    return _without_zeros(summed)


def _without_zeros(entries: dict[tuple[object, ...], int]) -> dict[tuple[object, ...], int]:
    return {key: units for key, units in entries.items() if units}
