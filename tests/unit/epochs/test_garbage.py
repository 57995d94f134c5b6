"""Nothing that somebody uses is deleted, however long he takes; everything else is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cumulus_ops.append import append
from cumulus_ops.epochs import minibatch
from cumulus_ops.epochs.checkpoint import collect_garbage, correct, merge
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.maps.packs import open_run
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.query.read import read_view
from tests.support.drops import make_shop
from tests.support.leases import another_process, lapse


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[Runtime]:
    project = make_shop(tmp_path, periods=6)
    initialise(project)
    with open_runtime(project) as rt:
        yield rt


def files(rt: Runtime) -> set[Path]:
    """All files of the state, which were written long ago."""
    found = {p for f in ("runs", "log", "quarantine") for p in (rt.project.state / f).rglob("*") if p.is_file()}
    for path in found:
        os.utime(path, (0, 0))
    return found


def collected_by_another(rt: Runtime) -> int:
    files(rt)
    with another_process(rt) as other:
        return collect_garbage(other)


@pytest.mark.parametrize("place", ["append.before-commit", "apply.before-commit"])
def test_a_step_may_take_as_long_as_it_likes(rt: Runtime, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def slowly(name: str, _drop: str = "") -> None:
        if name == place:
            before = files(rt)
            assert collected_by_another(rt) == 0
            assert files(rt) == before
            seen.append(name)

    monkeypatch.setattr(append, "reach", slowly)
    monkeypatch.setattr(minibatch, "reach", slowly)
    assert run_minibatch(rt, 0) is not None
    assert seen == [place]
    assert {str(p.relative_to(rt.project.state)) for p in files(rt)} == rt.catalog.leases.known_paths()


@pytest.mark.parametrize("place", ["append.before-commit", "apply.before-commit"])
def test_a_step_that_was_passed_by_is_done_again(rt: Runtime, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def dead(name: str, _drop: str = "") -> None:
        if name == place and not seen:
            lapse(rt.project.catalog_url)
            assert collected_by_another(rt) > 0
            seen.append(name)

    monkeypatch.setattr(append, "reach", dead)
    monkeypatch.setattr(minibatch, "reach", dead)
    for _ in range(2):
        assert run_minibatch(rt, 0) is not None
    assert [b.state for b in rt.catalog.log.batches()] == ["applied"] * 2
    assert all((rt.project.state / path).exists() for path in rt.catalog.leases.known_paths())
    assert len(read_view(rt, "by_priority", tentative=True)) > 0


def test_what_a_slow_reader_reads_stays(rt: Runtime) -> None:
    for _ in range(4):
        run_minibatch(rt, 0)
    with another_process(rt) as reader:
        with reader.catalog.leases.step():
            runs = reader.catalog.commits.runs(reader.catalog.commits.last_commit())
            correct(rt)
            assert merge(rt) > 0
            collect_garbage(rt)
            for run in runs:
                assert len(open_run(rt.project.state / run.path, run.offset, run.bytes)) == run.rows
        reader.catalog.leases.renew()
        assert collect_garbage(rt) > 0
        assert {str(p.relative_to(rt.project.state)) for p in files(rt)} == rt.catalog.leases.known_paths()


def test_files_that_no_step_has_written_are_left_alone(rt: Runtime) -> None:
    ours = rt.project.state / "runs" / "README"
    ours.parent.mkdir(exist_ok=True)
    ours.touch()
    assert collected_by_another(rt) == 0
    assert ours.exists()
