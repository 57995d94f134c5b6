"""The DAGs of a project: their tasks, schedules and promises."""

from pathlib import Path

import pytest
from airflow.sdk import PartitionedAssetTimetable
from airflow.serialization.serialized_objects import DagSerialization

from cumulus_ops.config import load_project
from cumulus_ops.orchestration import StaggeredTimetable, build_dags

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
def test_coordinator_applies_then_seals_and_says_so(dags, index):
    dag = dags[f"tpch_coordinator_{index}"]
    assert isinstance(dag.timetable, StaggeredTimetable)
    assert dag.timetable.coordinator == index
    assert dag.catchup
    assert dag.max_active_runs == 1
    assert [t.task_id for t in dag.topological_sort()] == ["apply", "seal"]
    assert [o.name for o in dag.get_task("seal").outlets] == [f"tpch_seal_{index}"]


def test_earlier_coordinators_go_first(dags):
    weights = [dags[f"tpch_coordinator_{i}"].get_task("apply").priority_weight for i in range(3)]
    assert weights == sorted(weights, reverse=True)
    assert len(set(weights)) == 3


def test_commit_waits_for_a_unanimous_vote_per_epoch(dags):
    dag = dags["tpch_commit"]
    assert isinstance(dag.timetable, PartitionedAssetTimetable)
    voters = {asset.name for asset in dag.timetable.asset_condition.objects}
    assert voters == {"tpch_seal_0", "tpch_seal_1", "tpch_seal_2"}
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
