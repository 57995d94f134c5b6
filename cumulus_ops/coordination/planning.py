"""From a project and its program to its coordination plan (Blazes, section V-B): coordinate exactly where it is needed.

What the events of a relation do to the maps needs no order if the order of events is free in them. An answer needs no coordination if none
of its rows is ever retracted; if its partitions are sealed, it waits for their seals, and for the vote of their producers where there are
several; everything else waits for its epoch, which is the order by logged versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cumulus_ops.coordination.barriers import barriers_of
from cumulus_ops.coordination.finality import Finality
from cumulus_ops.coordination.lineage import Lineage
from cumulus_ops.coordination.plan import AT_ONCE, SEALED, CoordinationPlan, EdgePlan, Verdict, ViewPlan
from cumulus_ops.coordination.schemes import BatchVersions
from m3.program import Program

if TYPE_CHECKING:
    from cumulus_ops.config import Project

__all__ = ["ANSWERS", "plan_coordination"]

#: What the edges from views lead to.
ANSWERS = "answers"
#: How the strategies are called.
NONE, SEAL, ORDER, LOGGED = "none", "seal", "order", "logged"


def plan_coordination(
    project: Project, program: Program, scheme: str, verdicts: Sequence[Verdict] = ()
) -> CoordinationPlan:
    """The plan of a project.

    Args:
        project: what it declares: the relations that have only inserts, and their seals.
        program: what it maintains, checked.
        scheme: the name of the program's version scheme.
        verdicts: how much order the events of each relation need.
    """
    lineage = Lineage(program)
    confluent = scheme == BatchVersions.name
    finality = Finality(program, frozenset(project.insert_only), project.seals, confluent, lineage)
    views = tuple(finality.of(view) for view in program.views)
    edges = (*_writes(program, lineage, confluent), *_reads(project, views))
    barriers = barriers_of(program, project.seals, views)
    return CoordinationPlan(scheme, tuple(verdicts), views, edges, barriers)


def _writes(program: Program, lineage: Lineage, confluent: bool) -> Iterator[EdgePlan]:
    """From relations to the maps of views."""
    for view in program.views:
        for relation in lineage.relations(view):
            if confluent:
                yield EdgePlan(relation, view.name, NONE, "Async", "any order of its events ends in the same maps")
            else:
                reason = "what is computed depends on the order of events, which is that of their versions"
                yield EdgePlan(relation, view.name, ORDER, "Run", reason, order=LOGGED)


def _reads(project: Project, views: Sequence[ViewPlan]) -> Iterator[EdgePlan]:
    """From views to whoever asks."""
    producers = {(r, s.name): s.producers for r, seals in project.seals.items() for s in seals}
    for view in views:
        if view.final == AT_ONCE:
            yield EdgePlan(view.view, ANSWERS, NONE, view.label, view.reason)
        elif view.final == SEALED:
            vote = any(producers[s.relation, s.seal] != "one" for s in view.seals)
            yield EdgePlan(view.view, ANSWERS, SEAL, view.label, view.reason, view.seals[0].output, vote)
        else:
            yield EdgePlan(view.view, ANSWERS, ORDER, view.label, view.reason, order=LOGGED)
