"""What is proved of the order of a program's events, and what is said where nothing is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from m3 import check, compile_views, format_program, parse
from m3.confluence.proof import Confluence, prove
from m3.errors import CompileError
from m3.program import Program
from m3.statements import Between, as_snapshot
from tests.fuzz.lookups import is_turn, looked_up
from tests.fuzz.queries import make_query
from tests.fuzz.schema import RELATIONS as FUZZED
from tests.support import tpch_small
from tests.support.derived_programs import DERIVED, SHOP

EXAMPLES = Path(__file__).parents[3] / "examples"
HEAD = """PROGRAM p SEMANTICS SNAPSHOT;
RELATION r(a INT, b INT); RELATION s(a INT, x DECIMAL(9, 2) NULL);
MAP m[a INT] : INT; MAP n[a INT] : INT; MAP q[] : INT; MAP z[a INT] : DECIMAL(18, 4);
"""


def proved(text: str, semantics: str = "SNAPSHOT") -> Confluence:
    return prove(check(parse(HEAD.replace("SNAPSHOT", semantics) + text)))


def grains(found: Confluence) -> dict[str, str]:
    return {name: verdict.grain for name, verdict in found.verdicts.items()}


def test_all_of_tpch_is_proved_and_so_is_its_text() -> None:
    program = compile_views("tpch", tpch_small.RELATIONS, {q: tpch_small.view_text(q) for q in tpch_small.QUERIES})
    bare = replace(program, maps=tuple(replace(m, meaning="") for m in program.maps))
    for each in (program, bare, check(parse(format_program(program)))):
        assert (prove(each).grain, prove(each).is_confluent, prove(each).reasons) == ("batch", True, ())


@pytest.mark.parametrize("text", [DERIVED, SHOP], ids=["derived", "shop"])
def test_programs_with_derivations_are_proved(text: str) -> None:
    assert prove(check(parse(text))).grain == "batch"


def test_whatever_is_compiled_is_proved() -> None:
    for seed in range(15):
        with looked_up(is_turn(seed)):
            program = _compiled(seed)
        if program is not None:
            assert not prove(program).reasons, make_query(seed).sql


def _compiled(seed: int) -> Program | None:
    try:
        return compile_views("fuzzed", FUZZED, {"v": make_query(seed).sql})
    except CompileError:
        return None


def test_the_papers_restricted_form_of_a_self_join_is_for_single_events() -> None:
    sql = {"pairs": "SELECT COUNT(*) FROM region x JOIN region y ON x.r_name = y.r_name"}
    found = prove(compile_views("p", tpch_small.RELATIONS, sql, restricted=True))
    assert found.is_confluent
    assert found.grain == "event"
    assert "not for the sum of several" in found.reasons[0]
    assert prove(compile_views("p", tpch_small.RELATIONS, sql)).grain == "batch"


def test_holdings_are_told_apart_by_what_is_read() -> None:
    found = prove(check(parse((EXAMPLES / "holdings" / "holdings.m3").read_text(encoding="utf-8"))))
    assert grains(found) == {"split": "event", "dividend": "event", "trade": "event"}
    assert not found.is_confluent
    dividend = found.verdicts["dividend"]
    assert [(p.event, p.index) for p in dividend.told_apart] == [("+dividend", 0), ("+split", 0)]
    assert dividend.reason == (
        "paid depends on whether +split or +dividend comes first: +dividend statement 1 (paid[S, a] += PER_SHARE * "
        "shares[S, a]) reads what +split statement 1 (shares[S, a] += (RATIO - 1) * shares[S, a]) adds to"
    )


CONFLUENT = {
    "sums": "ON +r(A, B) DO { m[A] += B; q[] += A * B; } ON -r(A, B) DO { q[] += (-(A * B)); m[A] += -1 * B; }",
    "inserts alone": "ON +r(A, B) DO { m[A] += 1; } ON +s(A, X) DO { n[A] += 1; }",
    "deletes count too": "ON +r(A, B) DO { m[A] += 1; } ON -r(A, B) DO { m[A] += 1; }",
    "a join": "ON +r(A, B) DO { m[A] += B; q[] += B * n[A]; } ON +s(A, X) DO { n[A] += 1; q[] += m[A]; }",
    "a join, multiplied out": "ON +r(A, B) DO { m[A] += (B + 1); q[] += B * n[A]; q[] += n[A]; } "
    "ON +s(A, X) DO { n[A] += 1; q[] += m[A]; }",
    "one side with all keys": "MAP w[a INT, b INT] : INT; ON +r(A, B) DO { w[A, B] += 1; q[] += B * n[A]; } "
    "ON +s(A, X) DO { n[A] += 1; q[] += l * w[A, l]; }",
    "NULLs that do not join": "ON +s(A, X) DO { z[A] += IF X IS NOT NULL AND X < 3 THEN X ELSE 0; } "
    "ON -s(A, X) DO { z[A] += IF X < 3 AND X IS NOT NULL THEN -1 * X ELSE 0; }",
    "nothing": "ON +r(A, B) DO { q[] += 0 * n[B]; } ON +s(A, X) DO { n[A] += 1; }",
    "a self-join": "ON +r(A, B) DO { m[A] += 1; n[B] += 1; q[] += m[B]; q[] += AFTER n[A]; }",
    "a share of a map": "ON +r(A, B) DO { m[A] += 1; q[] += 2 * n[A]; z[A] += 0.5 * n[A]; } "
    "ON +s(A, X) DO { n[A] += 1; q[] += 2 * m[A]; z[A] += 0.5 * m[A]; }",
}


@pytest.mark.parametrize("text", CONFLUENT.values(), ids=CONFLUENT)
def test_confluent_programs_written_by_hand_have_batches(text: str) -> None:
    found = proved(text)
    assert found.reasons == ()
    assert set(grains(found).values()) == {"batch"}


ORDERED = {
    "only one side of a join": ("ON +r(A, B) DO { q[] += n[A]; } ON +s(A, X) DO { n[A] += 1; }", {"r", "s"}),
    "another coefficient": (
        "ON +r(A, B) DO { m[A] += 1; q[] += 2 * n[A]; } ON +s(A, X) DO { n[A] += 1; q[] += m[A]; }", {"r", "s"}),
    "another key": (
        "ON +r(A, B) DO { m[A] += 1; q[] += n[B]; } ON +s(A, X) DO { n[A] += 1; q[] += m[A]; }", {"r", "s"}),
    "another condition": (
        "ON +r(A, B) DO { m[A] += 1; q[] += IF A < 2 THEN n[A] ELSE 0; } ON +s(A, X) DO { n[A] += 1; q[] += m[A]; }",
        {"r", "s"}),
    "deletes that are not the opposite": (
        "ON +r(A, B) DO { m[A] += 1; q[] += n[A]; } ON -r(A, B) DO { m[A] += -1; } "
        "ON +s(A, X) DO { n[A] += 1; q[] += m[A]; }", {"r", "s"}),
    "one key written in two ways": (
        "MAP w[x DECIMAL(3, 2)] : INT; ON +s(A, X) DO { w[1.0 :: DECIMAL(3, 2)] += 1; } "
        "ON +r(A, B) DO { q[] += w[1.00 :: DECIMAL(3, 2)]; }", {"r", "s"}),
    "from itself": ("ON +r(A, B) DO { m[A] += m[B]; } ON +s(A, X) DO { n[A] += 1; }", {"r"}),
    "its own past": ("ON +r(A, B) DO { m[A] += 1; q[] += B * m[A]; } ON +s(A, X) DO { n[A] += 1; }", {"r"}),
    "both after": ("ON +r(A, B) DO { m[A] += 1; n[B] += 1; q[] += AFTER m[B]; q[] += AFTER n[A]; }", set()),
}  # fmt: skip


@pytest.mark.parametrize(("text", "told"), ORDERED.values(), ids=ORDERED)
def test_what_orders_tell_apart_has_versions_by_event(text: str, told: set[str]) -> None:
    found = proved(text)
    assert found.grain == "event"
    assert found.is_confluent == (
        not told
    )  # read twice AFTER, a self-join is right for single events if they count double
    assert not told or {name for name, grain in grains(found).items() if grain == "event"} == told
    assert all(v.told_apart for v in found.verdicts.values() if v.grain == "event")


def test_the_order_of_statements_says_when_a_sequential_program_reads() -> None:
    self_join = "ON +r(A, B) DO { q[] += m[B]; m[A] += 1; n[B] += 1; q[] += n[A]; }"
    assert proved(self_join, "SEQUENTIAL").grain == "batch"
    assert proved(self_join).grain == "event"  # both before: each pair of rows is counted, but not a row with itself
    between = "ON +r(A, B) DO { m[A] += 1; q[] += m[B]; m[B] += 1; }"
    assert proved(between, "SEQUENTIAL").grain == "event"
    with pytest.raises(Between):
        as_snapshot(check(parse(HEAD.replace("SNAPSHOT", "SEQUENTIAL") + between)))


def test_what_is_told_apart_below_does_not_hide_what_is_not_above() -> None:
    found = proved("ON +r(A, B) DO { m[A] += m[B]; } ON +s(A, X) DO { n[A] += 1; } ")
    assert grains(found) == {"r": "event", "s": "batch"}
    found = proved("ON +r(A, B) DO { m[A] += m[B]; } ON +s(A, X) DO { n[A] += m[A]; } ")
    assert grains(found) == {"r": "event", "s": "event"}


DERIVE = """MAP d[a INT, k INT] : INT; DERIVE d[a] FROM n = m SELECT k = n COUNT CASE WHEN n > 1 THEN 1 ELSE 0 END;
ON +r(A, B) DO { m[A] += 1; } """


def test_what_reads_a_derived_map_needs_its_changes() -> None:
    joined = DERIVE + "ON +s(A, X) DO { n[A] += 1; z[A] += d[A, k]; } "
    assert proved(joined + "ON CHANGE d(a, k) DO { z[a] += n[a]; }").grain == "batch"
    found = proved(joined)
    assert grains(found) == {"r": "event", "s": "event"}
    assert not found.is_confluent
    assert found.verdicts["r"].reason.endswith("comes first: +s statement 2 (z[A] += d[A, k]) reads d")
    assert proved(joined + "ON CHANGE d(a, k) DO { z[a] += 2 * n[a]; }").grain == "event"


ZEROS = """PROGRAM p SEMANTICS SNAPSHOT; RELATION r(x DOUBLE); RELATION s(y DOUBLE);
MAP rs[x DOUBLE] : INT; MAP ss[x DOUBLE] : INT; MAP q[{key}] : INT;
ON +r(X) DO {{ q[{r}] += ss[(-X)]; rs[(-X)] += 1; }}
ON +s(Y) DO {{ q[{s}] += rs[Y]; ss[Y] += 1; }}"""


def test_minus_zero_is_a_key_like_zero_and_another_text() -> None:
    as_keys = ZEROS.format(key="x DOUBLE", r="(-X)", s="Y")
    assert prove(check(parse(as_keys))).grain == "batch"
    as_texts = ZEROS.format(key="x STRING", r="CAST(-X AS STRING)", s="CAST(Y AS STRING)")
    assert not prove(check(parse(as_texts))).is_confluent
