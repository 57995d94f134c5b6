"""M3 text: Figure 1's forms, exact round trips, and errors that say what was expected."""

from __future__ import annotations

import datetime
from decimal import Decimal
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3 import M3Error, ProgramError, SyntaxProblem, check, format_program, parse
from m3.datatypes import BOOL, DATE, INT, INT64_MAX, STRING, TIMESTAMP, Type, decimal
from m3.program import Column, MapDecl, MapRef, Program, Relation, Statement, Trigger
from m3.scalars import Call, Const, Scalar, Var, call, const

EXAMPLE_2_1 = """
RELATION LINEITEMS(OID INT, PRICE DECIMAL(15, 2));
RELATION ORDERS(CID INT, OID INT, DISCOUNT DECIMAL(15, 2));
RELATION CUSTOMERS(CID INT, NATION STRING);
MAP q[NATION STRING] : DECIMAL(38, 4);  -- the result
MAP m1[OID INT, NATION STRING] : DECIMAL(38, 2);
MAP m2[CID INT] : DECIMAL(38, 4) MEANING 'per customer''s id';
MAP m3[CID INT, OID INT] : DECIMAL(38, 2);
MAP m4[OID INT] : DECIMAL(38, 2);
MAP m5[CID INT, NATION STRING] : INT;
ON Insert_LINEITEMS(OID, PRICE) DO {
  q[NATION] += m1[OID, NATION] * PRICE;
  m2[CID] += m3[CID, OID] * PRICE;
  m4[OID] += PRICE }
ON Insert_ORDERS(CID, OID, DISCOUNT) DO {
  q[NATION] += DISCOUNT * m4[OID] * m5[CID, NATION];
  m1[OID, NATION] += DISCOUNT * m5[CID, NATION];
  m2[CID] += DISCOUNT * m4[OID];
  m3[CID, OID] += DISCOUNT }
ON Insert_CUSTOMERS(CID, NATION) DO {
  q[NATION] += m2[CID];
  m1[OID, NATION] += m3[CID, OID];
  m5[CID, NATION] += 1 }
"""


def test_the_papers_example_reads_and_round_trips():
    program = check(parse(EXAMPLE_2_1))
    assert (program.name, program.semantics) == ("m3", "sequential")
    assert [t.event for t in program.triggers] == ["+LINEITEMS", "+ORDERS", "+CUSTOMERS"]
    assert parse(format_program(program)) == program


def test_spans_point_at_statements_and_reads():
    statement = parse(EXAMPLE_2_1, "paper.m3").triggers[0].statements[0]
    assert str(statement.span) == "paper.m3:12:3"
    assert str(next(statement.reads()).span) == "paper.m3:12:16"


HEAD = "RELATION R(a INT, b DECIMAL(5, 2) NULL); MAP m[a INT] : DECIMAL(38, 4); MAP n[a INT, x INT] : INT;\n"


def one(statement: str) -> Statement:
    return parse(HEAD + "ON +R(a, b) DO { " + statement + " }").triggers[0].statements[0]


def test_conditional_forms_mean_the_same():
    figure_1 = one("m[a] += IF a <= 3 AND NOT b IS NULL THEN b ELSE 0")
    assert one("IF a <= 3 AND b IS NOT NULL THEN m[a] += b") == figure_1
    assert len(figure_1.conditions) == 2
    nested = one("m[a] += IF a <= 3 THEN IF b IS NOT NULL THEN b ELSE 0 ELSE 0")
    assert nested == figure_1


def test_parentheses_decide_what_is_one_factor():
    assert len(one("m[a] += a * 2").factors) == 2
    assert one("m[a] += (a * 2)").factors == (call("mul", Var("a", INT), const(2)),)
    assert one("m[a] += 1").factors == ()
    assert one("m[a] += (1)").factors == (const(1),)
    assert one("m[a] -= n[a, x]").factors[0] == const(-1)


def test_loop_variables_take_the_type_of_the_map_that_binds_them():
    assert one("m[x] += n[a, x]").keys == (Var("x", INT),)


@pytest.mark.parametrize(
    ("text", "kind", "line", "column"),
    [
        (HEAD + "ON +R(a, b) { m[a b] += 1 }", "m3-syntax", 2, 19),
        (HEAD + "ON +R(a, b) { m[a] += 1", "m3-syntax", 2, 24),
        (HEAD + "ON +R(a, b) { m[a] += # }", "m3-syntax", 2, 23),
        (HEAD + "ON +R(a, b) { k[a] += 1 }", "unknown-map", 2, 15),
        (HEAD + "ON +R(a, b) { m[a] += k[a] }", "unknown-map", 2, 23),
        (HEAD + "ON +R(a, b) { m[a] += n[a] }", "wrong-arity", 2, 23),
        (HEAD + "ON +R(a, b) { m[y] += 1 }", "unbound-variable", 2, 17),
        (HEAD + "ON +R(a, b) { m[a] += (a + 'x') }", "type-mismatch", 2, 24),
        (HEAD + "ON +R(a) { m[a] += 1 }", "wrong-arity", 2, 5),
        (HEAD + "ON Update_R(a, b) { m[a] += 1 }", "unknown-relation", 2, 4),
        (HEAD + "ON +R(a, b) { m[a] += IF a = 1 THEN 1 ELSE 2 }", "m3-syntax", 2, 44),
        (HEAD + "ON +R(a, b) { m[a] += (GAMM(a)) }", "unknown-function", 2, 24),
        (HEAD + "ON +R(a, b) { m[a] += IF b = DATE '1994-13-01' THEN 1 ELSE 0 }", "bad-literal", 2, 30),
    ],
)
def test_errors_have_their_place(text, kind, line, column):
    with pytest.raises(M3Error) as caught:
        parse(text, "t.m3")
    error = caught.value
    assert (error.kind, error.span.line, error.span.column, error.span.file) == (kind, line, column, "t.m3")
    assert error.hint


