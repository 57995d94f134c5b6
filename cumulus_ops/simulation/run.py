"""Run a case: build its protocol's actors, deliver its events, judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from cumulus_ops.simulation.case import Case, distributable
from cumulus_ops.simulation.judge import Judge, Maps
from cumulus_ops.simulation.kernel import Sent, Simulation

__all__ = ["Outcome", "Spec", "System", "coordinator", "node", "run_case"]


class System(Protocol):
    """A protocol's actors at work."""

    def maps(self) -> Maps:
        """All maps as they are at the moment: tentative, where the protocol has such."""
        ...

    def watch(self, now_s: float, name: str, what: object) -> None:
        """A report of an actor: the protocol's own invariants are looked at here; raises Wrong."""
        ...

    def finish(self) -> Mapping[str, int]:
        """After the run: look at the invariants that are left, and return counts of what has happened, by name."""
        ...


@dataclass(frozen=True)
class Spec:
    """A protocol. ``build`` adds its actors to a simulation: ``coordinator(i)`` for each coordinator, ``node(n)`` for each node of the layout.
    ``options``: what can be chosen, and among what; the first is the default. ``kinds``: its messages, by their names."""

    name: str
    build: Callable[[Case, Simulation], System]
    kinds: tuple[str, ...]
    options: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    acyclic: bool = False
    many_coordinators: bool = True


@dataclass(frozen=True)
class Outcome:
    """A run that ended as it should. ``counts``: what the protocol counts. ``system``: what it was watched by, for what else it knows."""

    case: Case
    events: int
    commits: int
    messages: Counter[str]
    bytes: Counter[str]
    local: Counter[str]
    counts: Counter[str]
    seconds: float
    trace: tuple[Sent, ...] = ()
    system: System | None = None


def coordinator(i: int) -> str:
    """The name of coordinator (or switch) i."""
    return f"coordinator {i}"


def node(n: int) -> str:
    """The name of node n."""
    return f"node {n}"


def run_case(case: Case, spec: Spec, *, record: bool = False) -> Outcome:
    """Simulate a case.

    Args:
        case: what to simulate.
        spec: its protocol.
        record: keep the trace of all messages.

    Raises:
        Wrong: a state differs from the serial interpreter's, or an invariant does not hold.
        ProgramError: the protocol cannot evaluate the program.
    """
    distributable(case.program, acyclic=spec.acyclic)
    simulation = Simulation(case.seed, case.costs, case.disorder, record=record)
    system = spec.build(case, simulation)
    judge = Judge(case.program, case.layout, system.maps)
    simulation.watchers += [judge.watch, system.watch]
    simulation.on_quiet.append(judge.at_rest)
    for arrival in case.arrivals:
        simulation.inject(arrival.at_s, coordinator(arrival.coordinator), arrival)
    simulation.run()
    judge.finish()
    counts = Counter(system.finish()) + simulation.outages
    counts["quiet"] = judge.quiet
    known = simulation.messages, simulation.bytes, simulation.local
    return Outcome(
        case, len(judge.events), len(judge.commits), *known, counts, simulation.now, tuple(simulation.trace), system
    )
