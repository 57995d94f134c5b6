"""A step that fails is told of, by everybody who tells how things are, until it succeeds."""

from __future__ import annotations

import datetime
import json
import re
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi import Request
from fastapi.testclient import TestClient
from sqlalchemy import Engine, event, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.epochs import Failure, StepProblem
from cumulus_ops.cli.main import main
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.status import status
from cumulus_ops.epochs.voting import vote
from cumulus_ops.files.log_files import check_file
from cumulus_ops.local.doctor import FIX, examine
from cumulus_ops.local.processes import free_port
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.orchestration import steps
from cumulus_ops.project.errors import IntegrityProblem, NotYet
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from cumulus_ops.publishing.telling import watch_step
from cumulus_ops.repair.fsck import fsck
from cumulus_ops.web import create_app
from tests.support.failing_shop import land_order, make_failing_shop
from tests.support.logs import forget_written
from tests.support.projects import append_events
from tests.support.shown import shown_project

PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUMULUS_HOME", str(tmp_path / "home"))
    make_failing_shop(tmp_path)
    return tmp_path


@pytest.fixture
def rt(folder: Path) -> Iterator[Runtime]:
    with open_runtime(load_project(folder)) as runtime:
        yield runtime


def break_log(project: Project) -> None:
    """Nothing can be appended any more: where its files go, there is a file."""
    shutil.move(project.state / "log", project.state / "log.kept")
    (project.state / "log").touch()


def mend_log(project: Project) -> None:
    (project.state / "log").unlink()
    shutil.move(project.state / "log.kept", project.state / "log")


async def anyone(request: Request, project: str) -> None:
    """Lets everybody in."""


def page(folder: Path) -> str:
    response = TestClient(create_app(lambda: [load_project(folder)], anyone)).get("/shop/")
    assert response.status_code == 200, response.text
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", response.text))


def test_who_looks_sees_since_when_which_step_fails_until_it_succeeds(folder: Path, rt: Runtime) -> None:
    land_order(folder, "I", 1, 1)
    break_log(rt.project)
    for _ in range(2):
        with pytest.raises(OSError, match="log"):
            run_minibatch(rt, 0)
    (problem,) = rt.catalog.problems.step_problems()
    assert (problem.step, problem.coordinator, problem.times) == ("apply", 0, 2)
    assert problem.since < problem.at
    assert "\n" not in problem.problem
    now = status(rt)
    assert now.failing == (problem,)
    assert now.coordinators[0].state == "fails"
    told = CliRunner().invoke(main, ["status", "--project", str(folder)]).output
    assert "FAILS: apply of coordinator 0, since" in told
    assert "Not a directory" in told or "File exists" in told
    as_json = json.loads(CliRunner().invoke(main, ["status", "--project", str(folder), "--json"]).output)
    assert as_json["failing"][0]["times"] == 2
    assert "apply of coordinator 0 fails for" in page(folder)
    assert "apply fails 1" in page(folder), "and not that it works"
    (found,) = [f for f in examine(folder, free_port()) if f.check == "step"]
    assert found.state == FIX
    assert "apply of coordinator 0 fails since" in found.message
    mend_log(rt.project)
    assert run_minibatch(rt, 0) is not None
    assert rt.catalog.problems.step_problems() == []
    assert "fails" not in page(folder)
    assert "step" not in {f.check for f in examine(folder, free_port())}


def test_a_task_that_cannot_begin_is_told_of_with_its_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "DAG_ID": "shop_coordinator_0",
        "DAG_RUN_ID": "r 1",
        "TASK_ID": "apply",
        "TRY_NUMBER": "3",
    }.items():
        monkeypatch.setenv(f"AIRFLOW_CTX_{name}", value)
    project = load_project(folder)
    shutil.rmtree(project.state / "runs")
    (project.state / "runs").touch()
    with pytest.raises(FileExistsError):
        steps.apply_scheduled(str(folder), 0, PAST)
    with open_runtime(project) as rt:
        (problem,) = rt.catalog.problems.step_problems()
    assert (problem.step, problem.kind, problem.coordinator) == ("apply", "FileExistsError", 0)
    assert problem.log == "/dags/shop_coordinator_0/runs/r%201/tasks/apply?try_number=3"
    client = TestClient(create_app(lambda: [project], anyone, "/air"))
    assert f'href="/air{problem.log}"' in client.get("/shop/").text


def test_the_step_that_fails_is_told_of_and_not_those_around_it(folder: Path, rt: Runtime) -> None:
    land_order(folder, "I", 1, 1)
    run_minibatch(rt, 0)
    vote(rt, 0, 0)
    assert steps.commit_complete(str(folder)) == [0]
    published = rt.project.published
    assert published is not None
    published.touch()
    with pytest.raises(Exception, match=r"."):
        steps.publish_committed(str(folder))
    assert [problem.step for problem in rt.catalog.problems.step_problems()] == ["publish"]
    assert [problem.times for problem in rt.catalog.problems.step_problems()] == [1]
    published.unlink()
    steps.publish_committed(str(folder))
    assert rt.catalog.problems.step_problems() == []


