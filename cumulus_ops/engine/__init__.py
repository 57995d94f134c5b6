"""apply and correct: the engine, the same on every executor."""

from cumulus_ops.engine.apply import ApplyTask
from cumulus_ops.engine.correct import CorrectTask, History, is_due
from cumulus_ops.engine.executor import Executor, InProcess
from cumulus_ops.engine.refresh import RefreshTask
from cumulus_ops.engine.runtime import Runtime, build_program, initialise, open_runtime
from cumulus_ops.engine.steps import MergeTask, MinibatchTask, StepResult, run_step
from cumulus_ops.engine.vector import Frame, evaluate, evaluate_logical, select

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
