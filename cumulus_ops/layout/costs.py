"""What a layout costs: the bytes that a partitioned apply sends from one task to another.

A **label** says where things are. Events of a relation: ``ANYWHERE`` (in the task that reads their slice of the log), or in
the task that the hash of some of their columns names. Deltas of a map that others need: ``REPLICATED`` in every task, or in the
task that the hash of some of the map's key columns names. A read finds a map's deltas if they are replicated, or if events and
deltas are partitioned by columns that the read equates. What a statement adds is where it belongs without being sent if its
events are partitioned by columns that stand in the target's key at the places by which the target is partitioned.

Statements that need each other (a **cycle**) are run until nothing changes, which is within one task or not at all: between tasks,
each round would be another exchange. So what they add has to be where they read it.

Each cost is about one relation, or about one relation and one map. That is what lets minimum cuts find cheap layouts
(:mod:`cumulus_ops.layout.partitioning`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cumulus_ops.layout.groups import Group
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.layout.statements import StatementPlan
from cumulus_ops.maps.columns import physical_type
from cumulus_ops.maps.encodings import is_number
from cumulus_ops.maps.runs import AccessPath
from m3.dataflow import components, graph_of
from m3.datatypes import Type
from m3.explain.cost import Access, Sizes
from m3.scalars import Scalar, Var, variables

__all__ = [
    "ANYWHERE",
    "DEFAULT_ROWS",
    "FAN_OUT",
    "IMPOSSIBLE",
    "REPLICATED",
    "SELECTIVITY",
    "SMALL_BYTES",
    "CopySizes",
    "Estimates",
    "Label",
    "Labels",
    "Need",
    "Node",
    "Problem",
    "Ref",
    "bare_columns",
    "columns_of",
    "events_per",
    "find_cycles",
    "find_needs",
    "pose",
    "row_bytes",
    "statements_of",
    "used_columns",
]


# Which deltas of a batch the batch itself reads: all that ever has to travel between the tasks of a partitioned apply.
#
# Stored runs are files that any task reads. So two statements that are run for the same batch have to meet only where one
# reads what the other adds *in this batch* to an earlier version; whether it may, the program's version scheme says
# (:mod:`cumulus_ops.coordination.schemes`). Everything else needs no exchange: a map's deltas may be written by whatever tasks computed them,
# since runs are multisets that readers add up.


#: A statement: its target, and its place in ``plan.statements[target]``.
Ref = tuple[str, int]


@dataclass(frozen=True)
class Need:
    """Read ``read`` of the statement ``consumer`` finds what ``producer`` has added to ``map`` in the same batch."""

    map: str
    producer: Ref
    consumer: Ref
    read: int


def statements_of(plan: ProgramPlan, relations: Collection[str]) -> dict[Ref, StatementPlan]:
    """The statements that apply runs for a batch with events of ``relations``, in dataflow order of their targets."""
    names = [name for stratum in plan.strata for name in stratum if name in plan.base]
    return {(name, i): s for name in names for i, s in enumerate(plan.statements[name]) if s.relation in relations}


def find_needs(plan: ProgramPlan, relations: Collection[str]) -> tuple[Need, ...]:
    """What statements need of each other in a batch with events of ``relations``."""
    statements = statements_of(plan, relations)
    producers: dict[str, list[Ref]] = {}
    for ref in statements:
        producers.setdefault(ref[0], []).append(ref)
    return tuple(
        Need(read.path.map, producer, consumer, index)
        for consumer, statement in statements.items()
        for index, read in enumerate(statement.reads)
        for producer in producers.get(read.path.map, ())
        if plan.versions.reads_own(plan.place(statement), read.after, plan.place(statements[producer]))
    )


def find_cycles(needs: Sequence[Need]) -> tuple[frozenset[Ref], ...]:
    """The sets of statements that need each other's deltas, directly or not: what they add within one batch is a fixpoint.

    That it is reached is sure, since every read finds earlier versions only; after how many rounds depends on the data."""
    graph = graph_of((), ((n.producer, n.consumer) for n in needs))
    return tuple(frozenset(c) for c in components(graph) if len(c) > 1 or c[0] in graph[c[0]])


def columns_of(plan: ProgramPlan, statement: StatementPlan) -> dict[str, str]:
    """The relation's columns by the parameters of the statement's trigger."""
    trigger = plan.program.trigger(statement.relation, statement.sign or 1)
    assert trigger is not None  # it has this statement
    columns = plan.program.relation_by_name[statement.relation].columns
    return {param: column.name for param, column in zip(trigger.params, columns, strict=True)}


def bare_columns(plan: ProgramPlan, statement: StatementPlan, scalars: Iterable[Scalar]) -> tuple[str | None, ...]:
    """For each expression the column of the event that it stands for, None where it is anything else."""
    params, carried = columns_of(plan, statement), dict(statement.carried)
    expressions = (carried.get(s.name, s) if isinstance(s, Var) else s for s in scalars)
    return tuple(params.get(e.name) if isinstance(e, Var) else None for e in expressions)


def used_columns(plan: ProgramPlan, statement: StatementPlan) -> set[str]:
    """The columns of its events that a statement looks at."""
    params = columns_of(plan, statement)
    scalars = [*statement.conditions, *statement.factors, *(scalar for _, scalar in statement.carried)]
    return {params[v] for scalar in scalars for v in variables(scalar)}


# How many bytes the events and deltas of a batch are: what a layout is chosen by, and nothing else.
#
# Numbers of events are known for a batch that is about to be applied. How many entries one event writes follows from
# declared keys and row counts (:class:`m3.explain.cost.Sizes`) as far as they tell; the rest are the defaults below.


#: Rows of a relation of which nothing is known.
DEFAULT_ROWS = 1_000_000
#: Entries that a read with loop variables finds, where declared keys and row counts do not tell.
FAN_OUT = 4.0
#: Share of the events that satisfy a statement's conditions.
SELECTIVITY = 0.5
BYTES = {"date": 4, "bool": 1, "string": 20}  # of one value; anything else is 8
STAMP_BYTES = 16  # a version, and a value or a sign


def row_bytes(types: Iterable[Type]) -> int:
    """Bytes of one event or delta on its way to another task."""
    return STAMP_BYTES + sum(BYTES.get(t.kind, 8) for t in types)


def events_per(plan: ProgramPlan, events: int, relations: Iterable[str], rows: Mapping[str, float]) -> dict[str, float]:
    """``events`` events of ``relations``, in proportion to the sizes of the tables.

    Args:
        plan: the program's plan.
        events: how many there are together.
        relations: which relations they are of.
        rows: rows by relation, where they are known better than the program knows them.
    """
    known = {name: float(rows.get(name) or _declared_rows(plan, name) or DEFAULT_ROWS) for name in relations}
    return {name: events * size / sum(known.values()) for name, size in known.items()}


def _declared_rows(plan: ProgramPlan, relation: str) -> float | None:
    return getattr(plan.program.relation_by_name[relation], "rows", None)


@dataclass(frozen=True)
class Estimates:
    """Bytes of one batch. ``events``: how many events of each relation it has; ``rows``: rows of the relations."""

    plan: ProgramPlan
    events: Mapping[str, float]
    rows: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {r.name: float(n) for r in self.plan.program.relations if (n := _declared_rows(self.plan, r.name))}
        object.__setattr__(self, "_sizes", Sizes(self.plan.program, known | dict(self.rows)))

    def event_bytes(self, relation: str, columns: Iterable[str]) -> float:
        """All events of a relation, with the given columns."""
        wanted = set(columns)
        types = (c.type for c in self.plan.program.relation_by_name[relation].columns if c.name in wanted)
        return self.events.get(relation, 0.0) * row_bytes(types)

    def delta_bytes(self, ref: Ref) -> float:
        """What one statement adds to its target, summed by key."""
        keys = self.plan.program.map_by_name[ref[0]].keys
        return self.delta_rows(ref) * row_bytes(k.type for k in keys)

    def delta_rows(self, ref: Ref) -> float:
        """How many entries that is."""
        statement = self.plan.statements[ref[0]][ref[1]]
        share = SELECTIVITY if statement.conditions or statement.late_conditions else 1.0
        # Entries that one event writes: the product of what those reads find on which the target's keys
        # depend.
        sizes: Sizes = self._sizes  # type: ignore[attr-defined]
        needed, total = {v for key in statement.keys for v in variables(key)}, 1.0
        for read in reversed(statement.reads):
            if needed & {name for _, name in read.free}:
                found = sizes.matches(Access(read.path.map, read.places, read.free)).known
                total *= FAN_OUT if found is None else found
                needed |= {v for bound in read.bound for v in variables(bound)}
        rows = self.events.get(statement.relation, 0.0) * share * total
        if not self.plan.versions.summed:
            return rows
        size = sizes.size(ref[0]) if self.plan.program.map_by_name[ref[0]].keys else 1.0
        return rows if size is None else min(rows, size)


#: Columns of a relation, or key columns of a map, by name.
Label = tuple[str, ...]
ANYWHERE: Label = ()
REPLICATED: Label = ("*",)
#: Relations and exchanged maps -> labels; nodes are (kind, name), with kind ``events`` or ``map``.
Node = tuple[str, str]
Labels = Mapping[Node, Label]
#: A map whose deltas are smaller is replicated.
SMALL_BYTES = 1 << 18
#: The cost of a read that would not find what it needs.
IMPOSSIBLE = 1 << 60


@dataclass(frozen=True)
class Problem:
    """A batch whose layout is to be chosen.

    Attributes:
        plan: the program's plan.
        statements: the statements to run.
        needs: what they need of each other.
        cycles: the sets of statements that need each other.
        tasks: how many tasks there are.
        labels: what each relation and each exchanged map may be labelled with, in order of preference.
        equal: the map's key columns that stand for a column of the event, for each need and each producing statement.
        events: bytes of a relation's events, as far as other tasks may want them.
        deltas: bytes of what a statement adds that others need.
    """

    plan: ProgramPlan
    statements: Mapping[Ref, StatementPlan]
    needs: tuple[Need, ...]
    cycles: tuple[frozenset[Ref], ...]
    tasks: int
    labels: Mapping[Node, tuple[Label, ...]]
    equal: Mapping[Need | Ref, Mapping[str, str]]
    events: Mapping[str, float]
    deltas: Mapping[Ref, float]

    @cached_property
    def cycle_of(self) -> dict[Ref, int]:
        """The number of the cycle that a statement is in; not all are."""
        return {ref: number for number, refs in enumerate(self.cycles) for ref in refs}

    @cached_property
    def cyclic_maps(self) -> frozenset[str]:
        """The maps that some cycle reads and adds to."""
        return frozenset(need.map for need in self.needs if self.is_inner(need))

    def is_inner(self, need: Need) -> bool:
        """Whether a need is within a cycle."""
        cycle = self.cycle_of.get(need.consumer)
        return cycle is not None and cycle == self.cycle_of.get(need.producer)

    @cached_property
    def pairs(self) -> dict[tuple[Node, Node], list[Need | Ref]]:
        """Everything whose cost depends on a relation and a map: needs of reads, and producing statements."""
        found: dict[tuple[Node, Node], list[Need | Ref]] = {}
        for need in self.needs:
            consumer = self.statements[need.consumer].relation
            found.setdefault((("events", consumer), ("map", need.map)), []).append(need)
        for ref in self.deltas:
            found.setdefault((("events", self.statements[ref].relation), ("map", ref[0])), []).append(ref)
        return found

    @cached_property
    def tables(self) -> dict[tuple[Node, Node], dict[tuple[Label, Label], int]]:
        """What each relation and map cost together, for each pair of their labels."""
        return {
            (a, b): {
                (x, y): sum(self.pair_cost(item, x, y) for item in items)
                for x in self.labels[a]
                for y in self.labels[b]
            }
            for (a, b), items in self.pairs.items()
        }

    def cost(self, labels: Labels) -> int:
        """Bytes sent under ``labels``; :data:`IMPOSSIBLE` or more if a read would not find what it needs."""
        moved = sum(self.move_cost(node[1], labels[node]) for node in self.labels if node[0] == "events")
        return moved + sum(table[labels[a], labels[b]] for (a, b), table in self.tables.items())

    def move_cost(self, relation: str, label: Label) -> int:
        """Bytes of events sent."""
        return 0 if label == ANYWHERE else self._bytes_sent(self.events.get(relation, 0.0))

    def pair_cost(self, item: Need | Ref, events: Label, deltas: Label) -> int:
        """Bytes of deltas sent, or what a need costs, when a relation and a map have these labels."""
        if isinstance(item, Need):
            anywhere = deltas == REPLICATED and not self.is_inner(item)
            return 0 if anywhere or self.fits(item, events, deltas) else IMPOSSIBLE
        if item in self.cycle_of:
            return 0 if self.fits(item, events, deltas) else IMPOSSIBLE
        if deltas == REPLICATED:
            return round(self.deltas[item] * (self.tasks - 1))
        return 0 if self.fits(item, events, deltas) else self._bytes_sent(self.deltas[item])

    def fits(self, item: Need | Ref, events: Label, deltas: Label) -> bool:
        """Whether events and deltas that belong together are in the same task: a read's, or what a statement adds."""
        if events == ANYWHERE or deltas == REPLICATED:
            return False
        return tuple(self.equal[item].get(name) for name in deltas) == events

    def _bytes_sent(self, size: float) -> int:
        """Of evenly spread bytes, all but one task's share change their place; something is always sent."""
        return max(1, round(size * (self.tasks - 1) / self.tasks))


