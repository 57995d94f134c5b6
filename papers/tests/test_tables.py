"""Layout, directive table and dispatch table (Cumulus paper, sections 3.1, 3.2 and 4.1, Figures 3 and 4)."""

from __future__ import annotations

import itertools
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_papers.case import PAPERS, QUERIES, compiled, paper, random_program
from cumulus_papers.layout import (
    DirectiveTable,
    Layout,
    Read,
    Segment,
    Tables,
    Write,
    env_of,
    overlapping,
    partition_of,
    random_layout,
    uniform_layout,
)
from m3 import parse
from m3.check import check
from m3.evaluate import evaluate
from m3.program import MapRef, Program
from m3.scalars import Var
from m3.statements import Key


def a_value_in(interval: int, of: int) -> int:
    """A key that lies in an interval."""
    return next(v for v in itertools.count(1) if partition_of(v, of) == interval)


def test_intervals_overlap_where_they_have_points_in_common() -> None:
    for of, of_other in itertools.product(range(1, 7), repeat=2):
        for i in range(of):
            found = [j for j in range(of_other) if i * of_other < (j + 1) * of and j * of < (i + 1) * of_other]
            assert found == list(overlapping((i, of), of_other))


def test_an_axis_own_interval_follows_from_that_of_a_multiple() -> None:
    """Figure 4, lines 14 and 22, with the misprint mended: the event's P_V, and rounded down."""
    for value, count, factor in itertools.product(range(50), range(1, 7), range(1, 5)):
        assert partition_of(value, count) == count * partition_of(value, count * factor) // (count * factor)


def test_one_target_for_each_source_where_boundaries_agree() -> None:
    """Figure 3 (a): m1[A,B] += m2[B], both in four along B, m1 in two along A, too: one target each."""
    program = paper("cumulus-3.1a")
    table = Tables(program, uniform_layout(program, {"m1": (2, 4), "m2": (4,)}, 12)).by_event["r", 1]
    assert table.cuts == {Var("a", program.relation_by_name["r"].columns[0].type): 2}
    for a in range(2):
        assert table.directive((a,)).writes == tuple(
            Write(0, target := Segment("m1", (a, b)), (Read(0, 0, Segment("m2", (b,)), target),)) for b in range(4)
        )


def test_a_grid_takes_each_slice_to_all_segments_of_its_row_or_column() -> None:
    """Figure 3 (b): m1 in 2 x 5; each of two m2 segments goes to five, each of five m3 segments to two: twenty slices in all."""
    program = paper("cumulus-3.1b")
    layout = uniform_layout(program, {"m1": (1, 2, 5), "m2": (2,), "m3": (5,)}, 17)
    reads = Tables(program, layout).by_event["r", 1].directive((0,)).reads
    targets = {s: [r.target.index[1:] for r in reads if r.source == s] for s in {r.source for r in reads}}
    assert targets == {
        **{Segment("m2", (b,)): [(b, c) for c in range(5)] for b in range(2)},
        **{Segment("m3", (c,)): [(b, c) for b in range(2)] for c in range(5)},
    }
    assert len(reads) == 20


