"""Snapshots, how long they stay readable, and what was made of them: published tables, views in error, validations; and the garbage they leave."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import cast

from sqlalchemy import Connection, delete, func, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.commits import forget_clocks
from cumulus_ops.catalog.control import complete_epochs, missing_votes, not_sealed
from cumulus_ops.catalog.database import Database, now
from cumulus_ops.catalog.deliveries import forget_key_runs, forget_positions
from cumulus_ops.catalog.leases import Leases
from cumulus_ops.catalog.records import (
    SETTLED,
    Clock,
    Snapshot,
    Validation,
    ViewError,
    step_of,
)
from cumulus_ops.project.errors import Conflict, NotYet
from cumulus_ops.project.verdicts import outcome_of
from cumulus_ops.project.versions import epoch_end

__all__ = [
    "CHECKS",
    "Results",
    "Retention",
    "ViewErrors",
    "insert_view_errors",
    "record_outcome",
    "record_table",
    "repeat_view_errors",
]


#: What a checkpoint makes sure of, by the names of :mod:`cumulus_ops.coordination.barriers`.
CHECKS = frozenset({"vote", "applied", "settle", "refresh"})

SNAPSHOT_FIELDS = [t.snapshot.c[name] for name in Snapshot.__dataclass_fields__]


def _newest(epoch: int | None) -> int:
    return -1 if epoch is None else int(epoch)


def _empty_epochs(connection: Connection) -> range:
    """The epochs behind the newest snapshot that all their members have sealed, and to which nothing was appended."""
    first = _newest(connection.execute(select(func.max(t.snapshot.c.epoch))).scalar()) + 1
    if first == 0:
        return range(0)
    used = connection.execute(select(func.min(t.batch.c.epoch)).where(t.batch.c.epoch >= first)).scalar()
    sealed = complete_epochs(connection, first)
    return sealed if used is None else range(first, min(sealed.stop, int(used)))


def record_table(connection: Connection, name: str, table_id: str, mark: int) -> bool:
    """Remember how a published table was left; returns whether it is another one than before."""
    p, values = t.published_table.c, {"name": name, "table_id": table_id, "mark": mark}
    known = connection.execute(select(p.table_id, p.mark).where(p.name == name)).first()
    if known is None:
        connection.execute(insert(t.published_table).values(**values))
        return False
    if (known.table_id, known.mark) != (table_id, mark):
        connection.execute(update(t.published_table).where(p.name == name).values(**values))
    return bool(known.table_id != table_id)


class Results(Leases):
    """Committed epochs."""

    def checkpoint(
        self,
        new: Snapshot,
        derived: Collection[str] = (),
        errors: Sequence[ViewError] = (),
        checks: Collection[str] = CHECKS,
    ) -> None:
        """Record the snapshot of ``new.epoch`` and retire the history at or below it; a no-op when it is there.

        Args:
            new: the snapshot.
            derived: the maps that depend on derivations, which no history entry reads.
            errors: the views that are in error in it, as far as is known.
            checks: what to make sure of.

        Raises:
            NotYet: a coordinator has not sealed the epoch, the epoch before has no snapshot, or a batch is not applied.
            Conflict: a history entry of the epoch has not incorporated a run with an earlier version yet, or the maps
                that depend on derivations have not incorporated a run or a batch of the epoch.
        """
        with self._engine.begin() as connection:
            program = self._lock(connection)
            if connection.execute(select(t.snapshot.c.epoch).where(t.snapshot.c.epoch == new.epoch)).first():
                return
            if "vote" in checks:
                self._check_unanimous(connection, new.epoch)
            self._check_order(connection, new.epoch)
            if "applied" in checks:
                self._check_settled(connection, new.epoch)
            if "settle" in checks:
                self._check_corrected(connection, new, derived)
            if "refresh" in checks and program.refreshed is not None:
                self._check_refreshed(connection, new, program.refreshed)
            values = {name: getattr(new, name) for name in Snapshot.__dataclass_fields__}
            connection.execute(insert(t.snapshot).values(**values, committed_at=now()))
            insert_view_errors(connection, errors)
            old = (t.batch.c.epoch <= new.epoch, t.batch.c.state == "applied")
            connection.execute(update(t.batch).where(*old).values(state="retired", clock=None))
            forget_clocks(connection)

    def _check_unanimous(self, connection: Connection, epoch: int) -> None:
        missing = missing_votes(connection, epoch)
        if missing:
            raise not_sealed(missing, epoch)

    def _check_order(self, connection: Connection, epoch: int) -> None:
        last = connection.execute(select(func.max(t.snapshot.c.epoch))).scalar()
        if epoch != (-1 if last is None else last) + 1:
            raise NotYet("an earlier epoch has no snapshot", kind="earlier-epoch-open", place=f"epoch {epoch}")

    def _check_settled(self, connection: Connection, epoch: int) -> None:
        b = t.batch.c
        waiting = select(b.coordinator, b.drop).where(b.epoch <= epoch, b.state.not_in(SETTLED)).limit(1)
        found = connection.execute(waiting).first()
        if found is not None:
            raise NotYet(
                f"drop {found.drop} of coordinator {found.coordinator} is not applied",
                kind="batch-pending",
                place=f"epoch {epoch}",
                hint="apply it first",
            )

    def _check_refreshed(self, connection: Connection, new: Snapshot, refreshed: int) -> None:
        b, r = t.batch.c, t.run.c
        batch = select(b.id).where(b.epoch <= new.epoch, b.commit > refreshed).limit(1)
        run = select(r.id).where(r.retired_by.is_(None), r.origin > refreshed, r.min_version <= new.version).limit(1)
        if connection.execute(batch).first() or connection.execute(run).first():
            raise Conflict("a refresh is due", kind="refresh-due", place=f"epoch {new.epoch}")

    def _check_corrected(self, connection: Connection, new: Snapshot, derived: Collection[str]) -> None:
        k, b, r = t.reading_clock.c, t.batch.c, t.run.c
        query = select(func.min(b.id), k.prefix, k.exceptions).join(t.batch, b.clock == k.id)
        clocks = connection.execute(query.where(b.epoch <= new.epoch).group_by(k.id, k.prefix, k.exceptions)).all()
        if not clocks:
            return
        lowest = min(prefix for _, prefix, _ in clocks)
        visible = r.retired_by.is_(None)
        late = select(r.map, r.origin).where(visible, r.origin > lowest, r.min_version <= new.version).distinct()
        origins = {origin for name, origin in connection.execute(late) if name not in derived}
        for batch, prefix, exceptions in clocks:
            clock = Clock(prefix, frozenset(json.loads(exceptions)))
            if not all(clock.covers(o) for o in origins):
                raise Conflict("a correction is due", kind="correction-due", place=f"batch {batch}")

    def repeat_snapshots(self) -> range:
        """Record the snapshots of the sealed epochs that follow the newest snapshot, as long as nothing was appended to them: each is the
        same as that one. However many, it is one transaction.

        Returns:
            the epochs that have their snapshots now; empty if there is no first snapshot yet, or nothing to repeat it for.
        """
        if not self._reading(_empty_epochs):  # most often: who asks need not wait for others
            return range(0)
        with self._engine.begin() as connection:
            self._lock(connection)
            epochs = _empty_epochs(connection)
            if epochs:
                self._repeat(connection, epochs)
            return epochs

    def _repeat(self, connection: Connection, epochs: range) -> None:
        s = t.snapshot.c
        before = connection.execute(select(t.snapshot).where(s.epoch == epochs[0] - 1)).one()
        same = before.epoch if before.repeats is None else before.repeats
        values = {"commit": before.commit, "entries": before.entries, "seconds": 0.0, "repeats": same}
        at = now()
        rows = [{**values, "epoch": e, "version": epoch_end(e), "committed_at": at} for e in epochs]
        connection.execute(insert(t.snapshot), rows)
        repeat_view_errors(connection, epochs[0] - 1, epochs)

    def newest_snapshot(self) -> int:
        """The epoch of the newest snapshot, -1 while there is none. Every epoch before it has one, too."""
        return _newest(self._read(select(func.max(t.snapshot.c.epoch)))[0][0])

    def snapshot(self, epoch: int) -> Snapshot | None:
        """The snapshot of an epoch, None while it has none."""
        found = self._read(select(*SNAPSHOT_FIELDS).where(t.snapshot.c.epoch == epoch))
        return Snapshot(*found[0]) if found else None

    def snapshots(self) -> list[Snapshot]:
        """All snapshots, oldest first."""
        return [Snapshot(*row) for row in self._read(select(*SNAPSHOT_FIELDS).order_by(t.snapshot.c.epoch))]

    def own_snapshots(self) -> list[Snapshot]:
        """Those that repeat no other one, oldest first."""
        s = t.snapshot.c
        return [
            Snapshot(*row) for row in self._read(select(*SNAPSHOT_FIELDS).where(s.repeats.is_(None)).order_by(s.epoch))
        ]

    def record_published(
        self, view: str, epoch: int, delta_version: int, rows: int | None = None, table: tuple[str, int] | None = None
    ) -> None:
        """Remember which table version holds a view's snapshot, and its rows; what is remembered of another table is forgotten. Without ``table`` it is
        a no-op when it is remembered.

        Args:
            view, epoch: what was published.
            delta_version: where.
            rows: how many.
            table: the table's own id, and the mark of our newest transaction in it.
        """
        p = t.published.c
        with self._engine.begin() as connection:
            self._lock(connection)
            if table is not None and record_table(connection, view, *table):
                connection.execute(delete(t.published).where(p.view == view))
            values = {"view": view, "epoch": epoch, "delta_version": delta_version, "rows": rows}
            mine = (p.view == view, p.epoch == epoch)
            known = connection.execute(select(p.delta_version).where(*mine)).scalar()
            if known is None:
                connection.execute(insert(t.published).values(**values))
            elif known != delta_version and table is not None:
                connection.execute(update(t.published).where(*mine).values(**values))

    def published_table(self, name: str) -> tuple[str, int] | None:
        """The id of the published table in the folder ``name``, and the mark of our newest transaction in it; None if this installation has written none."""
        p = t.published_table.c
        rows = self._read(select(p.table_id, p.mark).where(p.name == name))
        return (str(rows[0][0]), int(rows[0][1])) if rows else None

    def published(self) -> dict[tuple[str, int], int]:
        """(view, epoch) -> version of the published table."""
        p = t.published.c
        return {(v, e): n for v, e, n in self._read(select(p.view, p.epoch, p.delta_version))}

    def record_validation(self, new: Validation) -> None:
        """Record the outcome of a validation. A later one of the same epoch replaces it, but for the verdicts on views that it did not
        look at: of these, what was found before still stands."""
        v = t.validation.c
        with self._engine.begin() as connection:
            self._lock(connection)
            before = connection.execute(select(v.verdicts).where(v.epoch == new.epoch)).scalar()
            verdicts = {**json.loads(before or "{}"), **{view: list(found) for view, found in new.verdicts.items()}}
            values = {
                "epoch": new.epoch,
                "outcome": outcome_of((found for found, _ in verdicts.values()), new.failures),
                "failures": json.dumps(list(new.failures)),
                "verdicts": json.dumps(verdicts),
                "views": new.views,
                "report": new.report,
                "seconds": new.seconds,
                "validated_at": now(),
            }
            connection.execute(delete(t.validation).where(t.validation.c.epoch == new.epoch))
            connection.execute(insert(t.validation).values(**values))
            record_outcome(connection, "validate", new.epoch, "done")

    def validations(self) -> dict[int, Validation]:
        """epoch -> outcome of its latest validation."""
        v = t.validation.c
        rows = self._read(select(v.epoch, v.outcome, v.failures, v.report, v.seconds, v.verdicts, v.views))
        return {
            epoch: Validation(
                epoch,
                outcome,
                tuple(json.loads(failures)),
                report,
                seconds,
                {view: (found, said) for view, (found, said) in json.loads(verdicts or "{}").items()},
                views or 0,
            )
            for epoch, outcome, failures, report, seconds, verdicts, views in rows
        }

    def garbage(self, found: Collection[str]) -> set[str]:
        """Forget what nobody needs any more.

        Args:
            found: the files that are there.

        Returns:
            the files to delete: those of retired runs that no step under way can read, and those of ``found`` that no row names
            and no step will commit, because it is over. What no step of this installation and generation has written is not ours
            to delete.
        """
        # in this order: of a step that ends meanwhile, either the lease is seen or what it has committed
        retired = self.forget_retired()
        first, mine = self.leases(), self._writer()
        steps = {path: step for path in found if (step := step_of(path)) is not None and step.writer == mine}
        over = {path for path, s in steps.items() if s.lease not in first or s.number < first[s.lease]}
        return over - self.known_paths() | set(retired)

    def known_paths(self) -> set[str]:
        """Every file that a row names, retired runs included."""
        others = (t.log_file, t.quarantine, t.key_run)
        paths = select(t.run.c.path).union(*(select(table.c.path) for table in others))
        return {row[0] for row in self._read(paths)}

    def forget_retired(self) -> list[str]:
        """Drop the rows of retired runs that no step under way can read; the packs that no run needs any more may now go."""
        with self._engine.begin() as connection:
            program = self._lock(connection)
            self._end_lapsed(connection)
            floor = connection.execute(select(func.min(t.lease.c.floor))).scalar()
            gone = t.run.c.retired_by <= (program.last_commit if floor is None else floor)
            paths = set(connection.execute(select(t.run.c.path).where(gone)).scalars())
            newest = connection.execute(select(func.max(t.run.c.retired_by)).where(gone)).scalar()
            if newest is not None:  # whoever keeps up with the runs by what was replaced has to know what it cannot see
                connection.execute(update(t.program).values(forgotten=max(program.forgotten, newest)))
            connection.execute(delete(t.run).where(gone))
            needed = set(connection.execute(select(t.run.c.path).where(t.run.c.path.in_(paths))).scalars())
            return sorted(paths - needed | forget_key_runs(connection, program.last_commit if floor is None else floor))


# How long snapshots stay readable: until they are used, within a limit; what came too late is recorded as such.


def record_outcome(connection: Connection, consumer: str, epoch: int, outcome: str) -> None:
    """Say what became of a consumer's work on a snapshot (``done`` or ``expired``); the last word counts."""
    c = t.consumption.c
    connection.execute(delete(t.consumption).where(c.consumer == consumer, c.epoch == epoch))
    values = {"consumer": consumer, "epoch": epoch, "outcome": outcome, "recorded_at": now()}
    connection.execute(insert(t.consumption).values(**values))


