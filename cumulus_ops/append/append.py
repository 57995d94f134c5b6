"""Stamping events and appending them to the log, durably, before anything is computed from them.

The log is Parquet files ``log/<relation>/<unique>.parquet`` with the relation's columns, ``_sign`` int8 (+1 insert, -1
delete), ``_offset`` int64 (the event's place in its source) and ``_version`` int64 (its stamp, ascending, from the first row's on, which the catalog has). Rows of one
atomic event follow each other. Files become part of the log when the catalog names them, never before.

A delivery becomes one batch, or several if it has more rows than a batch may have. It is read, checked and written piece by
piece, and appended as a whole. What cannot be accepted is put aside in the same transaction: every row that was delivered is in the
log, counted as a repeat, in the quarantine, or in a file that is set aside.

The way of a piece: read and check (:func:`_write_part`), leave out repeats, judge by seals, transactions and keys, write
(:func:`_write_piece`); or all of that in other processes, if nothing but rows and keys decides (:func:`~cumulus_ops.append.portions.write_beside`). When all pieces are written (:func:`_write_delivery`), one transaction appends them (:func:`_run_pass`), or all of it
is read again, if more has to be left out than was known (:class:`Pass`).
"""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.append.attempts import DEATHS, attempt
from cumulus_ops.append.batches import LogWriter, Room, cut_batches, file_rows
from cumulus_ops.append.checks import RelationEvents, check
from cumulus_ops.append.declarations import declaration
from cumulus_ops.append.delivery import Delivery, Part, Portion, SealPart
from cumulus_ops.append.portions import WrittenPart, leave_out, number_rows, write_beside, write_rows
from cumulus_ops.append.rejected import events_of, json_records, rejected_rows, without_events
from cumulus_ops.append.repeats import split_known
from cumulus_ops.append.seals import SealStage
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import Advance, Batch, NewBatch, NewFileAside, Taken
from cumulus_ops.files.columns import OFFSET, RawFile
from cumulus_ops.files.landed import piece_rows
from cumulus_ops.keys.merging import tidy_keys
from cumulus_ops.keys.stage import KeyStage
from cumulus_ops.project.errors import ColumnsWait, CumulusError, InputProblem, SetupProblem
from cumulus_ops.project.processes import Beside, reach
from cumulus_ops.project.settings import Project
from m3.program import Relation

__all__ = ["append_delivery", "offset_base", "write_again"]


#: So many values may be sealed by a file: they are sealed all at once, and the transaction has a row for each.
SEAL_VALUES = 1 << 20
#: What was read and waits to be written may take so many bytes, four or five pieces of 131,072 rows with 16 columns, or so large a part of the memory, if that is less.
BACKLOG_BYTES, BACKLOG_SHARE = 1 << 27, 8
_NO_EVENTS = np.array([], dtype=np.int64)


def append_delivery(
    project: Project,
    catalog: Catalog,
    coordinator: int,
    delivery: Delivery,
    beside: Beside | None = None,
    room: Room | None = None,
) -> tuple[int, ...]:
    """Append one delivery to the coordinator's open epoch, as stamped batches.

    Args:
        project: the project.
        catalog: its catalog.
        coordinator: whose source it came from.
        delivery: what the source handed over.
        beside: knows other processes, for large deliveries; None if there are none.
        room: how much a batch has at the most; None: what it may have in any case.

    Returns:
        the new batches' ids in their order, at least one. All of them became visible at once.

    Raises:
        InputProblem: a part cannot be read that cannot be set aside: of a retry, or of a source with a position; nothing was appended.
        SetupProblem: its source cannot go on; nothing was appended.
        NotYet: the delivery changed while it was read; nothing was appended.
        Conflict: another process appended for this coordinator meanwhile, or this one stood still for too long, or the source was
            at another position, or values were sealed meanwhile; nothing was appended.
    """
    what = (coordinator, delivery.space(coordinator), delivery.name, delivery.begin)
    with attempt(project.state, *what) as before, catalog.leases.step() as step:
        is_deadly = before >= DEATHS
        if is_deadly and delivery.trial is not None:
            delivery.trial()
        epoch, sequence = catalog.members.position(coordinator)
        reach("append.before-files")
        is_apart, parts = is_deadly or delivery.apart, tuple(delivery.parts())
        job = _Job(project, catalog, coordinator, delivery, epoch, sequence, step.label, is_apart, parts, beside, room)
        outcome: Pass | tuple[int, ...] = Pass()
        while isinstance(outcome, Pass):  # it ends: each pass leaves out more than the one before
            outcome = _run_pass(job, outcome)
        reach("append.after-commit")
        tidy_keys(project, catalog, step.label, beside)
        return outcome


