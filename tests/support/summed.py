"""Batches taken at once, in plain Python: all events of a relation in a batch read the state before all of them, or AFTER all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from m3.dataflow import strata
from m3.program import MapRef, Program
from m3.statements import Key, as_snapshot, contributions
from tests.support.projects import Event

__all__ = ["summed_maps"]

Maps = dict[str, dict[Key, int]]


def summed_maps(program: Program, batches: Sequence[Sequence[Event]]) -> Maps:
    """The maps of a program without derivations after some batches, each relation's events of a batch taken at once."""
    program = as_snapshot(program)
    order = {name: i for i, name in enumerate(n for layer in strata(program) for n in layer)}
    maps: Maps = {m.name: {} for m in program.maps}
    start = program.trigger("", 1)
    for statement in start.statements if start else ():
        _add(maps, statement.target, contributions(program, statement, {}, 1, lambda *_: []))
    for batch in batches:
        for relation in program.relations:
            mine = [(sign, row) for name, sign, row in batch if name == relation.name]
            for target, added in _changes(program, maps, order, relation.name, mine).items():
                _add(maps, target, iter(added.items()))
    return maps


def _changes(
    program: Program, maps: Maps, order: dict[str, int], relation: str, events: Sequence[tuple[int, Sequence[object]]]
) -> Maps:
    changes: Maps = {}

    def lookup(_: int, ref: MapRef, path: tuple[int, ...], bound: Key) -> Iterator[tuple[Key, int]]:
        tables = [maps[ref.map], *([changes.get(ref.map, {})] if ref.after else [])]
        return iter([e for table in tables for e in table.items() if tuple(e[0][i] for i in path) == bound])

    todo = [(s, t) for t in program.triggers if t.relation == relation and t.sign for s in t.statements]
    for statement, trigger in sorted(todo, key=lambda pair: order[pair[0].target]):
        for sign, row in events:
            if sign == trigger.sign:
                env = dict(zip(trigger.params, row, strict=True))
                _add(changes, statement.target, contributions(program, statement, env, 1, lookup))  # type: ignore[arg-type]
    return changes


def _add(maps: Maps, target: str, entries: Iterator[tuple[Key, int]]) -> None:
    table = maps.setdefault(target, {})
    for key, units in list(entries):
        table[key] = table.get(key, 0) + units
        if not table[key]:
            del table[key]
