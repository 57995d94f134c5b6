"""From a project to its DAGs. Parsing costs no Spark and no Great Expectations; names come from the project."""

from __future__ import annotations

import datetime
from functools import reduce
from operator import or_
from typing import Any

from airflow.sdk import DAG, Param, PartitionedAssetTimetable, task_group

from cumulus_ops.orchestration import texts
from cumulus_ops.orchestration.assets import epoch_asset, snapshot_asset, value_asset, vote_asset
from cumulus_ops.orchestration.operators import (
    ApplyEpoch,
    ApplyShare,
    ApproveWork,
    CommitEpochs,
    DoWork,
    FinaliseValues,
    PlanEpochs,
    PlanWork,
    PublishEpochs,
    SayComplete,
    ValidateEpochs,
    ValidateValues,
    VoteEpoch,
    VoteShare,
    Work,
)
from cumulus_ops.orchestration.texts import Waits, waits_of
from cumulus_ops.orchestration.timetable import PLACES, StaggeredTimetable, TokenOrder
from cumulus_ops.project import names
from cumulus_ops.project.rhythm import Rhythm, read_timeline
from cumulus_ops.project.settings import Project

__all__ = [
    "build_dags",
    "commit_dag",
    "coordinator_dag",
    "deploy_dag",
    "final_dag",
    "recover_dag",
    "run_epochs_dag",
    "validate_dag",
]


#: Before what any coordinator has to do.
URGENT: dict[str, Any] = {"priority_weight": PLACES + 10, "weight_rule": "absolute"}
#: Runs that wait for an answer are active, and must not keep others from asking.
ASKING_RUNS = 16
#: A task may be done again as often as one likes. Its attempts span some minutes, in which servers are started again, and their deaths count, too.
RETRIES = {
    "retries": 10,
    "retry_delay": datetime.timedelta(seconds=5),
    "retry_exponential_backoff": True,
    "max_retry_delay": datetime.timedelta(minutes=1),
    "owner": "cumulus",
}


def build_dags(project: Project) -> dict[str, DAG]:
    """All DAGs of ``project`` by their ids: one per coordinator, commit, validate, the run chosen in the UI, deploy, and recover; and one that makes partitions
    final, if some view is final by a seal. They wait for what the project's plan names, and for nothing else. Coordinators that are gone keep
    their DAGs, which run no more."""
    waits = waits_of(project)
    made = [coordinator_dag(project, i, waits) for i in sorted({*waits.coordinators, *read_timeline(project.state)})]
    made += [
        commit_dag(project, waits),
        validate_dag(project),
        run_epochs_dag(project, waits, common(project)),
        deploy_dag(project),
        recover_dag(project),
    ]
    if waits.seals:
        made.append(final_dag(project, waits))
    return {dag.dag_id: dag for dag in made}


def common(project: Project) -> dict[str, Any]:
    """Arguments that all DAGs of a project share. One run at a time: the next one does what this one leaves."""
    return {
        "tags": ["cumulus", project.name],
        "default_args": dict(RETRIES),
        "max_active_runs": 1,
        "start_date": project.epoch.start,
    }


def coordinator_dag(project: Project, coordinator: int, waits: Waits) -> DAG:
    """Apply what lands for one coordinator during its epoch, then vote to end the epoch. Where there are several, who votes last says that it is
    complete; a vote of the only one does."""
    values = {place: value_asset(project.name, *place) for place in waits.seals}
    mine: dict[str, Any] = {
        "folder": str(project.folder),
        "coordinator": coordinator,
        "priority_weight": PLACES - coordinator,  # of a run of which nothing else is known
        "weight_rule": TokenOrder(),
    }
    with DAG(
        dag_id=names.coordinator_dag(project.name, coordinator),
        schedule=StaggeredTimetable(Rhythm.of(project), coordinator, project.state),
        catchup=True,
        description=f"Coordinator {coordinator}: append and apply mini-batches, then vote to end the epoch",
        doc_md=texts.coordinator(project, coordinator, waits),
        **common(project),
    ) as dag:
        apply = ApplyEpoch(task_id="apply", values=values, doc_md=texts.APPLY, **mine)
        asset, complete = vote_asset(project.name, coordinator), epoch_asset(project.name)
        vote = VoteEpoch(
            task_id="vote", asset=asset, complete=None if waits.votes else complete, doc_md=texts.ABOUT_VOTE, **mine
        )
        apply >> vote
        if waits.votes:
            urgent = {name: mine[name] for name in ("priority_weight", "weight_rule")}
            vote >> SayComplete(
                task_id="complete", complete=vote.output, asset=complete, doc_md=texts.COMPLETE, **urgent
            )
    return dag


