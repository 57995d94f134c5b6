"""The physical plan of a program: how each statement reads its maps, and which copies of a map that needs.

A map is kept once per **access path**: per distinct set of key columns that are bound when some statement reads it.
They follow from the program alone (the replicas of source aggregation, Cumulus paper section 3.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from cumulus_ops.layout.derived import DerivedPlan, plan_derivations, version_bits
from cumulus_ops.mapstore import AccessPath
from cumulus_ops.versions import start_version
from m3 import check, format_program, parse
from m3.dataflow import derivation_ranks, is_cyclic, strata
from m3.program import START, Factor, MapRef, Program, Statement, Trigger
from m3.scalars import Call, Const, Scalar, Var, variables

__all__ = ["ProgramPlan", "ReadPlan", "StatementPlan", "plan_program", "plan_text"]


@dataclass(frozen=True)
class ReadPlan:
    """One map read. ``bound`` are the expressions for the path's columns, in its order; ``free`` pairs the other key
    columns with the loop variables they bind. ``after``: deltas of the event's own version count, too."""

    path: AccessPath
    bound: tuple[Scalar, ...]
    free: tuple[tuple[int, str], ...]
    after: bool = False

    def before(self, version: int) -> int:
        """The version before which deltas count (exclusive) for an event of ``version``."""
        return version + self.after


@dataclass(frozen=True)
class StatementPlan:
    """One statement, prepared.

    ``relation`` is a base relation, or a derived map whose changes are the events (then ``sign`` is 0). ``sign`` is +1 or -1, or 0 for a statement that inserts and deletes share, counting each event with its own sign.
    ``conditions`` and ``factors`` need event parameters only and come first. ``carried`` are the expressions over event
    parameters that later parts need, under the names by which those parts (``reads``, ``late_conditions``,
    ``late_factors``, ``keys``) refer to them. ``reorderable``: no loop variable links two reads. ``shift``: decimals to
    add to a term to reach the target's scale. ``offset`` is added to the event's version (0 in snapshot semantics).
    """

    relation: str
    sign: int
    target: str
    conditions: tuple[Scalar, ...]
    factors: tuple[Scalar, ...]
    carried: tuple[tuple[str, Scalar], ...]
    reads: tuple[ReadPlan, ...]
    late_conditions: tuple[Scalar, ...]
    late_factors: tuple[Scalar, ...]
    keys: tuple[Scalar, ...]
    shift: int
    offset: int
    reorderable: bool


@dataclass(frozen=True, eq=False)
class ProgramPlan:
    """All that the engine needs to know of a program. Equal only to itself, so that what follows from it can be remembered.

    ``strata`` are sets of maps in dataflow order; ``cyclic`` says which of them read their own members.
    ``columns`` are the event columns used, by relation. ``granularity``: see :mod:`cumulus_ops.coordination`.
    ``base`` are the maps that follow from events alone, which apply and correct maintain; the others depend on
    derivations and are maintained by refresh. ``start`` are the statements that run once, before the first event.
    """

    program: Program
    granularity: str
    strata: tuple[tuple[str, ...], ...]
    cyclic: tuple[bool, ...]
    statements: dict[str, tuple[StatementPlan, ...]]  # by target
    paths: dict[str, tuple[AccessPath, ...]]  # by map
    columns: dict[str, tuple[str, ...]]
    ranks: dict[str, int]  # place of a relation within a batch whose events are summed
    derived: Mapping[str, DerivedPlan]  # by the map they compute, in their order
    base: frozenset[str]
    start: tuple[StatementPlan, ...]

    def __reduce__(self) -> tuple[object, ...]:
        """Travels as the program's text, and is made once per process: a task would carry megabytes otherwise."""
        return plan_text, (self.text, self.granularity)

    @cached_property
    def text(self) -> str:
        """The program as M3 text."""
        return format_program(self.program)

    @property
    def version_bits(self) -> int:
        """How many bits of a version number the places within one batch, or within one event."""
        return version_bits(self.granularity)

    @property
    def start_version(self) -> int:
        """The version of what ON START adds."""
        return start_version(self.version_bits)

    def readers(self, relation: str) -> list[StatementPlan]:
        """The statements of base maps triggered by a relation that read at least one map."""
        return [s for name in self.base for s in self.statements[name] if s.relation == relation and s.reads]


