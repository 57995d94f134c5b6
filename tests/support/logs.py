"""What the event log says: the law's other side, read from its files."""

from __future__ import annotations

import pyarrow.parquet as pq
import sqlalchemy as sa

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.opening.runtime import Runtime
from tests.support.projects import Event, Row, interpret, oracle_maps

__all__ = ["forget_checksums", "logged_events", "logged_maps"]


def logged_events(rt: Runtime, epoch: int) -> list[Event]:
    """The events of all batches up to an epoch (inclusive) that count, in the order of their versions."""
    found: list[tuple[int, Event]] = []
    for file in rt.catalog.log.files(epoch=epoch):
        names = [c.name for c in rt.program.relation_by_name[file.relation].columns]
        rows = pq.read_table(rt.project.state / file.path).to_pylist()
        found += [(row["_version"], (file.relation, row["_sign"], tuple(row[n] for n in names))) for row in rows]
    return [event for _, event in sorted(found, key=lambda pair: pair[0])]


def logged_maps(rt: Runtime, epoch: int) -> dict[str, dict[Row, int]]:
    """The maps that the serial interpreter makes of them."""
    return oracle_maps(interpret(rt.program, logged_events(rt, epoch)))


def forget_checksums(catalog: Catalog) -> None:
    """Make all files of the log and of the quarantine files of old, which have no checksums: now they may be overwritten."""
    with catalog.database.engine.begin() as connection:
        for table in (t.log_file, t.quarantine):
            connection.execute(sa.update(table).values(checksums=None))
