"""How long snapshots stay readable: until they are used, within a limit; what came too late is recorded as such."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from sqlalchemy import Connection, delete, func, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Database, now

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
        """Epochs of the snapshots that a consumer has neither dealt with nor missed, ascending."""
        c, s = t.consumption.c, t.snapshot.c
        settled = select(c.epoch).where(c.consumer == consumer)
        return [row[0] for row in self._read(select(s.epoch).where(s.epoch.not_in(settled)).order_by(s.epoch))]

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

        Args:
            retain: as many snapshots stay, the newest.
            pin: as many stay at the most.
            consumers: who has to deal with every snapshot.

        Returns:
            the oldest epoch that stays readable. It never comes down again, so versions before it may be folded.
        """
        oldest, newest = self._read(
            select(t.program.c.oldest_readable, select(func.max(t.snapshot.c.epoch)).scalar_subquery())
        )[0]
        if newest is None or oldest > newest - retain:
            return int(oldest)
        with self._engine.begin() as connection:
            oldest = self._lock(connection).oldest_readable
            while oldest <= newest - retain:
                missing = self._missing(connection, oldest, consumers)
                if missing and oldest > newest - pin:
                    break
                for consumer in missing:
                    record_outcome(connection, consumer, oldest, "expired")
                oldest += 1
            connection.execute(update(t.program).values(oldest_readable=oldest))
        return int(oldest)

    def _missing(self, connection: Connection, epoch: int, consumers: Collection[str]) -> list[str]:
        c = t.consumption.c
        settled = set(connection.execute(select(c.consumer).where(c.epoch == epoch)).scalars())
        return [consumer for consumer in consumers if consumer not in settled]
