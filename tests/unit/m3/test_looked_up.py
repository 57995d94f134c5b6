"""When the rest of a join is read table by table instead of from one map of the join."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest

from m3 import Interpreter, M3Error, Program, check, compile_views, format_program, parse, restricted_violations
from m3.compiler import materialize
from m3.program import Relation
from tests.fuzz.lookups import looked_up
from tests.support import tpch_small

ROWS = {
    "region": 5,
    "nation": 25,
    "supplier": 10_000,
    "customer": 150_000,
    "part": 200_000,
    "partsupp": 800_000,
    "orders": 1_500_000,
    "lineitem": 6_000_000,
}
UNKNOWN = tpch_small.RELATIONS
KNOWN = tuple(replace(r, rows=ROWS[r.name]) for r in UNKNOWN)
#: Per nation: what its suppliers deliver in urgent orders.
STAR = """SELECT n_name, SUM(l_quantity) FROM nation, supplier, lineitem, orders
WHERE n_nationkey = s_nationkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_orderpriority = '1-URGENT'
GROUP BY n_name"""
WHOLE = frozenset({"nation", "supplier", "lineitem", "orders"})


def compiled(relations: tuple[Relation, ...], sql: str = STAR, *, restricted: bool = False) -> Program:
    return compile_views("p", relations, {"v": sql}, restricted=restricted)


def tables(program: Program, name: str) -> frozenset[str]:
    """The tables that a map joins, by its meaning."""
    (source,) = re.findall(r" FROM (.*?)(?: WHERE | GROUP BY |$)", program.map_by_name[name].meaning)
    return frozenset(source.split(", "))


def read_on(program: Program, event: str) -> set[frozenset[str]]:
    """The joins whose maps an event reads for the view's maps, each as its tables."""
    (trigger,) = (t for t in program.triggers if t.event == event)
    return {
        tables(program, ref.map) for s in trigger.statements if s.target in ("v_sum", "v_count") for ref in s.reads()
    }


def joins(program: Program) -> set[frozenset[str]]:
    """The auxiliary maps that are of more than one table."""
    found = {tables(program, m.name) for m in program.maps} - {WHOLE}
    return {names for names in found if len(names) > 1}


def test_rows_that_keys_determine_are_looked_up_without_numbers() -> None:
    program = compiled(UNKNOWN)
    alone = {frozenset({"nation"}), frozenset({"supplier"}), frozenset({"orders"})}
    assert read_on(program, "+lineitem") == read_on(program, "-lineitem") == alone


def test_unknown_rows_keep_the_maps_of_the_paper() -> None:
    program = compiled(UNKNOWN)
    assert read_on(program, "+nation") == {frozenset({"supplier", "lineitem", "orders"})}
    assert read_on(program, "+supplier") == {frozenset({"nation"}), frozenset({"lineitem", "orders"})}


def test_a_loop_over_few_rows_needs_no_map_but_many_rows_do() -> None:
    program = compiled(KNOWN)
    # 6,000,000 / 10,000 lineitems of one supplier, one order each
    assert read_on(program, "+supplier") == {frozenset({"nation"}), frozenset({"lineitem"}), frozenset({"orders"})}
    # 10,000 / 25 suppliers of one nation, with 600 lineitems each
    assert read_on(program, "+nation") == {frozenset({"supplier", "lineitem", "orders"})}
    assert joins(program) == {frozenset({"supplier", "lineitem", "orders"})}
    assert joins(program) < joins(compiled(UNKNOWN))


@pytest.mark.parametrize(("most", "maps"), [(599, True), (600, False)])
def test_the_number_of_meetings_decides(most: float, maps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materialize, "MEETINGS", most)
    assert (frozenset({"lineitem", "orders"}) in read_on(compiled(KNOWN), "+supplier")) == maps


def test_a_smaller_table_makes_the_same_event_cheap() -> None:
    small = tuple(replace(r, rows=100) if r.name == "supplier" else r for r in KNOWN)
    few = tuple(replace(r, rows=1000) if r.name == "lineitem" else r for r in small)
    assert frozenset({"lineitem", "orders"}) in joins(compiled(small))  # 60,000 lineitems per supplier: a map after all
    assert joins(compiled(few)) == set()  # 4 suppliers of a nation with 10 lineitems each


def test_numbers_without_keys_are_no_help() -> None:
    assert joins(compiled(tuple(replace(r, key=()) for r in KNOWN))) == joins(
        compiled(tuple(replace(r, key=()) for r in UNKNOWN))
    )