def pose(
    plan: ProgramPlan,
    relations: Collection[str],
    estimates: Estimates,
    tasks: int,
    fixed: Labels | None = None,
    small_bytes: float = SMALL_BYTES,
) -> Problem:
    """The problem of a batch with events of ``relations``.

    Args:
        plan: the program's plan.
        relations: whose events the batch has.
        estimates: bytes of events and deltas.
        tasks: how many tasks there are.
        fixed: labels that are not to be chosen; the rest of them is ignored.
        small_bytes: maps with smaller deltas are replicated.
    """
    statements, needs = statements_of(plan, relations), find_needs(plan, relations)
    deltas = {ref: estimates.delta_bytes(ref) for ref in dict.fromkeys(n.producer for n in needs)}
    concerned = [*dict.fromkeys([*(n.consumer for n in needs), *deltas])]
    columns: dict[str, set[str]] = {}
    for ref in concerned:
        columns.setdefault(statements[ref].relation, set()).update(used_columns(plan, statements[ref]))
    events = {name: estimates.event_bytes(name, used) for name, used in columns.items()}
    items: tuple[Need | Ref, ...] = (*needs, *deltas)
    equal = {item: _find_equal_columns(plan, statements, item) for item in items}
    # Single columns by which something fits; more columns never fit better.
    options: dict[Node, dict[Label, None]] = {}
    for item, matches in equal.items():
        ref, name = (item.consumer, item.map) if isinstance(item, Need) else (item, item[0])
        of_events = options.setdefault(("events", statements[ref].relation), {ANYWHERE: None})
        of_map = options.setdefault(("map", name), {REPLICATED: None})
        of_events.update(((column,), None) for column in matches.values())
        of_map.update(((key,), None) for key in matches)
    labels = {node: tuple(found) for node, found in options.items()}
    cycles = find_cycles(needs)
    apart = {ref[0] for cycle in cycles for ref in cycle}
    for node in labels:
        size = sum(d for ref, d in deltas.items() if ref[0] == node[1])
        if node[0] == "map" and size < small_bytes and node[1] not in apart:
            labels[node] = (REPLICATED,)
        labels[node] = (fixed[node],) if fixed and node in fixed else labels[node]
    return Problem(plan, statements, needs, cycles, tasks, labels, equal, events, deltas)


