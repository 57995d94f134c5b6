"""What all steps begin with: the project of a folder, initialised and opened."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from urllib.parse import quote

from cumulus_ops.light import without_pandas
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import CumulusError
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import Project
from cumulus_ops.publishing.telling import watch_task

__all__ = ["Patience", "SnapshotInvalid", "running", "task_address"]


class SnapshotInvalid(CumulusError):
    """A snapshot differs from full recomputation, and the project's policy is to fail. ``epochs``: which ones do, ascending."""

    epochs: tuple[int, ...] = ()


@contextmanager
def running(
    folder: str, executor: str | None, step: str | None, coordinator: int | None = None, *, frames: bool = False
) -> Iterator[tuple[Project, Runtime]]:
    """A project's runtime. The catalog is told if anything fails here.

    Args:
        folder: the project.
        executor: overrides the project's executor.
        step: what the task does, in one word of :mod:`cumulus_ops.publishing.telling`; None if nothing of the project stands still when it fails, so that only its log
            has to say so.
        coordinator: for whom, None if for the whole project.
        frames: whether data frames are made, by what proves snapshots.
    """
    project = load_project(Path(folder))
    if (executor or project.executor.kind) == "inprocess" and not frames:
        without_pandas()
    log_address = task_address(os.environ)
    with nullcontext() if step is None else watch_task(project, step, coordinator, log_address):
        initialise(project, goes_on=True)
        with open_runtime(project, executor or None) as runtime:
            runtime.catalog.problems.log_address = log_address
            yield project, runtime
            if step is not None:
                runtime.catalog.problems.step_succeeds(step, coordinator)


def task_address(environment: Mapping[str, str]) -> str:
    """Where Airflow's UI shows the task that has this environment, as a path on its host; "" outside of tasks.

    >>> task_address({"AIRFLOW_CTX_DAG_ID": "d", "AIRFLOW_CTX_TASK_ID": "t", "AIRFLOW_CTX_DAG_RUN_ID": "r:1"})
    '/dags/d/runs/r%3A1/tasks/t'
    """
    names = ("AIRFLOW_CTX_DAG_ID", "AIRFLOW_CTX_DAG_RUN_ID", "AIRFLOW_CTX_TASK_ID")
    if not all(environment.get(name) for name in names):
        return ""
    dag, run, task = (quote(environment[name], safe="") for name in names)
    number = environment.get("AIRFLOW_CTX_TRY_NUMBER")
    return f"/dags/{dag}/runs/{run}/tasks/{task}" + (f"?try_number={number}" if number else "")


class Patience:
    """So many seconds from now."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Whether they have passed."""
        return time.monotonic() >= self._deadline
