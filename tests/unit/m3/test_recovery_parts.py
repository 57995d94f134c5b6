"""Clocks against full vectors, the solver against brute force, logs against what is cut off them."""

import random
from itertools import combinations, islice, pairwise, permutations, product
from math import comb
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3 import check, parse
from m3.recovery import table as tables_module
from m3.recovery.clock import Clock, merge, parse_clock, zero_clock
from m3.recovery.controller import Controller, Heartbeats
from m3.recovery.graph import RecoveryError, ancestors, flow_of, longest_chain, neighbourhood, paths, segment_flow
from m3.recovery.logs import DiffLog, Output, PayloadLog
from m3.recovery.messages import Recovered, Report, Started
from m3.recovery.table import Input, Table, bounds, count_orders, count_tables, describe, solve, tables

# --- clocks --------------------------------------------------------------------------------------------------------------


#: What is drawn is drawn by a seed: so mutants are judged by the same cases without Hypothesis.
seeds = given(st.integers(0, 10**9))


def draw_flow(draw):
    """A graph without cycles, of a few layers."""
    count = draw.randint(2, 7)
    pairs = [(f"N{i}", f"N{j}") for i in range(count) for j in range(i + 1, count)]
    return flow_of(draw.sample(pairs, draw.randint(1, len(pairs))), [f"N{i}" for i in range(count)])


@settings(deadline=None)
@seeds
def test_clocks_are_what_full_vectors_say(seed):
    """Each node keeps, beside its clock, the times of all paths as a plain table."""
    draw = random.Random(seed)
    flow, levels = draw_flow(draw), draw.choice([None, 2, 3])
    clocks = {node: zero_clock(flow, node, levels) for node in flow.order}
    vectors = {node: dict.fromkeys(paths(flow, node), 0) for node in flow.order}
    waiting = [("", node, None, {}) for node in flow.order for _ in range(3)]
    while waiting:
        _, node, diff, vector = waiting.pop(draw.randrange(len(waiting)))
        time = clocks[node].time + 1
        made = diff.extend(node, time) if diff else Clock(node, time)
        assert made.is_linear
        clocks[node] = clocks[node].apply(made if levels is None else made.cut(levels))
        lineage = {(node, *path): t for path, t in vector.items()} | {(node,): time}
        for path, t in lineage.items():
            vectors[node][path] = max(vectors[node].get(path, 0), t)
        waiting += [(node, child, made, lineage) for child in flow.children[node] if draw.random() < 0.4]
    for node, clock in clocks.items():
        for path, entry in clock.walk():
            assert entry.time == vectors[node].get(path, 0)
        deep = [path for path in vectors[node] if levels is None or len(path) <= levels]
        assert {path for path, _ in clock.walk()} >= set(deep)
        assert parse_clock(str(clock)) == clock


@settings(deadline=None)
@seeds
def test_a_clock_of_some_levels_does_not_grow_with_the_depth_below(seed):
    draw = random.Random(seed)
    flow, levels = draw_flow(draw), draw.randint(1, 5)
    node = flow.order[-1]
    deeper = flow_of(
        [(a, b) for a, kids in flow.children.items() for b in kids]
        + [("X", n) for n in flow.order if not flow.parents[n]]
    )
    far = {path[-1] for path in paths(flow, node, levels) if len(path) == levels}
    if far and not any(len(path) < levels for path in paths(flow, node, levels)):
        assert zero_clock(deeper, node, levels) == zero_clock(flow, node, levels)
    assert zero_clock(flow, node, levels) == zero_clock(flow, node).cut(levels)


def test_what_a_clock_says_of_itself():
    clock = parse_clock("H:8 [C:7 [A:5 B:6] F:8 [C:8 D:1]]")
    assert (clock.size, clock.time_of("C"), clock.time_of("X"), clock.origin) == (7, 7, 0, ("C", 7))
    linear = {"H:1": True, "H:1 [A:1 [B:2]]": True, "H:1 [A:1 B:2]": False, "H:1 [C:2 [A:1 B:1]]": False}
    assert {text: parse_clock(text).is_linear for text in linear} == linear
    assert parse_clock("H:1").origin is None


