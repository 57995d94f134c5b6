"""Merging runs: size-tiered, so that every map has few runs at amortised O(log) cost per entry.

Merging sums the deltas of equal (key, version). Below a snapshot, versions only matter by epoch: they are raised to the
end of their epoch, and those older than the retained epochs to the end of the oldest retained one
(the paper's Cleanup(V), Cumulus paper, Figure 5). Sums that come to zero vanish.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog import Run
from cumulus_ops.mapstore.columns import to_numpy
from cumulus_ops.mapstore.deltas import VERSION, sum_deltas
from cumulus_ops.mapstore.runs import RunData
from cumulus_ops.versions import EPOCH_SHIFT, epoch_end

__all__ = ["collapse_versions", "merge_runs", "pick_tier"]

FANOUT = 4


def pick_tier(runs: Sequence[Run], limit_rows: int | None = None) -> list[Run]:
    """The runs that are worth merging now: the longest prefix, by size, whose largest run has at most :data:`FANOUT`
    times the rows of all smaller ones together, and which has at most ``limit_rows`` rows; empty if there is none.

    What it leaves has more than :data:`FANOUT` times the rows of all smaller runs: so the number of runs grows with
    the logarithm of the rows. And whoever is merged comes into a run at least 1 / FANOUT larger than its own: so an
    entry is rewritten O(log) times.
    """
    ordered = sorted(runs, key=lambda r: (r.rows, r.id))
    totals = list(itertools.accumulate(r.rows for r in ordered))
    within = len(ordered) if limit_rows is None else bisect.bisect_right(totals, limit_rows)
    ends = [i + 1 for i in range(1, within) if ordered[i].rows <= FANOUT * totals[i - 1]]
    return ordered[: max(ends, default=0)]


def collapse_versions(versions: np.ndarray, committed: int, oldest_retained: int) -> np.ndarray:
    """Raise versions of committed epochs to the end of their epoch.

    Args:
        versions: int64 versions.
        committed: the newest committed epoch (inclusive), -1 for none.
        oldest_retained: epochs before this one are folded into it.
    """
    epochs = versions >> EPOCH_SHIFT
    folded = np.maximum(epochs, min(oldest_retained, committed))
    ends = ((folded + 1) << EPOCH_SHIFT) - 1
    return np.where(versions <= epoch_end(committed), ends, versions)


def merge_runs(runs: Sequence[RunData], key_names: Sequence[str], committed: int, oldest_retained: int) -> pa.Table:
    """The deltas of ``runs`` summed into one delta table (see :func:`collapse_versions` for the epochs).

    Args:
        runs: runs of one access path.
        key_names: names of the group's key columns.
        committed: the newest committed epoch (inclusive), -1 for none.
        oldest_retained: epochs before this one are folded into it.
    """
    values = list(dict.fromkeys(name for run in runs for name in run.values))
    tables = []
    for run in runs:
        table = run.table(key_names, values)
        versions = collapse_versions(to_numpy(table[VERSION].chunk(0)), committed, oldest_retained)
        tables.append(table.set_column(table.column_names.index(VERSION), VERSION, pa.array(versions)))
    return sum_deltas(tables)
