"""What a plan calls final does not change: the rows of views in the serial interpreter, on random streams that keep what is declared.

``FINAL_VIEWS=2000`` looks at more random queries, and at as many conditions over aggregates; ``-s`` shows how many of these are final later than a
stream shows (it may be too short to show why)."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from random import Random

import pytest

from cumulus_ops.coordination.finality import lineage, monotone, trends, views
from cumulus_ops.coordination.finality.lineage import Carrier, Lineage
from cumulus_ops.coordination.finality.monotone import Growth, why_retracted
from cumulus_ops.coordination.finality.trends import COUNT, Known, Trend
from cumulus_ops.coordination.finality.views import Finality
from cumulus_ops.coordination.plan import AT_ONCE, COMMITTED, SEALED, SealOf, ViewPlan
from m3 import Interpreter, compile_views, format_program, parse
from m3.errors import CompileError, ValueProblem
from m3.program import Program
from m3.scalars import Call, Scalar, vars_of
from tests.fuzz.queries import make_query
from tests.fuzz.schema import RELATIONS, Event, Row, make_batches
from tests.support.doubles import DOUBLES
from tests.support.final_views import (
    ALL,
    MIXING,
    MONOTONE,
    NAMES,
    PARTITIONED,
    SEALS,
    history,
    plan_of,
    program_of,
    refutations,
)
from tests.support.sampling import sampled

QUERIES = int(os.environ.get("FINAL_VIEWS", "30"))
STREAMS = 3
#: (relations without deletes, whether values are sealed)
DECLARED = [((), True), (NAMES, True), (("clicks",), False)]


def wrong(*, forgetful: bool = False) -> Iterator[str]:
    """All that is called final, and changes; ``forgetful``: plans believe that nothing is deleted."""
    for sql, (insert_only, sealed) in itertools.product(ALL, DECLARED):
        plan = plan_of(sql, NAMES if forgetful else insert_only, SEALS if sealed else {})
        if plan.final != COMMITTED:
            for seed in range(STREAMS):
                yield from refutations(sql, plan, history(sql, seed, insert_only, sealed=sealed))


def test_what_is_final_does_not_change() -> None:
    assert not list(wrong())
    assert {plan_of(sql, NAMES, {}).final for sql in MONOTONE} == {AT_ONCE}
    assert {plan_of(sql, (), SEALS).final for sql in PARTITIONED} == {SEALED}
    assert {plan_of(sql, (), SEALS).final for sql in MIXING} == {COMMITTED}


@pytest.mark.parametrize("sql", ALL[::6])
def test_a_program_that_is_written_out_and_read_again_has_the_same_plan(sql: str) -> None:
    program = program_of(sql)
    again = parse(format_program(program))
    for insert_only, seals in ((NAMES, {}), ((), SEALS)):
        plans = [
            Finality(p, frozenset(insert_only), seals, frozenset({"v"}), Lineage(p)).of(p.view("v"))
            for p in (program, again)
        ]
        assert plans[0] == plans[1]


def own_whatever_is_read(self: lineage._Partitions, trigger: object, statement: object, found: object) -> lineage._Own:
    values, computed = (frozenset(self._of_event(trigger, found, computed=k)) for k in (False, True))  # type: ignore[arg-type]
    return lineage._Own(values, computed, exact=True)


_rises, _value = Growth._rises, trends._value


def _joined(_: object, args: list[Known]) -> Known:
    return Known(reduce(Trend.join, (k.trend for k in args)))


def _two_truths(trend: Trend, *, nullable: bool) -> trends.Turns:
    return frozenset(turn for turn in _of_trend(trend, nullable=nullable) if None not in turn or turn == (None, None))


_of_trend = trends._of_trend

#: A wrong analysis: what it does instead.
MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], object]] = {
    "totals count as fixed": lambda m: m.setattr(monotone, "COUNT", Known(Trend.FIXED)),
    "a count is never 0": lambda m: m.setattr(monotone, "COUNT", COUNT._replace(low=Fraction(1))),
    "what is added counts as positive": lambda m: m.setattr(monotone, "product_of", lambda _: COUNT),
    "NaN has a place on the other side of zero": lambda m: m.setattr(trends, "_ARITHMETIC", frozenset()),
    "less is as good as more": lambda m: m.setitem(trends._RULES, "lt", lambda node, args: trends._compare(node, args[::-1])),
    "what is unequal was not equal before": lambda m: m.setitem(trends._RULES, "ne", lambda *_: Known(Trend.RISING)),
    "LEAST passes over no NULL": lambda m: m.setitem(trends._RULES, "least", _joined),
    "the greatest of what falls has no NULL": lambda m: m.setitem(trends._RULES, "greatest", _joined),
    "all functions rise": lambda m: m.setattr(trends, "_function", _joined),
    "a divisor is positive": lambda m: m.setitem(trends._RULES, "div", lambda _, args: Known(args[0].trend)),
    "a dividend decides": lambda m: m.setitem(trends._RULES, "div", _joined),
    "truth values have no NULL": lambda m: m.setattr(trends, "_of_trend", _two_truths),
    "NOT keeps its direction": lambda m: m.setattr(trends, "_value", lambda op, truths: truths[0] if op == "not" else _value(op, truths)),
    "NULL turns round": lambda m: m.setitem(trends._RULES, "is_null", lambda *_: Known(Trend.RISING)),
    "rows that follow each other only grow": lambda m: m.setattr(Growth, "_follows", lambda *_: True),
    "rows may move to other keys": lambda m: m.setattr(monotone, "_are_moved", lambda trends, last: not trends or trends[-1] in (Trend.FIXED, last)),
    "rows may move either way": lambda m: m.setattr(monotone, "_are_moved", lambda trends, _: all(t is Trend.FIXED for t in trends[:-1])),
    "derived maps rise": lambda m: m.setattr(Growth, "_rises", lambda self, name, facts: name in self._derived or _rises(self, name, facts)),
    "groups stay": lambda m: m.setattr(Growth, "stays", staticmethod(lambda *_: True)),
    "what HAVING asks has come to rest": lambda m: m.setattr(monotone, "assume", lambda _, env: dict.fromkeys(env, trends.CONSTANT)),
    "more than 2 is 4": lambda m: m.setattr(trends, "_narrow", lambda env, variable, *_: env.update({variable.name: Known(Trend.RISING, Fraction(4))})),
    "nothing fails": lambda m: m.setattr(monotone, "_failures", lambda *_: iter(())),
    "any seal will do": lambda m: m.setattr(views.Finality, "_seal_on", _any_seal),
    "reads may be of other partitions": lambda m: m.setattr(lineage._Partitions, "own", own_whatever_is_read),
    "any key carries": lambda m: m.setattr(lineage._Partitions, "_written", lambda self, t, s, _, found: self.own(t, s, found) is not None),
    "every form is one to one": lambda m: m.setattr(lineage, "one_to_one", lambda scalar: len(vars_of(scalar)) == 1),
    "one form is as good as another": lambda m: m.setattr(lineage._Partitions, "_form_of", _any_form),
    "a key is the form of any other": lambda m: m.setattr(lineage._Partitions, "_is_formed", lambda *_: True),
    "COALESCE is its last": lambda m: m.setattr(lineage, "_name", _last_of_coalesce),
    "groups do not matter": lambda m: m.setattr(lineage._Partitions, "_derived", lambda *_: True),
    "all positions are alike": lambda m: m.setattr(lineage._Partitions, "_alike", lambda *_: True),
    "LIMIT does not matter": lambda m: m.setattr(views.Finality, "of", _unlimited),
}  # fmt: skip


def _any_seal(self: views.Finality, relation: str, carriers: dict[str, Carrier]) -> SealOf:
    seal = self.seals[relation][0]
    return SealOf(relation, seal.name, seal.columns, tuple(str(c.output) for c in carriers.values()))


def _any_form(self: lineage._Partitions, scalar: Scalar, equal: dict[str, str]) -> str | None:
    found = lineage._as_form(scalar)
    return None if found is None else _name(found[0], equal)


def _last_of_coalesce(scalar: Scalar, equal: dict[str, str]) -> str | None:
    return _name(scalar.args[-1] if isinstance(scalar, Call) and scalar.op == "coalesce" else scalar, equal)


_name = lineage._name
_of = views.Finality.of


def _unlimited(self: views.Finality, view: object) -> ViewPlan:
    return _of(self, replace(view, limit=None))  # type: ignore[type-var]


@pytest.mark.parametrize("mutant", sampled(MUTANTS, 4))
def test_a_wrong_analysis_is_refuted(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[mutant](monkeypatch)
    for user in (monotone, views):  # what was found before, rightly, is not what is asked here
        monkeypatch.setattr(user, "growth_of", monotone.Growth)
    assert next(wrong(), None) is not None


def test_forgotten_deletes_are_noticed() -> None:
    assert next(wrong(forgetful=True), None) is not None


def test_random_queries() -> None:
    """No row of a query that is said to be monotone is retracted, and what is said to be a partition is what its own events alone make."""
    judged: Counter[str] = Counter()
    for seed in range(QUERIES):
        made = make_query(seed)
        try:
            program = compile_views("p", RELATIONS, {"v": made.sql})
        except CompileError:
            continue
        events = [event for batch in make_batches(seed, made.tables, 3) for event in batch]
        judged.update(_judged(program, events, made.sql))
    assert judged["monotone"] >= QUERIES // 20
    assert judged["partitions"] >= QUERIES // 20


def test_random_conditions_over_aggregates() -> None:
    """HAVING over extremes, counts and sums, of DOUBLEs too: no group that once meets it is lost, if the plan says so."""
    judged: Counter[str] = Counter()
    for seed in range(QUERIES):
        sql = f"SELECT id FROM clicks GROUP BY id HAVING {_condition(Random(seed), 2)}"
        try:
            plan = plan_of(sql, NAMES, {})
        except CompileError:
            continue
        moments = history(sql, seed, NAMES, sealed=False)
        refuted = next(refutations(sql, replace(plan, final=AT_ONCE), moments), None)
        assert refuted is None or plan.final != AT_ONCE
        shown = any(m.rows for m in moments)
        judged[plan.final if refuted is None and shown else "refuted or without rows"] += 1
    print(
        f"conditions of which a stream refutes nothing: {judged[AT_ONCE]} at once, {judged[COMMITTED]} with their epoch"
    )
    assert judged[AT_ONCE] >= QUERIES // 20


def _condition(random: Random, depth: int) -> str:
    form = random.randrange(8) if depth else 0
    if form >= 6:
        return f"NOT ({_condition(random, depth - 1)})"
    if form == 5:
        return f"({_number(random, depth - 1)}) IS {random.choice(('', 'NOT '))}NULL"
    if form >= 3:
        word = random.choice((" AND ", " OR "))
        return f"({_condition(random, depth - 1)}{word}{_condition(random, depth - 1)})"
    return f"{_number(random, depth)} {random.choice(('<', '<=', '>', '>=', '='))} {_number(random, 0)}"


def _number(random: Random, depth: int) -> str:
    if not depth or random.random() < 0.4:
        doubles = ("MAX(x)", "MIN(x)", *(f"CAST('{v}' AS DOUBLE)" for v in DOUBLES))
        return random.choice(
            (*doubles, "COUNT(*)", "COUNT(x)", "MAX(price)", "MIN(price)", "SUM(price)", "0", "1", "2")
        )
    a, b = _number(random, depth - 1), _number(random, depth - 1)
    forms = ("-({a})", "({a} + {b})", "({a} - {b})", "({a} * {b})", "COALESCE({a}, {b})", "CAST({a} AS DOUBLE)")
    case = "CASE WHEN {c} THEN {a} ELSE {b} END"
    return random.choice((*forms, case)).format(a=a, b=b, c=_condition(random, 0))


def _judged(program: Program, events: list[Event], sql: str) -> Iterator[str]:
    view = program.view("v")
    if why_retracted(Growth(program, frozenset(program.relation_by_name)), view) is None:
        _check_monotone(program, [e for e in events if e[0] > 0], sql)
        yield "monotone"
    for carrier in [c for c in Lineage(program).carriers(view) if c.output is not None][:3]:
        _check_partitions(program, carrier, events, sql)
        yield "partitions"


def _check_monotone(program: Program, events: list[Event], sql: str) -> None:
    interpreter, before = Interpreter(program), Counter[Row]()
    for sign, relation, row in events:
        interpreter.apply(sign, relation, row)
        now = Counter(interpreter.view_rows("v", ordered=False))
        assert not before - now, f"retracted from {sql}"
        before = now


def _check_partitions(program: Program, carrier: Carrier, events: list[Event], sql: str) -> None:
    """The rows of a value are those that the value's events alone make."""
    output = [c.name for c in program.view("v").visible].index(str(carrier.output))
    at = {r: [c.name for c in program.relation_by_name[r].columns].index(c) for r, c in carrier.columns.items()}
    whole, parts = Interpreter(program), dict[object, Interpreter]()
    for number, (sign, relation, row) in enumerate(events):
        if relation in at:
            whole.apply(sign, relation, row)
            parts.setdefault(row[at[relation]], Interpreter(program)).apply(sign, relation, row)
        if number in (len(events) // 2, len(events) - 1):
            for value, part in parts.items():
                _check_rows(whole, part, output, value, sql)


def _check_rows(whole: Interpreter, part: Interpreter, output: int, value: object, sql: str) -> None:
    try:
        found = Counter(r for r in whole.view_rows("v", ordered=False) if r[output] == value)
        alone = Counter(r for r in part.view_rows("v", ordered=False) if r[output] == value)
    except ValueProblem:
        return  # in error as a whole: read by nobody
    assert found == alone, f"{value} of column {output} of {sql}"
