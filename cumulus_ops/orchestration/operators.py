"""Airflow operators: each turns its arguments into one call of :mod:`cumulus_ops.orchestration.steps`."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Asset, BaseOperator, BaseSensorOperator, Context, PokeReturnValue

from cumulus_ops.light import lazy_module
from cumulus_ops.orchestration.assets import EPOCH, ReportLink, SnapshotLink, absolute_page
from cumulus_ops.project import names
from cumulus_ops.project.project_file import load_project

if TYPE_CHECKING:
    from cumulus_ops.catalog.finals import FinalPartition
    from cumulus_ops.orchestration import deploy_steps, final_steps, repair_steps, steps
    from cumulus_ops.orchestration.deploy_steps import Agreed
    from cumulus_ops.orchestration.repair_steps import Asked
else:  # parsing a DAG file imports this module, and nothing that works
    steps, final_steps = map(lazy_module, ("cumulus_ops.orchestration.steps", "cumulus_ops.orchestration.final_steps"))
    deploy_steps = lazy_module("cumulus_ops.orchestration.deploy_steps")
    repair_steps = lazy_module("cumulus_ops.orchestration.repair_steps")

__all__ = [
    "ApplyEpoch",
    "ApplyShare",
    "ApproveWork",
    "CommitEpochs",
    "DoWork",
    "FinaliseValues",
    "PlanEpochs",
    "PlanWork",
    "PublishEpochs",
    "SayComplete",
    "ValidateEpochs",
    "ValidateValues",
    "VoteEpoch",
    "VoteShare",
    "Work",
]

log = logging.getLogger(__name__)

Work = Literal["deployment", "recovery"]
#: (relation, seal) -> the asset that says which of its values are closed.
Values = Mapping[tuple[str, str], Asset]

#: Airflow keeps no longer partition keys than 250 characters.
KEY_CHARACTERS = 200
WAIT_S = 5.0  # between two looks of a sensor that gave its slot back
BLUE, GREEN, YELLOW, PURPLE = "#d6e4f5", "#d9f2dd", "#fdf3cf", "#ece2f7"


class ApplyEpoch(BaseOperator):
    """Apply one coordinator's drops as they land, until its epoch is over by the schedule, or early. Says which values were closed by
    their last seal: ``values`` has the asset of each (relation, seal) by which some view is final. An epoch that it completes for somebody who is gone
    is committed at once."""

    ui_color = BLUE

    def __init__(self, *, folder: str, coordinator: int, values: Values | None = None, **kwargs: Any) -> None:
        self.values = values or {}
        super().__init__(outlets=list(self.values.values()), **kwargs)
        self.folder, self.coordinator = folder, coordinator

    def execute(self, context: Context) -> dict[str, int]:
        """Returns the sums over the batches."""
        from cumulus_ops.catalog.values import shown_value

        project = load_project(Path(self.folder)).name

        def wake_final(partition: FinalPartition) -> None:
            """Its events come when this task ends, with the epoch; partitions are proved before."""
            wake(names.final_dag(project), f"sealed__{partition.id}", shown_value(partition.value)[:KEY_CHARACTERS])

        def wake_commit(complete: range) -> None:
            """This coordinator's own vote comes after this task, when its epoch ends; who waits for the snapshot has waited for somebody who is gone already."""
            wake(names.commit_dag(project), f"complete__{complete[-1]}", str(complete[-1]))

        totals = steps.apply_scheduled(
            self.folder,
            self.coordinator,
            began(context),
            wake_final if self.values else lambda _: None,
            wake_commit,
        )
        say_closed(context, self.folder, self.values)
        return totals


