"""The fuzzer itself: it sees wrong answers, makes them small, and does not see what is not there."""

from __future__ import annotations

import datetime
import doctest
from dataclasses import replace
from decimal import Decimal

import pytest

from m3 import CompileError, Program, compile_views
from tests.fuzz import checker, failing, replay
from tests.fuzz.checker import check
from tests.fuzz.compare import same_rows
from tests.fuzz.database import Database
from tests.fuzz.report import failure_text
from tests.fuzz.schema import RELATIONS, left_over, make_batches

DAY = datetime.date(2024, 1, 1)
SAME = [
    ([(1, "a"), (2, "b")], [(2, "b"), (1, "a")]),
    ([(Decimal("1.50"),)], [(Decimal("1.5"),)]),
    ([(Decimal("0.3333"),)], [(1 / 3,)]),
    ([(0.1 + 0.2,)], [(0.3,)]),
    ([(DAY,)], [(datetime.datetime(2024, 1, 1),)]),
    ([(None, Decimal("0.6667")), (1, None)], [(1, None), (None, 2 / 3)]),
]
OTHER = [
    ([(1,)], [(1,), (1,)]),
    ([(1,)], [(True,)]),
    ([(None,)], [(0,)]),
    ([(Decimal("0.3334"),)], [(1 / 3,)]),
    ([(None,)], [(0.0,)]),
    ([(1, 2.0)], [(2, 2.0)]),
]


@pytest.fixture(scope="module")
def database() -> Database:
    return Database(RELATIONS)


@pytest.mark.parametrize(("ours", "theirs"), SAME)
def test_equal_results(ours, theirs):
    assert same_rows(ours, theirs)


@pytest.mark.parametrize(("ours", "theirs"), OTHER)
def test_different_results(ours, theirs):
    assert not same_rows(ours, theirs)


def test_order_counts_where_it_is_asked_for():
    assert not same_rows([(1,), (2,)], [(2,), (1,)], ordered=True)


def test_the_database_follows_events_on_equal_rows(database):
    database.clear()
    row = (1, 2, Decimal("1.00"), 0.5)
    database.apply([(1, "w", row), (1, "w", row), (1, "w", row), (-1, "w", row)])
    database.apply([(-1, "w", row)])
    assert database.rows("SELECT * FROM w") == [row]
    with pytest.raises(ValueError, match="no row"):
        database.apply([(-1, "w", (0, 0, None, None))])


def test_a_stream_deletes_only_what_is_there(database):
    database.clear()
    batches = make_batches(3, ("t", "v"))
    for batch in [*batches, left_over(batches)]:
        database.apply(batch)
    assert database.rows("SELECT (SELECT COUNT(*) FROM t) + (SELECT COUNT(*) FROM v)") == [(0,)]


def test_a_wrong_compiler_is_noticed_and_the_failure_made_small(database, monkeypatch):
    def forgetful(name: str, relations: object, views: dict[str, str]) -> Program:
        return compile_views(name, RELATIONS, {v: sql.replace("<=", "<") for v, sql in views.items()})

    monkeypatch.setattr(checker, "compile_views", forgetful)
    made = replay.make(
        "SELECT t.s AS c1, SUM(t.a) AS c2, COUNT(*) AS c3 FROM t WHERE t.a <= 1 AND t.b > 0 GROUP BY t.s"
    )
    batches = make_batches(1, ("t",))
    verdict = check(made, batches, database)
    assert verdict.failed
    small = failure_text(made, batches, verdict, database, limit_s=5).split("made small:")[1]
    assert "t.b" not in small
    assert "<= 1" in small
    assert small.count('[1, "t"') == 1


@pytest.mark.parametrize("sql", ["SELECT SUM(t.a % t.b) AS c1 FROM t", "SELECT t.b AS c1 FROM t WHERE NOT 1 / t.a > 2"])
def test_an_error_that_is_missed_is_noticed(sql, database, monkeypatch):
    def blind(name: str, relations: object, views: dict[str, str]) -> Program:
        program = compile_views(name, RELATIONS, views)
        return replace(program, views=tuple(replace(v, checks=()) for v in program.views))

    made, batches = replay.make(sql), make_batches(1, ("t",))
    assert check(made, batches, database).in_error
    monkeypatch.setattr(checker, "compile_views", blind)
    assert check(made, batches, database).kind in ("rows", "missed")


def test_a_view_in_error_without_an_expression_that_may_fail_is_noticed(database, monkeypatch):
    monkeypatch.setattr(checker, "variants", lambda sql: (sql,))
    assert check(replay.make("SELECT t.a % t.b AS c1 FROM t"), make_batches(1, ("t",)), database).kind == "blamed"


def test_what_cannot_be_compiled_is_unsupported_and_what_duckdb_refuses_invalid(database, monkeypatch):
    def refusing(*_: object) -> Program:
        raise CompileError("no", kind="just-so")

    monkeypatch.setattr(checker, "compile_views", refusing)
    assert check(replay.make("SELECT a FROM t"), [], database).kind == "just-so"
    assert check(replay.make("SELECT nothing FROM t"), [], database).outcome == checker.INVALID


def test_queries_with_other_values_in_place_of_what_fails_are_as_documented(database):
    assert doctest.testmod(failing).attempted
    assert not doctest.testmod(failing).failed
    database.clear()
    database.apply([(1, "w", (2, 0, None, None)), (1, "w", (None, 0, None, None)), (1, "w", (1, 1, None, None))])
    sql = "SELECT b % c AS c1, b * 3000000000 * 3000000000 AS c2, MAKE_DATE(2024, b, 30) AS c3 FROM w ORDER BY b NULLS LAST"
    rows = [database.rows(text) for text in failing.variants(sql)]
    large, day = 9 * 10**18, datetime.date(2024, 1, 30)
    expected = ((None, None, None), (1, 1, datetime.date(2024, 1, 1)), (2, 2, datetime.date(2024, 2, 29)))
    assert rows == [[(0, large, day), theirs, (None, None, None)] for theirs in expected]


def test_events_survive_their_file(tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "FOLDER", tmp_path)
    batches = make_batches(5, ("t", "u", "v", "w"))
    replay.save("x", "SELECT a FROM t ORDER BY a", batches)
    made, loaded = replay.load("x")
    assert loaded == batches
    assert made.ordered
