"""Members: who is a coordinator in which epoch. A coordinator can be added and drained while the others go on.

Members change **between epochs**: who is added joins in the first epoch that nobody has begun, and who is drained seals the epoch
that it has open as its last. So the vote on an epoch is settled before anybody can have finished it.

joins ──► works ──► drains ──► gone          `cumulus coordinators add`, `drain`; `remove` does not wait for its last seal
"""

from __future__ import annotations

from sqlalchemy import Connection, func, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Database
from cumulus_ops.catalog.membership import Member, Membership
from cumulus_ops.errors import InputProblem
from cumulus_ops.versions import COORDINATORS_MAX

__all__ = ["Members", "lock_coordinator", "not_a_member", "read_membership", "unknown_coordinator"]


def unknown_coordinator(coordinator: int) -> InputProblem:
    """What is said of a coordinator that there is not, or not any more."""
    return InputProblem(
        f"there is no coordinator {coordinator}", kind="unknown-coordinator", hint="see `cumulus coordinators`"
    )


def not_a_member(coordinator: int, epoch: int) -> InputProblem:
    """What is said of a coordinator that has sealed its last epoch, and goes on."""
    return InputProblem(
        "it is no member of the epoch",
        kind="not-a-member",
        place=f"coordinator {coordinator}, epoch {epoch}",
        hint=f"it was drained or removed; `cumulus coordinators add {coordinator}` makes it one again, from a later epoch on",
    )


def read_membership(connection: Connection) -> Membership:
    """All memberships, as a transaction sees them."""
    m, c = t.member.c, t.coordinator.c
    query = select(m.coordinator, m.first_epoch, m.last_epoch, c.epoch, m.awaited_since)
    rows = connection.execute(
        query.join(t.coordinator, c.index == m.coordinator).order_by(m.first_epoch, m.coordinator)
    )
    return Membership(tuple(Member(*row) for row in rows))


def lock_coordinator(connection: Connection, coordinator: int) -> int | None:
    """The epoch that it has open, which stays as it is for this transaction, appends included; None if there never was such a one."""
    c = t.coordinator.c
    return connection.execute(select(c.epoch).where(c.index == coordinator).with_for_update()).scalar()


class Members(Database):
    """Who takes part."""

    def membership(self) -> Membership:
        """Who is a coordinator in which epoch."""
        return self._reading(read_membership)

    def add_coordinator(self, coordinator: int | None = None) -> Member:
        """Add a coordinator, from the first epoch on that nobody has begun; a no-op when it is one already.

        Args:
            coordinator: its number, which is its priority; None for the lowest that is free.

        Returns:
            its membership.

        Raises:
            InputProblem: there are as many as there can be, or it has yet to seal its last epoch.
        """
        while coordinator is None:
            found, is_new = self._add(self._free())
            if is_new:  # else somebody else has added it meanwhile
                return found
        return self._add(coordinator)[0]

    def _add(self, index: int) -> tuple[Member, bool]:
        if not 0 <= index < COORDINATORS_MAX:
            hint = f"numbers go from 0 to {COORDINATORS_MAX - 1}"
            raise InputProblem(f"there is no room for a coordinator {index}", kind="bad-coordinator", hint=hint)
        with self._engine.begin() as connection:
            is_known = lock_coordinator(connection, index) is not None
            self._lock(connection)
            mine = read_membership(connection).find(index)
            if mine is not None and mine.last is None:
                return mine, False
            if mine is not None and not mine.is_gone:
                raise InputProblem(
                    f"coordinator {index} has yet to seal epoch {mine.last}, its last",
                    kind="coordinator-drains",
                    hint="add it again when it has, or add another one",
                )
            newest = connection.execute(select(func.max(t.seal.c.epoch))).scalar()
            first = (-1 if newest is None else int(newest)) + 2  # somebody has begun the epoch after the newest seal's
            values = {"epoch": first, "next_sequence": 0}
            if is_known:
                connection.execute(update(t.coordinator).where(t.coordinator.c.index == index).values(**values))
            else:
                connection.execute(insert(t.coordinator).values(index=index, **values))
            connection.execute(insert(t.member).values(coordinator=index, first_epoch=first))
            return Member(index, first, None, first), True

    def _free(self) -> int:
        taken = {
            m.coordinator for m in self.membership().all
        }  # events are known by their numbers in a coordinator's sources
        return next(i for i in range(COORDINATORS_MAX + 1) if i not in taken)

    def drain_coordinator(self, coordinator: int) -> Member:
        """Make the epoch that a coordinator has open its last; a no-op when it drains or is gone.

        Returns:
            its membership.

        Raises:
            InputProblem: there is no such coordinator, or no other one that would stay.
        """
        with self._engine.begin() as connection:
            epoch = lock_coordinator(connection, coordinator)
            self._lock(connection)
            membership = read_membership(connection)
            mine = membership.find(coordinator)
            if epoch is None or mine is None:
                raise unknown_coordinator(coordinator)
            if mine.last is not None:
                return mine
            if not any(
                m.last is None and m.coordinator != coordinator and m.first <= epoch + 1 for m in membership.all
            ):
                raise InputProblem(
                    f"without coordinator {coordinator} nobody would be left for epoch {epoch + 1}",
                    kind="last-coordinator",
                    hint="add another one first; it has to have joined",
                )
            where = (t.member.c.coordinator == coordinator, t.member.c.first_epoch == mine.first)
            connection.execute(update(t.member).where(*where).values(last_epoch=epoch))
            return Member(coordinator, mine.first, epoch, epoch, mine.awaited_since)
