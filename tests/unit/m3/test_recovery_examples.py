"""The thesis's worked examples, to the digit (Figures 3-2, 3-5, 3-7, 3-8, 3-10 and 3-11)."""

import pytest

from m3.recovery.clock import Clock, parse_clock, zero_clock
from m3.recovery.controller import Controller, resume_points, rollback_clock
from m3.recovery.graph import RecoveryError, flow_of
from m3.recovery.messages import Recovered, Report, Start, Started
from m3.recovery.node import Node
from m3.recovery.table import (
    Input,
    Table,
    bounds,
    count_orders,
    count_tables,
    describe,
    needs_table,
    solve,
    tables,
)

#: Figure 3-6: B failed. What its children have received of it, by child.
FLOW = flow_of([(f"A{i}", "B") for i in (1, 2, 3)] + [("B", f"C{i}") for i in (1, 2, 3)])
SEEN = {"C1": ["B:1 [A1:1]"], "C2": ["B:1 [A1:1]"], "C3": ["B:5 [A1:3]", "B:6 [A2:2]"]}
#: Figure 3-8: what its parents send again, and for whom.
INPUTS = (
    Input("A3", 1, ("C1",)),
    Input("A1", 2, ("C2",)),
    Input("A2", 1, ("C1",)),
    Input("A1", 3, ("C3",)),
    Input("A3", 2, ("C2",)),
    Input("A2", 2, ("C1", "C3")),
)
#: Figure 3-10.
TABLE = Table(2, 6, {5: ("A1", 3), 6: ("A2", 2)}, {"C1": 2, "C2": 2, "C3": 7}, INPUTS)


def reports() -> list[Report]:
    found = []
    for child, texts in SEEN.items():
        diffs = tuple(map(parse_clock, texts))
        has = zero_clock(FLOW, "B")
        for diff in diffs:
            has = has.apply(diff)
        found.append(Report(child, "B", 2, has, known=diffs))
    return found


def test_the_textual_notation():
    text = "H:8 [C:7 [A:5 B:6] F:8 [C:8 D:1]]"
    clock = parse_clock(text)
    assert str(clock) == text
    assert clock == parse_clock("H:8[F:8 [D:1 C:8]C:7[B:6 A:5]].")
    assert clock.at("H", "F", "D") == clock.at("D") == 1
    assert (clock.at("H", "C"), clock.at("H", "F", "C")) == (7, 8)
    with pytest.raises(RecoveryError, match="2 paths to C"):
        clock.at("C")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "H",
        "H:8 [",
        "H:8 [C:7",
        "H:8 []",
        "H:8]",
        "H:8 [C:1 C:2]",
        "H:8 [C:1] [D:1]",
        "H:8 C:1",
        "[H:8]",
        "H:8 [C:x]",
    ],
)
def test_what_is_no_clock_is_refused(text):
    with pytest.raises(RecoveryError):
        parse_clock(text)


def test_the_clock_of_a_graph_has_every_path():
    flow = flow_of([("A", "C"), ("B", "C"), ("C", "F"), ("C", "H"), ("D", "F"), ("F", "H")])
    assert str(zero_clock(flow, "H", levels=3)) == "H:0 [C:0 [A:0 B:0] F:0 [C:0 D:0]]"
    assert str(zero_clock(flow, "H")) == "H:0 [C:0 [A:0 B:0] F:0 [C:0 [A:0 B:0] D:0]]"


def test_a_message_is_processed():
    clock = parse_clock("H:8 [C:7 [A:5 B:6] F:8 [C:8 D:1]]")
    diff = parse_clock("C:9 [B:9]").extend("H", clock.time + 1)
    assert str(diff) == "H:9 [C:9 [B:9]]"
    assert str(clock.apply(diff)) == "H:9 [C:9 [A:5 B:9] F:8 [C:8 D:1]]"


def test_the_clock_and_the_points_to_resume_at():
    start = rollback_clock(zero_clock(FLOW, "B"), reports())
    assert str(start) == "B:1 [A1:1 A2:0 A3:0]"
    assert resume_points(start, reports()) == ({"C1": 2, "C2": 2, "C3": 7}, {"A1": 2, "A2": 1, "A3": 1})


def test_the_constraints_of_each_input():
    found = {str(bound.input): bound for bound in bounds(TABLE)}
    assert {name: bound.columns for name, bound in found.items() if bound.high} == {
        "A1:2": (2, 3, 4),
        "A2:1": (2, 3, 4),
        "A1:3": (5,),
        "A2:2": (6,),
    }
    assert {name: bound.low for name, bound in found.items() if bound.high is None} == {"A3:1": 2, "A3:2": 3}


def test_the_order_of_arrival_is_invalid_from_its_fifth_row():
    arrived = {2 + i: entry.origin for i, entry in enumerate(INPUTS)}
    wrong = [column for column, origin in arrived.items() if TABLE.targets.get(column, origin) != origin]
    assert wrong == [6]
    assert arrived[7] == TABLE.targets[6]
    assert arrived not in list(tables(TABLE, hold=False))


