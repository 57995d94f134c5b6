"""The physical plan of a program: which tables it is kept in, how each statement looks them up, which copies that needs.

Maps that differ in their values alone are one **group** (:mod:`.groups`). A group is kept once per **access path**, an order of
its key columns that serves one or more lookups (:mod:`.copies`). Both follow from the program alone (the replicas of source
aggregation, Cumulus paper section 3.3).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import pyarrow as pa

from cumulus_ops.coordination.schemes import Place, VersionScheme, scheme_named
from cumulus_ops.layout.choices import NOTHING, Choices
from cumulus_ops.layout.groups import (
    Group,
    Lookup,
    choose_copies,
    find_groups,
    group_statements,
    note_taken,
    project_groups,
)
from cumulus_ops.layout.statements import ReadPlan, StatementPlan, plan_statements, plan_trigger
from cumulus_ops.maps.runs import AccessPath
from m3.clock import Passing, read_passings
from m3.dataflow import derivation_ranks, is_cyclic, strata
from m3.errors import ProgramError
from m3.formatting import program_from_json, program_to_json
from m3.program import START, Derived, Input, Program, Windowing
from m3.statements import as_snapshot

__all__ = [
    "DerivedPlan",
    "GroupLookup",
    "InputPlan",
    "PassingPlan",
    "ProgramPlan",
    "derivation_lookups",
    "plan_derivations",
    "plan_json",
    "plan_program",
]


# How derivations read their inputs, and where in a batch or event their changes come.


@dataclass(frozen=True)
class GroupLookup:
    """How a map is looked up by its first ``width`` key columns: in the copy ``path``, whose first columns these are in some
    order, with the values of ``column``."""

    path: AccessPath
    width: int
    column: str

    def bound(self, keys: Sequence[pa.Array]) -> list[pa.Array]:
        """The key columns, given in their order, in the order of the path."""
        return [keys[position] for position in self.path.bound[: self.width]]


@dataclass(frozen=True)
class InputPlan:
    """One input of a derivation: ``given``, or the ``rows`` of a window's partition. ``lookup`` binds the group's keys, which are
    the map's leading ones, and the inputs that it is ``at``."""

    given: Input
    lookup: GroupLookup

    @property
    def name(self) -> str:
        """The variable that it is."""
        return self.given.name

    @property
    def kind(self) -> str:
        """``value``, ``min``, ... (see :class:`m3.program.Input`), or ``rows``."""
        return self.given.kind


@dataclass(frozen=True)
class PassingPlan:
    """How the groups are found that now() passes: ``copy`` has those of one of the inputs in the order of the key that is compared, its first
    column."""

    passing: Passing
    copy: AccessPath


@dataclass(frozen=True)
class DerivedPlan:
    """A derivation, prepared. ``stage`` is the place of its changes within a batch or event, see
    :meth:`cumulus_ops.coordination.schemes.VersionScheme.stage`; ``group`` is how the derived map itself is looked up."""

    derived: Derived
    stage: int
    group: GroupLookup
    inputs: tuple[InputPlan, ...]
    passings: tuple[PassingPlan, ...] = ()

    @property
    def clock(self) -> InputPlan | None:
        """The input that is now."""
        return next((given for given in self.inputs if given.kind == "now"), None)


def derivation_lookups(program: Program, derived: Derived) -> list[tuple[str, Lookup]]:
    """How a derivation looks up its own map, each of its inputs, and what of these now() passes, as (map, lookup)."""

    def lookup(name: str) -> tuple[str, Lookup]:
        others = frozenset(range(width, len(program.map_by_name[name].keys)))
        return name, Lookup(frozenset(range(width)), -1, others, frozenset({name}))

    def lookup_input(given: Input) -> tuple[str, Lookup]:
        known, name = width + len(given.at), given.map
        if given.kind == "now":
            return name, Lookup(frozenset(), 0, frozenset({0}), frozenset({name}))
        if given.kind in ("min", "max"):
            return name, Lookup(frozenset(range(known)), known, frozenset({known}), frozenset({name}))
        return lookup(name)

    if isinstance(derived, Windowing):
        width = derived.partition
        return [lookup(derived.map), lookup(derived.source)]
    width = len(derived.keys)
    looked_up = [lookup(derived.map), *map(lookup_input, derived.inputs)]
    for passing in read_passings(derived):
        # groups whose count is 0 are not there, whatever their other inputs: those of one input are all
        timed = next(given.map for given in derived.inputs if given.kind == "value")
        place, others = frozenset({passing.place}), frozenset(range(width)) - {passing.place}
        looked_up.append((timed, Lookup(place, -1, others, frozenset({timed}))))  # of numbers, which are in order
    return looked_up