def offset_base(number: int) -> int:
    """Where the offsets of a delivery begin whose events have no numbers: they are below zero, and no other delivery's.

    >>> offset_base(1) - offset_base(0) == 2**32
    True
    """
    return -(2**62) + (number << 32)


@dataclass(frozen=True)
class _Job:
    """What is appended, for whom, and from which stamp on: the same in each pass. ``is_apart``: parts are read by a process of their own."""

    project: Project
    catalog: Catalog
    coordinator: int
    delivery: Delivery
    epoch: int
    sequence: int
    label: str
    is_apart: bool
    parts: tuple[Part | SealPart | NewFileAside, ...]
    beside: Beside | None = None
    room: Room | None = None

    @functools.cached_property
    def base(self) -> int:
        """Where the offsets of events without numbers begin. The catalog is asked only if there are such events."""
        space, arrived = self.delivery.space(self.coordinator), self.delivery.arrived.timestamp()
        return offset_base(self.catalog.deliveries.number_of(self.coordinator, space, self.delivery.name, arrived))

    @functools.cached_property
    def _newest(self) -> Mapping[str, int]:
        # Asked once, not for each relation. What somebody else appends meanwhile moves the coordinator on, and so refuses what this one appends.
        sources = {f"{self.delivery.source}/{part.relation}" for part in self.parts if isinstance(part, Part)}
        return self.catalog.log.newest_offsets(sources)

    def may_repeat(self, source: str, rows: pa.Table) -> bool:
        """Whether the log may have events with the numbers of ``rows``, which ascend: most rows come after all that it has."""
        newest = self._newest.get(source)
        return newest is not None and len(rows) > 0 and rows[OFFSET][0].as_py() <= newest

    @property
    def can_set_aside(self) -> bool:
        """Whether a part that cannot be read may be set aside: where a source has a position, what is behind it is gone."""
        delivery = self.delivery
        is_asked_for = delivery.intake.is_retry and not delivery.intake.by_itself
        return delivery.position is None and not delivery.transactional and not is_asked_for

    def source(self, part: Part) -> str:
        """Within what the numbers of a part's events identify them."""
        return f"{self.delivery.source}/{part.relation}"

    def relation(self, name: str) -> Relation:
        """The project's relation of a name."""
        return self.project.relation(name)

    def is_upsert(self, relation: str) -> bool:
        """Whether rows of the relation may be updates and deletes by key."""
        return relation in self.project.keys and self.project.keys[relation].mode == "upsert"

    def portions(self, part: Part) -> Sequence[Portion]:
        """A part, portion by portion; its files are hashed meanwhile."""
        if self.is_apart or part.portions is None:
            return [Portion(functools.partial(self.read, part), 0)]
        if self.delivery.hashing is not None:
            self.delivery.hashing.hash_here()
        return part.portions()

    def rows(self, part: Part) -> int:
        """About how many rows a part has, 0 if that is not known."""
        return 0 if self.is_apart or part.portions is None else sum(portion.rows for portion in part.portions())

    def read(self, part: Part | SealPart) -> Iterator[RawFile]:
        """The part's rows as they came."""
        return part.read_apart() if self.is_apart and part.read_apart is not None else part.read()

    def set_aside(self, part: Part | SealPart, problem: InputProblem) -> NewFileAside:
        """What the catalog is to say of a part that cannot be read."""
        what = part.name if isinstance(part, SealPart) else part.relation
        said = (problem.kind, problem.message, problem.hint)
        waits_for = problem.columns if isinstance(problem, ColumnsWait) else ()
        return NewFileAside(self.coordinator, self.delivery.name, what, part.place, *said, waits_for=waits_for)


