"""What the event log says: the law's other side, read from its files."""

from __future__ import annotations

from decimal import Decimal

import pyarrow.parquet as pq
import sqlalchemy as sa

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.files.log_files import fresh_rows, known_numbers
from cumulus_ops.opening.runtime import Runtime
from m3.datatypes import Type
from tests.support.projects import Event, Row, interpret, oracle_maps

__all__ = ["forget_checksums", "forget_written", "logged_events", "logged_maps"]


def logged_events(rt: Runtime, epoch: int) -> list[Event]:
    """The events of all batches up to an epoch (inclusive) that count, in the order of their versions."""
    found: list[tuple[int, Event]] = []
    for file in rt.catalog.log.files(epoch=epoch):
        relation = rt.program.relation_by_name[file.relation]
        columns = [(relation.in_log(c.name), c.type) for c in relation.columns]
        for row in pq.read_table(rt.project.state / file.path).to_pylist():
            values = tuple(_value(row.get(name), type_) for name, type_ in columns)  # files of old lack new columns
            found.append((file.first_version + row["_version"], (file.relation, row["_sign"], values)))
    return [event for _, event in sorted(found, key=lambda pair: pair[0])]


def _value(stored: object, type_: Type) -> object:
    """A value as the interpreter has it: short decimals are stored as their units."""
    return Decimal(stored).scaleb(-type_.scale) if type_.kind == "decimal" and isinstance(stored, int) else stored


def logged_maps(rt: Runtime, epoch: int) -> dict[str, dict[Row, int]]:
    """The maps that the serial interpreter makes of them."""
    return oracle_maps(interpret(rt.program, logged_events(rt, epoch)))


def forget_written() -> None:
    """Have this process read files of the log that it has just written, as others do: somebody is about to damage them."""
    fresh_rows.clear()
    known_numbers.clear()


def forget_checksums(catalog: Catalog) -> None:
    """Make all files of the log and of the quarantine files of old, which have no checksums: now they may be overwritten."""
    forget_written()
    with catalog.database.engine.begin() as connection:
        for table in (t.log_file, t.quarantine):
            connection.execute(sa.update(table).values(checksums=None))
