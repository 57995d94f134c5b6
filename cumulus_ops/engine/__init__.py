"""apply and correct: the engine, the same on every executor.

Everything is imported on first use: a Spark worker computes, and needs neither the catalog's database libraries nor the SQL compiler;
who looks at a status computes nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cumulus_ops.engine.apply import ApplyTask
    from cumulus_ops.engine.correct import CorrectTask, History, is_due
    from cumulus_ops.engine.executor import Executor, InProcess
    from cumulus_ops.engine.refresh import RefreshTask
    from cumulus_ops.engine.runtime import (
        Compiled,
        Runtime,
        build_program,
        compile_project,
        have_views_changed,
        initialise,
        look_at_state,
        open_runtime,
    )
    from cumulus_ops.engine.steps import MergeTask, MinibatchTask, StepResult, run_step
    from cumulus_ops.engine.vector import Frame, evaluate, evaluate_logical, select

__all__ = [
    "ApplyTask",
    "Compiled",
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
    "compile_project",
    "evaluate",
    "evaluate_logical",
    "have_views_changed",
    "initialise",
    "is_due",
    "look_at_state",
    "open_runtime",
    "run_step",
    "select",
]

_HOMES = {
    "ApplyTask": "apply",
    "CorrectTask": "correct",
    "Executor": "executor",
    "Frame": "vector",
    "History": "correct",
    "InProcess": "executor",
    "MergeTask": "steps",
    "MinibatchTask": "steps",
    "RefreshTask": "refresh",
    "Runtime": "runtime",
    "StepResult": "steps",
    "Compiled": "runtime",
    "build_program": "runtime",
    "compile_project": "runtime",
    "have_views_changed": "runtime",
    "look_at_state": "runtime",
    "evaluate": "vector",
    "evaluate_logical": "vector",
    "initialise": "runtime",
    "is_due": "correct",
    "open_runtime": "runtime",
    "run_step": "steps",
    "select": "vector",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"cumulus_ops.engine.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
