"""The step functions that every executor runs: a task in, written run files out.

A step reads files, writes files and touches no catalog: it may run anywhere, twice, or die half-way.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog import NewRun, Run
from cumulus_ops.engine.apply import ApplyTask, apply_events
from cumulus_ops.engine.correct import CorrectTask, correct_history
from cumulus_ops.engine.refresh import RefreshTask, is_correction, refresh_maps
from cumulus_ops.engine.sources import write_deltas
from cumulus_ops.faults import reach
from cumulus_ops.layout import ProgramPlan
from cumulus_ops.mapstore import AccessPath, build_run, merge_runs, open_run, versions, write_runs
from cumulus_ops.versions import epoch_of

__all__ = ["MergeTask", "MinibatchTask", "StepResult", "Task", "run_step"]


@dataclass(frozen=True)
class MergeTask:
    """Merge the runs of each access path in ``tiers``; see :func:`cumulus_ops.mapstore.merge_runs` for the epochs."""

    plan: ProgramPlan
    root: Path
    tiers: tuple[tuple[AccessPath, tuple[Run, ...]], ...]
    committed: int
    oldest_retained: int


@dataclass(frozen=True)
class MinibatchTask:
    """Apply a batch and refresh, in one step: ``refresh`` sees the runs that ``apply`` sees, and among its fresh batches
    the one that is applied."""

    apply: ApplyTask
    refresh: RefreshTask

    @property
    def plan(self) -> ProgramPlan:
        """The program's plan."""
        return self.apply.plan


Task = ApplyTask | MinibatchTask | CorrectTask | RefreshTask | MergeTask


@dataclass(frozen=True)
class StepResult:
    """What a step wrote. ``corrected``: epoch -> corrected map entries (corrections and refreshes only). ``refreshed``:
    whether the refresh of a mini-batch was done with it."""

    runs: tuple[NewRun, ...]
    corrected: Mapping[int, int]
    refreshed: bool = False

    def to_json(self) -> str:
        """For the way back from a Spark task."""
        runs = [astuple(r) for r in self.runs]
        return json.dumps({"runs": runs, "corrected": dict(self.corrected), "refreshed": self.refreshed})

    @staticmethod
    def from_json(text: str) -> StepResult:
        """Inverse of :meth:`to_json`."""
        data = json.loads(text)
        corrected = {int(e): n for e, n in data["corrected"].items()}
        return StepResult(tuple(NewRun(*r) for r in data["runs"]), corrected, data["refreshed"])


def run_step(task: Task) -> StepResult:
    """Run a whole task in this process."""
    match task:
        case ApplyTask():
            reach("apply.before-files")
            return StepResult(write_deltas(task.plan, task.root, apply_events(task).tables()), {})
        case MinibatchTask():
            return _minibatch(task)
        case CorrectTask():
            return _correct(task)
        case RefreshTask():
            return _refresh(task)
        case MergeTask():
            return _merge(task)


def _minibatch(task: MinibatchTask) -> StepResult:
    reach("apply.before-files")
    applied = apply_events(task.apply).tables()
    reach("refresh.before-files")
    deltas = refresh_maps(task.refresh, applied).tables()
    corrected = _corrected(task.refresh, {n: t for n, t in deltas.items() if n not in task.plan.base})
    return StepResult(write_deltas(task.plan, task.apply.root, deltas), corrected, refreshed=True)


def _correct(task: CorrectTask) -> StepResult:
    reach("correct.before-files")
    deltas = correct_history(task).tables()
    return StepResult(write_deltas(task.plan, task.root, deltas), count_by_epoch(deltas))


def _refresh(task: RefreshTask) -> StepResult:
    reach("refresh.before-files")
    deltas = refresh_maps(task).tables()
    return StepResult(write_deltas(task.plan, task.root, deltas), _corrected(task, deltas))


def _corrected(task: RefreshTask, deltas: Mapping[str, pa.Table]) -> dict[int, int]:
    """epoch -> deltas that make up for something computed before."""
    return count_by_epoch({n: t.filter(pa.array(is_correction(task, versions(t)))) for n, t in deltas.items()})


def count_by_epoch(deltas: Mapping[str, pa.Table]) -> dict[int, int]:
    """epoch -> number of deltas with a version in it."""
    counts: Counter[int] = Counter()
    for table in deltas.values():
        found, rows = np.unique(versions(table), return_counts=True)
        for version, count in zip(found.tolist(), rows.tolist(), strict=True):
            counts[epoch_of(version)] += count
    return dict(counts)


def _merge(task: MergeTask) -> StepResult:
    reach("merge.before-files")
    merged = ((path, _merge_tier(task, path, runs)) for path, runs in task.tiers)
    return StepResult(write_runs(task.root, ((path, build_run(d, path)) for path, d in merged if len(d))), {})


def _merge_tier(task: MergeTask, path: AccessPath, runs: tuple[Run, ...]) -> pa.Table:
    opened = [open_run(task.root / r.path, r.offset, r.bytes) for r in runs]
    names = [k.name for k in task.plan.program.map_by_name[path.map].keys]
    return merge_runs(opened, names, task.committed, task.oldest_retained, path.map)