def plan_program(program: Program, granularity: str) -> ProgramPlan:
    """Prepare a checked program.

    Args:
        program: the program.
        granularity: ``batch`` or ``event``.
    """
    plans = [plan for relation in program.relations for plan in _plan_relation(program, relation.name)]
    plans += [p for d in program.derivations for p in _plan_trigger(program, program.trigger(d.map, 0))]
    layers = strata(program)
    derived = plan_derivations(program, granularity)
    depends = derivation_ranks(program)
    return ProgramPlan(
        program,
        granularity,
        layers,
        tuple(is_cyclic(program, layer) for layer in layers),
        {m.name: tuple(p for p in plans if p.target == m.name) for m in program.maps},
        {m.name: _paths(m.name, len(m.keys), plans, derived.values()) for m in program.maps},
        {r.name: _used_columns(program, r.name) for r in program.relations},
        {r.name: rank for rank, r in enumerate(program.relations)},
        derived,
        frozenset(name for name, rank in depends.items() if rank == 0),
        tuple(_plan_trigger(program, program.trigger(START, 1))),
    )


@lru_cache(maxsize=8)
def plan_text(text: str, granularity: str) -> ProgramPlan:
    """The plan of a program given as M3 text; remembered, since workers get the same one again and again.

    Raises:
        M3Error: the text is wrong.
    """
    return plan_program(check(parse(text)), granularity)


def _paths(
    name: str, width: int, plans: Iterable[StatementPlan], derived: Iterable[DerivedPlan]
) -> tuple[AccessPath, ...]:
    """The paths some statement or derivation reads the map by; a map that is only looked at by people is kept by its
    whole key."""
    read = {r.path for p in plans for r in p.reads if r.path.map == name}
    read |= {path for d in derived for path in d.paths() if path.map == name}
    return tuple(sorted(read)) or (AccessPath(name, tuple(range(width))),)


def _used_columns(program: Program, relation: str) -> tuple[str, ...]:
    used: set[str] = set()
    names = [c.name for c in program.relation_by_name[relation].columns]
    for trigger in program.triggers:
        if trigger.relation == relation:
            seen = {v for s in trigger.statements for v in s.variables()}
            used |= {column for column, param in zip(names, trigger.params, strict=True) if param in seen}
    return tuple(n for n in names if n in used)


def _plan_relation(program: Program, relation: str) -> list[StatementPlan]:
    """The statements of both triggers; once for both where the delete trigger is the insert trigger times -1."""
    insert, delete = program.trigger(relation, 1), program.trigger(relation, -1)
    if insert and delete and _mirrored(insert, delete):
        return [replace(plan, sign=0) for plan in _plan_trigger(program, insert)]
    return [*_plan_trigger(program, insert), *_plan_trigger(program, delete)]


def _plan_trigger(program: Program, trigger: Trigger | None) -> list[StatementPlan]:
    names: dict[Scalar, str] = {}
    return [_plan(program, trigger, i, names) for i in range(len(trigger.statements))] if trigger else []


def _mirrored(insert: Trigger, delete: Trigger) -> bool:
    return insert.params == delete.params and [_unsigned(s) for s in insert.statements] == [
        (-sign, rest) for sign, rest in map(_unsigned, delete.statements)
    ]


