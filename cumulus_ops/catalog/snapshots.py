"""Snapshots: what makes an epoch one, those that repeat another, and how long each stays readable."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Sequence
from typing import cast

from sqlalchemy import Connection, func, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.commits import forget_clocks
from cumulus_ops.catalog.database import Part, now
from cumulus_ops.catalog.deliveries import forget_positions
from cumulus_ops.catalog.log import newest_tick
from cumulus_ops.catalog.records import SETTLED, Clock, Snapshot, ViewError
from cumulus_ops.catalog.results import insert_view_errors, record_outcome, repeat_view_errors
from cumulus_ops.catalog.votes import complete_epochs, missing_votes, votes_missing
from cumulus_ops.project.errors import Conflict, NotYet
from cumulus_ops.project.versions import epoch_end

__all__ = ["CHECKS", "Snapshots"]

#: What a checkpoint makes sure of, by the names of :mod:`cumulus_ops.coordination.barriers`.
CHECKS = frozenset({"vote", "applied", "settle", "refresh"})


SNAPSHOT_FIELDS = [t.snapshot.c[name] for name in Snapshot.__dataclass_fields__]
NEWEST = select(func.max(t.snapshot.c.epoch))


class Snapshots(Part):
    """Committed epochs, and their consumers: those who have something to do with each of them, such as publishing it."""

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
            NotYet: a coordinator has not voted to end the epoch, the epoch before has no snapshot, or a batch is not applied.
            Conflict: a history entry of the epoch has not incorporated a run with an earlier version yet, or the maps
                that depend on derivations have not incorporated a run or a batch of the epoch.
        """
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            if connection.execute(select(t.snapshot.c.epoch).where(t.snapshot.c.epoch == new.epoch)).first():
                return
            if "vote" in checks:
                missing = missing_votes(connection, new.epoch)
                if missing:
                    raise votes_missing(missing, new.epoch)
            last = connection.execute(select(func.max(t.snapshot.c.epoch))).scalar()
            if new.epoch != (-1 if last is None else last) + 1:
                raise NotYet("an earlier epoch has no snapshot", kind="earlier-epoch-open", place=f"epoch {new.epoch}")
            if "applied" in checks:
                self._check_settled(connection, new.epoch)
            if "settle" in checks:
                self._check_corrected(connection, new, derived)
            if "refresh" in checks and program.refreshed is not None:
                self._check_refreshed(connection, new, program.refreshed)
            values = {name: getattr(new, name) for name in Snapshot.__dataclass_fields__}
            values["now"] = newest_tick(connection, new.epoch)
            connection.execute(insert(t.snapshot).values(**values, committed_at=now()))
            insert_view_errors(connection, errors)
            old = (t.batch.c.epoch <= new.epoch, t.batch.c.state == "applied")
            connection.execute(update(t.batch).where(*old).values(state="retired", clock=None))
            forget_clocks(connection)

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

    def repeat(self) -> range:
        """Record the snapshots of the complete epochs that follow the newest snapshot, as long as nothing was appended to them: each is the
        same as that one. However many, it is one transaction.

        Returns:
            the epochs that have their snapshots now; empty if there is no first snapshot yet, or nothing to repeat it for.
        """
        if not self._db.look(_empty_epochs):  # most often: who asks need not wait for others
            return range(0)
        with self._db.begin() as connection:
            self._db.lock(connection)
            epochs = _empty_epochs(connection)
            if epochs:
                s = t.snapshot.c
                before = connection.execute(select(t.snapshot).where(s.epoch == epochs[0] - 1)).one()
                same = before.epoch if before.repeats is None else before.repeats
                values = {"commit": before.commit, "entries": before.entries, "seconds": 0.0, "repeats": same}
                values["now"] = before.now
                at = now()
                rows = [{**values, "epoch": e, "version": epoch_end(e), "committed_at": at} for e in epochs]
                connection.execute(insert(t.snapshot), rows)
                repeat_view_errors(connection, epochs[0] - 1, epochs)
            return epochs

    def newest(self) -> int:
        """The epoch of the newest snapshot, -1 while there is none. Every epoch before it has one, too."""
        return _newest(self._db.read(NEWEST)[0][0])

    def at(self, epoch: int) -> Snapshot | None:
        """The snapshot of an epoch, None while it has none."""
        found = self._db.read(select(*SNAPSHOT_FIELDS).where(t.snapshot.c.epoch == epoch))
        return Snapshot(*found[0]) if found else None

    def all(self) -> list[Snapshot]:
        """All snapshots, oldest first."""
        return [Snapshot(*row) for row in self._db.read(select(*SNAPSHOT_FIELDS).order_by(t.snapshot.c.epoch))]

    def own(self, since: int = 0) -> list[Snapshot]:
        """Those that repeat no other one, of the epochs from ``since`` on, oldest first."""
        s = t.snapshot.c
        query = select(*SNAPSHOT_FIELDS).where(s.repeats.is_(None), s.epoch >= since).order_by(s.epoch)
        return [Snapshot(*row) for row in self._db.read(query)]

    def own_before(self, epoch: int) -> int:
        """The newest epoch up to this one (inclusive) whose snapshot repeats no other one; 0 without any."""
        s = t.snapshot.c
        return int(self._db.read(select(func.max(s.epoch)).where(s.repeats.is_(None), s.epoch <= epoch))[0][0] or 0)

    # How long snapshots stay readable: until they are used, within a limit; what came too late is recorded as such.

    def awaiting(self, consumer: str) -> list[int]:
        """Epochs of the snapshots that a consumer has neither dealt with nor missed, ascending. Those that repeat another one are none:
        what becomes of that holds for them."""
        c, s = t.consumption.c, t.snapshot.c
        settled = select(c.epoch).where(c.consumer == consumer)
        waiting = select(s.epoch).where(s.repeats.is_(None), s.epoch.not_in(settled))
        return [row[0] for row in self._db.read(waiting.order_by(s.epoch))]

    def last_repeat(self, epoch: int) -> tuple[int, bool]:
        """The last epoch whose snapshot is the same as that of ``epoch``, and whether another one has come since."""
        s = t.snapshot.c
        next_own = select(func.min(s.epoch)).where(s.epoch > epoch, s.repeats.is_(None)).scalar_subquery()
        following, newest = self._db.read(select(next_own, select(func.max(s.epoch)).scalar_subquery()))[0]
        return (int(newest), False) if following is None else (int(following) - 1, True)

    def outcome(self, consumer: str, epoch: int) -> str | None:
        """``done`` or ``expired``; None while the consumer has yet to deal with the snapshot."""
        c = t.consumption.c
        rows = self._db.read(select(c.outcome).where(c.consumer == consumer, c.epoch == epoch))
        return cast(str, rows[0][0]) if rows else None

    def record_done(self, consumer: str, epoch: int) -> None:
        """Say that a consumer needs the snapshot no more."""
        with self._db.begin() as connection:
            self._db.lock(connection)
            record_outcome(connection, consumer, epoch, "done")

    def expired(self) -> dict[int, tuple[str, ...]]:
        """epoch -> the consumers that came too late for its snapshot."""
        c = t.consumption.c
        found: dict[int, tuple[str, ...]] = {}
        for epoch, consumer in self._db.read(
            select(c.epoch, c.consumer).where(c.outcome == "expired").order_by(c.epoch, c.consumer)
        ):
            found[epoch] = (*found.get(epoch, ()), consumer)
        return found

    def oldest_readable(self) -> int:
        """The oldest epoch whose snapshot may still be read; versions of earlier ones may have been folded into it."""
        return int(self._db.read(select(t.program.c.oldest_readable))[0][0])

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
        if len(self._db.read(own.limit(retain + 1))) <= retain:
            return self.oldest_readable()
        with self._db.begin() as connection:
            oldest = self._db.lock(connection).oldest_readable
            left = deque(connection.execute(own.order_by(s.epoch)).scalars())
            pinned = connection.execute(select(func.min(t.revision.c.pinned))).scalar()
            while len(left) > retain:
                if pinned is not None and 0 <= pinned < left[1] and len(left) <= pin:
                    break  # a deployment reads it
                c = t.consumption.c
                settled = set(connection.execute(select(c.consumer).where(c.epoch == left[0])).scalars())
                missing = [consumer for consumer in consumers if consumer not in settled]
                if missing and len(left) <= pin:
                    break
                for consumer in missing:
                    record_outcome(connection, consumer, left[0], "expired")
                left.popleft()
                oldest = left[0]
            connection.execute(update(t.program).values(oldest_readable=oldest))
            forget_positions(connection, oldest)
        return int(oldest)


def _newest(epoch: int | None) -> int:
    return -1 if epoch is None else int(epoch)


def _empty_epochs(connection: Connection) -> range:
    """The epochs behind the newest snapshot that all their members have voted to end, to which nothing was appended, and which are not the first of a
    revision: that one shows something else."""
    first = _newest(connection.execute(select(func.max(t.snapshot.c.epoch))).scalar()) + 1
    if first == 0:
        return range(0)
    used = connection.execute(select(func.min(t.batch.c.epoch)).where(t.batch.c.epoch >= first)).scalar()
    deployed = connection.execute(select(func.min(t.revision.c.since)).where(t.revision.c.since >= first)).scalar()
    complete = complete_epochs(connection, first)
    return range(first, min(complete.stop, *(int(e) for e in (used, deployed) if e is not None), complete.stop))
