"""The optimistic switches as a whole: who is there, what can be chosen, and what is watched."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

from cumulus_papers.case import Case, Event, Version
from cumulus_papers.kernel import Simulation
from cumulus_papers.protocols.optimistic.corrections import Corrected, Dispatch, Late
from cumulus_papers.protocols.optimistic.messages import Asked, EpochDue
from cumulus_papers.protocols.optimistic.node import Absorbed, Node, Suppressed
from cumulus_papers.protocols.optimistic.rounds import Rounds, Turns
from cumulus_papers.protocols.optimistic.switch import Answered, Client, Ended, Holds, Switch
from cumulus_papers.protocols.optimistic.updates import Book, Updates
from cumulus_papers.run import Committed, Maps, Spec, Stamped, Wrong, coordinator, node, serial

__all__ = ["OPTIMISTIC"]

CLIENT = "client"


class System:
    """Watches a run: the papers' invariants, and what has happened."""

    def __init__(self, case: Case, simulation: Simulation, dispatch: Dispatch) -> None:
        self.case, self.simulation, self.dispatch = case, simulation, dispatch
        self.counts: Counter[str] = Counter()
        self.events: dict[Version, Event] = {}
        self.answers: list[Answered] = []
        self.acyclic = dispatch.acyclic
        self.committed = Version(-1, 0, 0)
        book = Book(case, simulation, dispatch.tables)
        self.watching: list[Book | Updates | Turns | Rounds] = [book, Updates(book), Turns(book), Rounds(book)]

    def maps(self) -> Maps:
        """What all nodes have, tentatively."""
        maps: Maps = {}
        for n in self.case.layout.nodes:
            for name, entries in self.simulation.actor(node(n)).maps().items():
                maps.setdefault(name, {}).update(entries)
        return maps

    def watch(self, now_s: float, name: str, what: object) -> None:
        """See that the papers' promises are kept."""
        for watching in self.watching:
            watching.watch(now_s, name, what)
        if isinstance(what, Stamped):
            self.events[what.event.version] = what.event
        elif isinstance(what, Committed):
            self.committed = max(self.committed, what.through)
            actor = self.simulation.actor(name)
            if actor.epochs.through != what.through:
                raise Wrong(f"{name} has committed {what.through}, and notes {actor.epochs.through}")
            if stale := actor.logs.stale(what.through):
                raise Wrong(f"{name} has committed {what.through}, and kept older entries in its {stale[0]}")
        elif isinstance(what, Late):
            raise Wrong(f"{name} got a {what.kind} for {what.version}, after it had committed {what.committed}")
        elif isinstance(what, Corrected):
            self.counts["corrections"] += 1
            self.counts["longest cascade"] = max(self.counts["longest cascade"], what.hops)
            if what.hops > self.dispatch.longest_path and self.acyclic:
                raise Wrong(
                    f"{name}: a cascade has passed {what.hops} maps, the longest path is {self.dispatch.longest_path}"
                )
            if not what.at < what.below:
                raise Wrong(f"{name} corrects {what.map} at {what.at}, which is not before the read at {what.below}")
        elif isinstance(what, Suppressed):
            self.counts["pushes suppressed"] += what.yes
        elif isinstance(what, Absorbed):
            if what.before != what.after:
                raise Wrong(f"{name}: a correction has made an entry in the SendLog")
        elif isinstance(what, Answered):
            self.answers.append(what)
        elif isinstance(what, (Holds, Ended)):
            if what.switch != what.epoch % self.case.coordinators:
                raise Wrong(f"{name} has the token in epoch {what.epoch}, out of turn")
            kind = f"{type(what).__name__.lower()} {what.epoch}"
            self.counts[kind] += 1
            if self.counts[kind] > 1:
                raise Wrong(f"{name}: the token of epoch {what.epoch} is there twice")

    def finish(self) -> Mapping[str, int]:
        """See that all epochs are committed, and how good the answers were."""
        if self.committed < Version(self.case.epochs, 0, 0) and self.case.epochs:
            raise Wrong(f"{self.case.epochs} epochs have ended, and are committed only through {self.committed}")
        if self._strict() and self.counts["corrections"]:
            raise Wrong("one switch, everything in its order, and yet there were corrections")
        if len(self.answers) != self.case.options["queries"]:
            raise Wrong(f"{len(self.answers)} of {self.case.options['queries']} queries were answered")
        for watching in self.watching:
            watching.finish()
        for answer in self.answers:
            right = serial(self.case.program, self.events, answer.version).get(answer.map, {}) == answer.entries
            self.counts["answers right" if right else "answers wrong"] += 1
            if not right and self._strict():
                raise Wrong(
                    f"the answer on {answer.map} as of {answer.version} is {answer.entries}: with one switch it is final"
                )
        for kind in [k for k in self.counts if k.startswith(("holds", "ended"))]:
            del self.counts[kind]
        return self.counts

    def _strict(self) -> bool:
        """One switch, everything in its order: no dependency can be violated."""
        options = self.case.options
        loose = options["bypass"] or options["blind"] or options["suppression"] != "off"
        after = any(r.after for t in self.case.program.triggers for s in t.statements for r in s.reads())
        return self.case.coordinators == 1 and self.case.program.semantics == "snapshot" and not loose and not after


def build(case: Case, simulation: Simulation) -> System:
    """Add switches, nodes and a client, and let the first epoch begin."""
    dispatch = Dispatch(case.program, case.layout)
    for s in range(case.coordinators):
        simulation.add(coordinator(s), lambda here, s=s: Switch(here, case, s, dispatch))  # type: ignore[misc]
    for n in case.layout.nodes:
        simulation.add(node(n), lambda here, n=n: Node(here, case, n, dispatch))  # type: ignore[misc]
    simulation.add(CLIENT, Client)
    if case.epochs:
        simulation.inject(case.epoch_s, coordinator(0), EpochDue(0))
    choose = random.Random(f"client {case.seed}")
    for _ in range(case.options["queries"]):
        name = choose.choice(case.program.maps).name
        at_s = choose.uniform(0, case.epoch_s * max(1, case.epochs))
        simulation.inject(at_s, CLIENT, Asked(coordinator(choose.randrange(case.coordinators)), name))
    return System(case, simulation, dispatch)


KINDS = (
    "Fetch",
    "Put",
    "Push",
    "Corrective",
    "Ask",
    "Query",
    "Answer",
    "Result",
    "EpochEnd",
    "EpochEndRequest",
    "EpochReady",
    "EpochCommit",
    "Flush",
    "Token",
    "Batch",
)
OPTIMISTIC = Spec(
    "optimistic",
    build,
    KINDS,
    {
        # Section 3.5, in its order; all are off by default, but for one message per source, destination and TS (3.2).
        "bypass": (False, True),
        "blind": (False, False, True),
        "suppression": ("off", "off", "timestamps", "values"),
        "missing": ("time-out", "optimistic"),
        "time_out_s": (0.002, 0.02),
        "write_nodes": (True, False),
        "buffer_s": (0.0, 0.0, 0.002, 0.02),
        "intelligent": (False, True),
        "coalesce": (True, False),
        "batch_s": (0.0, 0.0, 0.002),
        # Section 3.4: entries that a node's logs may grow by until it wants the epoch to end.
        "log_limit": (None, None, 40, 150),
        "queries": (0, 3),
    },
    acyclic=True,
)
