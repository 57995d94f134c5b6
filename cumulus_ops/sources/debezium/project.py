"""A source of kind ``debezium``, as a project describes it::

sources:
  shop:
    kind: debezium
    path: /data/debezium/shop            # the folder of files with messages
    tables: {orders: public.orders}      # relation: table
    settle: 5s
    decimals: base64                     # of messages without schemas: string or base64
    timestamps: us                       # of messages without schemas: ms, us or ns
    placeholder: __debezium_unavailable_value
"""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project, SourceSettings
from cumulus_ops.eventlog import Delivery
from cumulus_ops.sources.debezium.rows import PLACEHOLDER
from cumulus_ops.sources.debezium.source import DebeziumSettings, DebeziumStream
from cumulus_ops.sources.tables import tables_of
from cumulus_ops.yaml_nodes import Section

__all__ = ["DebeziumSource"]


class DebeziumSource:
    """Debezium's messages, from the files of a folder."""

    def __init__(self, project: Project, settings: SourceSettings, catalog: Catalog) -> None:
        self.name = settings.name
        self._stream = DebeziumStream(_settings(project, settings))

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """See :class:`~cumulus_ops.sources.debezium.source.DebeziumStream`."""
        return self._stream.poll(position)

    def close(self) -> None:
        """Forget what was read ahead."""
        self._stream.close()


def _settings(project: Project, settings: SourceSettings) -> DebeziumSettings:
    options = settings.options("path", "tables", "settle", "decimals", "timestamps", "placeholder")
    settle, decimals, timestamps, placeholder = map(options.get, ("settle", "decimals", "timestamps", "placeholder"))
    path = options.need("path", "the folder of the files with Debezium's messages: `path: FOLDER`").text()
    return DebeziumSettings(
        settings.name,
        project.folder / path,
        project.relations,
        _tables(project, options),
        frozenset(name for name, key in project.keys.items() if key.mode == "upsert"),
        settle.duration().total_seconds() if settle else 5.0,
        decimals.choice(("string", "base64")) if decimals else None,
        timestamps.choice(("ms", "us", "ns")) if timestamps else None,
        placeholder.text() if placeholder else PLACEHOLDER,
    )


def _tables(project: Project, options: Section) -> dict[str, str]:
    """A table's name -> its relation."""
    first = project.relations[0].name
    item = options.need("tables", f"name the tables: `tables: {{{first}: public.{first}}}`")
    return {table: relation for relation, (table, _) in tables_of(project, item).items()}
