"""The DAGs of a project: their tasks, schedules and promises."""

import dataclasses
from pathlib import Path

import pytest
from airflow.models.taskinstance import TaskInstance
from airflow.sdk import PartitionedAssetTimetable
from airflow.serialization.serialized_objects import DagSerialization
from airflow.utils.types import DagRunType

from cumulus_ops.coordination.barriers import APPLIED, CHECKPOINT, KINDS, PROGRAM, SETTLE, VALUE_VOTE, VOTE
from cumulus_ops.coordination.plan import COORDINATION, Barrier, CoordinationPlan, write_plan
from cumulus_ops.orchestration.factory import build_dags
from cumulus_ops.orchestration.timetable import PLACES, StaggeredTimetable
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.rhythm import TIMELINE, Rhythm, Stay, write_timeline

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tpch"


@pytest.fixture(scope="module")
def dags():
    return build_dags(load_project(EXAMPLE, {}))


def test_one_dag_per_coordinator_and_five_for_the_project(dags):
    assert set(dags) == {
        "tpch_coordinator_0",
        "tpch_coordinator_1",
        "tpch_coordinator_2",
        "tpch_commit",
        "tpch_validate",
        "tpch_run_epochs",
        "tpch_deploy",
        "tpch_recover",
    }


@pytest.mark.parametrize("index", [0, 1, 2])
def test_coordinator_applies_seals_says_so_and_counts_the_votes(dags, index):
    dag = dags[f"tpch_coordinator_{index}"]
    assert isinstance(dag.timetable, StaggeredTimetable)
    assert dag.timetable.coordinator == index
    assert dag.catchup
    assert dag.max_active_runs == 1
    assert [t.task_id for t in dag.topological_sort()] == ["apply", "vote", "complete"]
    assert [o.name for o in dag.get_task("vote").outlets] == [f"tpch_vote_{index}"]
    assert [o.name for o in dag.get_task("complete").outlets] == ["tpch_epoch"]


def test_dags_follow_the_members(tmp_path):
    project = dataclasses.replace(load_project(EXAMPLE, {}), state=tmp_path)
    at = project.epoch.start
    write_timeline(tmp_path, [Stay(c, 3, at, at, at) for c in (0, 2, 5)])
    dags = build_dags(project)
    assert sorted(d for d in dags if "coordinator" in d) == [f"tpch_coordinator_{c}" for c in (0, 2, 5)]
    seals = {f"epoch.vote_{c}" for c in (0, 2, 5)}
    assert dags["tpch_run_epochs"].get_task("epoch.correct_refresh_and_checkpoint").upstream_task_ids == seals
    write_timeline(tmp_path, [Stay(0, 3, at, at, at), Stay(1, 2, at, at, at, gone=True)])
    dags = build_dags(project)
    assert "tpch_coordinator_1" in dags, "the run that voted on its last epoch has to say so yet"
    assert "epoch.vote_1" not in dags["tpch_run_epochs"].task_ids
    (tmp_path / TIMELINE).write_text("{", encoding="utf-8")
    assert "tpch_coordinator_1" in build_dags(project), "a file that cannot be read is as good as none"


def planned(folder, *names, coordinators=2, about=PROGRAM):
    """The DAGs of a project whose plan has some barriers, and that many coordinators."""
    project = dataclasses.replace(load_project(EXAMPLE, {}), state=folder)
    write_plan(folder, CoordinationPlan("batch", barriers=tuple(Barrier(n, about, "why") for n in names)))
    at = project.epoch.start
    write_timeline(folder, [Stay(c, 3, at, at, at) for c in range(coordinators)])
    return build_dags(project)


def commit_tasks(dags):
    return [t.task_id for t in dags["tpch_commit"].topological_sort()]


def test_dags_have_the_barriers_of_the_plan_and_no_others(tmp_path):
    dags = planned(tmp_path, VOTE, APPLIED, CHECKPOINT)
    assert commit_tasks(dags) == ["checkpoint", "publish"], "nothing can be corrected, and nothing refreshed"
    assert "epoch.checkpoint" in dags["tpch_run_epochs"].task_ids
    assert "complete" in dags["tpch_coordinator_0"].task_ids
    assert "tpch_final" not in dags
    assert "no **settle**: no trigger reads a map" in dags["tpch_commit"].doc_md
    assert f"| **vote**  | checkpoint | {KINDS[VOTE].waits_for} | why |" in dags["tpch_commit"].doc_md


