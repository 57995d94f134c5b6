"""``kind: postgres``: the tables of a PostgreSQL database, as they were at first and then change by change.

A delivery is a range of the server's log, so its content follows from its begin and its end alone, whoever asks and whenever. The
position is committed by the catalog together with the events; the slot follows it, never leads: it is moved when a later poll shows
what is in the event log for good. So whatever dies at any moment, the next poll goes on exactly where the event log ends.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise

from cumulus_ops.append.delivery import Delivery, Part
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.identity import claimed_by
from cumulus_ops.files.landed import PIECE_ROWS, piece_rows
from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.project.processes import reach
from cumulus_ops.project.settings import Project, SourceSettings
from cumulus_ops.project.yaml_nodes import Item
from cumulus_ops.sources.postgres.changes import Changes, InitialCopy, has_changes, prepare
from cumulus_ops.sources.postgres.connection import PostgresSettings, TableSettings, open_session
from cumulus_ops.sources.postgres.slot import (
    advance,
    check_publication,
    draw_slot,
    drop_left_over,
    find_slot,
    moved_on,
    whole_log,
)
from cumulus_ops.sources.postgres.tables import Position, describe_columns
from cumulus_ops.sources.shapes import ShownColumn
from cumulus_ops.sources.source import tables_of

__all__ = ["PostgresSource", "postgres_settings", "postgres_source"]


class PostgresSource:
    """A source of kind ``postgres``. It holds nothing between polls.

    Args:
        settings: of the source.
        rows: pieces of about so many rows are handed on at a time.
        committed: where the source is by the catalog; other processes move it.
        kept: up to where the server may forget: that is ``committed``, or where the newest backup of the catalog is.
    """

    def __init__(
        self,
        settings: PostgresSettings,
        rows: int = PIECE_ROWS,
        committed: Callable[[], str | None] | None = None,
        kept: Callable[[str], str | None] = lambda position: position,
    ) -> None:
        self.name = settings.name
        self._settings, self._rows, self._committed, self._kept = settings, rows, committed, kept

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """The initial copy, or what was committed since, in portions of whole transactions.

        Raises:
            SetupProblem: the server does not answer; or this is not what the position is of, or what comes behind it is lost.
            Conflict: the source is not at the position any more.
        """
        if position is None:
            yield self._initial()
            return
        here = Position.parse(position)
        with self._unless_moved(position):
            ranges = self._ranges(here)
        for begin, end in ranges:
            place = replace(here, lsn=begin)
            changes = Changes(
                self._settings, place, begin, end, self._rows, partial(self._forgettable, position, place)
            )
            yield Delivery(
                self.name,
                f"{self.name}-{begin:016X}",  # its begin: where it ends another poll may decide otherwise
                _now(),
                partial(self._parts, changes, position),
                position,
                replace(here, lsn=end).text(),
                transactional=True,
            )
            position = replace(here, lsn=end).text()

    def columns(self) -> dict[str, list[ShownColumn]]:
        """relation -> the columns that its table has now. A server that does not answer is not waited for."""
        settings = replace(self._settings, patience_s=0.0)
        with open_session(settings) as session:
            return {table.relation.name: describe_columns(session, table) for table in settings.tables}

    def close(self) -> None:
        """Nothing is held."""

    def _initial(self) -> Delivery:
        with open_session(self._settings) as session:
            prepare(session, self._settings)
            slot = draw_slot(self._settings)
            here, _ = whole_log(session, self._settings, slot)
        copy = InitialCopy(self._settings, slot, self._rows, lambda: self._has_moved(None))
        return Delivery(self.name, f"{self.name}-initial", _now(), copy.parts, None, here.text(), transactional=True)

    def _parts(self, changes: Changes, before: str) -> tuple[Part, ...]:
        with self._unless_moved(before):
            return changes.parts()

    @contextmanager
    def _unless_moved(self, position: str) -> Iterator[None]:
        """What an old position meets is no problem: the slot has moved with the source."""
        try:
            yield
        except SetupProblem as problem:
            if self._has_moved(position):
                raise moved_on(self._settings) from problem
            raise

    def _forgettable(self, position: str, place: Position) -> int:
        """Up to where the server may forget, once the source is at a position by the catalog."""
        if self._committed is None or self._committed() != position:
            return 0
        return self._kept_until(place)

    def _kept_until(self, place: Position) -> int:
        """The place itself, or that of the newest backup, from which the source may have to go on."""
        kept = self._kept(place.text())
        found = None if kept is None else Position.parse(kept)
        is_same = found is not None and found.slot == place.slot
        return min(found.lsn or 0, place.lsn or 0) if is_same and found is not None else 0

    def _has_moved(self, position: str | None) -> bool:
        return self._committed is not None and self._committed() != position

    def _ranges(self, here: Position) -> list[tuple[int, int]]:
        """What to read of the log: (begin, end). A short range in which nothing concerns us waits until it is longer."""
        settings = self._settings
        with open_session(settings) as session:
            slot, flushed = find_slot(session, settings, here)
            check_publication(session, settings)
            drop_left_over(session, settings, here.slot)
            begin = slot.confirmed if here.lsn is None else here.lsn
            advance(session, settings, slot, self._kept_until(replace(here, lsn=begin)))
            reach("source.after-advance")
            is_short = flushed - begin <= settings.idle_bytes
            if is_short and not (begin < flushed and has_changes(session, settings, slot, begin, flushed)):
                return []
        # the server reads its log from `restart` on each time: a portion is no shorter than what is read again for it
        portion = max(settings.portion_bytes, begin - slot.restart)
        return list(pairwise([*range(begin, flushed, portion), flushed]))


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


# A source of kind ``postgres`` as a project's file describes it.
#
# sources:
#   landing: landing
#   shop: {kind: postgres, url: "${SHOP_DATABASE_URL}", tables: {orders: public.orders, lines: '"Odd schema".lines'}}


OPTIONS = ("url", "tables", "publication", "truncates", "renamed")
URL_HINT = "write `url: ${SHOP_DATABASE_URL}`, and keep postgresql://user:password@host/database in the environment"
RENAMED_HINT = "write `renamed: {orders: {cost: price}}`: what the table of orders calls cost is its column price"
TABLES_HINT = "write `tables: [orders, lines]`, or `tables: {orders: shop.orders}` for other schemas and names"
#: A name as in SQL: bare or quoted.
IDENTIFIER = r'"(?:[^"]|"")+"|[^".\s]+'
PLACE = re.compile(rf"(?:(?P<schema>{IDENTIFIER})\.)?(?P<table>{IDENTIFIER})")
NAME_LENGTH = 63


def postgres_source(project: Project, settings: SourceSettings, catalog: Catalog) -> PostgresSource:
    """The source that a part of ``cumulus.yaml`` describes; nothing is opened yet.

    Raises:
        InputProblem: an option is missing or wrong.
    """
    committed = partial(catalog.deliveries.source_position, settings.name)
    kept = partial(catalog.backups.may_forget, settings.name)
    return PostgresSource(postgres_settings(project, settings), piece_rows(project.least_batch_rows), committed, kept)


def postgres_settings(project: Project, settings: SourceSettings) -> PostgresSettings:
    """What the file says.

    Raises:
        InputProblem: an option is missing or wrong.
    """
    options = settings.options(*OPTIONS)
    url = options.need("url", URL_HINT)
    if not url.text().startswith(("postgresql://", "postgres://", "postgresql+psycopg2://")):
        raise url.problem("is no URL of a PostgreSQL database", kind="bad-url", hint=URL_HINT)
    publication, truncates = options.get("publication"), options.get("truncates")
    places = tables_of(project, options.need("tables", TABLES_HINT), lists=True)
    tables = tuple(_table(project, name, text, place) for name, (text, place) in places.items())
    return PostgresSettings(
        name=settings.name,
        url=url.text(),
        tables=_rename_columns(tables, options.get("renamed")),
        publication=publication.text() if publication else f"cumulus_{settings.name}"[:NAME_LENGTH],
        folder=project.state / "sources",
        skips_truncates=truncates is not None and truncates.choice(("stop", "skip")) == "skip",
        owner=claimed_by(project.state),
    )


def _rename_columns(tables: tuple[TableSettings, ...], item: Item | None) -> tuple[TableSettings, ...]:
    """The tables with the other names of their columns."""
    if item is None:
        return tables
    entries = dict(item.section(tuple(table.relation.name for table in tables)).items())
    return tuple(
        replace(table, renamed=(*_other_names(table, entries[table.relation.name]), *table.renamed))
        if table.relation.name in entries
        else table
        for table in tables
    )


def _other_names(table: TableSettings, item: Item) -> Iterator[tuple[str, str]]:
    declared = {column.name for column in table.relation.columns}
    for other, column in item.section().items():
        if other in declared:
            raise column.problem(f"{other} is a column of {table.relation.name} itself", hint=RENAMED_HINT)
        if column.text() not in declared:
            raise column.problem(f"{table.relation.name} has no column {column.text()!r}", hint=RENAMED_HINT)
        yield other, column.text()


def _table(project: Project, name: str, text: str, item: Item) -> TableSettings:
    relations = {relation.name: relation for relation in project.relations}
    match = PLACE.fullmatch(text)
    if match is None:
        raise item.problem(
            f"{text!r} is no table's name", kind="bad-table", hint='write schema.table, or "Odd schema"."Odd name"'
        )
    mode = project.keys[name].mode if name in project.keys else "trusted"
    files = project.settings_of(name)
    older = tuple((other, column) for column, others in files.older.items() for other in others)
    place = _bare(match["schema"] or "public"), _bare(match["table"])
    return TableSettings(relations[name], *place, mode, older, files.waiting)


def _bare(identifier: str) -> str:
    """Without its quotes.

    >>> _bare('"Odd one"')
    'Odd one'
    """
    return identifier[1:-1].replace('""', '"') if identifier.startswith('"') else identifier