def test_a_diff_of_another_root_is_refused():
    with pytest.raises(RecoveryError, match="a diff of C is no change of a clock of H"):
        parse_clock("H:1").apply(parse_clock("C:1"))


def test_diffs_may_be_applied_in_any_order():
    for texts in permutations(["H:1 [C:2 [A:1]]", "H:2 [F:1 [C:3]]", "H:3 [C:4 [B:1]]", "H:2 [F:1 [D:7]]"]):
        assert str(merge(Clock("H", 0), map(parse_clock, texts))) == "H:3 [C:4 [A:1 B:1] F:1 [C:3 D:7]]"


# --- the table -----------------------------------------------------------------------------------------------------------


def draw_table(draw, most=5):
    """Rows of inputs, some of them targets; mostly of an execution, so that there is a valid table, and sometimes not."""
    first, width = draw.randint(1, 3), draw.randint(1, most)
    senders = draw.choices(
        ("A1", "A2", "A3")[: draw.randint(1, 3)], k=draw.randint(0, most)
    )  # brute force tries 6 to that power
    rows = {parent: senders.count(parent) for parent in ("A1", "A2", "A3")}
    children = [f"C{i}" for i in range(1, draw.randint(1, 3) + 1)]
    inputs = [
        Input(parent, time, tuple(draw.sample(children, draw.randint(1, len(children)))))
        for parent, count in rows.items()
        for time in range(1, count + 1)
    ]
    order = draw.sample([entry.parent for entry in inputs], len(inputs))
    seen = dict.fromkeys(rows, 0)
    targets = {}
    for column, parent in zip(range(first, first + width), order, strict=False):
        seen[parent] += 1
        if draw.random() < 0.5:
            targets[column] = (parent, seen[parent])
    if draw.random() < 0.2:
        targets = dict(zip(draw.sample(list(targets), len(targets)), targets.values(), strict=True))
    markers = {child: first + draw.choice((0, 0, 1, 2, width)) for child in children}
    return Table(first, first + width - 1, targets, markers, tuple(inputs))


def brute_force(table, hold):
    """All tables, from the three constraints as they are written down."""
    column_of = {origin: column for column, origin in table.targets.items()}
    columns = range(table.first, table.last + 1)
    bounded = {i.origin for i in table.inputs if any(o[0] == i.parent and o[1] >= i.time for o in column_of)}
    entries = [i for i in table.inputs if i.origin in bounded or not hold]
    found = []
    for places in product(*([*columns, *([] if i.origin in bounded else [None])] for i in entries)):
        placed = {i.origin: place for i, place in zip(entries, places, strict=True)}
        taken = [place for place in places if place is not None]
        rows = [[placed[i.origin] for i in entries if i.parent == parent] for parent in table.rows]
        endless = [[table.last + 1 + n if place is None else place for n, place in enumerate(row)] for row in rows]
        monotone = all(a < b for row in endless for a, b in pairwise(row))
        regular = len(set(taken)) == len(taken) and all(placed.get(o) == c for c, o in table.targets.items())
        eventual = all(
            i.origin in column_of
            or placed[i.origin] is None
            or all(placed[i.origin] >= table.markers[c] for c in i.children)
            for i in entries
        )
        if monotone and regular and eventual:
            found.append({place: origin for origin, place in placed.items() if place is not None})
    return found


@settings(deadline=None)
@seeds
def test_the_solver_finds_what_brute_force_finds(seed):
    table, hold = draw_table(random.Random(seed)), seed % 2 == 0
    wanted = brute_force(table, hold)
    found = list(tables(table, hold=hold))
    assert count_tables(table, hold=hold) == len(found) == len(wanted)
    assert sorted(sorted(t.items()) for t in found) == sorted(sorted(t.items()) for t in wanted)
    if hold and wanted:
        assert solve(table) in wanted
    if hold and not wanted:
        with pytest.raises(RecoveryError, match="no order of"):
            solve(table)


def looked_at(table, wanted=None, **options):
    """The first tables, and how many columns were looked at to find them."""
    with patch.object(tables_module, "_steps", side_effect=tables_module._steps) as looked:
        found = list(islice(tables(table, **options), wanted))
    return found, looked.call_count