def test_a_single_coordinator_wakes_the_commit_by_its_seal(tmp_path):
    dags = planned(tmp_path, VOTE, APPLIED, SETTLE, CHECKPOINT, coordinators=1)
    dag = dags["tpch_coordinator_0"]
    assert [t.task_id for t in dag.topological_sort()] == ["apply", "vote"]
    assert {o.name for o in dag.get_task("vote").outlets} == {"tpch_vote_0", "tpch_epoch"}
    assert commit_tasks(dags) == ["checkpoint", "publish"], "its batches are applied one after the other"
    again = planned(tmp_path, VOTE, APPLIED, SETTLE, CHECKPOINT, coordinators=2)
    assert "complete" in again["tpch_coordinator_0"].task_ids, "a coordinator that is added brings the vote back"
    assert commit_tasks(again) == ["correct_and_checkpoint", "publish"]


def test_values_that_are_sealed_wake_a_dag_of_their_own(tmp_path):
    dags = planned(tmp_path, VALUE_VOTE, about="lineitem.day")
    dag = dags["tpch_final"]
    assert [t.task_id for t in dag.topological_sort()] == ["finalise", "validate"]
    assert isinstance(dag.timetable, PartitionedAssetTimetable)
    assert "tpch_lineitem_day_closed" in {o.name for o in dags["tpch_coordinator_0"].get_task("apply").outlets}
    again = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert again.timetable.asset_condition.name == "tpch_lineitem_day_closed"


def test_of_a_project_that_is_not_initialised_all_is_waited_for(tmp_path):
    planned(tmp_path)
    (tmp_path / COORDINATION).write_text("{", encoding="utf-8")
    dags = build_dags(dataclasses.replace(load_project(EXAMPLE, {}), state=tmp_path))
    assert commit_tasks(dags) == ["correct_refresh_and_checkpoint", "publish"]


def weights_of(project, places, task="vote"):
    """Weights of the tasks that Airflow makes for the runs of (epoch, coordinator), from DAGs as its scheduler reads them back."""
    rhythm = Rhythm.of(project)
    read = {d: DagSerialization.from_dict(DagSerialization.to_dict(dag)) for d, dag in build_dags(project).items()}
    found = []
    for epoch, coordinator in places:
        dag, began = read[f"tpch_coordinator_{coordinator}"], rhythm.begin(coordinator, epoch)
        run = dag.timetable.generate_run_id(run_type=DagRunType.SCHEDULED, run_after=began, data_interval=None)
        found.append(TaskInstance(dag.get_task(task), run_id=run, dag_version_id=None).priority_weight)
    return found


@pytest.mark.parametrize("task", ["apply", "vote", "complete"])
def test_tasks_go_first_in_the_order_of_the_token_and_each_coordinator_in_turn(task):
    places = [(epoch, coordinator) for epoch in range(2) for coordinator in range(3)]
    weights = weights_of(load_project(EXAMPLE, {}), places, task)
    assert weights == sorted(set(weights), reverse=True)
    orders = [sorted(range(3), key=lambda c, m=moved: -weights[c + 3 * (c < m)]) for moved in range(3)]
    assert orders == [[0, 1, 2], [1, 2, 0], [2, 0, 1]], "who has moved is last, and is first when the others have"


def test_tasks_of_aligned_epochs_go_first_by_priority_and_nothing_outweighs_the_commit(dags):
    project = load_project(EXAMPLE, {})
    aligned = dataclasses.replace(project, epoch=dataclasses.replace(project.epoch, staggered=False))
    weights = weights_of(aligned, [(epoch, coordinator) for epoch in range(2) for coordinator in range(3)])
    assert weights == sorted(set(weights), reverse=True)
    far = weights_of(project, [(epoch, 1) for epoch in (10**3, 10**4, 10**6)])
    assert all(1 <= weight <= PLACES for weight in far)
    assert dags["tpch_commit"].get_task("publish").priority_weight > PLACES


def test_a_run_whose_id_says_nothing_has_its_tasks_own_weight(dags):
    dag = DagSerialization.from_dict(DagSerialization.to_dict(dags["tpch_coordinator_2"]))
    for run in ("by hand", "manual__yesterday", "manual__2026-01-01T00:00:00", None):
        task = TaskInstance(dag.get_task("apply"), run_id=run, dag_version_id=None)
        assert task.priority_weight == PLACES - 2


