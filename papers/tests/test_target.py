"""Target aggregation (Cumulus paper, sections 3.1 and 3.2): who sends what to whom."""

from __future__ import annotations

from collections import Counter

import pytest

from cumulus_papers.case import Arrival, Case, paper
from cumulus_papers.layout import Layout, uniform_layout
from cumulus_papers.protocols.target import TARGET, Slice
from cumulus_papers.run import Outcome, run_case
from m3.program import Program


def one_by_one(
    program: Program, layout: Layout, events: list[tuple[str, tuple[int, ...]]], fan_out: int = 2
) -> Outcome:
    arrivals = tuple(Arrival(0.01 * i, 0, 1, relation, row) for i, (relation, row) in enumerate(events))
    options = {"fan_out": fan_out}
    case = Case(0, "target", program, layout, arrivals, epoch_s=10.0, options=options)
    return run_case(case, TARGET, record=True)


def slices(outcome: Outcome) -> Counter[tuple[str, str]]:
    """Sender and receiver of each slice, those included that stayed where they were."""
    return Counter((s.sender, s.receiver) for s in outcome.trace if isinstance(s.message, Slice))


def test_each_source_sends_to_one_target() -> None:
    """Figure 3 (a): five nodes with m2 send their segment to one node each, of those that have m1."""
    program = paper("cumulus-3.1a")
    layout = uniform_layout(program, {"m1": (1, 5), "m2": (5,)}, 10)
    outcome = one_by_one(program, layout, [("s", (b,)) for b in range(8)] + [("r", (1,))])
    assert slices(outcome) == {(f"node {5 + i}", f"node {i}"): 1 for i in range(5)}
    assert outcome.messages["Slice"] == 5
    assert outcome.local["Slice"] == 0


def test_nothing_is_transmitted_between_segments_at_one_node() -> None:
    """Section 3.1: if the same node stores corresponding partitions, no actual data transmission occurs."""
    program = paper("cumulus-3.1a")
    layout = uniform_layout(program, {"m1": (1, 5), "m2": (5,)}, 5)
    outcome = one_by_one(program, layout, [("s", (b,)) for b in range(8)] + [("r", (1,))])
    assert outcome.messages["Slice"] == 0
    assert outcome.local["Slice"] == 5


def test_twenty_slices_in_a_grid() -> None:
    """Figure 3 (b): each m2 node sends to five, each m3 node to two; empty slices too, as here nearly all are."""
    program = paper("cumulus-3.1b")
    layout = uniform_layout(program, {"m1": (1, 2, 5), "m2": (2,), "m3": (5,)}, 17)
    outcome = one_by_one(program, layout, [("s", (1,)), ("t", (1,)), ("r", (1,))])
    senders = Counter(sender for sender, _ in slices(outcome).elements())
    assert senders == {**{f"node {10 + i}": 5 for i in range(2)}, **{f"node {12 + i}": 2 for i in range(5)}}
    assert outcome.messages["Slice"] == 20
    empty = [s for s in outcome.trace if isinstance(s.message, Slice) and not s.message.entries]
    assert len(empty) == 5 + 4 * 2, "one m2 node and four m3 nodes have nothing, and say so"


def test_only_the_slice_is_sent() -> None:
    """Section 3.1: of m2[A,B], only the slice m2'[B] = m2[A,B]."""
    program = paper("semester-3.1")  # m3[c] += m1[a] * m2[c]
    layout = uniform_layout(program, {}, 3)
    outcome = one_by_one(program, layout, [("t", (1,)), ("t", (2,)), ("s", (3,)), ("s", (4,)), ("r", (2,))])
    sent = {s.message.read.source.map: s.message.entries for s in outcome.trace if isinstance(s.message, Slice)}
    assert sent == {"m1": {(2,): 1}, "m2": {(3,): 1, (4,): 1}}


@pytest.mark.parametrize("fan_out", [1, 2, 4, 100])
def test_events_come_down_a_tree(fan_out: int) -> None:
    """Section 3.2: a distribution tree over the nodes themselves: each node hears once, and tells at most so many."""
    program = paper("cumulus-3.1a")
    layout = uniform_layout(program, {"m1": (1, 8)}, 9)
    outcome = one_by_one(program, layout, [("s", (1,))], fan_out)
    told = [(s.sender, s.receiver) for s in outcome.trace if s.message.kind == "Notify"]
    assert sorted(receiver for _, receiver in told) == [f"node {n}" for n in range(9)]
    senders = Counter(sender for sender, _ in told)
    assert senders.pop("coordinator 0") == 1
    assert max(senders.values()) == min(fan_out, 8)
    expected = {1: 8, 2: 4, 4: 2, 100: 1}[fan_out]
    assert len(senders) == expected, "nodes that pass it on"
