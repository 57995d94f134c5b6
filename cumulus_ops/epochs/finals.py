"""Final partitions: what a closed value makes final is said to be so, and published, without waiting for its epoch.

No event of a **closed** value is accepted any more (:mod:`cumulus_ops.catalog.seals`). The rows of a view with that value are **final**, that is,
every later read and snapshot has the same ones, as soon as

1. every batch that was appended by the closing, and may have events of the value, is applied, or was dropped; one that is set aside may be retried;
2. these batches have incorporated each other, and derived maps have incorporated them: the **horizon** has passed their commits;
3. and so none of them can be taken back any more: what fails from now on fails since a later commit (:mod:`cumulus_ops.catalog.finals`).

Other batches may be applied meanwhile; they have no events of the value, and the plan calls views sealed only if other events do not matter for its rows. So the
rows are read as of any commit after that, and counted. One transaction then says that they are final, if nothing was taken back since this
process has looked. They are published behind that: like those of a snapshot, they can be read again by whoever has to.

Whatever is killed in between, the next call goes on: what is closed and not final is looked for by one indexed query, as is what is not published.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cumulus_ops.append.seals import distinct_texts
from cumulus_ops.catalog.finals import FinalPartition
from cumulus_ops.catalog.values import ClosedValue
from cumulus_ops.coordination.barriers import APPLIED, REFRESH, SETTLE, VALUE_SEAL, VALUE_VOTE, waits_for
from cumulus_ops.coordination.plan import SealOf
from cumulus_ops.epochs.checkpoint import correct, refresh
from cumulus_ops.files.log_files import read_rows
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict, IntegrityProblem, ViewInError
from cumulus_ops.project.processes import reach
from cumulus_ops.publishing.delta_tables import OF_ONE_TABLE
from cumulus_ops.publishing.final_tables import (
    Appended,
    FinalTable,
    append_final,
    final_table,
    open_final,
    rewrite_final,
)
from cumulus_ops.publishing.telling import watch_step
from cumulus_ops.query.answers import SealedView, find_sealed_views, read_final_rows

__all__ = [
    "FinalReport",
    "finalise",
    "publish_lost_finals",
]


log = logging.getLogger(__name__)

ATTEMPTS = 3


@dataclass(frozen=True)
class FinalReport:
    """What a call has done: the ``partitions`` that were said to be final by it, or by another process at the same time."""

    partitions: tuple[FinalPartition, ...] = ()


@dataclass(frozen=True)
class _Ready:
    """What can be said to be final: view -> partition -> the number of its value; and what is ``known`` to be, as (view, partition). ``since``
    and ``upto``: see :meth:`~cumulus_ops.catalog.finals.Finals.record_finals`."""

    known: set[tuple[str, str]]
    partitions: Mapping[str, Mapping[str, int]]
    since: int
    upto: int


@watch_step("finalise")
def finalise(rt: Runtime) -> FinalReport:
    """Say of the rows of closed values that they are final, where they are, and publish them. Corrects and refreshes first, if that is due. Waits for
    nobody: what others have yet to do is left to a later call.

    Raises:
        Exception: a correction or a refresh failed, see :func:`~cumulus_ops.epochs.checkpoint.correct`.
    """
    views = find_sealed_views(rt)
    if not views:
        return FinalReport()
    found: tuple[FinalPartition, ...] = ()
    for _ in range(ATTEMPTS):
        try:
            found = _finalise(rt, views)
            break
        except Conflict as problem:  # others correct, refresh, or take something back at the same time
            log.info("not final yet: %s", problem)
    # Publish also what is final since earlier and is in no table yet.
    waiting = set() if rt.project.published is None else {f.view for f in rt.catalog.finals.finals(unpublished=True)}
    for view in views:
        path = final_table(rt.project, view.view.name)
        if view.view.name in waiting and path is not None:
            _publish_if_whole(rt, view, path)
    return FinalReport(found)


def _finalise(rt: Runtime, views: Sequence[SealedView]) -> tuple[FinalPartition, ...]:
    seals = {view.view.name: [(s.relation, s.seal) for s in view.seals] for view in views}
    if not all(view.has_same_texts for view in views):
        seals = {}  # columns in another order make other texts, which the catalog does not compare: all is looked at
    values = rt.catalog.finals.newly_closed(seals, sealed=waits_for(rt.coordination, VALUE_VOTE, VALUE_SEAL))
    if not values:
        return ()
    ready = _ready(rt, views, values)
    if any(ready.partitions.values()):
        _settle(rt, ready.upto)
    rows: dict[str, dict[int, int]] = {}
    for view in views:
        counts = _count(rt, view, ready.partitions[view.view.name])
        if counts is not None:
            rows[view.view.name] = counts
    done = _done(views, values, ready, rows)
    if not rows and not done:
        return ()
    reach("finalise.before-commit")
    refreshed = waits_for(rt.coordination, REFRESH)
    new = rt.catalog.finals.record_finals(rows, done, ready.since, ready.upto, refreshed=refreshed)
    reach("finalise.after-commit")
    if not new:
        return ()
    said = {(name, number) for name, counts in rows.items() for number in counts}
    return tuple(f for f in rt.catalog.finals.finals(since=ready.upto) if (f.view, f.id) in said)


def _ready(rt: Runtime, views: Sequence[SealedView], values: Sequence[ClosedValue]) -> _Ready:
    """What is closed for all of a view's seals, and whose batches are all applied, or do not count."""
    # In this order: a batch with events of these values is there already, and waits, or was applied by the newest commit. One that is taken
    # back in between is found when it is said that something is final.
    since = rt.catalog.commits.last_commit()
    unsettled = rt.catalog.seals.unsettled_batches() if waits_for(rt.coordination, APPLIED) else []
    upto = rt.catalog.finals.newest_news()
    # A value waits for the batches that are not applied, or are set aside, and may have events of it. The log is looked at
    # only for the latter: they may stay for long.
    waiting: set[int] = set()
    for batch in unsettled:
        concerned = [v for v in values if v.id not in waiting and batch.may_have(v)]
        if concerned and batch.state == "aside":
            concerned = _having(rt, batch.batch, concerned)
        waiting.update(v.id for v in concerned)
    ready = [v for v in values if v.id not in waiting]
    known = rt.catalog.finals.final_of({v.partition(s, c.value) for v, s, c in _find_concerned(views, values)})
    return _Ready(known, {v.view.name: _partitions(v, ready, known) for v in views}, since, upto)