class Retention(Database):
    """Snapshots and their consumers: those who have something to do with each of them, such as publishing it."""

    def awaiting(self, consumer: str) -> list[int]:
        """Epochs of the snapshots that a consumer has neither dealt with nor missed, ascending. Those that repeat another one are none:
        what becomes of that holds for them."""
        c, s = t.consumption.c, t.snapshot.c
        settled = select(c.epoch).where(c.consumer == consumer)
        waiting = select(s.epoch).where(s.repeats.is_(None), s.epoch.not_in(settled))
        return [row[0] for row in self._read(waiting.order_by(s.epoch))]

    def last_repeat(self, epoch: int) -> tuple[int, bool]:
        """The last epoch whose snapshot is the same as that of ``epoch``, and whether another one has come since."""
        s = t.snapshot.c
        next_own = select(func.min(s.epoch)).where(s.epoch > epoch, s.repeats.is_(None)).scalar_subquery()
        following, newest = self._read(select(next_own, select(func.max(s.epoch)).scalar_subquery()))[0]
        return (int(newest), False) if following is None else (int(following) - 1, True)

    def outcome(self, consumer: str, epoch: int) -> str | None:
        """``done`` or ``expired``; None while the consumer has yet to deal with the snapshot."""
        c = t.consumption.c
        rows = self._read(select(c.outcome).where(c.consumer == consumer, c.epoch == epoch))
        return cast(str, rows[0][0]) if rows else None

    def record_done(self, consumer: str, epoch: int) -> None:
        """Say that a consumer needs the snapshot no more."""
        with self._engine.begin() as connection:
            self._lock(connection)
            record_outcome(connection, consumer, epoch, "done")

    def expired(self) -> dict[int, tuple[str, ...]]:
        """epoch -> the consumers that came too late for its snapshot."""
        c = t.consumption.c
        found: dict[int, tuple[str, ...]] = {}
        for epoch, consumer in self._read(
            select(c.epoch, c.consumer).where(c.outcome == "expired").order_by(c.epoch, c.consumer)
        ):
            found[epoch] = (*found.get(epoch, ()), consumer)
        return found

    def oldest_readable(self) -> int:
        """The oldest epoch whose snapshot may still be read; versions of earlier ones may have been folded into it."""
        return int(self._read(select(t.program.c.oldest_readable))[0][0])

    def release(self, retain: int, pin: int, consumers: Collection[str]) -> int:
        """Let old snapshots go: those beyond the newest ``retain`` that nobody awaits, and those beyond the newest ``pin``
        in any case, which is recorded for whoever was still to deal with them. Oldest first: what is newer than one that
        stays, stays as well.

        Those that repeat another one are not counted: keeping them costs nothing, and a quiet night makes nobody forget the day.

        Args:
            retain: as many different snapshots stay, the newest.
            pin: as many stay at the most.
            consumers: who has to deal with every snapshot.

        Returns:
            the oldest epoch that stays readable. It never comes down again, so versions before it may be folded.
        """
        s, p = t.snapshot.c, t.program.c
        own = select(s.epoch).where(s.repeats.is_(None), s.epoch >= select(p.oldest_readable).scalar_subquery())
        if len(self._read(own.limit(retain + 1))) <= retain:
            return self.oldest_readable()
        with self._engine.begin() as connection:
            oldest = self._lock(connection).oldest_readable
            left = deque(connection.execute(own.order_by(s.epoch)).scalars())
            while len(left) > retain:
                missing = self._missing(connection, left[0], consumers)
                if missing and len(left) <= pin:
                    break
                for consumer in missing:
                    record_outcome(connection, consumer, left[0], "expired")
                left.popleft()
                oldest = left[0]
            connection.execute(update(t.program).values(oldest_readable=oldest))
            forget_positions(connection, oldest)
        return int(oldest)

    def _missing(self, connection: Connection, epoch: int, consumers: Collection[str]) -> list[str]:
        c = t.consumption.c
        settled = set(connection.execute(select(c.consumer).where(c.epoch == epoch)).scalars())
        return [consumer for consumer in consumers if consumer not in settled]


