"""The rules of the language, each with a program that breaks it."""

from __future__ import annotations

import dataclasses

import pytest

from m3 import ProgramError, check, compile_views, parse, restricted_violations
from m3.datatypes import INT, STRING
from m3.program import Column, OutputColumn, View, ViewValue
from m3.scalars import Var, const
from tests.unit.m3.tpch import RELATIONS, VIEWS

HEAD = """RELATION R(a INT, b DECIMAL(5, 2) NULL, s STRING);
MAP m[a INT] : DECIMAL(38, 2);
MAP n[a INT, x INT] : INT;
MAP c[] : INT;
"""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ON +R(a, b, s) { m[s] += 1 }", "type-mismatch"),
        ("ON +R(a, b, s) { m[a, a] += 1 }", "wrong-arity"),
        ("ON +R(a, b, s) { m[a] += n[s, x] }", "type-mismatch"),
        ("ON +R(a, b, s) { m[a] += b }", "nullable-factor"),
        ("ON +R(a, b, s) { m[a] += IF NOT b IS NULL THEN b * b ELSE 0 }", "scale"),
        ("ON +R(a, b, s) { c[] += IF NOT b IS NULL THEN b ELSE 0 }", "scale"),
        ("ON +R(a, b, s) { m[a] += IF a THEN 1 ELSE 0 }", "type-mismatch"),
        ("ON +R(a, b, s) { m[a] += s }", "type-mismatch"),
        ("ON +R(a, b, s) { m[COALESCE(a, NULL :: INT)] += n[a, (CAST(b AS INT))] * n[x, a] }", None),
        ("ON +R(a, b, s) { m[CAST(b AS INT)] += 1 }", "nullable-key"),
        ("ON +R(a, b, s) { m[CAST(b AS INT)] += IF NOT b IS NULL THEN 1 ELSE 0 }", None),
        ("ON +R(a, a, s) { m[a] += 1 }", "duplicate-name"),
        ("ON +R(a, b, s) { m[a] += 1 } ON +R(a, b, s) { m[a] += 1 }", "duplicate-name"),
        ("MAP m[] : INT;", "duplicate-name"),
        ("MAP k[] : STRING;", "type-mismatch"),
        ("RELATION S(a INT) KEY (b);", "unknown-column"),
        ("VIEW v[a INT] VALUES x = m, y = c COLUMNS a = a;", "type-mismatch"),
        ("VIEW v[a INT] VALUES a = m COLUMNS a = a;", "duplicate-name"),
        ("VIEW v[a INT] VALUES x = m COLUMNS a = a ORDER BY 2;", "bad-ordinal"),
        ("VIEW v[a INT] VALUES x = m EXISTS m COLUMNS a = a;", "type-mismatch"),
        ("VIEW v[a INT] VALUES x = m COLUMNS a = a, r = x / 2 HAVING x > 1 AND a < 5 ORDER BY 2 DESC, 1 LIMIT 3 SQL 'x';", None),
        ("VIEW v[a INT] LISTS l = LIST(n[a] ORDER DESC NULLS LAST LIMIT 3) DISTINCT EMPTY EXISTS n2 COLUMNS a = a, l = l; MAP n2[a INT] : INT;", None),
        ("VIEW v[a INT] VALUES x = m LISTS l = LIST(m[a]) COLUMNS l = l;", "wrong-arity"),
        ("VIEW v[a STRING] VALUES x = p LISTS l = LIST(n[a]) COLUMNS l = l; MAP p[a STRING] : INT;", "type-mismatch"),
        ("VIEW v[a INT] VALUES x = m LISTS l = LIST(n[x]) COLUMNS l = l;", "type-mismatch"),
        ("VIEW v[a INT] VALUES x = m LISTS l = LIST(m[]) COLUMNS l = l;", "type-mismatch"),
        ("VIEW v[a INT] VALUES x = m LISTS x = LIST(n[a]) COLUMNS x = x;", "duplicate-name"),
        ("VIEW v[a INT] VALUES x = m LISTS l = LIST(n[]) DISTINCT COLUMNS l = l;", "bad-view"),
        ("VIEW v[a INT] VALUES x = m LISTS l = LIST(n[a] LIMIT 0) COLUMNS l = l;", "bad-view"),
        ("VIEW v[a INT] VALUES x = m LISTS l = LIST(n[a]) COLUMNS l = COALESCE(l, l);", "list-in-expression"),
        ("VIEW v[a INT] VALUES x = m LISTS l = LIST(n[a]) COLUMNS b = l IS NULL;", "list-in-expression"),
        ("VIEW v[a INT] VALUES x = m LISTS l = LIST(n[a]) COLUMNS l = l ORDER BY 1;", "list-in-expression"),
    ],
)  # fmt: skip
def test_rules(text, kind):
    if kind is None:
        check(parse(HEAD + text))
        return
    with pytest.raises(ProgramError) as caught:
        check(parse(HEAD + text))
    assert caught.value.kind == kind
    assert caught.value.hint
    if text.startswith("ON") and kind != "duplicate-name":
        assert caught.value.span is not None
        assert caught.value.span.line == 5


