"""Setting a batch aside: when it fails again and again, or when corrections or refreshes fail because of it.

A step of several batches that fails has begun to fail with some commit: the first up to which it cannot be done. It is found by
bisection, and if it is one with which a batch was applied, that batch is taken back.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from cumulus_ops.catalog.asides import UNENDED
from cumulus_ops.catalog.records import Batch, HistoryEntry, Step
from cumulus_ops.compute.apply import retract_batch
from cumulus_ops.compute.steps import StepResult, Task, explain, verdict
from cumulus_ops.epochs.quarantine import retry_batch
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict, CumulusError
from cumulus_ops.project.processes import ChildDied, run_apart
from cumulus_ops.project.settings import LEAST_MEMORY
from cumulus_ops.publishing.telling import write_notices

__all__ = [
    "DiedOfIt",
    "apply_apart",
    "is_due",
    "is_set_aside",
    "is_suspect",
    "retract",
    "retry_due",
    "run_without_culprit",
    "tell_of",
]


# Batches of which processes die: whose fault that is, and when they are tried again (decision 0043).
#
# A process that is killed says nothing. It may have been preempted, or have lost its machine, or a Spark worker; or the batch needs more memory than
# there is, or meets a fault of a library. So deaths alone convict nobody: after some of them the batch is **tried apart**, by a process that does
# nothing else, in process and not on Spark, in smaller portions and within the project's memory. If that one dies while this one lives to see it,
# twice, the batch is set aside; if this one is killed meanwhile, nobody has seen anything.
#
# What was short then may not be later. So what was set aside for deaths alone is tried again by itself, apart, at intervals that double, five times at most.


log = logging.getLogger(__name__)

#: The clock by which batches are tried again: seconds since 1970.
clock_s = time.time
#: A batch is tried apart so often before it is set aside, and once when it was before: somebody may have killed that very process.
DEATHS = 2
#: How much smaller the portions are that a step takes apart.
SMALLER = 4
#: What an interpreter with all libraries and its threads needs beside what a step holds.
INTERPRETER_BYTES = 2 << 30


#: What that process runs. It is found by its name there, and applies as everybody does.
APPLY_HERE = "cumulus_ops.epochs.minibatch:apply_here"


class DiedOfIt(CumulusError):
    """A batch was set aside because a process that did nothing else died of it."""


def is_suspect(batch: Batch) -> bool:
    """Whether it is to be tried apart: processes have died at it, of whatever cause."""
    return batch.unended >= UNENDED or batch.deaths > 0


def apply_apart(rt: Runtime, batch: int) -> None:
    """Apply an appended batch by a process that does nothing else.

    Raises:
        DiedOfIt: that process died; the batch is set aside.
        Exception: what it raised; the catalog has counted it if that is the batch's fault.
    """
    project = replace(rt.project, memory=max(LEAST_MEMORY, rt.project.memory_bytes // SMALLER))
    room = rt.project.memory_bytes + INTERPRETER_BYTES
    attempts = 1 if rt.catalog.log.batch(batch).deaths else DEATHS
    for attempt in range(attempts):
        try:
            for _ in run_apart(APPLY_HERE, project, batch, data_bytes=room):
                pass
            return
        except ChildDied as death:
            log.warning("batch %d: %s", batch, death.message)
            if attempt == attempts - 1:
                reason = f"processes die of it: alone, in smaller portions and within {room:,} bytes, {death.message}"
                more = "One that needs more memory than there is would do so, or one that meets a fault of a library."
                rt.catalog.asides.set_aside_dead(batch, f"{reason}\n{more}", clock_s())
                hint = "`cumulus batch list` shows it"
                raise DiedOfIt(reason, kind="set-aside", place=f"batch {batch}", hint=hint) from death


def is_due(batch: Batch) -> bool:
    """Whether it is set aside, and the time has come to try it again."""
    return batch.state == "aside" and batch.retry_at is not None and batch.retry_at <= clock_s()


def retry_due(rt: Runtime, waiting: Sequence[Batch]) -> list[Batch]:
    """Append the first batch again that is due, into the open epoch of its coordinator; it will be tried apart.

    Returns:
        the new batch, or none.
    """
    for batch in filter(is_due, waiting):
        try:
            return [retry_batch(rt, batch.id)]
        except Conflict:  # somebody else has appended, or decided: the next look will tell
            return []
        except Exception:
            log.exception("batch %d cannot be tried again by itself; `cumulus batch retry` says why", batch.id)
            rt.catalog.asides.give_up(batch.id)
    return []


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
    at = rt.catalog.commits.last_commit()
    entry = next((e for e in rt.catalog.commits.live_history(at) if e.batch.commit == commit), None)
    if entry is None:
        error.add_note(f"It fails from commit {commit} on, which is none of a batch: no batch can be set aside for it.")
        raise error
    name = f"batch {entry.batch.id} (coordinator {entry.batch.coordinator}, drop {entry.batch.drop})"
    if rt.plan.derived and commit <= rt.catalog.commits.refreshed():
        error.add_note(
            f"It fails from the commit of {name} on; derived maps have incorporated it, so it cannot be set aside."
        )
        raise error
    retract(rt, step, entry, f"with it, what several batches concern began to fail: {explain(error)}")
    tell_of(rt, rt.catalog.log.batch(entry.batch.id))


def retract(rt: Runtime, step: Step, entry: HistoryEntry, reason: str) -> None:
    """Set a batch aside that is applied: commit the negative of all its deltas, so that it is as if it had never been.

    Raises:
        Conflict: it was corrected or retired meanwhile, or derived maps have incorporated it.
    """
    runs = [r for r in rt.catalog.commits.runs(rt.catalog.commits.last_commit()) if r.map in rt.plan.base]
    # by their origin: what was lost and made again was made visible by a later commit, and counts as its own
    root, own = rt.project.state, [r for r in runs if r.origin == entry.batch.commit]
    others = [r for r in runs if r.origin != entry.batch.commit]
    negative, corrections = (retract_batch(rt.plan, root, part, entry.batch, step.label) for part in (own, others))
    rt.catalog.asides.retract(entry, negative, corrections, reason)
