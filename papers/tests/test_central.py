"""Target and source aggregation end in the serial interpreter's state, whatever the delays, and keep the paper's promises."""

from __future__ import annotations

from typing import Any

import pytest

from cumulus_papers.case import Arrival, Case, paper
from cumulus_papers.layout import Layout, Segment, uniform_layout
from cumulus_papers.protocols import PROTOCOLS
from cumulus_papers.protocols.source import SOURCE, Delta
from cumulus_papers.run import Outcome, run_case
from cumulus_papers.sweep import draw_case, failure_of
from m3.program import Program
from mutants import edited
from tests.support.sampling import sampled


@pytest.mark.parametrize("protocol", ["target", "source"])
def test_random_cases_end_as_they_do_serially(protocol: str) -> None:
    spec = PROTOCOLS[protocol]
    outcomes = [run_case(draw_case(seed, spec), spec) for seed in range(20)]
    assert all(outcome.messages[kind] for outcome in outcomes for kind in ("Notify", "Snapshot"))
    assert all(outcome.commits == outcome.case.epochs for outcome in outcomes)
    assert sum(outcome.messages[spec.kinds[-1]] for outcome in outcomes)


def one_by_one(program: Program, layout: Layout, events: list[tuple[str, tuple[int, ...]]], process: str) -> Outcome:
    arrivals = tuple(Arrival(0.01 * i, 0, 1, relation, row) for i, (relation, row) in enumerate(events))
    options = {"fan_out": 2, "process": process}
    return run_case(Case(0, "source", program, layout, arrivals, epoch_s=10.0, options=options), SOURCE, record=True)


def deltas(outcome: Outcome) -> list[tuple[str, str, str, dict[Any, int]]]:
    return [
        (s.sender, s.receiver, str(s.message.target), s.message.delta)
        for s in outcome.trace
        if isinstance(s.message, Delta)
    ]


def test_writes_go_to_the_owner_and_to_all_replicas() -> None:
    """Section 3.3 on R(A): m1[A,B] += m2[B]: each node with m1 has a replica of the m2 segment that it reads, and computes without asking anybody."""
    program = paper("cumulus-3.1a")
    layout = Layout(
        {"m1": (1, 2), "m2": (1,)}, {Segment("m1", (0, 0)): 0, Segment("m1", (0, 1)): 1, Segment("m2", (0,)): 2}
    )
    outcome = one_by_one(program, layout, [("s", (5,)), ("r", (7,))], "owner")
    assert outcome.counts["replicas"] == 2
    m2, (b, other) = ("m2[0]", {(5,): 1}), (("m1[0,0]", "node 0"), ("m1[0,1]", "node 1"))
    assert sorted(deltas(outcome)[:3]) == [("node 2", f"node {n}", *m2) for n in range(3)]
    found = {(sender, receiver, segment): delta for sender, receiver, segment, delta in deltas(outcome)[3:]}
    assert set(found) == {(at, at, segment) for segment, at in (b, other)}
    assert sorted(map(len, found.values())) == [0, 1], "one of the two has nothing to write, and says so"


def test_without_replicas_where_the_source_is() -> None:
    """The other place to process: at the owner of what is read; only results travel, empty ones too."""
    program = paper("cumulus-3.1a")
    layout = uniform_layout(program, {"m1": (1, 2), "m2": (2,)}, 4)
    outcome = one_by_one(program, layout, [("s", (5,)), ("r", (7,))], "source")
    assert outcome.counts["replicas"] == 0
    assert sorted(d[:3] for d in deltas(outcome)[1:]) == [
        ("node 2", "node 0", "m1[0,0]"),
        ("node 3", "node 1", "m1[0,1]"),
    ]


#: Mechanism -> protocols, the code, and the same with a bug in it.
BUGS: dict[str, tuple[str, str, str]] = {
    "what an event before has written is not waited for": (
        "target source",
        "bound = read_bound(self.case.program, event.version, read.statement, wanted.after)",
        "bound = Stamp(event.version._replace(sequence=event.version.sequence - 1), 0)",
    ),
    "a read sees its own event's writes": (
        "target source",
        "bound = read_bound(self.case.program, event.version, read.statement, wanted.after)",
        "bound = Stamp(event.version, STATEMENTS)",
    ),
    "stamps are compared the wrong way round": ("target source", "first < bound]", "first > bound]"),
    "a write is not deferred until earlier ones are done": (
        "target source",
        "        self._writes[stamp] = delta",
        "        add_to(self.entries, delta); self._writes[stamp] = {}",
    ),
    "a write does not wait for all its slices": (
        "target source",
        "return len(self.slices) == len(self.write.reads)",
        "return len(self.slices) >= min(1, len(self.write.reads))",
    ),
    "a result outside its segment is kept": ("target source", "if place(target.map, key) == target}", "if key is not target}"),
    "what overtakes its event is lost": (
        "target source",
        "self._early.setdefault(version, []).append((message, sender))",
        "pass",
    ),
    "a child is not told": ("target source", "for child in self._children:", "for child in self._children[:1]:"),
    "a version is given out twice": ("target source", "sequence=self.last.sequence + 1", "sequence=self.last.sequence | 1"),
    "a snapshot does not wait for the epoch's last event": ("target source", "Stamp(through, STATEMENTS)", "Stamp(through, 0)"),
    "a snapshot goes on changing": ("target source", "kept[segment] = dict(entries)", "kept[segment] = entries"),
    "the last epoch's snapshot is forgotten": ("target source", "for epoch in range(case.epochs)", "for epoch in range(case.epochs - 1)"),
    "an empty slice is not sent": (
        "target",
        "        self.here.send(node(self.case.layout.owner[read.target])",
        "        entries and self.here.send(node(self.case.layout.owner[read.target])",
    ),
    "an empty delta is not sent": ("source", "            self.here.send(node(holder), message)", "            message.delta and self.here.send(node(holder), message)"),
    "replicas are not told of writes": (
        "source",
        "in self.replicas.holders[task.write.target]:",
        "in self.replicas.holders[task.write.target][:1]:",
    ),
    "a replica is missing": ("source", "holders[read.source].add(at)", "at % 2 or holders[read.source].add(at)"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("bug", "protocol"), sampled(((b, p) for b, (ps, _, _) in BUGS.items() for p in ps.split()), 3)
)
def test_a_planted_bug_is_caught(bug: str, protocol: str) -> None:
    spec = PROTOCOLS[protocol]
    planted = edited(spec, *BUGS[bug][1:])
    assert any(failure_of(draw_case(seed, spec), planted) for seed in range(40))
