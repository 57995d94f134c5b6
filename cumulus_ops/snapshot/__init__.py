"""The life of an epoch: mini-batches, seals, corrections, the checkpoint, publishing."""

from cumulus_ops.engine import Runtime, initialise, open_runtime
from cumulus_ops.snapshot.commits import SnapshotReport, collect_garbage, commit, correct, merge
from cumulus_ops.snapshot.deciding import drop_batch, retry_batch
from cumulus_ops.snapshot.driver import run_epochs
from cumulus_ops.snapshot.minibatch import BatchReport, current_epoch, run_minibatch
from cumulus_ops.snapshot.notices import tell_where_coordinators_are
from cumulus_ops.snapshot.publishing import awaiting, publish, to_validate
from cumulus_ops.snapshot.refreshing import refresh
from cumulus_ops.snapshot.scrubbing import DamagedRun, ScrubReport, scrub
from cumulus_ops.snapshot.sealing import fence_the_gone, open_epoch, remove_coordinator, seal, sealed
from cumulus_ops.snapshot.settling import settle, settle_if_due
from cumulus_ops.snapshot.status import CoordinatorStatus, EpochReport, Status, status
from cumulus_ops.validation.run import validate

__all__ = [
    "BatchReport",
    "CoordinatorStatus",
    "DamagedRun",
    "EpochReport",
    "Runtime",
    "ScrubReport",
    "SnapshotReport",
    "Status",
    "awaiting",
    "collect_garbage",
    "commit",
    "correct",
    "current_epoch",
    "drop_batch",
    "fence_the_gone",
    "initialise",
    "merge",
    "open_epoch",
    "open_runtime",
    "publish",
    "refresh",
    "remove_coordinator",
    "retry_batch",
    "run_epochs",
    "run_minibatch",
    "scrub",
    "seal",
    "sealed",
    "settle",
    "settle_if_due",
    "status",
    "tell_where_coordinators_are",
    "to_validate",
    "validate",
]
