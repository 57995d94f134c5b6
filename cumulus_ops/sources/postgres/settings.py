"""What is said about a PostgreSQL source."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.catalog.identity import Identity
from m3.program import Relation

__all__ = ["PostgresSettings", "TableSettings"]

MB = 1 << 20


@dataclass(frozen=True)
class TableSettings:
    """Which table a relation follows. ``mode`` is the relation's: ``upsert`` needs no more than keys in old rows, others need whole rows.
    ``renamed``: (other name, declared column): how columns are called in the table, too, now or in changes that are still to be read."""

    relation: Relation
    schema: str
    table: str
    mode: str = "trusted"
    renamed: tuple[tuple[str, str], ...] = ()

    def name_of(self, column: str, names: Collection[str]) -> str | None:
        """How a declared column is called among the names of a table's columns: as it is declared, if there is such a one.

        >>> TableSettings(Relation("r", ()), "public", "r", renamed=(("cost", "price"),)).name_of("price", ["id", "cost"])
        'cost'
        """
        others = (other for other, declared in self.renamed if declared == column)
        return next((name for name in (column, *others) if name in names), None)

    @property
    def place(self) -> str:
        """For people: ``schema.table``."""
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True)
class PostgresSettings:
    """A source of kind ``postgres``.

    ``owner``: whose slots are made; None only where no state folder is claimed. ``name`` is the source's, ``url`` the database's (``postgresql://user:password@host/name``), ``publication`` the name of what the
    server publishes. ``folder`` is where the source keeps which replication slots are its own, and anonymous temporary files.
    ``skips_truncates``: whether rows of a truncated table stay here; without it the source stops.
    ``portion_bytes`` of the server's log are handed over at a time, in whole transactions. ``idle_bytes``: after so many in which nothing
    concerns us the position moves on nevertheless, so that the server can forget them. ``patience_s`` is how long to wait for a
    server that does not answer, or for a slot that a process that was killed still holds.
    """

    name: str
    url: str
    tables: tuple[TableSettings, ...]
    publication: str
    folder: Path
    skips_truncates: bool = False
    portion_bytes: int = 64 * MB
    idle_bytes: int = 16 * MB
    patience_s: float = 30.0
    owner: Identity | None = None