def test_what_has_only_to_come_again_is_no_failure(folder: Path, rt: Runtime) -> None:
    with pytest.raises(NotYet):
        commit(rt, 0)
    assert rt.catalog.problems.step_problems() == []


def test_steps_that_succeed_cost_one_read_in_all(folder: Path, rt: Runtime) -> None:
    seen: list[str] = []

    def count(_c: object, _u: object, statement: str, *_: object) -> None:
        if "step_problem" in statement:
            seen.append(statement)

    event.listen(Engine, "before_cursor_execute", count)
    try:
        for order in range(3):
            land_order(folder, "I", order + 1, order)
            run_minibatch(rt, 0)
        vote(rt, 0, 0)
        commit(rt, 0)
    finally:
        event.remove(Engine, "before_cursor_execute", count)
    assert len(seen) == 1


def test_two_that_tell_at_the_same_time_are_counted(folder: Path, rt: Runtime) -> None:
    with open_runtime(rt.project) as other:
        for catalog in (rt.catalog, other.catalog, rt.catalog):
            catalog.problems.step_fails("publish", None, Failure("kind", "first line\nsecond line"))
    (problem,) = rt.catalog.problems.step_problems()
    assert (problem.times, problem.problem, problem.name) == (3, "first line", "publish")
    rt.catalog.problems.step_succeeds("publish", None)
    assert rt.catalog.problems.step_problems() == []


def test_steps_of_coordinators_that_are_gone_are_not_told_of(rt: Runtime) -> None:
    rt.catalog.problems.step_fails("apply", 7, Failure("kind", "it was gone already"))
    assert status(rt).failing == ()


def test_an_epoch_that_nobody_seals_is_overdue(folder: Path, rt: Runtime) -> None:
    file = folder / "cumulus.yaml"
    file.write_text(re.sub(r"start: .*", "start: 2020-01-01T00:00:00Z", file.read_text()))
    land_order(folder, "I", 1, 1)
    with open_runtime(load_project(folder)) as late:
        assert status(late).coordinators[0].state == "is overdue"
    assert "Epoch 0 of coordinator 0 was to end" in page(folder)
    assert "is overdue" in page(folder)
    assert [f.check for f in examine(folder, free_port()) if f.check == "epoch"] == ["epoch"]


def test_an_epoch_into_which_nothing_has_come_is_not_overdue(folder: Path, rt: Runtime) -> None:
    """Without Airflow nobody seals it before something comes."""
    file = folder / "cumulus.yaml"
    file.write_text(re.sub(r"start: .*", "start: 2020-01-01T00:00:00Z", file.read_text()))
    land_order(folder, "I", 1, 1)
    for is_applied in (False, True):
        assert is_said_to_be_overdue(folder) == {True}
        if not is_applied:
            run_minibatch(rt, 0)
    run_waiting(rt, validating=False)
    with rt.catalog.database.engine.begin() as connection:  # and that was long ago
        connection.execute(update(t.boundary).values(ends_at=PAST.timestamp()))
    assert is_said_to_be_overdue(folder) == {False}
    assert run_waiting(rt, validating=False) == 0
    land_order(folder, "I", 2, 2)
    assert is_said_to_be_overdue(folder) == {True}
    with rt.catalog.database.engine.begin() as connection:
        connection.execute(update(t.batch).values(state="aside", retry_at=1.0))
    shutil.rmtree(rt.project.landing / "0" / "d2")
    assert is_said_to_be_overdue(folder) == {True}, "it is to be tried again"


def is_said_to_be_overdue(folder: Path) -> set[bool]:
    """Whether the status, the doctor and the page say so."""
    with open_runtime(load_project(folder)) as late:
        state = status(late).coordinators[0].state
    findings = [f.check for f in examine(folder, free_port())]
    return {state == "is overdue", "epoch" in findings, "was to end" in page(folder), "is overdue" in page(folder)}


def test_where_sources_may_have_something_the_doctor_says_that_this_is_not_known(folder: Path) -> None:
    file = folder / "cumulus.yaml"
    text = re.sub(r"start: .*", "start: 2020-01-01T00:00:00Z", file.read_text())
    source = "sources:\n  a: {kind: debezium, path: in, tables: {orders: x.orders}}"
    file.write_text(re.sub(r"(?m)^sources:$", source, text))
    (found,) = [f for f in examine(folder, free_port()) if f.check == "epoch"]
    assert "the epoch stays open until something does" in found.hint


def test_what_is_in_the_log_and_in_no_answer_is_not_settled(folder: Path, rt: Runtime) -> None:
    assert status(rt).settled
    append_events(rt, 0, [("orders", 1, (1, "ann", Decimal("6.00"), None))], "d")
    now = status(rt)
    assert (now.settled, now.behind, now.unapplied) == (False, 0, 1)
    told = CliRunner().invoke(main, ["status", "--project", str(folder)]).output
    assert "Tentative answers: 1 appended batch is in no answer yet" in told
    assert "Tentative answers may still change 1 batch in the log in no answer yet" in page(folder)
    run_minibatch(rt, 0, [])
    assert status(rt).settled
    assert "Tentative answers settled what is in the log, all of it" in page(folder)
    with rt.catalog.database.engine.begin() as connection:
        connection.execute(update(t.batch).values(state="aside", reason="why"))
    told = CliRunner().invoke(main, ["status", "--project", str(folder)]).output
    assert "Tentative answers: settled, but for what is set aside" in told
    assert "Tentative answers settled without what is set aside" in page(folder)


