"""The statements of a program, prepared for the engine.

First each statement by itself, as the program has it (:func:`plan_statements`). Then, when it is known which maps are one
group (:mod:`cumulus_ops.layout.groups`), the statements that differ in nothing but what they multiply are one
:class:`StatementPlan` with several products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cumulus_ops.maps.runs import AccessPath
from m3.datatypes import hash_once
from m3.program import Factor, MapRef, Program, Statement, Trigger
from m3.scalars import Call, Const, Scalar, Var, variables

__all__ = ["Product", "ReadPlan", "StatementPlan", "plan_statements", "plan_trigger"]


#: From so many lookups with free keys on, one after the other, deltas of one entry are summed in between.
LONG_CHAIN = 3


@hash_once
@dataclass(frozen=True)
class ReadPlan:
    """One lookup. ``bound`` are the expressions for the first columns of the path, in its order; ``free`` pairs other key
    columns with the loop variables they bind. ``after``: deltas of the event's own version count, too. ``taken``: the value
    columns whose products are wanted after this lookup, each a tuple with one column per lookup so far."""

    path: AccessPath
    bound: tuple[Scalar, ...]
    free: tuple[tuple[int, str], ...]
    after: bool = False
    taken: tuple[tuple[str, ...], ...] = ()

    @property
    def places(self) -> tuple[int, ...]:
        """The key columns that are known, in the order of ``bound``."""
        return self.path.bound[: len(self.bound)]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The value columns that it looks at."""
        return tuple(dict.fromkeys(taken[-1] for taken in self.taken))

    @cached_property
    def places_free(self) -> tuple[int, ...]:
        """The other key columns that are looked at."""
        return tuple(place for place, _ in self.free)

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The variables of ``bound``."""
        return tuple(dict.fromkeys(name for scalar in self.bound for name in variables(scalar)))

    def before(self, version: int) -> int:
        """The version before which deltas count (exclusive) for an event of ``version``."""
        return version + self.after


@hash_once
@dataclass(frozen=True)
class Product:
    """What a statement adds to one map of its target group: the product of ``factors`` (of event parameters only),
    ``late_factors``, and of the values of the maps ``reads`` (one for each lookup). ``shift``: decimals to add to a term to
    reach the map's scale."""

    map: str
    factors: tuple[Scalar, ...]
    late_factors: tuple[Scalar, ...]
    shift: int
    reads: tuple[str, ...]


