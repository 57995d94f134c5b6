"""Seals of values: what is refused once a value is sealed, who closes it, and that nothing gets past that."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cumulus_ops.catalog import Catalog, ProgramRecord
from cumulus_ops.config import Project, SealSettings
from cumulus_ops.eventlog import append_delivery
from cumulus_ops.sources import drop_delivery
from m3.datatypes import DATE, INT, STRING, decimal
from m3.program import Column, Relation
from tests.support.projects import make_project

CLICKS = Relation("clicks", (Column("id", INT), Column("campaign", STRING.with_null()), Column("day", DATE)), ("id",))
PRICES = Relation("prices", (Column("price", decimal(6, 2)), Column("note", STRING.with_null())))
BY_CAMPAIGN = SealSettings("campaign", ("campaign",), "registered")
DAY = "2026-01-31"


def make(tmp_path: Path, *seals: SealSettings, coordinators: int = 2, **options: object) -> tuple[Project, Catalog]:
    project = make_project(tmp_path, [CLICKS, PRICES], views={}, coordinators=coordinators)
    project = dataclasses.replace(project, seals={"clicks": seals}, **options)  # type: ignore[arg-type]
    catalog = Catalog(project.catalog_url)
    catalog.migrate()
    catalog.register(ProgramRecord("test", "d" * 64, "PROGRAM test;", "batch", coordinators))
    return project, catalog


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[tuple[Project, Catalog]]:
    project, catalog = make(tmp_path, BY_CAMPAIGN)
    yield project, catalog
    catalog.close()


def clicks(*campaigns: str, op: str = "I", first: int = 0) -> str:
    """A file with a click on each campaign; an empty one is NULL."""
    lines = [f"{op},{first + i},{first + i},{campaign},{DAY}" for i, campaign in enumerate(campaigns)]
    return "\n".join(["op,event,id,campaign,day", *lines]) + "\n"


def values(*campaigns: str) -> str:
    return "\n".join(["campaign", *campaigns]) + "\n"


Setup = tuple[Project, Catalog]


def deliver(setup: Setup, coordinator: int, name: str, **files: str) -> tuple[int, ...]:
    """Land and append a drop; double underscores in the names of files are dots."""
    project, catalog = setup
    folder = project.landing / str(coordinator) / name
    folder.mkdir(parents=True)
    for file, text in files.items():
        (folder / f"{file.replace('__', '.')}.csv").write_text(text)
    return append_delivery(project, catalog, coordinator, drop_delivery(project, folder))


def log(setup: Setup) -> list[tuple[int, str | None]]:
    """(id, campaign) of the clicks in the log, in the order of appends."""
    project, catalog = setup
    files = [f for b in catalog.batches() for f in catalog.log_files(batch=b.id) if b.state != "retried"]
    tables = [pq.read_table(project.state / f.path) for f in files if f.relation == "clicks"]
    return [(row["id"], row["campaign"]) for table in tables for row in table.to_pylist()]


def rejected(setup: Setup) -> list[tuple[str, str, str]]:
    """(relation, kind, reason) of each row in the quarantine."""
    project, catalog = setup
    found = []
    for rows in catalog.quarantined_rows():
        table = pq.read_table(project.state / rows.path)
        found += [(rows.relation, r["kind"], r["reason"]) for r in table.to_pylist()]
    return found


def closed(setup: Setup, seal: str = "campaign") -> list[str]:
    return [value.value for value in setup[1].closed_values("clicks", seal)]


def test_an_event_of_a_value_that_its_coordinator_has_sealed_is_quarantined(setup: Setup) -> None:
    deliver(setup, 0, "a", clicks=clicks("7", "8"))
    deliver(setup, 1, "a", clicks=clicks("7"))
    deliver(setup, 0, "b", clicks__campaign__seal=values("7"))
    deliver(setup, 0, "c", clicks=clicks("7", "8", first=10))
    assert log(setup) == [(0, "7"), (1, "8"), (0, "7"), (11, "8")]
    ((relation, kind, reason),) = rejected(setup)
    assert (relation, kind) == ("clicks", "sealed-value")
    assert reason.startswith('campaign: coordinator 0 has sealed ["7"] at 20')
    deliver(setup, 1, "b", clicks=clicks("7", first=20))  # it has not sealed it yet
    assert closed(setup) == []
    deliver(setup, 1, "c", clicks__campaign__seal=values("7"))
    assert closed(setup) == ['["7"]']


def test_rows_of_a_delivery_count_before_its_seals(setup: Setup) -> None:
    deliver(setup, 0, "a", clicks=clicks("7"), clicks__campaign__seal=values("7"))
    assert (log(setup), closed(setup), rejected(setup)) == ([(0, "7")], ['["7"]'], [])
    deliver(setup, 1, "a", clicks=clicks("7"))
    ((_, kind, reason),) = rejected(setup)
    assert (kind, reason[:26]) == ("sealed-value", 'campaign: ["7"] is closed ')


def test_null_is_a_value(setup: Setup) -> None:
    deliver(setup, 0, "a", clicks=clicks("", "7"), clicks__campaign__seal="campaign,x\n,1\n")
    assert closed(setup) == ["[null]"]
    deliver(setup, 0, "b", clicks=clicks("", "7", first=10))
    assert log(setup) == [(0, None), (1, "7"), (11, "7")]
