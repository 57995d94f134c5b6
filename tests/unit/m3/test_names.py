"""How things are called changes no result: the suite's queries and random ones, with plain names and with odd ones."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, reject, settings
from hypothesis import strategies as st
from sqlglot import parse_one

from m3 import CompileError, ValueProblem, compile_views
from m3.formatting import format_program
from m3.interpreter import Interpreter
from m3.program import Relation
from m3.syntax import parse
from tests.fuzz.compare import same_rows
from tests.fuzz.queries import make_query
from tests.fuzz.schema import RELATIONS as RANDOM
from tests.fuzz.schema import make_batches as random_batches
from tests.support.odd_names import Naming
from tests.support.random_streams import Batch
from tests.unit.m3.company import RELATIONS as COMPANY
from tests.unit.m3.company import make_batches as company_batches
from tests.unit.m3.sql_suite import SUITE
from tests.unit.m3.test_sql_suite import tables


def check(
    relations: Sequence[Relation], sql: str, dialect: str | None, batches: Sequence[Batch], seed: int, ordered: bool
) -> None:
    naming = Naming(seed)
    renamed, odd_batches = naming.relations(relations), naming.batches(batches)
    odd_sql = naming.query(sql, dialect)
    plain_sql = parse_one(sql, dialect=dialect).sql(dialect=dialect)
    try:
        plain = Interpreter(compile_views("plain", relations, {"view": plain_sql}, dialect))
    except CompileError:
        reject()
    program = compile_views("odd", renamed, {"view": odd_sql}, dialect)
    assert parse(format_program(program)) == program
    ours = Interpreter(program)
    for batch, odd_batch in zip([[], *batches], [[], *odd_batches], strict=True):
        for event, odd_event in zip(batch, odd_batch, strict=True):
            plain.apply(*event)
            ours.apply(*odd_event)
        found, wanted = (_read(i, ordered) for i in (ours, plain))
        if found is None or wanted is None:
            assert found is wanted, f"{odd_sql}\n{found} instead of {wanted}"
            continue
        assert same_rows(found, wanted, ordered=ordered), f"{odd_sql}\n{found} instead of {wanted}"


def _read(interpreter: Interpreter, ordered: bool) -> list[tuple[object, ...]] | None:
    """The view's rows; None while it is in error, which its text says with its names."""
    try:
        return list(interpreter.view_rows("view", ordered=ordered))
    except ValueProblem:
        return None


#: In these a table or a column is named by what is not an identifier for the parser, or cannot be written back with quotes.
UNNAMED = {"explode_sequence", "hop", "tumble", "tumble_of_a_query"}


@settings(deadline=None)
@given(st.sampled_from(sorted(SUITE.keys() - UNNAMED)), st.integers(0, 10_000))
def test_odd_names_change_no_result_of_the_suite(name: str, seed: int) -> None:
    dialect, sql, *_ = SUITE[name]
    tree = parse_one(sql, dialect=dialect)
    batches = company_batches(seed % 3, tables(tree), 4)
    check(COMPANY, sql, dialect, batches, seed, tree.args.get("order") is not None)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_odd_names_change_no_result_of_random_queries(query: int, seed: int) -> None:
    made = make_query(query)
    check(RANDOM, made.sql, None, random_batches(query, made.tables, 4), seed, made.ordered)
