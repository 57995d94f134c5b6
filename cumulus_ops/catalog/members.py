"""Members: who is a coordinator in which epoch, and when its epochs end. A coordinator can be added and drained while the others go on.

Members change **between epochs**: who is added joins in the first epoch that nobody has begun, and who is drained votes to end the epoch
that it has open as its last. So the vote on an epoch is settled before anybody can have finished it.

joins ──► works ──► drains ──► gone          `cumulus coordinators add`, `drain`; `remove` does not wait for its last vote
"""

from __future__ import annotations

import datetime
from bisect import bisect_right
from collections import deque

from sqlalchemy import Connection, bindparam, func, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Part, clock_s
from cumulus_ops.catalog.epochs import Boundary, Member, Membership, moment_of, seconds_of
from cumulus_ops.catalog.records import LEFT_OUT
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.rhythm import Place, Rhythm, Stay
from cumulus_ops.project.versions import COORDINATORS_MAX

__all__ = [
    "FENCE",
    "Members",
    "find_boundary",
    "lock_coordinator",
    "not_a_member",
    "read_membership",
    "unknown_coordinator",
    "write_boundaries",
    "write_boundary",
]


def unknown_coordinator(coordinator: int) -> InputProblem:
    """What is said of a coordinator that there is not, or not any more."""
    return InputProblem(
        f"there is no coordinator {coordinator}", kind="unknown-coordinator", hint="see `cumulus coordinators`"
    )


def not_a_member(coordinator: int, epoch: int) -> InputProblem:
    """What is said of a coordinator that has voted to end its last epoch, and goes on."""
    return InputProblem(
        "it is no member of the epoch",
        kind="not-a-member",
        place=f"coordinator {coordinator}, epoch {epoch}",
        hint=f"it was drained or removed; `cumulus coordinators add {coordinator}` makes it one again, from a later epoch on",
    )


# Each append asks these: they are made once.
POSITION = select(t.coordinator.c.epoch, t.coordinator.c.next_sequence).where(
    t.coordinator.c.index == bindparam("coordinator")
)
MEMBERS = (
    select(
        t.member.c.coordinator,
        t.member.c.first_epoch,
        t.member.c.last_epoch,
        t.coordinator.c.epoch,
        t.member.c.awaited_since,
    )
    .join(t.coordinator, t.coordinator.c.index == t.member.c.coordinator)
    .order_by(t.member.c.first_epoch, t.member.c.coordinator)
)


def read_membership(connection: Connection) -> Membership:
    """All memberships, as a transaction sees them."""
    return Membership(tuple(Member(*row) for row in connection.execute(MEMBERS)))


def lock_coordinator(connection: Connection, coordinator: int) -> int | None:
    """The epoch that it has open, which stays as it is for this transaction, appends included; None if there never was such a one."""
    c = t.coordinator.c
    return connection.execute(select(c.epoch).where(c.index == coordinator).with_for_update()).scalar()


