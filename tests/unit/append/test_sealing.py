"""Seals of values: what is refused once a value is sealed, who closes it, and that nothing gets past that."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cumulus_ops.append.append import append_delivery
from cumulus_ops.append.declarations import check_declarations, declaration, declare
from cumulus_ops.append.delivery import Delivery, Part, SealPart
from cumulus_ops.append.rejected import drop, restamp
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import ProgramRecord
from cumulus_ops.catalog.values import SealChange
from cumulus_ops.epochs.quarantine import retry_put_aside
from cumulus_ops.files.columns import RawFile
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import Conflict, InputProblem, SetupProblem
from cumulus_ops.project.settings import KeySettings, Project, SealSettings
from cumulus_ops.sources.landing import drop_delivery
from m3.datatypes import DATE, INT, STRING, decimal
from m3.program import Column, Relation
from tests.support.catalogs import set_aside
from tests.support.projects import make_project

CLICKS = Relation("clicks", (Column("id", INT), Column("campaign", STRING.with_null()), Column("day", DATE)), ("id",))
PRICES = Relation("prices", (Column("price", decimal(6, 2)), Column("note", STRING.with_null())))
BY_CAMPAIGN = SealSettings("campaign", ("campaign",), "registered")
DAY = "2026-01-31"


def make(tmp_path: Path, *seals: SealSettings, coordinators: int = 2, **options: object) -> tuple[Project, Catalog]:
    project = make_project(tmp_path, [CLICKS, PRICES], views={}, coordinators=coordinators)
    project = dataclasses.replace(project, seals={"clicks": seals}, **options)  # type: ignore[arg-type]
    catalog = Catalog(project.catalog_url)
    catalog.database.migrate()
    catalog.program.register(ProgramRecord("test", "d" * 64, "PROGRAM test;", "batch", coordinators))
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
    files = [f for b in catalog.log.batches() for f in catalog.log.files(batch=b.id) if b.state != "retried"]
    tables = [pq.read_table(project.state / f.path) for f in files if f.relation == "clicks"]
    return [(row["id"], row["campaign"]) for table in tables for row in table.to_pylist()]


def rejected(setup: Setup) -> list[tuple[str, str, str]]:
    """(relation, kind, reason) of each row in the quarantine."""
    project, catalog = setup
    found = []
    for rows in catalog.deliveries.quarantined_rows():
        table = pq.read_table(project.state / rows.path)
        found += [(rows.relation, r["kind"], r["reason"]) for r in table.to_pylist()]
    return found


def closed(setup: Setup, seal: str = "campaign") -> list[str]:
    return [value.value for value in setup[1].seals.closed_values("clicks", seal)]


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


def test_a_file_with_more_values_than_are_sealed_at_once_is_set_aside(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cumulus_ops.append.append.SEAL_VALUES", 2)
    deliver(setup, 0, "a", clicks=clicks("7"), clicks__campaign__seal=values("7", "8", "9"))
    assert [(f.kind, f.relation) for f in setup[1].deliveries.files_aside()] == [("too-large", "clicks.campaign.seal")]
    deliver(setup, 0, "b", clicks__campaign__seal=values("7", "8"))
    assert closed(setup) == ['["7"]', '["8"]']


def test_null_is_a_value(setup: Setup) -> None:
    deliver(setup, 0, "a", clicks=clicks("", "7"), clicks__campaign__seal="campaign,x\n,1\n")
    assert closed(setup) == ["[null]"]
    deliver(setup, 0, "b", clicks=clicks("", "7", first=10))
    assert log(setup) == [(0, None), (1, "7"), (11, "7")]


def kinds(setup: Setup) -> list[tuple[str, str]]:
    return [(relation, kind) for relation, kind, _ in rejected(setup)]


@pytest.mark.parametrize("producers", ["all", "registered", "one"])
def test_whose_seals_close_a_value(tmp_path: Path, producers: str) -> None:
    setup = make(tmp_path, SealSettings("campaign", ("campaign",), producers), coordinators=3)
    deliver(setup, 0, "a", clicks=clicks("7"))
    deliver(setup, 1, "a", clicks=clicks("7"))
    assert kinds(setup) == ([("clicks", "other-producer")] if producers == "one" else [])
    history = []
    for coordinator in (0, 1, 2):
        deliver(setup, coordinator, "b", clicks__campaign__seal=values("7"))
        history.append(closed(setup) == ['["7"]'])
    assert (
        history
        == {"all": [False, False, True], "registered": [False, True, True], "one": [True, True, True]}[producers]
    )
    setup[1].close()


def test_a_producer_can_say_that_it_will_have_events(setup: Setup) -> None:
    deliver(setup, 1, "a", clicks__campaign__producer=values("7", "8"))
    deliver(setup, 0, "a", clicks=clicks("7"), clicks__campaign__seal=values("7"))
    (waits, _) = setup[1].seals.open_values("clicks", "campaign")
    assert (waits.texts, waits.registered, waits.sealed, waits.missing) == (["7"], (0, 1), (0,), (1,))
    deliver(setup, 1, "b", clicks__campaign__seal=values("7"))
    assert closed(setup) == ['["7"]']
    deliver(setup, 1, "c", clicks__campaign__producer=values("7"))
    assert kinds(setup) == [("clicks.campaign.producer", "sealed-value")]


def test_what_one_alone_produces_others_can_neither_announce_nor_seal(tmp_path: Path) -> None:
    setup = make(tmp_path, SealSettings("campaign", ("campaign",), "one"))
    deliver(setup, 0, "a", clicks__campaign__producer=values("7"))
    deliver(setup, 1, "a", clicks__campaign__producer=values("7"), clicks__campaign__seal=values("7", "8"))
    assert sorted(kinds(setup)) == [(f"clicks.campaign.{said}", "other-producer") for said in ("producer", "seal")]
    assert closed(setup) == ['["8"]']  # nobody else has registered for that
    deliver(setup, 0, "b", clicks__campaign__seal=values("7", "8"))  # what is closed stays so
    assert sorted(closed(setup)) == ['["7"]', '["8"]']
    deliver(setup, 1, "b", clicks__campaign__seal=values("7"))
    assert len(kinds(setup)) == 2
    setup[1].close()


def test_an_event_of_several_rows_is_refused_whole(setup: Setup) -> None:
    deliver(setup, 0, "a", clicks__campaign__seal=values("7"))
    rows = "op,event,id,campaign,day\nI,1,1,7,2026-01-31\nI,1,2,8,2026-01-31\nI,2,3,8,2026-01-31\n"
    deliver(setup, 0, "b", clicks=rows)
    assert log(setup) == [(3, "8")]
    assert sorted(kinds(setup)) == [("clicks", "part"), ("clicks", "sealed-value")]


def test_what_came_before_its_value_was_sealed_is_a_repeat_when_it_comes_again(setup: Setup) -> None:
    deliver(setup, 0, "a", clicks=clicks("7"), clicks__campaign__seal=values("7"))
    (again,) = deliver(setup, 0, "b", clicks=clicks("7"))
    assert (setup[1].log.batch(again).duplicates, rejected(setup)) == (1, [])


def test_deletes_of_a_sealed_value_are_refused_as_well(setup: Setup) -> None:
    deliver(setup, 0, "a", clicks=clicks("7"), clicks__campaign__seal=values("7"))
    deliver(setup, 0, "b", clicks=clicks("7", op="D", first=10))
    assert kinds(setup) == [("clicks", "sealed-value")]


def test_values_are_equal_whatever_they_are_written_like(tmp_path: Path) -> None:
    setup = make(tmp_path)
    project = dataclasses.replace(setup[0], seals={"prices": (SealSettings("price", ("price", "note")),)})
    setup = project, setup[1]
    deliver(setup, 0, "a", prices="op,event,price,note\nI,1,1.0,a\n", prices__price__seal="price,note\n1,a\n+1.000,\n")
    deliver(setup, 1, "a", prices__price__seal="note,price\na,01\n,1e0\n")
    assert [v.value for v in setup[1].seals.closed_values("prices", "price")] == ['["1.00","a"]', '["1.00",null]']
    deliver(setup, 0, "b", prices="op,event,price,note\nI,2,1.00,a\nI,3,1.00,b\nI,4,1,\n")
    assert kinds(setup) == 2 * [("prices", "sealed-value")]
    setup[1].close()


def test_a_bad_row_of_a_seal_is_quarantined_and_can_be_retried(tmp_path: Path) -> None:
    project = dataclasses.replace(
        make_project(tmp_path, [CLICKS], views={"v": "SELECT COUNT(*) AS n FROM clicks"}, coordinators=1),
        seals={"clicks": (SealSettings("day", ("day",)),)},
    )
    initialise(project)
    with open_runtime(project) as rt:
        setup = project, rt.catalog
        deliver(setup, 0, "a", clicks__day__seal="day\n2026-01-31\nyesterday\n\n")
        assert kinds(setup) == [("clicks.day.seal", "not-a-date")]
        assert closed(setup, "day") == ['["2026-01-31"]']
        (rows,) = rt.catalog.deliveries.quarantined_rows()
        (retried,) = retry_put_aside(rt, [rows.label])
        assert (retried.rejected, kinds(setup)) == (1, [("clicks.day.seal", "not-a-date")])


def test_a_seal_without_all_rows_of_its_drop_waits_for_them(setup: Setup) -> None:
    deliver(setup, 0, "a", clicks="<html>", clicks__campaign__seal=values("7"), prices__x__seal="x\n1\n")
    asides = {Path(f.place).name: (f.kind, f.relation) for f in setup[1].deliveries.files_aside()}
    assert asides == {
        "clicks.csv": ("wrong-format", "clicks"),
        "clicks.campaign.seal.csv": ("rows-missing", "clicks.campaign.seal"),
        "prices.x.seal.csv": ("unknown-seal", None),
    }
    assert closed(setup) == []


def test_a_file_of_a_seal_that_cannot_be_read_is_set_aside(setup: Setup) -> None:
    deliver(setup, 0, "a", clicks=clicks("7"), clicks__campaign__seal="day\n2026-01-31\n")
    (aside,) = setup[1].deliveries.files_aside()
    assert (aside.kind, aside.hint) == ("no-header", "files of this seal have the columns campaign")
    assert log(setup) == [(0, "7")]


def test_a_seal_cannot_be_taken_back(setup: Setup) -> None:
    deliver(setup, 0, "a", clicks__campaign__seal="op,campaign\nI,7\nD,7\n")
    assert kinds(setup) == [("clicks.campaign.seal", "not-insert-only")]
    assert closed(setup) == ['["7"]']


def test_a_value_is_not_longer_than_can_be_kept(setup: Setup) -> None:
    fits, long = "x" * 396, "x" * 397
    deliver(setup, 0, "a", clicks=clicks(fits, long), clicks__campaign__seal=values(fits, long))
    assert log(setup) == [(0, fits)]
    assert sorted(kinds(setup)) == [("clicks", "value-too-long"), ("clicks.campaign.seal", "value-too-long")]


UPSERT = {"keys": {"clicks": KeySettings("upsert", "any")}}


def test_an_update_takes_no_row_out_of_a_sealed_value_nor_into_one(tmp_path: Path) -> None:
    setup = make(tmp_path, SealSettings("campaign", ("campaign",)), coordinators=1, **UPSERT)
    deliver(setup, 0, "a", clicks=clicks("7", "8", "9"), clicks__campaign__seal=values("7"))
    rows = [
        "U,10,0,8,2026-01-31",  # out of a sealed value
        "U,11,0,9,2026-01-31",  # the same, for its row is still there
        "U,12,1,7,2026-01-31",  # into one
        "U,13,1,9,2026-01-31",
        "D,14,0,,",
        "D,15,2,,",
    ]
    deliver(setup, 0, "b", clicks="\n".join(["op,event,id,campaign,day", *rows]) + "\n")
    assert kinds(setup) == 4 * [("clicks", "sealed-value")]
    assert log(setup)[3:] == [(1, "8"), (1, "9"), (2, "9")]
    setup[1].close()


def test_who_moves_a_row_between_values_produces_into_both(tmp_path: Path) -> None:
    setup = make(tmp_path, BY_CAMPAIGN, **UPSERT)
    deliver(setup, 0, "a", clicks=clicks("7"))
    deliver(setup, 1, "a", clicks="op,event,id,campaign,day\nU,1,0,8,2026-01-31\n")
    assert {v.texts[0]: v.registered for v in setup[1].seals.open_values()} == {"7": (0, 1), "8": (1,)}
    setup[1].close()


def test_a_transaction_with_an_event_of_a_sealed_value_is_refused_whole(setup: Setup) -> None:
    deliver(setup, 0, "a", clicks__campaign__seal=values("7"))
    day = datetime.date(2026, 1, 31)
    tables = {
        "clicks": pa.table(
            {"op": ["I", "I"], "event": [1, 2], "id": [1, 2], "campaign": ["7", "8"], "day": [day, day]}
        ),
        "prices": pa.table({"op": ["I", "I"], "event": [1, 2], "price": ["1", "2"], "note": ["a", "b"]}),
    }
    parts = [
        Part(name, name, lambda table=table: iter([RawFile(table, np.arange(2))]))  # type: ignore[misc]
        for name, table in tables.items()
    ]
    arrived = datetime.datetime.now(datetime.UTC)
    delivery = Delivery("s", "t", arrived, lambda: parts, None, "1", transactional=True)
    append_delivery(*setup, 0, delivery)
    assert log(setup) == [(2, "8")]
    assert sorted(kinds(setup)) == [("clicks", "sealed-value"), ("prices", "transaction")]


def test_sources_other_than_drops_may_seal(setup: Setup) -> None:
    part = SealPart(
        "clicks",
        "campaign",
        False,
        "here",
        lambda: iter([RawFile(pa.table({"campaign": ["7"]}), np.arange(1), ops="insert")]),
    )
    append_delivery(*setup, 0, Delivery("s", "t", datetime.datetime.now(datetime.UTC), lambda: [part], None, "1"))
    assert closed(setup) == ['["7"]']


def test_what_was_sealed_while_events_were_judged_is_seen(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    project, catalog = setup
    deliver(setup, 0, "a", clicks=clicks("7", "8"))
    append, other = catalog.log.append, Catalog(project.catalog_url)

    def sealed_meanwhile(*args: object, **kwargs: object) -> tuple[int, ...]:
        other.seals.seal_by_hand(0, SealChange("clicks", "campaign", "registered", seals=('["7"]',)), "somebody")
        return append(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(catalog.log, "append", sealed_meanwhile)
    with pytest.raises(Conflict):
        deliver(setup, 0, "b", clicks=clicks("7", "8", first=10))
    monkeypatch.undo()
    append_delivery(project, catalog, 0, drop_delivery(project, project.landing / "0" / "b"))
    assert log(setup)[2:] == [(11, "8")]
    assert kinds(setup) == [("clicks", "sealed-value")]
    other.close()


def test_who_registers_while_a_value_closes_is_seen(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    project, catalog = setup
    append, other = catalog.log.append, Catalog(project.catalog_url)

    def closed_meanwhile(*args: object, **kwargs: object) -> tuple[int, ...]:
        other.seals.seal_by_hand(1, SealChange("clicks", "campaign", "registered", seals=('["7"]',)), "somebody")
        return append(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(catalog.log, "append", closed_meanwhile)
    with pytest.raises(Conflict):
        deliver(setup, 0, "b", clicks=clicks("7"))
    assert log(setup) == []
    other.close()


def test_a_value_waits_for_who_joins_and_not_for_who_has_left(tmp_path: Path) -> None:
    setup = make(tmp_path, SealSettings("campaign", ("campaign",)), coordinators=2)
    catalog = setup[1]
    catalog.members.add(2)
    deliver(setup, 0, "a", clicks=clicks("7"), clicks__campaign__seal=values("7", "8"))
    deliver(setup, 1, "a", clicks__campaign__seal=values("7"))
    assert [v.missing for v in catalog.seals.open_values()] == [(2,), (1, 2)]
    deliver(setup, 2, "a", clicks__campaign__seal=values("8"))
    catalog.members.drain(1)
    assert closed(setup) == []
    for batch in catalog.log.batches(coordinator=1):
        set_aside(catalog, batch.id, "x")
    for batch in catalog.log.batches(coordinator=0):
        set_aside(catalog, batch.id, "x")
    catalog.votes.vote(0, 0)
    catalog.votes.vote(1, 0)
    assert closed(setup) == ['["8"]']
    catalog.close()


def test_somebody_seals_for_who_is_gone(setup: Setup) -> None:
    deliver(setup, 0, "a", clicks=clicks("7"))
    change = SealChange("clicks", "campaign", "registered", seals=('["7"]',))
    assert setup[1].seals.seal_by_hand(0, change, "me") == 1
    assert setup[1].seals.seal_by_hand(0, change, "me") == 0
    assert closed(setup) == ['["7"]']
    deliver(setup, 0, "b", clicks=clicks("7", first=10))
    assert kinds(setup) == [("clicks", "sealed-value")]


def test_a_batch_that_is_set_aside_keeps_its_values_from_being_final_until_it_is_decided(setup: Setup) -> None:
    project, catalog = setup
    (batch,) = deliver(setup, 0, "a", clicks=clicks("7"), clicks__campaign__seal=values("7"))
    set_aside(catalog, batch, "x")
    (later,) = deliver(setup, 0, "b", clicks=clicks("8"))
    (value,) = catalog.seals.closed_values("clicks", "campaign")

    def holding() -> list[int]:
        return [b.batch for b in catalog.seals.unsettled_batches() if b.may_have(value)]

    assert holding() == [batch]
    retry = restamp(project, catalog, catalog.log.batch(batch))
    assert holding() == [retry]
    set_aside(catalog, retry, "x")
    assert holding() == [retry]
    drop(project, catalog, catalog.log.batch(retry))
    assert holding() == []
    assert [b.batch for b in catalog.seals.unsettled_batches()] == [later]


def test_no_value_is_looked_up_twice_while_it_is_open(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog, asked = setup[1], list[Sequence[str]]()
    states = catalog.seals.value_states

    def counted(coordinator: int, relation: str, seal: str, some: Sequence[str]) -> object:
        asked.append(some)
        return states(coordinator, relation, seal, some)

    monkeypatch.setattr(catalog.seals, "value_states", counted)
    deliver(setup, 0, "a", clicks=clicks("7", "8", "7"))
    deliver(setup, 0, "b", clicks=clicks("7", "8", first=10))
    deliver(setup, 0, "c", clicks=clicks("7", "9", first=20))
    deliver(setup, 0, "d", clicks=clicks("8", first=30), clicks__campaign__seal=values("7"))
    deliver(setup, 0, "e", clicks=clicks("7", "8", "9", first=40))
    assert [sorted(some) for some in asked] == [['["7"]', '["8"]'], ['["9"]'], ['["7"]']]


def test_a_relation_that_has_only_inserts_refuses_deletes(tmp_path: Path) -> None:
    setup = make(tmp_path, insert_only=("clicks",))
    deliver(setup, 0, "a", clicks=clicks("7", "8"))
    deliver(
        setup,
        0,
        "b",
        clicks="op,event,id,campaign,day\nD,10,0,7,2026-01-31\nI,10,0,8,2026-01-31\nI,11,5,7,2026-01-31\n",
    )
    assert log(setup) == [(0, "7"), (1, "8"), (5, "7")]
    assert kinds(setup) == [("clicks", "not-insert-only"), ("clicks", "part")]
    assert rejected(setup)[0][2].startswith("op: clicks has only inserts")
    setup[1].close()


def test_what_is_declared_of_a_project_that_has_begun_is_checked(setup: Setup) -> None:
    project, catalog = setup
    deliver(setup, 0, "a", clicks=clicks("7"))
    (batch,) = deliver(setup, 0, "b", clicks=clicks("7", op="D", first=10))
    check_declarations(dataclasses.replace(project, insert_only=("prices",)), catalog)
    only_inserts = dataclasses.replace(project, insert_only=("clicks",))
    for decided in (False, True):  # it may be retried
        if decided:
            set_aside(catalog, batch, "x")
        with pytest.raises(InputProblem, match=f"batch {batch} has deletes"):
            check_declarations(only_inserts, catalog)
    drop(project, catalog, catalog.log.batch(batch))
    check_declarations(only_inserts, catalog)
    moved = dataclasses.replace(project, seals={"clicks": (SealSettings("campaign", ("day",)),)})
    with pytest.raises(InputProblem, match=r"has values of \[campaign\]"):
        check_declarations(moved, catalog)


def test_what_closed_while_a_coordinator_was_away_is_closed_when_it_is_back(tmp_path: Path) -> None:
    setup = make(tmp_path, SealSettings("campaign", ("campaign",)))
    catalog = setup[1]
    deliver(setup, 1, "a", clicks=clicks("7"))
    deliver(setup, 0, "a", clicks__campaign__seal=values("7"))
    catalog.members.drain(1)
    for batch in catalog.log.batches():
        set_aside(catalog, batch.id, "x")
    catalog.votes.vote(0, 0)
    catalog.votes.vote(1, 0)
    assert closed(setup) == ['["7"]']
    catalog.members.add(1)
    deliver(setup, 1, "b", clicks=clicks("7", first=10))
    assert kinds(setup) == [("clicks", "sealed-value")]
    catalog.close()


def test_rows_that_were_set_aside_are_retried_and_then_their_seals(tmp_path: Path) -> None:
    project = dataclasses.replace(
        make_project(tmp_path, [CLICKS], views={"v": "SELECT COUNT(*) AS n FROM clicks"}, coordinators=1),
        seals={"clicks": (BY_CAMPAIGN,)},
    )
    initialise(project)
    with open_runtime(project) as rt:
        setup = project, rt.catalog
        deliver(setup, 0, "a", clicks="<html>", clicks__campaign__seal=values("7"))
        (project.landing / "0" / "a" / "clicks.csv").write_text(clicks("7", "8"))
        by_name = {Path(f.place).name: f.label for f in rt.catalog.deliveries.files_aside()}
        retry_put_aside(rt, [by_name["clicks.csv"], by_name["clicks.campaign.seal.csv"]])
        assert (log(setup), closed(setup), rt.catalog.deliveries.files_aside()) == ([(0, "7"), (1, "8")], ['["7"]'], [])


def test_who_has_rows_already_is_registered_when_a_seal_is_declared(tmp_path: Path) -> None:
    setup = make(tmp_path)
    project, catalog = setup
    deliver(setup, 0, "a", clicks=clicks("7", "8"))
    (aside,) = deliver(setup, 1, "a", clicks=clicks("7", "", "z" * 400, first=10))
    (gone,) = deliver(setup, 1, "b", clicks=clicks("8", first=20))
    set_aside(catalog, aside, "x")  # it may be retried
    set_aside(catalog, gone, "x")
    drop(project, catalog, catalog.log.batch(gone))

    def declared(producers: str) -> Project:
        return dataclasses.replace(project, seals={"clicks": (SealSettings("campaign", ("campaign",), producers),)})

    with pytest.raises(InputProblem, match=r'coordinators 0 and 1 have rows of \["7"\] already'):
        declare(declared("one"), catalog)
    assert catalog.seals.declared() is None
    setup = declared("registered"), catalog
    declare(*setup)
    assert {v.value: v.registered for v in catalog.seals.open_values()} == {
        '["7"]': (0, 1),
        '["8"]': (0,),
        "[null]": (1,),
    }
    deliver(setup, 0, "b", clicks__campaign__seal=values("7", "8"))
    assert closed(setup) == ['["8"]']
    deliver(setup, 1, "c", clicks=clicks("7", first=30), clicks__campaign__seal=values("7"))
    assert closed(setup) == ['["8"]', '["7"]']
    catalog.close()


def test_what_comes_while_a_seal_is_declared_is_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = make(tmp_path)
    project, catalog = setup
    declare(project, catalog)
    deliver(setup, 0, "a", clicks=clicks("7"))
    real = catalog.seals.declare

    def late(*arguments: Any) -> None:
        deliver(setup, 1, "a", clicks=clicks("7", first=10))
        real(*arguments)

    monkeypatch.setattr(catalog.seals, "declare", late)
    declare(dataclasses.replace(project, seals={"clicks": (BY_CAMPAIGN,)}), catalog)
    assert [v.registered for v in catalog.seals.open_values()] == [(0, 1)]
    catalog.close()


def test_a_process_that_knows_the_old_file_is_refused(setup: Setup) -> None:
    project, catalog = setup
    declare(project, catalog)
    deliver(setup, 0, "a", clicks=clicks("7"), clicks__campaign__seal=values("7"))
    stricter = dataclasses.replace(project, insert_only=("clicks",))
    declare(stricter, catalog)
    with pytest.raises(SetupProblem, match="other seals"):
        deliver(setup, 0, "b", clicks=clicks("8", first=10))
    deliver((stricter, catalog), 0, "c", clicks=clicks("8", first=10))
    assert log(setup) == [(0, "7"), (10, "8")]
    with pytest.raises(InputProblem, match="had the seal campaign, of which values are closed"):
        declare(dataclasses.replace(stricter, seals={}), catalog)
    assert catalog.seals.declared() == declaration(stricter)
