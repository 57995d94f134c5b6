"""The 22 queries of TPC-H, each against DuckDB after every batch of a small and messy stream."""

from __future__ import annotations

import time

import pytest
from sqlglot import parse_one

from m3 import Program, check, compile_views, format_program, parse
from m3.interpreter import Interpreter
from tests.fuzz.compare import same_rows
from tests.fuzz.database import Database
from tests.support.sampling import sampled
from tests.support.tpch_small import QUERIES, RELATIONS, Row, Stream, view_text

SEED = 18
COMPILE_S = 2.0
#: Their texts with the six relations that they need are golden already, see ``test_golden.py``.
GOLDEN_ELSEWHERE = {"q1", "q3", "q5", "q6", "q10"}


def compiled(query: str) -> Program:
    return compile_views(query, RELATIONS, {query: view_text(query)})


def unordered(sql: str) -> str:
    """The query without its ORDER BY and LIMIT."""
    return sql.split("\norder by")[0]


def is_something(rows: list[Row]) -> bool:
    """Whether the result is more than none at all, or the one row of an aggregate over nothing."""
    return any(value for row in rows for value in row)


@pytest.mark.parametrize("query", sampled(QUERIES, 4))
def test_query_agrees_with_duckdb_after_every_batch(query: str) -> None:
    interpreter, database, stream = Interpreter(compiled(query)), Database(RELATIONS), Stream(SEED)
    before = {name: dict(entries) for name, entries in interpreter.maps.items()}
    hits = 0
    for number, batch in enumerate(stream.batches()):
        for event in batch:
            interpreter.apply(*event)
        database.apply(batch)
        theirs = database.rows(unordered(view_text(query)))
        assert same_rows(interpreter.view_rows(query, ordered=False), theirs), f"{query} after batch {number}"
        hits += is_something(theirs)
    assert hits >= 3
    check_order(query, interpreter.view_rows(query), database.rows(view_text(query)))
    for event in stream.empty():
        interpreter.apply(*event)
    assert {name: dict(entries) for name, entries in interpreter.maps.items()} == before
    assert not any(before.values())


def check_order(query: str, ours: list[Row], theirs: list[Row]) -> None:
    """ORDER BY and LIMIT give the same values in the columns that are ordered by; ties may be broken otherwise."""
    tree = parse_one(view_text(query))
    order = tree.args.get("order")
    names = [item.alias_or_name for item in tree.selects]
    places = [names.index(item.this.name) for item in order.expressions] if order else []
    assert len(ours) == len(theirs)
    assert [[row[p] for p in places] for row in ours] == [[row[p] for p in places] for row in theirs]


@pytest.mark.parametrize("query", QUERIES)
def test_program_compiles_fast_and_reads_back(query: str, golden) -> None:
    compiled("q6")  # imports and parser tables
    started = time.process_time()
    program = compiled(query)
    assert time.process_time() - started < COMPILE_S
    text = format_program(program)
    assert check(parse(text)) == program
    if query not in GOLDEN_ELSEWHERE:
        golden(f"{query}.m3", text)


def test_sizes_of_the_programs(golden) -> None:
    lines = [f"{'query':6}{'maps':>6}{'statements':>12}"]
    for query in QUERIES:
        program = compiled(query)
        lines.append(f"{query:6}{len(program.maps):6}{sum(len(t.statements) for t in program.triggers):12}")
    golden("counts.txt", "\n".join(lines) + "\n")
