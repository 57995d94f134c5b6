"""How long snapshots stay readable: until they are used, within a limit; what came too late is recorded as such."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import cast

from sqlalchemy import Connection, delete, func, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Database, now
from cumulus_ops.catalog.deliveries import forget_positions

__all__ = ["Retention", "record_outcome"]


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
