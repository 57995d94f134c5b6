"""The event log's rows: batches, their files, what was quarantined."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, cast

from sqlalchemy import Connection, bindparam, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import ClockS, Database, Part
from cumulus_ops.catalog.deliveries import move, record_intake
from cumulus_ops.catalog.key_indexes import WITHOUT, change_key_indexes, lock_key_indexes
from cumulus_ops.catalog.members import not_a_member, read_membership
from cumulus_ops.catalog.records import (
    LEFT_OUT,
    Advance,
    Batch,
    Intake,
    KeyChange,
    LogFile,
    NewBatch,
    step_of,
)
from cumulus_ops.catalog.seals import Seals, record_sealing
from cumulus_ops.catalog.values import Sealing
from cumulus_ops.project.errors import Conflict, SetupProblem

__all__ = ["BATCH_FIELDS", "EventLog", "newest_tick"]

BATCH_FIELDS = [t.batch.c[name] for name in Batch.__dataclass_fields__]
FILE_FIELDS = [t.log_file.c[name] for name in LogFile.__dataclass_fields__]
# Each batch asks these: they are made once (see `Database.read`).
ONE_BATCH = select(*BATCH_FIELDS).where(t.batch.c.id == bindparam("number"))
WAITING = (
    select(*BATCH_FIELDS)
    .where(t.batch.c.coordinator == bindparam("coordinator"))
    .where((t.batch.c.state == "appended") | ((t.batch.c.state == "aside") & t.batch.c.retry_at.is_not(None)))
    .order_by(t.batch.c.id)
)
FILES_OF = (
    select(*FILE_FIELDS).where(t.log_file.c.batch.in_(bindparam("batches", expanding=True))).order_by(t.log_file.c.id)
)
MOVE_ON = (
    update(t.coordinator)
    .where(t.coordinator.c.index == bindparam("coordinator"), t.coordinator.c.epoch == bindparam("here"))
    .where(t.coordinator.c.next_sequence == bindparam("first"))
    .values(next_sequence=bindparam("end"))
)
REVISION = select(t.program.c.revision)
DECLARED = select(t.coordinator.c.sealed_values, select(t.program.c.declared).scalar_subquery(), ClockS()).where(
    t.coordinator.c.index == bindparam("coordinator")
)
NEW_BATCH, NEW_FILES, NEW_QUARANTINE = insert(t.batch), insert(t.log_file), insert(t.quarantine)
NEWEST_OFFSETS = (
    select(t.log_file.c.source, func.max(t.log_file.c.max_offset))
    .where(t.log_file.c.source.in_(bindparam("sources", expanding=True)))
    .group_by(t.log_file.c.source)
)
FILES_WITHIN = (
    select(*FILE_FIELDS)
    .join(t.batch, t.batch.c.id == t.log_file.c.batch)
    .where(t.log_file.c.source == bindparam("source"), t.batch.c.state.not_in(WITHOUT))
    .where(t.log_file.c.min_offset <= bindparam("highest"), t.log_file.c.max_offset >= bindparam("lowest"))
    .order_by(t.log_file.c.id)
)


#: Batches named in one query: databases limit how many values a query may have.
AT_ONCE = 10_000
#: So many names are looked up one by one; for more, all are read.
FEW_NAMES = 1_000


class EventLog(Part):
    """What has been appended."""

    def __init__(self, database: Database, seals: Seals) -> None:
        super().__init__(database)
        self._seals = seals

    def drops(self, coordinator: int, space: str = "", *, among: Collection[str] | None = None) -> set[str]:
        """Names of the deliveries that have been appended for a coordinator: of the drops of its landing folder, or of another space.

        Args:
            coordinator: whose.
            space: whose names they are among.
            among: the names that are asked for; None for all. A few are looked up, which costs nothing however many there ever were.
        """
        query = select(t.batch.c.drop).where(t.batch.c.coordinator == coordinator, t.batch.c.space == space)
        if among is not None and len(among) <= FEW_NAMES:
            query = query.where(t.batch.c.drop.in_(among))
        return {row[0] for row in self._db.read(query)}

    def count_drops(self) -> dict[int, int]:
        """coordinator -> how many deliveries were ever appended for it."""
        b = t.batch.c
        query = select(b.coordinator, func.count()).where(b.part == 0, b.tick.is_(None)).group_by(b.coordinator)
        return {int(row[0]): int(row[1]) for row in self._db.read(query)}

    def append(
        self,
        batches: Sequence[NewBatch],
        advance: Advance | None = None,
        keys: Sequence[KeyChange] = (),
        drops: int | None = None,
        intake: Intake | None = None,
        sealing: Sealing | None = None,
        declared: str | None = None,
    ) -> tuple[int, ...]:
        """Make the log files of all batches of a drop visible, at once. One that is a retry takes the place of a batch that is
        set aside.

        Args:
            batches: consecutive ones, at least one.
            advance: the move of the source that they come from, if it has a position.
            keys: what it adds to key indexes.
            drops: a batch that is set aside, and of which nothing else will ever count.
            intake: what is recorded with them.
            sealing: the values that it registers for and seals, and how many its coordinator had sealed when its events were judged.
            declared: what its process was started with; None if that does not matter.

        Returns:
            their ids.

        Raises:
            InputProblem: the coordinator has voted to end its last epoch.
            SetupProblem: the project says something else by now about what may be appended.
            RevisionOver: another revision was deployed, whose relations may have other columns.
            Conflict: the coordinator's epoch or sequence has moved, the drop was appended by somebody else, what is retried is not
                put aside any more, the source is at another position, a key index is another one (``keys-moved``), a value was sealed
                meanwhile (``seals-moved``), or the lease of the step that wrote its files is over.
        """
        new = batches[0]
        with self._db.begin() as connection:
            where = {"coordinator": new.coordinator, "here": new.epoch, "first": new.first_sequence}
            moved = connection.execute(MOVE_ON, {**where, "end": batches[-1].next_sequence})
            if moved.rowcount != 1:
                raise Conflict(
                    "the coordinator moved on", kind="append-conflict", place=f"coordinator {new.coordinator}"
                )
            # The coordinator is locked, and a switch waits for that: so it stays so.
            self._db.require_revision(connection.execute(REVISION).scalar_one())
            at = _require_declared(connection, new.coordinator, sealing, declared)
            if sealing is not None and sealing.has_seals:
                self._db.lock(connection)  # who closes values sees the seals of others, and who leaves
            if new.coordinator not in read_membership(connection).of(new.epoch):
                raise not_a_member(new.coordinator, new.epoch)
            if advance is not None:
                move(connection, advance, new.epoch)
            for batch in batches:
                _decide(connection, batch.retry_of, "retried")
            _decide(connection, drops, "dropped")
            lock_key_indexes(connection, keys)
            written = [f.path for b in batches for f in b.log_files]
            written += [run.path for change in keys for run in change.runs]
            self._db.require_files(connection, {*written, *(q.path for b in batches for q in b.quarantine_files)})
            try:
                ids = tuple([self._insert_batch(connection, batch) for batch in batches])
            except IntegrityError as error:
                raise Conflict("the drop is appended already", kind="append-conflict", place=new.drop) from error
            change_key_indexes(connection, keys)
            if intake is not None:
                record_intake(connection, intake, ids[0])
            sealed = 0 if sealing is None else record_sealing(connection, new.coordinator, sealing, new.drop, at)
        if sealing is not None:
            self._seals.remember_open(new.coordinator, sealing, sealed)
        return ids

    def _insert_batch(self, connection: Connection, new: NewBatch) -> int:
        names = [n for n in NewBatch.__dataclass_fields__ if n not in ("log_files", "quarantine_files")]
        values = {n: getattr(new, n) for n in names}
        # whoever has appended it applies it, as long as its process lives; files are named by their step
        written = [*(f.path for f in new.log_files), *(q.path for q in new.quarantine_files)]
        step = step_of(written[0]) if written else None
        values |= {"lease": None if step is None else step.lease}
        begun = {"state": "appended", "seconds": 0.0, "failures": 0, "unended": 0}
        inserted = connection.execute(NEW_BATCH, {**values, **begun})
        batch = int(cast(Any, inserted.inserted_primary_key)[0])
        files = [{**vars(f), "batch": batch} for f in new.log_files]
        if files:
            connection.execute(NEW_FILES, files)
        rejected = [
            {**vars(q), "batch": batch, "state": "kept", "reasons": json.dumps(dict(q.reasons))}
            for q in new.quarantine_files
        ]
        if rejected:
            connection.execute(NEW_QUARANTINE, rejected)
        return batch

    def batch(self, number: int) -> Batch:
        """The batch with the given id."""
        return Batch(*self._db.read(ONE_BATCH, {"number": number})[0])

    def batches(
        self,
        *,
        state: str | None = None,
        coordinator: int | None = None,
        epoch: int | None = None,
        since: int | None = None,
    ) -> list[Batch]:
        """Batches in the order of their ids, filtered by state, coordinator, and epoch, or the first of the epochs that are asked for. All there ever were
        are many: what is done again and again asks for some."""
        query = select(*BATCH_FIELDS).order_by(t.batch.c.id)
        if state is not None:
            query = query.where(t.batch.c.state == state)
        if coordinator is not None:
            query = query.where(t.batch.c.coordinator == coordinator)
        if epoch is not None:
            query = query.where(t.batch.c.epoch == epoch)
        if since is not None:
            query = query.where(t.batch.c.epoch >= since)
        return [Batch(*row) for row in self._db.read(query)]

    def waiting_batches(self, coordinator: int) -> list[Batch]:
        """The batches of a coordinator that wait to be applied, or to be tried again by themselves, in the order of their ids."""
        return [Batch(*row) for row in self._db.read(WAITING, {"coordinator": coordinator})]

    def files_within(self, source: str, lowest: int, highest: int) -> list[LogFile]:
        """Log files of a source with offsets in a range (inclusive), but for those of dropped batches, whose events may come again, and of
        retried ones, whose retry has them."""
        values = {"source": source, "lowest": lowest, "highest": highest}
        return [LogFile(*row) for row in self._db.read(FILES_WITHIN, values)]

    def files(self, *, batch: int | None = None, epoch: int | None = None) -> list[LogFile]:
        """Log files of a batch; or of all batches up to ``epoch`` (inclusive) that count."""
        f = t.log_file.c
        query = select(*FILE_FIELDS).order_by(f.id)
        if batch is not None:
            query = query.where(f.batch == batch)
        if epoch is not None:
            counts = t.batch.c.state.not_in(LEFT_OUT)
            query = query.join(t.batch, t.batch.c.id == f.batch).where(t.batch.c.epoch <= epoch, counts)
        return [LogFile(*row) for row in self._db.read(query)]

    def newest_offsets(self, sources: Collection[str]) -> dict[str, int]:
        """source -> the highest offset (inclusive) of its events in the log, of those that have some, whatever became of their batches."""
        return {str(source): int(offset) for source, offset in self._db.read(NEWEST_OFFSETS, {"sources": [*sources]})}

    def some_files(self, parts: int, part: int) -> list[LogFile]:
        """Every ``parts``-th log file, those whose id leaves ``part``, without those of batches that somebody has decided about."""
        f, b = t.log_file.c, t.batch.c
        mine = (f.id % parts == part, b.state.not_in(WITHOUT))
        query = select(*FILE_FIELDS).join(t.batch, b.id == f.batch)
        return [LogFile(*row) for row in self._db.read(query.where(*mine).order_by(f.id))]

    def newest_tick(self, epoch: int | None = None) -> int | None:
        """What now() is at the end of an epoch, or by all that is appended, in microseconds since 1970; None before the first tick."""
        return self._db.look(lambda connection: newest_tick(connection, epoch))

    def has_tick(self, epoch: int) -> bool:
        """Whether a tick was appended to an epoch, whatever became of it."""
        b = t.batch.c
        return bool(self._db.read(select(b.id).where(b.epoch == epoch, b.tick.is_not(None)).limit(1)))

    def newest_file(self) -> str | None:
        """The path of the file that was appended last; None without one."""
        f = t.log_file.c
        return next((str(row[0]) for row in self._db.read(select(f.path).order_by(f.id.desc()).limit(1))), None)

    def files_of(self, batches: Sequence[int]) -> dict[int, tuple[LogFile, ...]]:
        """batch -> its log files, of many batches at once."""
        found: dict[int, tuple[LogFile, ...]] = dict.fromkeys(batches, ())
        for i in range(0, len(batches), AT_ONCE):
            for row in self._db.read(FILES_OF, {"batches": batches[i : i + AT_ONCE]}):
                found[row[0]] += (LogFile(*row),)
        return found


def _require_declared(connection: Connection, coordinator: int, sealing: Sealing | None, declared: str | None) -> float:
    """See that an append keeps to what is declared and sealed now; its coordinator is locked, so that stays so. Returns the time, by the database's
    clock."""
    if sealing is None and declared is None:
        return 0.0
    number, known, at = connection.execute(DECLARED, {"coordinator": coordinator}).one()
    if declared is not None and known not in (None, declared):
        hint = "run `cumulus init` if the file is to say that; and start processes again that know an old one"
        message = "cumulus.yaml has been given other seals, or other relations that have only inserts"
        raise SetupProblem(message, kind="settings-changed", hint=hint)
    if sealing is not None and number != sealing.sealed_values:
        place = f"coordinator {coordinator}"
        raise Conflict("it has sealed values meanwhile", kind="seals-moved", place=place, hint="run it again")
    return float(at)


def newest_tick(connection: Connection, epoch: int | None = None) -> int | None:
    """See :meth:`EventLog.newest_tick`."""
    b = t.batch.c
    query = select(func.max(b.tick)).where(b.state.not_in(LEFT_OUT))
    found = connection.execute(query if epoch is None else query.where(b.epoch <= epoch)).scalar()
    return None if found is None else int(found)


def _decide(connection: Connection, batch: int | None, state: str) -> None:
    """What becomes of a batch that is set aside: a retry's events count as its own from now on."""
    if batch is None:
        return
    aside = update(t.batch).where(t.batch.c.id == batch, t.batch.c.state == "aside")
    if connection.execute(aside.values(state=state)).rowcount != 1:
        raise Conflict("it is not set aside any more", kind="append-conflict", place=f"batch {batch}")
