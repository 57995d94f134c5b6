"""How many bytes the events and deltas of a batch are: what a layout is chosen by, and nothing else.

Numbers of events are known for a batch that is about to be applied. How many entries one event writes follows from
declared keys and row counts (:class:`m3.explain.sizes.Sizes`) as far as they tell; the rest are the defaults below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cumulus_ops.layout.needs import Ref
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.layout.statements import StatementPlan
from m3.datatypes import Type
from m3.explain.access import Access
from m3.explain.sizes import Sizes
from m3.scalars import variables

__all__ = ["DEFAULT_ROWS", "FAN_OUT", "SELECTIVITY", "Estimates", "events_per", "row_bytes"]

#: Rows of a relation of which nothing is known.
DEFAULT_ROWS = 1_000_000
#: Entries that a read with loop variables finds, where declared keys and row counts do not tell.
FAN_OUT = 4.0
#: Share of the events that satisfy a statement's conditions.
SELECTIVITY = 0.5
BYTES = {"date": 4, "bool": 1, "string": 20}  # of one value; anything else is 8
STAMP_BYTES = 16  # a version, and a value or a sign


def row_bytes(types: Iterable[Type]) -> int:
    """Bytes of one event or delta on its way to another task."""
    return STAMP_BYTES + sum(BYTES.get(t.kind, 8) for t in types)


def events_per(plan: ProgramPlan, events: int, relations: Iterable[str], rows: Mapping[str, float]) -> dict[str, float]:
    """``events`` events of ``relations``, in proportion to the sizes of the tables.

    Args:
        plan: the program's plan.
        events: how many there are together.
        relations: which relations they are of.
        rows: rows by relation, where they are known better than the program knows them.
    """
    known = {name: float(rows.get(name) or _declared(plan, name) or DEFAULT_ROWS) for name in relations}
    return {name: events * size / sum(known.values()) for name, size in known.items()}


def _declared(plan: ProgramPlan, relation: str) -> float | None:
    return getattr(plan.program.relation_by_name[relation], "rows", None)


@dataclass(frozen=True)
class Estimates:
    """Bytes of one batch. ``events``: how many events of each relation it has; ``rows``: rows of the relations."""

    plan: ProgramPlan
    events: Mapping[str, float]
    rows: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {r.name: float(n) for r in self.plan.program.relations if (n := _declared(self.plan, r.name))}
        object.__setattr__(self, "_sizes", Sizes(self.plan.program, known | dict(self.rows)))

    def event_bytes(self, relation: str, columns: Iterable[str]) -> float:
        """All events of a relation, with the given columns."""
        wanted = set(columns)
        types = (c.type for c in self.plan.program.relation_by_name[relation].columns if c.name in wanted)
        return self.events.get(relation, 0.0) * row_bytes(types)

    def delta_bytes(self, ref: Ref) -> float:
        """What one statement adds to its target, summed by key."""
        keys = self.plan.program.map_by_name[ref[0]].keys
        return self.delta_rows(ref) * row_bytes(k.type for k in keys)

    def delta_rows(self, ref: Ref) -> float:
        """How many entries that is."""
        statement = self.plan.statements[ref[0]][ref[1]]
        share = SELECTIVITY if statement.conditions or statement.late_conditions else 1.0
        rows = self.events.get(statement.relation, 0.0) * share * self._written(statement)
        size = self._size(ref[0]) if self.plan.versions.summed else None
        return rows if size is None else min(rows, size)

    def _size(self, name: str) -> float | None:
        if not self.plan.program.map_by_name[name].keys:
            return 1.0
        sizes: Sizes = self._sizes  # type: ignore[attr-defined]
        return sizes.size(name)

    def _written(self, statement: StatementPlan) -> float:
        """Entries that one event writes: the product of what those reads find on which the target's keys depend."""
        sizes: Sizes = self._sizes  # type: ignore[attr-defined]
        needed, total = {v for key in statement.keys for v in variables(key)}, 1.0
        for read in reversed(statement.reads):
            if needed & {name for _, name in read.free}:
                found = sizes.matches(Access(read.path.map, read.places, read.free)).known
                total *= FAN_OUT if found is None else found
                needed |= {v for bound in read.bound for v in variables(bound)}
        return total
