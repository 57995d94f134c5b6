"""Run a case: build its protocol's actors, deliver its events, judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from cumulus_ops.simulation.case import Case, Event, Version, distributable
from cumulus_ops.simulation.judge import Judge, Maps, Wrong
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
    """A run that ended as it should. ``messages``, ``bytes``: transmitted, by kind; ``local``: those that stayed where they were. ``counts``:
    what the protocol counts, and outages. ``seconds`` of virtual time it took; ``busy_s`` is how long each actor worked. ``committed_s``: when
    the last node had each snapshot. ``system``: what it was watched by, for
    what else it knows."""

    case: Case
    events: int
    commits: int
    messages: Counter[str]
    bytes: Counter[str]
    local: Counter[str]
    counts: Counter[str]
    seconds: float
    busy_s: Mapping[str, float] = field(default_factory=dict)
    stamped: Mapping[Version, Event] = field(default_factory=dict)
    committed_s: Mapping[Version, float] = field(default_factory=dict)
    trace: tuple[Sent, ...] = ()
    system: System | None = None


def coordinator(i: int) -> str:
    """The name of coordinator (or switch) i."""
    return f"coordinator {i}"


def node(n: int) -> str:
    """The name of node n."""
    return f"node {n}"


def _as_they_arrived(case: Case, judge: Judge) -> None:
    """See that each event that arrived got one version, of the coordinator at which it did."""
    arrived = Counter((a.coordinator, a.sign, a.relation, a.row) for a in case.arrivals)
    stamped = Counter((v.coordinator, e.sign, e.relation, e.row) for v, e in judge.events.items())
    if arrived != stamped:
        missing, more = sum((arrived - stamped).values()), sum((stamped - arrived).values())
        raise Wrong(
            f"{missing} of {len(case.arrivals)} events that arrived got no version, and {more} did that never arrived"
        )


def run_case(case: Case, spec: Spec, *, record: bool = False, simulation: Simulation | None = None) -> Outcome:
    """Simulate a case.

    Args:
        case: what to simulate.
        spec: its protocol.
        record: keep the trace of all messages.
        simulation: a fresh one of the case's seed, for who wants to look at it when the run has failed.

    Raises:
        Wrong: a state differs from the serial interpreter's, or an invariant does not hold.
        ProgramError: the protocol cannot evaluate the program.
    """
    distributable(case.program, acyclic=spec.acyclic)
    simulation = simulation or Simulation(case.seed, case.costs, case.disorder, record=record)
    system = spec.build(case, simulation)
    judge = Judge(case.program, case.layout, system.maps)
    simulation.watchers += [judge.watch, system.watch]
    simulation.on_quiet.append(judge.at_rest)
    for arrival in case.arrivals:
        simulation.inject(arrival.at_s, coordinator(arrival.coordinator), arrival)
    simulation.run()
    _as_they_arrived(case, judge)
    judge.finish()
    counts = Counter(system.finish()) + simulation.outages
    counts["quiet before the end"] = judge.quiet - 1
    return Outcome(
        case,
        events=len(judge.events),
        commits=len(judge.commits),
        messages=simulation.messages,
        bytes=simulation.bytes,
        local=simulation.local,
        counts=counts,
        seconds=simulation.now,
        busy_s={name: context.busy_s for name, context in simulation.contexts.items()},
        stamped=dict(judge.events),
        committed_s=dict(judge.committed_s),
        trace=tuple(simulation.trace),
        system=system,
    )
