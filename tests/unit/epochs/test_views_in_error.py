"""A view in error: the others go on, everybody is told since when and why, and it comes back with the first right epoch."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from deltalake import DeltaTable

from cumulus_ops.catalog.records import Validation
from cumulus_ops.cli.status_text import print_status
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.status import status
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import InputProblem, ViewInError
from cumulus_ops.project.names import NOTICES
from cumulus_ops.publishing.delta_tables import IN_ERROR, SHOWS, SINCE, UPTO, publish_error, published_versions
from cumulus_ops.publishing.publishing import list_awaiting, publish
from cumulus_ops.query.errors import view_error, views_in_error
from cumulus_ops.query.read import read_view
from cumulus_ops.validation.run import validation_request
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import make_project

SALES = Relation("sales", (Column("id", INT), Column("shop", INT), Column("amount", INT), Column("n", INT)), ("id",))
VIEWS = {
    "per_piece": "SELECT shop, SUM(amount / n) AS price FROM sales GROUP BY shop",
    "rows_of": "SELECT shop, COUNT(*) AS n FROM sales GROUP BY shop",
    "total": "SELECT SUM(amount) AS amount FROM sales",
}
#: (op, id, shop, amount, n)
Event = tuple[str, int, int, int, int]
FAILS: Event = ("I", 100, 1, 7, 0)
LARGE: Event = ("I", 200, 3, 2**63 - 1, 4)


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[Runtime]:
    """A project of three coordinators; what fails in its views is a division for one, and only found by reading for another."""
    project = make_project(tmp_path, [SALES], views=VIEWS, retain=2)
    project = dataclasses.replace(project, epoch=dataclasses.replace(project.epoch, pin=5))
    initialise(project)
    with open_runtime(project) as runtime:
        yield runtime


def land(rt: Runtime, coordinator: int, *events: Event) -> None:
    """One drop, applied."""
    done = len(rt.catalog.log.batches(coordinator=coordinator))
    folder = rt.project.landing / str(coordinator) / f"{done:03}"
    folder.mkdir(parents=True)
    rows = [dict(zip(("op", "id", "shop", "amount", "n"), e, strict=True)) for e in events]
    lines = (json.dumps({**row, "event": 10 * done + i}) for i, row in enumerate(rows))
    (folder / "sales.ndjson").write_text("\n".join(lines) + "\n")
    run_minibatch(rt, coordinator)


def run_epoch(rt: Runtime, events: Mapping[int, Event] | None = None) -> int:
    """One more epoch, of a sale by each coordinator, and of what is given for some."""
    epoch = rt.catalog.members.position(0)[0]
    for c in range(3):
        extra = [(events or {})[c]] if c in (events or {}) else []
        land(rt, c, ("I", 10 * epoch + c, c, 6, 2), *extra)
    for c in range(3):
        vote(rt, c, epoch)
    commit(rt, epoch)
    return epoch


def publish_all(rt: Runtime) -> list[set[str]]:
    return [set(publish(rt, epoch)) for epoch in list_awaiting(rt, "publish")]


def properties(rt: Runtime, view: str) -> dict[str, str | None]:
    return DeltaTable(str(folder(rt, view))).metadata().configuration


def folder(rt: Runtime, view: str) -> Path:
    assert rt.project.published is not None
    return rt.project.published / view


def epochs_in_error(rt: Runtime) -> list[tuple[str, int]]:
    return sorted((e.view, e.epoch) for e in rt.catalog.results.view_errors())


def test_a_failing_event_takes_its_view_out_until_it_is_deleted_and_nothing_else(
    rt: Runtime, capsys: pytest.CaptureFixture[str]
) -> None:
    run_epoch(rt)
    run_epoch(rt, {1: FAILS})
    run_epoch(rt)
    assert publish_all(rt) == [set(VIEWS), {"rows_of", "total"}, {"rows_of", "total"}]
    assert epochs_in_error(rt) == [("per_piece", 1), ("per_piece", 2)]
    told = properties(rt, "per_piece")
    assert (told[SINCE], told[UPTO], told[SHOWS]) == ("1", "2", "0")
    assert "id = 100" in str(told[IN_ERROR])
    shown = DeltaTable(str(folder(rt, "per_piece"))).to_pyarrow_table().to_pylist()
    assert sorted(row["shop"] for row in shown) == [0, 1, 2]

    now = status(rt)
    assert [(e.view, e.since, e.epoch) for e in now.in_error] == [("per_piece", 1, 2)]
    assert "division" in now.in_error[0].message
    assert "sales" in now.in_error[0].message
    assert [[e.view for e in epoch.in_error] for epoch in now.epochs] == [[], ["per_piece"], ["per_piece"]]
    print_status(now)
    printed = capsys.readouterr().out
    assert "in error: per_piece" in printed
    assert "id = 100" in printed
    notices = rt.project.state / NOTICES
    assert "`per_piece` since epoch 1" in notices.read_text()

    run_epoch(rt, {1: ("D", *FAILS[1:])})
    assert publish_all(rt) == [set(VIEWS)]
    assert not status(rt).in_error
    assert not notices.exists()
    assert not any(properties(rt, "per_piece").values())
    assert list(published_versions(folder(rt, "per_piece"))) == [0, 3]


def test_what_only_reading_finds_is_recorded_by_publishing(rt: Runtime) -> None:
    run_epoch(rt, {0: LARGE, 1: LARGE})
    assert epochs_in_error(rt) == []
    assert publish_all(rt) == [{"per_piece", "rows_of"}]
    assert not folder(rt, "total").exists()
    assert set(views_in_error(rt, 0)) == {"total"}
    run_epoch(rt, {1: ("D", *LARGE[1:])})
    assert publish_all(rt) == [{"per_piece", "rows_of"}], "one of the two is still too much, with the others"
    run_epoch(rt, {0: ("D", *LARGE[1:])})
    assert publish_all(rt) == [set(VIEWS)]
    assert read_view(rt, "total").to_pylist() == [{"amount": 54}]


def test_views_in_error_are_found_without_publishing_too_and_others_are_validated(rt: Runtime, tmp_path: Path) -> None:
    run_epoch(rt, {0: LARGE, 1: LARGE, 2: FAILS})
    found = views_in_error(rt, 0)
    assert set(found) == {"per_piece", "total"}
    assert all("since epoch 0" in text for text in found.values())
    assert epochs_in_error(rt) == [("per_piece", 0), ("total", 0)]
    request = validation_request(rt, 0, tmp_path)
    assert {view.name: view.error for view in request.views} == {"rows_of": "", **found}
    assert {view.name for view in request.views if view.snapshot is not None} == {"rows_of"}
    of_errors = validation_request(rt, 0, tmp_path, ["total"])
    assert request.groups is not None
    assert of_errors.groups is not None, "what is compared must not depend on what is in error"
    assert of_errors.groups.schema == request.groups.schema
    assert len(of_errors.groups) == 0


def test_snapshots_with_a_view_in_error_are_let_go_as_others_are(rt: Runtime) -> None:
    run_epoch(rt, {0: FAILS})
    for _ in range(4):
        run_epoch(rt)
        publish_all(rt)
        for epoch in list_awaiting(rt, "validate"):
            rt.catalog.results.record_validation(Validation(epoch, "passed", (), "", 0.0))
    assert rt.catalog.snapshots.release(rt.project.epoch.retain, rt.project.epoch.pin, rt.project.consumers) == 3
    assert not rt.catalog.snapshots.expired()


def test_an_error_that_a_correction_takes_away_is_only_tentative(rt: Runtime) -> None:
    run_epoch(rt)
    land(rt, 2, FAILS)
    with pytest.raises(ViewInError):
        read_view(rt, "per_piece", tentative=True)
    assert read_view(rt, "per_piece", as_of=0).num_rows == 3
    land(rt, 2, ("D", *FAILS[1:]))
    run_epoch(rt)
    assert publish_all(rt) == [set(VIEWS), set(VIEWS)]
    assert epochs_in_error(rt) == []


def test_a_notice_is_as_it_would_be_however_often_and_late_it_is_told(rt: Runtime) -> None:
    run_epoch(rt)
    run_epoch(rt, {1: FAILS})
    publish_all(rt)
    path = folder(rt, "per_piece")
    versions, owner = DeltaTable(str(path)).version(), rt.catalog.database.identity()
    assert owner is not None
    publish_error(path, owner, epoch=1, since=1, reason="again", program="p")
    assert DeltaTable(str(path)).version() == versions
    run_epoch(rt, {1: ("D", *FAILS[1:])})
    publish_all(rt)
    publish_error(path, owner, epoch=1, since=1, reason="late", program="p")
    assert not any(properties(rt, "per_piece").values())


def test_killed_at_each_place_in_turn_and_run_again_it_is_the_same(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    publishing = importlib.import_module("cumulus_ops.publishing.publishing")
    for events in ({}, {1: FAILS}, {1: ("D", *FAILS[1:])}):
        epoch, lives, died = run_epoch(rt, events), 0, True
        while died:
            lives += 1
            places = iter(range(lives))
            monkeypatch.setattr(publishing, "reach", lambda _, places=places: next(places))
            try:
                publish(rt, epoch)
                died = False
            except StopIteration:
                pass
        assert lives > 3
    assert epochs_in_error(rt) == [("per_piece", 1)]
    path = folder(rt, "per_piece")
    assert {e for v, e in rt.catalog.results.published() if v == "per_piece"} == set(published_versions(path)) == {0, 2}
    assert DeltaTable(str(path)).version() == 3, "rows, the error, rows, no error"
    assert not any(properties(rt, "per_piece").values())


def test_what_is_folded_while_it_is_read_is_no_error_of_the_snapshot(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later epoch's failing row may be among the versions that have become one."""
    read = importlib.import_module("cumulus_ops.query.read")
    check = read.failed_check_of

    def slowly(*arguments: object) -> ViewInError | None:
        found: ViewInError | None = check(*arguments)
        rt.catalog.snapshots.release(1, 1, ())
        return found

    run_epoch(rt, {0: FAILS})
    run_epoch(rt)
    monkeypatch.setattr(read, "failed_check_of", slowly)
    with pytest.raises(InputProblem) as problem:
        read_view(rt, "per_piece", as_of=0)
    assert problem.value.kind == "not-retained"


def test_the_first_error_of_a_snapshot_stays(rt: Runtime) -> None:
    run_epoch(rt, {0: FAILS})
    first = rt.catalog.results.view_errors()
    rt.catalog.results.record_view_error(view_error("per_piece", 0, ViewInError("another", kind="x")))
    assert rt.catalog.results.view_errors() == first
