"""A coordinator's work within an epoch: append the next drop, apply it, settle what others have corrected, and keep the number of runs small."""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from cumulus_ops.append.append import append_delivery
from cumulus_ops.append.delivery import Delivery
from cumulus_ops.catalog.records import Batch, Refresh, Step
from cumulus_ops.compute.apply import ApplyTask
from cumulus_ops.compute.steps import MinibatchTask, StepResult, explain, verdict
from cumulus_ops.coordination.barriers import SETTLE, waits_for
from cumulus_ops.epochs.checkpoint import (
    collect_garbage,
    correct,
    merge,
    refresh,
    refresh_task,
    try_refresh,
)
from cumulus_ops.epochs.setting_aside import apply_apart, is_set_aside, is_suspect, retry_due, tell_of
from cumulus_ops.opening.runtime import Runtime, open_runtime
from cumulus_ops.project.errors import DAMAGED, Conflict, CumulusError, IntegrityProblem, NotYet
from cumulus_ops.project.interruptions import Interruption, note
from cumulus_ops.project.processes import reach
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.settings import Project
from cumulus_ops.project.versions import SEQUENCES_MAX
from cumulus_ops.publishing.telling import watch_step

__all__ = [
    "BatchReport",
    "Computed",
    "apply_batch",
    "apply_here",
    "commit_batch",
    "compute_batch",
    "current_epoch",
    "run_minibatch",
    "settle",
    "settle_if_due",
    "tidy",
]


log = logging.getLogger(__name__)

ATTEMPTS = 5
#: An epoch in which a coordinator has numbered more events ends.
HALF_OF_SEQUENCES = SEQUENCES_MAX // 2


@dataclass(frozen=True)
class BatchReport:
    """What one mini-batch did; counts are rows. ``batch`` is the first one of a large drop's several; those that were
    ``set_aside`` count for nothing. ``files_aside``: how many of the drop's files could not be taken."""

    batch: int
    drop: str
    epoch: int
    events: int
    inserts: int
    deletes: int
    quarantined: int
    duplicates: int
    seconds: float
    set_aside: tuple[int, ...] = ()
    files_aside: int = 0


def current_epoch(rt: Runtime, coordinator: int) -> int:
    """The open epoch of a coordinator."""
    return rt.catalog.members.position(coordinator)[0]


@watch_step("apply")
def run_minibatch(
    rt: Runtime,
    coordinator: int,
    drops: Sequence[Delivery | str] | None = None,
    on_batch: Callable[[int], None] = lambda _: None,
) -> BatchReport | None:
    """Apply what is appended and not applied yet, or else append and apply the next drop. A batch that keeps failing is set
    aside, and the rest goes on.

    Args:
        rt: the open project.
        coordinator: whose drops.
        drops: landed drops in their order, or the names of such. The first that is not appended yet is taken; the one after what is
            applied now is appended meanwhile, to the epoch that is open now, so that the next call finds it appended.
            None takes the first that has landed and can be read, and nothing else.
        on_batch: called with the events applied so far after each batch of a large drop.

    Returns:
        what was done, or None when nothing (of these names) is waiting.
    """
    started = time.monotonic()
    landed = rt.sources.pending(coordinator)
    waiting = landed
    if drops is not None:  # a drop, and a delivery of a source, may have the same name
        wanted = {d if isinstance(d, str) else (d.source, d.name) for d in drops}
        waiting = [d for d in landed if d.name in wanted or (d.source, d.name) in wanted]
    begun = _find_begun(rt, coordinator)
    if begun or waiting:
        rt.executor.prepare(rt.plan)
    batches = begun or _append_first(rt, coordinator, waiting)
    if not batches:
        return None
    applied = 0
    with _append_meanwhile(rt, coordinator, waiting[:1] if drops else []):
        for batch in batches:
            apply_or_set_aside(rt, batch)
            settle_if_due(rt)
            tidy(rt)
            done = rt.catalog.log.batch(batch)
            applied += done.events if done.counts else 0
            on_batch(applied)
    _end_full_epoch(rt, coordinator)
    # earlier ones are looked at again, for a correction after a later one may have set them aside
    files = rt.catalog.deliveries.count_files_aside(batches[0])
    return _report([*map(rt.catalog.log.batch, batches[:-1]), done], time.monotonic() - started, files)


