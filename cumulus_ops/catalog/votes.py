"""Votes, and the token: who moves to the next epoch next, and what is done when it does not.

The **token** is the right to vote. It is with the member whose next vote comes first in the order (epoch, coordinator): the highest
priority first, and everybody once per epoch. It has a **number** that grows with each hand-over, and a **lease**: whoever wants to move and
finds the holder late takes it. A holder is late when its epoch is over, others wait for it, and both have been so for longer than the token's
patience. It loses the token, and nothing else: its epoch stays open, its events stay in it, and a vote with the number that it had is refused.
When the token comes round again, it votes as if nothing had happened.

A coordinator that is behind votes to end, with its open epoch, all those behind it that are over and for which nothing has landed (decision 0029).

A member that is awaited for longer than the coordinators' patience is taken for gone, and **fenced** in the epoch that it has open, if
somebody else has voted to end that: another one applies what it has appended, and votes in its name. What it appends later belongs to its next epoch. Nothing is lost, nothing
counts twice, whether it is dead or only slow; the vote says who has fenced it, and why.

All times are the database's. They decide how soon the late are passed by, and never what is right.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlalchemy import Connection, Row, func, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Part, clock_s, now
from cumulus_ops.catalog.epochs import FencedVote, Member, Membership, Token, seconds_of
from cumulus_ops.catalog.members import (
    FENCE,
    find_boundary,
    lock_coordinator,
    not_a_member,
    read_membership,
    unknown_coordinator,
    write_boundaries,
)
from cumulus_ops.catalog.records import SETTLED
from cumulus_ops.catalog.seals import close_without
from cumulus_ops.project.errors import NotYet
from cumulus_ops.project.rhythm import Rhythm

__all__ = ["Votes", "complete_epochs", "missing_votes", "votes_missing"]


class Votes(Part):
    """The ends of epochs, coordinator by coordinator."""

    def token_holder(self) -> int:
        """The coordinator that may move to its next epoch."""
        return self.token().holder

    def token(self) -> Token:
        """Who has the token, and its number."""
        holder, number = self._db.read(select(t.program.c.token, t.program.c.token_number))[0]
        return Token(int(holder), int(number))

    def take_token(self, coordinator: int, rhythm: Rhythm, patience: datetime.timedelta) -> Token | None:
        """Ask for the token: for whoever has an epoch to end.

        Args:
            coordinator: who asks.
            rhythm: when epochs are to end.
            patience: how long the holder may keep it beyond the end of its epoch, while others wait.

        Returns:
            the token, if the coordinator has it, or has just taken it from a holder that is late; None if it has to wait. From then on
            the holder is awaited.

        Raises:
            InputProblem: it is no coordinator, or not any more.
        """
        asked = self._db.look(lambda connection: _ask(connection, coordinator, rhythm, patience))
        if not asked.changes:  # who waits looks often, and is in nobody's way
            return asked.token
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            asked = _ask(connection, coordinator, rhythm, patience)
            if asked.is_late:
                return _hand_to(connection, program, coordinator)
            if asked.is_new:
                _await(connection, asked.holder, clock_s(connection))
            return asked.token

    def vote(
        self,
        coordinator: int,
        epoch: int,
        token: Token | None = None,
        rhythm: Rhythm | None = None,
        upto: int | None = None,
        *,
        applied: bool = True,
    ) -> None:
        """Vote to end ``epoch`` for a coordinator, move it to the next epoch and pass the token on; a no-op when done before.

        Args:
            coordinator, epoch: who votes, and on which epoch.
            token: what :meth:`take_token` gave; None to take what is there.
            rhythm: when epochs are to end; None keeps no boundary.
            upto: vote on the epochs behind it as well, up to this one (inclusive), as far as they are over by the clock. For a coordinator
                that is behind, and for which nothing has come that belongs to them.
            applied: whether all its batches have to be applied first.

        Raises:
            NotYet: the token is elsewhere, or was passed on since; an earlier epoch is open; or a batch is not applied.
            InputProblem: it is no member of the epoch.
        """
        with self._db.begin() as connection:
            # first of all: an append that is under way is waited for, and the next one will see that the epoch is over
            current = lock_coordinator(connection, coordinator)
            program = self._db.lock(connection)
            membership = read_membership(connection)
            if current is None:
                raise unknown_coordinator(coordinator)
            if current > epoch:
                return
            _check_open(connection, membership, coordinator, epoch, current, applied=applied)
            if program.token != coordinator:
                _refuse_token(f"coordinator {program.token} has the token", "no-token", coordinator, epoch)
            if token is not None and token.number != program.token_number:
                _refuse_token(f"its token, number {token.number}, was passed on", "old-token", coordinator, epoch)
            now_s = clock_s(connection)
            _end(
                connection,
                coordinator,
                _run_of(membership, coordinator, epoch, upto),
                rhythm,
                membership,
                "voted",
                now_s,
            )
            mine = membership.find(coordinator)
            if mine is not None and mine.awaited_since is not None:
                _await(connection, mine, None)
            _hand_on(connection, program)

    def overdue(self, rhythm: Rhythm, patience: datetime.timedelta) -> list[tuple[int, int]]:
        """The (epoch, coordinator) that are to be fenced, oldest first: awaited for longer than the patience."""

        def look(connection: Connection) -> list[tuple[int, int]]:
            membership = read_membership(connection)
            late = (m for m in membership.active() if _is_to_be_fenced(connection, m, rhythm, membership, patience))
            return sorted((m.epoch, m.coordinator) for m in late)

        return self._db.look(look)

    def fence(
        self,
        coordinator: int,
        epoch: int,
        by: int | None,
        reason: str,
        rhythm: Rhythm,
        patience: datetime.timedelta | None = None,
    ) -> int:
        """Vote to end ``epoch`` in the name of a coordinator that is gone, so that it completes without it; and, given a patience, the epochs
        behind it for which it is as late: there is nothing of it in them.

        Args:
            coordinator, epoch: who votes, and on which epoch.
            by: the coordinator that does so, None if it is a person.
            reason: why.
            rhythm: when epochs are to end.
            patience: how long it has been awaited at the least; None when that does not matter.

        Returns:
            on how many epochs it voted; 0 when it has voted by itself, was fenced by somebody else, or is not late any more.

        Raises:
            NotYet: a batch of its epoch is not applied.
        """
        with self._db.begin() as connection:
            current = lock_coordinator(connection, coordinator)
            program = self._db.lock(connection)
            membership = read_membership(connection)
            mine = _active(membership, coordinator)
            if current != epoch or mine is None:
                return 0
            if patience is not None and not _is_to_be_fenced(connection, mine, rhythm, membership, patience):
                return 0
            _check_open(connection, membership, coordinator, epoch, epoch)
            upto = None if patience is None else connection.execute(select(func.max(t.vote.c.epoch))).scalar()
            epochs = _run_of(membership, coordinator, epoch, upto)
            until = clock_s(connection) - (patience or datetime.timedelta()).total_seconds()
            # awaited it stays: as long as it is silent, its next epoch waits no longer than this one
            done = _end(connection, coordinator, epochs, rhythm, membership, FENCE, until, by, reason)
            _hand_on(connection, program)
            return len(done)

    def fenced(self) -> list[FencedVote]:
        """The votes that somebody else has made, in the order of the epochs."""
        s = t.vote.c
        query = select(s.epoch, s.coordinator, s.fenced_by, s.reason).where(s.reason.is_not(None))
        return [FencedVote(*row) for row in self._db.read(query.order_by(s.epoch, s.coordinator))]

    def by_epoch(self) -> dict[int, set[int]]:
        """epoch -> the coordinators that have voted to end it."""
        result: dict[int, set[int]] = {}
        for coordinator, epoch in self._db.read(select(t.vote.c.coordinator, t.vote.c.epoch)):
            result.setdefault(epoch, set()).add(coordinator)
        return result

    def last_epochs(self) -> dict[int, int]:
        """coordinator -> the newest epoch that it has voted to end."""
        s = t.vote.c
        return {c: int(e) for c, e in self._db.read(select(s.coordinator, func.max(s.epoch)).group_by(s.coordinator))}

    def newest_epoch(self) -> int:
        """The newest epoch that somebody has voted to end, -1 while there is none."""
        newest = self._db.read(select(func.max(t.vote.c.epoch)))[0][0]
        return -1 if newest is None else int(newest)

    def missing(self, epoch: int) -> tuple[int, ...]:
        """The members of an epoch whose vote on it is missing, ascending."""
        return self._db.look(lambda connection: missing_votes(connection, epoch))

    def complete_epochs(self, first: int) -> range:
        """The epochs from ``first`` on that all their members have voted to end, up to the first one that they have not."""
        return self._db.look(lambda connection: complete_epochs(connection, first))


@dataclass(frozen=True)
class _Asked:
    """What is answered to somebody who asks for the token: the ``token`` if it has it; else whether it is the first to wait for the
    ``holder``, or the holder is late, which is both to be recorded."""

    holder: Member
    token: Token | None
    is_new: bool
    is_late: bool

    @property
    def changes(self) -> bool:
        return self.is_new or self.is_late


def _ask(connection: Connection, coordinator: int, rhythm: Rhythm, patience: datetime.timedelta) -> _Asked:
    """See :meth:`Votes.take_token`."""
    number, token = connection.execute(select(t.program.c.token, t.program.c.token_number)).one()
    membership = read_membership(connection)
    holder = membership.find(number)
    if _active(membership, coordinator) is None:
        raise unknown_coordinator(coordinator)
    assert holder is not None  # it goes to members
    if holder.coordinator == coordinator:
        return _Asked(holder, Token(coordinator, int(token)), is_new=False, is_late=False)
    is_late = _is_late(connection, holder, rhythm, membership, patience)
    return _Asked(holder, None, is_new=holder.awaited_since is None, is_late=is_late)


def _active(membership: Membership, coordinator: int) -> Member | None:
    return next((m for m in membership.active() if m.coordinator == coordinator), None)


def _is_late(
    connection: Connection, who: Member, rhythm: Rhythm, membership: Membership, patience: datetime.timedelta
) -> bool:
    """Whether its epoch is over, and it is awaited, both for longer than the patience."""
    if who.awaited_since is None:
        return False
    ends_at = find_boundary(connection, (who.epoch, who.coordinator), rhythm, membership).ends_at
    return clock_s(connection) >= max(who.awaited_since, seconds_of(ends_at)) + patience.total_seconds()


def _is_to_be_fenced(
    connection: Connection, who: Member, rhythm: Rhythm, membership: Membership, patience: datetime.timedelta
) -> bool:
    """Whether it is late in an epoch that somebody else has voted to end: nobody is fenced in epochs to which the others have yet to come."""
    if not _is_late(connection, who, rhythm, membership, patience):
        return False
    newest = connection.execute(select(func.max(t.vote.c.epoch))).scalar()
    return newest is not None and who.epoch <= newest


def _await(connection: Connection, who: Member, since: float | None) -> None:
    mine = (t.member.c.coordinator == who.coordinator, t.member.c.first_epoch == who.first)
    connection.execute(update(t.member).where(*mine).values(awaited_since=since))


def _check_open(
    connection: Connection,
    membership: Membership,
    coordinator: int,
    epoch: int,
    current: int,
    *,
    applied: bool = True,
) -> None:
    place = f"coordinator {coordinator}, epoch {epoch}"
    if current < epoch:
        raise NotYet(f"epoch {current} is still open", kind="earlier-epoch-open", place=place)
    if coordinator not in membership.of(epoch):
        raise not_a_member(coordinator, epoch)
    b = t.batch.c
    open_batches = select(func.count()).where(b.coordinator == coordinator, b.epoch == epoch, b.state.not_in(SETTLED))
    if applied and connection.execute(open_batches).scalar_one():
        raise NotYet("a batch is not applied yet", kind="batch-pending", place=place, hint="apply it first")


def _refuse_token(message: str, kind: str, coordinator: int, epoch: int) -> NoReturn:
    place = f"coordinator {coordinator}, epoch {epoch}"
    raise NotYet(message, kind=kind, place=place, hint="it must vote first, or be late for longer than the patience")


def _run_of(membership: Membership, coordinator: int, first: int, upto: int | None) -> range:
    """The epochs from ``first`` to ``upto`` (inclusive, if there is one) in which a coordinator takes part."""
    mine = membership.find(coordinator)
    last = mine.last if mine is not None and mine.last is not None else upto
    return range(first, max(first, min(first if upto is None else upto, first if last is None else last)) + 1)


def _end(
    connection: Connection,
    coordinator: int,
    epochs: range,
    rhythm: Rhythm | None,
    membership: Membership,
    why: str,
    until: float,
    by: int | None = None,
    reason: str | None = None,
) -> range:
    """The votes, their boundaries, and the coordinator's next epoch: of the first epoch, and of those behind it that are over."""
    if rhythm is None:
        epochs = epochs[:1]
    else:
        epochs = write_boundaries(connection, coordinator, epochs, rhythm, membership, until, why)
    values = {"coordinator": coordinator, "voted_at": now(), "fenced_by": by, "reason": reason}
    connection.execute(insert(t.vote), [{**values, "epoch": epoch} for epoch in epochs])
    c = t.coordinator.c
    following = {"epoch": epochs.stop, "next_sequence": 0}
    connection.execute(update(t.coordinator).where(c.index == coordinator).values(**following))
    mine = membership.find(coordinator)
    if mine is not None and mine.last is not None and epochs.stop > mine.last:
        close_without(connection, coordinator)
        mine_aside = (t.batch.c.coordinator == coordinator, t.batch.c.retry_at.is_not(None))
        connection.execute(update(t.batch).where(*mine_aside).values(retry_at=None))  # nobody is left to try them again
    return epochs


