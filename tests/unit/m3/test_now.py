"""now() in SQL: what becomes a filter that rows pass, what is refused, and what is said of such views."""

from __future__ import annotations

import datetime

import pytest

from cumulus_ops.coordination.finality.lineage import Lineage
from cumulus_ops.coordination.finality.views import PASSED_BY_NOW, Finality
from m3 import check, compile_views, format_program, parse
from m3.clock import CLOCK, read_passings
from m3.confluence.proof import prove
from m3.errors import CompileError, ProgramError
from m3.explain.report import explain
from m3.interpreter import Interpreter
from m3.program import Program

RELATIONS = parse(
    "RELATION c(id INT, k INT, ts TIMESTAMP NULL, d DATE, x INT); RELATION u(k INT, since TIMESTAMP) KEY (k);"
).relations
NOON = datetime.datetime(2024, 3, 31, 12)


def compiled(sql: str, dialect: str | None = "postgres") -> Program:
    return compile_views("p", RELATIONS, {"v": sql}, dialect)


#: A condition on rows of c -> how a key compares with which bound at noon of the 31st of March 2024.
PASSED = {
    "ts > now() - INTERVAL '7 days'": ("gt", NOON - datetime.timedelta(days=7)),
    "now() - INTERVAL '1 month' <= ts": ("ge", datetime.datetime(2024, 2, 29, 12)),
    "now() - ts < INTERVAL '2 hours'": ("gt", NOON - datetime.timedelta(hours=2)),
    "ts - now() >= INTERVAL '90 seconds'": ("ge", NOON + datetime.timedelta(seconds=90)),
    "ts + INTERVAL '1 day' > now()": ("gt", NOON - datetime.timedelta(days=1)),
    "CAST(d AS TIMESTAMP) < now()": ("lt", NOON),
    "NOT (ts < DATE_TRUNC('month', now()))": ("ge", datetime.datetime(2024, 3, 1)),
    "d >= current_date": ("ge", NOON.date()),
    "current_date - d <= 7": ("ge", datetime.date(2024, 3, 24)),
    "d - current_date > 7": ("gt", datetime.date(2024, 4, 7)),
    "EXTRACT(YEAR FROM ts) < EXTRACT(YEAR FROM now())": ("lt", 2024),
    "ts < localtimestamp": ("lt", NOON),
    "ts <= current_timestamp": ("le", NOON),
}


@pytest.mark.parametrize("condition", PASSED)
def test_a_comparison_with_now_is_one_of_a_key_with_a_bound(condition: str) -> None:
    program = compiled(f"SELECT id FROM c WHERE {condition}")
    ((passing,),) = (read_passings(d) for d in program.derivations)  # type: ignore[arg-type]
    assert (passing.op, passing.bound_at(NOON)) == PASSED[condition]
    assert parse(format_program(program)) == program
    assert prove(program).grain == "batch"


def test_a_list_has_the_rows_that_are_there_now() -> None:
    interpreter = Interpreter(
        compiled("SELECT k, ARRAY_AGG(x ORDER BY id) AS xs FROM c WHERE ts > now() - INTERVAL '1 day' GROUP BY k")
    )
    for i, hours in enumerate((1, 30, 2)):
        interpreter.apply(1, "c", (i, 7, NOON - datetime.timedelta(hours=hours), NOON.date(), i * 10))
    interpreter.advance(NOON)
    assert interpreter.view_rows("v") == [(7, (0, 20))]
    interpreter.advance(NOON + datetime.timedelta(hours=23))
    assert interpreter.view_rows("v") == []


#: What is refused -> a word of the reason.
REFUSED = {
    "SELECT id, now() AS t FROM c": "outside",
    "SELECT now() AS t, COUNT(*) AS n FROM c": "outside",
    "SELECT COUNT(*) AS n FROM c GROUP BY CAST(now() - ts AS INT)": "outside",
    "SELECT id FROM c ORDER BY now()": "outside",
    "SELECT CASE WHEN ts > now() THEN 1 ELSE 0 END AS late FROM c": "outside",
    "SELECT SUM(CASE WHEN ts > now() THEN x END) AS s FROM c": "outside",
    "SELECT id FROM c WHERE ts > now() OR x = 1": "OR",
    "SELECT id FROM c WHERE ts <> now()": "comparison",
    "SELECT id FROM c WHERE now() > TIMESTAMP '2024-01-01'": "comparison",
    "SELECT id FROM c WHERE ts > now() - x * INTERVAL '1 day'": "comparison",
    "SELECT c.id FROM c JOIN u ON c.k = u.k WHERE ts - since < now() - since": "comparison",
    "SELECT id FROM c WHERE ts + x * INTERVAL '1 day' > now()": "comparison",
    "SELECT id FROM c WHERE ts + INTERVAL '1 month' > now()": "comparison",
    "SELECT id FROM c WHERE ts > now() - INTERVAL '9000 years'": "comparison",
    "SELECT id, RANK() OVER (ORDER BY now() - ts) AS r FROM c": "outside",
    "SELECT id FROM c WHERE ts > current_timestamp(3)": "argument",
    "SELECT id FROM c WHERE x > random()": "deterministic",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_cannot_be_passed_is_refused_with_the_form_that_works(sql: str) -> None:
    with pytest.raises(CompileError, match=REFUSED[sql]) as found:
        compiled(sql)
    assert found.value.span is not None
    assert found.value.hint


def test_the_name_of_the_ticks_is_taken() -> None:
    relations = parse(f"RELATION {CLOCK}(at TIMESTAMP);").relations
    with pytest.raises(CompileError, match=CLOCK):
        compile_views("p", relations, {"v": f'SELECT "at" FROM {CLOCK} WHERE "at" > now()'}, "postgres")


def test_a_program_must_say_what_now_is_compared_with() -> None:
    text = format_program(compiled("SELECT id FROM c WHERE d > current_date"))
    with pytest.raises(ProgramError, match="now in another place"):
        check(parse(text.replace("THEN n ELSE 0 END", "THEN n ELSE 1 END")))


def test_rows_that_now_passes_are_final_with_their_epoch_whatever_is_sealed() -> None:
    program = compiled("SELECT id FROM c WHERE ts <= now()")
    finality = Finality(program, frozenset({"c", CLOCK}), {}, frozenset({"v"}), Lineage(program))
    plan = finality.of(program.view("v"))
    assert (plan.final, plan.reason, plan.advice) == ("committed", PASSED_BY_NOW, None)


def test_the_explanation_says_when_rows_leave() -> None:
    text = explain(compiled("SELECT k, COUNT(*) AS n FROM c WHERE ts > now() - INTERVAL '7 days' GROUP BY k"))
    said = " ".join(text.split())
    assert "rows that are there while ts > ATTEMPT(ADD_DAYS(now, -7))" in said
    assert f"±{CLOCK}" not in text


def test_the_interpreter_lets_time_pass() -> None:
    interpreter = Interpreter(compiled("SELECT id FROM c WHERE ts > now() - INTERVAL '1 hour' AND d = current_date"))
    for hour in range(3):
        ts = NOON + datetime.timedelta(hours=hour)
        interpreter.apply(1, "c", (hour, 0, ts, ts.date(), 0))
    seen = [interpreter.view_rows("v")]
    for hour in (1, 0, 2.5, 11.5, 36):  # time never goes back
        interpreter.advance(NOON + datetime.timedelta(hours=hour))
        seen.append([row[0] for row in interpreter.view_rows("v")])
    assert seen == [[], [1, 2], [1, 2], [2], [], []]
