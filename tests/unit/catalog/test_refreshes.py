"""The clock of the maps that depend on derivations: who may advance it, and what waits for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import Snapshot
from cumulus_ops.project.errors import Conflict, InputProblem
from cumulus_ops.project.versions import epoch_end
from tests.support.catalogs import NOBODY, PROGRAM, append, new_run, url_of


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """A catalog of a program with derivations, which starts with one run of the derived map d."""
    catalog = Catalog(url_of(tmp_path))
    catalog.database.migrate()
    assert not catalog.program.is_registered()
    catalog.program.register(
        dataclasses.replace(PROGRAM, refreshed=0), [dataclasses.replace(new_run("d"), min_version=-1)]
    )
    yield catalog
    catalog.close()


def apply(catalog: Catalog, drop: str, coordinator: int = 0, epoch: int = 0) -> int:
    batch = append(catalog, coordinator, drop)
    number = catalog.commits.commit_apply(
        batch, catalog.commits.begin_apply(batch, NOBODY), [new_run(epoch=epoch)], 0.0
    )
    assert number is not None
    return number


def seal_all(catalog: Catalog, epoch: int) -> None:
    for coordinator in range(3):
        catalog.votes.vote(coordinator, epoch)


def snapshot(catalog: Catalog, epoch: int) -> Snapshot:
    return Snapshot(epoch, epoch_end(epoch), catalog.commits.last_commit(), 0, 0.0)


def test_what_there_is_at_the_start_is_committed_with_the_program(catalog: Catalog) -> None:
    assert catalog.program.is_registered()
    assert [(r.map, r.commit, r.origin) for r in catalog.commits.runs(catalog.commits.last_commit())] == [("d", 1, 1)]
    catalog.program.register(dataclasses.replace(PROGRAM, refreshed=0), [new_run("e")])
    assert catalog.commits.last_commit() == 1
    with pytest.raises(InputProblem):
        catalog.program.register(dataclasses.replace(PROGRAM, digest="e" * 64), [])


def test_of_two_refreshes_one_wins(catalog: Catalog) -> None:
    at = apply(catalog, "d1")
    assert catalog.commits.refreshed() == 0
    number = catalog.commits.commit_refresh(0, at, [new_run("d")], {0: 3})
    assert (catalog.commits.refreshed(), number, catalog.commits.corrections()) == (at, at + 1, {0: 3})
    before = catalog.commits.runs(number)
    with pytest.raises(Conflict):
        catalog.commits.commit_refresh(0, at, [new_run("d")], {0: 3})
    assert (catalog.commits.runs(catalog.commits.last_commit()), catalog.commits.corrections()) == (before, {0: 3})
    assert before[-1].origin == at, "its runs are incorporated as far as it has read"


def test_a_refresh_without_runs_advances_the_clock_only(catalog: Catalog) -> None:
    at = apply(catalog, "d1")
    assert catalog.commits.commit_refresh(0, at, [], {}) == at == catalog.commits.last_commit()
    assert catalog.commits.refreshed() == at


def test_a_snapshot_waits_for_the_refresh_of_its_epoch_only(catalog: Catalog) -> None:
    apply(catalog, "d1")
    at = catalog.commits.last_commit()
    seal_all(catalog, 0)
    apply(catalog, "d2", epoch=1)
    derived = {"d"}
    with pytest.raises(Conflict, match="refresh"):
        catalog.snapshots.checkpoint(snapshot(catalog, 0), derived)
    catalog.commits.commit_refresh(0, at, [new_run("d")], {})
    catalog.snapshots.checkpoint(snapshot(catalog, 0), derived)  # the batch of epoch 1 is not refreshed yet
    assert [s.epoch for s in catalog.snapshots.all()] == [0]


def test_what_the_program_starts_with_must_be_refreshed_too(catalog: Catalog) -> None:
    seal_all(catalog, 0)
    with pytest.raises(Conflict, match="refresh"):
        catalog.snapshots.checkpoint(snapshot(catalog, 0), {"d"})
    catalog.commits.commit_refresh(0, 1, [], {})
    catalog.snapshots.checkpoint(snapshot(catalog, 0), {"d"})


def test_a_derived_map_s_runs_need_no_correction(catalog: Catalog) -> None:
    """Nothing that a clock stands for has read them."""
    apply(catalog, "d1")
    seal_all(catalog, 0)
    later = apply(catalog, "d2", epoch=1)
    catalog.commits.commit_refresh(0, later, [new_run("d")], {})
    with pytest.raises(Conflict, match="correction"):
        catalog.snapshots.checkpoint(snapshot(catalog, 0), ())
    catalog.snapshots.checkpoint(snapshot(catalog, 0), {"d"})


def test_runs_that_are_not_refreshed_stay_apart(catalog: Catalog) -> None:
    first = apply(catalog, "d1")
    second = apply(catalog, "d2")
    catalog.commits.commit_correction(catalog.commits.clocks(second), second, (), {})
    assert catalog.commits.mergeable(second) == []
    catalog.commits.commit_refresh(0, first, [], {})
    assert [r.origin for r in catalog.commits.mergeable(second)] == [1, first]
    with pytest.raises(Conflict):
        catalog.commits.commit_merge([(catalog.commits.runs(second), [])])
