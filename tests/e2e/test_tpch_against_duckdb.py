"""The law on TPC-H: every committed snapshot equals the same SQL recomputed by DuckDB over the event log up to it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cumulus_ops.demo.events import make_events
from cumulus_ops.demo.tpch import generate_tables
from cumulus_ops.epochs import checkpoint, minibatch
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.versions import epoch_end
from cumulus_ops.query.read import read_view
from tests.support.tpch_stream import (
    VIEWS,
    all_maps,
    delete_everything,
    join_drops,
    make_project,
    net_tables,
    same_rows,
    started,
    table_rows,
    view_text,
)

EPOCHS = 4
LAST = epoch_end(EPOCHS - 1)


@pytest.fixture(scope="session")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tpch-stream")
    tables = generate_tables(folder / "tables", 0.01)
    return make_events(tables, folder / "stream", epochs=EPOCHS, coordinators=3, seed=7)


@pytest.fixture(scope="module")
def finished(stream: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """The whole stream, processed; tests read it as of an epoch, since one of them adds another epoch."""
    folder = tmp_path_factory.mktemp("tpch")
    shutil.copytree(stream, folder / "landing")
    with started(make_project(folder, folder / "landing")) as rt:
        run_epochs(rt, EPOCHS, validating=False)
        yield rt


@pytest.mark.parametrize("epoch", range(EPOCHS))
def test_every_view_of_every_snapshot_is_what_duckdb_computes(finished: Runtime, epoch: int) -> None:
    with net_tables(finished, epoch) as connection:
        for view in VIEWS:
            theirs = connection.execute(view_text(view, ordered=False)).fetchall()
            ours = table_rows(read_view(finished, view, as_of=epoch, ordered=False))
            assert theirs, view
            assert same_rows(ours, theirs), f"{view} of epoch {epoch}"


@pytest.mark.parametrize(("view", "limit", "keys"), [("q3", 10, [1, 2]), ("q10", 20, [2]), ("q1", 4, [0, 1])])
def test_order_and_limit_are_duckdbs(finished: Runtime, view: str, limit: int, keys: list[int]) -> None:
    with net_tables(finished, EPOCHS - 1) as connection:
        theirs = connection.execute(view_text(view, ordered=True)).fetchall()
        everything = connection.execute(view_text(view, ordered=False)).fetchall()
    ours = table_rows(read_view(finished, view, as_of=EPOCHS - 1))
    assert len(ours) == limit
    assert [[row[k] for k in keys] for row in ours] == [[row[k] for k in keys] for row in theirs]
    if view != "q1":  # whose averages are rounded differently
        assert set(ours) <= set(everything)


def test_the_stream_was_hard_enough(finished: Runtime) -> None:
    """Deletes came, and batches saw too little and were corrected; else the tests above prove nothing."""
    batches = [b for b in finished.catalog.log.batches() if b.epoch < EPOCHS]
    assert all(sum(b.deletes for b in batches if b.epoch == epoch) > 0 for epoch in range(EPOCHS))
    assert all(finished.catalog.commits.corrections()[epoch] > 0 for epoch in range(1, EPOCHS))
    assert not any(b.quarantined or b.duplicates for b in batches)


def test_one_batch_against_many(finished: Runtime, stream: Path, tmp_path: Path) -> None:
    join_drops(stream, tmp_path / "landing")
    with started(make_project(tmp_path, tmp_path / "landing")) as rt:
        run_epochs(rt, 1, validating=False)
        assert [b.coordinator for b in rt.catalog.log.batches()] == [0, 1, 2]
        expected = all_maps(finished, LAST)
        assert sum(len(t) for t in expected.values()) > 10_000
        for name, table in all_maps(rt, epoch_end(0)).items():
            assert table.equals(expected[name]), name


def test_without_corrections_snapshots_are_wrong(
    finished: Runtime, stream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests above see a missing correction: clocks advance, but nobody computes what was missed."""

    def advance(rt: Runtime) -> int:
        at = rt.catalog.commits.last_commit()
        rt.catalog.commits.commit_correction(
            [c for c in rt.catalog.commits.clocks(at) if c.clock.prefix < at], at, (), {}
        )
        return 0

    monkeypatch.setattr(checkpoint, "correct", advance)
    monkeypatch.setattr(minibatch, "correct", advance)
    monkeypatch.setattr(minibatch, "correct", advance)
    with started(make_project(tmp_path, stream)) as rt:
        run_epochs(rt, 2, validating=False)
        assert rt.catalog.commits.corrections() == {}
        expected = all_maps(finished, epoch_end(1))
        assert any(not table.equals(expected[name]) for name, table in all_maps(rt, epoch_end(1)).items())
        with net_tables(rt, 1) as connection:
            wrong = [
                view
                for view in VIEWS
                if not same_rows(
                    table_rows(read_view(rt, view, as_of=1, ordered=False)),
                    connection.execute(view_text(view, ordered=False)).fetchall(),
                )
            ]
        assert {"q3", "q10", "example21"} & set(wrong)
        assert not {"q1", "q6"} & set(wrong)  # they join nothing, so there is nothing to miss


def test_when_everything_is_deleted_nothing_is_left(finished: Runtime) -> None:
    before = read_view(finished, "q3", as_of=0)
    deleted = delete_everything(finished, EPOCHS - 1)
    run_epochs(finished, 1, validating=False)
    assert sum(b.deletes for b in finished.catalog.log.batches() if b.epoch == EPOCHS) == deleted > 0
    assert {name: len(table) for name, table in all_maps(finished).items() if len(table)} == {}
    assert table_rows(read_view(finished, "q6")) == [(None,)]
    assert all(len(read_view(finished, view)) == 0 for view in VIEWS if view != "q6")
    assert read_view(finished, "q3", as_of=0).equals(before)
