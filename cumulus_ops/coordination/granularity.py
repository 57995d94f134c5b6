"""The grain of versions: does the order of single events matter, or only the order of batches?

A program compiled from SQL is **confluent** within an epoch: its maps are defined by queries over the base tables, so
any order of the same events ends in the same maps (a ring program's deltas commute). Then all events of one relation in
one batch may share one version and be summed by key, and any total order of batches that respects epochs may stand in
for the order of stamps. That also needs that a trigger never reads what events of its own relation write (which a
self-join does), because events that share a version do not see each other.

Everything else, hand-written programs above all, gets event-level versions in the order of the stamps.
"""

from __future__ import annotations

from m3.dataflow import self_reading_relations
from m3.program import Program

__all__ = ["BATCH", "EVENT", "granularity_of"]

BATCH, EVENT = "batch", "event"


def granularity_of(program: Program, *, from_sql: bool) -> str:
    """``batch`` when events of a batch may be summed, else ``event``.

    Args:
        program: the checked program.
        from_sql: whether the compiler made it from queries; a text alone does not prove confluence.
    """
    return BATCH if from_sql and not self_reading_relations(program) else EVENT
