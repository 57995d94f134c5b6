"""The DAGs of a project: their tasks, schedules and promises."""

import dataclasses
from pathlib import Path

import pytest
from airflow.sdk import PartitionedAssetTimetable
from airflow.serialization.serialized_objects import DagSerialization

from cumulus_ops.config import load_project
from cumulus_ops.orchestration import StaggeredTimetable, build_dags
from cumulus_ops.timeline import TIMELINE, Stay, write_timeline

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tpch"


@pytest.fixture(scope="module")
def dags():
    return build_dags(load_project(EXAMPLE, {}))


def test_one_dag_per_coordinator_and_three_for_the_project(dags):
    assert set(dags) == {
        "tpch_coordinator_0",
        "tpch_coordinator_1",
        "tpch_coordinator_2",
        "tpch_commit",
        "tpch_validate",
        "tpch_run_epochs",
    }


@pytest.mark.parametrize("index", [0, 1, 2])
def test_coordinator_applies_seals_says_so_and_counts_the_votes(dags, index):
    dag = dags[f"tpch_coordinator_{index}"]
    assert isinstance(dag.timetable, StaggeredTimetable)
    assert dag.timetable.coordinator == index
    assert dag.catchup
    assert dag.max_active_runs == 1
    assert [t.task_id for t in dag.topological_sort()] == ["apply", "seal", "vote"]
    assert [o.name for o in dag.get_task("seal").outlets] == [f"tpch_seal_{index}"]
    assert [o.name for o in dag.get_task("vote").outlets] == ["tpch_epoch"]


def test_dags_follow_the_members(tmp_path):
    project = dataclasses.replace(load_project(EXAMPLE, {}), state=tmp_path)
    at = project.epoch.start
    write_timeline(tmp_path, [Stay(c, 3, at, at, at) for c in (0, 2, 5)])
    dags = build_dags(project)
    assert sorted(d for d in dags if "coordinator" in d) == [f"tpch_coordinator_{c}" for c in (0, 2, 5)]
    seals = {f"epoch.seal_{c}" for c in (0, 2, 5)}
    assert dags["tpch_run_epochs"].get_task("epoch.correct_and_checkpoint").upstream_task_ids == seals
    write_timeline(tmp_path, [Stay(0, 3, at, at, at), Stay(1, 2, at, at, at, gone=True)])
    dags = build_dags(project)
    assert "tpch_coordinator_1" in dags, "the run that sealed its last epoch has to vote yet"
    assert "epoch.seal_1" not in dags["tpch_run_epochs"].task_ids
    (tmp_path / TIMELINE).write_text("{", encoding="utf-8")
    assert "tpch_coordinator_1" in build_dags(project), "a file that cannot be read is as good as none"


def test_earlier_coordinators_go_first(dags):
    weights = [dags[f"tpch_coordinator_{i}"].get_task("apply").priority_weight for i in range(3)]
    assert weights == sorted(weights, reverse=True)
    assert len(set(weights)) == 3


def test_commit_waits_for_a_unanimous_vote_per_epoch(dags):
    dag = dags["tpch_commit"]
    assert isinstance(dag.timetable, PartitionedAssetTimetable)
    assert dag.timetable.asset_condition.name == "tpch_epoch"
    assert [t.task_id for t in dag.topological_sort()] == ["correct_and_checkpoint", "publish"]
    assert [o.name for o in dag.get_task("publish").outlets] == ["tpch_snapshot"]


def test_validation_follows_the_snapshot(dags):
    timetable = dags["tpch_validate"].timetable
    assert isinstance(timetable, PartitionedAssetTimetable)  # an event with a key does not wake an unpartitioned DAG
    assert timetable.asset_condition.name == "tpch_snapshot"


def test_ui_run_is_many_tasks_with_a_checked_form(dags):
    dag = dags["tpch_run_epochs"]
    assert set(dag.params) == {"first_epoch", "epochs", "executor"}
    assert dag.get_task("epoch.correct_and_checkpoint").upstream_task_ids == {f"epoch.seal_{i}" for i in range(3)}
    assert dag.get_task("epoch.validate").upstream_task_ids == {"epoch.publish"}
    with pytest.raises(ValueError, match="0 is less than the minimum"):
        dag.params.get_param("epochs").resolve(0)


def test_all_tasks_are_retried_and_documented(dags):
    for dag in dags.values():
        assert dag.doc_md
        assert all(task.retries == 3 for task in dag.tasks)


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

    task, event = dags["tpch_coordinator_0"].get_task("vote"), Event()
    task.complete = {"first": 4, "last": 5}
    assert task.execute({"outlet_events": {task.asset: event}}) == {"first": 4, "last": 5}
    assert (event.keys, event.extra) == ("5", {"first": 4, "last": 5})
    task.complete = {}
    with pytest.raises(AirflowSkipException):
        task.execute({})
