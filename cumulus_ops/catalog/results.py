"""What was made of snapshots: published tables, validations, views that are in error; and which consumer has done its work."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import Connection, delete, func, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Part, now
from cumulus_ops.catalog.records import (
    Validation,
    ViewError,
)
from cumulus_ops.project.verdicts import outcome_of

__all__ = ["Results", "insert_view_errors", "record_outcome", "record_table", "repeat_view_errors"]


def record_table(connection: Connection, name: str, table_id: str, mark: int) -> bool:
    """Remember how a published table was left; returns whether it is another one than before."""
    p, values = t.published_table.c, {"name": name, "table_id": table_id, "mark": mark}
    known = connection.execute(select(p.table_id, p.mark).where(p.name == name)).first()
    if known is None:
        connection.execute(insert(t.published_table).values(**values))
        return False
    if (known.table_id, known.mark) != (table_id, mark):
        connection.execute(update(t.published_table).where(p.name == name).values(**values))
    return bool(known.table_id != table_id)


class Results(Part):
    """What was made of snapshots: published tables, verdicts, and views that are in error. A snapshot never changes, so neither do its errors."""

    def record_published(
        self, view: str, epoch: int, delta_version: int, rows: int | None = None, table: tuple[str, int] | None = None
    ) -> None:
        """Remember which table version holds a view's snapshot, and its rows; what is remembered of another table is forgotten. Without ``table`` it is
        a no-op when it is remembered.

        Args:
            view, epoch: what was published.
            delta_version: where.
            rows: how many.
            table: the table's own id, and the mark of our newest transaction in it.
        """
        p = t.published.c
        with self._db.begin() as connection:
            self._db.lock(connection)
            if table is not None and record_table(connection, view, *table):
                connection.execute(delete(t.published).where(p.view == view))
            values = {"view": view, "epoch": epoch, "delta_version": delta_version, "rows": rows}
            mine = (p.view == view, p.epoch == epoch)
            known = connection.execute(select(p.delta_version).where(*mine)).scalar()
            if known is None:
                connection.execute(insert(t.published).values(**values))
            elif known != delta_version and table is not None:
                connection.execute(update(t.published).where(*mine).values(**values))

    def published_table(self, name: str) -> tuple[str, int] | None:
        """The id of the published table in the folder ``name``, and the mark of our newest transaction in it; None if this installation has written none."""
        p = t.published_table.c
        rows = self._db.read(select(p.table_id, p.mark).where(p.name == name))
        return (str(rows[0][0]), int(rows[0][1])) if rows else None

    def published(self) -> dict[tuple[str, int], int]:
        """(view, epoch) -> version of the published table, of all there ever were."""
        p = t.published.c
        return {(v, e): n for v, e, n in self._db.read(select(p.view, p.epoch, p.delta_version))}

    def published_in(self, epoch: int) -> dict[str, int]:
        """view -> version of its published table that has an epoch."""
        p = t.published.c
        return dict(map(tuple, self._db.read(select(p.view, p.delta_version).where(p.epoch == epoch))))

    def newest_published(self) -> dict[str, tuple[int, int]]:
        """view -> the newest epoch of it that was published, and the version of its table."""
        p = t.published.c
        query = select(p.view, func.max(p.epoch), func.max(p.delta_version)).group_by(p.view)
        return {view: (epoch, version) for view, epoch, version in self._db.read(query)}

    def record_validation(self, new: Validation) -> None:
        """Record the outcome of a validation. A later one of the same epoch replaces it, but for the verdicts on views that it did not
        look at: of these, what was found before still stands."""
        v = t.validation.c
        with self._db.begin() as connection:
            self._db.lock(connection)
            before = connection.execute(select(v.verdicts).where(v.epoch == new.epoch)).scalar()
            verdicts = {**json.loads(before or "{}"), **{view: list(found) for view, found in new.verdicts.items()}}
            values = {
                "epoch": new.epoch,
                "outcome": outcome_of((found for found, _ in verdicts.values()), new.failures),
                "failures": json.dumps(list(new.failures)),
                "verdicts": json.dumps(verdicts),
                "views": new.views,
                "report": new.report,
                "seconds": new.seconds,
                "validated_at": now(),
            }
            connection.execute(delete(t.validation).where(t.validation.c.epoch == new.epoch))
            connection.execute(insert(t.validation).values(**values))
            record_outcome(connection, "validate", new.epoch, "done")

    def count_validations(self) -> int:
        """How many epochs were ever validated."""
        return int(self._db.read(select(func.count()).select_from(t.validation))[0][0])

    def validations(self, first: int = 0, last: int | None = None) -> dict[int, Validation]:
        """epoch -> outcome of its latest validation, of the epochs from ``first`` to ``last`` (inclusive; None: to the newest)."""
        v = t.validation.c
        query = select(v.epoch, v.outcome, v.failures, v.report, v.seconds, v.verdicts, v.views).where(v.epoch >= first)
        rows = self._db.read(query if last is None else query.where(v.epoch <= last))
        return {
            epoch: Validation(
                epoch,
                outcome,
                tuple(json.loads(failures)),
                report,
                seconds,
                {view: (found, said) for view, (found, said) in json.loads(verdicts or "{}").items()},
                views or 0,
            )
            for epoch, outcome, failures, report, seconds, verdicts, views in rows
        }

    def record_view_error(self, error: ViewError) -> None:
        """Remember that a view is in error in a snapshot; a no-op when that is remembered."""
        with self._db.begin() as connection:
            self._db.lock(connection)
            s = t.snapshot.c
            same = connection.execute(select(s.epoch).where(s.repeats == error.epoch)).scalars()
            insert_view_errors(connection, [replace(error, epoch=e) for e in (error.epoch, *same)])

    def view_errors(self) -> list[ViewError]:
        """All errors, by epoch and view: those that counting finds, from the checkpoint on, and those that only reading the
        view finds, once somebody has read it."""
        e = t.view_error.c
        columns = [e[name] for name in ViewError.__dataclass_fields__]
        return [ViewError(*row) for row in self._db.read(select(*columns).order_by(e.epoch, e.view))]


# How long snapshots stay readable: until they are used, within a limit; what came too late is recorded as such.


def record_outcome(connection: Connection, consumer: str, epoch: int, outcome: str) -> None:
    """Say what became of a consumer's work on a snapshot (``done`` or ``expired``); the last word counts."""
    c = t.consumption.c
    connection.execute(delete(t.consumption).where(c.consumer == consumer, c.epoch == epoch))
    values = {"consumer": consumer, "epoch": epoch, "outcome": outcome, "recorded_at": now()}
    connection.execute(insert(t.consumption).values(**values))


# Views in error: what each snapshot has instead of their rows.


def insert_view_errors(connection: Connection, errors: Iterable[ViewError]) -> None:
    """Remember errors; of a view that has one in its epoch already the first stays."""
    e = t.view_error.c
    for error in errors:
        if not connection.execute(select(e.view).where(e.view == error.view, e.epoch == error.epoch)).first():
            connection.execute(insert(t.view_error).values(**vars(error)))


def repeat_view_errors(connection: Connection, epoch: int, epochs: Iterable[int]) -> None:
    """Say of other epochs what is said of one."""
    found = connection.execute(select(t.view_error).where(t.view_error.c.epoch == epoch)).mappings().all()
    rows = [{**error, "epoch": e} for e in epochs for error in found]
    if rows:
        connection.execute(insert(t.view_error), rows)
