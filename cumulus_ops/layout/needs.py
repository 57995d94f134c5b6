"""Which deltas of a batch the batch itself reads: all that ever has to travel between the tasks of a partitioned apply.

Stored runs are files that any task reads. So two statements that are run for the same batch have to meet only where one
reads what the other adds *in this batch* to an earlier version; whether it may, the program's version scheme says
(:mod:`cumulus_ops.coordination.schemes`). Everything else needs no exchange: a map's deltas may be written by whatever tasks computed them,
since runs are multisets that readers add up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.layout.statements import ReadPlan, StatementPlan
from m3.graphs import components, graph_of
from m3.scalars import Scalar, Var, variables

__all__ = ["Need", "Ref", "bare_columns", "columns_of", "find_cycles", "find_needs", "statements_of", "used_columns"]

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
        if _sees(plan, statement, read, statements[producer])
    )


def find_cycles(needs: Sequence[Need]) -> tuple[frozenset[Ref], ...]:
    """The sets of statements that need each other's deltas, directly or not: what they add within one batch is a fixpoint.

    That it is reached is sure, since every read finds earlier versions only; after how many rounds depends on the data."""
    graph = graph_of((), ((n.producer, n.consumer) for n in needs))
    return tuple(frozenset(c) for c in components(graph) if len(c) > 1 or c[0] in graph[c[0]])


def _sees(plan: ProgramPlan, consumer: StatementPlan, read: ReadPlan, producer: StatementPlan) -> bool:
    """Whether some event of the consumer can be later than some event of the producer."""
    return plan.versions.reads_own(plan.place(consumer), read.after, plan.place(producer))


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
