"""The blocking switch as a system: its actors, and the invariants that are looked at while they run.

:class:`Expected` knows who has to send what to whom, message for message: what the directive table asks for, whatever the switch and the nodes do.

- An event is one PUT for each write, one FETCH for each node that has some of what the write reads (two, if it reads with AFTER and without),
  and one PUSH for each FETCH, of the values of the region that the partition needs, and no others.
- Without coalescing each is a message; with it all that goes from one place to another for one event at one time is one.
- Every node is asked for its status once a round, and answers once. When all have answered, the events that are complete, up to the first that is
  not, are committed: at each node the version of the last PUT of these events.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from cumulus_papers.case import BEGINNING, Case, Event, Version
from cumulus_papers.kernel import Message, Simulation
from cumulus_papers.layout import Tables, Write, env_of, partition_of
from cumulus_papers.protocols.blocking.actors import Node, Switch
from cumulus_papers.protocols.blocking.messages import (
    Answered,
    AskStatus,
    Commit,
    Completed,
    EpochEnd,
    Executed,
    Fetch,
    FetchPart,
    Push,
    PushPart,
    Put,
    PutPart,
    Snapshot,
    SpatialIndex,
    Status,
    dispatched,
    indexes,
    value_of,
)
from cumulus_papers.run import (
    NODES_CHECKED,
    Committed,
    Maps,
    Spec,
    Stamped,
    Wrong,
    as_figure_4_says,
    coordinator,
    node,
    union,
)
from m3.program import MapRef, Trigger
from m3.scalars import Var, variables
from m3.statements import Env, Key

__all__ = ["BLOCKING", "Expected"]


class Expected:
    """Looks at each message of a run."""

    def __init__(self, case: Case, simulation: Simulation) -> None:
        self.case, self.simulation = case, simulation
        self.tables = Tables(case.program, case.layout)
        self.names = [node(n) for n in case.layout.nodes]
        self.events: dict[Version, Event] = {}
        self.puts: dict[Version, list[tuple[str, PutPart]]] = defaultdict(list)
        #: (Event, node of the PUT, its number) -> FETCHes: where, and what; and those that are not answered.
        self.fetches: dict[tuple[Version, str, int], list[tuple[str, FetchPart]]] = defaultdict(list)
        self.unanswered: dict[tuple[Version, str, int], list[tuple[str, FetchPart]]] = defaultdict(list)
        self.turn: tuple[int, set[Any]] = 0, set()
        #: The round under way: what has been answered.
        self.answers: dict[str, int] = {}
        #: Events that are not committed; and each node's version after those that are.
        self.open: list[Version] = []
        self.numbers = dict.fromkeys(self.names, 0)
        self.asked: set[str] = set()
        #: (Node, through) -> version: what has to be committed, and what is.
        self.wanted: dict[tuple[str, Version], int] = {}
        self.committed: dict[tuple[str, Version], int] = {}

    def watch(self, event: Event) -> None:
        """An event has a version."""
        self.events[event.version] = event
        self.open.append(event.version)

    def look(self, now_s: float, sender: str, receiver: str, message: Message) -> None:
        """A message that is sent."""
        if len(self.names) > NODES_CHECKED:
            return
        match message:
            case Put(event, parts):
                self._together("PUT", event.version, receiver, len(parts))
                self.puts[event.version] += [(receiver, part) for part in parts]
            case Fetch(version, parts):
                self._together("FETCH", version, receiver, len(parts))
                for part in parts:
                    self.fetches[version, node(part.node), part.put].append((receiver, part))
                    self.unanswered[version, node(part.node), part.put].append((receiver, part))
            case Push(version, pushes):
                self._together("PUSH", version, receiver, len(pushes))
                for push in pushes:
                    self._check_push(version, sender, receiver, push)
            case Status():
                if receiver in self.asked or (len(self.answers) and not self.asked):
                    raise Wrong(f"{receiver} is asked for its status again; {sorted(self.asked)} have not answered")
                self.asked.add(receiver)
            case Completed(number):
                if sender not in self.asked or sender in self.answers:
                    raise Wrong(f"{sender} tells its status, and was not asked")
                self.answers[sender] = number
                if number != self.simulation.actor(sender).done:
                    raise Wrong(f"{sender} says that {number} is complete")
                if len(self.answers) == len(self.names):
                    # All have answered: what has to be committed.
                    done = list(takewhile(self._complete, self.open))
                    for version in done:
                        self.numbers.update((to, part.number) for to, part in self.puts[version])
                    if done:
                        self.wanted.update({(name, done[-1]): self.numbers[name] for name in self.names})
                    self.open, self.answers, self.asked = self.open[len(done) :], {}, set()
            case Commit(number, through):
                if (receiver, through) in self.committed:
                    raise Wrong(f"{receiver} is told twice to commit {through}")
                self.committed[receiver, through] = number

    def _together(self, what: str, version: Version, receiver: str, parts: int) -> None:
        """One message at one time for one event, or one part in each."""
        if self.turn[0] != self.simulation.handled:
            self.turn = self.simulation.handled, set()
        if not self.case.options["coalescing"] and parts != 1:
            raise Wrong(f"a {what} to {receiver} for {version} has {parts} parts, without coalescing")
        if self.case.options["coalescing"] and (what, version, receiver) in self.turn[1]:
            raise Wrong(f"two {what}es to {receiver} for {version} at once, in spite of coalescing")
        self.turn[1].add((what, version, receiver))

    # The values

    def _check_push(self, version: Version, sender: str, receiver: str, push: PushPart) -> None:
        open_ = self.unanswered[version, receiver, push.put]
        said = [(pushed.map, pushed.after) for pushed in push.values]
        answered = [f for f in open_ if f[0] == sender and [(r.map, r.after) for r in f[1].refs] == said]
        if not answered:
            raise Wrong(f"{sender} pushes {push} to {receiver} for {version}; it has not been asked for that")
        open_.remove(answered[0])
        # Every value is one that the partition reads, by the event's values and by its own place.
        puts = [p for to, p in self.puts[version] if (to, p.number) == (receiver, push.put)]
        if len(puts) != 1:
            raise Wrong(f"{receiver} gets {len(puts)} PUTs {push.put} for {version}")
        put = puts[0]
        event = self.events[version]
        table = self.tables.by_event[event.relation, event.sign]
        env, trigger = env_of(table.trigger, event.row), table.trigger
        (write,) = (
            w
            for w in table.directive(table.class_of(env)).writes
            if (w.statement, w.target) == (put.statement, put.target)
        )
        reads = list(trigger.statements[put.statement].reads())
        numbers = sorted({r.read for r in write.reads if node(self.case.layout.owner[r.source]) == sender})
        mine = [reads[n] for n in numbers if not push.values or self._after(reads[n]) == push.values[0].after]
        for ref, pushed in zip(mine, push.values, strict=True):
            for key in pushed.entries:
                if not self._in_region(trigger, write, ref, env, key):
                    raise Wrong(
                        f"{sender} pushes {pushed.map}{list(key)} to {receiver} for {write.target}, which does not read it"
                    )

    def _in_region(self, trigger: Trigger, write: Write, ref: MapRef, env: Env, key: Key) -> bool:
        statement, cuts = trigger.statements[write.statement], self.case.layout.partitions[write.target.map]
        for scalar, value in zip(ref.keys, key, strict=True):
            if set(variables(scalar)) <= set(env):
                if value_of(scalar, env) != value:
                    return False
                continue
            axes = zip(statement.keys, write.target.index, cuts, strict=True)
            if any(own == scalar and isinstance(own, Var) and partition_of(value, n) != i for own, i, n in axes):
                return False
        return True

    def _after(self, ref: MapRef) -> bool:
        return ref.after and self.case.program.semantics == "snapshot"

    # Rounds

    def _complete(self, version: Version) -> bool:
        return all(part.number <= self.answers[to] for to, part in self.puts[version])

    # In the end

    def finish(self) -> None:
        """After the run."""
        if len(self.names) > NODES_CHECKED:
            return
        fetched = Counter(version for (version, *_), fetches in self.fetches.items() for _ in fetches)
        for event in self.events.values():
            self._event(event)
            waiting = sum(put.fetches for _, put in self.puts[event.version])
            if fetched[event.version] != waiting:
                raise Wrong(f"{fetched[event.version]} FETCHes for {event}, and its PUTs wait for {waiting}")
        unanswered = {place: fetches for place, fetches in self.unanswered.items() if fetches}
        if unanswered:
            raise Wrong(f"FETCHes that nobody has answered: {unanswered}")
        if self.committed != self.wanted or self.asked:
            raise Wrong(
                f"committed are {self.committed}; by the nodes' answers it is {self.wanted}; asked are {self.asked}"
            )

    def _event(self, event: Event) -> None:
        """The PUTs and FETCHes of an event."""
        table = self.tables.of(event.relation, event.sign)
        writes = table.directive(table.class_of(env_of(table.trigger, event.row))).writes if table else ()
        owner = self.case.layout.owner
        expected = Counter((node(owner[w.target]), w.statement, w.target) for w in writes)
        sent = Counter((to, p.statement, p.target) for to, p in self.puts[event.version])
        if sent != expected:
            raise Wrong(f"PUTs for {event} are {sent}, the directive table says {expected}")
        by_write = {(w.statement, w.target): w for w in writes}
        for to, put in self.puts[event.version]:
            assert table is not None
            # The FETCHes for a write: node, and what is read there.
            write = by_write[put.statement, put.target]
            reads = list(table.trigger.statements[write.statement].reads())
            groups: dict[tuple[str, bool], set[int]] = defaultdict(set)
            for read in write.reads:
                groups[node(self.case.layout.owner[read.source]), self._after(reads[read.read])].add(read.read)
            wanted = [
                (name, tuple((reads[n].map, after) for n in sorted(numbers)))
                for (name, after), numbers in groups.items()
            ]
            refs = [
                (name, tuple((r.map, r.after) for r in f.refs))
                for name, f in self.fetches[event.version, to, put.number]
            ]
            if Counter(refs) != Counter(wanted) or put.fetches != len(wanted):
                raise Wrong(f"for {put} FETCHes are {refs}, the directive table says {wanted}")


# The blocking switch as a system: its actors, and the invariants that are looked at while they run.


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
