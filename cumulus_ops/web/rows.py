"""The newest rows of a view: of its published table if there is one, which costs what is shown and not what the view has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project
from cumulus_ops.errors import CumulusError
from cumulus_ops.query import entries_to_read, read_view
from cumulus_ops.snapshot import open_runtime
from cumulus_ops.snapshot.delta_tables import first_rows

__all__ = ["NewestRows", "newest_rows"]

#: A view that is not published is read as a whole; the server of the pages, which is Airflow's, does so up to here.
READ_ENTRIES = 100_000


@dataclass(frozen=True)
class NewestRows:
    """Rows of the snapshot of ``epoch``. ``problem``: why there are none."""

    columns: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    numbers: Sequence[bool] = ()
    epoch: int | None = None
    problem: str = ""


def newest_rows(project: Project, catalog: Catalog, view: str, limit: int) -> NewestRows:
    """The first rows of a view's newest snapshot, in the view's order."""
    try:
        return _published(project, catalog, view, limit) or _read(project, catalog, view, limit)
    except CumulusError as problem:
        return NewestRows(problem=problem.message)


def _published(project: Project, catalog: Catalog, view: str, limit: int) -> NewestRows | None:
    found = catalog.newest_published(view)
    if found is None or project.published is None:
        return None
    epoch, version = found
    return _shown(first_rows(project.published / view, version, limit), epoch)


def _read(project: Project, catalog: Catalog, view: str, limit: int) -> NewestRows:
    with open_runtime(project, "inprocess") as runtime:
        if (entries := entries_to_read(runtime, view)) > READ_ENTRIES:
            said = (
                f"it is not published, and {entries:,} entries would have to be read: `cumulus query {view}` shows them"
            )
            return NewestRows(problem=said)
        return _shown(read_view(runtime, view).slice(0, limit), catalog.newest_snapshot())


def _shown(table: pa.Table, epoch: int | None) -> NewestRows:
    numbers = [_is_number(column.type) for column in table.columns]
    columns = [column.to_pylist() for column in table.columns]
    return NewestRows(table.column_names, list(zip(*columns, strict=True)), numbers, epoch)


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_decimal(type_) or pa.types.is_floating(type_))
