"""Views in error: what each snapshot has instead of their rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import Connection, insert, select

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import Database
from cumulus_ops.catalog.records import ViewError

__all__ = ["ViewErrors", "insert_view_errors", "repeat_view_errors"]


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


class ViewErrors(Database):
    """The errors of views, by epoch. A snapshot never changes, so neither do its errors."""

    def record_view_error(self, error: ViewError) -> None:
        """Remember that a view is in error in a snapshot; a no-op when that is remembered."""
        with self._engine.begin() as connection:
            self._lock(connection)
            s = t.snapshot.c
            same = connection.execute(select(s.epoch).where(s.repeats == error.epoch)).scalars()
            insert_view_errors(connection, [replace(error, epoch=e) for e in (error.epoch, *same)])

    def view_errors(self) -> list[ViewError]:
        """All errors, by epoch and view: those that counting finds, from the checkpoint on, and those that only reading the
        view finds, once somebody has read it."""
        e = t.view_error.c
        columns = [e[name] for name in ViewError.__dataclass_fields__]
        return [ViewError(*row) for row in self._read(select(*columns).order_by(e.epoch, e.view))]
