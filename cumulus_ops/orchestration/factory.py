"""From a project to its DAGs. Parsing costs no Spark and no Great Expectations; names come from the project."""

from __future__ import annotations

import datetime
from typing import Any

from airflow.sdk import DAG, PartitionedAssetTimetable

from cumulus_ops import names
from cumulus_ops.config import Project
from cumulus_ops.orchestration import texts
from cumulus_ops.orchestration.assets import epoch_asset, seal_asset, snapshot_asset
from cumulus_ops.orchestration.operators import (
    ApplyEpoch,
    CommitEpochs,
    PublishEpochs,
    SealEpoch,
    ValidateEpochs,
    Vote,
)
from cumulus_ops.orchestration.run_epochs import run_epochs_dag
from cumulus_ops.orchestration.timetable import StaggeredTimetable
from cumulus_ops.rhythm import Rhythm
from cumulus_ops.timeline import read_timeline
from cumulus_ops.versions import COORDINATORS_MAX

__all__ = ["build_dags", "commit_dag", "coordinator_dag", "validate_dag"]

RETRIES = {"retries": 3, "retry_delay": datetime.timedelta(seconds=5), "owner": "cumulus"}


def build_dags(project: Project) -> dict[str, DAG]:
    """All DAGs of ``project`` by their ids: one per coordinator, commit, validate, and the run chosen in the UI. Coordinators that are gone
    keep their DAGs, which run no more."""
    who = coordinators_of(project)
    made = [coordinator_dag(project, i) for i in sorted({*who, *read_timeline(project.state)})]
    made += [commit_dag(project), validate_dag(project), run_epochs_dag(project, who, common(project))]
    return {dag.dag_id: dag for dag in made}


def coordinators_of(project: Project) -> tuple[int, ...]:
    """Who has an epoch to work in, as the project's steps have written it last; before they have, as many as its file says."""
    timeline = read_timeline(project.state)
    return tuple(sorted(c for c, stay in timeline.items() if not stay.gone)) or tuple(range(project.coordinators))


def common(project: Project) -> dict[str, Any]:
    """Arguments that all DAGs of a project share. One run at a time: the next one does what this one leaves."""
    return {
        "tags": ["cumulus", project.name],
        "default_args": dict(RETRIES),
        "max_active_runs": 1,
        "start_date": project.epoch.start,
    }


def coordinator_dag(project: Project, coordinator: int) -> DAG:
    """Apply what lands for one coordinator during its epoch, then seal the epoch; who seals it last says that it is complete."""
    folder = str(project.folder)
    urgent: dict[str, Any] = {"priority_weight": 10 * (COORDINATORS_MAX - coordinator), "weight_rule": "absolute"}
    with DAG(
        dag_id=names.coordinator_dag(project.name, coordinator),
        schedule=StaggeredTimetable(Rhythm.of(project), coordinator, project.state),
        catchup=True,
        description=f"Coordinator {coordinator}: append and apply mini-batches, then seal the epoch",
        doc_md=texts.coordinator(project, coordinator),
        **common(project),
    ) as dag:
        apply = ApplyEpoch(task_id="apply", folder=folder, coordinator=coordinator, doc_md=texts.APPLY, **urgent)
        asset = seal_asset(project.name, coordinator)
        seal = SealEpoch(
            task_id="seal", folder=folder, coordinator=coordinator, asset=asset, doc_md=texts.SEAL, **urgent
        )
        vote = Vote(task_id="vote", complete=seal.output, asset=epoch_asset(project.name), doc_md=texts.VOTE, **urgent)
        apply >> seal >> vote
    return dag


def commit_dag(project: Project) -> DAG:
    """Runs once per epoch, when the last of its members has sealed it."""
    folder = str(project.folder)
    urgent: dict[str, Any] = {"priority_weight": 10 * (COORDINATORS_MAX + 1), "weight_rule": "absolute"}
    with DAG(
        dag_id=names.commit_dag(project.name),
        schedule=PartitionedAssetTimetable(assets=epoch_asset(project.name)),
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