@dataclass(frozen=True)
class StatementPlan:
    """One statement, prepared: one chain of lookups, and a product for each map of the target group.

    ``relation`` is a base relation, or a derived map whose changes are the events (then ``sign`` is 0). ``sign`` is +1 or -1,
    or 0 for a statement that inserts and deletes share, counting each event with its own sign.
    ``conditions`` need event parameters only and come first. ``carried`` are the expressions over event
    parameters that later parts need, under the names by which those parts (``reads``, ``late_conditions``,
    late factors, ``keys``) refer to them. ``reorderable``: no loop variable links two reads. ``offset`` is added to the
    event's version (0 in snapshot semantics).
    """

    relation: str
    sign: int
    target: str
    conditions: tuple[Scalar, ...]
    carried: tuple[tuple[str, Scalar], ...]
    reads: tuple[ReadPlan, ...]
    late_conditions: tuple[Scalar, ...]
    keys: tuple[Scalar, ...]
    offset: int
    reorderable: bool
    products: tuple[Product, ...]

    @property
    def factors(self) -> tuple[Scalar, ...]:
        """The factors over event parameters of all products."""
        return tuple(dict.fromkeys(f for product in self.products for f in product.factors))

    # What follows from the rest is found once, and not for each batch.

    @cached_property
    def late_factors(self) -> Mapping[Scalar, tuple[int, ...]]:
        """The late factors, each with the products that have it."""
        factors = dict.fromkeys(f for product in self.products for f in product.late_factors)
        return {f: tuple(i for i, p in enumerate(self.products) if f in p.late_factors) for f in factors}

    @cached_property
    def needed_late(self) -> tuple[str, ...]:
        """The variables of late conditions, late factors and keys."""
        late = (*self.late_conditions, *self.late_factors, *self.keys)
        return tuple(dict.fromkeys(name for scalar in late for name in variables(scalar)))

    @cached_property
    def scalars(self) -> Mapping[str, Scalar]:
        """What is carried, by name."""
        return dict(self.carried)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The event parameters that it looks at anywhere."""
        early = (*self.conditions, *self.carried_scalars, *self.factors)
        return tuple(sorted({name for scalar in early for name in variables(scalar)}))

    @cached_property
    def carried_scalars(self) -> tuple[Scalar, ...]:
        """What is carried, without names."""
        return tuple(scalar for _, scalar in self.carried)

    @cached_property
    def tells_apart(self) -> bool:
        """Whether the keys tell apart all events that differ in what is carried, as long as no read multiplies them."""
        return not self.reads and {name for name, _ in self.carried} <= {
            k.name for k in self.keys if isinstance(k, Var)
        }

    @cached_property
    def is_long(self) -> bool:
        """Whether several lookups with free keys come one after the other."""
        return sum(bool(read.free) for read in self.reads) >= LONG_CHAIN


def plan_statements(program: Program, relation: str) -> list[StatementPlan]:
    """The statements of both triggers; once for both where the delete trigger is the insert trigger times -1."""
    insert, delete = program.trigger(relation, 1), program.trigger(relation, -1)
    if insert and delete and insert.params == delete.params:
        negated = [(-sign, rest) for sign, rest in map(_split_sign, delete.statements)]
        if [_split_sign(s) for s in insert.statements] == negated:
            return [replace(plan, sign=0) for plan in plan_trigger(program, insert)]
    return [*plan_trigger(program, insert), *plan_trigger(program, delete)]


def plan_trigger(program: Program, trigger: Trigger | None) -> list[StatementPlan]:
    """The statements of one trigger; they share the names of what they carry."""
    if trigger is None:
        return []
    taken = {*trigger.params, *(v for s in trigger.statements for v in s.variables())}
    names = _CarriedNames(taken)
    return [_plan_statement(program, trigger, i, names) for i in range(len(trigger.statements))]


def _split_sign(statement: Statement) -> tuple[int, Statement]:
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


@dataclass
class _CarriedNames:
    """A name for each expression that is carried; none of them is a variable of the trigger, whatever these are called."""

    taken: set[str]
    known: dict[Scalar, str] = field(default_factory=dict)

    def name(self, scalar: Scalar) -> str:
        if scalar not in self.known:
            name = f"${len(self.known)}"
            while name in self.taken:
                name = f"${name}"
            self.taken.add(name)
            self.known[scalar] = name
        return self.known[scalar]


class _Carrier:
    """Gives names to expressions over event parameters, one name per expression in all statements of a trigger: so equal
    reads are equal. ``used`` are those that one statement carries."""

    def __init__(self, events: set[str], names: _CarriedNames) -> None:
        self.events = events
        self.names = names
        self.used: dict[Scalar, str] = {}

    def is_early(self, scalar: Scalar) -> bool:
        return set(variables(scalar)) <= self.events

    def carry(self, scalar: Scalar) -> Scalar:
        """``scalar`` itself if it needs loop variables (its event parameters are carried), else its carried name."""
        if self.is_early(scalar):
            self.used[scalar] = self.names.name(scalar)
            return Var(self.used[scalar], scalar.type)
        return self._carry_inside(scalar)

    def _carry_inside(self, scalar: Scalar) -> Scalar:
        if isinstance(scalar, Var):
            return self.carry(scalar) if scalar.name in self.events else scalar
        if isinstance(scalar, Call):
            return Call(scalar.op, tuple(self._carry_inside(a) for a in scalar.args), scalar.type)
        return scalar


def _plan_statement(program: Program, trigger: Trigger, index: int, names: _CarriedNames) -> StatementPlan:
    statement = trigger.statements[index]
    carrier = _Carrier(set(trigger.params), names)
    reads = _plan_reads(list(statement.reads()), carrier)
    maps = tuple(ref.map for ref in statement.reads())
    factors = list(statement.scalars())
    early_conditions, late_conditions = _split_early(statement.conditions, carrier)
    early_factors, late_factors = _split_early(factors, carrier)
    late_conditions = tuple(carrier.carry(c) for c in late_conditions)
    late_factors = tuple(carrier.carry(f) for f in late_factors)
    keys = tuple(carrier.carry(k) for k in statement.keys)
    # No loop variable links two reads.
    loops = [{v for key in ref.keys for v in variables(key)} - carrier.events for ref in statement.reads()]
    reorderable = len(set[str]().union(*loops)) == sum(map(len, loops))
    scales = sum(program.map_by_name[r.map].value.scale for r in statement.reads())
    scales += sum(s.type.scale for s in statement.scalars())
    return StatementPlan(
        trigger.relation,
        trigger.sign,
        statement.target,
        early_conditions,
        tuple((name, scalar) for scalar, name in carrier.used.items()),
        reads,
        late_conditions,
        keys,
        index if program.semantics == "sequential" else 0,
        reorderable,
        (
            Product(
                statement.target,
                early_factors,
                late_factors,
                program.map_by_name[statement.target].value.scale - scales,
                maps,
            ),
        ),
    )


def _split_early(scalars: Sequence[Scalar], carrier: _Carrier) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
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
