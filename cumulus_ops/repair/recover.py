"""Recovery: what is damaged is found, made again from what is intact, and proved, while everything else goes on.

::

    look at all files ──> plan ──> carry out, kind by kind ──> look again at what was damaged ──> report
                                                                         │ what is damaged still, and has become less
                          ^──────────────────────────────────────────────┘

Nothing is rewritten but what is damaged. Killed at any point it is called again, and finds what is left: each repair ends in one transaction, or in one rename.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import Run
from cumulus_ops.maps.packs import verify_run
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import CumulusError, InputProblem, NotYet
from cumulus_ops.project.settings import Project
from cumulus_ops.repair.damage import (
    RUN,
    Damage,
    Outcome,
    Report,
)
from cumulus_ops.repair.fsck import Progress, fsck
from cumulus_ops.repair.logs import repair_log
from cumulus_ops.repair.maps import repair_runs
from cumulus_ops.repair.others import put_aside, repair_key_indexes, repair_net_tables
from cumulus_ops.repair.plan import Plan, Repair, plan_repair
from cumulus_ops.repair.published import repair_tables
from cumulus_ops.repair.state_files import HOLDS, find_damaged_claim, repair_state_files, write_claim

__all__ = ["Recovered", "look_at_claim", "open_claim", "recover"]


Say = Callable[[str], None]
#: The files that are found damaged when all others were made again, as a log file behind a damaged net table, are made again in a further round.
ROUNDS = 3
#: So long a switch to another revision is waited for, which itself waits for the batches that are being applied; and as often is looked whether it is over.
SWITCH_S, LOOK_S = 180.0, 0.05


@dataclass(frozen=True)
class Recovered:
    """What was ``found``, what was planned, and what became of it; ``seconds`` in all."""

    found: Report
    plan: Plan
    outcome: Outcome
    seconds: float
    is_dry: bool = False


def look_at_claim(project: Project) -> list[Damage]:
    """What keeps a project from being opened, and can be repaired."""
    catalog = Catalog(project.catalog_url, project.state)
    try:
        catalog.database.check_schema()
        return find_damaged_claim(project, catalog)
    finally:
        catalog.close()


def open_claim(project: Project, on_progress: Say = lambda _: None) -> list[Damage]:
    """Let a project be opened whose state folder does not say any more whose it is, if the catalog's files are there.

    Returns:
        what was repaired.
    """
    catalog = Catalog(project.catalog_url, project.state)
    try:
        catalog.database.check_schema()
        found = find_damaged_claim(project, catalog)
        for damage in found:
            write_claim(project, catalog)
            on_progress(f"{damage.file}: written again, from the catalog")
        return found
    finally:
        catalog.close()


def recover(
    rt: Runtime,
    only: Sequence[str] = (),
    on_progress: Say = lambda _: None,
    on_look: Callable[[Progress], None] = lambda _: None,
    *,
    dry_run: bool = False,
) -> Recovered:
    """Find what is damaged, and make it again.

    Args:
        rt: the open project.
        only: files to look at, relative to the state folder; empty: all.
        on_progress: called with one line for each thing done.
        on_look: called after each file that was looked at.
        dry_run: only plan.

    Raises:
        InputProblem: a file is neither there nor known.
        NotYet: somebody else repairs, or another revision is being switched to for too long.
        RevisionOver: one was switched to meanwhile: the project is to be opened again.
    """
    started = time.monotonic()
    only = _name_files(rt, only)
    if dry_run:
        found = fsck(rt, on_look, only=only)
        return Recovered(found, plan_repair(rt, found.damages), Outcome(), time.monotonic() - started, is_dry=True)
    with _recovering(rt, on_progress):
        found = fsck(rt, on_look, only=only)
        plan = plan_repair(rt, found.damages)
        outcome, waiting = Outcome(), found.damages
        for _ in range(ROUNDS):
            done = _carry_out(rt, plan_repair(rt, waiting), on_progress)
            rest = _look_again(rt, waiting, on_look) if waiting else ()
            outcome = Outcome(outcome.done + _done(waiting, done, rest), _only(done.left, rest))
            if not rest or len(rest) >= len(waiting):
                break
            waiting = rest
        return Recovered(found, plan, outcome, time.monotonic() - started)


@contextmanager
def _recovering(rt: Runtime, on_progress: Say) -> Iterator[None]:
    """Be the one who repairs. A switch to another revision is waited for: it takes about as long as a batch, and what it needs is not replaced meanwhile."""
    until, told = time.monotonic() + SWITCH_S, False
    with rt.catalog.leases.step() as step, ExitStack() as stack:
        while True:
            try:
                stack.enter_context(rt.catalog.repairs.recovering(step))
                break
            except NotYet as problem:
                if problem.kind != "switching" or time.monotonic() > until:
                    raise
                if not told:
                    on_progress(f"waiting: {problem.message}")
                told = True
                time.sleep(LOOK_S)
        yield


def _name_files(rt: Runtime, files: Sequence[str]) -> list[str]:
    """Files as `fsck` names them, whether they are given so, or by where they are.

    Raises:
        InputProblem: one is neither there nor known.
    """
    state, named = rt.project.state, list[str]()
    known = rt.catalog.leases.known_paths() | {damage.file for damage in rt.catalog.repairs.damages()} | {*HOLDS}
    for file in files:
        place = Path(file).absolute()
        inside = place.relative_to(state.absolute()).as_posix() if place.is_relative_to(state.absolute()) else file
        if inside not in known and not (state / inside).exists() and not place.is_dir():
            hint = "name it as `cumulus fsck` does, relative to the state folder"
            raise InputProblem(f"there is no file {file}, and none is missing there", kind="unknown-file", hint=hint)
        named.append(inside)
    return named


def _carry_out(rt: Runtime, plan: Plan, on_progress: Say) -> Outcome:
    outcome = Outcome()
    for parts in _together(plan):
        damages = tuple(damage for repair in parts for damage in repair.damages)
        rt.catalog.repairs.doing(f"makes again: {damages[0].holds}, from {parts[0].source}")
        try:
            outcome += _repair(rt, replace(parts[0], damages=damages), on_progress)
        except CumulusError as problem:
            # what cannot be made again is not to keep the rest from it
            alone = [_carry_out(rt, Plan((part,)), on_progress) for part in parts] if len(parts) > 1 else []
            alone = alone or [Outcome(left=tuple((damage, str(problem)) for damage in damages))]
            outcome = sum(alone, outcome)
    return outcome


def _together(plan: Plan) -> list[list[Repair]]:
    """Runs are made again in one go, whatever they are made from: what is lost of one map is computed from what is lost of others. Everything else by itself."""
    runs = [repair for repair in plan.repairs if repair.kind == RUN]
    return [runs if repair in runs else [repair] for repair in plan.repairs if repair not in runs[1:]]


def _repair(rt: Runtime, repair: Repair, on_progress: Say) -> Outcome:
    damages = list(repair.damages)
    match repair.kind:
        case "state-file":
            return repair_state_files(rt, damages, on_progress)
        case "log" | "quarantine":
            return repair_log(rt, damages, on_progress)
        case "net-table":
            return repair_net_tables(rt, damages, on_progress)
        case "run":
            return _repair_runs(rt, damages, on_progress)
        case "published":
            return repair_tables(rt, damages, on_progress)
        case "key-index":
            return repair_key_indexes(rt, damages, on_progress)
        case "foreign":
            return put_aside(rt, damages, on_progress)
    raise AssertionError(f"unreachable: {repair.kind}")


def _repair_runs(rt: Runtime, damages: Sequence[Damage], on_progress: Say) -> Outcome:
    lost = [damage.row for damage in damages if isinstance(damage.row, Run)]
    made = repair_runs(rt, lost, on_progress)
    for run in made.made:
        verify_run(rt.project.state / run.path, run.offset, run.bytes, run.root)
    gone = {run.id for run in made.lost}
    how = "made again by difference, in another file"
    done = tuple((damage, how) for damage in damages if isinstance(damage.row, Run) and damage.row.id in gone)
    merged = "it was merged meanwhile, by somebody who had it open"
    return Outcome(done + tuple((damage, merged) for damage in damages if (damage, how) not in done))


def _look_again(rt: Runtime, damages: Sequence[Damage], on_look: Callable[[Progress], None]) -> tuple[Damage, ...]:
    """What is damaged still."""
    return fsck(rt, on_look, only=[damage.file for damage in damages]).damages


def _done(waiting: Sequence[Damage], done: Outcome, rest: Sequence[Damage]) -> tuple[tuple[Damage, str], ...]:
    """How each of what was damaged, and is no more, was made again."""
    hows, keys = {_key(damage): how for damage, how in done.done}, {_key(damage) for damage in rest}
    whole = [damage for damage in waiting if _key(damage) not in keys]
    return tuple((damage, hows.get(_key(damage), "made again, or not needed any more")) for damage in whole)


def _only(left: Sequence[tuple[Damage, str]], rest: Sequence[Damage]) -> tuple[tuple[Damage, str], ...]:
    """Why each of what is damaged still is left."""
    whys = {_key(damage): why for damage, why in left}
    return tuple((damage, whys.get(_key(damage), damage.detail)) for damage in rest)


def _key(damage: Damage) -> tuple[str, str, int | None]:
    return damage.kind, damage.file, damage.offset
