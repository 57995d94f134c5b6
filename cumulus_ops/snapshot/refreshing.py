"""Refresh: bringing the maps that depend on derivations up to date with what has been committed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from cumulus_ops.catalog import Batch, Run, Step
from cumulus_ops.engine import RefreshTask, Runtime
from cumulus_ops.errors import Conflict
from cumulus_ops.faults import reach
from cumulus_ops.snapshot.setting_aside import run_without_culprit
from cumulus_ops.snapshot.watching import watched

__all__ = ["refresh", "refresh_task", "try_refresh"]

ATTEMPTS = 3


@watched("refresh")
def refresh(rt: Runtime) -> int:
    """Bring all maps that depend on derivations up to date with the newest commit; costs nothing where there are none.

    Returns:
        the number of corrected map entries.

    Raises:
        Conflict: somebody else refreshed at the same time; nothing was changed.
    """
    if not rt.plan.derived:
        return 0
    with rt.catalog.step() as step:
        expected = rt.catalog.refreshed()
        at = rt.catalog.last_commit()
        task = refresh_task(rt, step, expected, at) if at > expected else None
        if task is None:
            if _is_stale(rt):  # a batch without deltas was applied and taken back: there is nothing to do but to say so
                rt.catalog.commit_refresh(expected, at, (), {})
            return 0
        result = run_without_culprit(rt, step, task, lambda to: refresh_task(rt, step, expected, to), expected, at)
        if result is not None:
            reach("refresh.before-commit")
            rt.catalog.commit_refresh(expected, at, result.runs, result.corrected)
            reach("refresh.after-commit")
            return sum(result.corrected.values())
    return refresh(rt)


def try_refresh(rt: Runtime) -> None:
    """Refresh if that is due, unless others do so all the time: then they, or the next refresh, include what this one would have."""
    for _ in range(ATTEMPTS if rt.plan.derived else 0):
        if not _is_stale(rt):
            return
        with suppress(Conflict):
            refresh(rt)


def _is_stale(rt: Runtime) -> bool:
    unsettled = rt.catalog.unsettled()
    return unsettled is not None and unsettled.stale


def refresh_task(
    rt: Runtime, step: Step, refreshed: int, at: int, runs: Sequence[Run] | None = None, batch: Batch | None = None
) -> RefreshTask | None:
    """What there is to do since commit ``refreshed`` up to ``at`` (inclusive), None if there is nothing.

    Args:
        rt: the open project.
        step: which does it.
        refreshed: up to which commit the maps are refreshed (inclusive).
        at: up to which they are to be.
        runs: the runs visible at ``at``, if they are known.
        batch: one that is being applied, to be taken in as well.
    """
    runs = rt.catalog.runs(at) if runs is None else runs
    fresh = [e.batch for e in rt.catalog.history(at, after=refreshed)] + ([] if batch is None else [batch])
    starts = [r.min_version for r in runs if r.origin > refreshed]
    starts += [rt.plan.versions.span(b)[0] for b in fresh]
    if not starts:
        return None
    floor = rt.plan.versions.whole(min(starts))
    live = [e.batch for e in rt.catalog.history(at, place=rt.plan.versions.batch_at(floor))]
    late = [b for b in live if (b.commit or 0) <= refreshed and rt.plan.versions.span(b)[1] >= floor]
    committed = rt.catalog.newest_snapshot()
    batches = rt.references(fresh), rt.references(late)
    changed = {r.map for r in runs if r.origin > refreshed}
    concerned = rt.plan.concerned({name for b in batches[0] for name in b.relations()}, changed)
    wanted = rt.plan.looked_up(concerned) | changed
    needed = tuple(r for r in runs if r.map in wanted)
    place = (rt.plan, rt.project.state, needed)
    return RefreshTask(*place, refreshed, *batches, committed, floor, rt.project.memory_bytes, step.label)
