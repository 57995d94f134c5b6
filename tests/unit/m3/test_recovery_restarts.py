"""A node after a failure, by itself: what it begins with, what it waits for, and what it makes of what comes."""

from __future__ import annotations

from typing import Any

import pytest

from m3.recovery.clock import Clock, parse_clock
from m3.recovery.controller import Controller
from m3.recovery.graph import RecoveryError
from m3.recovery.messages import Ask, Data, Hold, Mark, Recovered, Report, Resume, Stable, Start, Started
from m3.recovery.node import Node
from tests.support.recoveries_by_hand import (
    CROSS,
    FORK,
    LINE,
    Passes,
    Routes,
    carry,
    cross,
    fork,
    line,
    recover,
    restart_cross,
    stable,
    take,
)


def restarted(tolerance: int = 2) -> tuple[dict[str, Node], list[Any], Report]:
    """Nodes of which ``b`` was restarted, with what it sent then, after three inputs and a checkpoint at the end after the first."""
    nodes = line(tolerance)
    carry(nodes, nodes["s"].inject("1"))
    nodes["c"].checkpoint()
    for payload in ("2", "-3"):
        carry(nodes, nodes["s"].inject(payload))
    nodes["a"].receive(Hold("a", "b", 2))
    (report,) = nodes["c"].receive(Ask("c", "b", 2))
    assert isinstance(report, Report)
    lives = {"a": 1, "b": 2, "c": 1}
    nodes["b"], sent = Node.restart("b", LINE, Passes(("c",)), Start("b", lives, (report,)), tolerance=tolerance)
    return nodes, sent, report


def test_a_child_says_what_it_has_and_what_it_knows() -> None:
    _, sent, report = restarted()
    assert (str(report.has), report.observed, report.stable) == ("b:2 [a:2 [s:2]]", 2, 1)
    assert [str(diff) for diff in report.known] == ["b:1 [a:1 [s:1]]", "b:2 [a:2 [s:2]]", "a:1 [s:1]", "a:2 [s:2]"]
    started, knowledge = sent
    assert str(started.clock) == "b:1 [a:1 [s:1]]"  # what is stable, and not all that was received
    assert (knowledge.time, str(knowledge.clock), knowledge.resumed) == (2, "b:2 [a:1]", False)
    assert [str(diff) for diff in knowledge.since] == ["b:2 [a:2 [s:2]]", "a:1 [s:1]", "a:2 [s:2]"]


def test_a_restarted_node_tells_its_children_once_what_it_knows() -> None:
    nodes, _, _ = restarted()
    nodes["b"].receive(Mark("a", "b", (1, 2), 0))
    assert nodes["b"].replay is not None
    assert nodes["b"].replay.marks == {"a"}  # it has not said that it knows all that it will
    resumed = nodes["a"].receive(Resume("a", "b", 2, 1))
    assert [type(message) for message in resumed] == [Mark, Data]
    assert [str(diff) for diff in resumed[0].since] == ["a:1 [s:1]", "a:2 [s:2]", "s:1", "s:2"]
    assert nodes["b"].receive(resumed[0]) == []  # what it did has not come
    recovered, mark = nodes["b"].receive(resumed[1])
    assert recovered == Recovered("b", 2, {"replayed": 1, "dummies": 0, "held": 0, "tables": 0})
    assert (mark.time, mark.clock, mark.resumed) == (2, None, True)
    assert [str(diff) for diff in mark.since] == ["b:2 [a:2 [s:2]]"]
    assert nodes["b"].payloads.outputs[0].payloads == {"c": "2"}
    assert str(nodes["b"].clock) == "b:2 [a:2 [s:2]]"


def test_where_inputs_commute_they_are_processed_as_they_come_and_sent_in_their_order() -> None:
    """``c`` has what was made at 1 and 2, ``d`` what was made at 1. Something new overtakes what was made at 2."""
    known = tuple(map(parse_clock, ("n:1 [p:1]", "n:2 [q:1]")))
    reports = (
        Report("c", "n", 2, parse_clock("n:2 [p:1 q:1]"), known=known),
        Report("d", "n", 2, parse_clock("n:1 [p:1 q:0]"), known=known[:1]),
    )
    start = Start("n", {"n": 2} | dict.fromkeys("pqcd", 1), reports)
    node, _ = Node.restart("n", CROSS, Routes(("c", "d"), commutes=True), start)
    assert node.owed == {("p", 1): 1, ("q", 1): 2}

    def came(diff: str) -> list[tuple[str, int]]:
        sent = node.receive(Data(diff[0], "n", (1, 2), parse_clock(diff), "cd"))
        return [(message.target, message.diff.time) for message in sent if isinstance(message, Data)]

    assert came("p:1") == []  # both have it
    assert came("p:2") == [("c", 3)]
    assert came("q:1") == [("d", 2), ("d", 3)]
    assert came("q:2") == [("c", 4), ("d", 4)]
    assert [(output.time, sorted(output.payloads)) for output in node.payloads.outputs] == [
        (time, ["c", "d"]) for time in (1, 2, 3, 4)
    ]
    assert node.owed == {}


