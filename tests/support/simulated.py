"""Histories made of simulated runs of the papers' eventual protocol: which coordinator stamps which event when, when nodes process it,
when its deltas have arrived, when something is corrected, when a coordinator switches epochs, and when all nodes have a snapshot.

Nodes process an event each at its own time, and the engine a batch at one: it begins when the first node does, and commits when the
last one has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cumulus_papers.case import Case, Event, Version
from cumulus_papers.kernel import Simulation
from cumulus_papers.protocols.eventual.messages import Changed, Dispatched, Processed, Pushed, Switched
from cumulus_papers.protocols.eventual.system import EVENTUAL, Eventual
from cumulus_papers.run import Committed, Stamped, run_case
from cumulus_papers.sweep import draw_case
from tests.support.histories import Append, Begin, Checkpoint, Commit, Correct, History, Seal, Step

__all__ = ["Simulated", "simulate"]


@dataclass(frozen=True)
class Simulated:
    """A run: its case, its events by version, and the history. Batch n is the n-th event stamped."""

    case: Case
    events: dict[Version, Event]
    history: History


def simulate(seed: int) -> Simulated:
    """Run a random case of the protocol, which judges it, and keep what happened."""
    drawn = draw_case(seed, EVENTUAL)
    case = replace(drawn, options={**drawn.options, "epochs": "staggered"})
    reports: list[tuple[str, object]] = []

    def build(case: Case, simulation: Simulation) -> Eventual:
        simulation.watchers.append(lambda _, name, what: reports.append((name, what)))
        system: Eventual = EVENTUAL.build(case, simulation)
        return system

    run_case(case, replace(EVENTUAL, build=build))
    events = {what.event.version: what.event for _, what in reports if isinstance(what, Stamped)}
    return Simulated(case, events, tuple(_steps(case, reports)))


def _steps(case: Case, reports: list[tuple[str, object]]) -> list[Step]:
    numbers: dict[Version, int] = {}
    unprocessed: dict[Version, int] = {}
    committing: set[Version] = set()  # processed everywhere; the first delta that arrives makes them visible
    snapshots: dict[Version, int] = {}
    steps: list[Step] = []
    for name, what in reports:
        match what:
            case Stamped(event):
                numbers[event.version] = len(numbers)
                steps.append(Append(event.version.coordinator, ((event.relation, event.sign, event.row),)))
            case Dispatched(version, nodes):
                unprocessed[version] = len(nodes)
            case Processed(version):
                steps.append(Begin(numbers[version]))
                unprocessed[version] -= 1
                if not unprocessed[version]:
                    committing.add(version)
            case Changed(stamp, _) if stamp.version in committing:
                committing.remove(stamp.version)
                steps.append(Commit(numbers[stamp.version]))
            case Pushed(cascade=cascade) if cascade and not isinstance(steps[-1], Correct):
                steps.append(Correct(int(name.split()[1]) % case.coordinators))
            case Switched():
                steps.append(Seal())
            case Committed(through):
                snapshots[through] = snapshots.get(through, 0) + 1
                if snapshots[through] == len(case.layout.nodes):
                    steps.append(Checkpoint(0))
    return [*steps, *(Commit(number) for number in numbers.values())]