class Members(Part):
    """Who takes part."""

    def membership(self) -> Membership:
        """Who is a coordinator in which epoch."""
        return self._db.look(read_membership)

    def add(self, coordinator: int | None = None) -> Member:
        """Add a coordinator, from the first epoch on that nobody has begun; a no-op when it is one already.

        Args:
            coordinator: its number, which is its priority; None for the lowest that is free.

        Returns:
            its membership.

        Raises:
            InputProblem: there are as many as there can be, or it has yet to vote to end its last epoch.
        """
        while coordinator is None:
            # never a number that somebody had: events are known by their numbers in a coordinator's sources
            taken = {m.coordinator for m in self.membership().all}
            found, is_new = self._add(next(i for i in range(COORDINATORS_MAX + 1) if i not in taken))
            if is_new:  # else somebody else has added it meanwhile
                return found
        return self._add(coordinator)[0]

    def _add(self, index: int) -> tuple[Member, bool]:
        if not 0 <= index < COORDINATORS_MAX:
            hint = f"numbers go from 0 to {COORDINATORS_MAX - 1}"
            raise InputProblem(f"there is no room for a coordinator {index}", kind="bad-coordinator", hint=hint)
        with self._db.begin() as connection:
            is_known = lock_coordinator(connection, index) is not None
            self._db.lock(connection)
            mine = read_membership(connection).find(index)
            if mine is not None and mine.last is None:
                return mine, False
            if mine is not None and not mine.is_gone:
                raise InputProblem(
                    f"coordinator {index} has yet to vote to end epoch {mine.last}, its last",
                    kind="coordinator-drains",
                    hint="add it again when it has, or add another one",
                )
            newest = connection.execute(select(func.max(t.vote.c.epoch))).scalar()
            first = (-1 if newest is None else int(newest)) + 2  # somebody has begun the epoch after the newest vote's
            values = {"epoch": first, "next_sequence": 0}
            if is_known:
                connection.execute(update(t.coordinator).where(t.coordinator.c.index == index).values(**values))
            else:
                connection.execute(insert(t.coordinator).values(index=index, **values))
            connection.execute(insert(t.member).values(coordinator=index, first_epoch=first))
            return Member(index, first, None, first), True

    def drain(self, coordinator: int) -> Member:
        """Make the epoch that a coordinator has open its last; a no-op when it drains or is gone.

        Returns:
            its membership.

        Raises:
            InputProblem: there is no such coordinator, or no other one that would stay.
        """
        with self._db.begin() as connection:
            epoch = lock_coordinator(connection, coordinator)
            self._db.lock(connection)
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

    def position(self, coordinator: int) -> tuple[int, int]:
        """(open epoch, next sequence) of a coordinator."""
        rows = self._db.read(POSITION, {"coordinator": coordinator})
        if not rows:
            raise unknown_coordinator(coordinator)
        return rows[0][0], rows[0][1]

    # When epochs end.

    def boundary(self, coordinator: int, epoch: int, rhythm: Rhythm) -> Boundary:
        """When a coordinator leaves an epoch, or is to leave it by the clock."""
        return self._db.look(lambda c: find_boundary(c, (epoch, coordinator), rhythm, read_membership(c)))

    def stay(self, coordinator: int, epoch: int, rhythm: Rhythm) -> Stay:
        """When a coordinator is in an epoch, as far as is settled, and else as the clock proposes."""

        def look(connection: Connection) -> Stay:
            membership = read_membership(connection)
            end, next_end = (
                find_boundary(connection, (e, coordinator), rhythm, membership).ends_at for e in (epoch, epoch + 1)
            )
            return Stay(coordinator, epoch, _begin(connection, (epoch, coordinator), rhythm, membership), end, next_end)

        return self._db.look(look)

    def epoch_at(self, coordinator: int, moment: datetime.datetime, rhythm: Rhythm) -> int:
        """The epoch that a coordinator is in at a moment, by its boundaries, and later by those that are proposed. As proposals are
        rounded to microseconds, a moment just before a boundary is one at it."""
        moment += ROUNDING

        def look(connection: Connection) -> int:
            b, membership = t.boundary.c, read_membership(connection)

            def ends_at(epoch: int) -> datetime.datetime:
                return find_boundary(connection, (epoch, coordinator), rhythm, membership).ends_at

            passed = select(func.max(b.epoch)).where(b.coordinator == coordinator, b.ends_at <= seconds_of(moment))
            known = connection.execute(passed).scalar()
            mine = membership.find(coordinator)
            first = 0 if mine is None else mine.first
            low = first if known is None else max(first, int(known) + 1)
            ahead = 1
            while ends_at(low + ahead - 1) <= moment:  # however far that is: no more than some dozens of looks
                ahead *= 2
            return bisect_right(range(low, low + ahead), moment, key=ends_at) + low

        return self._db.look(look)

    def boundaries(self, epoch: int) -> list[Boundary]:
        """The boundaries of an epoch that are settled, in the order of the coordinators."""
        b = t.boundary.c
        query = select(b.epoch, b.coordinator, b.ends_at, b.reason).where(b.epoch == epoch).order_by(b.coordinator)
        return [Boundary(e, c, moment_of(at), reason) for e, c, at, reason in self._db.read(query)]

    def end_epoch(self, epoch: int, rhythm: Rhythm, reason: str = "request") -> list[Boundary]:
        """End an epoch now, and those before it, for all coordinators for which it has not ended; a no-op when it has.

        Nobody is waited for: each coordinator sees it when it looks next, and votes when it has the token.

        Returns:
            the boundaries that are new.

        Raises:
            InputProblem: it is far ahead of all that are open.
        """
        with self._db.begin() as connection:
            self._db.lock(connection)
            membership = read_membership(connection)
            newest = max(m.epoch for m in membership.active())
            if epoch > newest + AHEAD_MAX:
                hint = f"the newest open epoch is {newest}; each that is ended will have a snapshot of its own"
                raise InputProblem(f"epoch {epoch} is far ahead", kind="epoch-far-ahead", hint=hint)
            open_places = sorted(
                (e, m.coordinator) for m in membership.all for e in range(m.epoch, epoch + 1) if m.is_in(e)
            )
            new = [p for p in open_places if find_boundary(connection, p, rhythm, membership).reason is None]
            return [write_boundary(connection, place, rhythm, membership, reason) for place in new]

    def leave(self, coordinator: int, epoch: int, rhythm: Rhythm) -> Boundary:
        """Let an epoch end for a coordinator that is about to vote: what lands from now on belongs to its next epoch."""
        with self._db.begin() as connection:
            lock_coordinator(connection, coordinator)
            self._db.lock(connection)
            return write_boundary(connection, (epoch, coordinator), rhythm, read_membership(connection), "voted")

    def events_in(self, epoch: int) -> int:
        """How many events of an epoch have been appended, and count."""
        b = t.batch.c
        total = select(func.sum(b.inserts + b.deletes)).where(b.epoch == epoch, b.state.not_in(LEFT_OUT))
        return int(self._db.read(total)[0][0] or 0)


