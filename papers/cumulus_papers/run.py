"""Run a case: build its protocol's actors, deliver its events, judge."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil, isqrt
from typing import Any, Protocol

from cumulus_papers.case import Arrival, Case, Event, Version, distributable, paper
from cumulus_papers.kernel import Costs, Disorder, Sent, Simulation
from cumulus_papers.layout import Class, Layout, Segment, Tables, env_of, uniform_layout
from m3.evaluate import FAILURES, Value
from m3.interpreter import Interpreter
from m3.program import Program
from m3.statements import Key, SliceRead

__all__ = [
    "Committed",
    "Dispatched",
    "Entries",
    "Judge",
    "Load",
    "Maps",
    "Outcome",
    "Spec",
    "Stamped",
    "System",
    "Wrong",
    "add_to",
    "as_figure_4_says",
    "beginning",
    "coordinator",
    "cut",
    "load_case",
    "node",
    "run_case",
    "serial",
    "slice_of",
    "spread_layout",
    "union",
]


# What nodes keep: the entries of their segments, and the slices read from them.


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


# Whether what a protocol did is right: its states against the serial interpreter's, over the events in the order of their versions.
#
# Protocols report what happens (:meth:`~cumulus_papers.kernel.Here.report`): :class:`Stamped` when an event gets its version, :class:`Committed`
# when a node has a snapshot. The judge compares at the end, whenever nothing is under way, and for every snapshot.


Maps = dict[str, dict[Key, int]]
#: Quiet moments that are looked at, per run.
QUIET_MAX = 8


@dataclass(frozen=True)
class Stamped:
    """A coordinator has given an event its version."""

    event: Event


@dataclass(frozen=True)
class Committed:
    """A node has a snapshot: its segments after all events up to ``through`` (inclusive)."""

    through: Version
    segments: Mapping[Segment, Mapping[Key, int]]


class Wrong(AssertionError):
    """A protocol did what it must not; the message says what, and where."""


def serial(program: Program, events: Mapping[Version, Event], through: Version | None = None) -> Maps:
    """The maps after the events up to a version (inclusive; None: all), one after the other; without zeros and empty maps."""
    interpreter = Interpreter(program)
    for version in sorted(events):
        if through is None or version <= through:
            event = events[version]
            interpreter.apply(event.sign, event.relation, event.row)
    return {name: dict(entries) for name, entries in interpreter.maps.items() if entries}


@dataclass
class Judge:
    """Watches one run. ``maps``: reads the maps as they are at the moment, over all nodes."""

    program: Program
    layout: Layout
    maps: Callable[[], Maps]
    events: dict[Version, Event] = field(default_factory=dict)
    commits: dict[Version, dict[str, Committed]] = field(default_factory=dict)
    #: When the last node so far committed, by what it committed.
    committed_s: dict[Version, float] = field(default_factory=dict)
    quiet: int = 0

    def watch(self, now_s: float, name: str, what: object) -> None:
        """A report of an actor."""
        if isinstance(what, Stamped):
            version = what.event.version
            if version in self.events:
                raise Wrong(f"{name} gave out {version} twice")
            self.events[version] = what.event
        elif isinstance(what, Committed):
            known = self.commits.setdefault(what.through, {})
            if name in known:
                raise Wrong(f"{name} committed {what.through} twice")
            earlier = max((v for v, by in self.commits.items() if name in by), default=what.through)
            if earlier > what.through:
                raise Wrong(f"{name} committed {what.through} after {earlier}")
            known[name] = what
            self.committed_s[what.through] = now_s

    def at_rest(self) -> None:
        """Nothing is under way."""
        self.quiet += 1
        if self.quiet <= QUIET_MAX:
            self.compare(f"quiet moment {self.quiet}", self.maps(), serial(self.program, self.events))

    def finish(self) -> None:
        """After the run."""
        self.compare("the end", self.maps(), serial(self.program, self.events))
        for through in sorted(self.commits):
            segments: dict[Segment, Mapping[Key, int]] = {}
            for committed in self.commits[through].values():
                segments.update(committed.segments)
            missing = sorted(map(str, self.layout.owner.keys() - segments.keys()))
            if missing:
                raise Wrong(f"nobody has {', '.join(missing)} in the snapshot through {through}")
            self.compare(
                f"the snapshot through {through}", union(segments.items()), serial(self.program, self.events, through)
            )

    def compare(self, when: str, found: Maps, expected: Maps) -> None:
        """See that the maps are what they should be.

        Raises:
            Wrong: with the first entry that differs.
        """
        found = {name: kept for name, entries in found.items() if (kept := {k: u for k, u in entries.items() if u})}
        for name in sorted(found.keys() | expected.keys()):
            ours, theirs = found.get(name, {}), expected.get(name, {})
            for key in sorted(ours.keys() | theirs.keys(), key=repr):
                if ours.get(key, 0) != theirs.get(key, 0):
                    value = f"{name}{list(key)} is {ours.get(key, 0)}, serially {theirs.get(key, 0)}"
                    raise Wrong(f"at {when}: {value} ({len(self.events)} events)")


# Two algorithms that must agree: a switch's dispatch, and the directive table of the Cumulus paper's Figure 4.


#: (statement, target) of each write -> (node, number of the read) of what is read for it.
Dispatched = Mapping[tuple[int, Segment], set[tuple[int, int]]]
#: Layouts of more nodes are simulated to be measured.
NODES_CHECKED = 64


def as_figure_4_says(case: Case, dispatched: Callable[[Event], Dispatched]) -> Callable[[Event], None]:
    """A look at each event: whether what is dispatched for it is what the directive table says. It raises :class:`Wrong`."""
    tables, owner = Tables(case.program, case.layout), case.layout.owner
    seen: set[tuple[str, int, Class]] = set()

    def look(event: Event) -> None:
        table = tables.of(event.relation, event.sign)
        if table is None or len(case.layout.nodes) > NODES_CHECKED:
            return
        of = table.class_of(env_of(table.trigger, event.row))
        if (event.relation, event.sign, of) in seen:
            return
        seen.add((event.relation, event.sign, of))
        writes = table.directive(of).writes
        expected = {(w.statement, w.target): {(owner[r.source], r.read) for r in w.reads} for w in writes}
        if (found := dispatched(event)) != expected:
            raise Wrong(f"for {event} the switch dispatches {found}, the directive table says {expected}")

    return look


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
    what the protocol counts, and what disturbed it. ``seconds`` of virtual time it took; ``busy_s`` is how long each actor worked. ``committed_s``: when
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
    # Each event that arrived has one version, of the coordinator at which it did.
    arrived = Counter((a.coordinator, a.sign, a.relation, a.row) for a in case.arrivals)
    stamped = Counter((v.coordinator, e.sign, e.relation, e.row) for v, e in judge.events.items())
    if arrived != stamped:
        missing, more = sum((arrived - stamped).values()), sum((stamped - arrived).values())
        raise Wrong(
            f"{missing} of {len(case.arrivals)} events that arrived got no version, and {more} did that never arrived"
        )
    judge.finish()
    counts = Counter(system.finish()) + simulation.disturbances
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


# Steady loads: events at a rate, on as many nodes as one likes. What experiments and pictures are made with; random cases are drawn.


@dataclass(frozen=True)
class Load:
    """``rate`` events a second on average (Poisson), ``events`` in all, of ``relations`` (all, if empty) in equal parts, with keys from 1 to ``domain``. They
    reach the coordinators in proportion to ``shares`` (equally, if empty), or, with ``assign``, all with the same ``key`` (their first column's value), or of the
    same ``relation``, reach the same one. ``nodes``: how many nodes the maps are spread over. ``epochs``: so many,
    or as many as the events last."""

    program: Program = field(default_factory=lambda: paper("cumulus-2.1"))
    nodes: int = 10
    coordinators: int = 3
    events: int = 300
    rate: float = 1000.0
    domain: int = 50
    deletes: float = 0.1
    shares: Sequence[float] = ()
    assign: str = ""
    relations: Sequence[str] = ()
    epoch_s: float = 0.1
    epochs: int | None = None
    seed: int = 0


def spread_layout(program: Program, nodes: int) -> Layout:
    """Every map in as many segments as there are nodes, about: in equal parts along each key column."""

    def cuts(width: int) -> tuple[int, ...]:
        if width == 0:
            return ()
        side = nodes if width == 1 else isqrt(nodes)
        return (side,) * min(width, 2) + (1,) * (width - 2)

    return uniform_layout(program, {m.name: cuts(len(m.keys)) for m in program.maps}, nodes)


def load_case(
    spec: Spec,
    load: Load,
    options: Mapping[str, Any] | None = None,
    disorder: Disorder | None = None,
    costs: Costs | None = None,
) -> Case:
    """A case of a protocol under a load; options that are not given have their defaults, disorder is moderate."""
    choose = random.Random(f"load {load.seed}")
    arrivals = tuple(_arrivals(choose, load, load.coordinators if spec.many_coordinators else 1))
    chosen = {name: values[0] for name, values in spec.options.items()} | dict(options or {})
    return Case(
        load.seed,
        spec.name,
        load.program,
        spread_layout(load.program, load.nodes),
        arrivals,
        coordinators=load.coordinators if spec.many_coordinators else 1,
        epoch_s=load.epoch_s,
        epochs=max(1, ceil(arrivals[-1].at_s / load.epoch_s)) if load.epochs is None else load.epochs,
        costs=costs or Costs(),
        disorder=disorder if disorder is not None else Disorder(delay_s=0.5e-3),
        options=chosen,
    )


def _arrivals(choose: random.Random, load: Load, coordinators: int) -> list[Arrival]:
    names = list(load.relations) or list(dict.fromkeys(t.relation for t in load.program.triggers if t.sign))
    weights = list(load.shares[:coordinators]) or [1.0] * coordinators
    at_s, arrivals = 0.0, []
    for _ in range(load.events):
        at_s += choose.expovariate(load.rate)
        relation = load.program.relation_by_name[choose.choice(names)]
        deletable = load.program.trigger(relation.name, -1) is not None
        sign = -1 if deletable and choose.random() < load.deletes else 1
        row = tuple(choose.randint(1, load.domain) for _ in relation.columns)
        chosen = choose.choices(range(coordinators), weights)[0]
        if load.assign:
            chosen = (row[0] if load.assign == "key" else names.index(relation.name)) % coordinators
        arrivals.append(Arrival(at_s, chosen, sign, relation.name, row))
    return arrivals
