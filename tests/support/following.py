"""A PostgreSQL database that is followed as a source, and a plain model of what follows from its deliveries."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg2

from cumulus_ops.append.delivery import Delivery
from cumulus_ops.sources.postgres.connection import PostgresSettings, TableSettings
from cumulus_ops.sources.postgres.source import PostgresSource
from m3.datatypes import Type
from m3.program import Column, Relation
from tests.support.services import PostgreSQL

__all__ = ["Database", "Follower", "Row", "table"]

Row = tuple[str | None, ...]
_numbers = itertools.count()


class Database:
    """A database of its own, with a connection that speaks as an application would."""

    def __init__(self, server: PostgreSQL) -> None:
        self.name = f"shop_{next(_numbers)}"
        self.url = server.create_database(self.name).replace("+psycopg2", "")
        self._session: Any = None

    @property
    def session(self) -> Any:
        """A connection, a new one if the server was restarted."""
        if self._session is None or self._session.closed:
            self._session = psycopg2.connect(self.url, options="-c TimeZone=UTC")
            self._session.autocommit = True
        return self._session

    def execute(self, text: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run statements; several in one text are one transaction."""
        with self.session.cursor() as cursor:
            cursor.execute(text, values or None)
            return cursor.fetchall() if cursor.description else []

    def rows(self, settings: TableSettings) -> Counter[Row]:
        """What a table has now, as texts."""
        columns = ", ".join(f'"{c.name}"::text' for c in settings.relation.columns)
        found = self.execute(f'SELECT {columns} FROM "{settings.schema}"."{settings.table}"')
        return Counter(tuple(_plain(v) for v in row) for row in found)


def _plain(text: str | None) -> str | None:
    return text.removesuffix("+00") if text else text


def table(
    name: str, columns: dict[str, Type], *, mode: str = "trusted", key: tuple[str, ...] = (), place: str = ""
) -> TableSettings:
    """A relation that follows a table, ``schema.table``, of its own name if nothing else is said."""
    schema, _, of_place = (place or f"public.{name}").partition(".")
    return TableSettings(Relation(name, tuple(Column(c, t) for c, t in columns.items()), key), schema, of_place, mode)


class Follower:
    """Follows tables: keeps the rows that follow from the deliveries, and the position, as a catalog would."""

    def __init__(self, url: str, folder: Path, *tables: TableSettings, name: str = "shop") -> None:
        self.settings = PostgresSettings(name, url, tables, f"cumulus_{name}", folder, patience_s=10.0)
        self.tables = {t.relation.name: t for t in tables}
        self.rows: dict[str, Counter[Row]] = {t: Counter() for t in self.tables}
        self.position: str | None = None
        self.rejected: list[str] = []
        self.deliveries: list[Delivery] = []

    def source(self) -> PostgresSource:
        """A new process's source."""
        return PostgresSource(self.settings, committed=lambda: self.position)

    def catch_up(self) -> None:
        """Take what there is: also what came after the initial copy."""
        for _ in range(1 if self.position else 2):
            for delivery in self.source().poll(self.position):
                assert delivery.begin == self.position
                self.take(delivery)

    def take(self, delivery: Delivery) -> None:
        """Append a delivery."""
        for relation, row in self.changes(delivery):
            self._apply(self.tables[relation], row)
        self.position = delivery.position
        self.deliveries.append(delivery)

    @staticmethod
    def changes(delivery: Delivery) -> Iterator[tuple[str, dict[str, Any]]]:
        """(relation, row with `op` and `event`)."""
        for part in delivery.parts():
            last = None
            for raw in part.read():
                found = raw.columns.to_pylist()
                assert last is None or found[0]["event"] > last, "an event crosses pieces"
                assert [r["event"] for r in found] == sorted(r["event"] for r in found)
                last = found[-1]["event"]
                yield from ((part.relation, row) for row in found)

    def _apply(self, settings: TableSettings, row: dict[str, Any]) -> None:
        living, key = self.rows[settings.relation.name], settings.relation.key
        values = tuple(row[c.name] for c in settings.relation.columns)
        match row["op"]:
            case "I":
                living[values] += 1
            case "D" if settings.mode == "upsert":
                assert self._delete(settings, row, key) == 1, row
            case "D":
                assert living[values] > 0, f"{values} is not there: {living}"
                living[values] -= 1
            case "U":
                assert self._delete(settings, row, key) == 1, row
                living[values] += 1
            case words:
                self.rejected.append(words)
        self.rows[settings.relation.name] = +living

    def _delete(self, settings: TableSettings, row: dict[str, Any], key: Iterable[str]) -> int:
        living = self.rows[settings.relation.name]
        where = [(i, row[c.name]) for i, c in enumerate(settings.relation.columns) if c.name in key]
        found = [values for values in living if all(values[i] == wanted for i, wanted in where)]
        for values in found:
            del living[values]
        return len(found)


@contextmanager
def transaction(database: Database) -> Iterator[Any]:
    """Statements that are committed together."""
    database.session.autocommit = False
    try:
        with database.session, database.session.cursor() as cursor:
            yield cursor
    finally:
        database.session.autocommit = True
