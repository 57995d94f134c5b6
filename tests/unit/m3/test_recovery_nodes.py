"""Nodes by themselves: what one says to its neighbours, step by step."""

from __future__ import annotations

import pytest

from m3.recovery.clock import Clock, parse_clock
from m3.recovery.graph import flow_of
from m3.recovery.messages import Data, Hold, Mark, Report, Resume, Stable
from m3.recovery.node import Node
from m3.recovery.replaying import Replay
from m3.recovery.sending import Outlet
from tests.support.recoveries_by_hand import LINE, Passes, Routes, carry, cross, line, stable


def test_the_horizon_comes_up_from_the_last_checkpoint() -> None:
    """What is stable at a node is what it had processed at its horizon, and that is what is stable at its children: a regress that ends at state."""
    nodes = line()
    for payload in ("1", "2", "-3", "4"):
        carry(nodes, nodes["s"].inject(payload))
    assert [len(nodes[n].payloads) for n in "sab"] == [4, 3, 3]
    assert [stable(nodes, n) for n in "cba"] == [[], [], []]
    assert [nodes[n].horizon for n in "sabc"] == [0, 0, 0, 0]
    nodes["c"].checkpoint()
    carry(nodes, nodes["s"].inject("5"))  # not in the checkpoint, so its ancestors keep it
    assert stable(nodes, "a") == stable(nodes, "b") == []
    assert stable(nodes, "c") == [("b", 3)]
    assert (nodes["b"].horizon, nodes["a"].horizon) == (3, 0)
    assert stable(nodes, "b") == [("a", 3)]
    assert stable(nodes, "a") == [("s", 4)]  # which was its third message
    assert stable(nodes, "c") == []  # once
    assert [nodes[n].horizon for n in "sabc"] == [0, 3, 3, 3]
    assert [[o.diff.time for o in nodes[n].payloads.outputs if o.payloads] for n in "sab"] == [[5], [4], [4]]
    assert str(nodes["b"].diffs.folded["b"]) == "b:3 [a:3 [s:4]]"
    assert [len(nodes[n].payloads) for n in "sab"] == [
        5,
        1,
        1,
    ]  # the source was never stored, and would make it all again
    nodes["s"].checkpoint()
    assert len(nodes["s"].payloads) == 1


def test_what_is_stable_where_nothing_is_under_way_is_all_that_came() -> None:
    nodes = line()
    for payload in ("1", "-2", "-3"):
        carry(nodes, nodes["s"].inject(payload))
    carry(nodes, nodes["s"].housekeeping())
    nodes["c"].checkpoint()
    assert [stable(nodes, n) for n in "cba"] == [[("b", 1)], [("a", 1)], [("s", 3)]]


def test_a_child_that_lost_it_is_marked_again() -> None:
    nodes = line()
    carry(nodes, nodes["s"].inject("1") + nodes["s"].inject("-2"))
    (mark,) = nodes["s"].housekeeping()
    assert isinstance(mark, Mark)
    assert mark.time == 2
    assert nodes["s"].housekeeping() == []
    nodes["s"].receive(Hold("s", "a", 2))
    assert nodes["s"].housekeeping() == []
    knowledge, again = nodes["s"].receive(Resume("s", "a", 2, 0))
    assert (knowledge.time, again.payload, again.lives) == (0, "1", (1, 2))
    (mark,) = nodes["s"].housekeeping()
    assert (mark.time, mark.resumed) == (2, False)
    nodes["s"].receive(Hold("s", "a", 3))
    nodes["s"].inject("-3")
    assert nodes["s"].housekeeping() == []
    (knowledge,) = nodes["s"].receive(Resume("s", "a", 3, 1))
    assert knowledge.time == 1
    assert [mark.time for mark in nodes["s"].housekeeping()] == [3]
    nodes["s"].receive(Hold("s", "a", 4))
    nodes["s"].receive(Resume("s", "a", 4, 1))
    assert [mark.time for mark in nodes["s"].housekeeping()] == [3]


def test_messages_have_the_levels_of_what_is_tolerated_and_one_more() -> None:
    longer = flow_of([("s", "a"), ("a", "b"), ("b", "c"), ("c", "d")])
    for tolerance, sent, kept in ((1, "c:1 [b:1]", "d:1 [c:1 [b:1]]"), (2, "c:1 [b:1 [a:1]]", "d:1 [c:1 [b:1 [a:1]]]")):
        nodes = {
            n: Node(n, longer, Passes(longer.children[n], stateful=n in "sd"), tolerance=tolerance)
            for n in longer.order
        }
        assert str(nodes["d"].clock) == kept.replace("1", "0")
        messages = nodes["s"].inject("1")
        for name in "abc":
            (message,) = messages
            messages = nodes[name].receive(message)
            assert nodes[name].housekeeping() == []  # what was sent says it all
        (message,) = messages
        assert str(message.diff) == sent
        carry(nodes, [message])
        assert str(nodes["d"].clock) == str(nodes["d"].diffs.at("d", 1)) == kept
        nodes["c"].receive(Hold("c", "d", 2))
        knowledge, again = nodes["c"].receive(Resume("c", "d", 2, 0))
        assert (next(str(diff) for diff in knowledge.since), str(again.diff)) == (sent, sent)
        carry(nodes, nodes["s"].inject("-2") + nodes["s"].housekeeping())
        assert [str(diff) for diff in nodes["a"].diffs.rooted("s")] == ["s:1", "s:2"]