class VoteEpoch(BaseSensorOperator):
    """Vote to end the run's epoch as soon as the coordinator holds the token, and say so by an asset event per epoch.

    It waits in the process for a while, because a process is dear, then gives its slot back and comes again. ``complete`` is given where
    there is nobody else: then this vote completes it, and wakes the commit.
    """

    ui_color = YELLOW

    def __init__(
        self,
        *,
        folder: str,
        coordinator: int,
        asset: Asset,
        complete: Asset | None = None,
        **kwargs: Any,
    ) -> None:
        outlets = [asset, *([complete] if complete else [])]
        super().__init__(mode="reschedule", poke_interval=WAIT_S, outlets=outlets, **kwargs)
        self.folder, self.coordinator, self.asset, self.complete = folder, coordinator, asset, complete

    def poke(self, context: Context) -> PokeReturnValue:
        """Done when the coordinator has voted; the value says which epochs are complete and await their snapshots: ``first`` and ``last``."""
        voted = steps.vote_scheduled(self.folder, self.coordinator, began(context))
        if voted is None:
            return PokeReturnValue(is_done=False)
        event = context["outlet_events"][self.asset]
        event.extra = ends_of(voted.epochs)
        if voted.epochs:
            event.add_partitions(str(voted.epochs[-1]))
        if self.complete and voted.complete:
            say_complete(context, self.complete, ends_of(voted.complete))
        return PokeReturnValue(is_done=True, xcom_value=ends_of(voted.complete))


class SayComplete(BaseOperator):
    """Say which epochs all their members have voted to end, by an asset event for each; skipped while a vote is missing.

    Who the members of an epoch are, the catalog knows; so the vote is counted there, and not by Airflow.
    """

    ui_color = YELLOW
    template_fields = ("complete",)

    def __init__(self, *, complete: Any, asset: Asset, **kwargs: Any) -> None:
        super().__init__(outlets=[asset], **kwargs)
        self.complete, self.asset = complete, asset

    def execute(self, context: Context) -> dict[str, int]:
        """Returns ``first`` and ``last`` of the epochs."""
        from airflow.sdk.exceptions import AirflowSkipException

        if not self.complete:
            raise AirflowSkipException(
                "not all members have voted to end the epoch yet, or it is empty and has its snapshot already"
            )
        say_complete(context, self.asset, dict(self.complete))
        return dict(self.complete)