class _Judged(NamedTuple):
    """Rows of a piece whose transactions keys have rejected: as the quarantine shows those to blame, and as they came."""

    relation: str
    source: str
    rejected: pa.Table
    rows: pa.Table


@dataclass(frozen=True)
class Pass:
    """What is known to be left out of a delivery when it is read from its beginning. Nothing in it changes.

    Files are written while a delivery is read, piece by piece, so what is found out late cannot be taken out of them any more. Most often there
    is nothing of the kind, and one pass is enough. Else what the pass has written is discarded (``is_void``), and the next one knows more.

    ``left_out``: of the parts that cannot be read, by their places, why. ``transactions``: the numbers of those that are rejected, ascending.
    ``judged``: what keys have said of these. A later pass does not ask them again: without those rows they would have nothing to say.
    ``has_unnumbered``: whether events without numbers have been seen. ``taken``: what was read, and ``aside``: why all of it is set aside.
    """

    left_out: Mapping[str, NewFileAside] = field(default_factory=dict)
    transactions: np.ndarray = field(default_factory=lambda: _NO_EVENTS)
    judged: tuple[_Judged, ...] = ()
    has_unnumbered: bool = False
    taken: Taken | None = None
    aside: NewFileAside | None = None
    is_void: bool = False


class _Piece(NamedTuple):
    """What came of a piece. ``lost``: the transactions of its rejected rows; ``judged``: those that keys have rejected now; ``again``: the rows
    that were left out because keys have rejected them in a pass before."""

    relation: str
    lost: np.ndarray
    judged: _Judged | None
    again: pa.Table | None
    is_unnumbered: bool


class _Sinks(NamedTuple):
    """Where a pass puts what it reads. Nobody else sees any of it before the transaction."""

    log: LogWriter
    keys: KeyStage
    seals: SealStage


def _run_pass(job: _Job, known: Pass) -> Pass | tuple[int, ...]:
    """Read a delivery from its beginning, write what counts and what is rejected, and append that in one transaction.

    Returns:
        the batches' ids; or, if more has to be left out than was known, what is known now.
    """
    project, catalog, delivery = job.project, job.catalog, job.delivery
    with contextlib.ExitStack() as undo:
        now, sinks = _write_pass(job, known, undo)
        if now.is_void:
            return replace(now, is_void=False)
        # All files are durable before the catalog names them: who is killed in between leaves files that nobody knows of.
        new, keys, seals = _finish_batches(job, sinks), sinks.keys, sinks.seals
        keys.finish()
        reach("append.before-commit")
        end = delivery.position
        advance = None if end is None else Advance(delivery.source, delivery.begin, end)
        found_aside = (part for part in job.parts if isinstance(part, NewFileAside))
        left_out = (now.left_out[place] for place in _places(job.parts) if place in now.left_out)
        asides = (*found_aside, *left_out) if now.aside is None else (now.aside,)
        intake = replace(delivery.intake, taken=now.taken, asides=asides)
        sealing, declared = seals.sealing(), declaration(project)
        try:
            return keys.commit(
                lambda changes: catalog.log.append(
                    new, advance, changes, intake=intake, sealing=sealing, declared=declared
                )
            )
        except CumulusError:  # it was refused
            undo.close()
            raise
        finally:  # the files are the log's now; or perhaps, if a connection was lost in the commit: then they are kept, and are garbage if they are not
            undo.pop_all()


