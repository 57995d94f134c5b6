"""Ticks: how now() goes on, epoch by epoch (decision 56).

A tick is an event, appended as a batch of its own to the epoch that its coordinator is about to vote on: it says when the coordinator leaves the
epoch. The first member to vote has it; if that had no reason to, the next one that has. There is a reason where something was appended to
the epoch, or now() passes a row by that time; other epochs repeat the snapshot before them, and what now() is in it. So time that passes
costs a tick where it changes something, and nothing elsewhere.

A tick is stamped, applied, corrected and refreshed as any batch is, taken back if it fails, and read again from the log by a new generation.
"""

from __future__ import annotations

import datetime
from dataclasses import replace

import pyarrow as pa

from cumulus_ops.append.batches import LogWriter, Room, cut_batches
from cumulus_ops.compute.reading import StoredRuns
from cumulus_ops.compute.refresh import is_passed
from cumulus_ops.epochs.minibatch import apply_or_set_aside
from cumulus_ops.files.columns import OFFSET, SIGN
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict
from cumulus_ops.project.processes import reach
from cumulus_ops.project.rhythm import Rhythm
from m3.clock import CLOCK, CLOCK_RELATION

__all__ = ["has_clock", "last_quiet", "passes_something", "tick_if_due"]

#: Among whose names those of ticks are: no source is called so.
SPACE = "now()"
MICROSECOND = datetime.timedelta(microseconds=1)
START = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def has_clock(rt: Runtime) -> bool:
    """Whether some view depends on now()."""
    return CLOCK in rt.program.relation_by_name


def tick_if_due(rt: Runtime, coordinator: int, epoch: int, upto: int | None = None) -> bool:
    """Append and apply the epoch's tick, if it has none and there is a reason. For who is about to vote on it, and on those behind it that are over,
    up to ``upto``: if there are any, nothing but what was appended to it is a reason.

    Returns:
        whether there was anything to do.
    """
    if not has_clock(rt):
        return False
    if rt.catalog.log.has_tick(epoch):
        return _apply_left(rt, coordinator, epoch)
    rhythm = Rhythm.of(rt.project)
    if not any(batch.counts for batch in rt.catalog.log.batches(epoch=epoch)):
        if upto is not None and _newest_over(rt, coordinator, upto) > epoch:
            return False
        ends_at = rt.catalog.members.boundary(coordinator, epoch, rhythm).ends_at
        if not passes_something(rt, min(ends_at, datetime.datetime.now(datetime.UTC))):
            return False
    moment = rt.catalog.members.leave(coordinator, epoch, rhythm).ends_at
    reach("tick.before-append")
    batch = _append(rt, coordinator, epoch, moment)
    reach("tick.after-append")
    if batch is not None:
        rt.executor.prepare(rt.plan)
        apply_or_set_aside(rt, batch)
    return batch is not None


def _apply_left(rt: Runtime, coordinator: int, epoch: int) -> bool:
    """Apply the coordinator's tick if a process has died in between: what belongs to an epoch that has ended is not looked for any more."""
    waiting = rt.catalog.log.batches(state="appended", coordinator=coordinator)
    left = [batch.id for batch in waiting if batch.tick is not None and batch.epoch == epoch]
    for batch in left:
        rt.executor.prepare(rt.plan)
        apply_or_set_aside(rt, batch)
    return bool(left)


def _append(rt: Runtime, coordinator: int, epoch: int, moment: datetime.datetime) -> int | None:
    """Append a tick to the epoch that a coordinator has open; None if another process was quicker."""
    at = (moment - START) // MICROSECOND
    rows = pa.table(
        {
            CLOCK_RELATION.columns[0].name: pa.array([at], pa.int64()).cast(pa.timestamp("us")),
            SIGN: pa.array([1], pa.int8()),
            OFFSET: pa.array([epoch], pa.int64()),
        }
    )
    with rt.catalog.leases.step() as step:
        here, sequence = rt.catalog.members.position(coordinator)
        if here != epoch:
            return None
        writer = LogWriter(rt.project.state, 1, step.label)
        writer.add(CLOCK_RELATION, SPACE, rows)
        (new,) = cut_batches(writer.finish(), coordinator, f"tick of epoch {epoch}", epoch, sequence, Room(1), SPACE)
        try:
            return rt.catalog.log.append([replace(new, inserts=0, tick=at)])[0]
        except Conflict:
            writer.discard()
            return None


def passes_something(rt: Runtime, moment: datetime.datetime) -> bool:
    """Whether now() passes some row, or reaches it, as it goes on to a moment: as far as is applied now."""
    at, before = (moment - START) // MICROSECOND, rt.catalog.log.newest_tick()
    if not has_clock(rt) or (before is not None and at <= before):
        return False
    with rt.catalog.leases.step():
        paths = {passed.copy for derived in rt.plan.derived.values() for passed in derived.passings}
        visible = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
        needed = [run for run in visible if run.map in {path.map for path in paths}]
        return is_passed(rt.plan, StoredRuns(rt.plan, rt.project.state, needed), before, at)


def last_quiet(rt: Runtime, coordinator: int, epoch: int, upto: int) -> int:
    """Of the epochs behind ``epoch``, up to ``upto``, that are over, the last that a coordinator may vote on together with it: all, or
    all but the newest, if now() passes something until that ends, whose tick says so."""
    if not has_clock(rt) or upto <= epoch:
        return upto
    rhythm, newest = Rhythm.of(rt.project), _newest_over(rt, coordinator, upto)
    if newest <= epoch or rt.catalog.log.has_tick(newest):
        return upto
    ends_at = rt.catalog.members.boundary(coordinator, newest, rhythm).ends_at
    return newest - 1 if passes_something(rt, ends_at) else upto


def _newest_over(rt: Runtime, coordinator: int, upto: int) -> int:
    """The newest epoch, ``upto`` at most, that is over for a coordinator."""
    now = datetime.datetime.now(datetime.UTC)
    return min(upto, rt.catalog.members.epoch_at(coordinator, now, Rhythm.of(rt.project)) - 1)
