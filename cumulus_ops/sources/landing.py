"""Drops: folders of files that appear in the landing folder.

A drop is the folder ``<landing>/<coordinator>/<drop>/`` with files ``<relation>.parquet|csv|ndjson``; it appears by one rename.
Names that begin with a dot or an underscore are still being written. Drops have no position: the catalog knows their names.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project
from cumulus_ops.eventlog import Delivery, Part
from cumulus_ops.eventlog.cuts import piece_rows
from cumulus_ops.eventlog.readers import files_by_relation, read_rows

__all__ = ["Landing", "drop_delivery"]


class Landing:
    """The landing folder of one coordinator.

    Args:
        project: the project.
        catalog: knows which drops were appended.
        coordinator: whose folder.
    """

    def __init__(self, project: Project, catalog: Catalog, coordinator: int) -> None:
        self.name = str(coordinator)
        self._project, self._catalog, self._coordinator = project, catalog, coordinator
        self._folder = project.landing / self.name

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """Landed drops that are not in the log yet, in the order of their names."""
        done = self._catalog.drops(self._coordinator)
        names = sorted(p.name for p in self._folder.iterdir() if p.is_dir()) if self._folder.is_dir() else []
        for name in names:
            if name not in done and not name.startswith((".", "_")):
                yield drop_delivery(self._project, self._folder / name)

    def waiting(self) -> list[str]:
        """The names of landed drops that are not in the log yet; nothing is recorded."""
        return [delivery.name for delivery in self.poll(None)]

    def close(self) -> None:
        """Nothing is held."""


def drop_delivery(project: Project, drop: Path) -> Delivery:
    """A drop's folder as a delivery; it is looked into when it is appended."""
    return Delivery(drop.parent.name, drop.name, _landed_at(drop), partial(_parts, project, drop))


def _parts(project: Project, drop: Path) -> tuple[Part, ...]:
    """Its files, in the order of the project's relations.

    Raises:
        InputProblem: it is not a folder, or a file belongs to no relation.
    """
    files = files_by_relation(project, drop)
    rows = piece_rows(project.batch_rows)
    return tuple(
        Part(
            r.name,
            str(files[r.name]),
            partial(read_rows, r, files[r.name], rows, project.settings_of(r.name), project.memory_bytes),
        )
        for r in project.relations
        if r.name in files
    )


def _landed_at(drop: Path) -> datetime.datetime:
    """When a drop's folder got its name: the inode's change time, which a rename sets."""
    return datetime.datetime.fromtimestamp(drop.stat().st_ctime, datetime.UTC)