def _write_pass(job: _Job, known: Pass, undo: contextlib.ExitStack) -> tuple[Pass, _Sinks]:
    """Read a delivery from its beginning, and write what counts and what is rejected; ``undo`` deletes it."""
    project = job.project
    room = min(BACKLOG_BYTES, project.memory_bytes // BACKLOG_SHARE)
    writer = LogWriter(project.state, file_rows(project.least_batch_rows), job.label, room)
    undo.callback(writer.discard)
    keys = KeyStage(project, job.catalog, job.coordinator, job.epoch, job.label)
    undo.callback(keys.discard)
    sinks = _Sinks(writer, keys, SealStage(project, job.catalog, job.coordinator))
    now = _write_delivery(job, known, sinks) if known.aside is None else known
    for judged in now.judged if not now.is_void else ():
        writer.leave_out(judged.relation, judged.source, judged.rejected, transactional=True)
    return now, sinks


def _finish_batches(job: _Job, sinks: _Sinks) -> list[NewBatch]:
    """What was written, as batches; it is durable."""
    where = (job.coordinator, job.delivery.name, job.epoch, job.sequence)
    room = job.room or Room(job.project.least_batch_rows)
    return cut_batches(sinks.log.finish(), *where, room, job.delivery.space(job.coordinator))


def write_again(
    project: Project, catalog: Catalog, delivery: Delivery, first: Batch, label: str
) -> tuple[NewBatch, ...]:
    """Read a delivery that was appended once more, and write the files that it became, under other names. Nothing is appended.

    Args:
        project: as it was.
        catalog: as it was before the delivery (:mod:`cumulus_ops.repair.logs`).
        delivery: what its source hands over once more.
        first: the first of its batches.
        label: of the step that does it.

    Raises:
        InputProblem, SetupProblem, NotYet: as :func:`append_delivery`.
    """
    where = (first.coordinator, delivery, first.epoch, first.first_sequence, label, False, tuple(delivery.parts()))
    job, now = _Job(project, catalog, *where), Pass()
    while True:
        with contextlib.ExitStack() as undo:
            now, sinks = _write_pass(job, now, undo)
            if not now.is_void:
                new = tuple(_finish_batches(job, sinks))
                sinks.keys.discard()
                undo.pop_all()
                return new
        now = replace(now, is_void=False)


def _write_delivery(job: _Job, known: Pass, sinks: _Sinks) -> Pass:
    """Write all parts: rows first, then seals, which say that no more rows come. What is known then of what has to be left out."""
    now, pieces = known, list[_Piece]()
    beside = _write_beside(job, known, sinks.keys)
    for place, part in _in_writing_order(job, now):
        sinks.log.begin(place)
        if part.place in beside:
            for portion in beside[part.place].portions:
                sinks.log.adopt(portion)
            now = replace(now, has_unnumbered=now.has_unnumbered or beside[part.place].has_unnumbered)
            continue
        written, aside = _write_part(job, known, part, sinks)
        pieces += written
        now = replace(now, has_unnumbered=now.has_unnumbered or any(piece.is_unnumbered for piece in written))
        if aside is not None:
            now = replace(now, left_out={**now.left_out, part.place: aside})
            if written:  # rows of it are in the files, and must not count
                return replace(now, is_void=True)
    sinks.log.begin(len(job.parts))
    for seal_part in (part for part in job.parts if isinstance(part, SealPart)):
        aside = _take_seals(job, now, seal_part, sinks)
        if aside is not None:
            now = replace(now, left_out={**now.left_out, seal_part.place: aside})
    if job.delivery.transactional:
        now = _review_transactions(job, now, pieces)
    if now.is_void or job.delivery.taken is None:
        return now
    now = replace(now, taken=job.delivery.taken())  # raises NotYet if the delivery changed while it was read
    copy = _find_copy(job, now)
    return now if copy is None else replace(now, aside=copy, is_void=True)


def _in_writing_order(job: _Job, known: Pass) -> list[tuple[int, Part]]:
    """The parts that are to be written, each with its place among all. The largest first, for a thread writes it, and others are read meanwhile; but what says something
    of whole transactions says it in the order in which they are."""
    parts = [
        (place, part)
        for place, part in enumerate(job.parts)
        if isinstance(part, Part) and part.place not in known.left_out
    ]
    return parts if job.delivery.transactional else sorted(parts, key=lambda one: -job.rows(one[1]))


def _places(parts: Iterable[Part | SealPart | NewFileAside]) -> Iterator[str]:
    """Where those parts lie that can be read, in their order."""
    return (part.place for part in parts if not isinstance(part, NewFileAside))


def _write_beside(job: _Job, known: Pass, keys: KeyStage) -> Mapping[str, WrittenPart]:
    """The place of a part that other processes have written -> what became of its portions."""
    if job.beside is None or job.is_apart:
        return {}
    parts = [part for part in job.parts if isinstance(part, Part) and part.place not in known.left_out]
    return write_beside(job.project, job.catalog, job.delivery, parts, job.label, lambda: job.base, keys, job.beside)


def _write_part(job: _Job, known: Pass, part: Part, sinks: _Sinks) -> tuple[list[_Piece], NewFileAside | None]:
    """Read, check and write a part, piece by piece. What came of the pieces; and why it is set aside, if it cannot be read to its end."""
    source, written = job.source(part), list[_Piece]()
    upsert, insert_only = job.is_upsert(part.relation), part.relation in job.project.insert_only
    relation = job.relation(part.relation)
    for portion in job.portions(part):
        pieces = check(relation, portion.read(), source, part.place, upsert=upsert, insert_only=insert_only)
        while True:
            try:  # around the reading alone: what goes wrong where rows are written is no fault of the part
                events = next(pieces, None)
            except InputProblem as problem:
                if not job.can_set_aside:
                    raise
                return written, job.set_aside(part, problem)
            if events is None:
                break
            written.append(_write_piece(job, known, events, sinks))
        sinks.log.cut()
    return written, None


def _write_piece(job: _Job, known: Pass, events: RelationEvents, sinks: _Sinks) -> _Piece:
    """Leave out repeats, judge by seals, transactions and keys, stamp and write."""
    name, source, rows, rejected = events.relation, events.source, events.rows, [events.rejected]
    is_transactional = job.delivery.transactional
    if events.numbered:
        relation, upsert = job.relation(name), job.is_upsert(name)
        if job.may_repeat(source, rows):
            split = split_known(job.project, job.catalog, relation, source, rows, upsert=upsert)
            rows = split.fresh
            rejected.append(split.rejected)
            sinks.log.count_repeats(split.repeated)
    elif len(rows):
        source, rows = number_rows(events, job.base)
    rows, sealed = sinks.seals.judge(name, rows)
    rejected.append(sealed)
    lost, judged, again = _NO_EVENTS, None, None
    if is_transactional:
        lost = events_of(pa.concat_tables(rejected))
        rows, again, others = _split_transactions(known, name, rows)
        rejected.append(others)
    resolved = sinks.keys.resolve(name, rows, sinks.seals.refuser(name))
    if is_transactional and resolved.lost:
        # They are written to the quarantine by the last pass, when it is known that these rows have come again.
        numbers = np.array(sorted(resolved.lost), dtype=np.int64)
        judged = _Judged(name, events.source, resolved.rejected, rows.filter(_among(rows, numbers)))
        lost = np.concatenate([lost, numbers])
    else:
        rejected.append(resolved.rejected)
    sinks.seals.take(name, resolved.rows)
    write_rows(sinks.log, job.relation(name), source, resolved.rows, piece_rows(job.project.least_batch_rows))
    leave_out(sinks.log, events, rejected, transactional=is_transactional)
    return _Piece(name, lost, judged, again, not events.numbered and len(events.rows) > 0)


def _split_transactions(known: Pass, relation: str, rows: pa.Table) -> tuple[pa.Table, pa.Table, pa.Table]:
    """The rows whose transactions are accepted so far; those of which keys have said already why they are not; and the others, as rejected rows."""
    out = _among(rows, known.transactions)
    accepted, rows = rows.filter(pc.invert(out)), rows.filter(out)
    blamed = [events_of(judged.rejected) for judged in known.judged if judged.relation == relation]
    mine = _among(rows, np.concatenate([*blamed, _NO_EVENTS]))
    others = rows.filter(pc.invert(mine))
    rejected = rejected_rows(others, "transaction", "other rows of its transaction are rejected")
    return accepted, rows.filter(mine), rejected


def _review_transactions(job: _Job, known: Pass, pieces: Sequence[_Piece]) -> Pass:
    """See that all transactions that have a rejected row were known to be rejected before their first row was written.

    Raises:
        SetupProblem: the source has handed over something else when it was read again.
    """
    lost = np.unique(np.concatenate([known.transactions, *(piece.lost for piece in pieces)]))
    if len(lost) > len(known.transactions):
        judged = (*known.judged, *(piece.judged for piece in pieces if piece.judged is not None))
        return replace(known, transactions=lost, judged=judged, is_void=True)
    # What is left out for its key now has to be what keys have judged, row by row: else rows would be lost.
    before = _count_texts((judged.relation, judged.rows) for judged in known.judged)
    if before != _count_texts((piece.relation, piece.again) for piece in pieces if piece.again is not None):
        message = f"delivery {job.delivery.name} has other rows, or other numbers of events, each time it is read"
        hint = "a source hands over the same events with the same numbers when it is read again (docs/sources.md)"
        raise SetupProblem(message, kind="unsteady-source", place=f"source {job.delivery.source}", hint=hint)
    return known


def _take_seals(job: _Job, now: Pass, part: SealPart, sinks: _Sinks) -> NewFileAside | None:
    """Take the values in a seal's part, or say why it is set aside.

    Without all rows of its relation that came with it, a seal would say more than is true: the producer wrote it after them.
    """
    seal = job.project.seal(part.relation, part.seal)
    assert seal is not None  # sources name those that there are
    source = f"{job.delivery.source}/{part.name}"
    asides = (*(aside for aside in job.parts if isinstance(aside, NewFileAside)), *now.left_out.values())
    missing = None if part.announces else next((a for a in asides if a.relation == part.relation), None)
    try:
        if missing is not None:
            message = f"seals values of {part.relation}, of which rows are set aside: {missing.place}"
            hint = "mend and retry that file first, then this one: rows of a value do not count once it is sealed"
            raise InputProblem(message, kind="rows-missing", place=part.place, hint=hint)
        columns = job.project.seal_rows(part.relation, seal)
        found = _hold_values(check(columns, job.read(part), source, part.place, insert_only=True), part)
    except InputProblem as problem:
        if not job.can_set_aside:
            raise
        if problem.kind in ("missing-column", "no-header"):
            problem.hint = f"files of this seal have the columns {', '.join(seal.columns)}"
        return job.set_aside(part, problem)
    say = sinks.seals.announce if part.announces else sinks.seals.seal
    for events in found:
        for table in (events.rejected, say(part.relation, seal, events.rows)):
            sinks.log.leave_out(part.name, source, table if events.numbered else without_events(table))
    return None


def _find_copy(job: _Job, now: Pass) -> NewFileAside | None:
    """Why the delivery is set aside as a whole, if it is: events without numbers cannot be told from those of a copy."""
    if not now.has_unnumbered or now.taken is None or now.taken.digest is None or job.delivery.intake.is_retry:
        return None
    same = [
        n for n in job.catalog.deliveries.with_contents(job.coordinator, now.taken.digest) if n != job.delivery.name
    ]
    if not same:
        return None
    return NewFileAside(
        job.coordinator,
        job.delivery.name,
        None,
        job.delivery.place,
        "repeated-drop",
        f"has the same contents as drop {same[0]}, and no event numbers that would tell whether it is a copy",
        "if its events have happened again, count them by `cumulus quarantine retry`; if it is a copy, `cumulus quarantine drop`",
        sum(file.bytes for file in now.taken.files.values()),
    )


def _hold_values(found: Iterable[RelationEvents], part: SealPart) -> list[RelationEvents]:
    """The values in a seal's part, which are held all at once.

    Raises:
        InputProblem: there are too many.
    """
    held, rows = list[RelationEvents](), 0
    for events in found:
        held.append(events)
        rows += len(events.rows) + len(events.rejected)
        if rows > SEAL_VALUES:
            hint = "write them in several files, in drops that come one after the other"
            raise InputProblem(f"has more than {SEAL_VALUES:,} rows", kind="too-large", place=part.place, hint=hint)
    return held


def _among(rows: pa.Table, numbers: np.ndarray) -> pa.Array:
    """Which rows are of events with these numbers."""
    return pa.array(np.isin(rows[OFFSET].to_numpy(), numbers))


def _count_texts(tables: Iterable[tuple[str, pa.Table]]) -> Counter[tuple[str, str]]:
    """The rows of relations, in whatever order."""
    return Counter((name, text) for name, table in tables if len(table) for text in json_records(table).to_pylist())
