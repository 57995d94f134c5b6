"""Correct, refresh, checkpoint, merge: how an epoch becomes a snapshot (garbage collection, Cumulus paper, section 4.3)."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cumulus_ops.catalog.epochs import Failure, InError, LeftOut, in_error, left_out
from cumulus_ops.catalog.records import Batch, Clock, HistoryEntry, NewRun, Run, SharedClock, Snapshot, Step
from cumulus_ops.catalog.votes import votes_missing
from cumulus_ops.compute.correct import CorrectTask, History, is_due
from cumulus_ops.compute.reading import BatchRef, opened_runs, rows_within
from cumulus_ops.compute.refresh import RefreshTask
from cumulus_ops.compute.steps import MergeTask, Tier, Unread
from cumulus_ops.coordination.barriers import REFRESH, SETTLE, VOTE, waits_for
from cumulus_ops.epochs.backups import back_up_when_due
from cumulus_ops.epochs.compacting import compact_when_due
from cumulus_ops.epochs.setting_aside import run_without_culprit
from cumulus_ops.maps.hashes import Hashes, add_hashes
from cumulus_ops.maps.runs import AccessPath, pick_tier
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict
from cumulus_ops.project.processes import reach
from cumulus_ops.project.versions import epoch_end
from cumulus_ops.publishing.telling import watch_step, write_notices
from cumulus_ops.query.errors import view_error
from cumulus_ops.query.read import failed_checks_upto

__all__ = [
    "SnapshotReport",
    "collect_garbage",
    "commit",
    "correct",
    "drop_unused",
    "merge",
    "refresh",
    "refresh_task",
    "try_refresh",
]


log = logging.getLogger(__name__)

# Refresh: bringing the maps that depend on derivations up to date with what has been committed.


REFRESH_ATTEMPTS = 3


@watch_step("refresh")
def refresh(rt: Runtime) -> int:
    """Bring all maps that depend on derivations up to date with the newest commit; costs nothing where there are none.

    Returns:
        the number of corrected map entries.

    Raises:
        Conflict: somebody else refreshed at the same time; nothing was changed.
    """
    if not rt.plan.derived:
        return 0
    with rt.catalog.leases.step() as step:
        expected = rt.catalog.commits.refreshed()
        at = rt.catalog.commits.last_commit()
        task = refresh_task(rt, step, expected, at) if at > expected else None
        if task is None:
            if _is_stale(rt):  # a batch without deltas was applied and taken back: there is nothing to do but to say so
                rt.catalog.commits.commit_refresh(expected, at, (), {})
            return 0
        result = run_without_culprit(rt, step, task, lambda to: refresh_task(rt, step, expected, to), expected, at)
        if result is not None:
            reach("refresh.before-commit")
            rt.catalog.commits.commit_refresh(expected, at, result.runs, result.corrected)
            reach("refresh.after-commit")
            return sum(result.corrected.values())
    return refresh(rt)


def try_refresh(rt: Runtime) -> None:
    """Refresh if that is due, unless others do so all the time: then they, or the next refresh, include what this one would have."""
    for _ in range(REFRESH_ATTEMPTS if rt.plan.derived else 0):
        if not _is_stale(rt):
            return
        with suppress(Conflict):
            refresh(rt)


def _is_stale(rt: Runtime) -> bool:
    unsettled = rt.catalog.commits.unsettled()
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
    runs = rt.catalog.commits.runs(at) if runs is None else runs
    fresh = [e.batch for e in rt.catalog.commits.live_history(at, after=refreshed)] + ([] if batch is None else [batch])
    new = [r for r in runs if r.origin > refreshed]
    starts = [r.min_version for r in new]
    starts += [rt.plan.versions.span(b)[0] for b in fresh]
    if not starts:
        return None
    floor = rt.plan.versions.whole(min(starts))
    live = [e.batch for e in rt.catalog.commits.live_history(at, place=rt.plan.versions.batch_at(floor))]
    late = [b for b in live if (b.commit or 0) <= refreshed and rt.plan.versions.span(b)[1] >= floor]
    committed = rt.catalog.snapshots.newest()
    batches = rt.references(fresh), rt.references(late)
    changed = {r.map for r in new}
    concerned = rt.plan.concerned({name for b in batches[0] for name in b.relations()}, changed)
    wanted = rt.plan.looked_up(concerned) | changed
    needed = tuple(r for r in runs if r.map in wanted)
    place = (rt.plan, rt.project.state, needed)
    return RefreshTask(*place, refreshed, *batches, committed, floor, rt.project.memory_bytes, step.label)


#: An attempt fails because another process has corrected or refreshed meanwhile, which leaves the next one less to do.
ATTEMPTS = 25
#: Merging holds fewer columns of a row than a join does, and one path at a time.
MERGE_SHARE = 2
#: What deleting files is called where problems are told.
GARBAGE = "garbage collection"
#: Folders whose files come and go; and those that keep what has ever come, in which only somebody who died has left anything.
FOLDERS, KEEPING = ("runs", "keys", "net"), ("log", "quarantine")
#: The latter are looked through as often: what is left there does no harm.
LOOK_EVERY = 16


@dataclass(frozen=True)
class SnapshotReport:
    """A committed snapshot; ``corrections`` are corrected map entries, ``entries`` the stored map entries, ``without`` the
    batches that failed and are not in it, ``in_error`` the views of which it has no rows, as far as is known before they are read."""

    epoch: int
    version: int
    events: int
    inserts: int
    deletes: int
    corrections: int
    entries: int
    seconds: float
    without: tuple[LeftOut, ...] = ()
    in_error: tuple[InError, ...] = ()


@watch_step("checkpoint")
def commit(rt: Runtime, epoch: int) -> SnapshotReport:
    """Turn a complete epoch into a snapshot of all maps; when it is one, only report it. Those after it to which nothing was appended
    repeat it.

    Raises:
        NotYet: a coordinator has not voted to end it, or an earlier epoch is not committed.
    """
    rt.catalog.snapshots.repeat()
    if epoch > rt.catalog.snapshots.newest():
        if waits_for(rt.coordination, VOTE):
            missing = rt.catalog.votes.missing(epoch)
            if missing:
                raise votes_missing(missing, epoch)
        _commit(rt, epoch)
        rt.catalog.snapshots.repeat()
    merge(rt)
    compact_when_due(rt)
    drop_unused(rt)
    back_up_when_due(rt)  # it names what merging has made, so that what is replaced may go
    is_all_due = epoch % LOOK_EVERY == 0 or rt.catalog.problems.is_failing(GARBAGE)
    collect_garbage(rt, (*FOLDERS, *KEEPING) if is_all_due else FOLDERS)
    write_notices(rt)
    if rt.on_snapshot is not None:
        rt.on_snapshot(rt, epoch)
    snapshot = rt.catalog.snapshots.at(epoch)
    assert snapshot is not None  # it was committed
    batches = [b for b in rt.catalog.log.batches(epoch=epoch) if b.counts and b.tick is None]
    inserts, deletes = sum(b.inserts for b in batches), sum(b.deletes for b in batches)
    corrections = rt.catalog.commits.corrections(epoch).get(epoch, 0)
    totals = (inserts + deletes, inserts, deletes, corrections, snapshot.entries, snapshot.seconds)
    errors = in_error(rt.catalog.results.view_errors(), epoch)
    return SnapshotReport(epoch, snapshot.version, *totals, left_out(rt.catalog.history.failed(), epoch), errors)


def _commit(rt: Runtime, epoch: int) -> None:
    """Wait for what the program's plan names, and for nothing else."""
    started = time.monotonic()
    for attempt in range(ATTEMPTS):
        try:
            if waits_for(rt.coordination, SETTLE):
                correct(rt)
            if waits_for(rt.coordination, REFRESH):
                refresh(rt)
            at = rt.catalog.commits.last_commit()
            reach("checkpoint.before-commit")
            seconds = time.monotonic() - started
            # Entries at or below the snapshot, of one copy per map; unmerged deltas of a key count separately.
            first = {paths[0].map: paths[0].label for paths in rt.plan.paths.values()}
            runs = [
                r
                for r in rt.catalog.commits.runs(at)
                if first.get(r.map) == r.access_path and r.min_version <= epoch_end(epoch)
            ]
            snapshot = Snapshot(epoch, epoch_end(epoch), at, sum(r.rows for r in runs), seconds)
            # final, though there is no snapshot yet: all batches are in, and corrected, or else the catalog refuses
            errors = [view_error(v, epoch, p) for v, p in failed_checks_upto(rt, epoch_end(epoch)).items()]
            checks = {barrier.name for barrier in rt.coordination.barriers}
            rt.catalog.snapshots.checkpoint(snapshot, rt.plan.groups.keys() - rt.plan.base, errors, checks)
            reach("checkpoint.after-commit")
            return
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise


@watch_step("correct")
def correct(rt: Runtime) -> int:
    """One pass of corrections over the live history, up to the newest commit.

    Returns:
        the number of corrected map entries.

    Raises:
        Conflict: somebody else corrected at the same time; nothing was changed.
    """
    with rt.catalog.leases.step() as step:
        at = rt.catalog.commits.last_commit()
        clocks = _to_correct(rt, at)
        if not clocks:
            return 0
        task = _correction(rt, step, clocks, at)
        if task is None:
            rt.catalog.commits.commit_correction(clocks, at, (), {})
            return 0
        since = min(c.clock.prefix for c in clocks)
        result = run_without_culprit(
            rt, step, task, lambda upto: _correction(rt, step, _to_correct(rt, upto), upto), since, at
        )
        if result is not None:
            reach("correct.before-commit")
            rt.catalog.commits.commit_correction(clocks, at, result.runs, result.corrected)
            reach("correct.after-commit")
            return sum(result.corrected.values())
    return correct(rt)


def _to_correct(rt: Runtime, at: int) -> list[SharedClock]:
    """The clocks of the live history if some of them has not come to commit ``at``. All of them are corrected together: who has read
    everything has yet to see the corrections of the others."""
    clocks = rt.catalog.commits.clocks(at)
    return clocks if any(c.clock.prefix < at for c in clocks) else []