def _find_equal_columns(plan: ProgramPlan, statements: Mapping[Ref, StatementPlan], item: Need | Ref) -> dict[str, str]:
    if isinstance(item, Need):
        statement = statements[item.consumer]
        read = statement.reads[item.read]
        places, scalars = read.places, read.bound
    else:
        statement = statements[item]
        places, scalars = tuple(range(len(statement.keys))), statement.keys
    keys = plan.program.map_by_name[item.map if isinstance(item, Need) else item[0]].keys
    columns = bare_columns(plan, statement, scalars)
    return {keys[i].name: column for i, column in zip(places, columns, strict=True) if column is not None}


# About how many bytes a row of a copy takes in a merged run: what `cumulus compile` and `cumulus explain` show.
#
# What is assumed, for a run's real encodings follow from its rows:
#
# - A whole number as a key takes the bits of its type: a BOOL 1, a DATE 12 (11 years), a TIMESTAMP 48 (9 years), a DECIMAL those
#   of its digits, an INT 32. If declared rows tell how many values an INT has at most, it takes the bits of that many: keys
#   are taken to be dense.
# - The numbers that a copy is sorted by are bits of one search code; what is no number, or finds no more room, adds a hash of 32.
#   The code takes 1, 2, 4 or 8 bytes, and so does a number that is not in it.
# - A text takes 20 bytes, a DOUBLE 8. (Texts that repeat take 1 or 2 in truth.)
# - A count takes 1 byte, any other value 4.
# - The version takes nothing: after an epoch's merge all rows have one.
#
# Checksums and headers are left out: they are 5 bytes in 65,536, and some kB a run.