def plan_derivations(
    program: Program, stages: Mapping[str, int], serve: Callable[[str, Lookup], AccessPath]
) -> Mapping[str, DerivedPlan]:
    """The derivations by the map they compute, in their order.

    Args:
        program: the program.
        stages: their places in a batch, or event.
        serve: the copy that serves a lookup of a map.
    """
    plans = {}
    for derived in program.derivations:
        found = [
            GroupLookup(serve(name, lookup), len(lookup.bound), name)
            for name, lookup in derivation_lookups(program, derived)
        ]
        given = [Input("", derived.source, "rows")] if isinstance(derived, Windowing) else derived.inputs
        inputs = tuple(InputPlan(i, lookup) for i, lookup in zip(given, found[1:], strict=False))
        passings = () if isinstance(derived, Windowing) else read_passings(derived)
        passed = zip(passings, found[1 + len(given) :], strict=True)
        plans[derived.map] = DerivedPlan(
            derived, stages[derived.map], found[0], inputs, tuple(PassingPlan(p, lookup.path) for p, lookup in passed)
        )
    return plans


#: Where versions do not number relations, as many are enough.
RELATIONS_MAX = 1 << 16
#: Of as many sets of relations and changed maps it is remembered what they concern.
REMEMBERED = 256


@dataclass(frozen=True, eq=False)
class ProgramPlan:
    """All that the engine needs to know of a program. Equal only to itself, so that what follows from it can be remembered.

    ``groups`` are the tables that the maps are kept in, by name; below, "map" means a group.
    ``strata`` are sets of maps in dataflow order; ``cyclic`` says which of them read their own members.
    ``columns`` are the event columns used, by relation. ``versions`` says what
    the versions of its events are.
    ``base`` are the maps that follow from events alone, which apply and correct maintain; the others depend on
    derivations and are maintained by refresh. ``start`` are the statements that run once, before the first event.
    """

    program: Program
    versions: VersionScheme
    groups: Mapping[str, Group]
    strata: tuple[tuple[str, ...], ...]
    cyclic: tuple[bool, ...]
    statements: dict[str, tuple[StatementPlan, ...]]  # by target
    paths: dict[str, tuple[AccessPath, ...]]  # by map, the one with all columns first
    columns: dict[str, tuple[str, ...]]
    ranks: dict[str, int]  # place of a relation within a batch whose events are summed
    derived: Mapping[str, DerivedPlan]  # by the map they compute, in their order
    base: frozenset[str]
    start: tuple[StatementPlan, ...]
    choices: Choices

    def __reduce__(self) -> tuple[object, ...]:
        """Travels as JSON, and is made once per process: a task would carry megabytes otherwise."""
        return plan_json, (self.json, self.versions.name, self.choices_json)

    @cached_property
    def json(self) -> str:
        """The program as JSON."""
        return program_to_json(self.program)

    @cached_property
    def choices_json(self) -> str:
        """What was chosen for it, as JSON."""
        return self.choices.to_json()

    def prepare(self) -> None:
        """Compute now what is otherwise computed when it is first wanted, and keep the garbage collector from it: a Spark
        worker collects after every task."""
        _ = self.group_of, self.triggered, self.dependents, self.place_of, self._looked_up, self._readers, self.signs
        gc.collect()
        gc.freeze()

    def key_names(self, name: str) -> tuple[str, ...]:
        """The names of a group's key columns."""
        return self._key_names[name]

    @cached_property
    def _key_names(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(key.name for key in group.keys) for name, group in self.groups.items()}

    @cached_property
    def signs(self) -> dict[str, frozenset[int]]:
        """The signs of the statements for each relation that has some."""
        statements = [statement for group in self.statements.values() for statement in group]
        return {r: frozenset(s.sign for s in statements if s.relation == r) for r in {s.relation for s in statements}}

    @cached_property
    def group_of(self) -> dict[str, str]:
        """The group of each of the program's maps."""
        return {name: group.name for group in self.groups.values() for name in group.members}

    @cached_property
    def refreshed(self) -> frozenset[str]:
        """The maps that are not base."""
        return frozenset(self.statements) - self.base

    def place(self, statement: StatementPlan) -> Place:
        """Where a statement for events of a base relation stands in its batch."""
        return Place(self.ranks[statement.relation], statement.offset)

    @cached_property
    def triggered(self) -> dict[str, frozenset[str]]:
        """The maps that have statements for the events of a relation, or for the changes of a derived map."""
        found: dict[str, set[str]] = {}
        for name, statements in self.statements.items():
            for statement in statements:
                found.setdefault(statement.relation, set()).add(name)
        return {relation: frozenset(names) for relation, names in found.items()}

    @cached_property
    def dependents(self) -> dict[str, frozenset[str]]:
        """The maps whose deltas may follow from those of a map: it is looked up, derived from, or its changes are events."""
        found: dict[str, set[str]] = {name: set(self.triggered.get(name, ())) for name in self.statements}
        for name, statements in self.statements.items():
            for read in {read.path.map for statement in statements for read in statement.reads}:
                found[read].add(name)
        for name, derived in self.derived.items():
            for given in derived.inputs:
                found[given.lookup.path.map].add(name)
        return {name: frozenset(names) for name, names in found.items()}

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The stratum of each map."""
        return {name: place for place, stratum in enumerate(self.strata) for name in stratum}

    @cached_property
    def level_of(self) -> dict[str, int]:
        """How deep in the dataflow each map is: what it follows from is in lower levels, or, if it is in a cycle, in its own stratum."""
        levels = [0] * len(self.strata)
        for place, stratum in enumerate(self.strata):
            for other in {self.place_of[name] for map_ in stratum for name in self.dependents[map_]} - {place}:
                levels[other] = max(levels[other], levels[place] + 1)
        return {name: levels[place] for name, place in self.place_of.items()}

    def is_repeated(self, name: str) -> bool:
        """Whether a map is in a cycle: computed in rounds."""
        return self.cyclic[self.place_of[name]]

    def reads_own_cycle(self, statement: StatementPlan) -> bool:
        """Whether a statement reads maps of the stratum that it adds to."""
        place = self.place_of[statement.target]
        return any(self.place_of[read.path.map] == place for read in statement.reads)

    def concerned(self, relations: Iterable[str], changed: Iterable[str] = ()) -> frozenset[str]:
        """The maps that events of ``relations``, or other deltas of the maps ``changed``, may add to."""
        key = (frozenset(relations), frozenset(changed))
        if key not in self._concerned:
            open_ = [name for relation in key[0] for name in self.triggered.get(relation, ())]
            open_ += [name for other in key[1] for name in self.dependents[other]]
            seen: set[str] = set()
            while open_:
                name = open_.pop()
                if name not in seen:
                    seen.add(name)
                    open_ += self.dependents[name]
            if len(self._concerned) >= REMEMBERED:
                self._concerned.clear()
            self._concerned[key] = frozenset(seen)
        return self._concerned[key]

    @cached_property
    def _concerned(self) -> dict[tuple[frozenset[str], frozenset[str]], frozenset[str]]:
        return {}

    def looked_up(self, maps: Iterable[str]) -> frozenset[str]:
        """All maps that are looked at to compute deltas of ``maps``."""
        found: set[str] = set()
        for name in maps:
            found |= self._looked_up[name]
        return frozenset(found)

    @cached_property
    def _looked_up(self) -> dict[str, frozenset[str]]:
        found = {n: {r.path.map for s in statements for r in s.reads} for n, statements in self.statements.items()}
        for name, derived in self.derived.items():
            found[name] |= {name, *(given.lookup.path.map for given in derived.inputs)}
        for name, statements in self.statements.items():
            found[name] |= {s.relation for s in statements} & self.derived.keys()
        return {name: frozenset(maps) for name, maps in found.items()}

    @cached_property
    def _readers(self) -> dict[str, list[StatementPlan]]:
        found: dict[str, list[StatementPlan]] = {}
        for name in self.base:
            for statement in self.statements[name]:
                if statement.reads:
                    found.setdefault(statement.relation, []).append(statement)
        return found

    def readers(self, relation: str) -> list[StatementPlan]:
        """The statements of base maps triggered by a relation that read at least one map."""
        return self._readers.get(relation, [])


def plan_program(program: Program, scheme: str, given: Choices = NOTHING) -> ProgramPlan:
    """Prepare a checked program.

    Args:
        program: the program.
        scheme: the name of its version scheme: what :func:`m3.confluence.proof.prove` finds when a project is initialised, and the
            catalog keeps from then on.
        given: what is chosen already, of a program that is stored, or for the maps of the one before that are kept.

    Raises:
        ProgramError: relations or derivations are more than a version can number.
    """
    versions = scheme_named(scheme)
    single = _plan_each(as_snapshot(program) if versions.summed else program)
    alike = find_groups(program, single, given.alike)
    groups, plans, moves = project_groups(program, alike, group_statements(alike, single), given)
    plans = note_taken(plans)
    group_of = {name: group.name for group in groups for name in group.members}
    copies = _find_copies(program, groups, group_of, plans, given)
    plans = [replace(p, reads=tuple(_serve_read(r, copies[r.path.map][1]) for r in p.reads)) for p in plans]
    paths = {name: paths for name, (paths, _) in copies.items()}
    ranks, stages = _number_places(program, versions, given)
    choices = Choices(
        tuple(group.members for group in alike),
        (*given.moves, *(move for move in moves if move not in given.moves)),
        paths,
        {**given.ranks, **ranks},
        stages,
    )
    by_target: dict[str, list[StatementPlan]] = {group.name: [] for group in groups}
    for plan in plans:
        if plan.relation != START:
            by_target[plan.target].append(plan)
    layers = [
        (tuple(name for name in layer if name in by_target), is_cyclic(program, layer)) for layer in strata(program)
    ]
    return ProgramPlan(
        program,
        versions,
        {group.name: group for group in groups},
        tuple(layer for layer, _ in layers if layer),
        tuple(is_cycle for layer, is_cycle in layers if layer),
        {name: tuple(statements) for name, statements in by_target.items()},
        paths,
        {r.name: _find_used_columns(program, r.name) for r in program.relations},
        ranks,
        plan_derivations(program, stages, lambda name, lookup: copies[group_of[name]][1][lookup]),
        frozenset(name for name, rank in derivation_ranks(program).items() if rank == 0 and name in by_target),
        tuple(plan for plan in plans if plan.relation == START),
        choices,
    )


def _plan_each(program: Program) -> list[StatementPlan]:
    """All statements, each by itself."""
    plans = [plan for relation in program.relations for plan in plan_statements(program, relation.name)]
    plans += [plan for d in program.derivations for plan in plan_trigger(program, program.trigger(d.map, 0))]
    return plans + plan_trigger(program, program.trigger(START, 1))


def _find_copies(
    program: Program,
    groups: Sequence[Group],
    group_of: Mapping[str, str],
    plans: Sequence[StatementPlan],
    given: Choices,
) -> dict[str, tuple[tuple[AccessPath, ...], Mapping[Lookup, AccessPath]]]:
    """The copies of each group that its lookups need, those that are chosen already among them; and which of them serves which lookup."""
    lookups: dict[str, list[Lookup]] = {group.name: [] for group in groups}
    for plan in plans:
        for ref in plan.reads:
            lookups[ref.path.map].append(_make_lookup(ref))
    for derived in program.derivations:
        for name, lookup in derivation_lookups(program, derived):
            lookups[group_of[name]].append(lookup)
    return {g.name: choose_copies(g, lookups[g.name], given.copies.get(g.name, ())) for g in groups}


def _number_places(program: Program, versions: VersionScheme, given: Choices) -> tuple[dict[str, int], dict[str, int]]:
    """The places of relations, and of derivations, in a batch.

    Raises:
        ProgramError: they are more than a version can number.
    """
    last = versions.first_stage if versions.summed else RELATIONS_MAX
    relations, derived = [r.name for r in program.relations], [d.map for d in program.derivations]
    return (
        _number(relations, given.ranks, 0, last, "relations"),
        _number(derived, given.stages, versions.first_stage, versions.places, "derivations"),
    )


def _number(names: Sequence[str], given: Mapping[str, int], first: int, limit: int, what: str) -> dict[str, int]:
    """The places of relations, or derivations, in a batch: who has one keeps it, others come after all that there ever were."""
    numbers, free = {}, max((place + 1 for place in given.values()), default=first)
    for name in names:
        numbers[name] = given.get(name, free)
        free += name not in given
    if free > limit:
        hint = "spread the views over several projects"
        raise ProgramError(f"more than {limit - first} {what}", kind=f"too-many-{what}", hint=hint)
    return numbers


def _make_lookup(read: ReadPlan) -> Lookup:
    free, values = (place for place, _ in read.free), (columns[-1] for columns in read.taken)
    return Lookup(frozenset(read.path.bound), -1, frozenset(free), frozenset(values))


def _serve_read(read: ReadPlan, served: Mapping[Lookup, AccessPath]) -> ReadPlan:
    """A lookup in the copy that serves it, its known keys in the order of the copy."""
    path = served[_make_lookup(read)]
    arguments = dict(zip(read.path.bound, read.bound, strict=True))
    return replace(read, path=path, bound=tuple(arguments[i] for i in path.bound[: len(arguments)]))


@lru_cache(maxsize=8)
def plan_json(text: str, scheme: str, choices: str) -> ProgramPlan:
    """The plan of a checked program, and of what was chosen for it, given as JSON; remembered, since workers get the same one again and again."""
    return plan_program(program_from_json(text), scheme, Choices.from_json(choices))


def _find_used_columns(program: Program, relation: str) -> tuple[str, ...]:
    used: set[str] = set()
    names = [c.name for c in program.relation_by_name[relation].columns]
    for trigger in program.triggers:
        if trigger.relation == relation:
            seen = {v for s in trigger.statements for v in s.variables()}
            used |= {column for column, param in zip(names, trigger.params, strict=True) if param in seen}
    return tuple(n for n in names if n in used)
