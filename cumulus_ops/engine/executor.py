"""Where steps run: in this process, or on Spark. Both run the same step functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cumulus_ops.layout import ProgramPlan

if TYPE_CHECKING:
    from cumulus_ops.engine.steps import StepResult, Task

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
        from cumulus_ops.engine.steps import run_step  # the kernel: many who open a project run no step

        return run_step(task)

    def close(self) -> None:
        """Nothing to release."""