def _unsigned(statement: Statement) -> tuple[int, Statement]:
    """The sign of a statement's integer constants, and the statement with them made positive and ones left out."""
    sign = 1
    factors: list[Factor] = []
    for factor in statement.factors:
        if isinstance(factor, Const) and factor.type.kind == "int" and isinstance(factor.value, int):
            sign *= -1 if factor.value < 0 else 1
            if abs(factor.value) != 1:
                factors.append(Const(abs(factor.value), factor.type))
        else:
            factors.append(factor)
    return sign, replace(statement, factors=tuple(factors))


class _Carrier:
    """Gives names to expressions over event parameters, one name per expression in all statements of a trigger: so equal
    reads are equal. ``used`` are those that one statement carries."""

    def __init__(self, events: set[str], names: dict[Scalar, str]) -> None:
        self.events = events
        self.names = names
        self.used: dict[Scalar, str] = {}

    def is_early(self, scalar: Scalar) -> bool:
        return set(variables(scalar)) <= self.events

    def carry(self, scalar: Scalar) -> Scalar:
        """``scalar`` itself if it needs loop variables (its event parameters are carried), else its carried name."""
        if self.is_early(scalar):
            self.used[scalar] = self.names.setdefault(scalar, f"${len(self.names)}")
            return Var(self.used[scalar], scalar.type)
        return self._inside(scalar)

    def _inside(self, scalar: Scalar) -> Scalar:
        if isinstance(scalar, Var):
            return self.carry(scalar) if scalar.name in self.events else scalar
        if isinstance(scalar, Call):
            return Call(scalar.op, tuple(self._inside(a) for a in scalar.args), scalar.type)
        return scalar


def _plan(program: Program, trigger: Trigger, index: int, names: dict[Scalar, str]) -> StatementPlan:
    statement = trigger.statements[index]
    carrier = _Carrier(set(trigger.params), names)
    reads = _plan_reads(list(statement.reads()), carrier)
    factors = list(statement.scalars())
    early_conditions, late_conditions = _split(statement.conditions, carrier)
    early_factors, late_factors = _split(factors, carrier)
    late_conditions = tuple(carrier.carry(c) for c in late_conditions)
    late_factors = tuple(carrier.carry(f) for f in late_factors)
    keys = tuple(carrier.carry(k) for k in statement.keys)
    return StatementPlan(
        trigger.relation,
        trigger.sign,
        statement.target,
        early_conditions,
        early_factors,
        tuple((name, scalar) for scalar, name in carrier.used.items()),
        reads,
        late_conditions,
        late_factors,
        keys,
        _shift(program, statement),
        index if program.semantics == "sequential" else 0,
        _independent(statement, carrier.events),
    )


def _split(scalars: Sequence[Scalar], carrier: _Carrier) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    early = tuple(s for s in scalars if carrier.is_early(s))
    return early, tuple(s for s in scalars if not carrier.is_early(s))


def _plan_reads(refs: list[MapRef], carrier: _Carrier) -> tuple[ReadPlan, ...]:
    known = set(carrier.events)
    plans = []
    for ref in refs:
        bound = [i for i, key in enumerate(ref.keys) if set(variables(key)) <= known]
        free = tuple((i, key.name) for i, key in enumerate(ref.keys) if i not in bound and isinstance(key, Var))
        known |= {name for _, name in free}
        arguments = tuple(carrier.carry(ref.keys[i]) for i in bound)
        plans.append(ReadPlan(AccessPath(ref.map, tuple(bound)), arguments, free, ref.after))
    return tuple(plans)


def _shift(program: Program, statement: Statement) -> int:
    scales = sum(program.map_by_name[r.map].value.scale for r in statement.reads())
    scales += sum(s.type.scale for s in statement.scalars())
    return program.map_by_name[statement.target].value.scale - scales


def _independent(statement: Statement, events: set[str]) -> bool:
    seen: set[str] = set()
    for ref in statement.reads():
        loops = {v for key in ref.keys for v in variables(key)} - events
        if loops & seen:
            return False
        seen |= loops
    return True
