"""``kind: delta``: the versions of Delta tables as deliveries; first a table as it is, then what each commit changed.

A version is one delivery, of one relation. Its events are numbered ``version * 2**32 + i``, so that they ascend. A commit that
updates or deletes is one event, which is accepted or rejected as a whole; what only inserts, the rows of the first version
included, is an event per row.

A library that reads a version's files at once hands its rows over in another order each time. So a delivery reads them once.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.append.delivery import Delivery, Part
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.files.casting import plain_text
from cumulus_ops.files.columns import EVENT, OP, RawFile
from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.project.settings import LandingSettings, Project, SourceSettings
from cumulus_ops.project.yaml_nodes import Section
from cumulus_ops.sources.shapes import ShownColumn, arrow_column
from cumulus_ops.sources.source import make_readable, match_columns, tables_of
from cumulus_ops.sources.spool import Spool
from m3.program import Relation

if TYPE_CHECKING:
    from deltalake import DeltaTable

__all__ = ["CHANGE", "ChangingTable", "DeltaSource", "DeltaTables", "Position", "Reached", "ReadOnce"]


# ``kind: delta``: the change data feed of Delta tables.


# How far each table of a source has been read.


@dataclass(frozen=True)
class Reached:
    """``version`` (inclusive) of the table with the id ``table`` is in the log."""

    version: int
    table: str


@dataclass(frozen=True)
class Position:
    """relation -> where its table is; a relation that has not begun is left out.

    >>> position = Position().after("orders", Reached(3, "6ad4"))
    >>> position.text()
    '{"orders": [3, "6ad4"]}'
    >>> Position.parse(position.text()) == position
    True
    """

    reached: Mapping[str, Reached] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | None) -> Position:
        """From :meth:`text`; None is the beginning."""
        if text is None:
            return cls()
        return cls({relation: Reached(version, table) for relation, (version, table) in json.loads(text).items()})

    def text(self) -> str:
        """As it is kept in the catalog."""
        return json.dumps({r: [at.version, at.table] for r, at in sorted(self.reached.items())})

    def after(self, relation: str, reached: Reached) -> Position:
        """With one table further on."""
        return replace(self, reached={**self.reached, relation: reached})


# What comes in another order each time it is read, kept so that it can be read again: its events are numbered by that order.


class ReadOnce:
    """Calls ``read`` once, and then gives what that gave, in pieces of about as many rows. A reading that was not ended is begun anew.

    Args:
        read: yields pieces of one schema.
        folder: where the temporary file may be; None for where the system has them.
        rows: about how many a piece has.
    """

    def __init__(self, read: Callable[[], Iterator[RawFile]], folder: Path | None, rows: int) -> None:
        self._read, self._folder, self._rows = read, folder, rows
        self._kept: Spool | None = None

    def __call__(self) -> Iterator[RawFile]:
        """The pieces, the same each time."""
        if self._kept is not None:
            yield from self._kept.read(self._rows)
            return
        kept: Spool | None = None
        for piece in self._read():
            kept = kept or Spool(self._folder, piece.columns.schema)
            kept.write(piece.columns)
            yield piece
        if kept is not None:
            kept.finish()
        self._kept = kept


# One Delta table: which versions it has, and what changed in each.


#: The column of a change feed that says what happened to a row.
CHANGE = "_change_type"
FEED = "delta.enableChangeDataFeed"


@dataclass(frozen=True)
class Wanted:
    """Whose rows are wanted of a table, and how its columns may be called (:func:`~cumulus_ops.sources.source.match_columns`)."""

    relation: Relation
    files: LandingSettings = field(default_factory=LandingSettings)

    def names_in(self, found: Collection[str], place: str) -> dict[str, str]:
        """column -> what it is called among the columns that are there."""
        return match_columns(self.relation, self.files, found, place)


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
        with self._explain_errors("is there a Delta table, and may it be read?"):
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
        with self._explain_errors("can its log be read?"):
            history = self._table.history(self.version - versions[0] + 1)
        at = {h["version"]: h["timestamp"] for h in history if "version" in h and "timestamp" in h}
        return {v: datetime.datetime.fromtimestamp(at[v] / 1000, datetime.UTC) for v in versions if v in at}

    def _as_of(self, version: int) -> DeltaTable:
        """The table as of a version, with the columns that it had then; where that is not known any more, with those that it has now."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            return DeltaTable(self.uri, version=version, storage_options=self._options)
        except DeltaError:
            return self._table

    def columns(self) -> list[ShownColumn]:
        """The columns that it has now."""
        schema = pa.schema(self._table.schema().to_arrow())
        return [arrow_column(field.name, field.type, nullable=field.nullable) for field in schema]

    def fields(self, version: int) -> set[str]:
        """The names of the columns that it had as of a version."""
        return {field.name for field in self._as_of(version).schema().fields}

    def rows(self, version: int, wanted: Wanted, rows: int) -> Iterator[pa.Table]:
        """All rows as of a version, in pieces of at most ``rows``."""
        from deltalake import DeltaTable

        with self._explain_errors(f"version {version} cannot be read: was it vacuumed? Begin with a later one"):
            table = DeltaTable(self.uri, version=version, storage_options=self._options)
            names = wanted.names_in(self.fields(version), self.uri)
            dataset = table.to_pyarrow_dataset()
            for batch in dataset.to_batches(columns=list(names.values()), batch_size=rows):
                if len(batch):
                    yield _declared(batch, names, wanted.relation, self.uri)

    def kinds(self, version: int) -> set[str]:
        """Which kinds of changes a version has; little is read for it."""
        found: set[str] = set()
        for batch in self._changes(version, [CHANGE]):
            found.update(batch.column(CHANGE).unique().to_pylist())
        return found

    def changes(self, version: int, wanted: Wanted) -> Iterator[pa.Table]:
        """The rows that a version changed: the relation's columns, then :data:`CHANGE`; in no particular order."""
        names = wanted.names_in(self.fields(version), self.uri)
        for batch in self._changes(version, [*names.values(), CHANGE]):
            yield _declared(batch, names, wanted.relation, self.uri)

    def has_lost(self, version: int, wanted: Wanted) -> bool:
        """Whether a version has not all columns any more that rows were read by before it: then its old rows come without their values."""
        before = wanted.names_in(self.fields(version - 1), self.uri)
        return not self.fields(version).issuperset(before.values())

    def _changes(self, version: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        hint = (
            f"version {version} cannot be read: were its files vacuumed? Restore them, or begin anew under another name of "
            "the source, with an empty base table"
        )
        with self._explain_errors(hint):
            feed = self._as_of(version).load_cdf(
                starting_version=version, ending_version=version, columns=list(columns)
            )
            for batch in pa.RecordBatchReader.from_stream(feed):
                if len(batch):
                    yield batch.select(columns)

    @contextmanager
    def _explain_errors(self, hint: str) -> Iterator[None]:
        """What the library says, in one line and with a hint."""
        try:
            yield
        except (SetupProblem, GeneratorExit):
            raise
        except Exception as problem:  # the library also raises plain ones
            words = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise SetupProblem(words, kind="unreadable-table", place=self.uri, hint=hint) from problem


def _declared(batch: pa.RecordBatch, names: Mapping[str, str], relation: Relation, place: str) -> pa.Table:
    """What was read, by the names that the relation's columns have (column -> what it is called here)."""
    table, called = _plain(pa.Table.from_batches([batch])), {name: column for column, name in names.items()}
    return make_readable(table.rename_columns([called.get(n, n) for n in table.column_names]), relation, place)


def _plain(table: pa.Table) -> pa.Table:
    """Moments with a zone as what a clock in UTC shows, and the kind of text that Arrow can compute with."""
    columns = [plain_text(column) for column in table.columns]
    for i, column in enumerate(columns):
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            columns[i] = pc.cast(column, pa.timestamp(column.type.unit))  # what is inside is UTC already
    return pa.table(columns, names=table.column_names)


VERSION_BITS = 32
PIECE_ROWS = 1 << 17
OLD, NEW = pa.array(["delete", "update_preimage"]), pa.array(["insert", "update_postimage"])


class DeltaTables:
    """Delta tables whose changes are events.

    Args:
        name: of the source in the project.
        relations: the project's.
        tables: relation -> the table's folder or address.
        storage_options: what an object store wants to know.
        folder: where temporary files may be; None for where the system has them.
        files: relation -> the older names of its columns, and those that are not deployed yet.
    """

    def __init__(
        self,
        name: str,
        relations: Sequence[Relation],
        tables: Mapping[str, str],
        storage_options: Mapping[str, str] | None = None,
        folder: Path | None = None,
        files: Mapping[str, LandingSettings] | None = None,
    ) -> None:
        self.name, self._folder = name, folder
        self._wanted = {r.name: Wanted(r, (files or {}).get(r.name, LandingSettings())) for r in relations}
        self._tables, self._options = tables, storage_options

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """The versions that are not in the log yet, in the order in which they were committed, as far as clocks tell.

        Raises:
            SetupProblem: a table cannot be read, does not record changes, or is another one than before.
        """
        at = Position.parse(position)
        tables = {r: ChangingTable(uri, self._options) for r, uri in self._tables.items()}
        waiting = [
            (committed, relation, version)
            for relation, table in tables.items()
            for version, committed in _find_versions(table, relation, at).items()
        ]
        for committed, relation, version in sorted(waiting, key=lambda w: (w[0], w[2], w[1])):
            table = tables[relation]
            first = relation not in at.reached
            after = at.after(relation, Reached(version, table.id))
            yield self._delivery(table, relation, version, committed, first, at, after)
            at = after

    def close(self) -> None:
        """Nothing is held."""

    def _delivery(
        self,
        table: ChangingTable,
        relation: str,
        version: int,
        committed: datetime.datetime,
        first: bool,
        begin: Position,
        end: Position,
    ) -> Delivery:
        read = partial(_read_snapshot if first else _read_commit, table, version, self._wanted[relation])
        place = f"{table.uri}@{version}"
        return Delivery(
            self.name,
            f"{self.name}.{relation}.{version}",
            committed,
            lambda: [Part(relation, place, ReadOnce(read, self._folder, PIECE_ROWS))],
            begin.text() if begin.reached else None,
            end.text(),
            True,
        )


def _find_versions(table: ChangingTable, relation: str, at: Position) -> dict[int, datetime.datetime]:
    """The versions to deliver and when they were committed, never earlier than one before: at first, the table as it is now."""
    reached = at.reached.get(relation)
    if reached is None:
        table.check_feed()
        versions = [table.version]
    else:
        what = "is another table than before"
        if table.version < reached.version:
            what = "has fewer versions than before"
        if table.version < reached.version or reached.table not in (table.id, table.id_at(reached.version)):
            hint = (
                "its changes since are not known: give the source another name and begin with empty base tables; "
                "to replace a table's rows, overwrite it (mode=overwrite) instead of making it anew"
            )
            raise SetupProblem(what, kind="replaced-table", place=table.uri, hint=hint)
        versions = list(range(reached.version + 1, table.version + 1))
    known, found = table.committed_at(versions), {}
    latest, now = datetime.datetime.fromtimestamp(0, datetime.UTC), datetime.datetime.now(datetime.UTC)
    for version in versions:
        latest = max(latest, min(now, known.get(version, latest)))
        found[version] = latest
    return found


def _read_snapshot(table: ChangingTable, version: int, wanted: Wanted) -> Iterator[RawFile]:
    """All rows of a version as inserts."""
    yield from _make_inserts(table.rows(version, wanted, PIECE_ROWS), version)


def _read_commit(table: ChangingTable, version: int, wanted: Wanted) -> Iterator[RawFile]:
    """What a version changed. Deletes come before inserts: an update is both."""
    kinds = table.kinds(version)
    if kinds == {"insert"}:
        yield from _make_inserts((t.drop_columns([CHANGE]) for t in table.changes(version, wanted)), version)
    elif kinds:
        rows = pa.concat_tables(table.changes(version, wanted))
        kind = rows.column(CHANGE)
        rows = rows.drop_columns([CHANGE])
        old, new = (rows.filter(pc.is_in(kind, value_set=kinds)) for kinds in (OLD, NEW))
        if len(old) and table.has_lost(version, wanted):
            old = _old_rows(table, version, wanted, len(old))
        signed = [part.append_column(OP, _repeat(op, len(part))) for op, part in (("D", old), ("I", new))]
        yield _make_piece(
            pa.concat_tables(signed, promote_options="permissive"),
            np.full(len(old) + len(new), version << VERSION_BITS, dtype=np.int64),
            0,
        )


def _old_rows(table: ChangingTable, version: int, wanted: Wanted, rows: int) -> pa.Table:
    """The rows that a version took away, which has other columns than they: all that there were, with their own columns.

    Raises:
        SetupProblem: it took away only some of them, and the feed has not the values by which they would be known.
    """
    found = list(table.rows(version - 1, wanted, PIECE_ROWS))
    if sum(map(len, found)) != rows:
        raise SetupProblem(
            f"version {version} has not the columns any more of rows that it changes",
            kind="columns-replaced",
            place=table.uri,
            hint="its feed does not say what they were: give the source another name, which begins with the table as it is, with an empty base table",
        )
    return pa.concat_tables(found)


def _make_inserts(tables: Iterator[pa.Table], version: int) -> Iterator[RawFile]:
    done = 0
    for table in tables:
        events = (version << VERSION_BITS) + np.arange(done, done + len(table), dtype=np.int64)
        yield _make_piece(table.append_column(OP, _repeat("I", len(table))), events, done)
        done += len(table)


def _repeat(word: str, times: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(np.zeros(times, dtype=np.int32), pa.array([word]))


def _make_piece(rows: pa.Table, events: np.ndarray, first: int) -> RawFile:
    return RawFile(rows.append_column(EVENT, pa.array(events)), np.arange(first, first + len(rows)))


# A source of kind ``delta``, as a project describes it::
#
# sources:
#   lake:
#     kind: delta
#     tables: {orders: /data/lake/orders, lineitem: s3://bucket/lineitem}    # relation: folder or address
#     storage_options: {AWS_REGION: eu-central-1}


class DeltaSource:
    """The changes of Delta tables."""

    def __init__(self, project: Project, settings: SourceSettings, catalog: Catalog) -> None:
        self.name = settings.name
        options = settings.options("tables", "storage_options")
        storage = options.get("storage_options")
        known = {name: item.text() for name, item in storage.section().items()} if storage else None
        tables = _tables(project, options)
        files = {relation.name: project.settings_of(relation.name) for relation in project.relations}
        self._uris, self._options = tables, known
        self._tables = DeltaTables(settings.name, project.relations, tables, known, project.state / "sources", files)

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """See :class:`~cumulus_ops.sources.delta.DeltaTables`."""
        return self._tables.poll(position)

    def columns(self) -> dict[str, list[ShownColumn]]:
        """relation -> the columns of its table."""
        return {relation: ChangingTable(uri, self._options).columns() for relation, uri in self._uris.items()}

    def close(self) -> None:
        """Nothing is held."""


def _tables(project: Project, options: Section) -> dict[str, str]:
    """relation -> its table."""
    first = project.relations[0].name
    item = options.need("tables", f"name the tables: `tables: {{{first}: /data/lake/{first}}}`")
    for relation in project.relations:
        if relation.defaults and relation.name in item.section().entries:
            column = relation.defaults[0][0]
            raise item.problem(
                f"{relation.name}.{column} has a default, and a Delta table has NULL in rows that are older than a column",
                kind="bad-default",
                hint="declare it `null`, and let the views say what takes its place: COALESCE",
            )
    return {
        relation: table if "://" in table else str(project.folder / table)
        for relation, (table, _) in tables_of(project, item).items()
    }
