"""A source of kind ``postgres`` as a project's file describes it.

sources:
  landing: landing
  shop: {kind: postgres, url: "${SHOP_DATABASE_URL}", tables: {orders: public.orders, lines: '"Odd schema".lines'}}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from cumulus_ops.catalog import Catalog
from cumulus_ops.catalog.identity import claimed_by
from cumulus_ops.config import Project, SourceSettings
from cumulus_ops.eventlog.cuts import piece_rows
from cumulus_ops.sources.postgres.settings import PostgresSettings, TableSettings
from cumulus_ops.sources.postgres.source import PostgresSource
from cumulus_ops.sources.tables import tables_of
from cumulus_ops.yaml_nodes import Item

__all__ = ["postgres_settings", "postgres_source"]

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
    committed = partial(catalog.source_position, settings.name)
    return PostgresSource(postgres_settings(project, settings), piece_rows(project.batch_rows), committed)


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
    return PostgresSettings(
        name=settings.name,
        url=url.text(),
        tables=_renamed(_tables(project, options.need("tables", TABLES_HINT)), options.get("renamed")),
        publication=publication.text() if publication else f"cumulus_{settings.name}"[:NAME_LENGTH],
        folder=project.state / "sources",
        skips_truncates=truncates is not None and truncates.choice(("stop", "skip")) == "skip",
        owner=claimed_by(project.state),
    )


def _tables(project: Project, item: Item) -> tuple[TableSettings, ...]:
    places = tables_of(project, item, lists=True)
    return tuple(_table(project, name, text, place) for name, (text, place) in places.items())


def _renamed(tables: tuple[TableSettings, ...], item: Item | None) -> tuple[TableSettings, ...]:
    """The tables with the other names of their columns."""
    if item is None:
        return tables
    entries = dict(item.section(tuple(table.relation.name for table in tables)).items())
    return tuple(
        replace(table, renamed=tuple(_other_names(table, entries[table.relation.name])))
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
    return TableSettings(relations[name], _bare(match["schema"] or "public"), _bare(match["table"]), mode)


def _bare(identifier: str) -> str:
    """Without its quotes.

    >>> _bare('"Odd one"')
    'Odd one'
    """
    return identifier[1:-1].replace('""', '"') if identifier.startswith('"') else identifier
