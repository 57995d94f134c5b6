"""Pipeline scheduling as a system: its actors, and the invariants that are looked at while they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from cumulus_papers.case import Case, Version
from cumulus_papers.kernel import Simulation
from cumulus_papers.protocols.blocking.messages import SpatialIndex, dispatched, indexes
from cumulus_papers.protocols.pipeline.node import (
    Alarm,
    Answered,
    Clock,
    Evaluated,
    Node,
    Posted,
    Switch,
    snapshot_ticks,
)
from cumulus_papers.run import Committed, Maps, Spec, Stamped, Wrong, as_figure_4_says, coordinator, node, union
from m3.dataflow import depth

__all__ = ["PIPELINE"]


class PipelineSystem:
    """Sees to it that nothing comes for a closed tick, and that each map is written and read in the tick that its depth says."""

    def __init__(self, case: Case, simulation: Simulation, known: Mapping[tuple[str, int], SpatialIndex]) -> None:
        self.case, self.simulation, self.dispatched = case, simulation, as_figure_4_says(case, dispatched(known))
        self.depths = depth(case.program)
        self.counts: Counter[str] = Counter()
        self.stamped: set[Version] = set()
        self.snapshots: Counter[str] = Counter()

    def maps(self) -> Maps:
        return union(e for n in self.case.layout.nodes for e in self.simulation.actor(node(n)).segments.items())

    def watch(self, now_s: float, name: str, what: object) -> None:
        if isinstance(what, Stamped):
            self.stamped.add(what.event.version)
            self.dispatched(what.event)
        elif isinstance(what, Posted):
            if what.version not in self.stamped:
                raise Wrong(f"{name} has {what.version}, which no switch posted")
            if what.version.epoch < what.reply:
                raise Wrong(f"{name} answered tick {what.reply}, and got an event posted at {what.version.epoch}")
            self.counts["posted later than answered"] += what.version.epoch > what.reply
        elif isinstance(what, Evaluated):
            if what.tick <= what.closed:
                raise Wrong(f"{name} wrote {what.map} in tick {what.tick} when tick {what.closed} was closed")
            if what.tick != what.version.epoch + self.depths[what.map]:
                raise Wrong(f"{name} wrote {what.map} for {what.version} in tick {what.tick}")
            if what.pushes != what.fetches:
                raise Wrong(f"{name} wrote {what.map} with {what.pushes} PUSHes for {what.fetches} FETCHes")
        elif isinstance(what, Answered):
            if what.tick > what.closed:
                raise Wrong(f"{name} read {what.map} for tick {what.tick} when only tick {what.closed} was closed")
            if what.tick != what.version.epoch + self.depths[what.map]:
                raise Wrong(f"{name} read {what.map} for {what.version} in tick {what.tick}")
        elif isinstance(what, Committed):
            self.snapshots[name] += 1

    def finish(self) -> Mapping[str, int]:
        for n in self.case.layout.nodes:
            left = self.simulation.actor(node(n))
            if left.schedule or left.undecided or left.pushes:
                raise Wrong(f"node {n} still waits: {left.schedule}, {left.undecided}, {left.pushes}")
            if self.snapshots[node(n)] != self.case.epochs:
                raise Wrong(f"node {n} has {self.snapshots[node(n)]} snapshots of {self.case.epochs}")
        return self.counts


def _build(case: Case, simulation: Simulation) -> PipelineSystem:
    known = indexes(case.program, case.layout)
    for i in range(case.coordinators):
        simulation.add(coordinator(i), lambda here, i=i: Switch(here, case, i, known))  # type: ignore[misc]
    levels = depth(case.program)
    for n in case.layout.nodes:
        simulation.add(node(n), lambda here, n=n: Node(here, case, n, known))  # type: ignore[misc]
        for tick in snapshot_ticks(case):
            last = tick + max(levels.values()) + 1
            simulation.inject(Clock.of(case, n).begins_s(last), node(n), Alarm())
    return PipelineSystem(case, simulation, known)


PIPELINE = Spec(
    "pipeline",
    _build,
    ("TentativePut", "CurrentTick", "MaximumTick", "Push"),
    {"ticks": (4, 1, 16), "skew": (0, 0.5, 3), "coalescing": (False, True)},
    acyclic=True,
)
