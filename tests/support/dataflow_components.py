"""One instance of a component of a world: what it does with a record or a seal, and the delays that seals allow.

States are immutable, so that a search may go back to any of them. An instance **waits**, as the analysis assumes of whoever coordinates by seals: a
record on an order-sensitive path whose stream is sealed is looked at once its partition is complete, in a fixed order; and whatever
reads, waits until the partitions that it reads are complete, of each stream that is sealed on something which the path's gate
determines. Waiting for more than is needed does no harm, so all seals are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from cumulus_ops.coordination.labelling.annotations import Component
from tests.support.dataflow_worlds import Behaviour, Record, World, closure, image, of, record, restricted

__all__ = ["Instance", "State", "Value", "concerning"]

Value = tuple[int | None, ...]


class State(NamedTuple):
    """An instance's: seals that have come (stream, value); records ``written`` by confluent paths (path, record), those that order-sensitive paths have ``taken``, in
    order; what is ``waiting`` (path, stream, record); what was ``shown`` (output, record); streams that showed a record after its seal (``broken``)."""

    seals: frozenset[tuple[str, Value]] = frozenset()
    written: frozenset[tuple[int, Record]] = frozenset()
    taken: tuple[tuple[int, Record], ...] = ()
    waiting: frozenset[tuple[int, str, Record]] = frozenset()
    shown: frozenset[tuple[str, Record]] = frozenset()
    broken: frozenset[str] = frozenset()


def concerning(component: Component, output: str) -> set[int]:
    """The paths on which an output depends: those that lead to it, and if one of them is order-sensitive, whatever writes."""
    own = {n for n, path in enumerate(component.paths) if path.target == output}
    if any(component.paths[n].label in ("OR", "OW") for n in own):
        own |= {n for n, path in enumerate(component.paths) if path.label in ("CW", "OW")}
    return own


@dataclass(frozen=True)
class Instance:
    """The deterministic machine that all instances of ``component`` are. ``keys``: the seal of each stream that is taken to have one."""

    world: World
    component: Component
    keys: Mapping[str, frozenset[str]]

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Its output interfaces."""
        return tuple(sorted({path.target for path in self.component.paths}))

    @cached_property
    def streams(self) -> dict[str, tuple[str, ...]]:
        """The streams into each of its inputs."""
        into = [s for s in self.world.dataflow.streams if s.target is not None and s.target[0] == self.component.name]
        return {
            p.source: tuple(s.name for s in into if s.target and s.target[1] == p.source) for p in self.component.paths
        }

    def receive(self, state: State, stream: str, row: Record) -> State:
        """A record on an input stream."""
        for number, path in enumerate(self.component.paths):
            if stream not in self.streams[path.source]:
                continue
            if path.label in ("CR", "CW") or self._ready(state, number, stream, row):
                state = self._do(state, number, row)
            else:
                state = state._replace(waiting=state.waiting | {(number, stream, row)})
        return state

    def seal(self, state: State, stream: str, value: Value) -> State:
        """No more records of a partition will come on a stream. What has waited goes on, writers first: readers wait for these, too."""
        state = state._replace(seals=state.seals | {(stream, value)})
        for label in ("OW", "OR"):
            waiting = sorted((n, r, s) for n, s, r in state.waiting if self.component.paths[n].label == label)
            ready = [(n, r, s) for n, r, s in waiting if self._ready(state, n, s, r)]
            for number, row, name in ready:
                state = self._do(state, number, row)
                state = state._replace(waiting=state.waiting - {(number, name, row)})
        return state

    def closed(self, state: State, output: str, key: frozenset[str], value: Value) -> bool:
        """Whether an output's partition can get no more records: the partitions that it comes from are sealed on every stream on the way."""
        names = dict(zip(sorted(key), value, strict=True))
        for number, path in enumerate(self.component.paths):
            known = closure(names if path.lineage is None else {old: names.get(new) for new, old in path.lineage})
            for stream in self.streams[path.source] if path.target == output else ():
                part = self._part(stream, known)
                if part is None or (stream, part) not in state.seals:
                    return False
                if any(n == number and s == stream and self._part_of(s, r) == part for n, s, r in state.waiting):
                    return False
        return True

    def summary(self, state: State, output: str) -> frozenset[object]:
        """The state that matters to an output: what its paths have written, and if one of them is order-sensitive, what all have. Of records in
        order, what behaviours keep: all of a partition, or its first, or its last one."""
        own = concerning(self.component, output)
        parts: dict[tuple[int, Value], tuple[Record, ...]] = {}
        for number, row in state.taken:
            behaviour = self._behaviour(number)
            part = number, restricted(row, behaviour.gate)
            held = (*parts.get(part, ()), row)
            parts[part] = {"sequence": held, "last": held[-1:], "first": held[:1]}[behaviour.kind]
        return frozenset(
            (*((n, row) for n, row in state.written if n in own), *(p for p in parts.items() if p[0][0] in own))
        )

    def _behaviour(self, number: int) -> Behaviour:
        return self.world.behaviours[self.component.name, number]

    def _ready(self, state: State, number: int, stream: str, row: Record) -> bool:
        path, gate = self.component.paths[number], self._behaviour(number).gate
        if path.label == "OW" and stream in self.keys and (stream, self._part_of(stream, row)) not in state.seals:
            return False
        known = closure({name: of(row, name) for name in gate})
        for other in self._written_streams:
            part = self._part(other, known)
            own = path.label == "OW" and other == stream
            if part is not None and not own and (other, part) not in state.seals:
                return False
        mine = restricted(row, gate)
        return path.label == "OW" or not any(
            self.component.paths[n].label == "OW" and restricted(r, gate) == mine for n, _, r in state.waiting
        )

    @cached_property
    def _written_streams(self) -> tuple[str, ...]:
        return tuple({s: None for p in self.component.paths if p.label in ("CW", "OW") for s in self.streams[p.source]})

    def _part(self, stream: str, known: Mapping[str, int]) -> Value | None:
        """The partition of a sealed stream that known attributes say; None if they do not, or it has no seal."""
        key = self.keys.get(stream)
        if key is None or not key <= known.keys():
            return None
        return tuple(known[name] for name in sorted(key))

    def _part_of(self, stream: str, row: Record) -> Value | None:
        return restricted(row, self.keys[stream]) if stream in self.keys else None

    def _do(self, state: State, number: int, row: Record) -> State:
        path = self.component.paths[number]
        new = frozenset((path.target, shown) for shown in self._show(state, number, row)) - state.shown
        if path.label == "CW":
            state = state._replace(written=state.written | {(number, row)})
        if path.label == "OW":
            state = state._replace(taken=(*state.taken, (number, row)))
        late = {
            name
            for name, key in self._sealed_outputs(path.target)
            if any(self.closed(state, path.target, key, restricted(r, key)) for _, r in new)
        }
        return state._replace(shown=state.shown | new, broken=state.broken | late)

    def _sealed_outputs(self, output: str) -> Iterator[tuple[str, frozenset[str]]]:
        here = self.component.name, output
        return (
            (s.name, self.keys[s.name]) for s in self.world.dataflow.streams if s.source == here and s.name in self.keys
        )

    def _show(self, state: State, number: int, row: Record) -> Iterator[Record]:
        """What a path shows when a record comes."""
        path, behaviour = self.component.paths[number], self._behaviour(number)
        counted = f"n_{self.component.name}_{number}"
        match behaviour.kind:
            case "map":
                if behaviour.without is None or of(row, behaviour.without[0]) != behaviour.without[1]:
                    yield image(path, row)
            case "log":
                yield image(path, row)
            case "threshold":
                kept = frozenset(old for _, old in path.lineage or ())
                before = {r for n, r in state.written if n == number and r != row}
                if any(restricted(r, kept) == restricted(row, kept) for r in before):
                    yield image(path, row)
            case "join":
                yield from self._join(state, number, row)
            case "count" | "absent" | "few":
                found = len(self._others(state, number, row))
                if behaviour.kind == "count":
                    yield image(path, row, {counted: found})
                elif found < (1 if behaviour.kind == "absent" else 2):
                    yield image(path, row)
            case _:
                yield from self._in_order(state, number, row, counted)

    def _join(self, state: State, number: int, row: Record) -> Iterator[Record]:
        """All combinations with one record of each other path that joins, as far as they agree."""
        path = self.component.paths[number]
        found = [row]
        for other, joined in enumerate(self.component.paths):
            if other != number and joined.target == path.target and self._behaviour(other).kind == "join":
                rows = sorted(r for n, r in state.written if n == other)
                found = [both for one in found for r in rows if (both := _merged(one, r)) is not None]
        yield from found

    def _others(self, state: State, number: int, row: Record) -> list[Record]:
        """What other paths have written into the partition of a record."""
        gate = self._behaviour(number).gate
        written = [r for _, r in sorted(state.written)] + [r for n, r in state.taken if n != number]
        return [r for r in written if restricted(r, gate) == restricted(row, gate)]

    def _in_order(self, state: State, number: int, row: Record, counted: str) -> Iterator[Record]:
        path, behaviour = self.component.paths[number], self._behaviour(number)
        mine = [
            r
            for n, r in state.taken
            if n == number and restricted(r, behaviour.gate) == restricted(row, behaviour.gate)
        ]
        others = self._others(state, number, row) if behaviour.shared else []
        if behaviour.kind == "first":
            if not mine and not others:
                yield image(path, row)
        elif behaviour.kind == "sequence":
            yield image(path, row, {counted: len(mine) + 3 * len(others)})
        else:
            yield image(path, row, {counted: 1 + sum(v for _, v in mine[-1]) % 50 if mine else -len(others)})


def _merged(one: Record, other: Record) -> Record | None:
    """Two records as one, if they agree in all that either of them says."""
    a, b = closure(dict(one)), closure(dict(other))
    return record(dict(one) | dict(other)) if all(b[name] == v for name, v in a.items() if name in b) else None
