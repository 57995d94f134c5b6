"""The life of an epoch: mini-batches, seals, corrections, the checkpoint, publishing.

Each part is imported on first use: who looks at a status needs no writer of tables, and who seals no executor.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cumulus_ops.snapshot.status import CoordinatorStatus, EpochReport, Status, status

if TYPE_CHECKING:
    from cumulus_ops.engine import Runtime, initialise, open_runtime
    from cumulus_ops.snapshot.commits import SnapshotReport, collect_garbage, commit, correct, merge
    from cumulus_ops.snapshot.deciding import drop_batch, retry_batch
    from cumulus_ops.snapshot.driver import run_epochs, run_waiting
    from cumulus_ops.snapshot.generations import Anew, begin_anew
    from cumulus_ops.snapshot.minibatch import BatchReport, current_epoch, run_minibatch
    from cumulus_ops.snapshot.notices import tell_where_coordinators_are
    from cumulus_ops.snapshot.publishing import awaiting, publish, to_validate
    from cumulus_ops.snapshot.quarantine import PutAside, drop_put_aside, put_aside, retry_put_aside, shown_rows
    from cumulus_ops.snapshot.refreshing import refresh
    from cumulus_ops.snapshot.scrubbing import DamagedFile, DamagedRun, ScrubReport, scrub
    from cumulus_ops.snapshot.sealing import apply_orphans, fence_the_gone, open_epoch, remove_coordinator, seal, sealed
    from cumulus_ops.snapshot.settling import settle, settle_if_due
    from cumulus_ops.validation.run import validate

__all__ = [
    "Anew",
    "BatchReport",
    "CoordinatorStatus",
    "DamagedFile",
    "DamagedRun",
    "EpochReport",
    "PutAside",
    "Runtime",
    "ScrubReport",
    "SnapshotReport",
    "Status",
    "apply_orphans",
    "awaiting",
    "begin_anew",
    "collect_garbage",
    "commit",
    "correct",
    "current_epoch",
    "drop_batch",
    "drop_put_aside",
    "fence_the_gone",
    "initialise",
    "merge",
    "open_epoch",
    "open_runtime",
    "publish",
    "put_aside",
    "refresh",
    "remove_coordinator",
    "retry_batch",
    "retry_put_aside",
    "run_epochs",
    "run_minibatch",
    "run_waiting",
    "scrub",
    "seal",
    "sealed",
    "settle",
    "settle_if_due",
    "shown_rows",
    "status",
    "tell_where_coordinators_are",
    "to_validate",
    "validate",
]

#: Not those of `status`, whose name a module has as well: imported later, that would hide the function.
_HOMES = {
    "Runtime": "cumulus_ops.engine",
    "initialise": "cumulus_ops.engine",
    "open_runtime": "cumulus_ops.engine",
    "SnapshotReport": "cumulus_ops.snapshot.commits",
    "collect_garbage": "cumulus_ops.snapshot.commits",
    "commit": "cumulus_ops.snapshot.commits",
    "correct": "cumulus_ops.snapshot.commits",
    "merge": "cumulus_ops.snapshot.commits",
    "drop_batch": "cumulus_ops.snapshot.deciding",
    "retry_batch": "cumulus_ops.snapshot.deciding",
    "run_epochs": "cumulus_ops.snapshot.driver",
    "run_waiting": "cumulus_ops.snapshot.driver",
    "Anew": "cumulus_ops.snapshot.generations",
    "begin_anew": "cumulus_ops.snapshot.generations",
    "BatchReport": "cumulus_ops.snapshot.minibatch",
    "current_epoch": "cumulus_ops.snapshot.minibatch",
    "run_minibatch": "cumulus_ops.snapshot.minibatch",
    "tell_where_coordinators_are": "cumulus_ops.snapshot.notices",
    "awaiting": "cumulus_ops.snapshot.publishing",
    "publish": "cumulus_ops.snapshot.publishing",
    "to_validate": "cumulus_ops.snapshot.publishing",
    "PutAside": "cumulus_ops.snapshot.quarantine",
    "drop_put_aside": "cumulus_ops.snapshot.quarantine",
    "put_aside": "cumulus_ops.snapshot.quarantine",
    "retry_put_aside": "cumulus_ops.snapshot.quarantine",
    "shown_rows": "cumulus_ops.snapshot.quarantine",
    "refresh": "cumulus_ops.snapshot.refreshing",
    "DamagedFile": "cumulus_ops.snapshot.scrubbing",
    "DamagedRun": "cumulus_ops.snapshot.scrubbing",
    "ScrubReport": "cumulus_ops.snapshot.scrubbing",
    "scrub": "cumulus_ops.snapshot.scrubbing",
    "apply_orphans": "cumulus_ops.snapshot.sealing",
    "fence_the_gone": "cumulus_ops.snapshot.sealing",
    "open_epoch": "cumulus_ops.snapshot.sealing",
    "remove_coordinator": "cumulus_ops.snapshot.sealing",
    "seal": "cumulus_ops.snapshot.sealing",
    "sealed": "cumulus_ops.snapshot.sealing",
    "settle": "cumulus_ops.snapshot.settling",
    "settle_if_due": "cumulus_ops.snapshot.settling",
    "validate": "cumulus_ops.validation.run",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