def test_syntax_errors_say_what_was_expected():
    with pytest.raises(SyntaxProblem, match=r"unexpected 'b'.*\n.*expected '\)', ',' or 'NULL'"):
        parse("RELATION R(a INT b INT);")
    with pytest.raises(SyntaxProblem, match=r"unexpected 'INT'.*\n.*'\(' or '\['|expected '\('"):
        parse("RELATION R INT;")
    with pytest.raises(SyntaxProblem, match="the text ends too early"):
        parse("MAP m[a INT] :")
    with pytest.raises(ProgramError, match="out of range"):
        parse("MAP m[a INT] : DECIMAL(99, 2);")


# Random scalars of every operation, for the exact round trip.

PARAMS = {"i": INT, "d": decimal(10, 2), "dn": decimal(7, 3).with_null(), "s": STRING, "t": DATE, "ts": TIMESTAMP,
          "bo": BOOL, "select": INT.with_null(), "a b": STRING.with_null(), "case": INT, "year": DATE}  # fmt: skip
VARIABLES = [Var(n, t) for n, t in PARAMS.items()]


@cache
def leaves(kind: str) -> st.SearchStrategy[Scalar]:
    literals: dict[str, st.SearchStrategy[object]] = {
        "int": st.integers(-1000, 1000) | st.just(INT64_MAX),
        "decimal": st.decimals(-999, 999, places=2),
        "string": st.text(max_size=4),
        "date": st.dates(datetime.date(1000, 1, 1)),
        "timestamp": st.datetimes(datetime.datetime(1000, 1, 1)),
        "bool": st.booleans(),
    }
    null = Type(kind, 6, 2) if kind == "decimal" else Type(kind)
    odd = st.just(Const(Decimal("0.05"), decimal(9, 2))) if kind == "decimal" else st.nothing()
    variables = st.sampled_from([v for v in VARIABLES if v.type.kind == kind])
    return st.one_of(literals[kind].map(const), variables, st.just(Const(None, null.with_null())), odd)


@cache
def scalars(kind: str, depth: int = 3) -> st.SearchStrategy[Scalar]:
    if depth == 0:
        return leaves(kind)
    sub = {k: scalars(k, depth - 1) for k in ("int", "decimal", "string", "date", "bool")}
    number = sub["int"] | sub["decimal"]
    options: dict[str, list[st.SearchStrategy[Scalar]]] = {
        "int": [
            st.builds(call, st.sampled_from(["year", "month", "day"]), sub["date"]),
            st.builds(call, st.sampled_from(["add", "sub", "mul"]), sub["int"], sub["int"]),
            st.builds(lambda a: call("neg", a), sub["int"]),
            st.builds(lambda a: call("cast", a, to=INT), sub["decimal"] | sub["string"]),
            st.builds(lambda c, a, b: call("case", c, a, b), sub["bool"], sub["int"], sub["int"]),
        ],
        "decimal": [
            st.builds(call, st.sampled_from(["add", "sub", "mul"]), sub["decimal"], number),
            st.builds(lambda a, b: call("div", a, b), number, number),
            st.builds(lambda a, b: Call("div", (a, b), decimal(20, 6)), number, number),
            st.builds(lambda a: call("cast", a, to=decimal(12, 4)), number),
            st.builds(lambda a, b: call("coalesce", a, b), sub["decimal"], sub["decimal"]),
        ],
        "string": [
            st.builds(lambda a: call("substring", a, const(1), const(2)), sub["string"]),
            st.builds(call, st.sampled_from(["upper", "lower"]), sub["string"]),
            st.builds(lambda *a: call("concat", *a), sub["string"], sub["string"], sub["string"]),
        ],
        "bool": [
            st.builds(call, st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]), number, number),
            st.builds(call, st.sampled_from(["and", "or"]), sub["bool"], sub["bool"], sub["bool"]),
            st.builds(lambda a: call("not", a), sub["bool"]),
            st.builds(lambda a: call("is_null", a), st.one_of(*sub.values())),
            st.builds(lambda a: call("in", a, const("x"), const("it's")), sub["string"]),
            st.builds(lambda a: call("like", a, const("%a_")), sub["string"]),
            st.builds(lambda a, b: call("eq", a, b), sub["bool"], sub["bool"]),
        ],
        "date": [st.builds(lambda a: call("cast", a, to=DATE), sub["string"])],
    }
    return st.one_of(leaves(kind), *options[kind])


MAPS = (
    MapDecl("q", (Column("k", STRING.with_null()), Column("i", INT)), decimal(38, 20), "it's a\nmeaning"),
    MapDecl("map", (Column("i", INT.with_null()), Column("z", STRING)), INT),
)
RELATION = Relation("weird relation", tuple(Column(n, t) for n, t in PARAMS.items()), ("i", "a b"))


@settings(deadline=None)
@given(st.data())
def test_random_statements_round_trip_exactly(data):
    key = data.draw(scalars("string", 2))
    factors = data.draw(st.lists(scalars("decimal", 3) | scalars("int", 2), max_size=2))
    conditions = data.draw(st.lists(scalars("bool", 3), max_size=3))
    read = MapRef("map", (Var("select", PARAMS["select"]), Var("z", STRING)))
    statement = Statement("q", (key, Var("i", INT)), (*factors, read), tuple(conditions))
    trigger = Trigger(-1, RELATION.name, tuple(PARAMS), (statement, Statement("map", (Var("i", INT), key), ())))
    program = Program("p", "snapshot", (RELATION,), MAPS, (trigger,))
    assert parse(format_program(program)) == program
