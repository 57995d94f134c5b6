"""Net tables (docs/adr/0065): which there are, and how much of the log has come since.

A net table has the rows of one relation as of a committed epoch. Nothing that its epoch counts ever changes, so neither does it. One is replaced by a newer
one of its relation, which was made from it; it stays as long as a snapshot can be read that needs it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, case, delete, func, insert, or_, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Part
from cumulus_ops.catalog.records import LEFT_OUT, LogFile
from cumulus_ops.project.errors import Conflict

__all__ = ["LogSince", "NetTable", "NetTables", "forget_net_tables"]


@dataclass(frozen=True)
class NetTable:
    """The rows of a ``relation`` as of the end of an ``epoch``. ``base``: the epoch of the net table that it was made from, with the log since; None if
    from the whole log. ``columns``: their names in the log, as JSON. ``proved``: a validation has computed the same from these. ``total``: as that of log
    files."""

    relation: str
    epoch: int
    base: int | None
    columns: str
    path: str
    rows: int
    checksums: str
    proved: bool = False
    total: int | None = None

    def has(self, columns: Collection[str]) -> bool:
        """Whether it has such columns, by their names in the log. Of one that it does not have, the log may have values."""
        return {*columns} <= {*json.loads(self.columns)}

    @property
    def file(self) -> LogFile:
        """Its file, which can stand for the log up to its epoch."""
        return LogFile(0, self.relation, self.path, self.rows, "", 0, 0, self.checksums)


@dataclass(frozen=True)
class LogSince:
    """What a relation's log has since its net table: rows, files, and at most so many ``deletes``."""

    rows: int
    files: int
    deletes: int


FIELDS = [t.net_table.c[name] for name in NetTable.__dataclass_fields__]


class NetTables(Part):
    """Those that count."""

    def all(self) -> list[NetTable]:
        """All of them, of each relation the oldest first."""
        n = t.net_table.c
        query = select(*FIELDS).where(n.retired_by.is_(None)).order_by(n.relation, n.epoch, n.id)
        return [NetTable(*row) for row in self._db.read(query)]

    def log_files(self, upto: int, after: Mapping[str, int], relation: str | None = None) -> list[LogFile]:
        """The log files that count in epochs up to ``upto`` (inclusive), those of some relations only ``after`` an epoch (exclusive); of all relations, or
        of one."""
        f = t.log_file.c
        query = select(*[f[name] for name in LogFile.__dataclass_fields__]).order_by(f.id)
        if relation is not None:
            query = query.where(f.relation == relation)
        return [LogFile(*row) for row in self._db.read(query.join(t.batch, _counting(upto, after)))]

    def log_since(self, upto: int, after: Mapping[str, int]) -> dict[str, LogSince]:
        """relation -> how much that is."""
        f, b = t.log_file.c, t.batch.c
        deletes = case((b.deletes < f.rows, b.deletes), else_=f.rows)
        totals = (func.sum(f.rows), func.count(), func.sum(deletes))
        query = select(f.relation, *totals).join(t.batch, _counting(upto, after)).group_by(f.relation)
        return {relation: LogSince(*map(int, found)) for relation, *found in self._db.read(query)}

    def put(self, new: NetTable, after: int | None) -> None:
        """Let a net table count; those go that no snapshot needs any more.

        Args:
            new: the net table.
            after: the epoch of the newest one there was; None if there was none.

        Raises:
            Conflict: its epoch is not committed, there is another newest one, or its file is gone.
        """
        n = t.net_table.c
        mine = (n.relation == new.relation, n.retired_by.is_(None))
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            committed = connection.execute(select(func.max(t.snapshot.c.epoch))).scalar()
            newest = connection.execute(select(func.max(n.epoch)).where(*mine)).scalar()
            if newest != after or committed is None or committed < new.epoch:
                raise Conflict(
                    "another net table was made meanwhile", kind="net-moved", place=f"relation {new.relation}"
                )
            self._db.require_files(connection, {new.path})
            connection.execute(insert(t.net_table).values(**vars(new)))
            # A snapshot is proved from the newest one up to its epoch.
            needed = select(func.max(n.epoch)).where(*mine, n.epoch <= program.oldest_readable)
            first = connection.execute(needed).scalar()
            if first is not None:
                _retire(connection, int(program.last_commit), *mine, n.epoch < first)

    def drop(self, table: NetTable, *, later: bool) -> None:
        """Let one go that is damaged; or is wrong, and then the ``later`` ones of its relation with it, which were made from it."""
        n = t.net_table.c
        with self._db.begin() as connection:
            program = self._db.lock(connection)
            which = n.epoch >= table.epoch if later else n.path == table.path
            _retire(connection, int(program.last_commit), n.relation == table.relation, which)

    def record_proved(self, tables: Collection[NetTable]) -> None:
        """Remember that some are right."""
        paths = [table.path for table in tables]
        if paths:
            with self._db.begin() as connection:
                self._db.lock(connection)
                connection.execute(update(t.net_table).where(t.net_table.c.path.in_(paths)).values(proved=True))


def _counting(upto: int, after: Mapping[str, int]) -> ColumnElement[bool]:
    """Of log files and their batches."""
    f, b = t.log_file.c, t.batch.c
    # not in nothing is everything
    since = [f.relation.not_in(sorted(after)), *(and_(f.relation == r, b.epoch > e) for r, e in sorted(after.items()))]
    return and_(b.id == f.batch, b.epoch <= upto, b.state.not_in(LEFT_OUT), or_(*since))


def _retire(connection: Connection, last_commit: int, *which: ColumnElement[bool]) -> None:
    counting = (*which, t.net_table.c.retired_by.is_(None))
    connection.execute(update(t.net_table).where(*counting).values(retired_by=last_commit + 1))


def forget_net_tables(connection: Connection, floor: int) -> set[str]:
    """Drop the rows of those that were replaced before a commit that all who read read at, or later; the files that may go."""
    n = t.net_table.c
    paths = set(connection.execute(select(n.path).where(n.retired_by <= floor)).scalars())
    if paths:
        connection.execute(delete(t.net_table).where(n.retired_by <= floor))
    return paths
