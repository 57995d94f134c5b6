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
from cumulus_ops.engine.budget import DEFAULT_MEMORY
from cumulus_ops.engine.correct import CorrectTask, correct_history
from cumulus_ops.engine.opened import opened_runs
from cumulus_ops.engine.refresh import RefreshTask, is_correction, refresh_maps
from cumulus_ops.engine.sources import OwnDeltas
from cumulus_ops.faults import reach
from cumulus_ops.layout import ProgramPlan
from cumulus_ops.mapstore import AccessPath, Pack, build_run, merge_runs, open_run, write_runs
from cumulus_ops.versions import EPOCH_SHIFT

__all__ = ["MergeTask", "MinibatchTask", "StepResult", "Task", "run_step"]


@dataclass(frozen=True)
class MergeTask:
    """Merge the runs of each access path in ``tiers``; see :func:`cumulus_ops.mapstore.merge_runs` for the epochs. ``label``: of
    the step that does."""

    plan: ProgramPlan
    root: Path
    tiers: tuple[tuple[AccessPath, tuple[Run, ...]], ...]
    committed: int
    oldest_retained: int
    memory: int = DEFAULT_MEMORY
    label: str = ""


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
    if isinstance(task, MergeTask):
        return _merge(task)
    given = task.apply if isinstance(task, MinibatchTask) else task
    opened_runs.limit(given.memory // 4)
    own = OwnDeltas(task.plan, Pack(given.root, given.label), given.memory // 4)
    corrected: Mapping[int, int] = {}
    match task:
        case ApplyTask():
            reach("apply.before-files")
            apply_events(task, own)
        case MinibatchTask():
            reach("apply.before-files")
            loaded = apply_events(task.apply, own)
            reach("refresh.before-files")
            refresh_maps(task.refresh, own, loaded)
            corrected = _refreshed(task.refresh, own)
        case RefreshTask():
            reach("refresh.before-files")
            refresh_maps(task, own)
            corrected = _refreshed(task, own)
        case CorrectTask():
            reach("correct.before-files")
            correct_history(task, own)
            corrected = count_by_epoch(own.versions())
    return StepResult(own.finish(), corrected, isinstance(task, MinibatchTask))


def _refreshed(task: RefreshTask, own: OwnDeltas) -> dict[int, int]:
    """epoch -> deltas of refreshed maps that make up for something computed before."""
    found = {name: v for name, v in own.versions().items() if name not in task.plan.base}
    return count_by_epoch({name: v[is_correction(task, v)] for name, v in found.items()})


def count_by_epoch(deltas: Mapping[str, np.ndarray]) -> dict[int, int]:
    """epoch -> number of deltas with a version in it, from the versions by map."""
    counts: Counter[int] = Counter()
    for found in deltas.values():
        epochs, rows = np.unique(found >> EPOCH_SHIFT, return_counts=True)
        counts.update(dict(zip(epochs.tolist(), rows.tolist(), strict=True)))
    return dict(counts)


def _merge(task: MergeTask) -> StepResult:
    reach("merge.before-files")
    merged = ((path, _merge_tier(task, path, runs)) for path, runs in task.tiers)
    return StepResult(write_runs(task.root, (build_run(d, path) for path, d in merged if len(d)), task.label), {})


def _merge_tier(task: MergeTask, path: AccessPath, runs: tuple[Run, ...]) -> pa.Table:
    opened = [open_run(task.root / r.path, r.offset, r.bytes) for r in runs]
    names = [k.name for k in task.plan.groups[path.map].keys]
    return merge_runs(opened, names, task.committed, task.oldest_retained)