def _correction(rt: Runtime, step: Step, clocks: Sequence[SharedClock], at: int) -> CorrectTask | None:
    """What it takes to correct the batches of some clocks up to commit ``at`` (inclusive), None if nothing does.

    Only batches are looked at that count at or after something new: most often few of those that are live."""
    lowest = min((c.clock.prefix for c in clocks), default=at)
    runs = tuple(r for r in rt.catalog.commits.runs(at) if r.map in rt.plan.base)
    first = min((r.min_version for r in runs if r.origin > lowest), default=None)
    if first is None:
        return None
    concerned = {c.id for c in clocks}
    late = rt.catalog.commits.live_history(at, place=rt.plan.versions.batch_at(first))
    history = group_by_clock(rt, [e for e in late if e.clock_id in concerned], at)
    task = CorrectTask(rt.plan, rt.project.state, history, runs, rt.project.memory_bytes, step.label)
    return task if history and is_due(task) else None


def group_by_clock(rt: Runtime, entries: Sequence[HistoryEntry], at: int) -> tuple[History, ...]:
    """Live batches, those together that have incorporated the same: they are corrected in one go."""
    retractions = rt.catalog.asides.retractions(at, min((e.clock.prefix for e in entries), default=at))
    groups: dict[Clock, list[BatchRef]] = {}
    for entry, reference in zip(entries, rt.references([e.batch for e in entries]), strict=True):
        groups.setdefault(entry.clock, []).append(reference)
    return tuple(History(_spare(clock, retractions), tuple(group)) for clock, group in groups.items())


def _spare(clock: Clock, retractions: Sequence[tuple[int, int]]) -> Clock:
    """The clock, as if it had incorporated those batches, and their retractions, of which it has incorporated neither: they add
    up to nothing, and what fails with the one would fail with the other."""
    neither = {c for pair in retractions if not any(map(clock.covers, pair)) for c in pair}
    return replace(clock, exceptions=clock.exceptions | neither)


def merge(rt: Runtime) -> int:
    """Merge small runs of every access path, size-tiered.

    Returns:
        the number of merged access paths; 0 when somebody else was faster.
    """
    try:
        with rt.catalog.leases.step() as step:
            task = _merge_task(rt, step)
            if task is None:
                return 0
            result = rt.executor.run(task)
            unread, merged = list(result.unread), list[tuple[Sequence[Run], Sequence[NewRun]]]()
            left = {(found.group, found.path) for found in unread}
            for tier in task.tiers:
                copy = tier.path.map, tier.path.label
                written = [run for run in result.runs if (run.map, run.access_path) == copy]
                if copy not in left and _holds_the_same(written, tier.runs):
                    merged.append((tier.runs, written))
                elif copy not in left:
                    unread.append(Unread.unproved(tier.path, len(tier.runs)))
            reach("merge.before-commit")
            if merged:
                rt.catalog.commits.commit_merge(merged)
            reach("merge.after-commit")
            _tell_unread(rt, unread)
            return len(merged)
    except Conflict:
        return 0


