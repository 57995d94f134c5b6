"""What a switch knows of the layout, and a node too where it is told before the first event (semester paper, section 3.2): who reads what for
an update, who writes what, and which maps' deltas go where.

The nodes of a class of updates follow from its directive (:mod:`cumulus_ops.simulation.tables`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from cumulus_ops.simulation.case import Read, Stamp, Version, read_bound, reads_of
from cumulus_ops.simulation.layout import Layout
from cumulus_ops.simulation.protocols.optimistic.logs import Reference
from cumulus_ops.simulation.protocols.optimistic.messages import Fetch, Wanted
from cumulus_ops.simulation.tables import DirectiveTable, Tables
from m3.dataflow import depth, is_cyclic, strata
from m3.evaluate import FAILURES, Value
from m3.program import Program
from m3.scalars import variables

__all__ = ["Dispatch", "Plan"]


#: A map, and a node that has some of it.
Share = tuple[str, int]


@dataclass(frozen=True)
class Plan:
    """Of a class of updates. ``fetches``: read node -> what it is to send; ``puts``: write node -> statement -> for each
    read the number of nodes that will send something."""

    fetches: Mapping[int, tuple[Wanted, ...]]
    puts: Mapping[int, Mapping[int, tuple[int, ...]]]


class Dispatch:
    """The plans of a program on a layout. Made when first asked for, and kept."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self.tables = Tables(program, layout)
        self.numbers = {(t.relation, t.sign): i for i, t in enumerate(program.triggers)}
        self._plans: dict[tuple[int, tuple[int, ...]], Plan] = {}
        self._reads: dict[tuple[int, int], tuple[Read, ...]] = {}

    def table(self, trigger: int) -> DirectiveTable:
        """The directive table of a trigger."""
        of = self.program.triggers[trigger]
        return self.tables.by_event[of.relation, of.sign]

    def plan(self, trigger: int, arguments: Mapping[str, Value]) -> Plan:
        """What an update needs; all variables of its keys are needed."""
        table = self.table(trigger)
        of = trigger, table.class_of(arguments)
        if of not in self._plans:
            self._plans[of] = self._plan(table, of[1])
        return self._plans[of]

    def _plan(self, table: DirectiveTable, of: tuple[int, ...]) -> Plan:
        owner = self.layout.owner
        wanted: dict[int, dict[tuple[int, int], set[int]]] = {}
        senders: dict[int, dict[int, list[set[int]]]] = {}
        for write in table.directive(of).writes:
            statement = table.trigger.statements[write.statement]
            by_read = senders.setdefault(owner[write.target], {})
            sets = by_read.setdefault(write.statement, [set() for _ in statement.reads()])
            for read in write.reads:
                sets[read.read].add(owner[read.source])
                reads = wanted.setdefault(owner[read.source], {})
                reads.setdefault((read.statement, read.read), set()).add(owner[write.target])
        fetches = {
            n: tuple(Wanted(*read, tuple(sorted(nodes))) for read, nodes in sorted(reads.items()))
            for n, reads in sorted(wanted.items())
        }
        puts = {n: {s: tuple(map(len, sets)) for s, sets in sorted(by.items())} for n, by in sorted(senders.items())}
        return Plan(fetches, puts)

    def wanted(self, message: Fetch, number: int) -> tuple[Wanted, ...]:
        """What a FETCH asks a node for. Where it names no write nodes, the layout says who they are (section 3.5, FETCH optimization)."""
        if message.wanted and message.wanted[0].nodes:
            return message.wanted
        known = self.plan(message.trigger, message.arguments).fetches[number]
        named = {(w.statement, w.read) for w in message.wanted}
        return tuple(w for w in known if not named or (w.statement, w.read) in named)

    def reads(self, trigger: int, statement: int) -> tuple[Read, ...]:
        """The reads of a statement."""
        if (trigger, statement) not in self._reads:
            self._reads[trigger, statement] = reads_of(self.program.triggers[trigger], statement)
        return self._reads[trigger, statement]

    def reference(self, trigger: int, statement: int, read: int, arguments: Mapping[str, Value]) -> Reference:
        """What a read of a statement is about, for an update."""
        of = self.reads(trigger, statement)[read].slice
        try:
            return Reference(of.map, of.path, of.bound(arguments))
        except FAILURES:
            return Reference(of.map, of.path, None)

    def below(self, version: Version, trigger: int, statement: int, read: int) -> Stamp:
        """TSy: below which stamp a read sees writes."""
        return read_bound(self.program, version, statement, self.reads(trigger, statement)[read].slice.after)

    def with_reads(self, trigger: int) -> tuple[int, ...]:
        """The statements of a trigger that read something."""
        statements = self.program.triggers[trigger].statements
        return tuple(i for i, s in enumerate(statements) if any(True for _ in s.reads()))

    def slice_variables(self, trigger: int, wanted: tuple[Wanted, ...]) -> set[str]:
        """The arguments that say which slices are meant."""
        reads = (self.reads(trigger, w.statement)[w.read].slice for w in wanted)
        return {v for read in reads for key in read.keys for v in variables(key)}

    def statement_variables(self, trigger: int, statements: Iterable[int]) -> set[str]:
        """The arguments that statements need."""
        of = self.program.triggers[trigger]
        return {v for s in statements for v in of.statements[s].variables()} & set(of.params)

    def key_variables(self, trigger: int) -> set[str]:
        """The arguments that decide where an update goes."""
        return {v for key in self.table(trigger).cuts for v in variables(key)}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The maps, sources before targets."""
        return tuple(name for stratum in strata(self.program) for name in stratum)

    @cached_property
    def owners(self) -> dict[str, tuple[int, ...]]:
        """Map -> the nodes that have some of it."""
        owners: dict[str, set[int]] = {m.name: set() for m in self.program.maps}
        for segment, owner in self.layout.owner.items():
            owners[segment.map].add(owner)
        return {name: tuple(sorted(nodes)) for name, nodes in owners.items()}

    @cached_property
    def feeders(self) -> dict[Share, tuple[Share, ...]]:
        """A node's share of a map -> the shares of other maps that some update may compute it from."""
        feeders: dict[Share, set[Share]] = {}
        for table in self.tables.by_event.values():
            for read in table.possible().reads:
                source = read.source.map, self.layout.owner[read.source]
                feeders.setdefault((read.target.map, self.layout.owner[read.target]), set()).add(source)
        return {share: tuple(sorted(sources)) for share, sources in feeders.items()}

    @cached_property
    def readers(self) -> dict[Share, tuple[int, ...]]:
        """A node's share of a map -> the nodes with something that may be computed from it."""
        readers: dict[Share, set[int]] = {}
        for (_, reader), sources in self.feeders.items():
            for source in sources:
                readers.setdefault(source, set()).add(reader)
        return {share: tuple(sorted(nodes)) for share, nodes in readers.items()}

    @cached_property
    def depths(self) -> dict[str, int]:
        """Map -> the number of steps on the longest path to it."""
        return depth(self.program)

    @property
    def longest_path(self) -> int:
        """The number of steps from map to map on the longest path of the dataflow."""
        return max(self.depths.values())

    @property
    def acyclic(self) -> bool:
        """Whether no map is computed from itself."""
        return not any(is_cyclic(self.program, stratum) for stratum in strata(self.program))
