"""Batches that fail: their failures are counted here, so that whoever tries next, in whatever process, goes on counting.

appended ──► applied ──► retired
   │            │
   └─► aside ◄──┘          after its last failure; its events do not count
         ├─► retried       they were stamped again, into the open epoch, as another batch
         └─► dropped       they will never count
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.clocks import forget_clocks
from cumulus_ops.catalog.database import Database
from cumulus_ops.catalog.finals import refuse_below_finals
from cumulus_ops.catalog.key_indexes import change_key_indexes, lock_key_indexes
from cumulus_ops.catalog.records import HistoryEntry, KeyChange, NewRun
from cumulus_ops.errors import Conflict, InputProblem

__all__ = ["DEATHS", "FAILURES", "Asides", "not_aside"]

#: A batch is set aside with its so many-th failure for a defect.
FAILURES = 3
#: And when so many attempts in a row have begun and nobody has seen their end: their processes were killed, or died of it.
DEATHS = 5


class Asides(Database):
    """What did not go as it should."""

    def count_failure(self, batch: int, reason: str) -> bool:
        """Record that an attempt to apply the batch failed for a defect; the last one that is allowed sets it aside.

        Returns:
            whether it is set aside, by this failure or before.
        """
        with self._engine.begin() as connection:
            self._lock(connection)
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
        with self._engine.begin() as connection:
            self._lock(connection)
            waiting = (t.batch.c.id == batch, t.batch.c.state == "appended")
            connection.execute(update(t.batch).where(*waiting).values(unended=0))

    def set_aside(self, batch: int, reason: str) -> None:
        """Set a batch aside that is not applied; a no-op when it is none that waits."""
        with self._engine.begin() as connection:
            self._lock(connection)
            waiting = (t.batch.c.id == batch, t.batch.c.state == "appended")
            connection.execute(
                update(t.batch).where(*waiting).values(state="aside", reason=reason, read_at=None, unended=0)
            )

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
        with self._engine.begin() as connection:
            program = self._lock(connection)
            if program.refreshed is not None and (entry.batch.commit or 0) <= program.refreshed:
                raise Conflict(
                    "derived maps have incorporated it", kind="retract-conflict", place=f"batch {entry.batch.id}"
                )
            mine = update(t.batch).where(t.batch.c.id == entry.batch.id, t.batch.c.clock == entry.clock_id)
            if connection.execute(mine.values(clock=None)).rowcount != 1:
                raise Conflict("corrected by somebody else", kind="retract-conflict", place=f"batch {entry.batch.id}")
            refuse_below_finals(connection, entry.batch.id, entry.batch.commit or 0)
            forget_clocks(connection)
            number = self._commit(connection, program, "retract", own)
            if corrections:
                self._commit(connection, self._lock(connection), "retract", corrections)
            values = {"state": "aside", "retracted_by": number, "read_at": None, "reason": reason}
            connection.execute(update(t.batch).where(t.batch.c.id == entry.batch.id).values(**values))

    def retractions(self, at: int, after: int = 0) -> list[tuple[int, int]]:
        """(commit of a batch that was set aside after that, commit that took it back), the latter after commit ``after``
        (exclusive) and up to commit ``at`` (inclusive)."""
        b = t.batch.c
        rows = self._read(select(b.commit, b.retracted_by).where(b.retracted_by <= at, b.retracted_by > after))
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
        with self._engine.begin() as connection:
            self._lock(connection)
            state = self._state(connection, batch)
            if state not in ("aside", "dropped"):
                raise not_aside(batch, state)
            if state == "aside":
                lock_key_indexes(connection, keys)
                self._require_files(connection, {run.path for change in keys for run in change.runs})
                change_key_indexes(connection, keys)
                connection.execute(update(t.batch).where(t.batch.c.id == batch).values(state="dropped"))

    def _state(self, connection: Connection, batch: int) -> str | None:
        """Its state, which stays as it is: a retry, which is an append, does not wait for the program's row."""
        return connection.execute(select(t.batch.c.state).where(t.batch.c.id == batch).with_for_update()).scalar()


def not_aside(batch: int, state: str | None) -> InputProblem:
    """What is said to somebody who decides about a batch that is not there to be decided about."""
    message = f"batch {batch} is {state}" if state else f"there is no batch {batch}"
    return InputProblem(message, kind="not-aside", hint="`cumulus batch list` shows those that are set aside")
