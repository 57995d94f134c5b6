"""The control plane: one mutable database, the commit point of everything.

Its records are known in many places, the database library only where the catalog is opened: it is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cumulus_ops.catalog.epochs import AppliedBatch, EpochNumbers, Newest, Quarantined, StepProblem, Transition
from cumulus_ops.catalog.in_error import InError, in_error
from cumulus_ops.catalog.intake import (
    FileAside,
    Intake,
    KnownDelivery,
    NewFileAside,
    NewQuarantine,
    QuarantinedRows,
    Repeats,
    StandingSource,
    Taken,
    TakenFile,
)
from cumulus_ops.catalog.left_out import LeftOut, failed_batches, left_out, missing_from, set_aside
from cumulus_ops.catalog.membership import Boundary, FencedSeal, Member, Membership, Token
from cumulus_ops.catalog.records import (
    LEFT_OUT,
    Advance,
    Batch,
    Clock,
    HistoryEntry,
    KeyChange,
    KeyIndex,
    KeyRun,
    LogFile,
    NewBatch,
    NewKeyRun,
    NewRun,
    ProgramRecord,
    Refresh,
    Run,
    SharedClock,
    Snapshot,
    Step,
    Unsettled,
    Validation,
    ViewError,
    step_of,
)
from cumulus_ops.catalog.values import (
    ClosedValue,
    OpenValue,
    SealChange,
    SealCounts,
    Sealing,
    UnsettledBatch,
    ValueState,
)

if TYPE_CHECKING:
    from cumulus_ops.catalog.catalog import Catalog

__all__ = [
    "LEFT_OUT",
    "Advance",
    "AppliedBatch",
    "Batch",
    "Boundary",
    "Catalog",
    "Clock",
    "ClosedValue",
    "EpochNumbers",
    "FencedSeal",
    "FileAside",
    "HistoryEntry",
    "InError",
    "Intake",
    "KeyChange",
    "KeyIndex",
    "KeyRun",
    "KnownDelivery",
    "LeftOut",
    "LogFile",
    "Member",
    "Membership",
    "NewBatch",
    "NewFileAside",
    "NewKeyRun",
    "NewQuarantine",
    "NewRun",
    "Newest",
    "OpenValue",
    "ProgramRecord",
    "Quarantined",
    "QuarantinedRows",
    "Refresh",
    "Repeats",
    "Run",
    "SealChange",
    "SealCounts",
    "Sealing",
    "SharedClock",
    "Snapshot",
    "StandingSource",
    "Step",
    "StepProblem",
    "Taken",
    "TakenFile",
    "Token",
    "Transition",
    "Unsettled",
    "UnsettledBatch",
    "Validation",
    "ValueState",
    "ViewError",
    "failed_batches",
    "in_error",
    "left_out",
    "missing_from",
    "set_aside",
    "step_of",
]


def __getattr__(name: str) -> Any:
    if name == "Catalog":
        from cumulus_ops.catalog.catalog import Catalog

        return Catalog
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
