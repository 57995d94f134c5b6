"""Work made from an M3 program: relations are sources, maps are nodes with state, and which of them commute is proved, not declared.

A map's node takes events of relations and what the maps that it reads add; it reads of those whatever has arrived. So its inputs commute where

- no two orders of events end in different contents of the map (:mod:`m3.confluence`), and
- its statements read nothing that events change: else each input would make something else, by what has arrived before it, although the map
  may end the same.

>>> from m3 import parse
>>> find_commuting(parse('''RELATION R(a INT); MAP n[] : INT; MAP q[] : INT; MAP c[a INT] : INT; ON START { c[1] += 7 }
...     ON +R(a) { n[] += c[a]; q[] += n[] }'''))
{'n': True, 'q': False, 'c': True}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cumulus_papers.recovery.work import mix
from m3.confluence.proof import prove
from m3.program import START, Program
from m3.recovery.graph import Flow, flow_of, segment_flow
from m3.statements import contribution

__all__ = ["MapWork", "RelationWork", "find_commuting", "make_work"]


def find_commuting(program: Program) -> dict[str, bool]:
    """For each map whether its node's inputs may be processed in any order.

    Args:
        program: a checked program.
    """
    triggers = {trigger.event: trigger for trigger in program.triggers}
    # The first of the two places is the statement that makes something else in another order; the second changes what it reads.
    places = [place for verdict in prove(program).verdicts.values() for place in verdict.told_apart[:1]]
    ordered = {triggers[place.event].statements[place.index].target for place in places}
    statements = [s for trigger in program.triggers if trigger.relation != START for s in trigger.statements]
    changing = {statement.target for statement in statements} | {derived.map for derived in program.derivations}
    reading = {s.target for s in statements if any(ref.map in changing for ref in s.reads())}
    reading |= {derived.map for derived in program.derivations}
    return {m.name: m.name not in ordered | reading for m in program.maps}


@dataclass(frozen=True)
class RelationWork:
    """A source of inserted rows. Its inputs are any numbers, of which rows are made."""

    name: str
    width: int
    children: tuple[str, ...]
    kind: str = "source"
    stateful: bool = True
    commutes: bool = False

    def start(self) -> Any:
        """How many rows have come."""
        return [0]

    def process(self, state: Any, parent: str, payload: Any) -> Mapping[str, Any]:
        """Send a row to all maps of the relation's trigger."""
        state[0] += 1
        row = tuple(mix(payload, column) % 4 for column in range(self.width))
        return dict.fromkeys(self.children, row)


@dataclass(frozen=True)
class MapWork:
    """A map: its state is its entries and those of the maps that it reads, as far as they have arrived."""

    name: str
    program: Program
    children: tuple[str, ...]
    commutes: bool
    kind: str = "map"
    stateful: bool = True

    def start(self) -> Any:
        """What the program starts with is not sent by anybody."""
        state: dict[str, dict[Any, int]] = {m.name: {} for m in self.program.maps}
        for trigger in self.program.triggers:
            for statement in trigger.statements if trigger.relation == START else ():
                slices = [state[ref.map] for ref in statement.reads()]
                _add(state[statement.target], contribution(self.program, statement, {}, slices))
        return state

    def process(self, state: Any, parent: str, payload: Any) -> Mapping[str, Any]:
        """A row of a relation: add to the map, and send on what was added; of another map: keep it."""
        if parent in state:
            _add(state[parent], dict(payload))
            return {}
        total: dict[Any, int] = {}
        for trigger in self.program.triggers:
            if (trigger.sign, trigger.relation) != (1, parent):
                continue
            env = dict(zip(trigger.params, payload, strict=True))
            for statement in trigger.statements:
                if statement.target == self.name:
                    slices = [state[ref.map] for ref in statement.reads()]
                    _add(total, contribution(self.program, statement, env, slices))
        _add(state[self.name], total)
        return dict.fromkeys(self.children, tuple(sorted(total.items()))) if total else {}


def _add(entries: dict[Any, int], more: Mapping[Any, int]) -> None:
    for key, units in more.items():
        entries[key] = entries.get(key, 0) + units
        if not entries[key]:
            del entries[key]


def make_work(program: Program) -> tuple[Flow, dict[str, RelationWork | MapWork]]:
    """The flow of a program, a node for each relation and map, and what each computes.

    Args:
        program: a checked program without cycles, of insertions.
    """
    segments = segment_flow(program, {}, cycles="refuse")
    flow = flow_of(
        ((_name(a), _name(b)) for a, to in segments.children.items() for b in to), map(_name, segments.children)
    )
    commuting = find_commuting(program)
    work: dict[str, RelationWork | MapWork] = {}
    for relation in program.relations:
        work[relation.name] = RelationWork(relation.name, len(relation.columns), flow.children[relation.name])
    for name, commutes in commuting.items():
        work[name] = MapWork(name, program, flow.children[name], commutes)
    return flow, work


def _name(segment: str) -> str:
    """Of a map of one segment."""
    return segment.rpartition("/")[0]
