"""A source of kind ``delta``, as a project describes it::

sources:
  lake:
    kind: delta
    tables: {/data/lake/orders: orders, s3://bucket/lineitem: lineitem}    # folder or address: relation
    storage_options: {AWS_REGION: eu-central-1}
"""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project, SourceSettings
from cumulus_ops.eventlog import Delivery
from cumulus_ops.sources.delta.source import DeltaTables
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
    names = [relation.name for relation in project.relations]
    item = options.need("tables", f"name the tables: `tables: {{/data/lake/{names[0]}: {names[0]}}}`")
    found: dict[str, str] = {}
    for table, entry in item.section().items():
        relation = entry.text()
        if relation not in names:
            raise entry.problem(
                f"{relation!r} is not a relation", kind="unknown-relation", hint=f"relations: {', '.join(names)}"
            )
        if relation in found:
            raise entry.problem(
                f"{relation} follows two tables", kind="doubled-relation", hint="a relation follows one table"
            )
        found[relation] = table if "://" in table else str(project.folder / table)
    return found
