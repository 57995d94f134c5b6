"""Going through the maps in dataflow order.

The paper's cascades end because a dataflow graph without cycles has a longest path (Cumulus paper, section 4.2); set at
a time, that is one visit per stratum. A stratum that reads its own maps is visited until nothing changes: versions only
ever read earlier versions, so each visit settles at least the earliest version that was not settled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

from cumulus_ops.engine.sources import OwnDeltas
from cumulus_ops.errors import IntegrityProblem
from cumulus_ops.layout import ProgramPlan
from cumulus_ops.mapstore import empty_delta, sum_deltas

__all__ = ["settle"]

#: The deltas of one map, given what the step has computed so far.
Compute = Callable[[str, OwnDeltas], list[pa.Table]]


def settle(
    plan: ProgramPlan,
    maps: Iterable[str] | None,
    compute: Compute,
    events: int,
    own: OwnDeltas,
) -> None:
    """Compute the deltas of all maps, shallow ones first.

    Args:
        plan: the program's plan.
        maps: only these maps, None for all.
        compute: the unsummed deltas of one map.
        events: how many events the step is about, which bounds the visits of a cyclic stratum: each one settles at least
            the earliest version that was not, and an event has one version, or one per statement (sequential).
        own: gets the deltas; may have those of other maps already.

    Raises:
        IntegrityProblem: a cyclic stratum did not settle.
    """
    wanted = None if maps is None else set(maps)
    visits = events * _versions_per_event(plan) + 1
    for stratum, cyclic in zip(plan.strata, plan.cyclic, strict=True):
        names = [n for n in stratum if wanted is None or n in wanted]
        if not names:
            continue
        for _ in range(visits):
            changed = [_visit(plan, name, own, compute, cyclic) for name in names]
            if not cyclic or not any(changed):
                break
        else:
            raise IntegrityProblem(f"{', '.join(names)} did not settle", kind="cycle-unsettled", hint="report a bug")


def _versions_per_event(plan: ProgramPlan) -> int:
    return 1 + max((s.offset for group in plan.statements.values() for s in group), default=0)


def _visit(plan: ProgramPlan, name: str, own: OwnDeltas, compute: Compute, cyclic: bool) -> bool:
    """Recompute one map's deltas; whether they changed."""
    tables = compute(name, own)
    before = own.table(name)
    delta = sum_deltas(tables) if tables else empty_delta(plan.program.map_by_name[name])
    if cyclic:
        delta = delta.sort_by([(column, "ascending") for column in delta.column_names])
        if (before is not None and before.equals(delta)) or (before is None and len(delta) == 0):
            return False
    own.put(name, delta, final=not cyclic)
    return True