@settings(deadline=None)
@seeds
def test_the_first_table_is_found_without_going_back(seed):
    table = draw_table(random.Random(seed))
    found, columns = looked_at(table, 1)
    width = table.last - table.first + 1
    assert columns == width if found else columns <= width


@settings(deadline=None)
@seeds
def test_as_many_tables_are_listed_as_are_counted(seed):
    """Larger ones than brute force could list: counting tries all that fits, and listing relies on the earliest deadlines."""
    table, hold = draw_table(random.Random(seed), most=10), seed % 2 == 0
    number = count_tables(table, hold=hold)
    found = [tuple(sorted(columns.items())) for columns in islice(tables(table, hold=hold), 500)]
    assert len(set(found)) == len(found) == min(number, 500)


def in_rows(length, width, parents="AB"):
    """Inputs of some parents, each row's last one a target; those stand at the end."""
    inputs = tuple(Input(parent, time, ("C",)) for parent in parents for time in range(1, length + 1))
    targets = {width - len(parents) + i: (parent, length) for i, parent in enumerate(parents, start=1)}
    return Table(1, width, targets, {}, inputs)


def test_that_there_is_no_table_is_found_without_going_back():
    """22 inputs for 21 columns: a search that goes back would try many thousand beginnings."""
    assert looked_at(in_rows(11, 21)) == ([], 21)


def test_all_tables_are_listed_without_looking_twice_where_none_is():
    """No column may stay empty. That shows at the latest at the targets, and is looked at once."""
    full = in_rows(5, 10)
    found, columns = looked_at(full)
    assert len(found) == comb(8, 4) == count_tables(full)
    assert columns == 856


def test_tables_are_counted_without_listing_them():
    assert count_tables(in_rows(31, 62)) == comb(60, 30)


def test_the_earliest_deadlines_come_first_and_what_has_none_last():
    """B's input stands before A's, though its row is behind; C's may, and need not."""
    inputs = tuple(Input(*origin) for origin in (("A", 1, ()), ("A", 2, ()), ("B", 1, ()), ("B", 2, ()), ("C", 1, ())))
    table = Table(1, 6, {6: ("A", 2), 4: ("B", 2)}, {}, inputs)
    for hold in (True, False):
        found = ["".join(columns.get(c, "-")[0] for c in (1, 2, 3, 5)) for columns in tables(table, hold=hold)]
        assert found[0] == ("BA--" if hold else "BAC-")
        assert found == sorted(found, key=lambda text: ["BAC-".index(name) for name in text])
        assert len(found) == len(brute_force(table, hold))


def test_what_has_no_deadline_yields_where_time_is_short():
    """In column 2 nothing but B's first input may stand, though A's row is the first."""
    inputs = (Input("A", 1, ("C",)), Input("B", 1, ("C",)), Input("B", 2, ()))
    table = Table(1, 3, {3: ("B", 2)}, {"C": 2}, inputs)
    assert list(tables(table, hold=False)) == [{2: ("B", 1), 3: ("B", 2)}]


def test_bounds_are_pushed_through_the_rows():
    """Three of one parent before a target, free columns on both its sides; another parent's after its own target."""
    inputs = tuple(
        Input(*origin) for origin in (("A", 1, ()), ("A", 2, ("C",)), ("A", 3, ()), ("B", 1, ()), ("B", 2, ()))
    )
    table = Table(1, 7, {6: ("A", 3), 2: ("B", 1)}, {"C": 3}, inputs)
    found = {str(bound.input): (bound.low, bound.high, bound.columns) for bound in bounds(table)}
    assert found == {
        "A:1": (1, 4, (1, 3, 4)),
        "A:2": (3, 5, (3, 4, 5)),
        "A:3": (6, 6, (6,)),
        "B:1": (2, 2, (2,)),
        "B:2": (3, None, (3, 4, 5, 7)),
    }