def test_only_the_thesis_s_own_case_sends_single_diffs() -> None:
    cases = ((False, False, 1), (False, False, 2), (True, False, 1), (False, True, 1), (True, True, 3))
    complete = [Node("a", LINE, Passes(("b",), s, c), tolerance=t).complete for s, c, t in cases]
    assert complete == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("after", "passed"),
    [(0, "n:0 [p:0 q:0]"), (1, "n:1 [p:2 q:0]"), (2, "n:2 [p:2 q:1]"), (4, "n:4 [p:3 q:1]"), (5, "n:5 [p:4 q:1]")],
)
def test_a_restarted_child_hears_which_inputs_it_need_not_wait_for(after: int, passed: str) -> None:
    """Those of a parent before the first of which something comes again."""
    node = cross("p:1 c", "q:1 c", "p:2 d", "p:3 c", "p:4 c")
    node.receive(Hold("n", "c", 2))
    knowledge, *again = node.receive(Resume("n", "c", 2, after))
    assert isinstance(knowledge, Mark)
    assert str(knowledge.clock) == passed
    assert [message.diff.time for message in again if isinstance(message, Data)] == [
        t for t in (1, 2, 4, 5) if t > after
    ]


def test_what_all_were_told_is_no_longer_carried() -> None:
    node = cross("p:1 c", "p:2 c", tolerance=2)
    assert [str(diff) for diff in node.journal] == ["p:1", "n:1 [p:1]", "p:2", "n:2 [p:2]"]
    node.forget_carried()
    assert len(node.journal) == 4  # d was told nothing
    assert len(node.housekeeping()) == 1  # a mark to d
    assert node.journal == []
    node = cross("p:1 c", "p:2 c", tolerance=2)
    assert [str(diff) for diff in node.mark("d").since] == ["p:1", "n:1 [p:1]", "p:2", "n:2 [p:2]"]
    node.forget_carried()
    assert node.journal == []
    node.receive(Hold("n", "d", 2))
    node.receive(Data("p", "n", (1, 1), Clock("p", 3), "c"))
    node.forget_carried()
    assert (node.journal, node.outlets["d"].carried) == ([], 0)  # it will be told all
    node.receive(Data("p", "n", (1, 1), Clock("p", 4), "c"))
    node.receive(Resume("n", "d", 2, 0))
    (message,) = node.receive(Data("p", "n", (1, 1), Clock("p", 5), "d"))
    assert isinstance(message, Data)
    assert ([str(diff) for diff in message.since], message.entries) == (["p:5"], 3)


def test_what_a_dead_child_still_says_is_not_heard() -> None:
    node = cross("p:1 c", "p:2 c")
    node.receive(Stable("c", "n", (1, 1), 1))
    node.receive(Hold("n", "c", 2))
    node.receive(Stable("c", "n", (1, 1), 2))
    assert node.outlets["c"].stable == 1
    node.receive(Stable("c", "n", (2, 1), 2))
    node.receive(Stable("c", "n", (2, 1), 1))
    assert node.outlets["c"].stable == 2


def test_horizons_are_heard_from_the_first_on() -> None:
    node = cross("p:1 c", tolerance=2)
    node.hear_horizons((("p", 1),))
    assert (node.horizons, node.diffs.rooted("p")) == ({"p": 1}, [])
    node.hear_horizons((("p", 0),))
    assert node.horizons == {"p": 1}


@pytest.mark.parametrize(("tolerance", "told"), [(1, (("n", 0),)), (2, (("n", 0), ("p", 1)))])
def test_horizons_are_passed_on_as_far_as_diffs_are(tolerance: int, told: tuple[tuple[str, int], ...]) -> None:
    node = cross("p:1 c", tolerance=tolerance)
    node.receive(Data("p", "n", (1, 1), Clock("p", 2), "c", horizons=(("p", 1),)))
    assert (node.horizons, [str(diff) for diff in node.diffs.rooted("p")]) == ({"p": 1}, ["p:2"])
    assert node.mark("d").horizons == told


def test_diffs_that_come_late_are_folded() -> None:
    nodes = line()
    log = nodes["b"].diffs
    log.truncate("a", 3)
    assert not log.note(parse_clock("a:3 [s:4]"))
    assert str(log.clock_at("a", 3)) == "a:3 [s:4]"
    assert log.rooted("a") == []
    assert log.note(parse_clock("a:4 [s:5]"))
    assert not log.note(parse_clock("a:4 [s:5]"))
    assert log.at("a", 4) == parse_clock("a:4 [s:5]")
    assert log.at("a", 5) is None is log.at("x", 1)


