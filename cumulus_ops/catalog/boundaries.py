"""Boundaries: when coordinators leave their epochs. They are rows, and the clock only proposes them.

A row says that an epoch has ended for a coordinator, and when. What landed before belongs to the epoch, what lands later to the
next one. When there is no row yet, the time is proposed: one period after the last boundary of who seals before
(:meth:`~cumulus_ops.rhythm.Rhythm.end_after`). So an epoch that ends early moves all that come, and no drop is in two epochs, or in none.

A boundary is written with the seal, at the latest; earlier if an epoch is to end before its time: on request, or because it holds
more events than it is to hold (EPOCH END REQUEST, semester paper, section 3.4). Then what has landed and is not
appended yet belongs to the next epoch, or else the backlog of one coordinator would make the epoch as large as it was not to be.
"""

from __future__ import annotations

from sqlalchemy import Connection, func, insert, select

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.clock import clock_s
from cumulus_ops.catalog.database import Database
from cumulus_ops.catalog.members import read_membership
from cumulus_ops.catalog.membership import Boundary, Membership, moment_of, seconds_of
from cumulus_ops.catalog.records import LEFT_OUT
from cumulus_ops.rhythm import Place, Rhythm

__all__ = ["Boundaries", "find_boundary", "write_boundary"]


def find_boundary(connection: Connection, place: Place, rhythm: Rhythm, membership: Membership) -> Boundary:
    """The boundary of (epoch, coordinator), or the proposal if there is none yet."""
    b, (epoch, coordinator) = t.boundary.c, place
    upto = (b.epoch < epoch) | ((b.epoch == epoch) & (b.coordinator <= coordinator))
    newest_first = select(b.epoch, b.coordinator, b.ends_at, b.reason).order_by(b.epoch.desc(), b.coordinator.desc())
    last = connection.execute(newest_first.where(upto).limit(1)).first()
    if last is not None and (last.epoch, last.coordinator) == place:
        return Boundary(epoch, coordinator, moment_of(last.ends_at), last.reason)
    known = None if last is None else ((last.epoch, last.coordinator), moment_of(last.ends_at))
    return Boundary(epoch, coordinator, rhythm.end_after(place, known, membership.of))


def write_boundary(
    connection: Connection, place: Place, rhythm: Rhythm, membership: Membership, reason: str
) -> Boundary:
    """Let an epoch end for a coordinator: at the time that is proposed, or if that is yet to come, now, for ``reason``. A boundary
    that is there stays."""
    found = find_boundary(connection, place, rhythm, membership)
    if found.reason is not None:
        return found
    now = moment_of(clock_s(connection))
    is_due = found.ends_at <= now
    new = Boundary(*place, found.ends_at if is_due else now, "clock" if is_due else reason)
    values = {
        "epoch": new.epoch,
        "coordinator": new.coordinator,
        "ends_at": seconds_of(new.ends_at),
        "reason": new.reason,
    }
    connection.execute(insert(t.boundary).values(**values))
    return new


class Boundaries(Database):
    """When epochs end."""

    def boundary(self, coordinator: int, epoch: int, rhythm: Rhythm) -> Boundary:
        """When a coordinator leaves an epoch, or is to leave it by the clock."""
        return self._reading(lambda c: find_boundary(c, (epoch, coordinator), rhythm, read_membership(c)))

    def boundaries(self, epoch: int) -> list[Boundary]:
        """The boundaries of an epoch that are settled, in the order of the coordinators."""
        b = t.boundary.c
        query = select(b.epoch, b.coordinator, b.ends_at, b.reason).where(b.epoch == epoch).order_by(b.coordinator)
        return [Boundary(e, c, moment_of(at), reason) for e, c, at, reason in self._read(query)]

    def end_epoch(self, epoch: int, rhythm: Rhythm, reason: str = "request") -> list[Boundary]:
        """End an epoch now, and those before it, for all coordinators for which it has not ended; a no-op when it has.

        Nobody is waited for: each coordinator sees it when it looks next, and seals when it has the token.

        Returns:
            the boundaries that are new.
        """
        with self._engine.begin() as connection:
            self._lock(connection)
            membership = read_membership(connection)
            open_places = sorted(
                (e, m.coordinator) for m in membership.all for e in range(m.epoch, epoch + 1) if m.is_in(e)
            )
            new = [p for p in open_places if find_boundary(connection, p, rhythm, membership).reason is None]
            return [write_boundary(connection, place, rhythm, membership, reason) for place in new]

    def events_in(self, epoch: int) -> int:
        """How many events of an epoch have been appended, and count."""
        b = t.batch.c
        total = select(func.sum(b.inserts + b.deletes)).where(b.epoch == epoch, b.state.not_in(LEFT_OUT))
        return int(self._read(total)[0][0] or 0)