# Views in error: what each snapshot has instead of their rows.


def insert_view_errors(connection: Connection, errors: Iterable[ViewError]) -> None:
    """Remember errors; of a view that has one in its epoch already the first stays."""
    e = t.view_error.c
    for error in errors:
        if not connection.execute(select(e.view).where(e.view == error.view, e.epoch == error.epoch)).first():
            connection.execute(insert(t.view_error).values(**vars(error)))


def repeat_view_errors(connection: Connection, epoch: int, epochs: Iterable[int]) -> None:
    """Say of other epochs what is said of one."""
    found = connection.execute(select(t.view_error).where(t.view_error.c.epoch == epoch)).mappings().all()
    rows = [{**error, "epoch": e} for e in epochs for error in found]
    if rows:
        connection.execute(insert(t.view_error), rows)


class ViewErrors(Database):
    """The errors of views, by epoch. A snapshot never changes, so neither do its errors."""

    def record_view_error(self, error: ViewError) -> None:
        """Remember that a view is in error in a snapshot; a no-op when that is remembered."""
        with self._engine.begin() as connection:
            self._lock(connection)
            s = t.snapshot.c
            same = connection.execute(select(s.epoch).where(s.repeats == error.epoch)).scalars()
            insert_view_errors(connection, [replace(error, epoch=e) for e in (error.epoch, *same)])

    def view_errors(self) -> list[ViewError]:
        """All errors, by epoch and view: those that counting finds, from the checkpoint on, and those that only reading the
        view finds, once somebody has read it."""
        e = t.view_error.c
        columns = [e[name] for name in ViewError.__dataclass_fields__]
        return [ViewError(*row) for row in self._read(select(*columns).order_by(e.epoch, e.view))]
