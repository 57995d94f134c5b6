"""From a project and its program to its coordination plan (Blazes, section V-B): coordinate exactly where it is needed.

What the events of a relation do to the maps needs no order if the order of events is free in them. An answer needs no coordination if none
of its rows is ever retracted; if its partitions are sealed, it waits for their seals, and for the vote of their producers where there are
several; everything else waits for its epoch, which is the order by logged versions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from cumulus_ops.coordination.barriers import barriers_of
from cumulus_ops.coordination.finality.lineage import Lineage
from cumulus_ops.coordination.finality.views import (
    Annotated,
    Finality,
    connected,
    edges_beyond,
    labelled,
    view_component,
)
from cumulus_ops.coordination.labelling.analysis import LOGGED, analyse
from cumulus_ops.coordination.labelling.annotations import read_dataflow
from cumulus_ops.coordination.labelling.strategies import coordinate, locality_of
from cumulus_ops.coordination.plan import AT_ONCE, SEALED, CoordinationPlan, EdgePlan, Verdict, ViewPlan
from m3.confluence.proof import Confluence, prove
from m3.explain.report import restrict
from m3.program import Program

if TYPE_CHECKING:
    from cumulus_ops.coordination.labelling.annotations import Dataflow
    from cumulus_ops.project.settings import Project

__all__ = ["ANSWERS", "Planning", "extend_plan", "goes_beyond", "plan_coordination"]

#: What the edges from views lead to.
ANSWERS = "answers"
#: How the strategies are called.
NONE, SEAL, ORDER = "none", "seal", "order"


def plan_coordination(
    project: Project, program: Program, confluence: Confluence, scheme: str | None = None
) -> CoordinationPlan:
    """The plan of a project.

    Args:
        project: what it declares: the relations that have only inserts, their seals, what becomes of the answers.
        program: what it maintains, checked.
        confluence: of which relations' events the order is free.
        scheme: the name of the program's version scheme; by default it follows from the confluence.

    Raises:
        InputProblem: the file about what becomes of the answers is wrong.
    """
    return Planning(project, program, confluence).plan(scheme or confluence.grain)


def goes_beyond(plan: CoordinationPlan) -> bool:
    """Whether a plan was made with a file that says what becomes of the answers."""
    return [edge.target for edge in plan.edges[-len(plan.views) :]] != [ANSWERS] * len(plan.views)


def extend_plan(
    project: Project, program: Program, known: CoordinationPlan, planned: Collection[str]
) -> CoordinationPlan:
    """The plan of a program of which some views were planned before, with the same maps and settings: only the others are analysed. It is the one that
    :func:`plan_coordination` makes.

    Args:
        project: what it declares; it has no seals, and says nothing of what becomes of the answers.
        program: what it maintains; the order of events is free in it.
        known: the plan before.
        planned: the views that stay.
    """
    assert not any(project.seals.values())
    assert project.dataflow is None
    fresh = restrict(program, *(v.name for v in program.views if v.name not in planned))
    made = Planning(project, fresh, prove(fresh)).plan(known.scheme)
    names = [v.name for v in program.views]
    views = {v.view: v for v in (*known.views, *made.views)}
    writes: dict[str, list[EdgePlan]] = {name: [] for name in names}
    reads: dict[str, EdgePlan] = {}
    for of in (known, made):
        again = {v.view for v in of.views if (v.view in planned) == (of is known)}
        ends = len(of.edges) - len(of.views)  # those to the answers come last, one for each view
        for edge in of.edges[:ends]:
            if edge.target in again:
                writes[edge.target].append(edge)
        reads |= {edge.source: edge for edge in of.edges[ends:] if edge.source in again}
    plans = tuple(views[name] for name in names)
    edges = (*(edge for name in names for edge in writes[name]), *(reads[name] for name in names))
    return CoordinationPlan(known.scheme, made.verdicts, plans, edges, barriers_of(program, {}, plans))


@dataclass(frozen=True)
class Planning:
    """A project's plan in the making; ``dataflow`` is what is analysed."""

    project: Project
    program: Program
    confluence: Confluence

    def plan(self, scheme: str) -> CoordinationPlan:
        """All of the plan."""
        names = [v.name for v in self.program.views]
        views = tuple(labelled(self.dataflow, v, names) for v in self.views)
        edges = (*self._writes(), *self._reads(views), *edges_beyond(self.dataflow, names))
        verdicts = tuple(Verdict(v.relation, v.grain, v.reason) for v in self.confluence.verdicts.values())
        barriers = barriers_of(self.program, self.project.seals, views)
        return CoordinationPlan(scheme, verdicts, views, edges, barriers, tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        """The locality of seals: how many nodes a value concerns."""
        streams = self.dataflow.streams
        planned = coordinate(self.dataflow, analyse(self.dataflow), LOGGED).edges
        for stream, edge in zip(streams, planned, strict=True):
            if edge.strategy == SEAL:
                yield f"{stream.name}: {locality_of(self.dataflow, stream)}"

    @cached_property
    def lineage(self) -> Lineage:
        """What comes through to the views."""
        return Lineage(self.program)

    @cached_property
    def views(self) -> tuple[ViewPlan, ...]:
        """When rows of the views are final."""
        project = self.project
        finality = Finality(self.program, frozenset(project.insert_only), project.seals, self.confluent, self.lineage)
        return tuple(map(finality.of, self.program.views))

    @cached_property
    def confluent(self) -> frozenset[str]:
        """The views whose maps end the same in any order of the same events; of a program that is not confluent, its parts may be."""
        names = [v.name for v in self.program.views]
        if self.confluence.is_confluent:
            return frozenset(names)
        return frozenset(name for name in names if prove(restrict(self.program, name)).is_confluent)

    @cached_property
    def dataflow(self) -> Dataflow:
        """The views as annotated components, connected as the project's file says."""
        views = [self._annotated(plan) for plan in self.views]
        file = self.project.dataflow
        described = None if file is None else read_dataflow(file, [v.component for v in views])
        return connected(self.project.name, views, described)

    def _annotated(self, plan: ViewPlan) -> Annotated:
        view = self.program.view(plan.view)
        gate = [c.output for c in self.lineage.carriers(view) if c.output is not None]
        return view_component(
            plan,
            self.lineage.relations(view),
            gate,
            confluent=plan.view in self.confluent,
            alone=bool(plan.seals) and not self._vote(plan),
        )

    def _vote(self, plan: ViewPlan) -> bool:
        """Whether several producers may have to agree that a partition of a view is complete."""
        producers = {(r, s.name): s.producers for r, seals in self.project.seals.items() for s in seals}
        return any(producers[s.relation, s.seal] != "one" for s in plan.seals)

    def _writes(self) -> Iterator[EdgePlan]:
        """From relations to the maps of views."""
        for view in self.program.views:
            for relation in self.lineage.relations(view):
                yield self._write(relation, view.name)

    def _write(self, relation: str, view: str) -> EdgePlan:
        if view in self.confluent:
            return EdgePlan(relation, view, NONE, "Async", "any order of its events ends in the same maps")
        verdict = self.confluence.verdicts.get(relation)
        reason = verdict.reason if verdict and verdict.grain == "event" else "others' events depend on their order"
        return EdgePlan(relation, view, ORDER, "Run", reason, order=LOGGED)

    def _reads(self, views: Sequence[ViewPlan]) -> Iterator[EdgePlan]:
        """From views to whoever asks."""
        for plan in views:
            if plan.final == AT_ONCE:
                yield EdgePlan(plan.view, ANSWERS, NONE, plan.label, plan.reason)
            elif plan.final == SEALED:
                key = plan.seals[0].output
                yield EdgePlan(plan.view, ANSWERS, SEAL, plan.label, plan.reason, key, self._vote(plan))
            else:
                yield EdgePlan(plan.view, ANSWERS, ORDER, plan.label, plan.reason, order=LOGGED)
