"""The protocol at work, and the paper's invariants, looked at from outside (Cumulus paper, section 4). What messages there have to be: :mod:`.expected`.

- A cascade ends within the longest path: corrections of a map of an acyclic program come from at most as many others as the map is deep.
- Corrections are caused by earlier writes only.
- Who switches epochs has the highest priority, so that each coordinator has every place in turn.
- A confirmation comes after all events of the epoch that the coordinator sent to the node; after epoch complete there are none of it or before.
- Nothing of an epoch, or before, changes after a node's checkpoint; there is no history of it any more, and one value for each entry.
- What is sent for a history entry, first and as corrections, sums up to what the serial order gives it: each write is counted once in each entry that reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from cumulus_papers.case import Case, Event, Version
from cumulus_papers.kernel import Simulation
from cumulus_papers.layout import env_of
from cumulus_papers.protocols.eventual.coordinator import Coordinator
from cumulus_papers.protocols.eventual.expected import Expected
from cumulus_papers.protocols.eventual.messages import (
    Changed,
    Completed,
    Dispatched,
    Plan,
    Processed,
    Pushed,
    Switched,
    Token,
)
from cumulus_papers.protocols.eventual.node import Node, end_of
from cumulus_papers.run import (
    Committed,
    Entries,
    Maps,
    Outcome,
    Spec,
    Stamped,
    Wrong,
    add_to,
    coordinator,
    node,
    union,
)
from m3.dataflow import depth, is_cyclic, strata
from m3.interpreter import Interpreter
from m3.program import Program, Trigger
from m3.statements import Key, contribution

__all__ = ["EVENTUAL", "Corrections", "Eventual", "corrections", "serial_deltas"]


@dataclass(frozen=True)
class Corrections:
    """(Event's version, statement's index) -> key of the target -> units: what was sent first, and the sum of all corrections. No zeros."""

    first: dict[tuple[Version, int], Entries]
    correction: dict[tuple[Version, int], Entries]


@dataclass
class Eventual:
    """Watches a run."""

    case: Case
    simulation: Simulation
    #: Who has to send what to whom.
    expected: Expected
    events: dict[Version, Event] = field(default_factory=dict)
    pushed: list[Pushed] = field(default_factory=list)
    #: (Node, coordinator) -> versions that are on their way to the node.
    unprocessed: dict[tuple[str, int], set[Version]] = field(default_factory=dict)
    completed: dict[str, int] = field(default_factory=dict)
    committed: dict[str, list[Version]] = field(default_factory=dict)
    epochs: list[int] = field(default_factory=list)
    #: Coordinator -> the places that it has had in the order of priorities.
    places: dict[int, set[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.epochs = [0] * self.case.coordinators
        self._places()
        groups = strata(self.case.program)
        self.acyclic = not any(is_cyclic(self.case.program, group) for group in groups)
        self.depth = depth(self.case.program)

    def maps(self) -> Maps:
        """All maps, tentative entries included."""
        return union(e for n in self.case.layout.nodes for e in self.simulation.actor(node(n)).owned().items())

    def watch(self, now_s: float, name: str, what: object) -> None:
        """A report of a coordinator or node."""
        self.expected.watch(now_s, name, what)
        match what:
            case Stamped(event):
                self.events[event.version] = event
            case Dispatched(version, nodes):
                for n in nodes:
                    self.unprocessed.setdefault((node(n), version.coordinator), set()).add(version)
            case Processed(version):
                self.unprocessed[name, version.coordinator].remove(version)
                if version.epoch <= self.completed.get(name, -1):
                    raise Wrong(f"{name} gets event {version} after epoch {self.completed[name]} was complete")
            case Pushed():
                self._check_push(name, what)
            case Changed(stamp, segment):
                self._not_after_checkpoint(name, stamp.version, f"{segment} is changed")
            case Switched(epoch):
                number = int(name.split()[1])
                order = self._order()
                if self.case.options["epochs"] == "staggered" and order[0] != number:
                    raise Wrong(f"coordinator {number} switches epochs while the order is {order}: it is not the first")
                if epoch != self.epochs[number] + 1:
                    raise Wrong(f"coordinator {number} goes from epoch {self.epochs[number]} to {epoch}")
                self.epochs[number] = epoch
                self._places()
            case Completed(epoch):
                late = sorted(
                    v
                    for (at, _), versions in self.unprocessed.items()
                    if at == name
                    for v in versions
                    if v.epoch <= epoch
                )
                if late:
                    raise Wrong(f"{name} is told that epoch {epoch} is complete, and has not got {late[0]}")
                self.completed[name] = epoch
            case Committed(through):
                self.committed.setdefault(name, []).append(through)
                self._check_collected(name, through)

    def _check_push(self, name: str, push: Pushed) -> None:
        self.pushed.append(push)
        self._not_after_checkpoint(name, push.stamp.version, f"a delta for {push.target} is sent")
        if (push.cascade > 0) != (push.cause is not None) or push.cascade < 0:
            raise Wrong(f"{name} sends {push.stamp} as correction {push.cascade} of a cascade, because of {push.cause}")
        if push.cause is not None and push.cause.version > push.stamp.version:
            raise Wrong(f"{name} corrects {push.stamp} because of {push.cause}, which is later")
        if self.acyclic and push.cascade > self.depth[push.target]:
            paths = f"no path to it is longer than {self.depth[push.target]}"
            raise Wrong(f"{name} corrects {push.target} of {push.stamp} {push.cascade} steps down a cascade; {paths}")

    def _not_after_checkpoint(self, name: str, version: Version, what: str) -> None:
        last = self.committed.get(name)
        if last and version <= last[-1]:
            raise Wrong(f"at {name} {what} for {version} after the checkpoint of epoch {last[-1].epoch}")

    def _check_collected(self, name: str, through: Version) -> None:
        at: Node = self.simulation.actor(name)
        if any(stamp.version <= through for stamp in at.history.entries):
            raise Wrong(f"{name} keeps history from before its checkpoint of epoch {through.epoch}")
        self._in_order(name, at)
        for segment, entries in at.copies.segments.items():
            for key, deltas in entries.items():
                if sum(stamp.version <= through for stamp, _ in deltas) > 1:
                    raise Wrong(
                        f"{name} keeps {segment}{list(key)} in parts from before its checkpoint of epoch {through.epoch}"
                    )

    def _in_order(self, name: str, at: Node) -> None:
        """A copy has one delta of each write, the history is of the statements that read it."""
        for segment, entries in at.copies.segments.items():
            for key, deltas in entries.items():
                stamps = [stamp for stamp, _ in deltas]
                if not stamps or stamps != sorted(set(stamps)):
                    raise Wrong(f"{name} has {deltas} of {segment}{list(key)}")
        reading = [entry for entries in at.history.readers.values() for entry in entries]
        wanting = [entry for entry in at.history.entries.values() for _ in {s for w in entry.wants for s in w.segments}]
        if Counter(map(id, reading)) != Counter(map(id, wanting)) or not all(at.history.readers.values()):
            raise Wrong(f"{name} knows {len(reading)} readers of its copies; {len(wanting)} are in its history")

    def _order(self) -> list[int]:
        """The coordinators, highest priority first: by epoch, and then by number."""
        return sorted(range(self.case.coordinators), key=lambda i: (self.epochs[i], i))

    def _places(self) -> None:
        for place, i in enumerate(self._order()):
            self.places.setdefault(i, set()).add(place)

    def finish(self) -> Mapping[str, int]:
        """After the run."""
        case, ends = self.case, [end_of(e) for e in self.expected.collected]
        for n in case.layout.nodes:
            if self.committed.get(node(n), []) != ends:
                raise Wrong(f"{node(n)} has committed {self.committed.get(node(n))}, not {ends}")
            # Nothing is left to be done, and nothing of what is collected is kept.
            name = node(n)
            at = self.simulation.actor(node(n))
            self._in_order(name, at)
            if at.held or at.due or at.why or at.outbox.buffers or at.checkpoints.collecting:
                raise Wrong(f"{name} still has something to do: {at.held}, {at.due}, {at.outbox.buffers}")
            for cycle in at.checkpoints.cycles.values():
                left = [e for counts in (cycle.sent, cycle.received) for e in counts if e <= cycle.settled]
                if cycle.waiting or left or cycle.settled != self.expected.collected[-1]:
                    raise Wrong(
                        f"{name} still waits in the cycle of {cycle.cycle.name}, of which {cycle.settled} is settled"
                    )
        for i in range(case.coordinators):
            if self.simulation.actor(coordinator(i)).unconfirmed:
                raise Wrong(f"coordinator {i} still waits for confirmations")
        if any(epoch != case.epochs for epoch in self.epochs):
            raise Wrong(f"the coordinators are in epochs {self.epochs}, not {case.epochs}")
        turns = case.epochs and case.options["epochs"] == "staggered"
        if turns and any(len(p) < case.coordinators for p in self.places.values()):
            raise Wrong(f"not every coordinator had every place: {self.places}")
        # First deltas and corrections sum up to what the serial order gives.
        sums = self.corrections()
        expected = serial_deltas(self.case.program, self.events)
        for entry in sorted(sums.first.keys() | sums.correction.keys() | expected.keys()):
            total = dict(sums.first.get(entry, {}))
            add_to(total, sums.correction.get(entry, {}))
            if total != expected.get(entry, {}):
                raise Wrong(f"{entry} has sent {total} in all; serially it gives {expected.get(entry, {})}")
        nodes: list[Node] = [self.simulation.actor(node(n)) for n in self.case.layout.nodes]
        counts = Counter(
            corrections=sum(p.cascade > 0 for p in self.pushed), first=sum(not p.cascade for p in self.pushed)
        )
        counts["cascade"] = max((p.cascade for p in self.pushed), default=0)
        counts["rounds"] = sum(state.rounds for n in nodes for state in n.checkpoints.cycles.values())
        counts["collections"] = len(self.expected.collected)
        return counts + Counter(self.expected.finish())

    def corrections(self) -> Corrections:
        """What was sent, by history entry."""
        sums = Corrections({}, {})
        for push in self.pushed:
            kind = sums.correction if push.cascade else sums.first
            add_to(kind.setdefault((push.stamp.version, push.stamp.statement), {}), push.entries)
        for entries in (sums.first, sums.correction):
            for known in [e for e, delta in entries.items() if not delta]:
                del entries[known]
        return sums


def corrections(outcome: Outcome) -> Corrections:
    """What each history entry has sent first, and as corrections, in a run of this protocol."""
    assert isinstance(outcome.system, Eventual)
    return outcome.system.corrections()


def serial_deltas(program: Program, events: Mapping[Version, Event]) -> dict[tuple[Version, int], Entries]:
    """(Version, statement) -> what the statement gives the event in the serial order; no empty ones."""
    maps: Maps = {name: dict(entries) for name, entries in Interpreter(program).maps.items()}
    deltas: dict[tuple[Version, int], Entries] = {}
    triggers = {(t.relation, t.sign): t for t in program.triggers}
    for version in sorted(events):
        event = events[version]
        trigger = triggers.get((event.relation, event.sign))
        if trigger is not None:
            for index, delta in _event_deltas(program, trigger, event, maps).items():
                if delta:
                    deltas[version, index] = delta
    return deltas


def _event_deltas(program: Program, trigger: Trigger, event: Event, maps: Maps) -> dict[int, Entries]:
    """What each statement gives; ``maps`` become as they are after the event."""
    before = {name: dict(entries) for name, entries in maps.items()} if program.semantics != "sequential" else maps
    done: dict[int, Entries] = {}

    def one(index: int) -> None:
        if index in done:
            return
        statement, slices = trigger.statements[index], list[Mapping[Key, int]]()
        for ref in statement.reads():
            if ref.after:
                for i, other in enumerate(trigger.statements):
                    if other.target == ref.map:
                        one(i)
            slices.append((maps if ref.after else before)[ref.map])
        done[index] = contribution(program, statement, env_of(trigger, event.row), slices)
        add_to(maps[statement.target], done[index])

    for index in range(len(trigger.statements)):
        one(index)
    return done


def _build(case: Case, simulation: Simulation) -> Eventual:
    plan = Plan(case.program, case.layout)
    for i in range(case.coordinators):
        simulation.add(coordinator(i), lambda here, i=i: Coordinator(here, case, i, plan))  # type: ignore[misc]
    for n in case.layout.nodes:
        simulation.add(node(n), lambda here, n=n: Node(here, case, n, plan))  # type: ignore[misc]
    for i in range(1 if case.options["epochs"] == "staggered" else case.coordinators):
        simulation.inject(0.0, coordinator(i), Token())
    expected = Expected(case, simulation, plan)
    simulation.on_send.append(expected.look)
    return Eventual(case, simulation, expected)


EVENTUAL = Spec(
    "eventual",
    _build,
    ("Notify", "Push", "Token", "Commit", "Confirmation", "EpochComplete", "MapCheckpoint", "PartialCheckpoint"),
    {
        "dispatch": (True, False),
        "coalesce": ("event", "off", "all"),
        "buffer_s": (0.001, 0.0, 0.02),
        "cycle_buffer_s": (0.001, 0.005),
        "intelligent": (False, True),
        "wait_s": (0.0, 0.0, 0.002),
        "round_s": (0.0, 0.0, 0.002),
        "epochs": ("staggered", "aligned"),
        "skew_s": (0.0, 0.005),
        "collect_every": (1, 2),
    },
)