def test_commit_waits_for_a_unanimous_vote_per_epoch(dags):
    dag = dags["tpch_commit"]
    assert isinstance(dag.timetable, PartitionedAssetTimetable)
    assert dag.timetable.asset_condition.name == "tpch_epoch"
    assert [t.task_id for t in dag.topological_sort()] == ["correct_refresh_and_checkpoint", "publish"]
    assert [o.name for o in dag.get_task("publish").outlets] == ["tpch_snapshot"]


def test_validation_follows_the_snapshot(dags):
    timetable = dags["tpch_validate"].timetable
    assert isinstance(timetable, PartitionedAssetTimetable)  # an event with a key does not wake an unpartitioned DAG
    assert timetable.asset_condition.name == "tpch_snapshot"


def test_ui_run_is_many_tasks_with_a_checked_form(dags):
    dag = dags["tpch_run_epochs"]
    assert set(dag.params) == {"first_epoch", "epochs", "executor"}
    assert dag.get_task("epoch.correct_refresh_and_checkpoint").upstream_task_ids == {
        f"epoch.vote_{i}" for i in range(3)
    }
    assert dag.get_task("epoch.validate").upstream_task_ids == {"epoch.publish"}
    with pytest.raises(ValueError, match="0 is less than the minimum"):
        dag.params.get_param("epochs").resolve(0)


def test_a_deployment_is_planned_approved_and_done(dags):
    dag = dags["tpch_deploy"]
    assert [t.task_id for t in dag.topological_sort()] == ["plan", "approve", "deploy"]
    assert not dag.timetable.can_be_scheduled
    assert {name: dag.params.get_param(name).resolve() for name in dag.params} == {
        "rollback": False,
        "give_up": False,
        "replan": False,
        "rows": True,
    }
    assert not dag.get_task("approve").params, "who answers is asked yes or no, and not for the run's own form again"
    assert dag.max_active_runs > 1, "who gives up must not wait for what is given up"


def test_a_recovery_is_planned_approved_and_done(dags):
    dag = dags["tpch_recover"]
    assert [t.task_id for t in dag.topological_sort()] == ["plan", "approve", "recover"]
    assert not dag.timetable.can_be_scheduled
    assert {name: dag.params.get_param(name).resolve() for name in dag.params} == {"files": None, "dry_run": False}


def test_all_tasks_are_retried_and_documented(dags):
    for dag in dags.values():
        assert dag.doc_md
        assert all(task.retries == 10 for task in dag.tasks)


def test_dags_survive_serialisation(dags):
    for dag in dags.values():
        again = DagSerialization.from_dict(DagSerialization.to_dict(dag))
        assert again.task_ids == dag.task_ids
        assert again.timetable.summary


def test_the_vote_is_an_event_when_it_is_unanimous_and_skipped_else(dags):
    from airflow.sdk.exceptions import AirflowSkipException

    class Event:
        extra, keys = None, ()

        def add_partitions(self, keys):
            self.keys = keys

    task, event = dags["tpch_coordinator_0"].get_task("complete"), Event()
    task.complete = {"first": 4, "last": 5}
    assert task.execute({"outlet_events": {task.asset: event}}) == {"first": 4, "last": 5}
    assert (event.keys, event.extra) == ("5", {"first": 4, "last": 5})
    task.complete = {}
    with pytest.raises(AirflowSkipException):
        task.execute({})


def test_closed_values_are_said_by_their_texts(monkeypatch):
    """One of each seal: who is woken does them all."""
    from airflow.sdk.execution_time.context import OutletEventAccessors

    from cumulus_ops.orchestration import final_steps, operators
    from cumulus_ops.orchestration.assets import value_asset

    asset = value_asset("shop", "clicks", "hour")
    monkeypatch.setattr(
        final_steps, "closed_values", lambda folder, seals: {seals[0]: [f"h{i}" * 200 for i in range(99)]}
    )
    events = OutletEventAccessors()
    operators.say_closed({"outlet_events": events}, "folder", {("clicks", "hour"): asset})
    assert len(events[asset].extra["values"]) == 99
    assert set(events[asset].partition_keys) == {"h0" * 100}, "no longer than Airflow keeps it"
