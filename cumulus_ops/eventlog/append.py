"""Stamping events and appending them to the log, durably, before anything is computed from them.

The log is Parquet files ``log/<relation>/<unique>.parquet`` with the relation's columns, ``_sign`` int8 (+1 insert, -1
delete), ``_offset`` int64 (the event's place in its source) and ``_version`` int64 (its stamp, ascending). Rows of one
atomic event follow each other. Files become part of the log when the catalog names them, never before.

A delivery becomes one batch, or several if it has more rows than a batch may have. It is read, checked and written piece by
piece, and appended as a whole. What cannot be accepted is put aside in the same transaction: every row that was delivered is in the
log, counted as a repeat, in the quarantine, or in a file that is set aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog import Advance, Catalog, Intake, NewFileAside, Taken
from cumulus_ops.config import Project
from cumulus_ops.errors import InputProblem
from cumulus_ops.eventlog.batches import DropBatches
from cumulus_ops.eventlog.cuts import changes, event_cuts, piece_rows
from cumulus_ops.eventlog.delivery import Delivery, Part
from cumulus_ops.eventlog.readers import RelationEvents, check
from cumulus_ops.eventlog.rejected import events_of, rejected_rows
from cumulus_ops.eventlog.repeats import split_known
from cumulus_ops.eventlog.types import OFFSET
from cumulus_ops.faults import reach

__all__ = ["append_delivery", "offset_base"]


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
        NotYet: the delivery changed while it was read; nothing was appended.
        Conflict: another process appended for this coordinator meanwhile, or this one stood still for too long, or the source was
            at another position; nothing was appended.
    """
    with catalog.step() as step:
        epoch, sequence = catalog.position(coordinator)
        reach("append.before-files")
        reading = _Reading(project, catalog, coordinator, delivery)
        while True:
            batches = DropBatches(
                project.state, coordinator, delivery.name, epoch, sequence, project.batch_rows, step.label
            )
            try:
                if reading.fill(batches):
                    new = batches.finish()
                    break
            except BaseException:
                batches.discard()
                raise
            batches.discard()
        reach("append.before-commit")
        appended = catalog.append(new, _advance(delivery), reading.intake())
        reach("append.after-commit")
        return appended


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
    already, or, if it is transactional, without the transactions that have a rejected row in a later relation.
    """

    project: Project
    catalog: Catalog
    coordinator: int
    delivery: Delivery
    parts: tuple[Part, ...] = ()
    asides: list[NewFileAside] = field(default_factory=list)
    left_out: dict[str, NewFileAside] = field(default_factory=dict)  # place of a part -> why
    transactions: np.ndarray = field(default_factory=lambda: np.array([], dtype=np.int64))  # rejected ones
    nothing: NewFileAside | None = None  # why all of it is set aside
    taken: Taken | None = None

    def __post_init__(self) -> None:
        found = list(self.delivery.parts())
        self.parts = tuple(part for part in found if isinstance(part, Part))
        self.asides = [aside for aside in found if isinstance(aside, NewFileAside)]
        self._relations = {relation.name: relation for relation in self.project.relations}
        self._base: int | None = None

    def fill(self, batches: DropBatches) -> bool:
        """Write what is accepted, and what is rejected.

        Returns:
            whether that is all; if not, it has to be done again, for more is left out.
        """
        rejected = [self.transactions]
        for part in self.parts if self.nothing is None else ():
            if part.place not in self.left_out and not self._fill_part(part, batches, rejected):
                return False
        if self.delivery.transactional and (len(new := np.unique(np.concatenate(rejected))) > len(self.transactions)):
            self.transactions = new
            return False
        if self.nothing is None and self.delivery.taken is not None:
            self.taken = self.delivery.taken()
            self.nothing = self._repeated(self.taken)
            return self.nothing is None
        return True

    def _fill_part(self, part: Part, batches: DropBatches, rejected: list[np.ndarray]) -> bool:
        """Write a part; False if that was in vain."""
        pieces = self._pieces(part)
        first = True
        while True:
            try:
                events = next(pieces, None)
            except InputProblem as problem:
                self.left_out[part.place] = self._aside(part, problem)
                return first and not self.delivery.transactional
            if events is None:
                return True
            self._write(events, batches, rejected)
            first = False

    def _pieces(self, part: Part) -> Iterator[RelationEvents]:
        source = f"{self.delivery.source}/{part.relation}"
        settings = self.project.settings_of(part.relation)
        return check(self._relations[part.relation], part.read(), source, part.place, settings)

    def _write(self, events: RelationEvents, batches: DropBatches, rejections: list[np.ndarray]) -> None:
        rows, rejected, source, relation = events.rows, [events.rejected], events.source, events.relation
        if events.numbered:
            known = split_known(self.project, self.catalog, self._relations[relation], source, rows)
            rows, repeated = known.fresh, known.repeated
            rejected.append(known.rejected)
            batches.count_repeats(repeated)
        else:
            source, rows = f"{source}/rows", self._renumbered(rows)
        if self.delivery.transactional:
            rejections.append(events_of(pa.concat_tables(rejected)))
            rows, more = self._whole_transactions(rows)
            rejected.append(more)
        for piece in _pieces(rows, piece_rows(self.project.batch_rows)):
            batches.add(relation, source, piece)
        for table in rejected:
            batches.leave_out(relation, events.source, table, transactional=self.delivery.transactional)

    def _renumbered(self, rows: pa.Table) -> pa.Table:
        """With offsets that no other delivery's rows have, in the place of their row numbers."""
        if self._base is None:
            arrived = self.delivery.arrived.timestamp()
            self._base = offset_base(self.catalog.number_of(self.coordinator, self.delivery.name, arrived))
        offsets = pc.add(rows[OFFSET], self._base)
        return rows.set_column(rows.column_names.index(OFFSET), OFFSET, offsets)

    def _whole_transactions(self, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The rows whose transactions are accepted, and the others."""
        if self.left_out:
            places = ", ".join(self.left_out)
            return rows.slice(0, 0), rejected_rows(rows, "transaction", f"its delivery lacks {places}")
        out = np.isin(rows[OFFSET].to_numpy(), self.transactions)
        if not out.any():
            return rows, rejected_rows(rows.slice(0, 0), "transaction", "")
        others = rejected_rows(rows.filter(pa.array(out)), "transaction", "other rows of its transaction are rejected")
        return rows.filter(pa.array(~out)), others

    def _aside(self, part: Part, problem: InputProblem) -> NewFileAside:
        size = None
        return NewFileAside(
            self.coordinator,
            self.delivery.name,
            part.relation,
            part.place,
            problem.kind,
            problem.message,
            problem.hint,
            size,
        )

    def _repeated(self, taken: Taken) -> NewFileAside | None:
        """Why the delivery is set aside as a whole, if it is: events without numbers cannot be told from those of a copy."""
        if self._base is None or taken.digest is None or self.delivery.intake.retried_files:
            return None
        same = [n for n in self.catalog.delivered(self.coordinator, taken.digest) if n != self.delivery.name]
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

    def intake(self) -> Intake:
        """What is recorded with the batches."""
        asides = [*self.asides, *self.left_out.values()] if self.nothing is None else [self.nothing]
        return replace(self.delivery.intake, taken=self.taken, asides=tuple(asides))


def _pieces(rows: pa.Table, limit: int) -> Iterator[pa.Table]:
    """The rows in pieces of limited size; none cuts an atomic event in two."""
    ends = [len(rows)] if len(rows) <= limit else event_cuts([changes(rows[OFFSET].to_numpy())], len(rows), limit)
    for begin, end in pairwise([0, *ends]):
        yield rows.slice(begin, end - begin)