def test_the_classes_of_an_event_are_cut_at_the_least_common_multiple() -> None:
    """Figure 4, lines 1 to 8; results are per statement, united per event: R's b is on axes of 2 (m1), 3 (m2) and 4 (m3)."""
    program = check(
        parse("""RELATION r(a INT, b INT); MAP m1[a INT, b INT] : INT; MAP m2[b INT] : INT; MAP m3[b INT] : INT;
        ON +r(a, b) { m1[a, b] += m2[b]; m2[b] += m3[b] }""")
    )
    table = Tables(program, uniform_layout(program, {"m1": (5, 2), "m2": (3,), "m3": (4,)}, 4)).by_event["r", 1]
    assert {key.name: n for key, n in table.cuts.items() if isinstance(key, Var)} == {"a": 5, "b": 12}
    assert len(list(table.classes())) == 60
    for a, b in table.classes():
        m1, m2, m3 = Segment("m1", (a, b // 6)), Segment("m2", (b // 4,)), Segment("m3", (b // 3,))
        assert table.directive((a, b)).writes == (
            Write(0, m1, (Read(0, 0, m2, m1),)),
            Write(1, m2, (Read(1, 0, m3, m2),)),
        )


def test_a_slice_has_several_owners_and_meets_only_what_overlaps() -> None:
    """Section 3.1: loop variables are not part of a class. With three and four cuts, no boundary but the ends is shared."""
    program = paper("cumulus-3.1a")
    table = Tables(program, uniform_layout(program, {"m1": (1, 3), "m2": (4,)}, 3)).by_event["r", 1]
    met = [(r.target.index[1], r.source.index[0]) for r in table.directive((0,)).reads]
    assert met == [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3)]


def test_each_node_has_its_own_part_and_only_those_with_one_are_notified() -> None:
    """Section 3.2: which of *the node's* segments; section 4.1: nodes without a part are not told."""
    program = paper("cumulus-3.1a")
    layout = uniform_layout(program, {"m1": (2, 2), "m2": (2,)}, 6)
    tables = Tables(program, layout)
    table = tables.by_event["r", 1]
    for of in table.classes():
        whole, parts = table.directive(of), {n: table.at(of, n) for n in layout.nodes}
        assert sorted(w.target for p in parts.values() for w in p.writes) == sorted(w.target for w in whole.writes)
        assert all(layout.owner[w.target] == n for n, p in parts.items() for w in p.writes)
        assert all(layout.owner[r.source] == n for n, p in parts.items() for r in p.reads)
        row = (a_value_in(of[0], 2),)
        told = tables.dispatch["r", 1].nodes(env_of(table.trigger, row))
        assert told == tuple(n for n, p in parts.items() if p.reads or p.writes)
        assert len(told) == 4, "two segments of m1 and two of m2"


def domain(layout: Layout, name: str, values: range) -> list[Key]:
    return list(itertools.product(values, repeat=len(layout.partitions[name])))


def by_keys(program: Program, layout: Layout, table: DirectiveTable, row: tuple[int, ...], values: range) -> set[Read]:
    """The reads that the keys themselves ask for: every valuation of a statement's loop variables, one key at a time."""
    env, found = env_of(table.trigger, row), set()
    for index, statement in enumerate(table.trigger.statements):
        refs: list[MapRef] = list(statement.reads())
        keys = [k for ref in refs for k in ref.keys] + list(statement.keys)
        loops = sorted({k.name for k in keys if isinstance(k, Var)} - set(table.trigger.params))
        for valuation in itertools.product(values, repeat=len(loops)):
            known = {**env, **dict(zip(loops, valuation, strict=True))}
            target = layout.segment_of(statement.target, tuple(evaluate(k, known) for k in statement.keys))
            for number, ref in enumerate(refs):
                source = layout.segment_of(ref.map, tuple(evaluate(k, known) for k in ref.keys))
                found.add(Read(index, number, source, target))
    return found


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_directives_are_those_that_keys_ask_for(seed: int) -> None:
    """The table by intervals against the directive of every single key: nothing that a key needs is left out, and, where enough keys
    are looked at, nothing is asked for that no key needs."""
    choose = random.Random(seed)
    kinds = [lambda: random_program(choose, acyclic=False), lambda: compiled(choose.randrange(len(QUERIES)))]
    program = choose.choice([*kinds, lambda: paper(choose.choice(list(PAPERS)))])()
    layout = random_layout(program, choose.randint(1, 6), choose)
    table = choose.choice(list(Tables(program, layout).by_event.values()))
    row = tuple(choose.randint(1, 30) for _ in table.trigger.params)
    directive = table.directive(table.class_of_event(row))
    asked = by_keys(program, layout, table, row, range(1, 60) if _loops(table) < 2 else range(1, 30))
    assert asked <= set(directive.reads)
    assert set(directive.reads) <= set(table.possible().reads), "replicas are laid out for all that may be read"
    assert {w.target for w in directive.writes} <= {w.target for w in table.possible().writes}
    if _loops(table) < 2:
        assert {r for r in directive.reads if _one_key(table, r)} <= asked


def _loops(table: DirectiveTable) -> int:
    names = [
        {k.name for ref in s.reads() for k in ref.keys if isinstance(k, Var)} - set(table.trigger.params)
        for s in table.trigger.statements
    ]
    return max((len(n) for n in names), default=0)


def _one_key(table: DirectiveTable, read: Read) -> bool:
    """Whether no loop variable stands on two axes of the target, which intervals cannot tell from two variables."""
    keys = table.trigger.statements[read.statement].keys
    names = [k.name for k in keys if isinstance(k, Var) and k.name not in table.trigger.params]
    return len(set(names)) == len(names)


@pytest.mark.parametrize("nodes", [10_000])
def test_a_layout_of_ten_thousand_nodes_is_cheap(nodes: int) -> None:
    """Layout and tables are linear in segments, not in segments times nodes."""
    program = paper("cumulus-3.1b")
    began = time.process_time()
    layout = uniform_layout(program, {"m1": (1, 100, 100), "m2": (100,), "m3": (100,)}, nodes)
    assert sum(len(layout.owned_by(n)) for n in layout.nodes) == 10_200
    table = Tables(program, layout).by_event["s", 1]
    assert len({n for of in itertools.islice(table.classes(), 100) for n in table.nodes(of)}) == 100
    parts = [Tables(program, layout).by_event["t", 1].at((7,), n) for n in layout.nodes[:100]]
    assert sum(len(p.writes) for p in parts) <= 1
    assert time.process_time() - began < 5, "seconds; squared it would be minutes"
