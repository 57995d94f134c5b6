"""Running epochs in one process, without Airflow: the same steps in a fixed, staggered order.

Time is counted in periods, N to an epoch of N coordinators. In each period every coordinator applies its next drop; at
its end the coordinator that holds the token seals its epoch, if that has had its N periods, and passes the token on. So coordinator 0 works in the next
epoch while the others still finish this one, as they would under a clock (Cumulus paper, section 4.2).
"""

from __future__ import annotations

from collections.abc import Callable

from cumulus_ops.engine import Runtime
from cumulus_ops.eventlog import pending_drops
from cumulus_ops.snapshot.commit import commit
from cumulus_ops.snapshot.minibatch import current_epoch, run_minibatch, seal, sealed
from cumulus_ops.snapshot.publishing import publish
from cumulus_ops.validation.run import validate

__all__ = ["run_epochs"]


def run_epochs(
    rt: Runtime, epochs: int, on_progress: Callable[[str], None] = lambda _: None, *, validating: bool = True
) -> None:
    """Apply landed drops until ``epochs`` more epochs are committed, published and validated.

    Args:
        rt: the open project.
        epochs: how many epochs to complete.
        on_progress: called with one line for each thing done.
        validating: False leaves out the validation.
    """
    first = len(rt.catalog.snapshots())
    for epoch in range(first, first + epochs):
        while not sealed(rt, epoch):
            _period(rt, on_progress)
        report = commit(rt, epoch)
        on_progress(f"epoch {epoch}: committed, {report.events} events, {report.corrections} corrections")
        publish(rt, epoch)
        if validating:
            outcome = validate(rt, epoch)
            on_progress(f"epoch {epoch}: validation {'passed' if outcome.success else 'FAILED'}")


def _period(rt: Runtime, on_progress: Callable[[str], None]) -> None:
    for coordinator in range(rt.project.coordinators):
        done = run_minibatch(rt, coordinator)
        if done is not None:
            on_progress(f"coordinator {coordinator}, epoch {done.epoch}: {done.events} events in {done.seconds:.1f} s")
    _pass_token(rt)


def _pass_token(rt: Runtime) -> None:
    """The holder of the token moves on when its epoch has had its periods, or nothing is left to fill it with."""
    holder = rt.catalog.token()
    epoch = current_epoch(rt, holder)
    had = sum(b.epoch == epoch for b in rt.catalog.batches(coordinator=holder))
    if had >= rt.project.coordinators or not pending_drops(rt.project, rt.catalog, holder):
        seal(rt, holder, epoch)