@pytest.mark.parametrize("relations", [KNOWN, UNKNOWN], ids=["rows", ""])
def test_restricted_programs_never_look_up(relations: tuple[Relation, ...]) -> None:
    with looked_up():
        program = compiled(relations, restricted=True)
        assert restricted_violations(program) == []
        assert restricted_violations(compiled(relations)) != []
    assert read_on(program, "+lineitem") == {frozenset({"nation", "supplier"}), frozenset({"orders"})}
    assert program.maps == compiled(UNKNOWN, restricted=True).maps


def test_what_is_forced_is_restored() -> None:
    before = materialize.MEETINGS
    with looked_up():
        assert joins(compiled(UNKNOWN)) == set()
    assert before == materialize.MEETINGS
    assert joins(compiled(UNKNOWN)) != set()


def test_wrong_numbers_cost_time_and_nothing_else() -> None:
    """Every plan has the same results, row by row, though only one of them was told the truth."""
    everything = tuple(replace(r, rows=1) for r in UNKNOWN)
    programs = [compiled(relations) for relations in (UNKNOWN, KNOWN, everything)]
    assert len({len(p.maps) for p in programs}) == 3
    interpreters = [Interpreter(p) for p in programs]
    seen: Counter[tuple[object, ...]] = Counter()
    for batch in tpch_small.Stream(3).batches():
        for event in batch:
            for interpreter in interpreters:
                interpreter.apply(*event)
        results = [i.view_rows("v", ordered=False) for i in interpreters]
        assert Counter(results[0]) == Counter(results[1]) == Counter(results[2])
        seen += Counter(results[0])
    assert any(isinstance(row[1], Decimal) for row in seen)


def test_rows_are_read_back() -> None:
    text = (
        "PROGRAM p SEMANTICS SNAPSHOT;\n\nRELATION r(a INT, b INT) KEY (a) ROWS 7;\nRELATION s(a INT) ROWS 1000000;\n"
    )
    program = check(parse(text))
    assert [r.rows for r in program.relations] == [7, 1_000_000]
    assert format_program(program).startswith(text)
    assert parse(format_program(compiled(KNOWN))).relations == KNOWN


def test_a_column_may_be_called_rows() -> None:
    text = format_program(compile_views("p", (Relation("rows", UNKNOWN[0].columns[:1], (), 3),), {}))
    assert parse(text).relations[0].rows == 3


@pytest.mark.parametrize(
    ("rows", "kind"),
    [("-1", "bad-rows"), ("0", "bad-rows"), ("2.5", "bad-rows"), ("many", "m3-syntax"), ("", "m3-syntax")],
)
def test_rows_are_a_positive_whole_number(rows: str, kind: str) -> None:
    with pytest.raises(M3Error) as caught:
        check(parse(f"RELATION r(a INT) ROWS {rows};"))
    assert caught.value.kind == kind
    assert caught.value.hint


def test_tpch_needs_hardly_more_maps_than_it_has_tables(golden) -> None:
    """All 22 queries in one program; ``docs/adr/0010`` tells what the numbers mean."""
    lines = [f"{'':12}{'maps':>6}{'statements':>12}"]
    views = {q: tpch_small.view_text(q) for q in tpch_small.QUERIES}
    for title, relations, restricted in (
        ("restricted", UNKNOWN, True),
        ("keys", UNKNOWN, False),
        ("keys, rows", KNOWN, False),
    ):
        program = compile_views("tpch", relations, views, restricted=restricted)
        lines.append(f"{title:12}{len(program.maps):6}{sum(len(t.statements) for t in program.triggers):12}")
    golden("counts_together.txt", "\n".join(lines) + "\n")


def test_of_reads_that_leave_equally_many_keys_open_the_one_with_fewer_entries_comes_first() -> None:
    """A supplier's nation has 6,000 customers, the supplier itself 600 lineitems."""
    sql = """SELECT COUNT(*) FROM customer, orders, lineitem, supplier
    WHERE c_custkey = o_custkey AND o_orderkey = l_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey"""
    program = compiled(KNOWN, sql)
    (trigger,) = (t for t in program.triggers if t.event == "+supplier")
    reads = [[set(tables(program, ref.map)) for ref in s.reads()] for s in trigger.statements]
    assert [{"lineitem"}, {"orders"}, {"customer"}] in reads
    assert all(read[0] == {"lineitem"} for read in reads if read)
