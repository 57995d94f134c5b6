"""What one event costs: entries of maps that are read or written, by its own trigger and by what it causes downstream.

The model, per event:

- A statement reads from left to right: each read costs the entries it finds (:class:`m3.explain.sizes.Sizes`) for every
  valuation that the reads before it found; then it writes one entry per key of its target that comes out. An entry costs 1,
  whether it is found by a point lookup (O(log n)) or as the next one of a slice. Conditions are taken to hold.
- A derivation is recomputed for each group for which one of its inputs was written: one entry per input (the least and
  the greatest are the first of an ordered index), its old row, and its new row. A window reads and writes its partition.
- Each changed row (two per group: the old and the new one) runs the ON CHANGE trigger, whose writes in turn can
  cause derivations further down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from m3.explain.access import Access, accesses
from m3.explain.amount import ONE, ZERO, Amount, number
from m3.explain.sizes import Sizes
from m3.program import Derived, Program, Statement, Trigger, Windowing

__all__ = ["Caused", "TriggerCost", "costs"]


@dataclass(frozen=True)
class Caused:
    """The re-evaluation of a derived map that one event can cause: ``groups`` (or partitions) are recomputed, ``rows``
    change. ``touched`` are the entries of both the recomputation and the ON CHANGE trigger's statements."""

    map: str
    groups: Amount
    rows: Amount
    touched: Amount


@dataclass(frozen=True)
class TriggerCost:
    """One event's cost. ``lookups``, ``slices`` and ``scans`` count the map reads of the trigger's statements;
    ``touched`` are the entries that these read and write; ``caused`` is in the order of the program's derivations."""

    event: str
    statements: int
    lookups: int
    slices: int
    scans: int
    touched: Amount
    caused: tuple[Caused, ...] = ()

    @property
    def total(self) -> Amount:
        """All entries touched, downstream included."""
        return sum((c.touched for c in self.caused), start=self.touched)


def costs(program: Program, statistics: Mapping[str, float] | None = None) -> list[TriggerCost]:
    """The cost of one event of each trigger, in the program's order.

    Args:
        program: a checked program.
        statistics: rows by relation; without them, sizes that declared keys do not tell stay symbols.
    """
    sizes = Sizes(program, statistics)
    return [_event(sizes, trigger) for trigger in program.triggers]


def _event(sizes: Sizes, trigger: Trigger) -> TriggerCost:
    kinds = Counter(_kind(sizes, a) for s in trigger.statements for a in accesses(trigger, s))
    touched, written = _trigger(sizes, trigger)
    caused = _caused(sizes, written) if trigger.sign else ()
    reads = (kinds["lookup"], kinds["slice"], kinds["scan"])
    return TriggerCost(trigger.event, len(trigger.statements), *reads, touched, caused)


def _kind(sizes: Sizes, access: Access) -> str:
    """To read all of a map that never has more than one entry is a lookup."""
    return "lookup" if access.kind == "scan" and sizes.unique(access.map, ()) else access.kind


def _trigger(sizes: Sizes, trigger: Trigger) -> tuple[Amount, dict[str, Amount]]:
    """The entries touched, and the entries written by map; statements that write as many to one map share them."""
    touched = sum((_statement(sizes, trigger, s) for s in trigger.statements), start=ZERO)
    each: dict[str, set[Amount]] = {}
    for statement in trigger.statements:
        each.setdefault(statement.target, set()).add(sizes.written(trigger, statement))
    return touched, {name: sum(amounts, start=ZERO) for name, amounts in each.items()}


def _statement(sizes: Sizes, trigger: Trigger, statement: Statement) -> Amount:
    valuations, touched = ONE, sizes.written(trigger, statement)
    for access in accesses(trigger, statement):
        valuations = valuations * sizes.matches(access)
        touched = touched + valuations
    return touched


def _caused(sizes: Sizes, written: Mapping[str, Amount]) -> tuple[Caused, ...]:
    """What follows from the entries written, through the derivations in their order."""
    program, pending, found = sizes.program, dict(written), []
    for derived in program.derivations:
        groups = _groups(pending, derived)
        if groups == ZERO:
            continue
        rows, touched = _recomputed(sizes, derived, groups)
        trigger = program.trigger(derived.map, 0)
        pending[derived.map] = rows
        if trigger is not None:
            once, more = _trigger(sizes, trigger)
            touched = touched + rows * once
            for name, amount in more.items():
                pending[name] = pending.get(name, ZERO) + rows * amount
        found.append(Caused(derived.map, groups, rows, touched))
    return tuple(found)


def _groups(pending: Mapping[str, Amount], derived: Derived) -> Amount:
    """Inputs that are written equally often are taken to be written for the same groups."""
    return sum({pending[name] for name in derived.reads() if name in pending}, start=ZERO)


def _recomputed(sizes: Sizes, derived: Derived, groups: Amount) -> tuple[Amount, Amount]:
    """The rows that change, and the entries touched to find that out and to write them."""
    if isinstance(derived, Windowing):
        width, places = len(sizes.program.map_by_name[derived.source].keys), tuple(range(derived.partition))
        loop = tuple((i, str(i)) for i in range(derived.partition, width))
        rows = groups * number(2) * sizes.matches(Access(derived.source, places, loop))
        return rows, rows + rows
    rows = groups * number(2)
    return rows, groups * number(len(derived.inputs) + 1) + rows
