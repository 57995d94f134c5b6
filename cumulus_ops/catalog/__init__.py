"""The control plane: one mutable database, the commit point of everything."""

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import (
    Batch,
    Clock,
    HistoryEntry,
    LogFile,
    NewBatch,
    NewRun,
    ProgramRecord,
    Refresh,
    Run,
    Snapshot,
    Validation,
)

__all__ = [
    "Batch",
    "Catalog",
    "Clock",
    "HistoryEntry",
    "LogFile",
    "NewBatch",
    "NewRun",
    "ProgramRecord",
    "Refresh",
    "Run",
    "Snapshot",
    "Validation",
]