def _find_concerned(
    views: Sequence[SealedView], values: Sequence[ClosedValue]
) -> Iterator[tuple[SealedView, SealOf, ClosedValue]]:
    """The views, and of these the seals, that values are about; a view in which a value closes no partition does not wait for it."""
    of_seal: dict[tuple[str, str], list[ClosedValue]] = {}
    for value in values:
        of_seal.setdefault((value.relation, value.seal), []).append(value)
    for view in views:
        for seal in view.seals:
            closed = of_seal.get((seal.relation, seal.seal), ())
            yield from ((view, seal, v) for v in closed if view.has_partition(view.partition(seal, v.value)))


def _partitions(view: SealedView, values: Sequence[ClosedValue], known: set[tuple[str, str]]) -> dict[str, int]:
    """partition -> the number of its value, of those that are closed for each of the view's seals, and not final yet."""
    closed: dict[tuple[str, str], dict[str, int]] = {(s.relation, s.seal): {} for s in view.seals}
    for _, seal, value in _find_concerned([view], values):
        closed[seal.relation, seal.seal][view.partition(seal, value.value)] = value.id
    first, *others = closed.values()
    everywhere = set(first).intersection(*others)
    return {p: n for p, n in first.items() if p in everywhere and (view.view.name, p) not in known}


def _having(rt: Runtime, batch: int, values: Sequence[ClosedValue]) -> list[ClosedValue]:
    """The values of which a batch has events; all that it may have, where its log cannot be read."""
    columns = {(r, s.name): s.columns for r, seals in rt.project.seals.items() for s in seals}
    there: dict[tuple[str, str], set[str]] = {}
    unknown = {(v.relation, v.seal) for v in values} - set(columns)  # the project does not name the seal any more
    for file in rt.catalog.log.files(batch=batch):
        for place in {(v.relation, v.seal) for v in values if v.relation == file.relation} - unknown:
            try:
                rows = read_rows(rt.project.state, file, rt.project.relation(file.relation), columns[place])
                there.setdefault(place, set()).update(distinct_texts(rows, columns[place]))
            except IntegrityProblem as problem:
                log.warning(
                    "batch %d: %s is unreadable, and may have events of any value: %s", batch, file.path, problem
                )
                unknown.add(place)
    return [v for v in values if (p := (v.relation, v.seal)) in unknown or v.value in there.get(p, ())]


def _settle(rt: Runtime, upto: int) -> None:
    """See that what is applied is incorporated.

    Raises:
        Conflict: it is not, for others correct or refresh at the same time.
    """
    refreshed = waits_for(rt.coordination, REFRESH)
    if rt.catalog.finals.horizon(refreshed=refreshed) < upto:
        if waits_for(rt.coordination, SETTLE):
            correct(rt)
        if refreshed:
            refresh(rt)
        if rt.catalog.finals.horizon(refreshed=refreshed) < upto:
            raise Conflict("a batch has yet to be corrected", kind="final-conflict")


