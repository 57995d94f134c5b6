"""Leases: what a step under way keeps, what is refused once it is over, and that nobody has to wait for the dead."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cumulus_ops.catalog import leases
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import LogFile, NewBatch, NewQuarantine, NewRun, Step, step_of
from cumulus_ops.project.errors import Conflict
from tests.support.catalogs import NOBODY, append, make_catalog, new_run, url_of
from tests.support.leases import lapse


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    catalog = make_catalog(tmp_path)
    yield catalog
    catalog.close()


@pytest.fixture
def other(catalog: Catalog, tmp_path: Path) -> Iterator[Catalog]:
    """Another process."""
    other = Catalog(url_of(tmp_path))
    yield other
    other.close()


def written(step: Step, name: str = "m") -> NewRun:
    return dataclasses.replace(new_run(name), path=f"runs/{step.label}x.pack")


def apply(catalog: Catalog, coordinator: int, drop: str, step: Step = NOBODY) -> int | None:
    batch = append(catalog, coordinator, drop)
    runs = [new_run(path=f"runs/{coordinator}-{drop}.pack") if step is NOBODY else written(step)]
    return catalog.commits.commit_apply(batch, catalog.commits.begin_apply(batch, step), runs, 0.0)


def correct_all(catalog: Catalog) -> None:
    at = catalog.commits.last_commit()
    catalog.commits.commit_correction(catalog.commits.clocks(at), at, (), {})


def _fail_after(what: Callable[[], None]) -> None:
    what()
    raise FileNotFoundError("deleted by others")


def pass_by(other: Catalog, folder: Path) -> None:
    """Another process finds all leases lapsed."""
    lapse(url_of(folder))
    other.leases.forget_retired()


def test_files_are_named_by_their_step(catalog: Catalog) -> None:
    with catalog.leases.step() as first, catalog.leases.step() as second:
        assert first.lease == second.lease
        assert first.number != second.number
        for step in (first, second):
            assert step_of(f"log/sale/{step.label}5e8f.parquet") == step
    assert step_of("runs/5e8f.pack") is None
    assert step_of("12.3-log/sale/5e8f.parquet") is None


def test_what_a_step_writes_is_committed_only_while_its_lease_holds(
    tmp_path: Path, catalog: Catalog, other: Catalog
) -> None:
    with catalog.leases.step() as step:
        lapse(url_of(tmp_path))
        assert apply(catalog, 0, "a", step) == 1, "lapsed, but nobody has passed it by"
        pass_by(other, tmp_path)
        waiting = append(catalog, 1, "b")
        read_at = catalog.commits.begin_apply(waiting, step)
        with pytest.raises(Conflict) as caught:
            catalog.commits.commit_apply(waiting, read_at, [written(step)], 0.0)
        assert caught.value.kind == "lease-over"
        assert (catalog.commits.last_commit(), catalog.log.batch(waiting).state) == (1, "appended")


def test_an_append_needs_its_lease_too(tmp_path: Path, catalog: Catalog, other: Catalog) -> None:
    for place in ("log", "quarantine"):
        with catalog.leases.step() as step:
            pass_by(other, tmp_path)
            path = f"{place}/r/{step.label}x.parquet"
            log = (LogFile(0, "r", path, 1, "0/r", 0, 0),) if place == "log" else ()
            bad = (NewQuarantine("r", path, 1),) if place == "quarantine" else ()
            with pytest.raises(Conflict) as caught:
                catalog.log.append([NewBatch(0, "d", 0, 0, 1, 1, 0, 0, 0, log, bad)])
        assert caught.value.kind == "lease-over"
        assert (catalog.log.batches(), catalog.members.position(0)) == ([], (0, 0))


def test_whatever_goes_wrong_after_the_lease_is_over_is_a_conflict(
    tmp_path: Path, catalog: Catalog, other: Catalog
) -> None:
    with pytest.raises(FileNotFoundError), catalog.leases.step() as first:
        raise FileNotFoundError("a defect, for the lease holds")
    with pytest.raises(Conflict) as caught, catalog.leases.step() as second:
        _fail_after(lambda: pass_by(other, tmp_path))
    assert caught.value.kind == "lease-over"
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    with catalog.leases.step() as third:
        assert first.lease == second.lease != third.lease
        assert apply(catalog, 0, "a", third) == 1


def test_a_process_that_stood_still_takes_another_lease(
    tmp_path: Path, catalog: Catalog, other: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with catalog.leases.step() as step:
        pass
    monkeypatch.setattr(leases, "LEASE_S", 0.0)  # as if it had been longer
    with catalog.leases.step() as same:
        assert same.lease == step.lease
    pass_by(other, tmp_path)
    with catalog.leases.step() as another:
        assert another.lease != step.lease


def test_a_commit_needs_its_files(tmp_path: Path, catalog: Catalog) -> None:
    careful = Catalog(url_of(tmp_path), tmp_path)
    with careful.leases.step() as step:
        batch = append(catalog, 0, "a")
        read_at = careful.commits.begin_apply(batch, step)
        for _ in range(2):
            with pytest.raises(Conflict) as caught:
                careful.commits.commit_apply(batch, read_at, [written(step)], 0.0)
            assert caught.value.kind == "files-lost"
        assert careful.commits.last_commit() == 0
        (tmp_path / "runs").mkdir()
        (tmp_path / written(step).path).touch()
        assert careful.commits.commit_apply(batch, read_at, [written(step)], 0.0) == 1
    careful.close()


def test_retired_runs_stay_while_a_step_may_read_them(tmp_path: Path, catalog: Catalog, other: Catalog) -> None:
    for drop in ("a", "b"):
        apply(catalog, 0, drop)
    with other.leases.step():  # begins before the merge, and takes long
        correct_all(catalog)
        catalog.commits.commit_merge([(catalog.commits.runs(2), [new_run(path="runs/n.pack")])])
        for process in (catalog, other):
            process.leases.renew()
        assert catalog.leases.forget_retired() == []
        assert [r.path for r in other.commits.runs(2)] == ["runs/0-a.pack", "runs/0-b.pack"]
    assert catalog.leases.forget_retired() == [], "nobody knows yet that it is done"
    other.leases.renew()
    with other.leases.step():  # begins after it
        assert catalog.leases.forget_retired() == ["runs/0-a.pack", "runs/0-b.pack"]


def test_retired_runs_do_not_wait_for_the_dead(tmp_path: Path, catalog: Catalog, other: Catalog) -> None:
    for drop in ("a", "b"):
        apply(catalog, 0, drop)
    with other.leases.step():
        correct_all(catalog)
        catalog.commits.commit_merge([(catalog.commits.runs(2), [])])
        lapse(url_of(tmp_path))
        assert len(catalog.leases.forget_retired()) == 2


def test_an_announced_read_holds_merges_back_until_its_step_is_over(
    tmp_path: Path, catalog: Catalog, other: Catalog
) -> None:
    slow = append(other, 2, "slow")
    with other.leases.step() as step:
        assert other.commits.begin_apply(slow, step) == 0
        for drop in ("a", "b"):
            apply(catalog, 0, drop)
        correct_all(catalog)
        other.leases.renew()
        assert catalog.commits.mergeable(2) == []
    other.leases.renew()
    assert len(catalog.commits.mergeable(2)) == 2, "it has failed, and its process goes on"
    with pytest.raises(Conflict), other.leases.step() as step:
        _passed_by_while_applying(tmp_path, catalog, other, slow, step)
    with other.leases.step() as step:
        assert other.commits.commit_apply(slow, other.commits.begin_apply(slow, step), [written(step)], 0.0) == 5


def _passed_by_while_applying(folder: Path, catalog: Catalog, other: Catalog, slow: int, step: Step) -> None:
    other.commits.begin_apply(slow, step)
    apply(catalog, 0, "c")
    correct_all(catalog)
    assert len(catalog.commits.mergeable(3)) == 2
    lapse(url_of(folder))
    assert len(catalog.commits.mergeable(3)) == 3, "it is dead, for all we know"
    catalog.commits.commit_merge([(catalog.commits.runs(3), [new_run()])])
    other.commits.commit_apply(slow, 2, [written(step)], 0.0)


def test_a_thread_renews_the_lease_until_the_catalog_is_closed(
    tmp_path: Path, other: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LEASE_S", 0.03)
    others = set(threading.enumerate())
    catalog = Catalog(url_of(tmp_path))
    with catalog.leases.step() as step:
        pass
    while other.leases.first_steps().get(step.lease) != step.number + 1:  # by whom, if not by the thread
        pass
    assert [t.name for t in threading.enumerate() if t not in others] == ["lease"]
    catalog.close()
    assert set(threading.enumerate()) <= others
    assert other.leases.first_steps() == {}


def test_a_lease_is_never_given_out_twice(tmp_path: Path) -> None:
    """Else a step of the first one might pass for the second's."""
    make_catalog(tmp_path).close()
    seen = set()
    for _ in range(3):
        catalog = Catalog(url_of(tmp_path))
        with catalog.leases.step() as step:
            seen.add(step.lease)
        catalog.close()
    assert len(seen) == 3