def test_what_waits_for_its_place_is_not_stable() -> None:
    """What was received, and would be asked for again if the node failed now."""
    known = tuple(map(parse_clock, ("n:1 [p:1]", "n:2 [q:1]", "n:3 [p:2]")))
    has = parse_clock("n:3 [p:2 q:1]")
    reports = tuple(Report(child, "n", 2, has, observed=3, stable=1, known=known) for child in "cd")
    start = Start("n", {"n": 2} | dict.fromkeys("pqcd", 1), reports)
    node, _ = Node.restart("n", CROSS, Routes(("c", "d")), start)
    assert str(node.clock) == "n:1 [p:1 q:0]"
    assert node.receive(Data("p", "n", (1, 2), parse_clock("p:2"), "cd")) == []
    assert [(message.target, message.time) for message in node.housekeeping()] == [("p", 1)]
    node.receive(Data("q", "n", (1, 2), parse_clock("q:1"), "cd"))
    assert str(node.clock) == "n:3 [p:2 q:1]"
    assert [output.time for output in node.payloads.outputs] == [2, 3]


def test_a_restarted_child_has_seen_what_has_a_place_among_its_inputs() -> None:
    """Also before it comes again: that parent must not make anything new before it."""
    known = tuple(map(parse_clock, ("n:1 [p:1]", "n:2 [q:1]", "n:3 [p:2]")))
    reports = tuple(Report(child, "n", 2, parse_clock("n:3 [p:2 q:1]"), observed=3, known=known) for child in "cd")
    start = Start("n", {"n": 2} | dict.fromkeys("pqcd", 1), reports)
    node, _ = Node.restart("n", CROSS, Routes(("c", "d")), start)
    assert (node.tolerance, str(node.clock)) == (1, "n:0 [p:0 q:0]")
    (report,) = node.receive(Ask("n", "p", 2))
    assert isinstance(report, Report)
    assert (report.has, report.observed, report.own_life) == (Clock("p", 0), 2, 2)
    (report,) = cross().receive(Ask("n", "p", 2))
    assert isinstance(report, Report)
    assert report.observed == 0


def test_a_replay_begins_behind_what_its_children_have_folded() -> None:
    """They were told of a horizon before the failure that none of them has now: what came of it is known no more one by one."""
    folded, known = parse_clock("n:2 [p:1 q:1]"), (parse_clock("n:3 [p:2]"),)
    has = parse_clock("n:3 [p:2 q:1]")
    reports = tuple(Report(c, "n", 2, has, observed=3, stable=1, folded=(folded,), known=known) for c in "cd")
    node, _ = Node.restart("n", CROSS, Routes(("c", "d")), Start("n", {"n": 2} | dict.fromkeys("pqcd", 1), reports))
    assert node.clock == folded


def test_a_node_with_state_begins_with_its_checkpoint() -> None:
    node = cross("p:1 cd", "q:1 d", stateful=True)
    node.receive(Stable("d", "n", (1, 1), 1))
    stored = node.checkpoint()
    take(node, "p:2 c")  # which is lost
    node, _ = restart_cross(has="n:2 [p:1 q:1]", works=Routes(("c", "d"), stateful=True), stored=stored)
    assert (node.state, str(node.clock), node.horizon) == (["cd", "d"], "n:2 [p:1 q:1]", 2)
    assert [(output.time, "".join(output.payloads)) for output in node.payloads.outputs] == [(1, "c"), (2, "d")]
    assert node.diffs.clock_at("n", 2) == node.clock
    (report,) = node.receive(Ask("n", "p", 2))
    assert isinstance(report, Report)
    assert (str(report.has), report.stable) == ("p:1", 1)
    take(node, "q:2 d")
    assert (node.state, stored.state) == (["cd", "d", "d"], ["cd", "d"])


