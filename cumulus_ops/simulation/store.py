"""What nodes keep: the entries of their segments, and the slices read from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from cumulus_ops.simulation.case import Case
from cumulus_ops.simulation.judge import Maps
from cumulus_ops.simulation.layout import Layout, Segment
from m3.evaluate import FAILURES, Value
from m3.interpreter import Interpreter
from m3.program import Program
from m3.statements import Key, SliceRead

__all__ = ["Entries", "add_to", "beginning", "cut", "slice_of", "union"]

#: A segment's entries, in units; no zeros.
Entries = dict[Key, int]


def beginning(case: Case, held: Iterable[Segment] | None = None) -> dict[Segment, Entries]:
    """Segments (all, if not said otherwise) as they are before the first event: empty, but for what the program starts with."""
    segments: dict[Segment, Entries] = {s: {} for s in (case.layout.owner if held is None else held)}
    for name, key, units in _start(case.program):
        segment = case.layout.segment_of(name, key)
        if segment in segments:
            segments[segment][key] = units
    return segments


@lru_cache(maxsize=64)
def _start(program: Program) -> tuple[tuple[str, Key, int], ...]:
    return tuple((name, key, u) for name, entries in Interpreter(program).maps.items() for key, u in entries.items())


def add_to(entries: Entries, delta: Mapping[Key, int]) -> None:
    """Add a delta; what becomes zero vanishes."""
    for key, units in delta.items():
        total = entries.get(key, 0) + units
        if total:
            entries[key] = total
        else:
            entries.pop(key, None)


def slice_of(entries: Mapping[Key, int], read: SliceRead, env: Mapping[str, Value]) -> Entries:
    """The entries of a segment that a read wants for an event; none where its keys have no values, as those of a statement may whose
    conditions do not hold."""
    try:
        bound = read.bound(env)
    except FAILURES:
        return {}
    return {key: units for key, units in entries.items() if tuple(key[i] for i in read.path) == bound}


def cut(layout: Layout, name: str, delta: Mapping[Key, int]) -> dict[Segment, Entries]:
    """A delta of a map by the segments that it concerns."""
    parts: dict[Segment, Entries] = {}
    for key, units in delta.items():
        parts.setdefault(layout.segment_of(name, key), {})[key] = units
    return parts


def union(segments: Iterable[tuple[Segment, Mapping[Key, int]]]) -> Maps:
    """The maps that some segments make up."""
    maps: Maps = {}
    for segment, entries in segments:
        maps.setdefault(segment.map, {}).update(entries)
    return maps