def test_bounds_leave_out_columns_of_targets():
    """Before a target of its row an input gives way to others' targets, and so do those before it; behind it, those behind."""
    inputs = [Input("A", 1, ()), Input("A", 2, ()), Input("A", 3, ()), Input("A", 4, ("C",)), Input("A", 5, ())]
    others = [Input("B", time, ()) for time in range(1, 6)]
    targets = {c: ("B", i) for i, c in enumerate((2, 4, 5, 8, 9), start=1)} | {6: ("A", 3)}
    found = [str(bound) for bound in bounds(Table(1, 12, targets, {"C": 8}, (*inputs, *others)))]
    assert found == [
        "A:1 in 1",
        "A:2 in 3",
        "A:3 in 6",
        "A:4 in 10..",
        "A:5 in 11..",
        *(f"B:{i} in {c}" for i, c in enumerate((2, 4, 5, 8, 9), start=1)),
    ]


def test_a_table_of_a_thousand_columns_is_solved_at_once():
    inputs = [Input(f"A{i % 7}", i // 7 + 1, (f"C{i % 3}",)) for i in range(1_000)]
    targets = {i + 1: inputs[i].origin for i in range(0, 1_000, 5)} | {1_000: inputs[-1].origin}
    table = Table(1, 1_000, targets, {}, tuple(inputs))
    assert set(targets.items()) <= set(solve(table).items())


@settings(deadline=None)
@seeds
def test_of_a_single_parent_each_input_stands_as_far_left_as_it_may(seed):
    table = draw_table(random.Random(seed))
    row = tuple(entry for entry in table.inputs if entry.parent == "A1")
    targets = {column: origin for column, origin in table.targets.items() if origin[0] == "A1"}
    single = Table(table.first, table.last, targets, table.markers, row)
    if count_tables(single):
        assert solve(single) == min(brute_force(single, True), key=sorted)


def exchanged(order, commute):
    """All orders that exchanges of neighbours of different parents lead to."""
    found, new = {order}, [order]
    while new:
        order = new.pop()
        for i, (one, other) in enumerate(pairwise(order)):
            swapped = (*order[:i], other, one, *order[i + 2 :])
            if one[0] != other[0] and commute(one, other) and swapped not in found:
                found.add(swapped)
                new.append(swapped)
    return frozenset(found)


@settings(deadline=None)
@seeds
def test_orders_are_counted_that_no_exchanges_lead_to(seed):
    draw = random.Random(seed)
    table = draw_table(draw)
    free = {
        frozenset(pair) for pair in combinations([i.origin for i in table.inputs], 2) if draw.random() < seed % 4 / 3
    }

    def commute(one, other):
        return frozenset((one, other)) in free

    orders = [tuple(origin for _, origin in sorted(columns.items())) for columns in tables(table)]
    number = count_orders(table, commute)
    assert number == len({exchanged(order, commute) for order in orders})
    assert seed % 4 < 3 or number <= 1


@pytest.mark.parametrize(
    ("table", "columns", "text"),
    [
        (
            Table(9, 10, {}, {}, (Input("A", 1000, ()), Input("B", 1, ()))),
            {9: ("A", 1000)},
            "        B:9  B:10|A      1000|B|empty           x",
        ),
        (Table(1, 1, {}, {}, (Input("parents", 1, ()),)), {1: ("parents", 1)}, "         B:1|parents    1|empty"),
        (Table(1, 2, {}, {}, ()), {}, "       B:1  B:2|empty    x    x"),
        (Table(3, 2, {}, {}, (Input("A", 1, ()),)), {}, "|A|empty"),
    ],
    ids=["long times", "a long name", "no inputs", "no columns"],
)
def test_a_table_as_text_is_as_wide_as_what_stands_in_it(table, columns, text):
    assert "|".join(describe(table, columns).split("\n")) == text


# --- logs ----------------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@seeds
def test_what_is_cut_off_a_diff_log_is_still_in_its_clocks(seed):
    """Diffs come in any order, and are cut off, before they come and after."""
    draw = random.Random(seed)
    diffs = [parse_clock(f"H:{time} [{'ABC'[time % 3]}:{time} [Z:{time}]]") for time in range(1, 13)]
    whole, cut, longest = DiffLog(), DiffLog(), 0
    for diff in draw.sample(diffs, len(diffs)):
        assert whole.note(diff)
        assert cut.note(diff) == (diff.time > longest)
        if draw.random() < 0.2:
            longest = max(longest, time := draw.randint(0, 12))
            cut.truncate("H", time)
    for until in range(longest, 13):
        assert cut.clock_at("H", until) == whole.clock_at("H", until)
    assert cut.rooted("H") == cut.rooted("H", after=longest) == whole.rooted("H", after=longest)
    assert [diff.time for diff in whole.rooted("H")] == list(range(1, 13))
    assert cut.rooted("A") == whole.rooted("A")
    assert (len(cut), len(whole)) == (12 - longest + 24, 36)
    assert not longest or not cut.note(parse_clock(f"H:{longest} [A:1]"))


def test_a_diff_log_begins_with_nothing_and_forgets_what_is_folded():
    log = DiffLog(roots=frozenset("H"))
    assert log.clock_at("H", 3) == Clock("H", 0)
    assert not log.note(Clock("C", 1))  # no root of it
    assert not log.note(Clock("H", 0))  # no message
    assert log.clock_at("H", 3) == Clock("H", 0)
    assert log.note(Clock("H", 1))
    log.fold(parse_clock("H:2 [C:2]"))
    assert not log.note(Clock("H", 2))
    assert log.at("H", 1) is None
    assert str(log.clock_at("H", 1)) == "H:2 [C:2]"
    log.truncate("H", 1)
    assert not log.note(Clock("H", 2))


def test_of_two_diffs_of_a_message_the_one_with_more_levels_is_kept():
    log = DiffLog(roots=frozenset("HC"))
    assert log.note(parse_clock("H:1 [C:2]"))
    assert log.note(parse_clock("H:1 [C:2 [A:3]]"))
    assert not log.note(parse_clock("H:1 [C:2]"))
    assert [str(diff) for diff in (*log.rooted("H"), *log.rooted("C"), *log.rooted("A"))] == [
        "H:1 [C:2 [A:3]]",
        "C:2 [A:3]",
    ]


def test_a_payload_is_kept_until_its_last_receiver_needs_it_no_more():
    log = PayloadLog()
    for time, children in ((1, "IJ"), (2, "J"), (4, "I"), (5, "")):
        log.append(Output(time, Clock("H", time), dict.fromkeys(children, time)))
    log.append(Output(3, Clock("H", 3), {"I": 3}))
    assert [output.time for output in log.after(1, "I")] == [3, 4]
    log.truncate("I", 3)
    assert [(output.time, "".join(output.payloads)) for output in log.outputs] == [
        (1, "J"),
        (2, "J"),
        (3, ""),
        (4, "I"),
        (5, ""),
    ]
    log.forget_empty(2)
    assert len(log) == 5
    log.forget_empty(3)
    assert [output.time for output in log.outputs] == [1, 2, 4, 5]


# --- the graph, and who has failed -----------------------------------------------------------------------------------------


def test_segments_send_to_segments():
    program = check(
        parse("""RELATION R(a INT, b INT); MAP m1[] : INT; MAP m2[a INT] : INT;
        ON +R(a, b) { m1[] += m2[a]; m2[a] += b }""")
    )
    flow = segment_flow(program, {"m2": 2})
    assert flow.children == {"R/0": ("m1/0", "m2/0", "m2/1"), "m1/0": (), "m2/0": ("m1/0",), "m2/1": ("m1/0",)}


def test_a_neighbourhood_is_who_sends_to_the_lost_and_who_hears_of_them():
    flow = flow_of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("x", "d")])
    assert str(neighbourhood(flow, ["b", "c"])) == "a | c b | d"
    assert str(neighbourhood(flow, ["c"])) == "b | c | d"
    assert longest_chain(flow, ["b", "c", "e"]) == ["b", "c"]
    assert longest_chain(flow, ["b", "c", "d", "x"]) == ["b", "c", "d"]
    assert longest_chain(flow, []) == []
    assert ancestors(flow, "d", 1) == {"c", "x"}
    assert ancestors(flow, "d", 2) == {"b", "c", "x"}


