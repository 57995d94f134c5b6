"""Taking back what one batch has contributed: the negative of its deltas, at its own versions, so that both add up to nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog import Batch, NewRun, Run
from cumulus_ops.layout import ProgramPlan
from cumulus_ops.mapstore import (
    VERSION,
    RunData,
    build_run,
    multiply,
    open_run,
    sum_deltas,
    value_names,
    write_runs,
)
from cumulus_ops.mapstore.wide import to_column, to_units

__all__ = ["retracted"]

MINUS = np.array([-1])


def retracted(plan: ProgramPlan, root: Path, runs: Sequence[Run], batch: Batch, label: str = "") -> tuple[NewRun, ...]:
    """Write the negative of a batch's deltas in ``runs``; nothing becomes visible by it. ``label`` says whose step does."""
    first, last = plan.versions.span(batch)
    return write_runs(root, _negatives(plan, root, runs, first, last), label)


def _negatives(plan: ProgramPlan, root: Path, runs: Sequence[Run], first: int, last: int) -> Iterator[RunData]:
    paths = {(path.map, path.label): path for group in plan.paths.values() for path in group}
    for run in runs:
        if run.min_version <= last and run.max_version >= first:
            path = paths[run.map, run.access_path]
            delta = open_run(root / run.path, run.offset, run.bytes).table(plan.key_names(run.map))
            negative = sum_deltas([_negated(_between(delta, first, last))])
            if len(negative):
                yield build_run(negative, path)


def _between(delta: pa.Table, first: int, last: int) -> pa.Table:
    within = pc.and_(pc.greater_equal(delta[VERSION], first), pc.less_equal(delta[VERSION], last))
    return delta.filter(within)


def _negated(delta: pa.Table) -> pa.Table:
    """The same keys and versions with the opposite values, of whatever size.

    >>> _negated(pa.table({"k": [1], "_version": [7], "+m": [-(2**63)]}))["+m"].to_pylist()
    [Decimal('9223372036854775808')]
    """
    for name in value_names(delta):
        opposite = to_column(multiply(to_units(delta[name].combine_chunks()), MINUS))
        delta = delta.set_column(delta.column_names.index(name), name, opposite)
    return delta
