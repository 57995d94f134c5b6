"""Target and source aggregation end in the serial interpreter's state, whatever the delays, and keep the paper's promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cumulus_ops.simulation import PROTOCOLS, Arrival, Case, draw_case, run_case
from cumulus_ops.simulation.kernel import Message
from cumulus_ops.simulation.layout import Layout, Segment, uniform_layout
from cumulus_ops.simulation.programs import paper
from cumulus_ops.simulation.protocols import central, source, target
from cumulus_ops.simulation.protocols.source import SOURCE
from cumulus_ops.simulation.run import Outcome
from m3.program import Program


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
        if isinstance(s.message, source.Delta)
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


def _skip_first(method: Callable[..., None]) -> Callable[..., None]:
    """The second call and later ones only."""
    calls: list[object] = []

    def skipping(self: Any, *args: Any) -> None:
        calls.append(self)
        if len(calls) != 3:
            method(self, *args)

    return skipping


def _forget_early(node: Any, message: Message, sender: str, right: Callable[..., None]) -> None:
    right(node, message, sender)
    node._early.clear()


def _only_owner(replicas: Any, *_: Any) -> None:
    replicas.holders = {s: (n,) for s, n in replicas._owner.items()}


BUGS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "a read sees the event's own write": (
        "target source",
        lambda m: m.setattr(central, "read_bound", lambda p, v, s, a: central.Stamp(v, central.STATEMENTS)),
    ),
    "a read does not wait for the event before": (
        "target source",
        lambda m: m.setattr(
            central, "read_bound", lambda p, v, s, a: central.Stamp(v._replace(sequence=v.sequence - 1), 0)
        ),
    ),
    "an empty slice is not sent": (
        "target",
        lambda m: m.setattr(
            target.Node,
            "_send",
            lambda self, event, read, entries, right=target.Node._send: entries and right(self, event, read, entries),
        ),
    ),
    "a result outside its segment is kept": (
        "target source",
        lambda m: m.setattr(Layout, "segment_of", _whole(Layout.segment_of)),
    ),
    "what comes before its event is lost": (
        "target source",
        lambda m: m.setattr(
            central.CentralNode,
            "receive",
            lambda self, message, sender, right=central.CentralNode.receive: _forget_early(self, message, sender, right),
        ),
    ),
    "one event is not heard of": ("target source", lambda m: m.setattr(target.Node, "notified", _skip_first(target.Node.notified)) or m.setattr(source.Node, "notified", _skip_first(source.Node.notified))),
    "a snapshot does not wait": (
        "target source",
        lambda m: m.setattr(central, "STATEMENTS", -1),
    ),
    "a snapshot is skipped": (
        "target source",
        lambda m: m.setattr(central.CentralNode, "_keep", _skip_first(central.CentralNode._keep)),
    ),
    "replicas are not told": (
        "source",
        lambda m: m.setattr(source.Node, "_send", _to_first_holder),
    ),
    "a replica is changed twice": (
        "source",
        lambda m: m.setattr(central, "add_to", _twice_if_small(central.add_to)),
    ),
}  # fmt: skip


def _whole(right: Callable[..., Segment]) -> Callable[..., Segment]:
    return right


def _to_first_holder(*_: Any) -> None: ...


def _twice_if_small(right: Callable[..., None]) -> Callable[..., None]:
    return right
