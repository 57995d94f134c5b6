"""When a statement reads: before what its own event adds to the map, or after it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from m3.program import Factor, MapRef, Program, Statement, Trigger

__all__ = ["Between", "as_snapshot", "moments", "reads_between"]


class Between(Exception):
    """A statement of a sequential program reads a map in the middle of what its trigger adds to it."""


def moments(trigger: Trigger, index: int, *, sequential: bool) -> list[bool]:
    """For each read of a trigger's statement, whether it sees all that the trigger itself adds to the map; else it sees nothing of it.

    Raises:
        Between: a statement of a sequential program sees some of it.
    """
    statement = trigger.statements[index]
    if not sequential:
        return [ref.after for ref in statement.reads()]
    return [_sees_own(trigger, index, ref.map) for ref in statement.reads()]


def reads_between(trigger: Trigger, index: int, *, sequential: bool) -> bool:
    """Whether a statement sees some of what its trigger adds to a map, and not all."""
    try:
        moments(trigger, index, sequential=sequential)
    except Between:
        return True
    return False


def _sees_own(trigger: Trigger, index: int, name: str) -> bool:
    before = [i < index for i, s in enumerate(trigger.statements) if s.target == name]
    if any(before) and not all(before):
        raise Between
    return any(before)


def as_snapshot(program: Program) -> Program:
    """The program with snapshot semantics: what a statement of a sequential trigger reads after earlier ones have written it, it reads
    AFTER the event. So all events of a batch can be taken at once.

    >>> from m3 import format_program, parse
    >>> text = "PROGRAM p SEMANTICS SEQUENTIAL; RELATION R(a INT); MAP n[] : INT; MAP q[] : INT; ON +R(a) { n[] += 1; q[] += n[] }"
    >>> print(format_program(as_snapshot(parse(text))).splitlines()[-2].strip())
    q[] += AFTER n[];

    Raises:
        Between: see :func:`moments`. No program has such a statement whose events :func:`m3.confluence.prove` finds to be summable.
    """
    if program.semantics == "snapshot":
        return program
    triggers = (
        replace(t, statements=tuple(_statement(s, moments(t, i, sequential=True)) for i, s in enumerate(t.statements)))
        for t in program.triggers
    )
    return replace(program, semantics="snapshot", triggers=tuple(triggers))


def _statement(statement: Statement, times: Iterable[bool]) -> Statement:
    left = iter(times)
    factors: list[Factor] = [replace(f, after=next(left)) if isinstance(f, MapRef) else f for f in statement.factors]
    return replace(statement, factors=tuple(factors))