def _count(rt: Runtime, view: SealedView, partitions: Mapping[str, int]) -> dict[int, int] | None:
    """number of a value -> how many rows it has; None if the view is in error, or there is nothing to count."""
    if not partitions:
        return None
    try:
        _, places = read_final_rows(rt, view, list(partitions))
    except ViewInError as problem:
        log.info("view %s is in error, and has no final rows: %s", view.view.name, problem)
        return None
    counts = np.bincount(places, minlength=len(partitions))
    return dict(zip(partitions.values(), counts.tolist(), strict=True))


def _done(
    views: Sequence[SealedView],
    values: Sequence[ClosedValue],
    ready: _Ready,
    rows: Mapping[str, Mapping[int, int]],
) -> list[int]:
    """The values that no view waits for any more: those that they concern have all said that they are final, or did before."""
    waiting = set()
    for view, seal, value in _find_concerned(views, values):
        name, partition = view.view.name, view.partition(seal, value.value)
        number = ready.partitions[name].get(partition)
        if (name, partition) not in ready.known and (number is None or number not in rows.get(name, ())):
            waiting.add(value.id)
    return [v.id for v in values if v.id not in waiting]


def publish_lost_finals(rt: Runtime) -> list[str]:
    """Write the tables of final rows anew that are gone, or are older copies of themselves.

    Returns:
        the views.

    Raises:
        SetupProblem: a table is another's by now.
    """
    done = []
    for view in find_sealed_views(rt) if rt.project.published is not None else ():
        path, name = final_table(rt.project, view.view.name), view.view.name
        if path is None or rt.catalog.results.published_table(path.name) is None or not rt.catalog.finals.finals(name):
            continue
        if _publish_if_whole(rt, view, path):
            done.append(name)
    return done


def _publish_if_whole(rt: Runtime, view: SealedView, path: Path) -> bool:
    """As :func:`_publish_view`. A table that cannot be read or written holds nobody up: it gets what is final when it is repaired."""
    try:
        return _publish_view(rt, view, path)
    except IntegrityProblem as problem:
        if problem.kind not in OF_ONE_TABLE:
            raise
        log.error("%s; %s", problem, problem.hint)
        return False


def _publish_view(rt: Runtime, view: SealedView, path: Path) -> bool:
    """Bring a table up to date; returns whether it was written anew."""
    name, owner = view.view.name, rt.catalog.database.identity()
    assert owner is not None  # or else the project could not have been opened
    for attempt in range(ATTEMPTS):
        known, since = rt.catalog.results.published_table(path.name), rt.catalog.finals.final_version(name)
        # in this order: what somebody has appended by now, and has died, is among what is final and of no version that is known
        table = open_final(path, owner, is_adopted=known is None and since >= 0)
        is_lacking = table.lacks(known)
        try:
            if not is_lacking:
                mine = rt.catalog.finals.finals(name, unpublished=True)
                if not mine or _append(rt, view, table, mine, since, known):
                    return False
            _rewrite(rt, view, table, known)
            return is_lacking
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _append(
    rt: Runtime,
    view: SealedView,
    table: FinalTable,
    mine: Sequence[FinalPartition],
    since: int,
    known: tuple[str, int] | None,
) -> bool:
    """Append what is missing; returns False if which values the table has cannot be told."""
    rows, places = read_final_rows(rt, view, [f.value for f in mine], checked=False)
    numbers = np.array([f.id for f in mine])
    reach("finalise.before-table")
    done = append_final(table, rows, numbers[places], numbers.tolist(), since, rt.program.name, known)
    if done is None:
        return False
    reach("finalise.before-published")
    rt.catalog.finals.record_final_tables(view.view.name, done.versions, _left(table, done))
    return True


def _rewrite(rt: Runtime, view: SealedView, table: FinalTable, known: tuple[str, int] | None) -> None:
    mine = rt.catalog.finals.finals(view.view.name)
    rows, _ = read_final_rows(rt, view, [f.value for f in mine], checked=False)
    reach("finalise.before-table")
    done = rewrite_final(table, rows, [f.id for f in mine], rt.program.name, known)
    reach("finalise.before-published")
    rt.catalog.finals.record_final_tables(view.view.name, done.versions, _left(table, done), instead=True)


def _left(table: FinalTable, done: Appended) -> tuple[str, str, int] | None:
    """The table's folder, its id and its mark, as it was left; None if there is no table yet."""
    return (table.path.name, done.table_id, done.mark) if done.table_id and done.mark >= 0 else None