def test_what_all_had_takes_no_time_unless_it_changes_state() -> None:
    node, _ = restart_cross(has="n:2 [p:1 q:1]", stable=2)
    assert str(node.clock) == "n:2 [p:0 q:0]"
    assert take(node, "p:1 cd") == []
    assert (str(node.clock), len(node.payloads)) == ("n:2 [p:1 q:0]", 0)
    assert [(message.target, message.diff.time) for message in take(node, "p:2 c")] == [("c", 3)]
    node, _ = restart_cross(has="n:1 [p:1 q:0]", works=Routes(("c", "d"), stateful=True))
    assert take(node, "p:1 cd") == []
    assert (str(node.clock), node.state) == ("n:2 [p:1 q:0]", ["cd"])


def test_a_node_has_recovered_when_all_parents_have_said_what_they_know() -> None:
    node, sent = restart_cross(has="n:0 [p:0 q:0]")
    assert [type(message) for message in sent] == [Started, Mark, Mark]
    for parent, resumed in (("p", False), ("q", True)):
        assert node.receive(Mark(parent, "n", (1, 2), 0, resumed=resumed)) == []
    recovered, *marks = node.receive(Mark("p", "n", (1, 2), 0, resumed=True))
    assert (recovered.node, recovered.life, node.replay) == ("n", 2, None)
    assert [(mark.target, mark.resumed) for mark in marks] == [("c", True), ("d", True)]


@pytest.mark.parametrize("came", [Data("p", "n", (1, 2), Clock("p", 1), "cd"), Mark("p", "n", (1, 2), 1)])
def test_where_inputs_commute_a_node_has_recovered_when_what_has_a_place_came_or_was_passed_by(
    came: Data | Mark,
) -> None:
    """And has no checkpoint before: its clock is that of what is still owed."""
    node, _ = restart_cross("n:1 [p:1]", has="n:1 [p:1 q:0]", works=Routes(("c", "d"), commutes=True))
    for parent in "pq":
        assert node.receive(Mark(parent, "n", (1, 2), 0, resumed=True)) == []
    with pytest.raises(RecoveryError, match="n is being replayed"):
        node.checkpoint()
    assert Recovered in map(type, node.receive(came))
    assert node.owed == {}


def test_what_is_replayed_is_counted_and_what_was_stable_meanwhile_is_cut_off() -> None:
    """Two inputs in their places, a dummy between and one at the end; behind them what nobody has seen."""
    node, _ = restart_cross("n:1 [p:1]", "n:3 [q:1]", has="n:4 [p:1 q:1]")
    assert take(node, "p:1 cd") == take(node, "p:2 c") == []
    for child in "cd":
        node.receive(Stable(child, "n", (1, 2), 4))
    for parent in "pq":
        assert node.receive(Mark(parent, "n", (1, 2), 0, resumed=True)) == []
    new, recovered, *_ = take(node, "q:1 cd")
    assert (new.target, str(new.diff)) == ("c", "n:5 [p:2]")
    assert recovered.counts == {"replayed": 2, "dummies": 2, "held": 1, "tables": 1}
    assert (str(node.clock), [output.time for output in node.payloads.outputs]) == ("n:5 [p:2 q:1]", [5])


@pytest.mark.parametrize("lost", ["dn", "dndn", "ddnn", "dndnn", "+dn", "+dndn", "+dndpn", "+pdndn", "+dpnpdpn"])
def test_what_a_restarted_child_had_and_nobody_knows_one_by_one_is_not_sent_again(lost: str) -> None:
    """``n`` has cut off what came of an input, its child has lost it, and ``n`` is lost before the input's parent hears that it is stable. So
    the parent sends it again, and that the child had it is known by the child's clock alone."""
    nodes, controller = fork(), Controller(FORK)
    carry(nodes, nodes["p"].inject("c") + nodes["p"].inject("d") + nodes["q"].inject("c"))
    for name in "ce":
        nodes[name].checkpoint()
    assert [stable(nodes, name) for name in "ced"] == [[("n", 3)], [("d", 1)], [("n", 2)]]
    assert (nodes["n"].horizon, len(nodes["p"].payloads)) == (2, 2)
    assert [str(diff) for diff in nodes["n"].diffs.rooted("n")] == ["n:3 [q:1]"]
    stored = nodes["p"].checkpoint()
    if lost.startswith("+"):  # the input's parent hears of it, and forgets it when it is lost, too
        assert stable(nodes, "n") == [("p", 2)]
    for name in lost.lstrip("+"):
        recover(nodes, controller, name, stored if name == "p" else None)
        assert nodes[name].replay is None
    assert (nodes["c"].state, nodes["e"].state) == (["c", "c"], ["d"])
    carry(nodes, nodes["p"].inject("cd"))
    assert (nodes["c"].state, nodes["e"].state) == (["c", "c", "cd"], ["d", "cd"])
