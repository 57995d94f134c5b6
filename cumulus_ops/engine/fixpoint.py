"""Going through the maps in dataflow order.

The paper's cascades end because a dataflow graph without cycles has a longest path (Cumulus paper, section 4.2); set at
a time, that is one visit per stratum. A stratum that reads its own maps is visited until nothing changes: versions only
ever read earlier versions, so each visit settles at least the earliest version that was not settled.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache

import pyarrow as pa

from cumulus_ops.engine.sources import OwnDeltas
from cumulus_ops.errors import IntegrityProblem
from cumulus_ops.layout import ProgramPlan
from cumulus_ops.mapstore import delta_schema, sum_deltas

__all__ = ["settle", "settle_cycle"]

#: The deltas of one map, given what the step has computed so far.
Compute = Callable[[str, OwnDeltas], list[pa.Table]]


def settle(
    plan: ProgramPlan, first: Iterable[str], allowed: Collection[str], compute: Compute, events: int, own: OwnDeltas
) -> None:
    """Compute the deltas of all maps that have some, shallow ones first.

    Args:
        plan: the program's plan.
        first: the maps that may have deltas whatever others have. Where a map gets deltas, those that depend on it follow.
        allowed: no other maps than these are computed.
        compute: the unsummed deltas of one map.
        events: how many events the step is about, which bounds the visits of a cyclic stratum.
        own: gets the deltas; may have those of other maps already.

    Raises:
        IntegrityProblem: a cyclic stratum did not settle.
    """
    waiting = {name for name in first if name in allowed}
    strata = sorted({plan.place_of[name] for name in waiting})
    while strata:
        place = heapq.heappop(strata)
        cyclic = plan.cyclic[place]
        names = [name for name in plan.strata[place] if name in (allowed if cyclic else waiting)]
        if cyclic:
            settle_cycle(plan, names, compute, events, own)
        else:
            for name in names:
                _visit(plan, name, own, compute, cyclic=False)
        for name in names:
            if own.touches(name):
                after = {n for n in plan.dependents[name] if n in allowed and plan.place_of[n] > place} - waiting
                for other in {plan.place_of[n] for n in after} - set(strata):
                    heapq.heappush(strata, other)
                waiting |= after


def settle_cycle(plan: ProgramPlan, names: Sequence[str], compute: Compute, events: int, own: OwnDeltas) -> None:
    """Compute the deltas of maps that are computed from each other: visit them until nothing changes.

    Each visit settles at least the earliest version that was not, and an event has one version, or one per statement
    (sequential): that bounds the visits. Two more: the first one may do no more than sort deltas that were there before, and the
    last one finds that nothing changes.

    Raises:
        IntegrityProblem: they did not settle.
    """
    for _ in range(events * _versions_per_event(plan) + 2):
        changed = [_visit(plan, name, own, compute, cyclic=True) for name in names]
        if not any(changed):
            return
    raise IntegrityProblem(f"{', '.join(names)} did not settle", kind="cycle-unsettled", hint="report a bug")


@lru_cache(maxsize=8)
def _versions_per_event(plan: ProgramPlan) -> int:
    return 1 + max((s.offset for group in plan.statements.values() for s in group), default=0)


def _visit(plan: ProgramPlan, name: str, own: OwnDeltas, compute: Compute, cyclic: bool) -> bool:
    """Recompute one map's deltas; whether they changed."""
    tables = compute(name, own)
    before = own.table(name)
    group = plan.groups[name]
    delta = sum_deltas(tables) if tables else delta_schema(group.keys, group.members).empty_table()
    if cyclic:
        delta = delta.sort_by([(column, "ascending") for column in delta.column_names])
        if (before is not None and before.equals(delta)) or (before is None and len(delta) == 0):
            return False
    own.put(name, delta, final=not cyclic)
    return True
