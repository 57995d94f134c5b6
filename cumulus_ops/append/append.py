"""Stamping events and appending them to the log, durably, before anything is computed from them.

The log is Parquet files ``log/<relation>/<unique>.parquet`` with the relation's columns, ``_sign`` int8 (+1 insert, -1
delete), ``_offset`` int64 (the event's place in its source) and ``_version`` int64 (its stamp, ascending). Rows of one
atomic event follow each other. Files become part of the log when the catalog names them, never before.

A delivery becomes one batch, or several if it has more rows than a batch may have. It is read, checked and written piece by
piece, and appended as a whole. What cannot be accepted is put aside in the same transaction: every row that was delivered is in the
log, counted as a repeat, in the quarantine, or in a file that is set aside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.append.attempts import DEATHS, attempt
from cumulus_ops.append.batches import DropBatches
from cumulus_ops.append.checks import RelationEvents, check
from cumulus_ops.append.declarations import declaration
from cumulus_ops.append.delivery import Delivery, Part, SealPart
from cumulus_ops.append.rejected import events_of, json_records, rejected_rows, without_events
from cumulus_ops.append.repeats import split_known
from cumulus_ops.append.seals import SealStage
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import Advance, Intake, NewFileAside, Taken
from cumulus_ops.files.columns import OFFSET, RawFile
from cumulus_ops.files.pieces import changes, event_cuts, piece_rows
from cumulus_ops.keys.stage import KeyStage, tidy_keys
from cumulus_ops.project.errors import InputProblem, SetupProblem
from cumulus_ops.project.processes import reach
from cumulus_ops.project.settings import Project
from m3.program import Relation

__all__ = ["append_delivery", "offset_base"]


#: So many values may be sealed by a file: they are sealed all at once, and the transaction has a row for each.
SEAL_VALUES = 1 << 20


def append_delivery(project: Project, catalog: Catalog, coordinator: int, delivery: Delivery) -> tuple[int, ...]:
    """Append one delivery to the coordinator's open epoch, as stamped batches of at most ``project.batch_rows`` rows each.

    Args:
        project: the project.
        catalog: its catalog.
        coordinator: whose source it came from.
        delivery: what the source handed over.

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
        reading = _Reading(project, catalog, coordinator, delivery, is_deadly or delivery.apart)
        appended = None
        while appended is None:
            batches = DropBatches(
                project.state,
                coordinator,
                delivery.name,
                epoch,
                sequence,
                project.batch_rows,
                step.label,
                delivery.space(coordinator),
            )
            try:
                with KeyStage(project, catalog, coordinator, epoch, step.label) as keys:
                    appended = reading.append(batches, keys, SealStage(project, catalog, coordinator))
            except _ReadAgain:
                batches.discard()
            except BaseException:
                batches.discard()
                raise
        reach("append.after-commit")
        tidy_keys(project, catalog, step.label)
        return appended


class _ReadAgain(Exception):
    """More of a delivery is left out than was known when it was read: what was written is in vain."""


def _advance(delivery: Delivery) -> Advance | None:
    if delivery.position is None:
        return None
    return Advance(delivery.source, delivery.begin, delivery.position)


def offset_base(number: int) -> int:
    """Where the offsets of a delivery begin whose events have no numbers: they are below zero, and no other delivery's.

    >>> offset_base(1) - offset_base(0) == 2**32
    True
    """
    return -(2**62) + (number << 32)


