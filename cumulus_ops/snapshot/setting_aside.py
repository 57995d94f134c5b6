"""Setting a batch aside: when it fails again and again, or when corrections or refreshes fail because of it.

A step of several batches that fails has begun to fail with some commit: the first up to which it cannot be done. It is found by
bisection, and if it is one with which a batch was applied, that batch is taken back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from cumulus_ops.catalog import Batch, HistoryEntry, Step
from cumulus_ops.engine import Runtime, StepResult
from cumulus_ops.engine.failures import explain, verdict
from cumulus_ops.engine.retract import retracted
from cumulus_ops.engine.steps import Task
from cumulus_ops.snapshot.notices import write_notices

__all__ = ["is_set_aside", "retract", "run_without_culprit", "tell_of"]

log = logging.getLogger(__name__)

#: A step that fails as often is searched for the batch with which it does.
ATTEMPTS = 2

#: What a step does up to a commit (inclusive); None if there is nothing to do.
TaskUpTo = Callable[[int], Task | None]


def is_set_aside(batch: Batch) -> bool:
    """Whether somebody has to decide about the batch."""
    return batch.state == "aside"


def tell_of(rt: Runtime, batch: Batch) -> None:
    """Say that a batch was set aside, with all that is known of the reason."""
    write_notices(rt)
    name = f"batch {batch.id} (coordinator {batch.coordinator}, drop {batch.drop}, epoch {batch.epoch})"
    log.error("set aside: %s; see `cumulus batch list`. The reason:\n%s", name, batch.reason)


def run_without_culprit(
    rt: Runtime, step: Step, task: Task, task_up_to: TaskUpTo, since: int, at: int
) -> StepResult | None:
    """Do a step of several batches. If it fails for a defect, set the batch aside with whose commit it begins to fail.

    Args:
        rt: the open project.
        step: which does it.
        task: what it does, for all commits after ``since`` (exclusive) up to ``at`` (inclusive).
        task_up_to: the same up to an earlier commit.
        since, at: see ``task``.

    Returns:
        what it did; None if a batch was set aside, so that it has to be planned anew.

    Raises:
        Exception: what failed, if that is no batch's fault, or whose it is cannot be found; then a note says what is known.
    """
    for attempt in range(ATTEMPTS):
        try:
            return rt.executor.run(task)
        except Exception as error:
            if verdict(error) != "defect":
                raise
            if attempt == ATTEMPTS - 1:
                _set_aside(rt, step, _first_failing(rt, task_up_to, since, at), error)
    return None


def _first_failing(rt: Runtime, task_up_to: TaskUpTo, since: int, at: int) -> int:
    """The first commit up to which the step fails, if it fails up to ``at``."""
    works, fails = since, at
    while fails - works > 1:
        middle = (works + fails) // 2
        if _fails(rt, task_up_to, middle):
            fails = middle
        else:
            works = middle
    return fails


def _fails(rt: Runtime, task_up_to: TaskUpTo, upto: int) -> bool:
    task = task_up_to(upto)
    try:
        if task is not None:
            rt.executor.run(task)
    except Exception as error:
        if verdict(error) != "defect":
            raise
        return True
    return False


def _set_aside(rt: Runtime, step: Step, commit: int, error: Exception) -> None:
    at = rt.catalog.last_commit()
    entry = next((e for e in rt.catalog.history(at) if e.batch.commit == commit), None)
    if entry is None:
        error.add_note(f"It fails from commit {commit} on, which is none of a batch: no batch can be set aside for it.")
        raise error
    name = f"batch {entry.batch.id} (coordinator {entry.batch.coordinator}, drop {entry.batch.drop})"
    if rt.plan.derived and commit <= rt.catalog.refreshed():
        error.add_note(
            f"It fails from the commit of {name} on; derived maps have incorporated it, so it cannot be set aside."
        )
        raise error
    retract(rt, step, entry, f"with it, what several batches concern began to fail: {explain(error)}")
    tell_of(rt, rt.catalog.batch(entry.batch.id))


def retract(rt: Runtime, step: Step, entry: HistoryEntry, reason: str) -> None:
    """Set a batch aside that is applied: commit the negative of all its deltas, so that it is as if it had never been.

    Raises:
        Conflict: it was corrected or retired meanwhile, or derived maps have incorporated it.
    """
    runs = [r for r in rt.catalog.runs(rt.catalog.last_commit()) if r.map in rt.plan.base]
    root, own = rt.project.state, [r for r in runs if r.commit == entry.batch.commit]
    others = [r for r in runs if r.commit != entry.batch.commit]
    negative, corrections = (retracted(rt.plan, root, part, entry.batch, step.label) for part in (own, others))
    rt.catalog.retract(entry, negative, corrections, reason)