def test_how_old_the_data_is(tmp_path: Path) -> None:
    project = shown_project(tmp_path, epochs=2)
    with open_runtime(project) as rt:
        newest = status(rt).snapshot
        assert newest is not None
        assert newest.epoch == 1
        assert newest.data_at is not None
        assert newest.data_at < newest.committed_at
        data_at = rt.catalog.history.data_at(1)
        while run_minibatch(rt, 0, ["open"]) is not None:
            pass
        assert rt.catalog.history.data_at(1) == data_at, "what is not in it does not count"
        assert rt.catalog.history.data_at(2) > data_at
        for epoch in (2, 3):
            for coordinator in (0, 1):
                vote(rt, coordinator, epoch)
        commit(rt, 2)
        assert rt.catalog.history.data_at(3) == rt.catalog.history.data_at(2), "nothing has come in since"
        assert StepProblem("vote", 3, "", "", PAST, PAST).name == "vote of coordinator 3"


def test_data_are_as_old_as_they_landed(folder: Path, rt: Runtime) -> None:
    before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=1)  # the clock of files goes in steps
    land_order(folder, "I", 1, 1)
    landed = datetime.datetime.now(datetime.UTC)
    run_minibatch(rt, 0)
    vote(rt, 0, 0)
    commit(rt, 0)
    at = rt.catalog.history.data_at(0)
    assert at is not None
    assert before <= at <= landed
    initialise(rt.project)
    assert rt.catalog.history.data_at(-1) is None


def test_a_step_that_needs_a_damaged_file_waits_until_that_is_whole(folder: Path, rt: Runtime) -> None:
    """Everybody says that it waits and for what, and what to do; and nobody any more when the file is as it was, though the step was not tried since."""
    land_order(folder, "I", 1, 1)
    run_waiting(rt, validating=False)
    (file,) = (rt.project.state / "log" / "orders").iterdir()
    whole = file.read_bytes()
    file.write_bytes(bytes(byte ^ 4 for byte in whole))
    forget_written()
    for _ in range(2):
        with pytest.raises(IntegrityProblem, match="is damaged"):
            watch_step("apply")(read_log)(rt, 0)
    now = status(rt)
    assert [(problem.name, problem.state, problem.times) for problem in now.failing] == [
        ("apply of coordinator 0", "waits", 2)
    ]
    assert now.coordinators[0].state == "waits"
    told = CliRunner().invoke(main, ["status", "--project", str(folder)]).output
    assert "WAITS for a damaged file: apply of coordinator 0, since" in told
    assert "`cumulus recover` makes the file again" in told
    assert "FAILS" not in told
    shown = page(folder)
    assert "apply of coordinator 0 waits for a damaged file for" in shown
    assert "cumulus recover makes the file again" in shown
    assert "apply waits 0" in shown
    assert "fails" not in shown
    (found,) = [f for f in examine(folder, free_port()) if f.check == "step"]
    assert (found.state, "apply of coordinator 0 waits for a damaged file since" in found.message) == (FIX, True)
    assert "`cumulus recover`" in found.hint
    other = min((rt.project.state / "runs").iterdir()).relative_to(rt.project.state).as_posix()
    assert fsck(rt, only=[other]).damages == ()
    assert status(rt).failing, "it waits for another file"
    assert len(fsck(rt).damages) == 1
    assert status(rt).failing, "it is damaged still"
    file.write_bytes(whole)
    assert fsck(rt, only=[file.relative_to(rt.project.state).as_posix()]).damages == ()
    assert status(rt).failing == ()
    assert "waits" not in page(folder)


def read_log(rt: Runtime, coordinator: int) -> None:
    """What an apply reads."""
    for files in rt.catalog.log.files_of([batch.id for batch in rt.catalog.log.batches()]).values():
        for file in files:
            check_file(rt.project.state, file)


def test_only_what_was_met_before_a_look_is_taken_back(rt: Runtime) -> None:
    """And nothing that fails for another reason."""
    begun = datetime.datetime.now(datetime.UTC)
    rt.catalog.problems.step_fails("validate", None, Failure("damaged-log", "/s/log/orders/a.parquet: it is damaged"))
    rt.catalog.problems.step_fails("publish", None, Failure("OSError", "/s/log/orders/a.parquet: no space left"))
    rt.catalog.problems.files_are_whole(set(), None, begun)
    assert len(rt.catalog.problems.step_problems()) == 2
    rt.catalog.problems.files_are_whole(set(), None, datetime.datetime.now(datetime.UTC))
    assert [problem.step for problem in rt.catalog.problems.step_problems()] == ["publish"]
