"""One Delta table: which versions it has, and what changed in each."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.errors import SetupProblem
from cumulus_ops.eventlog.casting import plain_text
from cumulus_ops.sources.columns import readable
from m3.program import Relation

if TYPE_CHECKING:
    from deltalake import DeltaTable

__all__ = ["CHANGE", "ChangingTable"]

#: The column of a change feed that says what happened to a row.
CHANGE = "_change_type"
FEED = "delta.enableChangeDataFeed"


class ChangingTable:
    """A table as of now.

    Args:
        uri: its folder, or its address in an object store.
        storage_options: what the store wants to know, as ``deltalake`` names it.

    Raises:
        SetupProblem: there is no table, or it cannot be read.
    """

    def __init__(self, uri: str, storage_options: Mapping[str, str] | None = None) -> None:
        from deltalake import DeltaTable  # 50 ms, for those who have such a source

        self.uri = uri
        self._options = dict(storage_options) if storage_options else None
        with self._told("is there a Delta table, and may it be read?"):
            self._table: DeltaTable = DeltaTable(uri, storage_options=self._options)
            self.version = self._table.version()
            self.id = str(self._table.metadata().id)

    def check_feed(self) -> None:
        """Look whether changes are recorded.

        Raises:
            SetupProblem: they are not.
        """
        if str(self._table.metadata().configuration.get(FEED)).lower() != "true":
            raise SetupProblem(
                "does not record its changes",
                kind="no-change-feed",
                place=self.uri,
                hint=f"ALTER TABLE ... SET TBLPROPERTIES ('{FEED}' = 'true'), or "
                f'DeltaTable(...).alter.set_table_properties({{"{FEED}": "true"}}); rows that are there come as inserts',
            )

    def id_at(self, version: int) -> str | None:
        """Its id as of a version, which an overwrite with another schema may change; None if that is not known any more."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            return str(DeltaTable(self.uri, version=version, storage_options=self._options).metadata().id)
        except DeltaError:
            return None

    def committed_at(self, versions: Sequence[int]) -> dict[int, datetime.datetime]:
        """When versions were committed; those whose log entry is gone are left out."""
        if not versions:
            return {}
        with self._told("can its log be read?"):
            history = self._table.history(self.version - versions[0] + 1)
        at = {h["version"]: h["timestamp"] for h in history if "version" in h and "timestamp" in h}
        return {v: datetime.datetime.fromtimestamp(at[v] / 1000, datetime.UTC) for v in versions if v in at}

    def rows(self, version: int, relation: Relation, rows: int) -> Iterator[pa.Table]:
        """All rows as of a version, in pieces of at most ``rows``."""
        from deltalake import DeltaTable

        with self._told(f"version {version} cannot be read: was it vacuumed? Begin with a later one"):
            table = DeltaTable(self.uri, version=version, storage_options=self._options)
            columns = self._columns(table, relation)
            dataset = table.to_pyarrow_dataset()
            for batch in dataset.to_batches(columns=columns, batch_size=rows):
                if len(batch):
                    yield readable(_plain(pa.Table.from_batches([batch])), relation, self.uri)

    def kinds(self, version: int) -> set[str]:
        """Which kinds of changes a version has; little is read for it."""
        found: set[str] = set()
        for batch in self._changes(version, [CHANGE]):
            found.update(batch.column(CHANGE).unique().to_pylist())
        return found

    def changes(self, version: int, relation: Relation) -> Iterator[pa.Table]:
        """The rows that a version changed: the relation's columns, then :data:`CHANGE`; in no particular order."""
        for batch in self._changes(version, [*self._columns(self._table, relation), CHANGE]):
            yield readable(_plain(pa.Table.from_batches([batch])), relation, self.uri)

    def _changes(self, version: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        hint = (
            f"version {version} cannot be read: were its files vacuumed? Restore them, or begin anew under another name of "
            "the source, with an empty base table"
        )
        with self._told(hint):
            feed = self._table.load_cdf(starting_version=version, ending_version=version, columns=list(columns))
            for batch in pa.RecordBatchReader.from_stream(feed):
                if len(batch):
                    yield batch.select(columns)

    def _columns(self, table: DeltaTable, relation: Relation) -> list[str]:
        """The relation's columns that the table has; those that it has not are NULL, if they may."""
        names = {field.name for field in table.schema().fields}
        missing = [c.name for c in relation.columns if c.name not in names and not c.type.nullable]
        if missing:
            raise SetupProblem(
                f"has no column {', '.join(map(repr, missing))}",
                kind="missing-column",
                place=self.uri,
                hint=f"it has {', '.join(sorted(names))}; the relation's columns have the same names",
            )
        return [c.name for c in relation.columns if c.name in names]

    @contextmanager
    def _told(self, hint: str) -> Iterator[None]:
        """What the library says, in one line and with a hint."""
        try:
            yield
        except (SetupProblem, GeneratorExit):
            raise
        except Exception as problem:  # the library also raises plain ones
            words = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise SetupProblem(words, kind="unreadable-table", place=self.uri, hint=hint) from problem


def _plain(table: pa.Table) -> pa.Table:
    """Moments with a zone as what a clock in UTC shows, and the kind of text that Arrow can compute with."""
    columns = [_local(plain_text(column)) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _local(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        return pc.cast(column, pa.timestamp(column.type.unit))  # what is inside is UTC already
    return column
