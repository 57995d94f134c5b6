"""A step in portions: several tasks at a time, each of which computes a part of the deltas of some maps, level by level of the dataflow.

Maps of one level do not read each other. So their deltas can be computed by tasks that know nothing of each other, each for some of the
events, and for some of the groups of derived maps (a range of their hashes). Each writes what it has computed; the tasks of the next levels read
that like stored runs. Runs are multisets: that several have deltas of the same key is no matter.

Maps that are computed from each other are one portion: it visits them until nothing changes. When little is left to do, one task does all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from cumulus_ops.catalog.records import NewRun, Run
from cumulus_ops.compute.apply import ApplyTask, Compute, Loaded, applying, find_concerned, read_columns, settle
from cumulus_ops.compute.correct import CorrectTask, correcting, first_corrected
from cumulus_ops.compute.reading import WHOLE, BatchRef, OwnDeltas, Part, rows_of
from cumulus_ops.compute.refresh import RefreshTask, bound_of_refresh, first_refreshed, refreshing
from cumulus_ops.layout.plans import ProgramPlan

__all__ = ["PortionTask", "compute_portion", "computing", "maps_of", "rows_concerned", "run_levels"]


@dataclass(frozen=True)
class PortionTask:
    """A ``part`` of the deltas that a step adds to the maps ``first``, and to others that are ``allowed`` and follow from these. ``written``: the deltas
    of the step that there are already, none of which is of these maps."""

    step: ApplyTask | RefreshTask | CorrectTask
    first: tuple[str, ...]
    allowed: frozenset[str]
    part: Part
    written: tuple[NewRun, ...]

    @property
    def plan(self) -> ProgramPlan:
        """The program's plan."""
        return self.step.plan


def compute_portion(task: PortionTask, own: OwnDeltas, compute: Compute | None = None) -> None:
    """The deltas of a portion, into ``own``. ``compute``: what computes this part of its step's maps, if there is such already."""
    step = task.step
    own.take(step.root, task.written)
    if isinstance(step, ApplyTask):
        bound = rows_of([step.batch])
    elif isinstance(step, RefreshTask):
        bound = bound_of_refresh(step)
    else:
        bound = sum(rows_of(h.batches) for h in step.history)
    compute = compute or computing(step, task.allowed, task.part)
    settle(task.plan, task.first, task.allowed, compute, bound, own)


def computing(step: ApplyTask | RefreshTask | CorrectTask, maps: frozenset[str], part: Part) -> Compute:
    """What computes a part of the deltas of some maps. Portions of several levels may share it, one after the other: then what their statements have in
    common is loaded and found once."""
    plan = step.plan
    if isinstance(step, ApplyTask):
        loaded = Loaded(plan, step.root, (step.batch,), step.memory, read_columns(plan, maps))
        return applying(step, loaded, part)
    return refreshing(step, maps, part=part) if isinstance(step, RefreshTask) else correcting(step, part)


def maps_of(step: ApplyTask | RefreshTask | CorrectTask) -> frozenset[str]:
    """The maps that a step may add to."""
    return step.plan.refreshed if isinstance(step, RefreshTask) else step.plan.base


def rows_concerned(step: RefreshTask | CorrectTask) -> int:
    """About how many rows a step goes through: events, and what is new of the maps."""
    if isinstance(step, CorrectTask):
        return sum(rows_of(h.batches) for h in step.history)
    return rows_of(step.fresh) + rows_of(step.history) + _new_rows(step, step.plan.refreshed)


def run_levels(
    step: ApplyTask | RefreshTask | CorrectTask,
    tasks: int,
    rows_per_task: int,
    run: Callable[[list[PortionTask]], Iterable[NewRun]],
) -> None:
    """Do a step in portions.

    Args:
        step: what is to be done.
        tasks: in how many parts the maps of a level are computed.
        rows_per_task: when nothing that is left goes through as many rows, one task does all of it.
        run: runs portions of one level, at the same time if it likes, and returns what they have written.
    """
    plan = step.plan
    if isinstance(step, ApplyTask):
        first = find_concerned(step)
    else:
        first = first_refreshed(step) if isinstance(step, RefreshTask) else first_corrected(step)
    allowed = maps_of(step)
    waiting = first & allowed
    written: list[NewRun] = []
    while waiting:
        left = _reached(plan, waiting, allowed)
        if max(_events(step, left), _new_rows(step, left, written)) < rows_per_task:
            run([PortionTask(step, tuple(sorted(waiting)), left, WHOLE, tuple(written))])
            return
        level = min(plan.level_of[name] for name in waiting)
        here = {name for name in waiting if plan.level_of[name] == level}
        new = list(run(_cut(step, here, tasks, tuple(written))))
        written += new
        after = {other for r in new for other in plan.dependents[r.map] if plan.level_of[other] > level}
        waiting = (waiting - here) | (after & allowed)


def _reached(plan: ProgramPlan, names: Iterable[str], allowed: Collection[str]) -> frozenset[str]:
    """These maps, and those that may have deltas because they have."""
    found, waiting = set[str](), [*names]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [other for other in plan.dependents[name] if other in allowed]
    return frozenset(found)


def _events(step: ApplyTask | RefreshTask | CorrectTask, names: Iterable[str]) -> int:
    """How many events those of some maps go through that events add to."""
    relations = {statement.relation for name in names for statement in step.plan.statements[name]}
    groups: list[tuple[BatchRef, ...]]
    match step:
        case ApplyTask():
            groups = [(step.batch,)]
        case RefreshTask():
            groups = [step.fresh]
        case CorrectTask():
            groups = [h.batches for h in step.history]
    return sum(f.rows for batches in groups for b in batches for f in b.files if f.relation in relations)


def _new_rows(
    step: ApplyTask | RefreshTask | CorrectTask, names: Collection[str], written: Iterable[NewRun] = ()
) -> int:
    """How many rows that are new of other maps they go through: each map's in one of its copies."""
    new: list[Run] = []
    if isinstance(step, RefreshTask):
        new = [run for run in step.runs if run.origin > step.refreshed]
    elif isinstance(step, CorrectTask):
        new = [run for run in step.runs if any(not h.clock.covers(run.origin) for h in step.history)]
    copies: dict[str, Counter[str]] = {}
    for run in (*new, *written):
        if not step.plan.dependents[run.map].isdisjoint(names):
            copies.setdefault(run.map, Counter())[run.access_path] += run.rows
    return sum(max(rows.values()) for rows in copies.values())


def _cut(
    step: ApplyTask | RefreshTask | CorrectTask, names: set[str], tasks: int, written: tuple[NewRun, ...]
) -> list[PortionTask]:
    """The portions of some maps of one level."""
    plan = step.plan
    cycles = [plan.strata[place] for place in sorted({plan.place_of[name] for name in names if plan.is_repeated(name)})]
    alone = [PortionTask(step, cycle, frozenset(cycle), WHOLE, written) for cycle in cycles]
    others = tuple(sorted(name for name in names if not plan.is_repeated(name)))
    shares = [PortionTask(step, others, frozenset(others), (i, tasks), written) for i in range(tasks)]
    return [*(shares if others else []), *alone]
