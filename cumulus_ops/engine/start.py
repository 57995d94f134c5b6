"""What a program adds before its first event (``ON START``), as deltas of a version below all epochs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from cumulus_ops.engine.kernel import Events, run_statement
from cumulus_ops.engine.vector import Frame
from cumulus_ops.layout import ProgramPlan
from cumulus_ops.mapstore import sum_deltas

__all__ = ["start_deltas"]


def start_deltas(plan: ProgramPlan) -> Mapping[str, pa.Table]:
    """The deltas of each map that ON START adds to: its statements run for one event without parameters."""
    event = Events(Frame({}, 1), np.array([plan.versions.start]), np.ones(1, np.int64))
    tables: dict[str, list[pa.Table]] = {}
    for statement in plan.start:
        table = run_statement(statement, plan.groups[statement.target], event, lambda _: [])
        if table is not None:
            tables.setdefault(statement.target, []).append(table)
    summed = {name: sum_deltas(parts) for name, parts in tables.items()}
    return {name: table for name, table in summed.items() if len(table)}