CODE_BITS, HASH_BITS = 64, 32
TEXT_BYTES, DOUBLE_BYTES = 20, 8
COUNT_BYTES, VALUE_BYTES = 1, 4
BITS = {"bool": 1, "date": 12, "timestamp": 48, "int": 32}


class CopySizes:
    """Estimates for the copies of a plan's groups.

    Args:
        plan: the plan.
        rows: rows by relation, where they are known better than the program knows them.
    """

    def __init__(self, plan: ProgramPlan, rows: Mapping[str, float] | None = None) -> None:
        self._plan, self._sizes = plan, Sizes(plan.program, rows)

    def row_bytes(self, path: AccessPath) -> int:
        """The bytes of a row of a copy."""
        group = self._plan.groups[path.map]
        kept = range(len(group.keys)) if path.keys is None else path.keys
        bits = {i: self._count_bits(group, i) for i in kept if is_number(physical_type(group.keys[i].type))}
        packed: list[int] = []
        for place in path.bound:
            if place not in bits or sum(bits[i] for i in [*packed, place]) > CODE_BITS:
                break
            packed.append(place)
        code = sum(bits[i] for i in packed)
        rest = path.bound[len(packed) :]
        if rest and path.order not in rest:
            code += min(HASH_BITS, CODE_BITS - code)
        others = 0
        for i in kept:
            if i not in packed:
                wide = DOUBLE_BYTES if group.keys[i].type.kind == "double" else TEXT_BYTES
                others += _whole_bytes(bits[i]) if i in bits else wide
        names = group.members if path.values is None else path.values
        values = (COUNT_BYTES if self._is_count(group, name) else VALUE_BYTES for name in names)
        return _whole_bytes(code) + others + sum(values)

    def _count_bits(self, group: Group, place: int) -> int:
        type_ = group.keys[place].type
        if type_.kind == "decimal":
            return min(CODE_BITS, math.ceil(type_.precision * math.log2(10)))
        if type_.kind != "int":
            return BITS[type_.kind]
        # It has as many values as there are entries, divided by those of one value, as far as these are known.
        values = self._sizes.size(group.name)
        if values is not None and len(group.keys) > 1:
            free = tuple((i, key.name) for i, key in enumerate(group.keys) if i != place)
            found = self._sizes.matches(Access(group.name, (place,), free)).known
            values = values if found is None else values / found
        return BITS["int"] if values is None else min(BITS["int"], math.ceil(math.log2(max(values, 1.0))))

    def _is_count(self, group: Group, name: str) -> bool:
        """Whether a member counts: nothing but constants and other counts goes into it."""
        products = (p for s in self._plan.statements[group.name] for p in s.products if p.map == name)
        factors = (factor for product in products for factor in (*product.factors, *product.late_factors))
        variable = any(True for factor in factors for _ in variables(factor))
        return self._plan.program.map_by_name[name].value.kind == "int" and not variable


def _whole_bytes(bits: int) -> int:
    """The narrowest of the stored widths that holds so many bits."""
    return next(size for size in (0, 1, 2, 4, 8) if bits <= 8 * size)
