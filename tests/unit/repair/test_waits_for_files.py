"""Who waits for which damaged file: all of them are told, each is forgotten by itself, and nobody says so of what is not damaged."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cumulus_ops.catalog.epochs import Failure
from cumulus_ops.compute.reading import opened_runs
from cumulus_ops.epochs import checkpoint, compacting, minibatch
from cumulus_ops.epochs.checkpoint import collect_garbage, merge
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.publishing import publishing
from cumulus_ops.publishing.publishing import publish_all
from cumulus_ops.repair import fsck as fscks
from cumulus_ops.repair.fsck import fsck
from cumulus_ops.repair.recover import recover
from tests.support.histories import Local
from tests.support.projects import append_events, make_project
from tests.support.random_programs import RELATIONS
from tests.support.runs import forget_runs

VIEWS = {
    "a": "SELECT a, SUM(b) AS s FROM r GROUP BY a",
    "b": "SELECT a, COUNT(*) AS n FROM r GROUP BY a",
    "c": "SELECT n, COUNT(*) AS c FROM t GROUP BY n",
}


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[Runtime]:
    """A project whose views have tables, and whose second epoch is to be published."""
    project = make_project(tmp_path, RELATIONS, views=VIEWS, coordinators=1)
    initialise(project)
    forget_runs()
    with open_runtime(project) as runtime:
        commit_epoch(runtime, 0)
        assert [epoch for epoch, _ in publish_all(runtime)] == [0]
        commit_epoch(runtime, 1)
        yield runtime


def apply_one(rt: Runtime, number: int) -> None:
    batch = append_events(rt, 0, [("r", 1, (number % 3, 1)), ("t", 1, (number, "xy"[number % 2]))], f"d{number}")
    local = Local(rt)
    local.begin(batch)
    local.commit(batch)


def commit_epoch(rt: Runtime, epoch: int) -> None:
    apply_one(rt, epoch)
    assert Local(rt).seal() is not None
    checkpoint.commit(rt, epoch)


def folder(rt: Runtime, view: str) -> Path:
    assert rt.project.published is not None
    return rt.project.published / view


def newest_log(rt: Runtime, view: str) -> Path:
    return max((folder(rt, view) / "_delta_log").glob("*.json"))


def fail_to_publish(rt: Runtime) -> IntegrityProblem:
    with pytest.raises(IntegrityProblem) as caught:
        list(publish_all(rt))
    return caught.value


def waited_for(rt: Runtime) -> list[str]:
    return [Path(f.file).name for problem in rt.catalog.problems.step_problems() for f in problem.failures]


def test_of_several_damaged_tables_each_is_waited_for_by_itself(rt: Runtime) -> None:
    whole = {view: newest_log(rt, view).read_bytes() for view in "ab"}
    for view in "ab":
        newest_log(rt, view).write_text("{")
    assert len(fail_to_publish(rt).all) == 2
    (problem,) = rt.catalog.problems.step_problems()
    assert (problem.state, waited_for(rt)) == ("waits", ["a", "b"])
    assert str(folder(rt, "a")) in problem.told
    assert str(folder(rt, "b")) in problem.told
    newest_log(rt, "a").write_bytes(whole["a"])
    assert fsck(rt, only=[str(folder(rt, "a"))]).damages == ()
    assert waited_for(rt) == ["b"], "and not that nothing waits"
    assert str(folder(rt, "a")) not in rt.catalog.problems.step_problems()[0].told
    newest_log(rt, "b").write_bytes(whole["b"])
    assert fsck(rt, only=[str(folder(rt, "b"))]).damages == ()
    assert waited_for(rt) == []


def test_a_later_epoch_that_is_published_does_not_tell_that_an_earlier_one_is(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_epoch(rt, 2)
    right = publishing.publish

    def publish(rt: Runtime, epoch: int) -> dict[str, int]:
        if epoch == 1:
            raise IntegrityProblem("unreadable", kind="delta-unreadable", place="/published/gone")
        return right(rt, epoch)

    monkeypatch.setattr(publishing, "publish", publish)
    fail_to_publish(rt)
    assert waited_for(rt) == ["gone"]


def test_of_several_damaged_runs_of_a_copy_each_is_waited_for_by_itself(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2, 6):
        apply_one(rt, number)
    Local(rt).correct()
    files = sorted({run.path for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit())})
    kept = {file: (rt.project.state / file).read_bytes() for file in files}
    for file in files:
        (rt.project.state / file).unlink()
    forget_runs()
    merge(rt)
    named = {Path(failure.file.partition(",")[0]).name for failure in rt.catalog.problems.step_problems()[0].failures}
    assert len(named) > 2
    assert named <= {Path(file).name for file in files}
    first = next(file for file in files if Path(file).name in named)
    (rt.project.state / first).write_bytes(kept[first])
    fsck(rt, only=[first])
    (problem,) = rt.catalog.problems.step_problems()
    left = {Path(failure.file.partition(",")[0]).name for failure in problem.failures}
    assert left == named - {Path(first).name}
    assert all(failure.file in failure.problem for failure in problem.failures)


def change_protocol(rt: Runtime, *, as_others: bool, reader: int = 99) -> None:
    """Ask for a reader and a writer that there are not."""
    log = newest_log(rt, "a")
    asked = json.dumps({"protocol": {"minReaderVersion": reader, "minWriterVersion": 99}})
    if as_others:
        log.with_name(f"{int(log.stem) + 1:020}.json").write_text(f"{asked}\n")
    else:
        lines = log.read_text().splitlines()
        log.write_text("\n".join(asked if '"protocol"' in line else line for line in lines))


def test_what_others_have_switched_on_in_a_table_is_no_damage(rt: Runtime) -> None:
    """The step fails, all other views are published, and nobody throws the table away."""
    change_protocol(rt, as_others=True)
    assert "Unsupported minimum reader version 99" in fail_to_publish(rt).message
    (problem,) = rt.catalog.problems.step_problems()
    assert (problem.state, problem.kind) == ("fails", "table-refused")
    assert rt.catalog.results.published_in(1).keys() == {"b", "c"}
    before = sorted(folder(rt, "a").rglob("*"))
    assert recover(rt).found.damages == ()
    assert sorted(folder(rt, "a").rglob("*")) == before


def test_a_protocol_that_is_ours_and_unknown_is_damage(rt: Runtime) -> None:
    change_protocol(rt, as_others=False)
    assert fail_to_publish(rt).kind == "delta-unreadable"
    assert [how for _, how in recover(rt).outcome.done] != []
    assert [epoch for epoch, _ in publish_all(rt)] == [1]


def test_a_table_that_cannot_be_written_is_told_of(rt: Runtime) -> None:
    """And not that others write to it all the time, which nobody would be told of."""
    change_protocol(rt, as_others=True, reader=1)
    assert fail_to_publish(rt).kind == "table-refused"
    assert rt.catalog.problems.step_problems()[0].state == "fails"


@pytest.mark.parametrize(("number", "said"), [(errno.EACCES, "unreadable"), (errno.EIO, "damaged")])
def test_a_file_that_may_not_be_read_is_not_made_again(
    number: int, said: str, rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = rt.catalog.commits.runs(rt.catalog.commits.last_commit())[0].path

    def refuse(file: Path, *_: object) -> None:
        if file.name == Path(path).name:
            raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(fscks, "_read", refuse)
        found = fsck(rt, only=[path]).damages
        assert {damage.problem for damage in found} == {said}
        if said == "unreadable":
            assert all("recover" not in damage.hint for damage in found)
            assert len(recover(rt, [path]).outcome.left) == len(found)
    assert fsck(rt, only=[path]).damages == ()


def land(rt: Runtime, number: int) -> None:
    drop = rt.project.landing / "0" / f"drop{number}"
    drop.mkdir(parents=True)
    (drop / "r.ndjson").write_text(json.dumps({"op": "I", "event": number, "a": number % 3, "b": 1}) + "\n")


def test_a_batch_is_applied_though_what_was_before_it_cannot_be_corrected(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else is wrong fails it."""
    kinds = iter(["damaged-run", "cycle-unsettled"])

    def correct(_: Runtime) -> int:
        raise IntegrityProblem("it is", kind=next(kinds))

    monkeypatch.setattr(minibatch, "correct", correct)
    monkeypatch.setattr(minibatch, "RUNS", 0)
    for number in (2, 3):
        land(rt, number)
    assert run_minibatch(rt, 0) is not None
    with pytest.raises(IntegrityProblem, match="cycle-unsettled"):
        run_minibatch(rt, 0)