def test_only_cycles_are_refused_also_those_of_one_node():
    assert flow_of([("a", "b")], cycles="refuse").children == {"a": ("b",), "b": ()}
    assert flow_of([("a", "a"), ("a", "b")]).children == {"a": ("b",), "b": ()}
    with pytest.raises(RecoveryError, match="a send to each other"):
        flow_of([("a", "a")], cycles="refuse")


@pytest.mark.parametrize("name", ["", "a b", "a:1", "a[", "a,b"])
def test_names_that_a_clock_cannot_hold_are_refused(name):
    with pytest.raises(RecoveryError, match="cannot name"):
        flow_of([("x", name)])


def test_silence_is_failure():
    beats = Heartbeats(timeout_s=3)
    for node, at in (("a", 0), ("b", 1), ("a", 2)):
        beats.beat(node, at)
    assert beats.silent(4) == []
    assert beats.silent(4.5) == ["b"]
    assert beats.silent(5.5) == ["a"]
    assert beats.silent(100) == []


CHAIN = flow_of([("s", "a"), ("s", "x"), ("a", "b"), ("x", "b"), ("b", "c")])


def report(child, about, life, own_life=1):
    return Report(child, about, life, Clock(about, 0), own_life=own_life)


def told(orders):
    return [f"{type(order).__name__} {order.node}" for order in orders]


