"""The DAG for people: choose epochs in a form and watch the whole job, task by task."""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, Param, task_group

from cumulus_ops import names
from cumulus_ops.config import Project
from cumulus_ops.orchestration import texts
from cumulus_ops.orchestration.operators import (
    ApplyShare,
    CommitEpochs,
    PlanEpochs,
    PublishEpochs,
    SealShare,
    ValidateEpochs,
)
from cumulus_ops.orchestration.waits import Waits

__all__ = ["run_epochs_dag"]

EXECUTOR = "{{ params.executor }}"


def run_epochs_dag(project: Project, waits: Waits, common: dict[str, Any]) -> DAG:
    """Everything for the chosen epochs: per epoch the coordinators side by side, then commit, publish, validate."""
    folder = str(project.folder)
    with DAG(
        dag_id=names.run_epochs_dag(project.name),
        schedule=None,
        params=form(),
        render_template_as_native_obj=True,
        description="Run chosen epochs from beginning to end, now",
        doc_md=texts.run_epochs(project, waits),
        **common,
    ) as dag:
        plan = PlanEpochs(
            task_id="plan",
            folder=folder,
            first="{{ params.first_epoch }}",
            epochs="{{ params.epochs }}",
        )

        def epoch(step: Any) -> None:
            one: dict[str, Any] = {
                "max_active_tis_per_dagrun": 1
            }  # epochs follow each other; the mapped copies start in order
            commit = CommitEpochs(task_id=waits.commit_task, folder=folder, engine=EXECUTOR, **one)
            for i in waits.coordinators:
                work = ApplyShare(task_id=f"apply_{i}", folder=folder, coordinator=i, plan=step, engine=EXECUTOR, **one)
                work >> SealShare(task_id=f"seal_{i}", folder=folder, coordinator=i, plan=step, **one) >> commit
            publish = PublishEpochs(task_id="publish", folder=folder, **one)
            commit >> publish >> ValidateEpochs(task_id="validate", folder=folder, **one)

        task_group(group_id="epoch")(epoch).expand(step=plan.output)
    return dag


def form() -> dict[str, Param]:
    """The parameters, as the UI's form shows and checks them."""
    return {
        "first_epoch": Param(
            None,
            type=["null", "integer"],
            minimum=0,
            title="First epoch",
            description="Empty: the first epoch that is still open. An epoch in between that is open is run, too.",
        ),
        "epochs": Param(
            1, type="integer", minimum=1, maximum=100, title="Epochs", description="How many epochs to run."
        ),
        "executor": Param(
            "project",
            type="string",
            enum=["project", "spark", "inprocess"],
            title="Executor",
            description="Where steps run: as the project's file says, on Spark, or in the task's own process.",
        ),
    }