def test_programs_built_by_hand_are_checked_too():
    program = parse(HEAD + "ON +R(a, b, s) { m[x] += n[a, x] }")
    statement = program.triggers[0].statements[0]

    def with_statement(**changes):
        trigger = dataclasses.replace(program.triggers[0], statements=(dataclasses.replace(statement, **changes),))
        return dataclasses.replace(program, triggers=(trigger,))

    for changes, kind in [
        ({"target": "zz"}, "unknown-map"),
        ({"keys": (Var("y", INT),)}, "unbound-variable"),
        ({"keys": (Var("x", STRING),)}, "type-mismatch"),
        ({"keys": (Var("x", INT.with_null()),)}, "type-mismatch"),
        ({"conditions": (const(1),)}, "type-mismatch"),
    ]:
        with pytest.raises(ProgramError) as caught:
            check(with_statement(**changes))
        assert caught.value.kind == kind
    view = View("v", (Column("k", INT),), (ViewValue("x", "m"),), None, (OutputColumn("o", Var("zz", INT)),))
    with pytest.raises(ProgramError, match="zz"):
        check(dataclasses.replace(program, views=(view,)))
    with pytest.raises(ProgramError, match="semantics"):
        check(dataclasses.replace(program, semantics="eventual"))


def test_restricted_violations():
    text = HEAD + "ON +R(a, b, s) { c[] += n[a, x]; m[x] += n[a, x] * n[x, a]; m[x] += IF x < 3 THEN n[a, x] ELSE 0 }"
    found = [(v.statement, v.rule) for v in restricted_violations(check(parse(text)))]
    assert found == [(0, "loop-not-in-target"), (1, "loop-in-many-maps"), (2, "loop-condition")]


def test_sql_is_restricted_except_where_keys_prove_a_lookup_cheaper():
    assert restricted_violations(compile_views("p", RELATIONS, VIEWS, restricted=True)) == []
    lookups = {
        name: {v.event[1:] for v in restricted_violations(compile_views("p", RELATIONS, {name: sql}))}
        for name, sql in VIEWS.items()
    }
    assert lookups == {
        "q1": set(),
        "q3": {"lineitem"},  # its order, and that one's customer
        "q5": {"customer", "orders", "lineitem", "supplier"},
        "q6": set(),
        "q10": {"orders", "lineitem"},
        "example": {"lineitem"},
    }
    keyless = [dataclasses.replace(r, key=()) for r in RELATIONS]
    assert restricted_violations(compile_views("p", keyless, VIEWS)) == []


@pytest.mark.parametrize(
    ("semantics", "statements", "kind"),
    [
        ("SNAPSHOT", "a[x] += AFTER b[x]; b[x] += a[x];", "after-cycle"),
        ("SNAPSHOT", "a[x] += AFTER a[x];", "after-cycle"),
    ],
)
def test_after_needs_a_map_that_is_finished(semantics, statements, kind):
    text = f"PROGRAM p SEMANTICS {semantics}; RELATION r(x INT); MAP a[x INT] : INT; MAP b[x INT] : INT; "
    with pytest.raises(ProgramError) as caught:
        check(parse(f"{text} ON +r(x) DO {{ {statements} }}"))
    assert caught.value.kind == kind