def _end_full_epoch(rt: Runtime, coordinator: int) -> None:
    """An epoch that holds more events than it is to hold ends for all coordinators (EPOCH END REQUEST, semester paper, section 3.4); and so does one in
    which this coordinator has given away half of the sequence numbers that there are, for the next drops have to find some."""
    epoch, given = rt.catalog.members.position(coordinator)
    limit = rt.project.epoch.events
    if given > HALF_OF_SEQUENCES or (limit is not None and rt.catalog.members.events_in(epoch) > limit):
        rt.catalog.members.end_epoch(epoch, Rhythm.of(rt.project), "events")


def _find_begun(rt: Runtime, coordinator: int) -> tuple[int, ...]:
    """The batches of the first delivery that is appended and not applied yet; or else one that is due to be tried again."""
    waiting = rt.catalog.log.waiting_batches(coordinator)
    left = [b for b in waiting if b.state == "appended"]
    if not left and len(waiting) > len(left):
        left = retry_due(rt, waiting)
    return tuple(b.id for b in left if (b.space, b.drop) == (left[0].space, left[0].drop))


def _append_first(rt: Runtime, coordinator: int, waiting: list[Delivery]) -> tuple[int, ...]:
    """Append the first of them that is still as complete as it seemed; it is taken out, with those before it. A source whose delivery
    cannot be read stands still: what comes behind it begins elsewhere. If somebody else was quicker, that is as good."""
    while waiting:
        delivery = waiting.pop(0)
        try:
            appended = _append(rt, coordinator, delivery)
            rt.sources.goes_on(delivery.source)
            return appended
        except Conflict:
            if not _is_taken(rt, coordinator, delivery):
                raise
            if begun := _find_begun(rt, coordinator):
                return begun
        except CumulusError as problem:
            if delivery.position is not None:
                rt.sources.stand_still(delivery.source, problem)
                waiting[:] = [d for d in waiting if d.source != delivery.source]
            elif isinstance(problem, NotYet):
                log.warning("%s", problem)
            else:
                raise
    return ()


def _append(rt: Runtime, coordinator: int, delivery: Delivery) -> tuple[int, ...]:
    """Append a delivery; again, if this process stood still meanwhile and others went on without it, or ended its epoch."""
    for _ in range(ATTEMPTS - 1):
        try:
            return append_delivery(rt.project, rt.catalog, coordinator, delivery, rt.executor.beside, rt.room)
        except Conflict:
            if _is_taken(rt, coordinator, delivery):
                raise
    return append_delivery(rt.project, rt.catalog, coordinator, delivery, rt.executor.beside, rt.room)


def _is_taken(rt: Runtime, coordinator: int, delivery: Delivery) -> bool:
    """Whether somebody else has appended it, or has decided otherwise about what waited."""
    if delivery.intake.by_itself:
        waiting = {file.id for file in rt.catalog.deliveries.waiting_files(coordinator)}
        return not waiting.issuperset(delivery.intake.retried_files)
    if delivery.position is None:
        return bool(rt.catalog.log.drops(coordinator, delivery.space(coordinator), among=[delivery.name]))
    return rt.catalog.deliveries.source_position(delivery.source) != delivery.begin


@contextmanager
def _append_meanwhile(rt: Runtime, coordinator: int, drops: Sequence[Delivery]) -> Iterator[None]:
    """Append drops in a thread of its own. What is wrong with one is reported when its turn comes and it is read again."""
    with ThreadPoolExecutor(1, "append") as pool:
        how = (rt.executor.beside, rt.room)
        appends = [pool.submit(append_delivery, rt.project, rt.catalog, coordinator, drop, *how) for drop in drops]
        yield
    for appending in appends:
        with suppress(CumulusError):
            appending.result()


def _report(batches: Sequence[Batch], seconds: float, files_aside: int) -> BatchReport:
    done = [b for b in batches if b.counts]
    return BatchReport(
        batches[0].id,
        batches[0].drop,
        batches[0].epoch,
        sum(b.events for b in done),
        sum(b.inserts for b in done),
        sum(b.deletes for b in done),
        sum(b.quarantined for b in done),
        sum(b.duplicates for b in done),
        seconds,
        tuple(b.id for b in batches if not b.counts),
        files_aside,
    )