class CommitEpochs(BaseOperator):
    """Checkpoint every epoch that all coordinators have voted to end, after what its plan says has to come before."""

    ui_color = GREEN
    template_fields = ("engine",)

    def __init__(self, *, folder: str, engine: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder, self.engine = folder, engine

    def execute(self, context: Context) -> list[int]:
        """Returns the epochs committed now, without those that repeat another one's snapshot."""
        return steps.commit_complete(self.folder, executor=choose_executor(self.engine))


class PublishEpochs(BaseOperator):
    """Publish the committed epochs as Delta tables; update the snapshot asset if it is given."""

    ui_color = GREEN

    operator_extra_links = (SnapshotLink(),)

    def __init__(self, *, folder: str, asset: Asset | None = None, **kwargs: Any) -> None:
        super().__init__(outlets=[asset] if asset else [], **kwargs)
        self.folder, self.asset = folder, asset

    def execute(self, context: Context) -> list[int]:
        """Returns the published epochs that await validation. The asset event's extra also has the views in error, and why, and where the
        report of the newest of the epochs will be."""
        epochs, in_error = steps.publish_committed(self.folder)
        say_epoch(context, epochs[-1:])
        if self.asset and epochs:
            event = context["outlet_events"][self.asset]
            report = absolute_page(load_project(Path(self.folder)).name, "epochs", epochs[-1], "report")
            # the link first: Airflow's page shows a few lines, however many epochs there are
            event.extra = {"report": report, "epochs": list(epochs), "in_error": in_error}
            event.add_partitions(str(epochs[-1]))  # one wake-up: the validation takes all that await it
        return epochs


class ValidateEpochs(BaseOperator):
    """Prove every committed snapshot that has no report yet equal to full recomputation."""

    ui_color = PURPLE
    operator_extra_links = (ReportLink(),)

    def __init__(self, *, folder: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder = folder

    def execute(self, context: Context) -> dict[str, str]:
        """Returns epoch -> passed, unproved or failed. A snapshot that fails by the project's settings fails the task at once: a retry would not change the numbers."""
        from airflow.sdk.exceptions import AirflowFailException

        try:
            outcomes = steps.validate_committed(self.folder)
        except steps.SnapshotInvalid as error:
            self._say_reports(context, error.epochs)
            raise AirflowFailException(str(error)) from error
        self._say_reports(context, list(outcomes))
        return {str(epoch): outcome for epoch, outcome in outcomes.items()}

    def _say_reports(self, context: Context, epochs: Sequence[int]) -> None:
        """In the log, which the UI shows first and whose addresses are links, and for the task's button, which is among its details."""
        project = load_project(Path(self.folder)).name
        for epoch in epochs:
            self.log.info("report of epoch %d: %s", epoch, absolute_page(project, "epochs", epoch, "report"))
        say_epoch(context, epochs[-1:])


class FinaliseValues(BaseOperator):
    """Write the final partitions of all values that are closed, whichever of them has woken this up."""

    ui_color = GREEN

    def __init__(self, *, folder: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder = folder

    def execute(self, context: Context) -> list[str]:
        """Returns the partitions that are final now, as text."""
        return final_steps.finalise_closed(self.folder)


class ValidateValues(BaseOperator):
    """Prove every final partition that has no verdict yet equal to recomputation from the log rows of its value."""

    ui_color = PURPLE

    def __init__(self, *, folder: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder = folder

    def execute(self, context: Context) -> list[str]:
        """Returns the partitions that passed, as text. One that did not fails the task at once."""
        from airflow.sdk.exceptions import AirflowFailException

        try:
            return final_steps.validate_final(self.folder)
        except steps.SnapshotInvalid as error:
            raise AirflowFailException(str(error)) from error


class PlanEpochs(BaseOperator):
    """Spread what has landed over the chosen epochs; the result is mapped over, one task group per epoch."""

    template_fields = ("first", "epochs")

    def __init__(self, *, folder: str, first: str, epochs: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder, self.first, self.epochs = folder, first, epochs

    def execute(self, context: Context) -> list[dict[str, object]]:
        """Returns the plan of :func:`~cumulus_ops.orchestration.steps.plan_epochs`."""
        first = None if str(self.first) in ("", "None") else int(self.first)
        return steps.plan_epochs(self.folder, first, int(self.epochs))


class ApplyShare(BaseSensorOperator):
    """Apply one coordinator's share of one planned epoch, once the coordinator has arrived in it."""

    ui_color = BLUE
    template_fields = ("plan", "engine")

    def __init__(self, *, folder: str, coordinator: int, plan: Any, engine: str = "", **kwargs: Any) -> None:
        super().__init__(mode="reschedule", poke_interval=WAIT_S, **kwargs)
        self.folder, self.coordinator, self.plan, self.engine = folder, coordinator, plan, engine

    def poke(self, context: Context) -> PokeReturnValue:
        """Done when the share is applied; the value is the sums over the batches."""
        epoch, leave = self.plan["epoch"], self.plan["leave"].get(str(self.coordinator), 0)
        totals = steps.apply_epoch(
            self.folder, self.coordinator, epoch, leave=leave, executor=choose_executor(self.engine)
        )
        return PokeReturnValue(is_done=totals is not None, xcom_value=totals)


class VoteShare(BaseSensorOperator):
    """Vote to end a planned epoch for one coordinator. The DAG goes on by itself, so no asset event is needed."""

    ui_color = YELLOW
    template_fields = ("plan",)

    def __init__(self, *, folder: str, coordinator: int, plan: Any, **kwargs: Any) -> None:
        super().__init__(mode="reschedule", poke_interval=WAIT_S, **kwargs)
        self.folder, self.coordinator, self.plan = folder, coordinator, plan

    def poke(self, context: Context) -> PokeReturnValue:
        """Done when the coordinator has voted."""
        voted = steps.vote_epoch(self.folder, self.coordinator, self.plan["epoch"])
        return PokeReturnValue(is_done=voted is not None, xcom_value=voted)


# What a person is asked before it is done: deploying what has changed, making again what is lost.


class PlanWork(BaseOperator):
    """Say what would be done, by those of the run's parameters that are ``chosen`` by its form."""

    ui_color = YELLOW

    def __init__(self, *, folder: str, work: Work, chosen: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder, self.work, self.chosen = folder, work, chosen

    def execute(self, context: Context) -> Agreed | Asked:
        """Returns what a person is asked."""
        plan = deploy_steps.plan_deployment if self.work == "deployment" else repair_steps.plan_recovery
        with _no_retry_of_mistakes():
            return plan(self.folder, **{name: context["params"][name] for name in self.chosen})


class ApproveWork(ApprovalOperator):  # type: ignore[misc]
    """Ask a person whether that is to be done. No process waits meanwhile, and no triggerer is needed. Without anything to do it is skipped, and what comes behind it."""

    ui_color = PURPLE
    template_fields = ("subject", "body", "plan")

    def __init__(self, *, plan: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan

    def execute(self, context: Context) -> Any:
        """Ask; Airflow calls ``execute_complete`` when somebody has answered."""
        from airflow.sdk.exceptions import AirflowSkipException

        if not self.plan["to_do"]:
            raise AirflowSkipException(self.plan["markdown"])
        self.body = self.plan["markdown"]
        return super().execute(context)


class DoWork(BaseOperator):
    """Do what a person has agreed to."""

    ui_color = GREEN
    template_fields = ("plan",)

    def __init__(self, *, folder: str, work: Work, plan: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder, self.work, self.plan = folder, work, plan

    def execute(self, context: Context) -> dict[str, int]:
        """Returns of a deployment which ``revision`` is current, and ``since`` which epoch; of a recovery how many damages were ``repaired``."""
        do = deploy_steps.deploy_agreed if self.work == "deployment" else repair_steps.recover_agreed
        with _no_retry_of_mistakes():
            return do(self.folder, self.plan)


@contextmanager
def _no_retry_of_mistakes() -> Iterator[None]:
    """What somebody has to change first fails a task at once."""
    from airflow.sdk.exceptions import AirflowFailException

    from cumulus_ops.project.errors import InputProblem
    from m3.errors import M3Error

    try:
        yield
    except (InputProblem, M3Error) as error:
        raise AirflowFailException(str(error)) from error


def say_complete(context: Context, asset: Asset, complete: dict[str, int]) -> None:
    """That epochs, ``first`` to ``last``, are complete. One wake-up: the commit takes all that are."""
    event = context["outlet_events"][asset]
    event.extra = complete
    event.add_partitions(str(complete["last"]))


def say_closed(context: Context, folder: str, values: Values) -> None:
    """Which values are closed, and left to be made final or to be validated: of each seal one event, by the text of the oldest such value. One
    wake-up: who is woken takes all that are left."""
    if not values:
        return
    for place, texts in final_steps.closed_values(folder, list(values)).items():
        event = context["outlet_events"][values[place]]
        event.extra = {"values": texts}
        event.add_partitions(texts[0][:KEY_CHARACTERS])


def wake(dag_id: str, run_id: str, key: str) -> None:
    """Start a run of a DAG from within a task that goes on. A run that is there already, or a DAG that cannot be run, is no reason to fail.

    Args:
        dag_id: the DAG.
        run_id: says what it is about: there is one run for each.
        key: the run's partition key.
    """
    from airflow.sdk.execution_time import task_runner
    from airflow.sdk.execution_time.comms import TriggerDagRun
    from airflow.sdk.timezone import utcnow

    # What a task that triggers a DAG run says to its supervisor; tasks without one (called by tests) have nobody to tell.
    supervisor = getattr(task_runner, "SUPERVISOR_COMMS", None)
    if supervisor is None:
        return
    try:
        answer = supervisor.send(TriggerDagRun(dag_id=dag_id, run_id=run_id, partition_key=key, run_after=utcnow()))
    except Exception:
        log.exception("could not wake %s", dag_id)
    else:
        log.info("woke %s: %s, %s", dag_id, run_id, answer)


def say_epoch(context: Context, epochs: Sequence[int]) -> None:
    """Say which epoch the task's button is about, if any; see :mod:`cumulus_ops.orchestration.assets`."""
    for epoch in epochs:
        context["ti"].xcom_push(key=EPOCH, value=epoch)


def began(context: Context) -> datetime.datetime:
    """When the epoch of a coordinator's run began: the beginning of its data interval."""
    start = context.get("data_interval_start")
    if start is None:
        raise ValueError("the run has no data interval: trigger it with a logical date, or use the run_epochs DAG")
    return datetime.datetime.fromtimestamp(start.timestamp(), datetime.UTC)


def ends_of(epochs: range) -> dict[str, int]:
    """``first`` and ``last`` of some epochs; empty if there are none. They may be thousands."""
    return {"first": epochs[0], "last": epochs[-1]} if epochs else {}


def choose_executor(executor: str) -> str | None:
    """The executor of a form: ``project`` and nothing mean the project's own."""
    return executor if executor in ("inprocess", "spark") else None
