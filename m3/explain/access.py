"""How statements read maps: by all keys, by some, or by none.

A statement's factors are evaluated from left to right, so what a read finds bound are the event's parameters and the
loop variables of the reads before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from m3.program import MapRef, Program, Statement, Trigger
from m3.scalars import Var

__all__ = ["Access", "accesses"]


@dataclass(frozen=True)
class Access:
    """One map read. ``bound`` are the places of the map's keys that are known; ``free`` pairs the other places with the
    loop variables they bind."""

    map: str
    bound: tuple[int, ...]
    free: tuple[tuple[int, str], ...]

    @property
    def kind(self) -> str:
        """``lookup`` of one entry, ``slice`` of the entries that match, or ``scan`` of all entries."""
        if not self.free:
            return "lookup"
        return "slice" if self.bound else "scan"

    def keys(self, program: Program) -> tuple[str, ...]:
        """The names of the bound keys."""
        names = [k.name for k in program.map_by_name[self.map].keys]
        return tuple(names[i] for i in self.bound)


def accesses(trigger: Trigger, statement: Statement) -> tuple[Access, ...]:
    """The statement's map reads, in evaluation order."""
    return tuple(_accesses(set(trigger.params), statement))


def _accesses(known: set[str], statement: Statement) -> Iterator[Access]:
    for ref in statement.reads():
        access = _access(known, ref)
        yield access
        known = known | {variable for _, variable in access.free}


def _access(known: set[str], ref: MapRef) -> Access:
    free = tuple((i, k.name) for i, k in enumerate(ref.keys) if isinstance(k, Var) and k.name not in known)
    places = {i for i, _ in free}
    return Access(ref.map, tuple(i for i in range(len(ref.keys)) if i not in places), free)
