"""Programs made slightly different: a coefficient, a sign, a read, a key or a condition of one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from m3 import check
from m3.datatypes import BOOL, INT
from m3.errors import M3Error
from m3.program import START, Factor, MapRef, Program, Statement, Trigger
from m3.scalars import Call, Const, Scalar, Var, const

__all__ = ["mutated"]


@st.composite
def mutated(draw: st.DrawFn, program: Program, most: int = 2) -> Program:
    """The program with one to ``most`` changes; still one that the checker accepts."""
    for _ in range(draw(st.integers(1, most))):
        found = [t for t in program.triggers if t.statements and t.relation != START]
        if not found:
            return program
        trigger = draw(st.sampled_from(found))
        place = draw(st.integers(0, len(trigger.statements) - 1))
        mirror = draw(st.booleans())  # the same change of the deletes, if they have such a statement
        kind = draw(st.sampled_from([_coefficient, _after, _read, _key, _condition, _target, _left_out]))
        changed = kind(draw, program, trigger, trigger.statements[place])
        triggers = [_changed(t, trigger, place, changed, mirror) for t in program.triggers]
        program = _accepted(replace(program, triggers=tuple(triggers)), program)
    return program


def _accepted(program: Program, otherwise: Program) -> Program:
    try:
        return check(program)
    except M3Error:
        return otherwise


def _changed(trigger: Trigger, chosen: Trigger, place: int, changed: tuple[Statement, ...], mirror: bool) -> Trigger:
    """The chosen trigger with its statement replaced; mirrored, its counterpart, too, times -1."""
    if trigger is chosen:
        return _replaced(trigger, place, changed)
    opposite = (trigger.relation, trigger.sign) == (chosen.relation, -chosen.sign) and trigger.params == chosen.params
    if mirror and opposite and place < len(trigger.statements):
        return _replaced(trigger, place, tuple(_negated(s) for s in changed))
    return trigger


def _replaced(trigger: Trigger, place: int, statements: Sequence[Statement]) -> Trigger:
    return replace(trigger, statements=(*trigger.statements[:place], *statements, *trigger.statements[place + 1 :]))


def _negated(statement: Statement) -> Statement:
    return replace(statement, factors=(const(-1), *statement.factors))


def _coefficient(draw: st.DrawFn, _: Program, trigger: Trigger, statement: Statement) -> tuple[Statement, ...]:
    factor = draw(st.sampled_from([const(-1), const(2), *_integers(trigger)]))
    return (replace(statement, factors=(factor, *statement.factors)),)


def _integers(trigger: Trigger) -> Iterator[Scalar]:
    seen = {v for s in trigger.statements for v in _variables(s)}
    yield from (v for v in sorted(seen, key=lambda v: v.name) if v.type == INT and v.name in trigger.params)


def _variables(statement: Statement) -> Iterator[Var]:
    scalars: list[Scalar] = [*statement.keys, *statement.scalars(), *statement.conditions]
    scalars += [k for ref in statement.reads() for k in ref.keys]
    while scalars:
        scalar = scalars.pop()
        if isinstance(scalar, Var):
            yield scalar
        elif isinstance(scalar, Call):
            scalars += scalar.args


def _after(draw: st.DrawFn, _: Program, __: Trigger, statement: Statement) -> tuple[Statement, ...]:
    return (_with_reads(statement, lambda ref: replace(ref, after=not ref.after) if draw(st.booleans()) else ref),)


def _with_reads(statement: Statement, change: object) -> Statement:
    factors: list[Factor] = [change(f) if isinstance(f, MapRef) else f for f in statement.factors]  # type: ignore[operator]
    return replace(statement, factors=tuple(factors))


def _read(draw: st.DrawFn, program: Program, _: Trigger, statement: Statement) -> tuple[Statement, ...]:
    """Another map of the same keys read instead, or one more."""

    def other(ref: MapRef) -> MapRef:
        mine = [k.type for k in program.map_by_name[ref.map].keys]
        alike = [m.name for m in program.maps if [k.type for k in m.keys] == mine]
        return replace(ref, map=draw(st.sampled_from(alike)))

    if draw(st.booleans()):
        return (_with_reads(statement, other),)
    single = [m.name for m in program.maps if not m.keys]
    return (
        (replace(statement, factors=(*statement.factors, MapRef(draw(st.sampled_from(single)), ()))),)
        if single
        else (statement,)
    )


def _key(draw: st.DrawFn, _: Program, trigger: Trigger, statement: Statement) -> tuple[Statement, ...]:
    """One variable instead of another, in a key of the target or of a read."""
    known = sorted({v for s in trigger.statements for v in _variables(s)}, key=lambda v: v.name)
    if not known:
        return (statement,)
    old = draw(st.sampled_from(known))
    new: Scalar = draw(st.sampled_from([v for v in known if v.type == old.type]))

    def keys(given: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return tuple(new if k == old else k for k in given)

    if draw(st.booleans()):
        return (replace(statement, keys=keys(statement.keys)),)
    return (_with_reads(statement, lambda ref: replace(ref, keys=keys(ref.keys))),)


def _condition(draw: st.DrawFn, _: Program, trigger: Trigger, statement: Statement) -> tuple[Statement, ...]:
    if draw(st.booleans()) and statement.conditions:
        return (replace(statement, conditions=statement.conditions[1:]),)
    numbers = [v for v in _variables(statement) if v.type == INT]
    if not numbers:
        return (statement,)
    first = draw(st.sampled_from(numbers))
    others: list[Scalar] = [*numbers, Const(draw(st.integers(0, 2)), INT)]
    second = draw(st.sampled_from(others))
    comparison = draw(st.sampled_from(["lt", "le", "eq", "ne", "same"]))
    return (replace(statement, conditions=(*statement.conditions, Call(comparison, (first, second), BOOL))),)


def _target(draw: st.DrawFn, program: Program, _: Trigger, statement: Statement) -> tuple[Statement, ...]:
    mine = program.map_by_name[statement.target]
    alike = [
        m.name for m in program.maps if (m.value, [k.type for k in m.keys]) == (mine.value, [k.type for k in mine.keys])
    ]
    return (replace(statement, target=draw(st.sampled_from(alike))),)


def _left_out(draw: st.DrawFn, _: Program, __: Trigger, statement: Statement) -> tuple[Statement, ...]:
    return () if draw(st.booleans()) else (statement, statement)
