"""A partitioned apply without Spark: the steps of the stages, with a dictionary for the shuffle."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from cumulus_ops.catalog import LogFile, NewRun, Run
from cumulus_ops.engine.apply import ApplyTask
from cumulus_ops.engine.events import BatchRef
from cumulus_ops.engine.staged import MESSAGE_ARROW, staged_steps
from cumulus_ops.engine.steps import StepResult, run_step
from cumulus_ops.eventlog.files import write_parquet
from cumulus_ops.layout import Labels, ProgramPlan
from cumulus_ops.mapstore import VALUE, VERSION, open_run, sum_deltas
from tests.support.projects import Event, log_table

__all__ = ["Rows", "in_process", "in_stages", "write_batch"]

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
    return BatchRef(number, 0, number, tuple(files))


def in_stages(task: ApplyTask, tasks: int, fixed: Labels | None = None) -> tuple[NewRun, ...]:
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
    """What runs add up to, by map; every access path of a map must say the same.

    Raises:
        AssertionError: two access paths of a map differ.
    """
    found: Rows = {}
    for name, paths in plan.paths.items():
        answers = [
            _entries(plan, name, root, [r for r in runs if (r.map, r.access_path) == (name, p.label)]) for p in paths
        ]
        assert all(a == answers[0] for a in answers), f"access paths of {name} differ"
        found[name] = answers[0]
    return found


def _entries(plan: ProgramPlan, name: str, root: Path, runs: Sequence[NewRun]) -> dict[tuple[object, ...], int]:
    names = [*(k.name for k in plan.program.map_by_name[name].keys), VERSION]
    opened = [open_run(root / r.path, r.offset, r.bytes) for r in runs]
    tables = [
        pa.table(dict(zip([*names, VALUE], [*o.keys, pa.array(o.versions), pa.array(o.values)], strict=True)))
        for o in opened
    ]
    if not tables:
        return {}
    table = sum_deltas(tables)
    return {tuple(row[n] for n in names): row[VALUE] for row in table.to_pylist()}