def data(text: str, payload: str = "x") -> Data:
    """A message of ``A1`` or ``A2`` to ``B``."""
    diff = parse_clock(text)
    return Data(diff.node, "B", (1, 2), diff, payload)


def test_a_replay_waits_for_what_may_still_come() -> None:
    replay = Replay({3: ("A1", 2), 4: ("A2", 1)}, 4, {"A1", "A2"}, ())
    assert not replay.is_ready({"A1": Clock("A1", 1), "A2": Clock("A2", 0)})
    replay.buffer.append(data("A1:2"))
    assert not replay.is_ready({"A1": Clock("A1", 2), "A2": Clock("A2", 0)})
    assert replay.known == {3: ("A1", 2), 4: ("A2", 1)}
    assert replay.is_ready({"A1": Clock("A1", 2), "A2": Clock("A2", 1)})  # it was passed by
    assert replay.known == {3: ("A1", 2)}


def test_a_table_is_solved_only_where_somebody_could_have_seen_another_order() -> None:
    reports = tuple(Report(child, "B", 2, Clock("B", 4), observed) for child, observed in (("C1", 1), ("C2", 2)))
    gets = {"x": ("C1",), "y": ("C2",), "-": ()}

    def placed(*messages: Data, parents: str, children: str) -> tuple[object, int, int]:
        replay = Replay({5: ("A1", 3)}, 5, set(), reports, list(messages))
        columns = replay.place(2, parents.split(), children.split(), lambda message: gets[message.payload])
        assert (replay.table is not None) == bool(replay.counts["tables"])
        return dict(columns), replay.counts["tables"], len(replay.buffer)

    row = (data("A1:1", "y"), data("A1:2", "-"), data("A1:3", "x"))
    other = data("A2:1", "x")
    assert placed(*row, other, parents="A1 A2", children="C1") == ({5: ("A1", 3)}, 0, 4)
    assert placed(*row, parents="A1", children="C1 C2") == ({3: ("A1", 1), 5: ("A1", 3)}, 0, 2)
    assert placed(*row, other, parents="A1 A2", children="C1 C2") == ({3: ("A1", 1), 5: ("A1", 3)}, 1, 3)


def test_a_child_had_what_descends_from_no_later_input_than_it_knows() -> None:
    outlet = Outlet(has=parse_clock("n:2 [p:1]"))
    assert [outlet.had("p", 1), outlet.had("p", 2), outlet.had("q", 1), Outlet().had("p", 0)] == [
        True,
        False,
        False,
        False,
    ]


def test_silent_diffs_are_carried_with_the_same_levels() -> None:
    longer = flow_of([("s", "a"), ("a", "b"), ("b", "c"), ("c", "d")])
    for tolerance, levels in ((1, "c:{0} [b:{0}]"), (2, "c:{0} [b:{0} [a:{0}]]")):
        nodes = {
            n: Node(n, longer, Routes(longer.children[n], stateful=n in "sd"), tolerance=tolerance)
            for n in longer.order
        }
        carry(nodes, nodes["s"].inject("abc"))
        mark = nodes["c"].mark("d")
        assert [str(diff) for diff in mark.since if diff.node == "c"] == [levels.format(1)]
        carry(nodes, [mark])
        assert str(nodes["d"].seen["c"]) == levels.format(1)
        carry(nodes, nodes["s"].inject("abc") + nodes["s"].inject("abcd"))
        assert str(nodes["d"].diffs.at("c", 3)) == levels.format(3)
        if tolerance == 2:
            assert str(nodes["d"].diffs.at("c", 2)) == levels.format(2)


def test_a_restarted_parent_is_told_again_what_is_stable() -> None:
    nodes = line()
    again = Mark("b", "c", (1, 1), 0, clock=Clock("b", 0))
    nodes["c"].receive(again)
    assert nodes["c"].housekeeping() == []  # nothing is
    carry(nodes, nodes["s"].inject("1"))
    nodes["c"].checkpoint()
    assert stable(nodes, "c") == [("b", 1)]
    assert stable(nodes, "c") == []
    nodes["c"].receive(again)
    assert stable(nodes, "c") == [("b", 1)]


def test_a_mark_says_how_far_the_parents_of_a_parent_are() -> None:
    nodes = line()
    nodes["b"].receive(Mark("a", "b", (1, 1), 2, since=(parse_clock("a:2 [s:3]"), parse_clock("a:1 [s:1]"))))
    assert str(nodes["b"].seen["a"]) == "a:2 [s:3]"
    nodes["b"].receive(Mark("a", "b", (1, 1), 2, clock=parse_clock("a:2 [s:5]")))
    assert str(nodes["b"].seen["a"]) == "a:2 [s:5]"
