"""Reading clocks: what applied batches have incorporated, and whether anything is missing.

A clock belongs to one batch when that is applied, and to all that were corrected together from then on. It never changes: a
correction moves its batches to a new one, and a batch that is retired or taken back leaves it. So whoever finds as many batches with a
clock as it has read finds the same ones, and one statement advances them all, however many they are.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, ScalarSelect, case, delete, func, insert, or_, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Database
from cumulus_ops.catalog.log import BATCH_FIELDS
from cumulus_ops.catalog.records import Batch, Clock, HistoryEntry, SharedClock, Unsettled
from cumulus_ops.errors import Conflict

__all__ = ["Clocks", "forget_clocks", "insert_clock"]

#: The kinds of commits whose deltas others have to incorporate: merges and refreshes bring nothing new to base maps.
NEWS = ("start", "apply", "correct", "retract")


def insert_clock(connection: Connection, clock: Clock) -> int:
    """A new clock, which no batch has yet; its number."""
    values = {"prefix": clock.prefix, "exceptions": json.dumps(sorted(clock.exceptions))}
    return int(
        connection.execute(insert(t.reading_clock).values(**values).returning(t.reading_clock.c.id)).scalar_one()
    )


def forget_clocks(connection: Connection) -> None:
    """Delete the clocks that no batch has any more: they would hold merging back."""
    shared = select(t.batch.c.id).where(t.batch.c.clock == t.reading_clock.c.id)
    connection.execute(delete(t.reading_clock).where(~shared.exists()))


def _clock(prefix: int, exceptions: str) -> Clock:
    return Clock(prefix, frozenset(json.loads(exceptions)))


def _incorporated() -> ScalarSelect[Any]:
    """The commit up to which every live batch, and the maps that depend on derivations, have incorporated everything."""
    p = t.program.c
    lowest = func.coalesce(select(func.min(t.reading_clock.c.prefix)).scalar_subquery(), p.last_commit)
    refreshed = func.coalesce(p.refreshed, p.last_commit)
    return select(case((lowest < refreshed, lowest), else_=refreshed)).select_from(t.program).scalar_subquery()


class Clocks(Database):
    """The live history: batches that are applied, and below no snapshot yet."""

    def clocks(self, at: int) -> list[SharedClock]:
        """The reading clocks of the batches applied at or before commit ``at``."""
        k, b = t.reading_clock.c, t.batch.c
        query = select(k.id, k.prefix, k.exceptions, func.count()).join(t.batch, b.clock == k.id).where(b.commit <= at)
        rows = self._read(query.group_by(k.id, k.prefix, k.exceptions).order_by(k.id))
        return [SharedClock(number, _clock(prefix, later), batches) for number, prefix, later, batches in rows]

    def history(self, at: int, *, after: int = 0, place: tuple[int, int] | None = None) -> list[HistoryEntry]:
        """The live history: batches applied at or before commit ``at`` that no snapshot has retired.

        Args:
            at: see above (inclusive).
            after: only those applied after this commit (exclusive).
            place: only those at or after this place in the order, an (epoch, ticket).
        """
        k, b = t.reading_clock.c, t.batch.c
        query = select(*BATCH_FIELDS, k.id, k.prefix, k.exceptions).join(t.reading_clock, k.id == b.clock)
        query = query.where(b.commit <= at, b.commit > after).order_by(b.id)
        if place is not None:
            query = query.where(or_(b.epoch > place[0], (b.epoch == place[0]) & (b.ticket >= place[1])))
        width = len(BATCH_FIELDS)
        found: dict[int, Clock] = {}
        entries = []
        for row in self._read(query):
            number = row[width]
            if number not in found:
                found[number] = _clock(*row[width + 1 :])
            entries.append(HistoryEntry(Batch(*row[:width]), found[number], number))
        return entries

    def unsettled(self) -> Unsettled | None:
        """Since when tentative answers are not final as far as what is applied goes; None if they are. Costs one short query."""
        c, p = t.commit.c, t.program.c
        missing = (c.kind.in_(NEWS), c.number > _incorporated())
        newest = select(func.max(c.number)).where(*missing).scalar_subquery()
        refreshed = select(p.refreshed).scalar_subquery()
        rows = self._read(select(c.committed_at, newest, refreshed).where(*missing).order_by(c.number).limit(1))
        if not rows:
            return None
        since, last, upto = rows[0]
        since = since if since.tzinfo else since.replace(tzinfo=datetime.UTC)  # SQLite keeps no zones
        return Unsettled(since, upto is not None and upto < last)

    def behind(self) -> int:
        """How many applied batches have not incorporated something that was committed since."""
        newest = select(func.max(t.commit.c.number)).where(t.commit.c.kind.in_(NEWS)).scalar_subquery()
        late = select(func.count()).select_from(t.batch).join(t.reading_clock, t.reading_clock.c.id == t.batch.c.clock)
        return int(self._read(late.where(t.reading_clock.c.prefix < newest))[0][0])

    def _advance(self, connection: Connection, clocks: Sequence[SharedClock], read_at: int, number: int) -> None:
        """Move the batches of each clock to one that has incorporated all up to ``read_at``, and commit ``number``."""
        moved: dict[Clock, list[SharedClock]] = {}
        for shared in clocks:
            moved.setdefault(shared.clock.advanced(read_at, number), []).append(shared)
        for clock, olds in moved.items():
            ids = [shared.id for shared in olds]
            here = update(t.batch).where(t.batch.c.clock.in_(ids)).values(clock=insert_clock(connection, clock))
            if connection.execute(here).rowcount != sum(shared.batches for shared in olds):
                raise Conflict("corrected by somebody else", kind="correction-conflict", place=f"clocks {ids}")
            connection.execute(delete(t.reading_clock).where(t.reading_clock.c.id.in_(ids)))