def test_the_valid_tables():
    found = [set(columns.items()) for columns in tables(TABLE)]
    fixed = {(5, ("A1", 3)), (6, ("A2", 2))}
    wanted = [fixed | {(a, ("A1", 2)), (b, ("A2", 1))} for a in (2, 3, 4) for b in (2, 3, 4) if a != b]
    assert sorted(map(sorted, found)) == sorted(map(sorted, wanted))
    assert count_tables(TABLE) == len(found) == 6
    assert count_tables(TABLE, hold=False) == len(list(tables(TABLE, hold=False))) == 12
    assert {2: ("A2", 1), 3: ("A1", 2), 5: ("A1", 3), 6: ("A2", 2)} in list(tables(TABLE))


def test_a_table_as_text():
    assert describe(TABLE, {2: ("A2", 1), 3: ("A1", 2), 5: ("A1", 3), 6: ("A2", 2)}).splitlines() == [
        "       B:2  B:3  B:4  B:5  B:6",
        "A1            2         3",
        "A2       1                   2",
        "A3",
        "empty              x",
    ]


def test_what_commutes_shrinks_the_table():
    assert count_orders(TABLE, lambda one, other: False) == 2  # A1:2 and A2:1 in either order
    assert count_orders(TABLE, lambda one, other: True) == 1


def test_one_parent_or_one_child_needs_no_table():
    assert needs_table(2, 2)
    assert not needs_table(1, 3)
    assert not needs_table(3, 1)


def test_an_input_that_was_not_there_before_has_no_table():
    table = Table(2, 3, {3: ("A1", 3)}, {}, (Input("A1", 1, ("C1",)), Input("A1", 2, ("C1",)), Input("A1", 3, ("C1",))))
    with pytest.raises(RecoveryError, match="no order of A1:1, A1:2, A1:3"):
        solve(table)


def test_a_cycle_is_one_node_or_refused():
    edges = [("R", "x"), ("x", "y"), ("y", "x"), ("y", "z")]
    assert flow_of(edges).children == {"R": ("x+y",), "x+y": ("z",), "z": ()}
    with pytest.raises(RecoveryError, match="x, y send to each other"):
        flow_of(edges, cycles="refuse")
    assert Clock("x+y", 0) == parse_clock("x+y:0")


class Works:
    """What nodes of the example compute: parents send what they are told to, B sends on, children keep what they get."""

    commutes = False

    def __init__(self, node: str) -> None:
        self.stateful = node != "B"

    def start(self) -> list[str]:
        return []

    def process(self, state, parent, payload):
        if isinstance(payload, str):
            state.append(payload)
            return {}
        return payload


def test_the_example_run_by_nodes():
    """Figure 3-6 to 3-11: what B sent and was lost is sent again, each child gets each message once, and column 4 is a dummy."""
    nodes = {name: Node(name, FLOW, Works(name)) for name in FLOW.order}

    def make(parent, *children):
        text = f"{parent}:{nodes[parent].clock.time + 1}"
        return nodes[parent].inject({"B": dict.fromkeys(children, text)})

    def carry(messages, to=None):
        answers = []
        while messages:
            message, *messages = messages
            if isinstance(message, Report | Started | Recovered):
                answers.append(message)
            elif to is None or message.target in to:
                messages = [*messages, *nodes[message.target].receive(message)]
        return answers

    carry(make("A1", "C1", "C2"))
    for made in (make("A2", "C1"), make("A1", "C2"), make("A3", "C1")):
        carry(made, to=["B"])  # what B makes of it is under way when B fails
    carry(make("A1", "C3"))
    carry(make("A2", "C1", "C3"), to=["B", "C3"])
    make("A3", "C2")
    assert [str(nodes[f"C{i}"].seen["B"].time) for i in (1, 2, 3)] == ["1", "1", "6"]

    controller = Controller(FLOW)
    orders = controller.failed(["B"])
    while orders:
        order, *orders = orders
        if isinstance(order, Start):
            nodes["B"], answers = Node.restart("B", FLOW, Works("B"), order)
        else:
            answers = nodes[order.node].receive(order)
        orders += [new for answer in carry(answers) for new in controller.receive(answer)]

    assert not controller.replaying
    made = {output.time: (str(output.diff), sorted(output.payloads)) for output in nodes["B"].payloads.outputs}
    assert {made[2][0], made[3][0]} == {"B:2 [A1:2]", "B:3 [A2:1]"}
    assert made[4] == ("B:4", [])
    assert (made[5], made[6]) == (("B:5 [A1:3]", ["C3"]), ("B:6 [A2:2]", ["C1", "C3"]))
    assert {made[7][0], made[8][0]} == {"B:7 [A3:1]", "B:8 [A3:2]"}
    got = {f"C{i}": nodes[f"C{i}"].state for i in (1, 2, 3)}
    assert got == {"C1": ["A1:1", "A2:1", "A2:2", "A3:1"], "C2": ["A1:1", "A1:2", "A3:2"], "C3": ["A1:3", "A2:2"]}
