"""Batches that are read and written in a chosen order, and what corrections add: the papers' executions, on the engine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from cumulus_ops.epochs.checkpoint import correct
from cumulus_ops.epochs.minibatch import Computed, commit_batch, compute_batch
from cumulus_ops.opening.runtime import Runtime
from tests.support.projects import Event, append_events, engine_maps, interpret, oracle_maps
from tests.support.staging import summed

__all__ = ["Correction", "History"]

#: (map, key, place in the order of events, units)
Correction = tuple[str, tuple[object, ...], int, int]


class History:
    """Events, each a batch of its own, stamped in the order in which they are appended.

    Args:
        rt: an open project without events.
    """

    def __init__(self, rt: Runtime) -> None:
        self.rt = rt
        self.events: list[Event] = []
        self.batches: list[int] = []
        self._read: dict[int, tuple[ExitStack, Computed]] = {}

    def stamp(self, *events: Event, coordinator: int = 0) -> list[int]:
        """Append events, which counts them after all before; their places in the order."""
        first = len(self.events)
        for event in events:
            self.batches.append(append_events(self.rt, coordinator, [event], f"d{len(self.batches)}"))
            self.events.append(event)
        return list(range(first, len(self.events)))

    def read(self, place: int) -> None:
        """Compute what an event adds to the maps as they are now."""
        step = ExitStack()
        computed = compute_batch(self.rt, self.batches[place], step.enter_context(self.rt.catalog.leases.step()))
        self._read[place] = step, computed

    def write(self, place: int) -> None:
        """Make what was computed for an event visible."""
        step, computed = self._read.pop(place)
        with step:
            assert commit_batch(self.rt, self.batches[place], computed) is not None

    def apply(self, *places: int) -> None:
        """Read and write events, one after the other."""
        for place in places:
            self.read(place)
            self.write(place)

    def corrections(self) -> list[Correction]:
        """Correct everything, once; what that has added."""
        before = self.rt.catalog.commits.last_commit()
        counted = correct(self.rt)
        runs = [r for r in self.rt.catalog.commits.runs(self.rt.catalog.commits.last_commit()) if r.commit > before]
        stamps = [self.rt.plan.versions.span(self.rt.catalog.log.batch(b)) for b in self.batches]
        found: list[Correction] = []
        for name, entries in summed(self.rt.plan, self.rt.project.state, runs).items():
            for (*key, version), units in entries.items():
                (place,) = (i for i, (first, last) in enumerate(stamps) if first <= version <= last)  # type: ignore[operator]
                found.append((name, tuple(key), place, units))
        assert len(found) == counted
        assert correct(self.rt) == 0
        return sorted(found, key=lambda c: (c[2], c[0], repr(c[1])))

    def maps(self) -> dict[str, dict[tuple[object, ...], int]]:
        """All maps as of now."""
        return engine_maps(self.rt)

    def is_serial(self) -> bool:
        """Whether all maps are what the interpreter makes of the events in their order."""
        return self.maps() == self.serial(self.events)

    def serial(self, events: Sequence[Event]) -> dict[str, dict[tuple[object, ...], int]]:
        """What the interpreter makes of some events."""
        return oracle_maps(interpret(self.rt.program, events))