# Boundaries: when coordinators leave their epochs. They are rows, and the clock only proposes them.
#
# A row says that an epoch has ended for a coordinator, and when. What landed before belongs to the epoch, what lands later to the
# next one. When there is no row yet, the time is proposed: one period after the last boundary of who votes before
# (:meth:`~cumulus_ops.project.rhythm.Rhythm.end_after`). So an epoch that ends early moves all that come, and no drop is in two epochs, or in none.
#
# A boundary is written with the vote, at the latest; earlier if an epoch is to end before its time: on request, or because it holds
# more events than it is to hold (EPOCH END REQUEST, semester paper, section 3.4). Then what has landed and is not
# appended yet belongs to the next epoch, or else the backlog of one coordinator would make the epoch as large as it was not to be.


#: Proposed times are rounded; a moment that is said to be a boundary's is that boundary's if it is so near.
ROUNDING = datetime.timedelta(milliseconds=1)
#: How many epochs that nobody has begun can be ended at once: each will be voted on, and have a snapshot.
AHEAD_MAX = 100
#: Why an epoch ended for a coordinator that others went on without before it was over.
FENCE = "fence"


def find_boundary(connection: Connection, place: Place, rhythm: Rhythm, membership: Membership) -> Boundary:
    """The boundary of (epoch, coordinator), or the proposal if there is none yet. Who was fenced before its time sets no pace: the
    others' epochs are as long as they would have been."""
    b, (epoch, coordinator) = t.boundary.c, place
    here = (b.epoch == epoch) & (b.coordinator == coordinator)
    upto = (b.epoch < epoch) | ((b.epoch == epoch) & (b.coordinator <= coordinator))
    newest_first = select(b.epoch, b.coordinator, b.ends_at, b.reason).order_by(b.epoch.desc(), b.coordinator.desc())
    last = connection.execute(newest_first.where(upto, here | (b.reason != FENCE)).limit(1)).first()
    if last is not None and (last.epoch, last.coordinator) == place:
        return Boundary(epoch, coordinator, moment_of(last.ends_at), last.reason)
    known = None if last is None else ((last.epoch, last.coordinator), moment_of(last.ends_at))
    return Boundary(epoch, coordinator, rhythm.end_after(place, known, membership.of))