def test_nodes_that_send_to_each_other_are_started_from_the_last():
    controller = Controller(CHAIN, tolerance=2)
    assert told(controller.failed(["a", "b"])) == ["Hold s", "Hold x", "Ask c"]
    assert told(controller.receive(report("c", "b", 2))) == ["Start b", "Ask b"]
    assert controller.receive(report("c", "b", 2)) == []  # asked twice, as others have failed meanwhile
    assert told(controller.receive(Started("b", 2, Clock("b", 5, (Clock("x", 3),))))) == ["Resume x"]
    assert told(controller.receive(report("b", "a", 2, own_life=2))) == ["Start a"]
    (resume,) = controller.receive(Started("a", 2, Clock("a", 1, (Clock("s", 4),))))
    assert (resume.node, resume.child, resume.life, resume.after) == ("s", "a", 2, 4)
    assert controller.replaying == {"a", "b"}
    for node in "ab":
        assert controller.receive(Recovered(node, 2)) == []
    assert not controller.replaying


def test_what_a_child_said_before_it_failed_is_asked_again():
    controller = Controller(flow_of([("s", "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]), tolerance=2)
    assert told(controller.failed(["a"])) == ["Hold s", "Ask b", "Ask c"]
    assert controller.receive(report("b", "a", 2)) == []
    assert told(controller.failed(["b"])) == ["Ask d"]
    assert controller.receive(report("b", "a", 2)) == []
    assert controller.receive(report("c", "a", 2)) == []
    assert told(controller.receive(report("d", "b", 2))) == ["Start b", "Ask b"]
    assert controller.receive(report("b", "a", 2, own_life=1)) == []
    start = controller.receive(report("b", "a", 2, own_life=2))
    assert told(start) == ["Start a"]
    assert [r.own_life for r in start[0].reports] == [2, 1]


def test_a_node_that_fails_while_it_is_replayed_begins_again():
    controller = Controller(CHAIN)
    controller.failed(["b"])
    assert told(controller.receive(report("c", "b", 2))) == ["Start b"]
    assert told(controller.failed(["b"])) == ["Hold a", "Hold x", "Ask c"]
    assert controller.receive(report("c", "b", 2)) == []  # of its former life
    assert controller.receive(Started("b", 2, Clock("b", 0))) == []
    assert told(controller.receive(report("c", "b", 3))) == ["Start b"]
    assert controller.receive(Recovered("b", 2)) == []
    assert controller.replaying == {"b"}


def test_more_failures_in_a_row_than_are_tolerated_are_refused():
    controller = Controller(CHAIN)
    controller.failed(["b"])
    with pytest.raises(RecoveryError, match="a -> b are lost at once") as refused:
        controller.failed(["a"])
    assert refused.value.kind == "lost-lineage"
    assert "roll all back" in refused.value.hint
    assert told(Controller(CHAIN).failed(["a", "x"])) == ["Hold s", "Hold s", "Ask b", "Ask b"]
