"""Steps and calls in portions without Spark: one after the other, as several tasks would do them at the same time."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from unittest.mock import patch

from cumulus_ops.catalog.records import NewRun
from cumulus_ops.compute.correct import CorrectTask
from cumulus_ops.compute.portions import PortionTask, run_levels
from cumulus_ops.compute.refresh import RefreshTask
from cumulus_ops.compute.steps import InProcess, MergeTask, MinibatchTask, StepResult, Task, run_step
from cumulus_ops.project.processes import MakeCalls

__all__ = ["InPortions", "Others"]


class InPortions(InProcess):
    """Refreshes, corrects and merges as Spark does what is large. ``rows``: with fewer that are left, one task does the rest."""

    def __init__(self, tasks: int, rows: int = 2) -> None:
        super().__init__(1)
        self.tasks, self.rows = tasks, rows

    def run(self, task: Task) -> StepResult:
        """See :class:`cumulus_ops.compute.steps.Executor`."""
        match task:
            case MinibatchTask():
                return super().run(task.apply)  # the refresh follows on its own
            case MergeTask():
                return StepResult.together(self._run_all(task.cut(self.tasks)))
            case RefreshTask() | CorrectTask():
                results: list[StepResult] = []

                def run(portions: list[PortionTask]) -> Iterable[NewRun]:
                    results.extend(done := self._run_all(portions))
                    return [run for result in done for run in result.runs]

                with patch("cumulus_ops.compute.refresh.SMALL_ROWS", 0):  # a few groups are ranges of their keys, too
                    run_levels(task, self.tasks, self.rows, run)
                return StepResult.together(results)
        return super().run(task)

    def _run_all(self, tasks: Sequence[Task]) -> list[StepResult]:
        """There and back as text, from the last to the first: they have nothing to say to each other."""
        done = [StepResult.from_json(run_step(pickle.loads(pickle.dumps(task))).to_json()) for task in reversed(tasks)]
        return done[::-1]


class Broken(BaseException):
    """A call has failed that ought not to: nobody takes this for other processes that have gone, and does it himself."""


class Others:
    """Makes calls as other processes do: pickled, in any order, some of them twice. ``lost``: the files that nobody has taken of these."""

    def __init__(self) -> None:
        self.calls, self.lost = 0, set[str]()

    def __call__(self, rows: int, calls: int) -> MakeCalls:
        return self.make

    def make(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        again: list[Callable[[], Any]] = pickle.loads(pickle.dumps(calls))
        self.calls += len(calls)
        try:
            for found in (call() for call in again[::2]):
                self.lost.update(found.paths() if hasattr(found, "paths") else ())
            return [pickle.loads(pickle.dumps(call())) for call in reversed(again)][::-1]
        except Exception as error:
            raise Broken from error