def commit_dag(project: Project, waits: Waits) -> DAG:
    """Runs once per epoch, when the last of its members has voted to end it."""
    folder = str(project.folder)
    with DAG(
        dag_id=names.commit_dag(project.name),
        schedule=PartitionedAssetTimetable(assets=epoch_asset(project.name)),
        description="Checkpoint and publish each epoch that all coordinators have voted to end",
        doc_md=texts.commit(project, waits),
        **common(project),
    ) as dag:
        committed = CommitEpochs(task_id=waits.commit_task, folder=folder, doc_md=texts.checkpoint(waits), **URGENT)
        committed >> PublishEpochs(
            task_id="publish", folder=folder, asset=snapshot_asset(project.name), doc_md=texts.PUBLISH, **URGENT
        )
    return dag


def final_dag(project: Project, waits: Waits) -> DAG:
    """Runs when the vote on a sealed value is unanimous, whatever epoch it is; the partition key is the value."""
    assets = [value_asset(project.name, *place) for place in waits.seals]
    with DAG(
        dag_id=names.final_dag(project.name),
        schedule=PartitionedAssetTimetable(assets=reduce(or_, assets)),
        description="Write and prove the final partitions of values that all their producers have sealed",
        doc_md=texts.final(project, waits),
        **common(project),
    ) as dag:
        folder = str(project.folder)
        final = FinaliseValues(task_id="finalise", folder=folder, doc_md=texts.FINALISE, **URGENT)
        final >> ValidateValues(task_id="validate", folder=folder, doc_md=texts.VALIDATE_FINAL)
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


# The DAG for people: choose epochs in a form and watch the whole job, task by task.


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
                work >> VoteShare(task_id=f"vote_{i}", folder=folder, coordinator=i, plan=step, **one) >> commit
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


# The DAGs for people who change the project, and for those who have lost a file: they plan, ask, and do it.


def deploy_dag(project: Project) -> DAG:
    """Deploys the project's folder, once a person has agreed to what that would do."""
    said = ("Say what deploying the project's folder would do, ask, and deploy it while epochs go on",
            f"Is this to be done to what {project.name} maintains?")  # fmt: skip
    docs = (texts.deploy(project), texts.PLAN, texts.DEPLOY)
    return _ask_first(project, names.deploy_dag(project.name), "deployment", "deploy", deploy_form(), said, docs)


def recover_dag(project: Project) -> DAG:
    """Makes again what is damaged under the state folder, once a person has agreed."""
    said = ("Look at all files, say how what is damaged is made again, ask, and do it while epochs go on",
            f"Is this to be made again in the state folder of {project.name}?")  # fmt: skip
    docs = (texts.recover(project), texts.PLAN_RECOVERY, texts.RECOVER)
    return _ask_first(project, names.recover_dag(project.name), "recovery", "recover", recover_form(), said, docs)


def _ask_first(
    project: Project,
    dag_id: str,
    work: Work,
    task: str,
    form: dict[str, Param],
    said: tuple[str, str],
    docs: tuple[str, str, str],
) -> DAG:
    """Several runs may be there at once: one that gives a deployment up must not wait for it, and nobody for a question that nobody has answered.

    Args:
        project: the project.
        dag_id: the DAG.
        work: what it is about.
        task: what the task is called that does it.
        form: the parameters.
        said: what it does; and what a person is asked.
        docs: the texts about the DAG, its plan, and the task that does it.
    """
    folder = str(project.folder)
    (description, subject), (about, about_plan, about_task) = said, docs
    with DAG(
        dag_id=dag_id,
        schedule=None,
        params=form,
        description=description,
        doc_md=about,
        **(common(project) | {"max_active_runs": ASKING_RUNS}),
    ) as dag:
        plan = PlanWork(task_id="plan", folder=folder, work=work, chosen=[*form], doc_md=about_plan)
        approve = ApproveWork(task_id="approve", subject=subject, plan=plan.output, doc_md=texts.APPROVE)
        do = DoWork(task_id=task, folder=folder, work=work, plan=plan.output, doc_md=about_task, **URGENT)
        plan >> approve >> do
    return dag


def deploy_form() -> dict[str, Param]:
    """The parameters, as the UI's form shows and checks them."""
    return {
        "rollback": Param(
            False,
            type="boolean",
            title="Roll back",
            description="Deploy the revision before the current one, instead of the folder as it is now.",
        ),
        "give_up": Param(
            False,
            type="boolean",
            title="Give up what is under way",
            description="Give up the deployment that is under way, and deploy nothing.",
        ),
        "replan": Param(
            False,
            type="boolean",
            title="Make all maps anew",
            description="As today's rules and `rows:` of the project's file would have them. Else what is there stays as it is kept.",
        ),
        "rows": Param(
            True,
            type="boolean",
            title="Show rows",
            description="Compute the rows of changed views before and after, as of the newest snapshot. It costs as much as filling them.",
        ),
    }


def recover_form() -> dict[str, Param]:
    """The parameters, as the UI's form shows and checks them."""
    return {
        "files": Param(
            None,
            type=["null", "string"],
            title="Files",
            description="Names relative to the state folder, as the plan has them, with blanks between them. Empty: all that are damaged.",
        ),
        "dry_run": Param(False, type="boolean", title="Only plan", description="Say what is damaged, and ask nobody."),
    }
