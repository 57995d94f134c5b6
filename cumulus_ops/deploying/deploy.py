"""Deploying a changed project while its epochs go on (docs/adr/0063).

::

    begin ──> fill (up to the newest snapshot) ──> switch ──> the change is current from the next epoch on
                 ^                     │ an epoch was committed meanwhile
                 └─────────────────────┘

Its new groups are *filled* set at a time, as of a committed snapshot, then with what was committed meanwhile, until nothing is missing. The *switch* takes about as long as a
batch, during which none begins. Until then nobody is concerned. Whoever dies at any point leaves rows that say how far it is: the next call goes on from there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog.records import LogFile, NewRun, Run, Step
from cumulus_ops.catalog.revisions import Deployment
from cumulus_ops.compute.extend import ExtendTask, relations_read
from cumulus_ops.compute.reading import BatchRef
from cumulus_ops.coordination.plan import write_plan
from cumulus_ops.deploying.changes import Change, check_what_came, find_change
from cumulus_ops.epochs.checkpoint import correct, refresh
from cumulus_ops.files.net_tables import choose_base_files
from cumulus_ops.maps.deltas import VERSION, project_deltas
from cumulus_ops.maps.packs import open_run, write_runs
from cumulus_ops.maps.runs import AccessPath, RunData, build_run
from cumulus_ops.opening.columns import renamed_since
from cumulus_ops.opening.runtime import Runtime, initialise, source_of
from cumulus_ops.project.definition import definition_of
from cumulus_ops.project.errors import Conflict, InputProblem, NotYet
from cumulus_ops.project.processes import reach
from cumulus_ops.project.versions import epoch_end
from cumulus_ops.publishing.telling import watch_step

__all__ = [
    "BY_REQUEST",
    "Deployed",
    "abort",
    "deploy",
    "files_between",
    "fill",
    "fill_groups",
    "fill_task",
    "going_back",
    "previous",
    "previous_revision",
    "some_cores",
]

#: Why a deployment was given up by a person.
BY_REQUEST = "by request"

#: As often is a switch tried again when others commit meanwhile, at once; an attempt leaves less to do for the next one.
ATTEMPTS = 25
#: For so long a switch waits for the batches that are being applied.
APPLY_S, LOOK_S = 120.0, 0.02
#: As often does it look whether a recovery is over.
REPAIR_S = 0.5


@dataclass(frozen=True)
class Deployed:
    """What a deployment did: the ``revision`` is current from the epoch ``since`` on. ``filled``: the events that were read to fill its new groups;
    ``switch_s``: how long no batch could begin."""

    revision: int
    since: int
    filled: int
    seconds: float
    switch_s: float


@watch_step("deploy")
def deploy(
    rt: Runtime,
    on_progress: Callable[[str], None] = lambda _: None,
    memory: int | None = None,
    *,
    replan: bool = False,
    back_to: int | None = None,
) -> Deployed | None:
    """Make what the project's folder defines its next revision. Killed at any point it can be called again, and goes on.

    Args:
        rt: the open project; its plan is the old one's afterwards, so it has to be opened again.
        on_progress: called with one line for each thing done.
        memory: how many bytes the filling may hold; the project's own setting if None.
        replan: make all maps anew, see :func:`~cumulus_ops.deploying.changes.find_change`.
        back_to: deploy this earlier revision again, instead of the folder.

    Returns:
        what was done; None if the folder defines what is maintained already.

    Raises:
        InputProblem: the change cannot be made; or another one is being deployed.
        M3Error: a view is wrong.
    """
    started = time.monotonic()
    rt = rt if back_to is None else going_back(rt, back_to)
    change = find_change(rt, replan=replan)
    if change.is_nothing:
        initialise(rt.as_edited)  # seals, keys and the like
        return None
    begun = _begin(rt, change, back_to)
    new = replace(
        rt,
        plan=change.plan,
        coordination=change.coordination,
        project=replace(rt.project, memory=memory or rt.project.memory),
    )
    filled = 0
    switch_s: float | None = None
    while switch_s is None:
        begun, events = _fill_up(rt, new, change, begun, on_progress, back_to)
        filled += events
        _await_recovery(rt, on_progress)
        with suppress(NotYet):  # an epoch was committed meanwhile: there is a little more to fill
            switch_s = _switch(rt, new, change, begun)
    reach("switch.after-commit")
    _finish(rt, change)
    assert begun.base is not None
    since = begun.base + 1
    on_progress(f"revision {begun.number} is current from epoch {since} on")
    return Deployed(begun.number, since, filled, time.monotonic() - started, switch_s)


def _await_recovery(rt: Runtime, on_progress: Callable[[str], None]) -> None:
    """Wait while somebody repairs what is damaged, under the revision that wrote it. One that begins later waits for the switch."""
    told = ""
    while (under_way := rt.catalog.repairs.under_way()) is not None:
        if under_way.doing != told:
            told = under_way.doing
            on_progress(f"waiting for a recovery, which {told}")
        time.sleep(REPAIR_S)


def _begin(rt: Runtime, change: Change, back_to: int | None) -> Deployment:
    with rt.catalog.leases.step() as step:
        return rt.catalog.revisions.begin(change.record, change.told(back_to), step)


def _finish(rt: Runtime, change: Change) -> None:
    """What follows from a switch; who is killed before it leaves it to :func:`~cumulus_ops.opening.runtime.initialise`, which does it as well."""
    rt.catalog.finals.look_again()
    if definition_of(rt.as_edited) != change.record.definition:
        initialise(rt.as_edited)  # seals, keys and the like
        return
    rt.catalog.program.record_source(source_of(rt.as_edited), change.coordination.to_json())
    write_plan(rt.project.state, change.coordination)


def previous(rt: Runtime) -> Runtime:
    """The project as if its folder defined the revision before the current one, to deploy that again; raises as :func:`previous_revision`."""
    return going_back(rt, previous_revision(rt))


def previous_revision(rt: Runtime) -> int:
    """The number of the revision before the current one.

    Raises:
        InputProblem: there is none, or it was a program in M3.
    """
    before = [r.number for r in rt.catalog.revisions.all() if r.since is not None and r.number < rt.revision]
    if not before or rt.as_edited.program_file is not None:
        raise InputProblem("there is no revision before this one", kind="nothing-to-roll-back")
    return before[-1]


def going_back(rt: Runtime, number: int) -> Runtime:
    """The project as if its folder defined an earlier revision."""
    project = rt.in_revision(rt.catalog.program.record(number)).project
    renamed = renamed_since(rt.program.relations, project.relations)
    return replace(rt, as_edited=replace(project, renamed=renamed, effective={}))


def abort(rt: Runtime, why: str = BY_REQUEST) -> int | None:
    """Give a deployment up; returns the number of its revision, None if there is none."""
    begun = rt.catalog.revisions.deployment()
    if begun is None:
        return None
    failures = [p.told for p in rt.catalog.problems.step_problems() if p.step == "deploy"]
    _give_up(rt, begun, "; ".join([why, *(f"it had failed: {problem}" for problem in failures)]))
    rt.catalog.problems.step_succeeds("deploy", None)
    return begun.number


def _give_up(rt: Runtime, begun: Deployment, why: str) -> None:
    plan = rt.in_revision(rt.catalog.program.record(begun.number)).plan
    names = [name for name in plan.groups if name not in rt.plan.groups]
    copies = [
        (path.map, path.label)
        for name, paths in plan.paths.items()
        if name in rt.plan.groups
        for path in paths
        if path not in rt.plan.paths[name]
    ]
    rt.catalog.revisions.give_up(begun.number, why, names, copies)


def _fill_up(
    rt: Runtime,
    new: Runtime,
    change: Change,
    begun: Deployment,
    on_progress: Callable[[str], None],
    back_to: int | None,
) -> tuple[Deployment, int]:
    """Fill the new groups up to the newest snapshot; returns where the deployment is then, and how many events were read."""
    filled = 0
    while begun.base is None or begun.base < rt.catalog.snapshots.newest():
        if begun.base is not None and begun.base < rt.catalog.snapshots.oldest_readable():
            _give_up(rt, begun, f"the snapshot of epoch {begun.base} is gone, from which it would have gone on")
            begun = _begin(rt, change, back_to)
        base, upto = begun.base, rt.catalog.snapshots.newest()
        with rt.catalog.leases.step() as step:
            with some_cores(rt.project.deploy_cores):
                events, runs = fill(rt, new, change, base, upto, step)
            reach("fill.before-commit")
            rt.catalog.revisions.commit_fill(begun.number, base, upto, runs)
            reach("fill.after-commit")
        begun, filled = replace(begun, base=upto), filled + events
        on_progress(f"filled up to epoch {upto}, {events:,} events")
    return begun, filled


@contextmanager
def some_cores(cores: int | None) -> Iterator[None]:
    """Leave the other cores to whoever applies: work on so many, on half of them if None. Of the switch, for which batches wait, nothing is said."""
    is_bound = hasattr(os, "sched_setaffinity")  # Linux; elsewhere Arrow's threads alone are fewer
    allowed = os.sched_getaffinity(0) if is_bound else set(range(os.cpu_count() or 1))
    chosen, threads = sorted(allowed)[-(cores or max(1, len(allowed) // 2)) :], pa.cpu_count()
    pa.set_cpu_count(min(threads, len(chosen)))
    if is_bound:
        os.sched_setaffinity(0, chosen)
    try:
        yield
    finally:
        pa.set_cpu_count(threads)
        if is_bound:
            os.sched_setaffinity(0, allowed)


def fill(
    rt: Runtime, new: Runtime, change: Change, base: int | None, upto: int, step: Step
) -> tuple[int, tuple[NewRun, ...]]:
    """What the events of the epochs after ``base`` and up to ``upto`` (inclusive) add to new groups and copies; and how many events were read."""
    stored = tuple(rt.catalog.commits.runs(rt.catalog.commits.last_commit()))
    first = epoch_end(base) + 1 if base is not None else new.plan.versions.start
    reach("fill.before-files")
    copied = _copy(rt, new, change.copies, stored, first, epoch_end(upto), step)
    drivers = change.drivers if base is None else {}
    there = (*stored, *(Run(**vars(run), id=-1, commit=0, origin=0) for run in copied))
    events, runs = fill_groups(rt, new, change.fresh, drivers, base, upto, there, step)
    return events, (*copied, *runs)


def fill_groups(
    rt: Runtime,
    new: Runtime,
    fresh: frozenset[str],
    drivers: Mapping[str, str],
    base: int | None,
    upto: int,
    stored: Sequence[Run],
    step: Step,
) -> tuple[int, tuple[NewRun, ...]]:
    """What the events of the epochs after ``base`` and up to ``upto`` (inclusive) add to some groups; and how many events were read. They are one
    batch, before all others of its first epoch. Groups with a driver are filled afterwards, from what is there as of ``upto``.

    Args:
        rt, new: the project, and what it is to be.
        fresh: the groups.
        drivers: of those that have one; see :func:`~cumulus_ops.compute.extend.choose_drivers`.
        base: see above; None: from the beginning.
        upto: see above.
        stored: what there is of all groups.
        step: which does it.
    """
    only, runs, read = fresh - drivers.keys(), tuple[NewRun, ...](), set[str]()
    found = files_between(rt, base, upto, {*relations_read(new.plan, only), *drivers.values()})
    for names, driven in ((only, {}), (frozenset(drivers), drivers)):
        there = (*stored, *(Run(**vars(run), id=-1, commit=0, origin=0) for run in runs))
        task = fill_task(rt, new, names, driven, base, upto, there, found, step) if names else None
        if task is not None:
            runs += rt.executor.run(task).runs
            read |= task.batch.relations()
    return sum(file.rows for file in found if file.relation in read), runs


def fill_task(
    rt: Runtime,
    new: Runtime,
    names: frozenset[str],
    drivers: Mapping[str, str],
    base: int | None,
    upto: int,
    stored: Sequence[Run],
    files: Sequence[LogFile],
    step: Step,
) -> ExtendTask | None:
    """What fills groups that all have a driver, or of which none has one; None if nothing is added to them. See :func:`fill_groups`; ``files``: those
    with the events, see :func:`files_between`."""
    if drivers:
        batch = _one_batch(files, upto + 1, {*drivers.values()})
        given = frozenset(new.plan.groups) - names
        task = replace(_extend_task(rt, new, batch, tuple(stored), names, step), given=given, drivers=drivers)
        return task if batch.files else None
    since = -1 if base is None else base
    batch = _one_batch(files, since + 1, relations_read(new.plan, names))
    before = tuple(stored) if since >= 0 else ()
    is_any = upto >= 0 and (batch.files or since < 0)
    return _extend_task(rt, new, batch, before, names, step) if is_any else None


def _one_batch(files: Sequence[LogFile], epoch: int, relations: Collection[str]) -> BatchRef:
    """The events of some relations as one batch, before all others of an epoch."""
    chosen = tuple(file for file in files if file.relation in relations)
    return BatchRef(0, epoch, 0, chosen, 0, 0, sum(file.rows for file in chosen))


def _extend_task(
    rt: Runtime, new: Runtime, batch: BatchRef, runs: tuple[Run, ...], only: frozenset[str], step: Step
) -> ExtendTask:
    memory = new.project.memory_bytes
    return ExtendTask(new.plan, rt.project.state, (batch,), runs, only, memory=memory, label=step.label)


def files_between(rt: Runtime, base: int | None, upto: int, relations: Collection[str]) -> Sequence[LogFile]:
    """The events, of some relations at least, of the epochs after ``base`` and up to ``upto`` (inclusive); from the beginning, what remains of them, where that is
    known. Net tables of others are not looked at."""
    if base is None:
        chosen = [relation for relation in rt.program.relations if relation.name in relations]
        return choose_base_files(rt.project.state, rt.catalog, upto, chosen).files
    batches = [b.id for b in rt.catalog.log.batches(since=base + 1) if b.counts and b.epoch <= upto]
    return [file for files in rt.catalog.log.files_of(batches).values() for file in files]


def _copy(
    rt: Runtime, new: Runtime, copies: Sequence[AccessPath], stored: Sequence[Run], first: int, last: int, step: Step
) -> tuple[NewRun, ...]:
    """What new copies of groups that stay have between two versions (both inclusive): the same as the copy with all columns."""

    def made() -> Iterator[RunData]:
        for path in copies:
            whole = rt.plan.paths[path.map][0].label
            for run in stored:
                if (
                    (run.map, run.access_path) == (path.map, whole)
                    and run.min_version <= last
                    and run.max_version >= first
                ):
                    table = open_run(rt.project.state / run.path, run.offset, run.bytes, run.root).table(
                        rt.plan.key_names(run.map)
                    )
                    within = pc.and_(pc.greater_equal(table[VERSION], first), pc.less_equal(table[VERSION], last))
                    kept = project_deltas(table.filter(within), path.keys, path.values)
                    if len(kept):
                        yield build_run(kept, path)

    return write_runs(rt.project.state, made(), step.label) if copies else ()


def _switch(rt: Runtime, new: Runtime, change: Change, begun: Deployment) -> float:
    """Make the revision current; returns for how many seconds no batch could begin.

    Raises:
        NotYet: an epoch was committed meanwhile, or batches are applied for too long.
    """
    assert begun.base is not None
    with rt.catalog.leases.step() as step:
        rt.catalog.revisions.begin_switch(begun.number, begun.base, step)
        started = time.monotonic()
        try:
            reach("switch.begun")
            while rt.catalog.revisions.applies_under_way():
                if time.monotonic() - started > APPLY_S:
                    raise NotYet("batches are being applied", kind="switch-waits", place=f"revision {begun.number}")
                time.sleep(LOOK_S)
            for attempt in range(ATTEMPTS):
                try:
                    at = _settle(rt)
                    runs = _extend_live(rt, new, change, begun.base, at, step)
                    reach("switch.before-commit")
                    derives, appended = bool(new.plan.derived), check_what_came(rt, change)
                    finals = {rows.view: rows.count(rt) for rows in change.final_rows}
                    rt.catalog.revisions.commit_switch(
                        begun.number, begun.base, step, at, runs, derives=derives, appended=appended, finals=finals
                    )
                    return time.monotonic() - started
                except Conflict:
                    if attempt == ATTEMPTS - 1 or rt.catalog.snapshots.newest() != begun.base:
                        raise
        except Conflict as problem:
            if rt.catalog.snapshots.newest() == begun.base:
                raise
            raise NotYet("an epoch was committed meanwhile", kind="fill-behind") from problem
        finally:
            if rt.catalog.database.known_revision != begun.number:
                rt.catalog.revisions.end_switch(begun.number)
    raise AssertionError("unreachable")


def _settle(rt: Runtime) -> int:
    """Correct and refresh what is live, until one commit is all that everybody has read; returns it (inclusive)."""
    while True:
        correct(rt)
        refresh(rt)
        at = rt.catalog.commits.last_commit()
        if all(shared.clock.prefix >= at for shared in rt.catalog.commits.clocks(at)):
            return at


def _extend_live(rt: Runtime, new: Runtime, change: Change, base: int, at: int, step: Step) -> tuple[NewRun, ...]:
    """What the live batches add to new groups and copies, at their own versions."""
    stored = tuple(rt.catalog.commits.runs(at))
    batches = rt.references([entry.batch for entry in rt.catalog.commits.live_history(at)])
    if base < 0:  # nothing is filled yet: what there is before the first event comes with these, who may read it
        batches = (BatchRef(0, 0, 0, (), 0, 0, 0), *batches)
    last = max((run.max_version for run in stored), default=0)
    copied = _copy(rt, new, change.copies, stored, epoch_end(base) + 1, last, step)
    runs: tuple[NewRun, ...] = ()
    if change.fresh and batches:
        readable = (*stored, *(Run(**vars(run), id=-1, commit=at, origin=at) for run in copied))
        where = (new.plan, rt.project.state, batches, readable, change.fresh, change.kept)
        runs = rt.executor.run(ExtendTask(*where, new.project.memory_bytes, step.label)).runs
    return (*runs, *copied)
