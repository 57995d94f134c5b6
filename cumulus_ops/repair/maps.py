"""Runs of maps that are lost, made again by difference (docs/adr/0086).

What a copy of a group holds is a function of the event log and of which commits count, not of the order in which it was computed. So

    what a lost run held = the truth about its copy at its versions - what the other runs of the copy hold there

and no step has to be replayed. Where the truth comes from depends on who still tells versions apart:

| versions | truth |
|---|---|
| of live batches | what each batch adds to the group, read by its own clock; all other groups are given |
| of epochs that are committed, and readable | what all events of the epoch add, as one batch: within such an epoch nobody tells versions apart |
| up to the oldest readable epoch | a backfill of the group, as for a deployment |
| any | what another copy of the group has there, if it is intact, has the columns, and is not too large |
| several of these at once | what the events of the group's driver add, by version, if it has one |

What is computed is as of one moment of the catalog. It stays right whatever is committed meanwhile: a correction adds a run of its own and leaves the lost one what it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from cumulus_ops.catalog.records import NewRun, Run, Step
from cumulus_ops.epochs.checkpoint import correct, refresh
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict, CumulusError, InputProblem
from cumulus_ops.repair.differences import Part, Repaired
from cumulus_ops.repair.truths import Scope, State, Truths, told_apart

__all__ = ["Repaired", "repair_runs"]

#: As often is a part tried again when others commit meanwhile.
ATTEMPTS = 25
#: So much longer is waited each time for batches that are being applied.
LOOK_S = 0.05


def repair_runs(rt: Runtime, lost: Collection[Run], on_progress: Callable[[str], None] = lambda _: None) -> Repaired:
    """Make lost runs again, while everything else goes on. Killed at any point it can be called again, with those that are lost still.

    Args:
        rt: the open project.
        lost: runs that cannot be read; no other run is missing.
        on_progress: called with one line for each part that is done.

    Raises:
        InputProblem: the program has versions by event, and no part of it can be made for itself.
        IntegrityProblem: something else is damaged, too, or what was made is not what was lost; nothing of that part was changed.
        Conflict: others have changed the same all the time.
    """
    started = time.monotonic()
    if not rt.plan.versions.summed:
        raise InputProblem(
            "the order of events matters for this program, so no part of it can be made for itself",
            kind="repair-event-versions",
            hint="`cumulus anew` makes all maps again from the event log",
        )
    done, made = list[Run](), list[NewRun]()
    waiting = {run.id: run for run in lost}
    for number in _revisions(rt):
        while waiting:
            part = _repair_next(rt, number, waiting, on_progress)
            if part is None:
                break
            for run in part.lost:
                del waiting[run.id]
            done += part.lost
            made += part.made
    _let_go(rt, [*waiting.values()])
    done += waiting.values()
    return Repaired(tuple(done), tuple(made), time.monotonic() - started)


def _revisions(rt: Runtime) -> list[int]:
    """Those whose groups are needed: the current one first, which has all that stays, then one that is being deployed, then those before."""
    others = [number for number in rt.catalog.revisions.needed() if number != rt.revision]
    return [rt.revision, *sorted(others, reverse=True)]


def _let_go(rt: Runtime, runs: Sequence[Run]) -> None:
    """Retire runs of groups that no revision needs."""
    if runs:
        with suppress(Conflict):  # somebody else has done so
            rt.catalog.commits.commit_repair(runs, [])


def _repair_next(
    rt: Runtime, number: int, waiting: dict[int, Run], on_progress: Callable[[str], None]
) -> Repaired | None:
    """Repair the shallowest groups of a revision that have lost runs; None if there are none."""
    scope = Scope.of(rt, number)
    for attempt in range(ATTEMPTS):
        state = State.now(rt)
        gone = waiting.keys() - {run.id for run in state.runs}
        for run in gone:  # merged by somebody who had it open, or not needed any more
            del waiting[run]
        mine = [run for run in waiting.values() if (run.map, run.access_path) in scope.copies]
        if not mine:
            return None
        try:
            with rt.catalog.leases.step() as step:
                part = _choose_part(scope, state, mine, frozenset(waiting), step)
                found = part.repair()
        except Conflict as conflict:
            if attempt == ATTEMPTS - 1:
                raise (told_apart() if conflict.kind == "repair-told-apart" else conflict) from conflict
            if (
                conflict.kind == "repair-told-apart"
            ):  # by a batch that is being applied; or by who does not look at them
                time.sleep(LOOK_S * attempt)
                with suppress(CumulusError):
                    correct(rt)
                    refresh(rt)
            continue
        rows = sum(run.rows for run in found.made)
        on_progress(
            f"{', '.join(sorted(part.truths.names))}: {len(part.lost)} runs made again, {rows:,} rows in {found.seconds:.2f} s"
        )
        return found
    raise AssertionError("unreachable")


def _choose_part(scope: Scope, state: State, lost: Sequence[Run], missing: frozenset[int], step: Step) -> Part:
    """The lost runs that are made again next: all, if they are of some groups whose truth is computed at once; all of one batch or epoch in one go, the first ones
    first, if each belongs to one; or else those of the shallowest groups."""

    def part(runs: Sequence[Run], *, together: bool) -> Part:
        names = frozenset(run.map for run in runs)
        return Part(Truths(scope, state, names, missing, step, together), tuple(runs))

    def kind(run: Run) -> tuple[bool, int]:
        return run.map not in scope.rt.plan.base, scope.since.get(run.map, 0)

    first = min(map(scope.place, lost))
    shallowest = part([run for run in lost if scope.place(run) == first], together=False)
    if len(shallowest.lost) == len(lost) and shallowest.is_at_once:
        return shallowest
    kinds: dict[tuple[bool, int], list[Run]] = {}
    for run in lost:
        kinds.setdefault(kind(run), []).append(run)
    by_slot: dict[tuple[int, tuple[bool, int]], list[Run]] = {}
    for key, runs in kinds.items():
        for slot in part(runs, together=True).slots():
            for run in filter(slot.overlaps, runs):
                by_slot.setdefault((slot.first, key), []).append(run)
    parts = [part(runs, together=True) for _, runs in sorted(by_slot.items())]
    if sum(len(p.lost) for p in parts) == len(lost) and all(p.is_in_one_slot() for p in parts):
        return parts[0]
    return shallowest
