"""What every source has to keep, whatever it reads from: run a source of your own through it.

>>> def test_my_source(tmp_path):    # doctest: +SKIP
...     check_source(project, lambda catalog: MySource(project, settings, catalog))

A source that has data, and gets no more while it is looked at, keeps it if

- from any position, however it was reached, it hands over the same events, with the same numbers, in the same order;
- a delivery begins where the one before ended, its name is nobody else's, and it can be read again;
- numbers of events ascend, and no event is in two deliveries;
- when the process that appends is killed at any place, the next one goes on, and nothing is lost or doubled.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

from cumulus_ops.append.append import append_delivery
from cumulus_ops.append.delivery import Delivery, Part
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import ProgramRecord
from cumulus_ops.files.columns import OFFSET, SIGN
from cumulus_ops.project.processes import FAULT_POINTS
from cumulus_ops.project.settings import Project
from cumulus_ops.sources.source import Source

__all__ = ["Handed", "append_all", "check_source", "handed_over", "log_rows", "new_catalog", "parts_of"]

Make = Callable[[Catalog], Source]
#: The relation's columns, its sign or op, the number of its event.
Row = tuple[object, ...]
COORDINATOR = 0
APPEND_POINTS = [point for point in FAULT_POINTS if point.startswith("append.")]


class Killed(BaseException):
    """Stands for SIGKILL: nothing that is written behind it happens."""


@dataclass(frozen=True)
class Handed:
    """What a delivery had: relation -> its rows, and where it begins and ends."""

    name: str
    begin: str | None
    position: str | None
    rows: dict[str, list[Row]]


def handed_over(source: Source, position: str | None = None) -> list[Handed]:
    """All that a source hands over behind a position."""
    return [Handed(d.name, d.begin, d.position, rows_of(d)) for d in source.poll(position)]


def parts_of(delivery: Delivery) -> list[Part]:
    """What of a delivery has rows."""
    return [part for part in delivery.parts() if isinstance(part, Part)]


def rows_of(delivery: Delivery) -> dict[str, list[Row]]:
    """A delivery's rows by relation, as they come."""
    found: dict[str, list[Row]] = {}
    for part in parts_of(delivery):
        for raw in part.read():
            names = sorted(raw.columns.column_names)
            found.setdefault(part.relation, []).extend(tuple(row[n] for n in names) for row in raw.columns.to_pylist())
            found.setdefault(part.relation, []).extend((m.reason, m.text) for m in raw.malformed)
    return found


def check_source(project: Project, make: Make) -> None:
    """Run a source through all of it; the project's state is written to, and made anew.

    Args:
        project: what the source belongs to.
        make: a new object for the same source, as another process would have it.
    """
    with new_catalog(project) as catalog:
        whole = check_deliveries(make, catalog)
        check_every_position(make, catalog, whole)
    expected = append_all(project, make)
    assert sum(expected.values()) > 0, "the source has nothing to say"
    for point in APPEND_POINTS:
        for number in {1, len(whole)}:
            assert append_all(project, make, point, number) == expected, f"killed at {point}, delivery {number}"


def check_deliveries(make: Make, catalog: Catalog) -> list[Handed]:
    """Each begins where the last ended; its name and its events are its own; it reads the same again."""
    source = make(catalog)
    deliveries = list(source.poll(None))
    names = [d.name for d in deliveries]
    assert len(set(names)) == len(names)
    assert not any("/" in name or len(name) > 200 for name in names)
    assert all(d.arrived.tzinfo is not None for d in deliveries)
    positions = [d.position for d in deliveries]
    if any(positions):
        assert [d.begin for d in deliveries] == [None, *positions[:-1]]
        assert len(set(positions)) == len(positions)
        check_numbers(deliveries)
    assert [rows_of(d) for d in deliveries] == [rows_of(d) for d in reversed(deliveries)][::-1]
    source.close()
    return [Handed(d.name, d.begin, d.position, rows_of(d)) for d in deliveries]


def check_numbers(deliveries: list[Delivery]) -> None:
    """They ascend in each relation, and an event is in one piece of one delivery."""
    last: dict[str, int] = {}
    for delivery in deliveries:
        for part in parts_of(delivery):
            for raw in part.read():
                numbers = raw.columns["event"].to_pylist()
                assert numbers == sorted(numbers)
                assert not numbers or numbers[0] > last.get(part.relation, -1), (part.relation, numbers[0], last)
                last[part.relation] = numbers[-1] if numbers else last.get(part.relation, -1)


def check_every_position(make: Make, catalog: Catalog, whole: list[Handed]) -> None:
    """From each position, the rest is what it was."""
    for index, delivery in enumerate(whole):
        if delivery.position is not None:
            source = make(catalog)
            assert joined(handed_over(source, delivery.position)) == joined(whole[index + 1 :])
            source.close()


def joined(deliveries: list[Handed]) -> dict[str, list[Row]]:
    """However they were divided."""
    found: dict[str, list[Row]] = {}
    for delivery in deliveries:
        for relation, rows in delivery.rows.items():
            found.setdefault(relation, []).extend(rows)
    return found


def append_all(project: Project, make: Make, kill_at: str | None = None, number: int = 1) -> Counter[Row]:
    """Append all that there is to an empty log, while the process is killed once; what is in the log then."""
    shutil.rmtree(project.state, ignore_errors=True)
    reached: Counter[str] = Counter()

    def reach(name: str) -> None:
        reached[name] += 1
        if name == kill_at and reached[name] == number:
            raise Killed

    with mock.patch("cumulus_ops.append.append.reach", reach):
        while True:
            with new_catalog(project) as catalog:
                source = make(catalog)
                try:
                    for delivery in source.poll(catalog.deliveries.source_position(source.name)):
                        append_delivery(project, catalog, COORDINATOR, delivery)
                    return log_rows(project, catalog)
                except Killed:
                    continue


def log_rows(project: Project, catalog: Catalog) -> Counter[Row]:
    """(relation, sign, event, columns) of every row of the log."""
    found: Counter[Row] = Counter()
    for file in catalog.log.files(epoch=0):
        table: pa.Table = pq.read_table(project.state / file.path)
        names = [n for n in table.column_names if not n.startswith("_")]
        for row in table.to_pylist():
            found[(file.relation, row[SIGN], row[OFFSET], *(row[n] for n in names))] += 1
    return found


@contextmanager
def new_catalog(project: Project) -> Iterator[Catalog]:
    """The project's catalog, as another process opens it."""
    path = Path(project.catalog_url.removeprefix("sqlite:///"))
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(empty_catalog(project.coordinators))
    catalog = Catalog(project.catalog_url)
    try:
        yield catalog
    finally:
        catalog.close()


@cache
def empty_catalog(coordinators: int) -> bytes:
    """The file of a catalog with a program and nothing else: made once, since migrations take a second."""
    with TemporaryDirectory() as folder:
        catalog = Catalog(f"sqlite:///{folder}/catalog.db")
        catalog.database.migrate()
        catalog.program.register(ProgramRecord("test", "d" * 64, "PROGRAM test;", "batch", coordinators))
        catalog.close()
        return (Path(folder) / "catalog.db").read_bytes()