def _holds_the_same(written: Sequence[NewRun], runs: Sequence[Run]) -> bool:
    """Whether all that was written of a copy has the hash of what was merged; of what a task has looked at it has, of ranges nobody knew."""
    totals = [add_hashes(Hashes(r.content, r.total) for r in those).total for those in (written, runs)]
    return None in totals or totals[0] == totals[1]


def _tell_unread(rt: Runtime, unread: Sequence[Unread]) -> None:
    """Say in the catalog that copies could not be merged, as long as that is so. Nothing else has to wait for them."""
    if unread:  # a run in several copies' packs is damaged by itself, and told of once
        failures = dict.fromkeys(Failure(found.kind, found.problem, found.file) for found in unread)
        rt.catalog.problems.step_fails("merge", None, *failures)
    else:
        rt.catalog.problems.step_succeeds("merge", None)


def most_merged_rows(rt: Runtime) -> int:
    """As many rows may be merged at a time: of a copy with more, one range after the other."""
    return MERGE_SHARE * rows_within(rt.project.memory_bytes)


def _merge_task(rt: Runtime, step: Step) -> MergeTask | None:
    committed = rt.catalog.snapshots.newest()
    by_path: dict[AccessPath, list[Run]] = {}
    paths = {(p.map, p.label): p for group in rt.plan.paths.values() for p in group}
    runs = rt.catalog.commits.mergeable(rt.catalog.commits.last_commit())
    merges = rt.catalog.commits.merges({run.commit for run in runs})
    for run in runs:
        if path := paths.get((run.map, run.access_path)):  # or else it is another revision's
            by_path.setdefault(path, []).append(run)
    tiers = tuple(Tier(path, tuple(tier)) for path, mine in by_path.items() if (tier := pick_tier(mine, merges)))
    if not tiers:
        return None
    oldest = rt.catalog.snapshots.release(rt.project.epoch.retain, rt.project.epoch.pin, rt.project.consumers)
    place = (rt.plan, rt.project.state, tiers, committed, oldest)
    return MergeTask(*place, most_merged_rows(rt), rt.project.memory_bytes, step.label)


def drop_unused(rt: Runtime) -> int:
    """Let go of groups of which no revision needs anything any more; returns how many."""
    if rt.revision == 1:  # nothing was deployed yet
        return 0
    stored = {name for name, _ in rt.catalog.revisions.groups_stored()}
    if stored <= rt.plan.groups.keys():
        return 0
    needed = set(rt.plan.groups)
    for number in rt.catalog.revisions.needed():
        if number != rt.revision:
            needed |= rt.in_revision(rt.catalog.program.record(number)).plan.groups.keys()
    gone = stored - needed
    if gone:
        rt.catalog.revisions.retire(gone)
    return len(gone)


def collect_garbage(rt: Runtime, folders: Sequence[str] = (*FOLDERS, *KEEPING)) -> int:
    """Delete the files of retired runs that nobody can be reading, and files that no row names and no step is about to commit.

    Their age does not matter: whose lease holds may take as long as it likes. What the disk refuses is told of in the catalog, and fails nobody: what it was called
    after is committed.

    Args:
        rt: the open project.
        folders: where to look for files that no row names; none for retired runs alone.

    Returns:
        the number of deleted files.
    """
    rt.catalog.leases.renew()  # what this process has done with may go at once
    root = rt.project.state
    failures, found = list[Failure](), list[Path]()
    for folder in folders:
        try:
            found += [path for path in (root / folder).rglob("*") if path.is_file()]
        except OSError as error:
            failures.append(_undeleted(error, root / folder))
    garbage = rt.catalog.leases.garbage([str(path.relative_to(root)) for path in found])
    deleted = []
    for path in garbage:
        try:
            os.unlink(root / path)
            deleted.append(path)
        except FileNotFoundError:  # somebody else has deleted it meanwhile
            pass
        except OSError as error:
            failures.append(_undeleted(error, root / path))
    if deleted:
        opened_runs.forget(str(root), deleted)
    if failures:
        log.warning("%d files could not be deleted: %s", len(failures), failures[0].problem)
        rt.catalog.problems.step_fails(GARBAGE, None, *failures)
    elif {*folders} == {*FOLDERS, *KEEPING}:  # or else what could not be deleted may be there still
        rt.catalog.problems.step_succeeds(GARBAGE, None)
    return len(deleted)


def _undeleted(error: OSError, file: Path) -> Failure:
    return Failure(type(error).__name__, f"{file}: {error.strerror}", str(file))
