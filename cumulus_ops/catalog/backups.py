"""The newest backup of the catalog, and what it holds back: files that it names, and what sources may forget (docs/adr/0083).

A catalog that is lost is restored from its newest backup. That one names files that were replaced since, and does not have the events that came since: as long as it
**holds**, the former are not deleted, and sources keep the latter.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Part

__all__ = ["Backups", "LastBackup"]


#: What stands for an epoch as long as there is no backup.
NONE_YET = -2


@dataclass(frozen=True)
class LastBackup:
    """A backup as of a ``commit``, in the folder ``place``; ``epoch`` is the newest that has a snapshot in it. ``positions``: of sources, as JSON. ``made_at`` is in seconds since
    1970, ``seconds`` is how long it took."""

    commit: int
    epoch: int
    made_at: float
    seconds: float
    bytes: int
    place: str
    positions: str
    holds: bool

    @property
    def of(self) -> str:
        """What it has, in plain words."""
        return "before the first snapshot" if self.epoch < 0 else f"of epoch {self.epoch}"

    @property
    def at(self) -> datetime.datetime:
        """When it was made."""
        return datetime.datetime.fromtimestamp(self.made_at, datetime.UTC)

    @property
    def row(self) -> Mapping[str, Any]:
        """As the catalog keeps it."""
        return {"id": 1, **vars(self)}


class Backups(Part):
    """The newest one."""

    def last(self) -> LastBackup | None:
        """The newest backup; None before the first."""
        last = self._known()
        return last if last is not None and last.epoch > NONE_YET else None

    def holds(self) -> bool:
        """Whether something is held back."""
        last = self._known()
        return last is not None and last.holds

    def _known(self) -> LastBackup | None:
        b = t.backup.c
        rows = self._db.read(select(*[b[name] for name in LastBackup.__dataclass_fields__]))
        return LastBackup(*rows[0]) if rows else None

    def record(self, new: LastBackup) -> None:
        """Remember a backup, unless there is a later one: from now on it is the one that holds."""
        with self._db.begin() as connection:
            self._db.lock(connection)
            known = connection.execute(select(t.backup.c.commit)).scalar()
            if known is None or known <= new.commit:
                connection.execute(delete(t.backup))
                connection.execute(insert(t.backup).values(**new.row))

    def hold(self) -> None:
        """Keep all that there is from now on, before the first backup that holds is made."""
        with self._db.begin() as connection:
            commit = int(self._db.lock(connection).last_commit)
            if not connection.execute(select(t.backup.c.holds)).scalar():
                connection.execute(delete(t.backup))
                none_yet = LastBackup(commit, NONE_YET, 0.0, 0.0, 0, "", "{}", holds=True)
                connection.execute(insert(t.backup).values(**none_yet.row))

    def let_go(self) -> None:
        """No backups are made any more: nothing is held back for the newest one."""
        with self._db.begin() as connection:
            self._db.lock(connection)
            connection.execute(update(t.backup).values(holds=False))

    def may_forget(self, source: str, position: str | None) -> str | None:
        """Up to where a source may forget what it has handed over: its position, or that in the newest backup, if that holds. None: nothing.

        Args:
            source: its name.
            position: where it is in this catalog.
        """
        last = self._known()
        return position if last is None or not last.holds else json.loads(last.positions).get(source)
