"""Batches that fail: their failures are counted here, so that whoever tries next, in whatever process, goes on counting.

appended ──► applied ──► retired
   │            │
   └─► aside ◄──┘          after its last failure; its events do not count
         ├─► retried       they were stamped again, into the open epoch, as another batch: by somebody, or, if processes died of it
         │                 and nothing else is known, by its coordinator after a while, a few times
         └─► dropped       they will never count
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.commits import forget_clocks
from cumulus_ops.catalog.database import Part
from cumulus_ops.catalog.finals import refuse_below_finals
from cumulus_ops.catalog.key_indexes import change_key_indexes, lock_key_indexes
from cumulus_ops.catalog.members import read_membership
from cumulus_ops.catalog.records import HistoryEntry, KeyChange, NewRun, Recipe
from cumulus_ops.project.errors import Conflict, InputProblem

__all__ = ["FAILURES", "RETRIES", "UNENDED", "Asides", "not_aside"]

#: A batch is set aside with its so many-th failure for a defect.
FAILURES = 3
#: When so many attempts in a row have begun and nobody has seen their end (their processes were killed, or died of it), it is tried in a process
#: of its own; nothing is known of the batch yet.
UNENDED = 2
#: One that is set aside because that process died is tried again so often, after :data:`PAUSE_S` and then twice as long each time.
RETRIES = 5
PAUSE_S = 300.0


class Asides(Part):
    """What did not go as it should."""

    def count_failure(self, batch: int, reason: str) -> bool:
        """Record that an attempt to apply the batch failed for a defect; the last one that is allowed sets it aside.

        Returns:
            whether it is set aside, by this failure or before.
        """
        with self._db.begin() as connection:
            self._db.lock(connection)
            b = t.batch.c
            state, failures = connection.execute(select(b.state, b.failures).where(b.id == batch)).one()
            if state == "appended":
                values: dict[str, Any] = {"failures": failures + 1, "unended": 0, "reason": reason}
                if failures + 1 >= FAILURES:
                    values |= {"state": "aside", "read_at": None}
                connection.execute(update(t.batch).where(b.id == batch).values(**values))
            return bool(state == "aside" or (state == "appended" and failures + 1 >= FAILURES))

    def excuse(self, batch: int) -> None:
        """Record that an attempt to apply the batch ended, by nothing that is the batch's fault: the processes live through it."""
        with self._db.begin() as connection:
            self._db.lock(connection)
            waiting = (t.batch.c.id == batch, t.batch.c.state == "appended")
            connection.execute(update(t.batch).where(*waiting).values(unended=0))

    def set_aside_dead(self, batch: int, reason: str, now: float) -> None:
        """Set a batch aside that is not applied, because processes died that did nothing else; a no-op when it is none that waits. It is
        tried again by itself, unless that was done as often as it may be, or its coordinator is gone.

        Args:
            batch: its id.
            reason: why.
            now: the time, in seconds since 1970.
        """
        with self._db.begin() as connection:
            self._db.lock(connection)
            b = t.batch.c
            waiting = (b.id == batch, b.state == "appended")
            before, coordinator = connection.execute(select(b.deaths, b.coordinator).where(b.id == batch)).one()
            member = read_membership(connection).find(coordinator)
            is_left = member is not None and not member.is_gone  # or else nobody is there to try it again
            again = now + PAUSE_S * 2**before if is_left and before < RETRIES else None
            values = {"state": "aside", "reason": reason, "read_at": None, "unended": 0}
            connection.execute(update(t.batch).where(*waiting).values(**values, deaths=before + 1, retry_at=again))

    def give_up(self, batch: int) -> None:
        """Leave a batch that is set aside to somebody who decides: it is not tried again by itself."""
        with self._db.begin() as connection:
            self._db.lock(connection)
            connection.execute(update(t.batch).where(t.batch.c.id == batch).values(retry_at=None))

    def retract(self, entry: HistoryEntry, own: Sequence[NewRun], corrections: Sequence[NewRun], reason: str) -> None:
        """Set a batch aside that is applied, and not below a snapshot.

        Args:
            entry: its history entry, as it was read before the runs that it has deltas in.
            own: the negative of the deltas that its commit made visible.
            corrections: the negative of its corrections; they are a commit of their own, so that whoever has incorporated
                neither the batch's commit nor the first of these may do as if there were none of the two.
            reason: why.

        Raises:
            Conflict: it was corrected or retired meanwhile, the maps that depend on derivations have incorporated it, or rows were said
                to be final since.
        """
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            if program.refreshed is not None and (entry.batch.commit or 0) <= program.refreshed:
                raise Conflict(
                    "derived maps have incorporated it", kind="retract-conflict", place=f"batch {entry.batch.id}"
                )
            mine = update(t.batch).where(t.batch.c.id == entry.batch.id, t.batch.c.clock == entry.clock_id)
            if connection.execute(mine.values(clock=None)).rowcount != 1:
                raise Conflict("corrected by somebody else", kind="retract-conflict", place=f"batch {entry.batch.id}")
            refuse_below_finals(connection, entry.batch.id, entry.batch.commit or 0)
            forget_clocks(connection)
            recipe = Recipe(batch=entry.batch.id)
            number = self._db.make_visible(connection, program, "retract", own, recipe=recipe)
            if corrections:
                self._db.make_visible(connection, self._db.lock(connection), "retract", corrections, recipe=recipe)
            values = {"state": "aside", "retracted_by": number, "read_at": None, "reason": reason}
            connection.execute(update(t.batch).where(t.batch.c.id == entry.batch.id).values(**values))

    def retractions(self, at: int, after: int = 0) -> list[tuple[int, int]]:
        """(commit of a batch that was set aside after that, commit that took it back), the latter after commit ``after``
        (exclusive) and up to commit ``at`` (inclusive)."""
        b = t.batch.c
        rows = self._db.read(select(b.commit, b.retracted_by).where(b.retracted_by <= at, b.retracted_by > after))
        return [(row[0], row[1]) for row in rows]

    def drop_batch(self, batch: int, keys: Sequence[KeyChange] = ()) -> None:
        """Decide that the events of a batch that is set aside will never count; a no-op when done before.

        Args:
            batch: its id.
            keys: how key indexes are without it.

        Raises:
            InputProblem: it is not set aside.
            Conflict: a key index is another one (``keys-moved``), or files are gone.
        """
        with self._db.begin() as connection:
            self._db.lock(connection)
            # its state stays as it is until the end: a retry, which is an append, does not wait for the program's row
            state = connection.execute(select(t.batch.c.state).where(t.batch.c.id == batch).with_for_update()).scalar()
            if state not in ("aside", "dropped"):
                raise not_aside(batch, state)
            if state == "aside":
                lock_key_indexes(connection, keys)
                self._db.require_files(connection, {run.path for change in keys for run in change.runs})
                change_key_indexes(connection, keys)
                connection.execute(update(t.batch).where(t.batch.c.id == batch).values(state="dropped"))


def not_aside(batch: int, state: str | None) -> InputProblem:
    """What is said to somebody who decides about a batch that is not there to be decided about."""
    message = f"batch {batch} is {state}" if state else f"there is no batch {batch}"
    return InputProblem(message, kind="not-aside", hint="`cumulus batch list` shows those that are set aside")
