"""One statement for one event, in two halves: **what it reads**, and **what it contributes**, given what was read.

The serial interpreter looks a statement's maps up where they are. Where they are spread over machines, what is read
travels first: a **slice** of each map, the entries whose keys agree with what the event says. Both then compute the same:

>>> from m3 import parse
>>> program = parse("RELATION R(a INT); MAP m1[b INT] : INT; MAP m2[a INT, b INT] : INT; ON +R(a) { m1[b] += m2[a, b] }")
>>> trigger = program.triggers[0]
>>> [(s.map, s.path, s.bound({"a": 7})) for s in slices_read(trigger.statements[0], trigger.params)]
[('m2', (0,), (7,))]
>>> contribution(program, trigger.statements[0], {"a": 7}, [{(7, 1): 10, (7, 2): 20}])
{(1,): 10, (2,): 20}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from m3.collected import rank
from m3.datatypes import to_units
from m3.errors import ValueProblem
from m3.evaluate import Value, evaluate
from m3.program import Factor, MapRef, Program, Statement, Trigger
from m3.scalars import Scalar, Var, variables

__all__ = [
    "Between",
    "Env",
    "Key",
    "Lookup",
    "SliceRead",
    "as_snapshot",
    "contribution",
    "contributions",
    "moments",
    "reads_between",
    "slices_read",
    "units_of",
]


Key = tuple[Value, ...]
Env = dict[str, Value]
#: The entries of the statement's read number i whose keys have some values at some positions.
Lookup = Callable[[int, MapRef, tuple[int, ...], Key], Iterable[tuple[Key, int]]]


@dataclass(frozen=True)
class SliceRead:
    """The slice of ``map`` that a statement reads for an event: entries whose keys have, at the positions ``path``, the values
    of ``keys``, which are over the event's variables. ``after``: with the event's own change of the map included."""

    map: str
    path: tuple[int, ...]
    keys: tuple[Scalar, ...]
    after: bool

    def bound(self, env: Mapping[str, Value]) -> Key:
        """The values at ``path``, for an event."""
        return tuple(evaluate(k, env) for k in self.keys)


def slices_read(statement: Statement, params: Sequence[str]) -> tuple[SliceRead, ...]:
    """What a statement reads for an event: a slice for each map read, in the order of its factors.

    Args:
        statement: of the trigger.
        params: the trigger's parameters; all other variables are loop variables.
    """
    known, found = set(params), []
    for ref in statement.reads():
        path = tuple(i for i, key in enumerate(ref.keys) if set(variables(key)) <= known)
        found.append(SliceRead(ref.map, path, tuple(ref.keys[i] for i in path), ref.after))
    return tuple(found)


def contribution(
    program: Program, statement: Statement, env: Env, slices: Sequence[Mapping[Key, int]], weight: int = 1
) -> dict[Key, int]:
    """What a statement adds to its target for an event, given what it has read.

    Args:
        program: the statement's.
        statement: of the event's trigger.
        env: the event's variables.
        slices: for each read of :func:`slices_read` its entries, in units; more entries do no harm, they are looked through.
        weight: a factor of all that is added.

    Returns:
        key of the target -> units; no zeros.

    Raises:
        ValueProblem: an expression fails.
    """

    def lookup(index: int, _: MapRef, path: tuple[int, ...], bound: Key) -> Iterator[tuple[Key, int]]:
        return (e for e in slices[index].items() if tuple(e[0][i] for i in path) == bound)

    total: dict[Key, int] = {}
    for key, units in contributions(program, statement, env, weight, lookup):
        total[key] = total.get(key, 0) + units
    return {key: units for key, units in total.items() if units}


def contributions(
    program: Program, statement: Statement, env: Env, weight: int, lookup: Lookup
) -> Iterator[tuple[Key, int]]:
    """The same, a key and units for each valuation of the loop variables; maps are looked up as they are needed."""
    early = [c for c in statement.conditions if all(name in env for name in variables(c))]
    late = [c for c in statement.conditions if c not in early]
    if not all(evaluate(c, env) is True for c in early):
        return
    scalars = list(statement.scalars())
    scale = sum(program.map_by_name[r.map].value.scale for r in statement.reads())
    scale += sum(s.type.scale for s in scalars)
    raised = weight * 10 ** (program.map_by_name[statement.target].value.scale - scale)
    for valuation, product in _valuations(list(enumerate(statement.reads())), env, lookup):
        if all(evaluate(c, valuation) is True for c in late):
            for scalar in scalars:
                product *= units_of(scalar, valuation)
            yield tuple(evaluate(k, valuation) for k in statement.keys), product * raised


def _valuations(reads: Sequence[tuple[int, MapRef]], env: Env, lookup: Lookup) -> Iterator[tuple[Env, int]]:
    """The valuations of the loop variables, each with the product of the map entries, from left to right."""
    if not reads:
        yield env, 1
        return
    (index, ref), *rest = reads
    for extended, units in _matches(index, ref, env, lookup):
        for valuation, product in _valuations(rest, extended, lookup):
            yield valuation, units * product


def _matches(index: int, ref: MapRef, env: Env, lookup: Lookup) -> Iterator[tuple[Env, int]]:
    loops = {i: k.name for i, k in enumerate(ref.keys) if isinstance(k, Var) and k.name not in env}
    path = tuple(i for i in range(len(ref.keys)) if i not in loops)
    bound = tuple(evaluate(ref.keys[i], env) for i in path)
    for key, units in lookup(index, ref, path, bound):
        extended = dict(env)
        if all(rank(extended.setdefault(name, key[i])) == rank(key[i]) for i, name in loops.items()):
            yield extended, units


def units_of(scalar: Scalar, env: Mapping[str, Value]) -> int:
    """The value of a scalar factor in units of its type's scale.

    Raises:
        ValueProblem: it is NULL, or fails.
    """
    value = evaluate(scalar, env)
    if value is None:
        hint = "guard the factor with IS NOT NULL"
        raise ValueProblem("a NULL factor", kind="null-factor", hint=hint)
    return to_units(value, scalar.type.scale)  # type: ignore[arg-type]


# When a statement reads: before what its own event adds to the map, or after it.


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
        Between: see :func:`moments`. No program has such a statement whose events :func:`m3.confluence.proof.prove` finds to be summable.
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