@dataclass
class _Reading:
    """One delivery, read until it is known what of it is left out: then all the rest has been written in one go.

    Most often that is so at once. It is read again without a part that turned out to be unreadable when rows of it were written
    already, or, if it is transactional, without the transactions that have a rejected row. Which of these their keys reject is not asked
    again: ``judged`` are the relation, the source and the rows, as of the readings before, and ``judged_rows`` what they were before that, to see
    that this reading leaves out the same.
    """

    project: Project
    catalog: Catalog
    coordinator: int
    delivery: Delivery
    is_apart: bool = False  # its parts are read by a process of their own
    parts: tuple[Part, ...] = ()
    asides: list[NewFileAside] = field(default_factory=list)
    left_out: dict[str, NewFileAside] = field(default_factory=dict)  # place of a part -> why
    transactions: np.ndarray = field(default_factory=lambda: np.array([], dtype=np.int64))  # rejected ones
    judged: list[tuple[str, str, pa.Table]] = field(default_factory=list)
    judged_now: list[tuple[str, str, pa.Table]] = field(default_factory=list)
    judged_rows: list[tuple[str, pa.Table]] = field(default_factory=list)
    judged_rows_now: list[tuple[str, pa.Table]] = field(default_factory=list)
    left_now: list[tuple[str, pa.Table]] = field(default_factory=list)
    nothing: NewFileAside | None = None  # why all of it is set aside
    taken: Taken | None = None

    def __post_init__(self) -> None:
        found = list(self.delivery.parts())
        self.parts = tuple(part for part in found if isinstance(part, Part))
        self.seal_parts = tuple(part for part in found if isinstance(part, SealPart))
        self.asides = [aside for aside in found if isinstance(aside, NewFileAside)]
        self._relations = {relation.name: relation for relation in self.project.relations}
        self._base: int | None = None

    def append(self, batches: DropBatches, keys: KeyStage, seals: SealStage) -> tuple[int, ...]:
        """Read it, write what is accepted and what is rejected, and append that.

        Raises:
            _ReadAgain: it has to be done again, for more is left out.
        """
        lost = [self.transactions]
        for part in self.parts if self.nothing is None else ():
            if part.place not in self.left_out:
                lost += self._read(part, batches, keys, seals)
        for seal_part in self.seal_parts if self.nothing is None else ():
            self._read_seals(seal_part, batches, seals)
        if self.delivery.transactional:
            self._require(np.unique(np.concatenate(lost)))
            self._require_same_rows()
        if self.nothing is None and self.delivery.taken is not None:
            self.taken = self.delivery.taken()
            self.nothing = self._repeated(self.taken)
            if self.nothing is not None:
                raise _ReadAgain
        for relation, source, rejected in self.judged:
            batches.leave_out(relation, source, rejected, transactional=True)
        new = batches.finish()
        keys.finish()
        reach("append.before-commit")
        advance = _advance(self.delivery)
        intake, sealing = self._intake(), seals.sealing()
        declared = declaration(self.project)
        return keys.commit(
            lambda changes: self.catalog.log.append(
                new, advance, changes, intake=intake, sealing=sealing, declared=declared
            )
        )

    def _require(self, lost: np.ndarray) -> None:
        """See that all transactions that are lost were known to be when this reading began."""
        if len(lost) > len(self.transactions):
            self.judged += self.judged_now
            self.judged_rows += self.judged_rows_now
            self.transactions, self.judged_now, self.judged_rows_now, self.left_now = lost, [], [], []
            raise _ReadAgain

    def _require_same_rows(self) -> None:
        """See that what is left out for its key is what was judged: else rows would be lost.

        Raises:
            SetupProblem: the source has handed over something else when it was read again.
        """
        if _texts(self.judged_rows) != _texts(self.left_now):
            message = f"delivery {self.delivery.name} has other rows, or other numbers of events, each time it is read"
            hint = "a source hands over the same events with the same numbers when it is read again (docs/sources.md)"
            raise SetupProblem(message, kind="unsteady-source", place=f"source {self.delivery.source}", hint=hint)

    def _read(self, part: Part, batches: DropBatches, keys: KeyStage, seals: SealStage) -> list[np.ndarray]:
        """Write a part. Returns the rejected transactions."""
        pieces = self._pieces(part)
        lost: list[np.ndarray] = []
        is_first = True
        while True:
            try:
                events = next(pieces, None)
            except InputProblem as problem:
                if not self._can_be_read_later:
                    raise
                self.left_out[part.place] = self._aside(part, problem)
                if is_first:
                    return lost
                raise _ReadAgain from problem
            if events is None:
                return lost
            lost.append(self._write(events, batches, keys, seals))
            is_first = False

    def _read_seals(self, part: SealPart, batches: DropBatches, seals: SealStage) -> None:
        """Take the values in a seal's part. Without all rows of its relation that came with it, it says more than is true."""
        seal = self.project.seal(part.relation, part.seal)
        assert seal is not None  # sources name those that there are
        source = f"{self.delivery.source}/{part.name}"
        missing = None if part.announces else self._missing_rows(part)
        try:
            if missing is not None:
                raise missing
            columns = self.project.seal_rows(part.relation, seal)
            found = _few(check(columns, self._raw(part), source, part.place, insert_only=True), part)
        except InputProblem as problem:
            if not self._can_be_read_later:
                raise
            if problem.kind in ("missing-column", "no-header"):
                problem.hint = f"files of this seal have the columns {', '.join(seal.columns)}"
            self.left_out[part.place] = self._aside(part, problem)
            return
        for events in found:
            say = seals.announce if part.announces else seals.seal
            for table in (events.rejected, say(part.relation, seal, events.rows)):
                batches.leave_out(part.name, source, table if events.numbered else without_events(table))

    def _missing_rows(self, part: SealPart) -> InputProblem | None:
        """What is said of a seal if rows of its relation in the same delivery could not be read."""
        asides = (*self.asides, *self.left_out.values())
        rows = next((a for a in asides if a.relation == part.relation), None)
        if rows is None:
            return None
        message = f"seals values of {part.relation}, of which rows are set aside: {rows.place}"
        hint = "mend and retry that file first, then this one: rows of a value do not count once it is sealed"
        return InputProblem(message, kind="rows-missing", place=part.place, hint=hint)

    @property
    def _can_be_read_later(self) -> bool:
        """Whether a part may be set aside: where a source has a position, what is behind it is gone."""
        delivery = self.delivery
        return delivery.position is None and not delivery.transactional and not delivery.intake.is_retry

    def _pieces(self, part: Part) -> Iterator[RelationEvents]:
        source = f"{self.delivery.source}/{part.relation}"
        relation = self._relations[part.relation]
        insert_only = relation.name in self.project.insert_only
        upsert = self._is_upsert(relation)
        return check(relation, self._raw(part), source, part.place, upsert=upsert, insert_only=insert_only)

    def _raw(self, part: Part | SealPart) -> Iterator[RawFile]:
        return part.read_apart() if self.is_apart and part.read_apart is not None else part.read()

    def _is_upsert(self, relation: Relation) -> bool:
        return relation.name in self.project.keys and self.project.keys[relation.name].mode == "upsert"

    def _write(self, events: RelationEvents, batches: DropBatches, keys: KeyStage, seals: SealStage) -> np.ndarray:
        """Write a piece. Returns the transactions of rejected rows."""
        rows, rejected, source, name = events.rows, [events.rejected], events.source, events.relation
        relation, lost = self._relations[name], np.array([], dtype=np.int64)
        if events.numbered:
            known = split_known(self.project, self.catalog, relation, source, rows, upsert=self._is_upsert(relation))
            rows = known.fresh
            rejected.append(known.rejected)
            batches.count_repeats(known.repeated)
        else:
            source, rows = f"{source}/rows", self._renumbered(rows)
        rows, sealed = seals.judge(name, rows)
        rejected.append(sealed)
        if self.delivery.transactional:
            lost = events_of(pa.concat_tables(rejected))
            rows, others = self._whole_transactions(name, rows)
            rejected.append(others)
        resolved = keys.resolve(name, rows, seals.refuser(name))
        if self.delivery.transactional and resolved.lost:
            self.judged_now.append((name, events.source, resolved.rejected))
            self.judged_rows_now.append((name, rows.filter(_among(rows, sorted(resolved.lost)))))
            lost = np.concatenate([lost, np.array(sorted(resolved.lost), dtype=np.int64)])
        else:
            rejected.append(resolved.rejected)
        seals.take(name, resolved.rows)
        for piece in _pieces(resolved.rows, piece_rows(self.project.batch_rows)):
            batches.add(name, source, piece)
        for table in rejected:
            shown = table if events.numbered else without_events(table)
            batches.leave_out(name, events.source, shown, transactional=self.delivery.transactional)
        return lost

    def _renumbered(self, rows: pa.Table) -> pa.Table:
        """With offsets that no other delivery's rows have, in the place of their row numbers."""
        if len(rows) == 0:
            return rows
        if self._base is None:
            arrived = self.delivery.arrived.timestamp()
            named = (self.delivery.space(self.coordinator), self.delivery.name)
            self._base = offset_base(self.catalog.deliveries.number_of(self.coordinator, *named, arrived))
        offsets = pc.add(rows[OFFSET], self._base)
        return rows.set_column(rows.column_names.index(OFFSET), OFFSET, offsets)

    def _whole_transactions(self, relation: str, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The rows whose transactions are accepted, and the others, but for those that are rejected for their keys."""
        out = _among(rows, self.transactions)
        kept, rows = rows.filter(pc.invert(out)), rows.filter(out)
        judged = [events_of(table) for name, _, table in self.judged if name == relation]
        mine = _among(rows, np.concatenate([*judged, np.array([], dtype=np.int64)]))
        self.left_now.append((relation, rows.filter(mine)))
        others = rejected_rows(
            rows.filter(pc.invert(mine)), "transaction", "other rows of its transaction are rejected"
        )
        return kept, others

    def _aside(self, part: Part | SealPart, problem: InputProblem) -> NewFileAside:
        what = part.name if isinstance(part, SealPart) else part.relation
        said = (problem.kind, problem.message, problem.hint)
        return NewFileAside(self.coordinator, self.delivery.name, what, part.place, *said)

    def _repeated(self, taken: Taken) -> NewFileAside | None:
        """Why the delivery is set aside as a whole, if it is: events without numbers cannot be told from those of a copy."""
        if self._base is None or taken.digest is None or self.delivery.intake.is_retry:
            return None
        same = [
            n for n in self.catalog.deliveries.with_contents(self.coordinator, taken.digest) if n != self.delivery.name
        ]
        if not same:
            return None
        return NewFileAside(
            self.coordinator,
            self.delivery.name,
            None,
            self.delivery.place,
            "repeated-drop",
            f"has the same contents as drop {same[0]}, and no event numbers that would tell whether it is a copy",
            "if its events have happened again, count them by `cumulus quarantine retry`; if it is a copy, `cumulus quarantine drop`",
            sum(file.bytes for file in taken.files.values()),
        )

    def _intake(self) -> Intake:
        """What is recorded with the batches."""
        asides = [*self.asides, *self.left_out.values()] if self.nothing is None else [self.nothing]
        return replace(self.delivery.intake, taken=self.taken, asides=tuple(asides))


def _few(found: Iterable[RelationEvents], part: SealPart) -> list[RelationEvents]:
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


def _among(rows: pa.Table, numbers: Sequence[int] | np.ndarray) -> pa.Array:
    """Which rows are of events with these numbers."""
    return pa.array(np.isin(rows[OFFSET].to_numpy(), np.asarray(numbers, dtype=np.int64)))


def _texts(tables: Iterable[tuple[str, pa.Table]]) -> Counter[tuple[str, str]]:
    """The rows of relations, in whatever order."""
    return Counter((name, text) for name, table in tables if len(table) for text in json_records(table).to_pylist())


def _pieces(rows: pa.Table, limit: int) -> Iterator[pa.Table]:
    """The rows in pieces of limited size; none cuts an atomic event in two."""
    ends = [len(rows)] if len(rows) <= limit else event_cuts([changes(rows[OFFSET].to_numpy())], len(rows), limit)
    for begin, end in pairwise([0, *ends]):
        yield rows.slice(begin, end - begin)