def test_a_net_table_that_cannot_be_written_fails_no_epoch(rt: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(compacting, "is_due", lambda *_: True)
    monkeypatch.setattr(compacting, "write_net_table", refuse)
    commit_epoch(rt, 2)
    assert [problem.step for problem in rt.catalog.problems.step_problems()] == ["compact"]


def refuse_to_delete(monkeypatch: pytest.MonkeyPatch, of: str) -> None:
    right: Callable[[Path], None] = os.unlink

    def unlink(path: Path) -> None:
        if f"/{of}/" in str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        right(path)

    monkeypatch.setattr(checkpoint.os, "unlink", unlink)


def test_files_that_cannot_be_deleted_fail_no_batch(rt: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, and no more when they are gone."""
    collect_garbage(rt)
    with monkeypatch.context() as patch:
        refuse_to_delete(patch, "runs")
        for number in range(2, 12):
            land(rt, number)
            assert run_minibatch(rt, 0) is not None
        commit_epoch(rt, 2)
        (problem,) = rt.catalog.problems.step_problems()
        assert (problem.step, problem.state, problem.kind) == ("garbage collection", "fails", "PermissionError")
        commit_epoch(rt, 3)
        assert rt.catalog.problems.step_problems(), "they are there still"
    commit_epoch(rt, 4)
    assert rt.catalog.problems.step_problems() == []


def test_the_name_of_a_file_is_not_cut_off(rt: Runtime) -> None:
    file = f"/{'deep/' * 200}log/r/x.parquet"
    rt.catalog.problems.step_fails("apply", 0, Failure("damaged-log", f"{file}: it is damaged", file))
    rt.catalog.problems.step_fails("apply", None, Failure("damaged-log", f"{'word ' * 200} {file}", file))
    assert all(file in problem.told for problem in rt.catalog.problems.step_problems())
    fsck(rt)
    assert rt.catalog.problems.step_problems() == []


def test_a_merge_writes_anew_what_was_deleted_by_accident_and_is_in_memory(rt: Runtime) -> None:
    """Also after others' files were deleted for good reasons."""
    for number in range(2, 6):
        apply_one(rt, number)
    Local(rt).correct()
    runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
    lost = max(runs, key=lambda run: run.commit)
    (rt.project.state / lost.path).unlink()
    opened_runs.unmap_gone()
    garbage = rt.project.state / "runs" / f"{lost.path.split('/')[1].rpartition('-')[0]}-0.pack"
    garbage.write_bytes(b"left by a step that has died")
    collect_garbage(rt)
    assert not garbage.exists()
    assert merge(rt) > 0
    assert rt.catalog.problems.step_problems() == []
    assert fsck(rt).damages == ()