def apply_or_set_aside(rt: Runtime, batch: int) -> None:
    """Apply an appended batch. If it fails for a defect, try again as long as the catalog allows, then leave it set aside. One of which attempts
    have begun and not ended is applied by a process of its own.

    Raises:
        Exception: what is not, or not surely, the batch's fault; to be tried again later.
    """
    while True:
        found = rt.catalog.log.batch(batch)
        try:
            apply = apply_apart if is_suspect(found) else apply_batch
            apply(rt, batch)
            if found.unended:
                _note_again(rt, found)
            return
        except Exception:
            now = rt.catalog.log.batch(batch)
            if is_set_aside(now):
                tell_of(rt, now)
                return
            if now.failures == found.failures:
                raise


def _note_again(rt: Runtime, batch: Batch) -> None:
    """Note that a batch was applied of which an attempt had begun before and was cut off, by the death of its process or of what it needed."""
    now = time.time()
    why = f"cut off while it applied batch {batch.id}, {batch.drop}"
    note(rt.project.state, Interruption(f"coordinator {batch.coordinator}", now, now, why, "it was applied again"))


def apply_batch(rt: Runtime, batch: int) -> int | None:
    """Compute an appended batch's deltas at the newest commit, and commit them; with them, where that is one step, the
    refresh of the maps that depend on derivations.

    Never waits for other coordinators: what they commit meanwhile is made up for by corrections, or by the next refresh.

    Returns:
        the commit's number, None if the batch was applied before.

    Raises:
        Conflict: the runs it read were merged away, or its lease was over, several times in a row.
        Exception: the computation failed; the catalog has counted it if that is the batch's fault.
    """
    for attempt in range(ATTEMPTS):
        try:
            with rt.catalog.leases.step() as step:
                return commit_batch(rt, batch, compute_batch(rt, batch, step))
        except Conflict:
            rt.catalog.asides.excuse(batch)
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def apply_here(project: Project, batch: int) -> Iterator[bytes]:
    """What the process does in which a batch is tried apart (:func:`~cumulus_ops.epochs.setting_aside.apply_apart`)."""
    with open_runtime(project, "inprocess") as rt:
        apply_batch(rt, batch)
    yield from ()


@dataclass(frozen=True)
class Computed:
    """A batch's deltas, written but not committed: ``read_at`` and ``refreshed`` are the commits up to which it has read
    (inclusive), and up to which the maps that depend on derivations were refreshed then; ``drop`` is the batch's."""

    read_at: int
    refreshed: int
    result: StepResult
    seconds: float
    drop: str


def compute_batch(rt: Runtime, batch: int, step: Step) -> Computed:
    """Compute an appended batch's deltas at the newest commit; the step has to last until they are committed. What fails is
    judged, and counted in the catalog."""
    started = time.monotonic()
    read_at = _begin(rt, batch, step)
    found = rt.catalog.log.batch(batch)
    refreshed = rt.catalog.commits.refreshed()
    try:
        result = rt.executor.run(_task(rt, step, found, read_at, refreshed))
    except BaseException as error:
        _record(rt, batch, error)
        raise
    return Computed(read_at, refreshed, result, time.monotonic() - started, found.drop)


#: A switch to another revision takes about as long as a batch; who waits for longer leaves its batch to the next one.
SWITCH_S, LOOK_S = 120.0, 0.05


def _begin(rt: Runtime, batch: int, step: Step) -> int:
    """Begin to apply a batch; wait while another revision is switched to, which most often is the end of what this process has opened."""
    until = time.monotonic() + SWITCH_S
    while True:
        try:
            return rt.catalog.commits.begin_apply(batch, step)
        except NotYet:
            if time.monotonic() > until:
                raise
            rt.catalog.revisions.end_dead_switch()
            time.sleep(LOOK_S)


def _record(rt: Runtime, batch: int, error: BaseException) -> None:
    """Keep what a failed attempt says about its batch. Of one that died nothing is known: its end is as good as not seen."""
    judged = verdict(error)
    if judged == "excused":
        rt.catalog.asides.excuse(batch)
    elif judged == "defect":
        # if what failed is the refresh of what others have applied, this says so, and the failure is not this batch's
        refresh(rt)
        rt.catalog.asides.count_failure(batch, explain(error))


