"""Time, as programs know it: a relation of ticks, and derivations whose rows now() passes.

**Time is an event** (decision 56). A tick is a row of the relation :data:`CLOCK`; now is the greatest one, and NULL before the first.
So now is a function of the events that count, as everything else that a program computes. Ticks are never deleted by events. A derivation that reads it as an input of
kind ``now`` has one row per group for as long as comparisons of the group's keys with now hold::

    DERIVE clicks_now[at, url] FROM n = clicks_now_n, now = NOW(ticks)
      COUNT CASE WHEN at > ADD_DAYS(now, -7) THEN n ELSE 0 END;

When now goes on, the groups change whose key lies between the two values of what it is compared with, and no others:
:func:`read_passings` says which keys these are.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from m3.datatypes import TIMESTAMP
from m3.errors import ProgramError
from m3.evaluate import Value, evaluate
from m3.program import Column, Derivation, Derived, Input, Relation
from m3.scalars import Call, Const, Scalar, Var, conjuncts, variables

__all__ = ["CLOCK", "CLOCK_RELATION", "NOW_INPUT", "Passing", "find_clock", "read_passings"]

#: The relation of ticks, where a program has one, and its columns.
CLOCK = "clock_ticks"
CLOCK_RELATION = Relation(CLOCK, (Column("at", TIMESTAMP),))
#: What the input of derivations is called that is now, if the name is free.
NOW_INPUT = "now"


@dataclass(frozen=True)
class Passing:
    """A group is there while its key number ``place`` compares by ``op`` (``lt``, ``le``, ``gt``, ``ge``) with ``bound``, over the
    variable ``now``."""

    place: int
    op: str
    bound: Scalar
    now: str

    def bound_at(self, moment: datetime.datetime) -> Value:
        """What the key is compared with at a time; None if that has no value."""
        return evaluate(self.bound, {self.now: moment})


def find_clock(derived: Derived) -> Input | None:
    """The input of a derivation that is now; None if it has none."""
    inputs = derived.inputs if isinstance(derived, Derivation) else ()
    return next((given for given in inputs if given.kind == "now"), None)


def read_passings(derived: Derivation) -> tuple[Passing, ...]:
    """The comparisons with now that a derivation's rows depend on.

    >>> from m3.scalars import call, const
    >>> at, now, n = Var("at", TIMESTAMP), Var("now", TIMESTAMP), Input("n", "m")
    >>> count = call("case", call("gt", at, call("add_days", now, const(-7))), Var("n", const(1).type), const(0))
    >>> week = Derivation("d", ("at",), (n, Input("now", "ticks", "now")), (), count)
    >>> [(p.place, p.op, p.bound_at(datetime.datetime(2024, 1, 8))) for p in read_passings(week)]
    [(0, 'gt', datetime.datetime(2024, 1, 1, 0, 0))]

    Raises:
        ProgramError: its rows depend on now in another way.
    """
    given = find_clock(derived)
    if given is None:
        return ()
    count = derived.count
    hint = "COUNT CASE WHEN key > bound of now AND .. THEN .. ELSE 0 END"
    problem = ProgramError(f"derivation {derived.map}: now in another place", kind="bad-now", hint=hint)
    if not (isinstance(count, Call) and count.op == "case" and len(count.args) == 3 and _is_zero(count.args[2])):
        raise problem
    elsewhere = [count.args[1], *(o.expression for o in derived.outputs)]
    found = []
    for condition in conjuncts(count.args[0]):
        read = _read_passing(derived, condition, given.name)
        if read is None:
            elsewhere.append(condition)
        else:
            found.append(read)
    if not found or any(given.name in variables(s) for s in elsewhere):
        raise problem
    return tuple(found)


def _is_zero(scalar: Scalar) -> bool:
    return isinstance(scalar, Const) and scalar.value == 0


def _read_passing(derived: Derivation, condition: Scalar, now: str) -> Passing | None:
    if not (isinstance(condition, Call) and condition.op in ("lt", "le", "gt", "ge")):
        return None
    key, bound = condition.args
    if not (isinstance(key, Var) and key.name in derived.keys and set(variables(bound)) == {now}):
        return None
    return Passing(derived.keys.index(key.name), condition.op, bound, now)
