"""Whose batches corrections are for: the catalog counts them by epoch, the versions of their runs say more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from cumulus_ops.catalog.records import Run
from cumulus_ops.maps.deltas import VERSION
from cumulus_ops.maps.packs import open_run
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.versions import (
    COORDINATORS_MAX,
    SEQUENCES_MAX,
    STATEMENTS_MAX,
    batch_version,
)

__all__ = ["coordinators_of", "corrected_by_coordinator"]


def corrected_by_coordinator(rt: Runtime, runs: Sequence[Run]) -> Counter[int]:
    """Coordinator -> entries of the runs (one copy of each map) that correct its batches."""
    found: Counter[int] = Counter()
    for run in runs:
        if run.access_path == rt.plan.paths[run.map][0].label:
            stored = open_run(rt.project.state / run.path, run.offset, run.bytes)
            table = stored.table(rt.plan.key_names(run.map), [])
            found.update(coordinators_of(rt, table[VERSION].to_numpy()).tolist())
    return found


def coordinators_of(rt: Runtime, versions: np.ndarray) -> np.ndarray:
    """The coordinators of the events or batches that versions belong to: it is in the version, or the batch with the ticket has it."""
    if not rt.plan.versions.summed:
        coordinators: np.ndarray = versions // (STATEMENTS_MAX * SEQUENCES_MAX) % COORDINATORS_MAX
        return coordinators
    of_batch = {
        batch_version(b.epoch, b.ticket): b.coordinator for b in rt.catalog.log.batches() if b.ticket is not None
    }
    return np.array([of_batch[first] for first in rt.plan.versions.whole(versions).tolist()], np.int64)
