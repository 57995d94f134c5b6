"""The blocking switch as a system: its actors, and the invariants that are looked at while they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from cumulus_papers.case import BEGINNING, Case, Version
from cumulus_papers.kernel import Simulation
from cumulus_papers.protocols.blocking.expected import Expected
from cumulus_papers.protocols.blocking.messages import (
    Answered,
    AskStatus,
    EpochEnd,
    Executed,
    Snapshot,
    SpatialIndex,
    dispatched,
    indexes,
)
from cumulus_papers.protocols.blocking.node import Node
from cumulus_papers.protocols.blocking.switch import Switch
from cumulus_papers.run import Committed, Maps, Spec, Stamped, Wrong, as_figure_4_says, coordinator, node, union

__all__ = ["BLOCKING"]


class BlockingSystem:
    """Sees to the order of versions on each node, and that no FETCH reads what is not there yet, or not any more."""

    def __init__(self, case: Case, simulation: Simulation, known: Mapping[tuple[str, int], SpatialIndex]) -> None:
        self.case, self.simulation, self.dispatched = case, simulation, as_figure_4_says(case, dispatched(known))
        self.expected = Expected(case, simulation)
        simulation.on_send.append(self.expected.look)
        self.counts: Counter[str] = Counter()
        self.committed: dict[str, int] = {}
        self.stamped: list[Version] = []
        self.through: dict[str, Version] = {}

    def maps(self) -> Maps:
        nodes = [self.simulation.actor(node(n)) for n in self.case.layout.nodes]
        return union((s, versions.as_of(n.done)) for n in nodes for s, versions in n.segments.items())

    def watch(self, now_s: float, name: str, what: object) -> None:
        if isinstance(what, Executed):
            if what.number != what.after + 1:
                raise Wrong(f"{name} executed PUT {what.number} when PUT {what.after} was the last one complete")
            if what.pushes != what.fetches:
                raise Wrong(f"{name} executed PUT {what.number} with {what.pushes} PUSHes for {what.fetches} FETCHes")
        elif isinstance(what, Answered):
            if what.number > what.done:
                raise Wrong(f"{name} answered a FETCH of version {what.number} when only {what.done} was complete")
            if what.number < self.committed.get(name, 0):
                raise Wrong(f"{name} answered a FETCH of {what.number}; before {self.committed[name]} all is discarded")
            self.counts["reads of overwritten versions"] += what.number < what.done
        elif isinstance(what, Snapshot):
            if what.number > what.done:
                raise Wrong(f"{name} was to commit version {what.number} when only {what.done} was complete")
            if what.number < self.committed.get(name, 0):
                raise Wrong(f"{name} was to commit version {what.number} after {self.committed[name]}")
            self.committed[name] = what.number
            self.counts["values discarded"] += what.discarded
        elif isinstance(what, Stamped):
            self.stamped.append(what.event.version)
            self.expected.watch(what.event)
            self.dispatched(what.event)
        elif isinstance(what, Committed):
            self.through[name] = what.through

    def finish(self) -> Mapping[str, int]:
        switch = self.simulation.actor(coordinator(0))
        last = max((v for v in self.stamped if v.epoch < self.case.epochs), default=BEGINNING.version)
        for n in self.case.layout.nodes:
            if self.through.get(node(n), BEGINNING.version) < last:
                raise Wrong(
                    f"node {n} has committed up to {self.through.get(node(n))}; {last} is of an epoch that is over"
                )
            left = self.simulation.actor(node(n))
            if left.puts or left.pushes or left.fetches:
                raise Wrong(f"node {n} still waits: {left.puts}, {left.pushes}, {left.fetches}")
            if left.done != switch.numbers[n]:
                raise Wrong(f"node {n} has completed {left.done} PUTs of {switch.numbers[n]}")
            # Of what the last COMMIT covers, a node keeps the newest values only, and no zeros.
            name = node(n)
            committed = self.committed.get(name, 0)
            for segment, versions in left.segments.items():
                for key, values in versions.values.items():
                    old = [value for number, value in values if number <= committed]
                    if len(old) > 1 or (committed and old == [0]) or not values:
                        raise Wrong(f"{name} keeps {values} of {segment}{list(key)}, and {committed} is committed")
        self.expected.finish()
        self.counts["commits held back for a consistent cut"] += switch.held
        return self.counts


def _build(case: Case, simulation: Simulation) -> BlockingSystem:
    known = indexes(case.program, case.layout)
    simulation.add(coordinator(0), lambda here: Switch(here, case, known))
    for n in case.layout.nodes:
        simulation.add(node(n), lambda here, n=n: Node(here, case, n, known))  # type: ignore[misc]
    for epoch in range(1, case.epochs + 1):
        simulation.inject(epoch * case.epoch_s, coordinator(0), EpochEnd())
    simulation.inject(case.epoch_s / case.options["rounds"], coordinator(0), AskStatus())
    return BlockingSystem(case, simulation, known)


BLOCKING = Spec(
    "blocking",
    _build,
    ("Put", "Fetch", "Push", "Status", "Completed", "Commit"),
    {"coalescing": (False, True), "rounds": (1, 3, 8)},
    many_coordinators=False,
)
