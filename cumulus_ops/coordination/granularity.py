"""The grain of versions: does the order of single events matter, or only the order of batches?

A program compiled from SQL is **confluent** within an epoch: its maps are defined by queries over the base tables, so
any order of the same events ends in the same maps (a ring program's deltas commute). Then all events of one relation in
one batch may share one version and be summed by key, and any total order of batches that respects epochs may stand in
for the order of stamps. Where a query joins a relation with itself, one of the two reads is ``AFTER``: the events of a
batch that share a version are joined with the state before all of them once, and with the state after all of them once.

Everything else, hand-written programs above all, gets event-level versions in the order of the stamps.
"""

from __future__ import annotations

__all__ = ["BATCH", "EVENT", "granularity_of"]

BATCH, EVENT = "batch", "event"


def granularity_of(*, from_sql: bool) -> str:
    """``batch`` when events of a batch may be summed, else ``event``.

    Args:
        from_sql: whether the compiler made the program from queries; a text alone does not prove confluence.
    """
    return BATCH if from_sql else EVENT