def _hand_on(connection: Connection, program: Row[Any]) -> None:
    """The token goes to whoever votes next: the oldest epoch first, and in it the highest priority."""
    _, successor = min((m.epoch, m.coordinator) for m in read_membership(connection).active())
    _hand_to(connection, program, successor)


def _hand_to(connection: Connection, program: Row[Any], coordinator: int) -> Token:
    token = Token(coordinator, int(program.token_number) + 1)
    connection.execute(update(t.program).values(token=token.holder, token_number=token.number))
    return token


def missing_votes(connection: Connection, epoch: int) -> tuple[int, ...]:
    """The members of an epoch that have not voted to end it."""
    voted = set(connection.execute(select(t.vote.c.coordinator).where(t.vote.c.epoch == epoch)).scalars())
    return tuple(c for c in read_membership(connection).of(epoch) if c not in voted)


def complete_epochs(connection: Connection, first: int) -> range:
    """See :meth:`Votes.complete_epochs`. A coordinator votes on its epochs one after the other, so none is complete that one has open."""
    membership = read_membership(connection)
    newest = connection.execute(select(func.max(t.vote.c.epoch))).scalar()
    stop = min((m.epoch for m in membership.active()), default=first)
    return range(first, max(first, min(stop, (-1 if newest is None else newest) + 1)))


def votes_missing(missing: Sequence[int], epoch: int) -> NotYet:
    """What is said of an epoch on which votes are missing."""
    who = ", ".join(map(str, missing))
    return NotYet(f"coordinator {who} has not voted to end it", kind="votes-missing", place=f"epoch {epoch}")
