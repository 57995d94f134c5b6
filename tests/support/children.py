"""Work done in real child processes, which tests kill and race against each other."""

from __future__ import annotations

import dataclasses
import datetime
import gc
import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from unittest.mock import patch

from cumulus_ops.epochs import checkpoint
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.epochs.minibatch import current_epoch, run_minibatch, settle
from cumulus_ops.epochs.voting import fence_the_gone, vote
from cumulus_ops.opening.resuming import resumes
from cumulus_ops.opening.runtime import Runtime, open_runtime
from cumulus_ops.project.errors import InputProblem, NotYet
from cumulus_ops.project.settings import Patience, Project

TIMEOUT_S = 600


def context() -> ForkServerContext:
    """A fork server with the heavy modules loaded: children start in milliseconds and inherit no threads."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["cumulus_ops.epochs", "tests.support.children", "tests.support.banking"])
    return server


def start(target: Callable[..., None], *args: object, **options: object) -> BaseProcess:
    """Start a child; it has the environment of now, and not that in which the fork server began."""
    call = (dict(os.environ), target, args, options)
    child = context().Process(target=_run, args=call, daemon=True)  # no test run waits for one at its end
    child.start()
    return child


def _run(
    environment: dict[str, str], target: Callable[..., None], args: tuple[object, ...], options: dict[str, object]
) -> None:
    gc.freeze()  # what was imported before the fork stays: not to be looked at again and again
    os.environ.update(environment)
    target(*args, **options)


def wait(child: BaseProcess) -> int:
    """Its exit code, negative for a signal."""
    child.join(TIMEOUT_S)
    assert child.exitcode is not None, "the child did not end"
    return child.exitcode


def finish_epochs(project: Project, epochs: int, fault: str = "") -> None:
    """Bring the project to ``epochs`` committed and published epochs, dying at ``fault`` if that is reached."""
    os.environ["CUMULUS_FAULT"] = fault
    with open_runtime(project, "inprocess") as rt:
        run_epochs(rt, epochs - len(rt.catalog.snapshots.all()), validating=False)


def finish_in_ranges(project: Project, epochs: int, fault: str = "") -> None:
    """The same, with copies that are merged in ranges of a hundred rows (of five, a copy of the derived maps would be hundreds of runs)."""
    with patch.object(checkpoint, "most_merged_rows", lambda _: 100):
        finish_epochs(project, epochs, fault)


def work_as_coordinator(project: Project, coordinator: int, drops_per_epoch: int, epochs: int) -> None:
    """Do one coordinator's whole work: its drops, and its seals as soon as it has the token."""
    with open_runtime(project, "inprocess") as rt:
        for epoch in range(epochs):
            drops = [d.name for d in rt.sources.pending(coordinator)][:drops_per_epoch]
            for _ in drops:
                assert run_minibatch(rt, coordinator, drops) is not None
            while current_epoch(rt, coordinator) == epoch:
                try:
                    vote(rt, coordinator, epoch)
                except NotYet:
                    os.sched_yield()


@resumes
def finish_epochs_on_spark(project: Project, epochs: int) -> None:
    """Bring the project to ``epochs`` committed, published and validated epochs on the Spark its settings name, whatever of it dies meanwhile."""
    with open_runtime(project, "spark") as rt:
        run_epochs(rt, epochs - len(rt.catalog.snapshots.all()))


def apply_drops(
    project: Project, coordinator: int, drops: int, *, fault: str = "", pause: str = "", settling: bool = False
) -> None:
    """Append and apply a coordinator's next drops, one after the other; die at ``fault``, or stand still at ``pause``. In the end
    it settles what is left, if it is to."""
    os.environ.update(CUMULUS_FAULT=fault, CUMULUS_PAUSE=pause)
    with open_runtime(project, "inprocess") as rt:
        for _ in range(drops):
            assert run_minibatch(rt, coordinator) is not None
        if settling:
            settle(rt)


def work_through_epochs(
    project: Project, coordinator: int, epochs: int, *, fault: str = "", pause: str = "", fencing: bool = False
) -> None:
    """Work as a coordinator until it has sealed so many epochs, or its last: a drop, a look after the others, and a seal as soon as
    that is possible; die at ``fault``, or stand still at ``pause``. With ``fencing``, it has no patience with anybody."""
    os.environ.update(CUMULUS_FAULT=fault, CUMULUS_PAUSE=pause)
    if fencing:
        none = datetime.timedelta(0)
        project = dataclasses.replace(project, patience=Patience(none, none))
    with open_runtime(project, "inprocess") as rt:
        while _is_member(rt, coordinator) and current_epoch(rt, coordinator) < epochs:
            try:
                run_minibatch(rt, coordinator)
                fence_the_gone(rt, coordinator)
                vote(rt, coordinator, current_epoch(rt, coordinator))
            except NotYet:
                os.sched_yield()
            except InputProblem as problem:
                if problem.kind not in ("not-a-member", "unknown-coordinator"):  # it was drained meanwhile
                    raise


def _is_member(rt: Runtime, coordinator: int) -> bool:
    return any(m.coordinator == coordinator for m in rt.catalog.members.membership().active())


def wait_until_stopped(child: BaseProcess) -> None:
    """Until it has stopped itself (SIGSTOP)."""
    while _state(child.pid) != "T":
        assert child.is_alive(), "the child never stopped"
        os.sched_yield()


def _state(pid: int | None) -> str:
    """The state letter of a process, as the kernel shows it after the name in parentheses."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
