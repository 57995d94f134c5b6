"""apply and correct: the engine, the same on every executor.

A Spark worker computes, and needs neither the catalog's database libraries nor the SQL compiler: what opens a project is
imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cumulus_ops.engine.apply import ApplyTask
from cumulus_ops.engine.correct import CorrectTask, History, is_due
from cumulus_ops.engine.executor import Executor, InProcess
from cumulus_ops.engine.refresh import RefreshTask
from cumulus_ops.engine.steps import MergeTask, MinibatchTask, StepResult, run_step
from cumulus_ops.engine.vector import Frame, evaluate, evaluate_logical, select

if TYPE_CHECKING:
    from cumulus_ops.engine.runtime import Runtime, build_program, initialise, open_runtime

__all__ = [
    "ApplyTask",
    "CorrectTask",
    "Executor",
    "Frame",
    "History",
    "InProcess",
    "MergeTask",
    "MinibatchTask",
    "RefreshTask",
    "Runtime",
    "StepResult",
    "build_program",
    "evaluate",
    "evaluate_logical",
    "initialise",
    "is_due",
    "open_runtime",
    "run_step",
    "select",
]


def __getattr__(name: str) -> Any:
    if name in ("Runtime", "build_program", "initialise", "open_runtime"):
        from cumulus_ops.engine import runtime

        return getattr(runtime, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
