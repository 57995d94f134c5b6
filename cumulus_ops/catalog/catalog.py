"""The catalog's reads and transactions.

Every method that changes something is one transaction, and can be run twice: the second run finds its work done and
says so, or raises :class:`~cumulus_ops.errors.Conflict` and changes nothing.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Connection, Executable, Row, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.connection import READ_ONLY, connect, migrate, retry_busy
from cumulus_ops.catalog.records import (
    Batch,
    Clock,
    HistoryEntry,
    LogFile,
    NewBatch,
    NewRun,
    ProgramRecord,
    Run,
    Snapshot,
    Validation,
)
from cumulus_ops.errors import Conflict, InputProblem, NotYet, SetupProblem

__all__ = ["Catalog"]

BATCH_FIELDS = [t.batch.c[name] for name in Batch.__dataclass_fields__]
RUN_FIELDS = [t.run.c[name] for name in Run.__dataclass_fields__]


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Catalog:
    """The catalog at one database URL. Holds no state of its own beside the connection pool."""

    def __init__(self, url: str) -> None:
        self._engine = connect(url)
        self._reader = self._engine.execution_options(**{READ_ONLY: True})

    def migrate(self) -> None:
        """Bring the schema up to date (see :func:`~cumulus_ops.catalog.connection.migrate`)."""
        migrate(self._engine)

    def close(self) -> None:
        """Release all connections."""
        self._engine.dispose()

    def _read(self, query: Executable) -> list[Any]:
        def action() -> list[Any]:
            with self._reader.begin() as connection:
                return list(connection.execute(query))

        return retry_busy(action)

    # -- program ---------------------------------------------------------------------------------------------------

    def register(self, record: ProgramRecord) -> None:
        """Register the program and its coordinators; does nothing when the same program is registered already.

        Raises:
            InputProblem: another program, or another number of coordinators, is registered.
        """
        try:
            self._register(record)
        except IntegrityError:  # somebody else registered first
            self._register(record)

    def _register(self, record: ProgramRecord) -> None:
        with self._engine.begin() as connection:
            existing = connection.execute(select(t.program)).first()
            if existing is None:
                self._insert_program(connection, record)
            elif (existing.digest, existing.coordinators) != (record.digest, record.coordinators):
                raise InputProblem(
                    f"this catalog maintains another program ({existing.name}, {existing.coordinators} coordinators)",
                    kind="program-changed",
                    hint="use a new catalog and state folder for the changed program",
                )

    def _insert_program(self, connection: Connection, record: ProgramRecord) -> None:
        values = {name: getattr(record, name) for name in ProgramRecord.__dataclass_fields__}
        zeros = {"last_commit": 0, "next_ticket": 1, "merge_horizon": 0, "token": 0}
        connection.execute(insert(t.program).values(id=1, **values, **zeros))
        connection.execute(
            insert(t.coordinator), [{"index": i, "epoch": 0, "next_sequence": 0} for i in range(record.coordinators)]
        )

    def program(self) -> ProgramRecord:
        """The registered program.

        Raises:
            SetupProblem: nothing is registered yet.
        """
        rows = self._read(select(*[t.program.c[name] for name in ProgramRecord.__dataclass_fields__]))
        if not rows:
            raise SetupProblem(
                "no program is registered in this catalog", kind="not-initialised", hint="run `cumulus init`"
            )
        return ProgramRecord(*rows[0])

    # -- coordinators and epochs -----------------------------------------------------------------------------------

    def position(self, coordinator: int) -> tuple[int, int]:
        """(open epoch, next sequence) of a coordinator."""
        c = t.coordinator.c
        rows = self._read(select(c.epoch, c.next_sequence).where(c.index == coordinator))
        if not rows:
            raise InputProblem(
                f"there is no coordinator {coordinator}", kind="unknown-coordinator", hint="see `cumulus status`"
            )
        return rows[0][0], rows[0][1]

    def token(self) -> int:
        """The coordinator that may move to its next epoch."""
        return cast(int, self._read(select(t.program.c.token))[0][0])

    def seal(self, coordinator: int, epoch: int) -> None:
        """Seal ``epoch`` for a coordinator, move it to the next epoch and pass the token on; a no-op when done before.

        Raises:
            NotYet: the token is elsewhere, an earlier epoch is open, or a batch is not applied.
        """
        with self._engine.begin() as connection:
            program = self._lock(connection)
            c = t.coordinator.c
            current = connection.execute(select(c.epoch).where(c.index == coordinator)).scalar_one()
            if current > epoch:
                return
            self._check_sealable(connection, program, coordinator, epoch, current)
            connection.execute(insert(t.seal).values(coordinator=coordinator, epoch=epoch, sealed_at=_now()))
            connection.execute(
                update(t.coordinator).where(c.index == coordinator).values(epoch=epoch + 1, next_sequence=0)
            )
            connection.execute(update(t.program).values(token=(coordinator + 1) % program.coordinators))

    def _check_sealable(
        self, connection: Connection, program: Row[Any], coordinator: int, epoch: int, current: int
    ) -> None:
        place = f"coordinator {coordinator}, epoch {epoch}"
        if current < epoch:
            raise NotYet(f"epoch {current} is still open", kind="earlier-epoch-open", place=place)
        if program.token != coordinator:
            raise NotYet(
                f"coordinator {program.token} has the token", kind="no-token", place=place, hint="it must seal first"
            )
        b = t.batch.c
        open_batches = select(func.count()).where(b.coordinator == coordinator, b.epoch == epoch, b.state == "appended")
        if connection.execute(open_batches).scalar_one():
            raise NotYet("a batch is not applied yet", kind="batch-pending", place=place, hint="apply it first")

    def seals(self) -> dict[int, set[int]]:
        """epoch -> the coordinators that have sealed it."""
        result: dict[int, set[int]] = {}
        for coordinator, epoch in self._read(select(t.seal.c.coordinator, t.seal.c.epoch)):
            result.setdefault(epoch, set()).add(coordinator)
        return result

    # -- the event log ---------------------------------------------------------------------------------------------

    def drops(self, coordinator: int) -> set[str]:
        """Names of the drops that have been appended for a coordinator."""
        return {row[0] for row in self._read(select(t.batch.c.drop).where(t.batch.c.coordinator == coordinator))}

    def append(self, new: NewBatch) -> int:
        """Make a batch's log files visible.

        Returns:
            the batch's id.

        Raises:
            Conflict: the coordinator's epoch or sequence has moved, or the drop was appended by somebody else.
        """
        c = t.coordinator.c
        with self._engine.begin() as connection:
            moved = connection.execute(
                update(t.coordinator)
                .where(c.index == new.coordinator, c.epoch == new.epoch, c.next_sequence == new.first_sequence)
                .values(next_sequence=new.next_sequence)
            )
            if moved.rowcount != 1:
                raise Conflict(
                    "the coordinator moved on", kind="append-conflict", place=f"coordinator {new.coordinator}"
                )
            try:
                return self._insert_batch(connection, new)
            except IntegrityError as error:
                raise Conflict("the drop is appended already", kind="append-conflict", place=new.drop) from error

    def _insert_batch(self, connection: Connection, new: NewBatch) -> int:
        names = [n for n in NewBatch.__dataclass_fields__ if n not in ("log_files", "quarantine_files")]
        values = {n: getattr(new, n) for n in names}
        inserted = connection.execute(insert(t.batch).values(**values, state="appended", seconds=0.0))
        batch = int(cast(Any, inserted.inserted_primary_key)[0])
        files = [{**vars(f), "batch": batch} for f in new.log_files]
        if files:
            connection.execute(insert(t.log_file), files)
        rejected = [{"batch": batch, "relation": r, "path": p, "rows": n} for r, p, n in new.quarantine_files]
        if rejected:
            connection.execute(insert(t.quarantine), rejected)
        return batch

    def batches(self, *, state: str | None = None, coordinator: int | None = None) -> list[Batch]:
        """Batches in the order of their ids, filtered by state and coordinator."""
        query = select(*BATCH_FIELDS).order_by(t.batch.c.id)
        if state is not None:
            query = query.where(t.batch.c.state == state)
        if coordinator is not None:
            query = query.where(t.batch.c.coordinator == coordinator)
        return [Batch(*row) for row in self._read(query)]

    def log_files(
        self, *, batch: int | None = None, source: str | None = None, epoch: int | None = None
    ) -> list[LogFile]:
        """Log files of a batch, of a source, or of all batches up to ``epoch`` (inclusive)."""
        f = t.log_file.c
        query = select(*[f[name] for name in LogFile.__dataclass_fields__]).order_by(f.id)
        if batch is not None:
            query = query.where(f.batch == batch)
        if source is not None:
            query = query.where(f.source == source)
        if epoch is not None:
            query = query.join(t.batch, t.batch.c.id == f.batch).where(t.batch.c.epoch <= epoch)
        return [LogFile(*row) for row in self._read(query)]

    def quarantine_files(self) -> list[tuple[int, str, str, int]]:
        """(batch, relation, path, rows) of everything quarantined."""
        q = t.quarantine.c
        return [tuple(row) for row in self._read(select(q.batch, q.relation, q.path, q.rows).order_by(q.id))]

    # -- commits ---------------------------------------------------------------------------------------------------

    def last_commit(self) -> int:
        """The newest commit number; everything up to it is visible."""
        return cast(int, self._read(select(t.program.c.last_commit))[0][0])

    def runs(self, at: int) -> list[Run]:
        """The runs visible at commit ``at``."""
        r = t.run.c
        query = select(*RUN_FIELDS).where(r.commit <= at, or_(r.retired_by.is_(None), r.retired_by > at)).order_by(r.id)
        return [Run(**row._mapping) for row in self._read(query)]

    def begin_apply(self, batch: int) -> int:
        """Announce that a batch is about to be applied: draw its ticket (once), and keep what it will read from merging.

        Returns:
            the commit to read at.
        """
        with self._engine.begin() as connection:
            program = self._lock(connection)
            this = t.batch.c.id == batch
            mine = connection.execute(select(t.batch.c.ticket).where(this)).scalar_one()
            values = {"read_at": program.last_commit}
            if mine is None:
                values["ticket"] = program.next_ticket
                connection.execute(update(t.program).values(next_ticket=program.next_ticket + 1))
            connection.execute(update(t.batch).where(this).values(**values))
            return int(program.last_commit)

    def commit_apply(self, batch: int, read_at: int, runs: Sequence[NewRun], seconds: float) -> int | None:
        """Make an applied batch visible.

        Args:
            batch: the batch's id.
            read_at: the commit its reads saw (inclusive).
            runs: the delta runs it wrote.
            seconds: how long it took.

        Returns:
            the commit's number, or None when the batch was applied by somebody else before.

        Raises:
            Conflict: runs beyond ``read_at`` have been merged meanwhile, so its clock could not be kept.
        """
        with self._engine.begin() as connection:
            program = self._lock(connection)
            state = connection.execute(select(t.batch.c.state).where(t.batch.c.id == batch)).scalar_one()
            if state != "appended":
                return None
            if read_at < program.merge_horizon:
                raise Conflict("the runs it read were merged", kind="merge-conflict", place=f"batch {batch}")
            number = self._commit(connection, program, "apply", runs)
            values = {"state": "applied", "commit": number, "seconds": seconds}
            connection.execute(update(t.batch).where(t.batch.c.id == batch).values(**values))
            clock = {"prefix": read_at, "exceptions": json.dumps([number]), "revision": 0}
            connection.execute(insert(t.reading_clock).values(batch=batch, **clock))
            return number

    def history(self, at: int) -> list[HistoryEntry]:
        """The live history: batches applied at or before commit ``at`` that no snapshot has retired."""
        k = t.reading_clock.c
        query = (
            select(*BATCH_FIELDS, k.prefix, k.exceptions, k.revision)
            .join(t.reading_clock, k.batch == t.batch.c.id)
            .where(t.batch.c.commit <= at)
            .order_by(t.batch.c.id)
        )
        width = len(BATCH_FIELDS)
        return [
            HistoryEntry(Batch(*row[:width]), Clock(row[width], frozenset(json.loads(row[width + 1]))), row[width + 2])
            for row in self._read(query)
        ]

    def commit_correction(
        self, entries: Sequence[HistoryEntry], read_at: int, runs: Sequence[NewRun], corrected: Mapping[int, int]
    ) -> int:
        """Make corrections visible and advance the clocks of the corrected history to ``read_at``.

        Args:
            entries: the history entries as they were read.
            read_at: the commit up to which they are now corrected (inclusive).
            runs: the corrective delta runs.
            corrected: epoch -> number of corrected map entries.

        Returns:
            the commit's number; when nothing was corrected, no commit is made and ``read_at`` is returned.

        Raises:
            Conflict: one of the clocks was advanced or retired by somebody else.
        """
        with self._engine.begin() as connection:
            program = self._lock(connection)
            number = self._commit(connection, program, "correct", runs) if runs else read_at
            for entry in entries:
                self._advance(connection, entry, read_at, number)
            rows = [{"commit": number, "epoch": e, "rows": n} for e, n in corrected.items() if n]
            if rows:
                connection.execute(insert(t.correction), rows)
            return number

    def _advance(self, connection: Connection, entry: HistoryEntry, read_at: int, number: int) -> None:
        own = {number} | entry.clock.exceptions
        later = json.dumps(sorted(c for c in own if c > read_at))
        k = t.reading_clock.c
        done = connection.execute(
            update(t.reading_clock)
            .where(k.batch == entry.batch.id, k.revision == entry.revision)
            .values(prefix=read_at, exceptions=later, revision=entry.revision + 1)
        )
        if done.rowcount != 1:
            raise Conflict("corrected by somebody else", kind="correction-conflict", place=f"batch {entry.batch.id}")

    def corrections(self) -> dict[int, int]:
        """epoch -> corrected map entries so far."""
        c = t.correction.c
        return {epoch: int(rows) for epoch, rows in self._read(select(c.epoch, func.sum(c.rows)).group_by(c.epoch))}

    def commit_merge(self, merges: Sequence[tuple[Sequence[Run], NewRun | None]]) -> int:
        """Replace runs by their merged runs, all in one commit.

        Args:
            merges: for each merge, the replaced runs and their merged run (None: everything cancelled out).

        Returns:
            the commit's number.

        Raises:
            Conflict: one of the runs was replaced by somebody else, or a live history entry has yet to tell them apart.
        """
        with self._engine.begin() as connection:
            program = self._lock(connection)
            origin = max(r.origin for replaced, _ in merges for r in replaced)
            if origin > self._lowest_clock(connection, program):
                raise Conflict("a history entry has yet to read one of the runs", kind="merge-conflict")
            merged = [(new, max(r.origin for r in replaced)) for replaced, new in merges if new is not None]
            number = self._commit(connection, program, "merge", [m for m, _ in merged], [o for _, o in merged])
            self._retire(connection, [r.id for replaced, _ in merges for r in replaced], number)
            connection.execute(update(t.program).values(merge_horizon=max(program.merge_horizon, origin)))
            return number

    def _retire(self, connection: Connection, runs: Sequence[int], number: int) -> None:
        done = connection.execute(
            update(t.run)
            .where(t.run.c.id.in_(runs), t.run.c.retired_by.is_(None))
            .values(retired_by=number, retired_at=_now())
        )
        if done.rowcount != len(runs):
            raise Conflict("merged by somebody else", kind="merge-conflict")

    def mergeable(self, at: int) -> list[Run]:
        """The runs visible at ``at`` that every live history entry, and every apply under way, has incorporated."""
        with self._engine.begin() as connection:
            lowest = self._lowest_clock(connection, self._lock(connection))
        return [r for r in self.runs(at) if r.origin <= lowest]

    def _lowest_clock(self, connection: Connection, program: Row[Any]) -> int:
        b = t.batch.c
        live = connection.execute(select(func.min(t.reading_clock.c.prefix))).scalar()
        reading = connection.execute(select(func.min(b.read_at)).where(b.state == "appended")).scalar()
        return int(min(x for x in (live, reading, program.last_commit) if x is not None))

    def _commit(
        self,
        connection: Connection,
        program: Row[Any],
        kind: str,
        runs: Sequence[NewRun],
        origins: Sequence[int] | None = None,
    ) -> int:
        number = int(program.last_commit) + 1
        rows = sum(r.rows for r in runs)
        connection.execute(update(t.program).values(last_commit=number))
        connection.execute(insert(t.commit).values(number=number, kind=kind, committed_at=_now(), rows=rows))
        if runs:
            marks = origins or [number] * len(runs)
            values = [{**vars(r), "commit": number, "origin": o} for r, o in zip(runs, marks, strict=True)]
            connection.execute(insert(t.run), values)
        return number

    def _lock(self, connection: Connection) -> Row[Any]:
        """The program row, locked for this transaction (on SQLite the transaction holds the write lock already)."""
        row = connection.execute(select(t.program).with_for_update()).first()
        if row is None:
            raise SetupProblem(
                "no program is registered in this catalog", kind="not-initialised", hint="run `cumulus init`"
            )
        return row

    # -- snapshots -------------------------------------------------------------------------------------------------

    def checkpoint(self, new: Snapshot) -> None:
        """Record the snapshot of ``new.epoch`` and retire the history at or below it; a no-op when it is there.

        Raises:
            NotYet: a coordinator has not sealed the epoch, or the epoch before has no snapshot.
            Conflict: a history entry of the epoch has not incorporated a run with an earlier version yet.
        """
        with self._engine.begin() as connection:
            program = self._lock(connection)
            if connection.execute(select(t.snapshot.c.epoch).where(t.snapshot.c.epoch == new.epoch)).first():
                return
            self._check_unanimous(connection, program, new.epoch)
            self._check_corrected(connection, new)
            values = {name: getattr(new, name) for name in Snapshot.__dataclass_fields__}
            connection.execute(insert(t.snapshot).values(**values, committed_at=_now()))
            old = select(t.batch.c.id).where(t.batch.c.epoch <= new.epoch)
            connection.execute(delete(t.reading_clock).where(t.reading_clock.c.batch.in_(old)))
            connection.execute(update(t.batch).where(t.batch.c.epoch <= new.epoch).values(state="retired"))

    def _check_unanimous(self, connection: Connection, program: Row[Any], epoch: int) -> None:
        votes = connection.execute(select(func.count()).where(t.seal.c.epoch == epoch)).scalar_one()
        if votes < program.coordinators:
            raise NotYet(
                f"{votes} of {program.coordinators} coordinators have sealed it",
                kind="unsealed",
                place=f"epoch {epoch}",
            )
        last = connection.execute(select(func.max(t.snapshot.c.epoch))).scalar()
        if epoch != (-1 if last is None else last) + 1:
            raise NotYet("an earlier epoch has no snapshot", kind="earlier-epoch-open", place=f"epoch {epoch}")

    def _check_corrected(self, connection: Connection, new: Snapshot) -> None:
        k, b, r = t.reading_clock.c, t.batch.c, t.run.c
        clocks = connection.execute(
            select(k.batch, k.prefix, k.exceptions).join(t.batch, b.id == k.batch).where(b.epoch <= new.epoch)
        ).all()
        if not clocks:
            return
        lowest = min(prefix for _, prefix, _ in clocks)
        visible = r.retired_by.is_(None)
        query = select(r.origin).where(visible, r.origin > lowest, r.min_version <= new.version).distinct()
        origins = list(connection.execute(query).scalars())
        for batch, prefix, exceptions in clocks:
            clock = Clock(prefix, frozenset(json.loads(exceptions)))
            if not all(clock.covers(o) for o in origins):
                raise Conflict("a correction is due", kind="correction-due", place=f"batch {batch}")

    def snapshots(self) -> list[Snapshot]:
        """All snapshots, oldest first."""
        s = t.snapshot.c
        return [
            Snapshot(*row)
            for row in self._read(select(*[s[n] for n in Snapshot.__dataclass_fields__]).order_by(s.epoch))
        ]

    def record_published(self, view: str, epoch: int, delta_version: int) -> None:
        """Remember which table version holds a view's snapshot; a no-op when it is remembered."""
        p = t.published.c
        with self._engine.begin() as connection:
            self._lock(connection)
            if not connection.execute(select(p.view).where(p.view == view, p.epoch == epoch)).first():
                connection.execute(insert(t.published).values(view=view, epoch=epoch, delta_version=delta_version))

    def published(self) -> dict[tuple[str, int], int]:
        """(view, epoch) -> version of the published table."""
        p = t.published.c
        return {(v, e): n for v, e, n in self._read(select(p.view, p.epoch, p.delta_version))}

    def record_validation(self, new: Validation) -> None:
        """Record the outcome of a validation; a later one of the same epoch replaces it."""
        values = {**vars(new), "failures": json.dumps(list(new.failures)), "validated_at": _now()}
        with self._engine.begin() as connection:
            self._lock(connection)
            connection.execute(delete(t.validation).where(t.validation.c.epoch == new.epoch))
            connection.execute(insert(t.validation).values(**values))

    def validations(self) -> dict[int, Validation]:
        """epoch -> outcome of its latest validation."""
        v = t.validation.c
        rows = self._read(select(v.epoch, v.success, v.failures, v.report, v.seconds))
        return {row[0]: Validation(row[0], row[1], tuple(json.loads(row[2])), row[3], row[4]) for row in rows}

    # -- garbage ---------------------------------------------------------------------------------------------------

    def known_paths(self) -> set[str]:
        """Every file that a row names, retired runs included."""
        paths = select(t.run.c.path).union(select(t.log_file.c.path), select(t.quarantine.c.path))
        return {row[0] for row in self._read(paths)}

    def forget_retired(self, before: datetime.datetime) -> list[str]:
        """Drop the rows of runs retired before a time (exclusive); the packs that no run needs any more may now go."""
        with self._engine.begin() as connection:
            self._lock(connection)
            gone = (t.run.c.retired_at.is_not(None)) & (t.run.c.retired_at < before)
            paths = set(connection.execute(select(t.run.c.path).where(gone)).scalars())
            connection.execute(delete(t.run).where(gone))
            needed = set(connection.execute(select(t.run.c.path).where(t.run.c.path.in_(paths))).scalars())
            return sorted(paths - needed)
