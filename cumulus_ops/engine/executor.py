"""Where steps run: in this process, or on Spark. Both run the same step functions."""

from __future__ import annotations

from typing import Protocol

from cumulus_ops.engine.steps import StepResult, Task, run_step
from cumulus_ops.layout import ProgramPlan

__all__ = ["Executor", "InProcess"]


class Executor(Protocol):
    """Runs steps."""

    def prepare(self, plan: ProgramPlan) -> None:
        """Begin, without waiting, with what the first task of a program would have to wait for."""
        ...

    def run(self, task: Task) -> StepResult:
        """Run one task to its end and return what it wrote."""
        ...

    def close(self) -> None:
        """Release what the executor holds."""
        ...


class InProcess:
    """Runs each step in the calling process."""

    def prepare(self, plan: ProgramPlan) -> None:
        """Nothing to begin with."""

    def run(self, task: Task) -> StepResult:
        """See :class:`Executor`."""
        return run_step(task)

    def close(self) -> None:
        """Nothing to release."""
