"""A source of kind ``delta``, as a project describes it::

sources:
  lake:
    kind: delta
    tables: {orders: /data/lake/orders, lineitem: s3://bucket/lineitem}    # relation: folder or address
    storage_options: {AWS_REGION: eu-central-1}
"""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project, SourceSettings
from cumulus_ops.eventlog import Delivery
from cumulus_ops.sources.delta.source import DeltaTables
from cumulus_ops.sources.tables import tables_of
from cumulus_ops.yaml_nodes import Section

__all__ = ["DeltaSource"]


class DeltaSource:
    """The changes of Delta tables."""

    def __init__(self, project: Project, settings: SourceSettings, catalog: Catalog) -> None:
        self.name = settings.name
        options = settings.options("tables", "storage_options")
        storage = options.get("storage_options")
        known = {name: item.text() for name, item in storage.section().items()} if storage else None
        tables = _tables(project, options)
        self._tables = DeltaTables(settings.name, project.relations, tables, known, project.state / "sources")

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """See :class:`~cumulus_ops.sources.delta.source.DeltaTables`."""
        return self._tables.poll(position)

    def close(self) -> None:
        """Nothing is held."""


def _tables(project: Project, options: Section) -> dict[str, str]:
    """relation -> its table."""
    first = project.relations[0].name
    item = options.need("tables", f"name the tables: `tables: {{{first}: /data/lake/{first}}}`")
    return {
        relation: table if "://" in table else str(project.folder / table)
        for relation, (table, _) in tables_of(project, item).items()
    }
