"""The newest rows of a view: of its published table if there is one, which costs what is shown and not what the view has."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.cli.writing import FORMATS
from cumulus_ops.opening.runtime import open_runtime
from cumulus_ops.project.errors import CumulusError, InputProblem
from cumulus_ops.project.settings import Project
from cumulus_ops.publishing.delta_tables import count_rows, first_rows
from cumulus_ops.query.read import entries_to_read, read_view, sort_places
from m3.formatting import program_from_json
from m3.program import Program, View

__all__ = ["DOWNLOADS", "NewestRows", "Opened", "newest_rows", "program_of", "rows_as_file"]


# A project as the pages see it: its file, its catalog, its program. Nothing is kept open between requests but what never changes.


@dataclass(frozen=True)
class Opened:
    """A project of this folder, as its file is now."""

    project: Project

    @contextmanager
    def catalog(self) -> Iterator[Catalog]:
        """Its catalog, for a few reads.

        Raises:
            SetupProblem: it has not been initialised, or by another version.
        """
        catalog = Catalog(self.project.catalog_url, self.project.state)
        try:
            catalog.database.check_schema()
            yield catalog
        finally:
            catalog.close()


@lru_cache(8)
def program_of(compiled: str) -> Program:
    """The registered program; remembered, for it stays the same."""
    return program_from_json(compiled)


#: A view that is not published is read as a whole, and one without an ORDER BY is sorted as a whole; the server of the pages, which is
#: Airflow's, does so up to here. As many rows can be downloaded.
READ_ENTRIES = 100_000
#: What rows can be downloaded as: format -> its media type.
DOWNLOADS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


@dataclass(frozen=True)
class NewestRows:
    """Rows of the snapshot of ``epoch``, ``total`` in all, with the columns' SQL ``types``. ``problem``: why there are none. ``is_published``:
    whether they are of the view's table; ``is_sorted``: whether they come in an order that is always the same."""

    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    numbers: Sequence[bool] = ()
    epoch: int | None = None
    problem: str = ""
    types: Sequence[str] = ()
    total: int = 0
    is_published: bool = False
    is_sorted: bool = True


@dataclass(frozen=True)
class _Found:
    table: pa.Table
    epoch: int | None
    total: int
    is_published: bool
    is_sorted: bool


def newest_rows(project: Project, catalog: Catalog, view: View, limit: int) -> NewestRows:
    """The first rows of a view's newest snapshot, in the view's order, or else in that of its columns."""
    try:
        found = _read_published(project, catalog, view, limit) or _read_maps(project, catalog, view)
    except CumulusError as problem:
        return NewestRows(problem=problem.message)
    table = found.table.slice(0, limit)
    number = (pa.types.is_integer, pa.types.is_decimal, pa.types.is_floating)
    numbers = [any(is_so(column.type) for is_so in number) for column in table.columns]
    columns = [column.to_pylist() for column in table.columns]
    types = [str(column.expression.type) for column in view.visible]
    return NewestRows(
        table.column_names,
        list(zip(*columns, strict=True)),
        numbers,
        found.epoch,
        types=types,
        total=found.total,
        is_published=found.is_published,
        is_sorted=found.is_sorted,
    )


def rows_as_file(project: Project, catalog: Catalog, view: View, form: str) -> bytes:
    """All rows of a view's newest snapshot in one of the formats of :data:`DOWNLOADS`.

    Raises:
        InputProblem: they are too many for the server of the pages, or the view is in error.
    """
    found = _read_published(project, catalog, view, READ_ENTRIES) or _read_maps(project, catalog, view)
    if found.total > READ_ENTRIES:
        hint = f"`cumulus query {view.name} --output rows.{form}` writes them all"
        raise InputProblem(f"{found.total:,} rows are too many for a page", kind="too-many-rows", hint=hint)
    sink = io.BytesIO()
    FORMATS[form](found.table, sink)
    return sink.getvalue()


def _read_published(project: Project, catalog: Catalog, view: View, limit: int) -> _Found | None:
    """A table is written in the view's order; without one, files may have its rows in any."""
    newest = catalog.history.newest_published(view.name)
    if newest is None or project.published is None:
        return None
    (epoch, version), path = newest, project.published / view.name
    total = count_rows(path, version)
    if view.order:
        return _Found(first_rows(path, version, limit), epoch, total, is_published=True, is_sorted=True)
    if total > READ_ENTRIES:
        return _Found(first_rows(path, version, limit), epoch, total, is_published=True, is_sorted=False)
    return _sort_by_columns(first_rows(path, version, total), epoch, total, is_published=True)


def _read_maps(project: Project, catalog: Catalog, view: View) -> _Found:
    with open_runtime(project, "inprocess") as runtime:
        if (entries := entries_to_read(runtime, view.name)) > READ_ENTRIES:
            message = f"it is not published, and {entries:,} entries would have to be read: `cumulus query {view.name}` shows them"
            raise InputProblem(message, kind="too-many-rows")
        rows = read_view(runtime, view.name)
    return _sort_by_columns(
        rows, catalog.snapshots.newest(), len(rows), is_published=False, is_ordered=bool(view.order)
    )


def _sort_by_columns(
    table: pa.Table, epoch: int | None, total: int, *, is_published: bool, is_ordered: bool = False
) -> _Found:
    """The rows sorted by all columns, the first one first, unless they have an order already."""
    if not is_ordered and table.column_names:
        table = table.take(sort_places(table, [(name, False) for name in table.column_names]))
    return _Found(table, epoch, total, is_published, is_sorted=True)
