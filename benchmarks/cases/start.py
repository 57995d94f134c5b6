"""What a person, a task and a worker wait for before anything is computed: the CPU seconds of a start."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.contest import Contestant, Turn, compete
from benchmarks.rows import Label, Row
from benchmarks.settings import Settings
from benchmarks.states import scratch
from cumulus_ops.cli.scaffold import write_project
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.project_file import load_project

__all__ = ["run"]

REPETITIONS, WARM_UPS = 7, 1
COMMAND = "from cumulus_ops.cli.main import main; main()"
AIRFLOW = "import airflow.sdk.execution_time.task_runner"
SPARK = "import pyspark.daemon, pyspark.worker"
TASK = "; from cumulus_ops.orchestration import steps; steps.vote_epoch('.', 0, 0, patience_s=0)"
WORKER = "; import cumulus_ops.compute.staged, cumulus_ops.compute.steps"
#: What is measured: the name of its row -> the code of a process, and its arguments. What Cumulus adds to a task or a worker is the difference
#: to the row with what Airflow, or Spark, need by themselves.
STARTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "status": (COMMAND, ["status"]),
    "query": (COMMAND, ["query", "revenue"]),
    "compile": (COMMAND, ["compile"]),
    "Airflow alone": (AIRFLOW, []),
    "a task": (AIRFLOW + TASK, []),
    "a Spark worker alone": (SPARK, []),
    "a Spark worker": (SPARK + WORKER, []),
}


def run(settings: Settings) -> Iterator[list[Row]]:
    """Each start in turn; a turn is a process."""
    with _project(settings.home) as folder:
        for name, (code, arguments) in STARTS.items():
            label = Label("start", name, "CPU seconds", 0.0, 1, 1)
            make: Callable[[], AbstractContextManager[Contestant]] = partial(_starting, folder, code, arguments)
            yield compete(label, {"cumulus": make}, settings.repetitions or REPETITIONS, WARM_UPS)


@contextmanager
def _project(home: Path) -> Iterator[Path]:
    """The project that `cumulus init` writes, with a snapshot."""
    with scratch(home) as folder:
        write_project(folder, "shop")
        project = load_project(folder)
        initialise(project)
        with open_runtime(project, "inprocess") as rt:
            run_epochs(rt, 1, validating=False)
        yield folder


@dataclass
class _Start:
    folder: Path
    code: str
    arguments: Sequence[str]

    def turn(self, number: int) -> Turn:
        before = _children_s()
        environment = {**os.environ, "CUMULUS_PROJECT": str(self.folder)}
        command = [sys.executable, "-c", self.code, *self.arguments]
        subprocess.run(command, cwd=self.folder, env=environment, check=True, capture_output=True)
        return Turn(_children_s() - before, 1)

    def finish(self) -> str:
        return ""


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def _starting(folder: Path, code: str, arguments: Sequence[str]) -> Iterator[Contestant]:
    yield _Start(folder, code, arguments)
