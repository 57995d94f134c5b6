"""Batches of which processes die: whose fault that is, and when they are tried again (decision 0043).

A process that is killed says nothing. It may have been preempted, or have lost its machine, or a Spark worker; or the batch needs more memory than
there is, or meets a fault of a library. So deaths alone convict nobody: after some of them the batch is **tried apart**, by a process that does
nothing else, in process and not on Spark, in smaller portions and within the project's memory. If that one dies while this one lives to see it,
twice, the batch is set aside; if this one is killed meanwhile, nobody has seen anything.

What was short then may not be later. So what was set aside for deaths alone is tried again by itself, apart, at intervals that double, five times at most.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cumulus_ops.apart import ChildDied, run_apart
from cumulus_ops.catalog import Batch
from cumulus_ops.catalog.asides import UNENDED
from cumulus_ops.config import LEAST_MEMORY, Project
from cumulus_ops.engine import Runtime, open_runtime
from cumulus_ops.errors import Conflict, CumulusError
from cumulus_ops.snapshot.deciding import retry_batch

__all__ = ["DiedOfIt", "apply_apart", "is_due", "is_suspect", "retry_due"]

log = logging.getLogger(__name__)

#: The clock by which batches are tried again: seconds since 1970.
clock_s = time.time
#: A batch is tried apart so often before it is set aside, and once when it was before: somebody may have killed that very process.
DEATHS = 2
#: How much smaller the portions are that a step takes apart.
SMALLER = 4
#: What an interpreter with all libraries and its threads needs beside what a step holds.
INTERPRETER_BYTES = 2 << 30


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
    attempts = 1 if rt.catalog.batch(batch).deaths else DEATHS
    for attempt in range(attempts):
        try:
            for _ in run_apart(f"{__name__}:apply_here", project, batch, data_bytes=room):
                pass
            return
        except ChildDied as death:
            log.warning("batch %d: %s", batch, death.message)
            if attempt == attempts - 1:
                reason = f"processes die of it: alone, in smaller portions and within {room:,} bytes, {death.message}"
                more = "One that needs more memory than there is would do so, or one that meets a fault of a library."
                rt.catalog.set_aside_dead(batch, f"{reason}\n{more}", clock_s())
                hint = "`cumulus batch list` shows it"
                raise DiedOfIt(reason, kind="set-aside", place=f"batch {batch}", hint=hint) from death


def apply_here(project: Project, batch: int) -> Iterator[bytes]:
    """What the other process does."""
    from cumulus_ops.snapshot.minibatch import apply_batch

    with open_runtime(project, "inprocess") as rt:
        apply_batch(rt, batch)
    yield from ()


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
            rt.catalog.give_up(batch.id)
    return []
