"""From a project to its DAGs. Parsing costs no Spark and no Great Expectations; names come from the project."""

from __future__ import annotations

import datetime
from typing import Any

from airflow.sdk import DAG, Asset, AssetAll, PartitionedAssetTimetable

from cumulus_ops import names
from cumulus_ops.config import Project
from cumulus_ops.orchestration import texts
from cumulus_ops.orchestration.assets import seal_asset, snapshot_asset
from cumulus_ops.orchestration.operators import ApplyEpoch, CommitEpochs, PublishEpochs, SealEpoch, ValidateEpochs
from cumulus_ops.orchestration.run_epochs import run_epochs_dag
from cumulus_ops.orchestration.timetable import StaggeredTimetable
from cumulus_ops.rhythm import Rhythm

__all__ = ["build_dags", "commit_dag", "coordinator_dag", "validate_dag"]

RETRIES = {"retries": 3, "retry_delay": datetime.timedelta(seconds=5), "owner": "cumulus"}


def build_dags(project: Project) -> dict[str, DAG]:
    """All DAGs of ``project`` by their ids: one per coordinator, commit, validate, and the run chosen in the UI."""
    made = [coordinator_dag(project, i) for i in range(project.coordinators)]
    made += [commit_dag(project), validate_dag(project), run_epochs_dag(project, common(project))]
    return {dag.dag_id: dag for dag in made}


def common(project: Project) -> dict[str, Any]:
    """Arguments that all DAGs of a project share. One run at a time: the next one does what this one leaves."""
    return {
        "tags": ["cumulus", project.name],
        "default_args": dict(RETRIES),
        "max_active_runs": 1,
        "start_date": project.epoch.start,
    }


def coordinator_dag(project: Project, coordinator: int) -> DAG:
    """Apply what lands for one coordinator during its epoch, then seal the epoch."""
    rhythm, folder = Rhythm.of(project), str(project.folder)
    urgent: dict[str, Any] = {"priority_weight": 10 * (project.coordinators - coordinator), "weight_rule": "absolute"}
    with DAG(
        dag_id=names.coordinator_dag(project.name, coordinator),
        schedule=StaggeredTimetable(rhythm, coordinator),
        catchup=True,
        description=f"Coordinator {coordinator}: append and apply mini-batches, then seal the epoch",
        doc_md=texts.coordinator(project, coordinator),
        **common(project),
    ) as dag:
        apply = ApplyEpoch(
            task_id="apply", folder=folder, coordinator=coordinator, rhythm=rhythm, doc_md=texts.APPLY, **urgent
        )
        apply >> SealEpoch(
            task_id="seal",
            folder=folder,
            coordinator=coordinator,
            rhythm=rhythm,
            asset=seal_asset(project.name, coordinator),
            doc_md=texts.SEAL,
            **urgent,
        )
    return dag


def commit_dag(project: Project) -> DAG:
    """Runs once per epoch, when every coordinator's seal of that epoch has been seen."""
    folder = str(project.folder)
    urgent: dict[str, Any] = {"priority_weight": 10 * (project.coordinators + 1), "weight_rule": "absolute"}
    with DAG(
        dag_id=names.commit_dag(project.name),
        schedule=PartitionedAssetTimetable(assets=unanimous(project)),
        description="Correct, checkpoint and publish each epoch that all coordinators have sealed",
        doc_md=texts.commit(project),
        **common(project),
    ) as dag:
        corrected = CommitEpochs(task_id="correct_and_checkpoint", folder=folder, doc_md=texts.CORRECT, **urgent)
        corrected >> PublishEpochs(
            task_id="publish", folder=folder, asset=snapshot_asset(project.name), doc_md=texts.PUBLISH, **urgent
        )
    return dag


def validate_dag(project: Project) -> DAG:
    """Proves each snapshot, after the snapshot asset was updated."""
    with DAG(
        dag_id=names.validate_dag(project.name),
        schedule=PartitionedAssetTimetable(assets=snapshot_asset(project.name)),
        description="Great Expectations: each snapshot equals full recomputation on Spark",
        doc_md=texts.validate(project),
        **common(project),
    ) as dag:
        ValidateEpochs(task_id="validate", folder=str(project.folder), doc_md=texts.VALIDATE)
    return dag


def unanimous(project: Project) -> AssetAll:
    """All coordinators' seals; with a partitioned schedule, all of the same epoch."""
    seals: list[Asset] = [seal_asset(project.name, i) for i in range(project.coordinators)]
    return AssetAll(*seals)
