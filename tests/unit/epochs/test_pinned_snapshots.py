"""Snapshots stay readable until they are published and validated, within a limit; what comes too late is said, not raised."""

from __future__ import annotations

import dataclasses
import json
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
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.publishing.delta_tables import published_versions
from cumulus_ops.publishing.publishing import list_awaiting, publish
from cumulus_ops.query.read import read_view
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import make_project

SALES = Relation("sales", (Column("shop", INT), Column("amount", INT)))
VIEWS = {"total": "SELECT shop, SUM(amount) AS amount FROM sales GROUP BY shop"}


@pytest.fixture
def rt(tmp_path):
    """A project that retains two epochs, and pins five."""
    project = make_project(tmp_path, [SALES], views=VIEWS, coordinators=1, retain=2)
    project = dataclasses.replace(project, epoch=dataclasses.replace(project.epoch, pin=5))
    initialise(project)
    with open_runtime(project) as runtime:
        yield runtime


def run_epoch(rt: Runtime) -> int:
    """One more epoch, in which shop 1 sells for 1, and the others' sales of 0 make merges worthwhile."""
    epoch = rt.catalog.members.position(0)[0]
    for drop in range(3):
        folder = rt.project.landing / "0" / f"{epoch:03}-{drop}"
        folder.mkdir(parents=True)
        rows = [{"shop": 1, "amount": int(drop == 0)}, {"shop": epoch + 2, "amount": 5}]
        lines = [json.dumps({**row, "op": "I", "event": 10 * epoch + 3 * drop + i}) for i, row in enumerate(rows)]
        (folder / "sales.ndjson").write_text("\n".join(lines) + "\n")
        run_minibatch(rt, 0)
    vote(rt, 0, epoch)
    commit(rt, epoch)
    return epoch


def mark_validated(rt: Runtime) -> None:
    """What a passed validation leaves in the catalog."""
    for epoch in list_awaiting(rt, "validate"):
        rt.catalog.results.record_validation(Validation(epoch, "passed", (), "", 0.0))


def of_shop_1(rt: Runtime, epoch: int) -> int:
    return next(r["amount"] for r in read_view(rt, "total", as_of=epoch).to_pylist() if r["shop"] == 1)


def test_what_was_not_published_in_time_for_retain_is_published_later_as_it_was(rt: Runtime) -> None:
    for _ in range(5):
        run_epoch(rt)
    for epoch in list_awaiting(rt, "publish"):
        publish(rt, epoch)
    table = rt.project.published / "total"  # type: ignore[operator]
    assert list(published_versions(table)) == [0, 1, 2, 3, 4]
    for epoch, version in published_versions(table).items():
        rows = DeltaTable(str(table), version=version).to_pyarrow_table().to_pylist()
        assert next(r["amount"] for r in rows if r["shop"] == 1) == epoch + 1
    assert status(rt).epochs[0].expired == ()


def test_beyond_the_limit_a_snapshot_expires_visibly_and_the_rest_goes_on(
    rt: Runtime, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(8):
        run_epoch(rt)
    assert list(list_awaiting(rt, "publish")) == list(list_awaiting(rt, "validate")) == [3, 4, 5, 6, 7]
    for epoch in list_awaiting(rt, "publish"):
        publish(rt, epoch)
    mark_validated(rt)
    assert list(published_versions(Path(str(rt.project.published)) / "total")) == [3, 4, 5, 6, 7]
    epochs = status(rt).epochs
    assert [e.expired for e in epochs] == [("publish", "validate")] * 3 + [()] * 5
    assert [e.validation for e in epochs] == ["expired"] * 3 + ["passed"] * 5
    print_status(status(rt))
    assert capsys.readouterr().out.count("expired, not published") == 3
    assert publish(rt, 0) == {}
    with pytest.raises(InputProblem, match="no longer retained") as caught:
        read_view(rt, "total", as_of=2)
    assert "`pin`" in caught.value.hint


def test_what_is_done_is_let_go_at_retain_and_what_is_newer_than_a_pinned_one_stays(rt: Runtime) -> None:
    for _ in range(3):
        publish(rt, run_epoch(rt))
        mark_validated(rt)
    run_epoch(rt)
    assert rt.catalog.snapshots.oldest_readable() == 2  # two epochs are retained, whatever was done with them
    for _ in range(3):
        publish(rt, run_epoch(rt))  # and those are not validated, but for what 3 was
    assert rt.catalog.snapshots.oldest_readable() == 3
    assert [of_shop_1(rt, epoch) for epoch in range(3, 7)] == [4, 5, 6, 7]
    mark_validated(rt)
    publish(rt, 3)
    run_epoch(rt)
    assert rt.catalog.snapshots.oldest_readable() == 6
    assert rt.catalog.snapshots.expired() == {}


def test_a_reader_whose_epoch_is_folded_meanwhile_gets_no_wrong_answer(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        run_epoch(rt)
    runs = rt.catalog.commits.runs

    def slowly(at: int) -> object:
        monkeypatch.setattr(rt.catalog.commits, "runs", runs)
        for _ in range(6):
            run_epoch(rt)
        return runs(rt.catalog.commits.last_commit())

    monkeypatch.setattr(rt.catalog.commits, "runs", slowly)
    with pytest.raises(InputProblem, match="no longer retained"):
        read_view(rt, "total", as_of=1)
