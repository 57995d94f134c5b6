"""The explanation of a program: access paths, estimated costs, the report, and a program's part for one view."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import replace

import pytest

from cumulus_ops.layout.plans import plan_program
from m3 import Interpreter, Program, ProgramError, check, compile_views, parse
from m3.explain.cost import Amount, Sizes, accesses, costs, number, symbol
from m3.explain.report import Scan, explain, restrict, scans
from tests.support.tpch_small import RELATIONS, view_text

LINEAR = ("q1", "q3", "q5", "q6", "q7", "q8", "q9", "q10", "q12", "q14", "q19")
ROWS = {"region": 5, "nation": 25, "supplier": 1e4, "customer": 1.5e5, "part": 2e5, "orders": 1.5e6, "lineitem": 6e6}
#: Every part of the language: MIN by ordered index, a window, ON START, ON CHANGE, a read after the event, a bag.
EVERYTHING = """PROGRAM p SEMANTICS SNAPSHOT;
RELATION r(k INT, x INT);
RELATION s(k INT) KEY (k);
MAP n[k INT] : INT;
MAP v[k INT, x INT] : INT MEANING 'SELECT k, x, COUNT(*) FROM r GROUP BY k, x';
MAP d[k INT, lo INT NULL, n INT] : INT;
MAP sk[k INT] : INT;
MAP q[lo INT NULL] : INT;
MAP w[k INT, x INT, rk INT] : INT;
DERIVE d[k] FROM n = n, lo = MIN(v) SELECT lo = lo, n = n COUNT CASE WHEN n > 0 THEN 1 ELSE 0 END;
WINDOW w FROM v PARTITION 1 SELECT rank() :: INT OVER (ORDER BY x DESC NULLS LAST);
VIEW q[lo INT NULL] ROWS q COLUMNS lo = lo;
VIEW w[k INT, x INT, rk INT] ROWS w COLUMNS k = k, x = x, rk = rk HIDDEN 1 ORDER BY 1, 3 LIMIT 3 OFFSET 1;
ON START DO { q[7] += (1); };
ON +r(k, x) DO { n[k] += 1; v[k, x] += 1; };
ON -r(k, x) DO { n[k] += -1; v[k, x] += -1; };
ON +s(k) DO { q[lo] += d[k, lo, n]; sk[k] += 1; };
ON -s(k) DO { q[lo] += -1 * d[k, lo, n]; sk[k] += -1; };
ON CHANGE d(k, lo, n) DO { q[lo] += AFTER sk[k]; };
"""
SCANNING = """RELATION r(a INT); RELATION s(a INT, b INT);
MAP m[a INT, b INT] : INT; MAP t[] : INT; MAP u[b INT] : INT;
ON +s(a, b) { m[a, b] += 1; t[] += 1 }
ON +r(a) { u[b] += m[c, b]; u[b] += m[a, b] * t[] }
"""


@functools.cache
def tpch(*queries: str) -> Program:
    return compile_views("tpch", RELATIONS, {q: view_text(q) for q in queries})


@functools.cache
def with_rows(query: str) -> Program:
    """As projects declare them, with about how many rows their tables have: without that, large joins share the rows that they group."""
    relations = [dataclasses.replace(relation, rows=1000) for relation in RELATIONS]
    return compile_views("tpch", relations, {query: view_text(query)})


@functools.cache
def everything() -> Program:
    return check(parse(EVERYTHING))


@pytest.mark.parametrize("query", LINEAR)
def test_linear_queries_never_read_a_whole_map_nor_a_base_table(query: str) -> None:
    program = with_rows(query)
    assert not program.derivations
    assert scans(program) == []
    plan = plan_program(program, "batch")
    reads = [read for each in plan.statements.values() for statement in each for read in statement.reads]
    assert bool(reads) == (query not in ("q1", "q6"))
    for read in reads:
        decl = program.map_by_name[read.path.map]
        assert read.path.map not in program.relation_by_name
        assert read.bound or not decl.keys, f"{query} scans {read.path.map}"


def test_a_read_without_a_bound_key_is_a_scan() -> None:
    program = check(parse(SCANNING))
    assert scans(program) == [Scan("+r", 0, "u", "m")]
    trigger = program.trigger("r", 1)
    assert trigger is not None
    assert [[a.kind for a in accesses(trigger, s)] for s in trigger.statements] == [["scan"], ["slice", "lookup"]]
    assert "⚠ +r reads all of m (no key is known) to write u" in explain(program)


def test_the_row_of_a_map_without_groups_is_no_warning() -> None:
    program = tpch("q22")
    assert {s.map: s.single for s in scans(program)}["q22_groups"]
    assert "reads all of q22_groups" not in explain(program)


def test_what_changes_every_group_is_a_warning() -> None:
    text = explain(tpch("q11"))
    assert "⚠ ~q11_groups reads all of q11_groups_2" in text


def test_declared_keys_bound_slices_without_statistics() -> None:
    by_event = {c.event: c for c in costs(tpch("q3"))}
    assert by_event["+lineitem"].touched.known == 12  # the order and its customer, twice
    assert by_event["+orders"].touched.known == 11
    assert by_event["+customer"].touched.known is None
    assert by_event["+customer"].touched.symbols()[0] == "entries of m_lineitem_orders_1 for one (c_custkey)"


def test_statistics_turn_symbols_into_numbers() -> None:
    by_event = {c.event: c for c in costs(tpch("q3"), ROWS)}
    orders_per_customer = ROWS["orders"] / ROWS["customer"]
    assert by_event["+customer"].touched.known == 1 + 4 * orders_per_customer
    assert replace(by_event["+lineitem"], event="") == replace(by_event["-lineitem"], event="")


def test_sizes_follow_rows_keys_and_domains() -> None:
    program = tpch("q3")
    sizes = Sizes(program, ROWS)
    assert sizes.size("m_customer_1") == ROWS["customer"]
    assert sizes.size("m_orders_1") == ROWS["orders"]
    assert sizes.size("m_lineitem_1") == ROWS["orders"]  # its key is an order's
    assert Sizes(program).size("m_orders_1") is None


def test_downstream_re_evaluation_is_counted_through_its_changes() -> None:
    cost = next(c for c in costs(everything()) if c.event == "+r")
    assert [c.map for c in cost.caused] == ["d", "w"]
    derived, window = cost.caused
    # two inputs and the old row; two changed rows; each writes itself, reads sk and writes q
    assert (derived.groups, derived.rows.known, derived.touched.known) == (number(1), 2, 3 + 2 + 2 * 2)
    assert window.touched == number(4) * symbol("entries of v for one (k)")
    assert cost.total == number(11) + window.touched


def test_derivations_cause_derivations_further_down() -> None:
    cost = next(c for c in costs(with_rows("q21")) if c.event == "+lineitem")
    assert [c.map for c in cost.caused] == ["q21_domain", "q21_exists", "q21_exists_2"]


def test_amounts_are_polynomials() -> None:
    a, b = symbol("a"), symbol("b")
    assert ((a + b) * (a + b)).text() == "a^2 + 2·a·b + b^2"
    assert (number(1500) + a + number(500)).text() == "2 k + a"
    assert (a + b + a * b + b * b).text(limit=2) == "a + b + 2 more terms"
    assert (Amount().text(), number(0)) == ("0", Amount())
    assert (a.known, number(3).known, Amount().known) == (None, 3, 0)


def test_the_report_says_everything_of_every_part() -> None:
    text = explain(everything(), full=True)
    for part in [
        "9 statements are linear",
        "a bag: each key of q stands as often as its entry says",
        "the rows of the derived map w",
        "one row per (k), recomputed for the groups whose inputs changed",
        "lo = the least value in v (MIN by ordered index)",
        "the rows of v with window functions (rank)",
        "the partition of equal (k) is recomputed",
        "SELECT k, x, COUNT(*) FROM r GROUP BY k, x",
        "ordered by k, rk; the first 3 after 1",
        "read by (k) in 2 statements: ±s",
        "written by 4 statements: START, ±s, ~d",
        "~d (re-evaluated)",
        "±r (linear)",
    ]:
        assert part in text, part


def test_one_partition_of_everything_is_flagged() -> None:
    program = check(parse(EVERYTHING.replace("PARTITION 1", "PARTITION 0")))
    assert "⚠ there is one partition: any change recomputes all rows" in " ".join(explain(program).split())


@pytest.mark.parametrize("query", ["q3", "q8", "q11", "q17", "q21"])
def test_every_map_is_in_the_report(query: str) -> None:
    program = tpch(query)
    for text in (explain(program), explain(program, statistics=ROWS, full=True)):
        assert all(f"  {m.name}[" in text for m in program.maps)


def test_a_cyclic_program_has_a_cost() -> None:
    text = """RELATION R(a INT); MAP a[a INT, x INT] : INT; MAP b[a INT, x INT] : INT;
    ON +R(a) { a[a, x] += b[a, x]; b[a, x] += a[a, x] }"""
    (cost,) = costs(check(parse(text)), {"R": 10})
    assert cost.touched.known is None


def test_restriction_keeps_what_the_view_needs_and_its_results() -> None:
    whole = tpch("q3", "q6", "q17")
    part = restrict(whole, "q17")
    assert {m.name for m in part.maps} < {m.name for m in whole.maps}
    assert len(part.maps) == len(tpch("q17").maps)
    assert check(part).views == (whole.view("q17"),)
    alone = Interpreter(restrict(everything(), "q"))
    both = Interpreter(everything())
    for event in [(1, "s", (1,)), (1, "r", (1, 5)), (1, "r", (1, 3)), (-1, "r", (1, 3))]:
        alone.apply(*event)
        both.apply(*event)
        assert alone.view_rows("q") == both.view_rows("q")


def test_restriction_to_an_unknown_view_names_the_known_ones() -> None:
    with pytest.raises(ProgramError, match="no view 'x'"):
        restrict(everything(), "x")