def commit_batch(rt: Runtime, batch: int, computed: Computed) -> int | None:
    """Make computed deltas visible.

    Returns:
        the commit's number, None if the batch was applied before.

    Raises:
        Conflict: the runs it read were merged away, its step's lease is over, or its files are gone.
    """
    result = computed.result
    base = tuple(r for r in result.runs if r.map in rt.plan.base)
    others = tuple(r for r in result.runs if r.map not in rt.plan.base)  # maps that depend on derivations
    refresh = Refresh(computed.refreshed, others, result.corrected) if result.refreshed else None
    reach("apply.before-commit", computed.drop)
    if refresh:
        reach("refresh.before-commit")
    settles = waits_for(rt.coordination, SETTLE)
    number = rt.catalog.commits.commit_apply(batch, computed.read_at, base, computed.seconds, refresh, settles=settles)
    reach("apply.after-commit")
    if refresh:
        reach("refresh.after-commit")
    return number


def _task(rt: Runtime, step: Step, batch: Batch, read_at: int, refreshed: int) -> ApplyTask | MinibatchTask:
    """Apply the batch at commit ``read_at``, and refresh what is refreshed up to commit ``refreshed``."""
    runs = tuple(rt.catalog.commits.runs(read_at))
    reference = rt.reference(batch)
    wanted = rt.plan.looked_up(rt.plan.concerned(reference.relations()))
    needed = tuple(run for run in runs if run.map in wanted)
    apply = ApplyTask(rt.plan, rt.project.state, reference, needed, rt.project.memory_bytes, step.label)
    refresh = refresh_task(rt, step, refreshed, read_at, runs, batch) if rt.plan.derived else None
    return apply if refresh is None else MinibatchTask(apply, refresh)


# Settling: correcting soon after batches were applied, so that tentative answers do not stay wrong until the epoch's commit.
#
# A correction costs about the same for one batch as for many that came together. So what is applied waits for a **buffer period**
# (``corrections: {after: 2s}``; Cumulus paper, sections 4.1 and 4.2, and semester paper, 3.5, "Buffering corrective updates"), and
# is then corrected with all that has come since. Every process that applies looks after each batch, and while it waits for drops,
# whoever has applied what: the catalog knows since when something is missing. So a process that dies leaves it to the others, and the
# last one that ends leaves nothing.
#
# When nothing is applied for that long, tentative answers equal the serial interpreter's, run over all that is applied.


def settle_if_due(rt: Runtime) -> bool:
    """Correct and refresh, if something has been waiting for the buffer period; refresh in any case. Costs one short query if there is
    nothing to do.

    Returns:
        whether this process corrected, and so settled all that was applied before.
    """
    unsettled = rt.catalog.commits.unsettled()
    if unsettled is None:
        return False
    # By this machine's clock; if it is before the clock of the machine that committed, it is settled at once.
    waiting = datetime.datetime.now(datetime.UTC) - unsettled.since
    try:
        if not datetime.timedelta(0) <= waiting < rt.project.corrections.after:
            return _settle(rt)
        if unsettled.stale:
            try_refresh(rt)
    except IntegrityProblem as problem:
        _require_damage(problem)
    return False


def _require_damage(problem: IntegrityProblem) -> None:
    """See that a file is damaged, and nothing else: then batches are applied all the same, and what cannot be settled waits, as its step has told.

    Raises:
        IntegrityProblem: it is something else.
    """
    if problem.kind not in DAMAGED:
        raise problem


def settle(rt: Runtime) -> None:
    """Correct and refresh now what has been applied so far: nobody may be there to do it later."""
    for _ in range(ATTEMPTS):
        if rt.catalog.commits.unsettled() is None:
            return
        _settle(rt)


def _settle(rt: Runtime) -> bool:
    """False if others do the same at the same time: it is left to them."""
    try:
        correct(rt)
        refresh(rt)
    except Conflict:
        return False
    return True


# Keeping the number of runs small within an epoch, so that the last mini-batch of a long epoch costs what the first did.


#: As many runs of one access path are left alone.
RUNS = 16


def tidy(rt: Runtime) -> int:
    """Merge where an access path has more than a few runs.

    Only what every reader has incorporated may be merged, so the live history is corrected first, which also brings
    tentative answers up to date. When others do the same at the same time, it is left to them.

    Returns:
        the number of merged access paths.
    """
    if not rt.catalog.commits.is_crowded(rt.catalog.commits.last_commit(), RUNS):
        return 0
    try:
        correct(rt)
        refresh(rt)
        merged = merge(rt)
    except Conflict:
        return 0
    except IntegrityProblem as problem:
        _require_damage(problem)
        return 0
    if merged:  # or else a long epoch would keep what it has merged, several times what its maps take
        collect_garbage(rt, ())
    return merged