def write_boundary(
    connection: Connection, place: Place, rhythm: Rhythm, membership: Membership, reason: str
) -> Boundary:
    """Let an epoch end for a coordinator: at the time that is proposed, or if that is yet to come, now, for ``reason``. A boundary
    that is there stays. No two of a coordinator's are so near that a moment could be taken for the other one."""
    found = find_boundary(connection, place, rhythm, membership)
    if found.reason is not None:
        return found
    now, (epoch, coordinator) = moment_of(clock_s(connection)), place
    is_due = found.ends_at <= now
    ends_at = found.ends_at if is_due else now
    b = t.boundary.c
    earlier = select(func.max(b.ends_at)).where(b.coordinator == coordinator, b.epoch < epoch)
    before = connection.execute(earlier).scalar()
    if before is not None:
        ends_at = max(ends_at, moment_of(before) + 2 * ROUNDING)
    new = Boundary(epoch, coordinator, ends_at, "clock" if is_due else reason)
    values = {
        "epoch": new.epoch,
        "coordinator": new.coordinator,
        "ends_at": seconds_of(new.ends_at),
        "reason": new.reason,
    }
    connection.execute(insert(t.boundary).values(**values))
    return new


def write_boundaries(
    connection: Connection,
    coordinator: int,
    epochs: range,
    rhythm: Rhythm,
    membership: Membership,
    until: float,
    reason: str,
) -> range:
    """Let several epochs end for a coordinator at once: the first as :func:`write_boundary` does, and those behind it that are over by
    the moment ``until``, in seconds since 1970. However many, it takes a few statements.

    Returns:
        those of the epochs that have ended.
    """
    write_boundary(connection, (epochs[0], coordinator), rhythm, membership, reason)
    b = t.boundary.c
    near = select(b.epoch, b.coordinator, b.ends_at, b.reason).where(b.epoch.between(epochs[0], epochs[-1]))
    rows = connection.execute(near.order_by(b.epoch, b.coordinator)).all() if len(epochs) > 1 else []
    mine = {row.epoch: moment_of(row.ends_at) for row in rows if row.coordinator == coordinator}
    paces = deque(((row.epoch, row.coordinator), moment_of(row.ends_at)) for row in rows if row.reason != FENCE)
    pace: tuple[Place, datetime.datetime] | None = None  # the last boundary before the place, as in `find_boundary`
    limit, new = moment_of(until), []
    for epoch in epochs[1:]:
        place = epoch, coordinator
        while paces and paces[0][0] < place:
            pace = paces.popleft() if pace is None else max(pace, paces.popleft())
        if epoch not in mine:
            if pace is None:
                ends_at = find_boundary(connection, place, rhythm, membership).ends_at
            else:
                ends_at = rhythm.end_after(place, pace, membership.of)
            ends_at = max(ends_at, mine[epoch - 1] + 2 * ROUNDING)
            if ends_at > limit:
                break
            new.append((place, ends_at))
            mine[epoch] = ends_at
            pace = place, ends_at
        elif mine[epoch] > limit:
            break
    values = ({"epoch": e, "coordinator": c, "ends_at": seconds_of(at), "reason": "clock"} for (e, c), at in new)
    if new:
        connection.execute(insert(t.boundary), list(values))
    ended = next((epoch for epoch in epochs[1:] if epoch not in mine or mine[epoch] > limit), epochs.stop)
    return range(epochs[0], ended)


def _begin(connection: Connection, place: Place, rhythm: Rhythm, membership: Membership) -> datetime.datetime:
    """When a coordinator enters an epoch: when it leaves the one before, or would if it took part in that."""
    epoch, coordinator = place
    if epoch == 0:
        who = membership.of(0)
        behind = who.index(coordinator) if rhythm.staggered else 0
        return rhythm.start + rhythm.length * behind / len(who)
    return find_boundary(connection, (epoch - 1, coordinator), rhythm, membership).ends_at
