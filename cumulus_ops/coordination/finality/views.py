"""A program as an annotated dataflow ("white box", Blazes section VII): its views are components whose annotations follow from the program.

A view has a path from each relation to its ``rows``, which writes its maps: CW if any order of events ends in the same maps, else OW; and one from
``request`` to ``rows``, which reads them: CR if no row is ever retracted, else OR. The gate is made of the visible columns that its rows are
partitioned by. Attributes are called as the view calls them, on its relations' streams too: a seal is on the columns that show it.

A file of the project may describe what becomes of the rows; it is connected with them, and analysed together with each view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cumulus_ops.coordination.labelling.analysis import LOGGED, analyse
from cumulus_ops.coordination.labelling.annotations import Annotation, Component, Dataflow, Stream
from cumulus_ops.coordination.labelling.strategies import coordinate
from cumulus_ops.coordination.plan import AT_ONCE, EdgePlan, ViewPlan

__all__ = ["REQUEST", "ROWS", "Annotated", "connected", "edges_beyond", "labelled", "view_component"]

#: The interfaces of views: what is asked, and what is answered.
REQUEST, ROWS = "request", "rows"


@dataclass(frozen=True)
class Annotated:
    """A view as a component, with the seals on its relations' streams (relation -> the view's columns that show them) and whether one
    coordinator produces a value of each."""

    component: Component
    relations: tuple[str, ...]
    seals: Mapping[str, frozenset[str]]
    alone: bool = False


def view_component(
    plan: ViewPlan, relations: Sequence[str], gate: Iterable[str], *, confluent: bool, alone: bool = False
) -> Annotated:
    """A view, annotated.

    Args:
        plan: from when on its rows are final.
        relations: those that it depends on.
        gate: the visible columns that its rows are partitioned by.
        confluent: whether any order of events ends in the same maps.
        alone: whether each sealed value has a single producer.
    """
    columns = frozenset(gate) or None
    kept = tuple((c, c) for c in sorted(columns or ()))
    writes = [Annotation(r, ROWS, "CW" if confluent else "OW", None if confluent else columns, kept) for r in relations]
    read = Annotation(REQUEST, ROWS, "CR") if plan.final == AT_ONCE else Annotation(REQUEST, ROWS, "OR", columns)
    seals = {s.relation: frozenset(s.output) for s in plan.seals}
    return Annotated(Component(plan.view, (*writes, read), replicated=None), tuple(relations), seals, alone)


def connected(name: str, views: Sequence[Annotated], described: Dataflow | None = None) -> Dataflow:
    """The dataflow of a program.

    Args:
        name: the project's.
        views: its views, annotated.
        described: what its file says, in which the views are components, too; None if there is no file.
    """
    if described is None:
        described = Dataflow(name, tuple(v.component for v in views), tuple(_streams(views)))
    known = {v.component.name: v for v in views}
    asking = _replicated_consumers(described)
    return replace(described, name=name, streams=tuple(_completed(s, known, asking) for s in described.streams))


def _streams(views: Sequence[Annotated]) -> Iterable[Stream]:
    for view in views:
        name = view.component.name
        for relation in view.relations:
            yield Stream(f"{relation} to {name}", None, (name, relation))
        yield Stream(f"{REQUEST} to {name}", None, (name, REQUEST))
        yield Stream(f"{ROWS} from {name}", (name, ROWS), None)


def _completed(stream: Stream, views: Mapping[str, Annotated], asking: frozenset[str]) -> Stream:
    """A stream from outside into a view, with what the project says of it."""
    view = views.get(stream.target[0]) if stream.target is not None else None
    if view is None or stream.source is not None or stream.target is None:
        return stream
    interface = stream.target[1]
    if interface == REQUEST:
        return replace(stream, replicated=True) if view.component.name in asking else stream
    return replace(stream, seal=view.seals.get(interface), producers=1 if view.alone else None)


def _replicated_consumers(dataflow: Dataflow) -> frozenset[str]:
    """The components whose output is for several instances of some component: each of these asks for itself."""
    several = {c.name for c in dataflow.components if c.replicated}
    return frozenset(
        s.source[0]
        for s in dataflow.streams
        if s.source is not None and (s.replicated or (s.target is not None and s.target[0] in several))
    )


def of_view(dataflow: Dataflow, view: str, others: Iterable[str]) -> Dataflow:
    """The part of a dataflow that the other views have nothing to do with."""
    gone = frozenset(others) - {view}
    streams = tuple(s for s in dataflow.streams if not gone & {end[0] for end in (s.source, s.target) if end})
    names = {s.name for s in streams}
    return replace(
        dataflow,
        components=tuple(c for c in dataflow.components if c.name not in gone),
        streams=streams,
        dependencies=tuple(d for d in dataflow.dependencies if d.stream is None or d.stream in names),
        schemas=tuple(s for s in dataflow.schemas if s.stream in names),
    )


def labelled(dataflow: Dataflow, plan: ViewPlan, others: Iterable[str]) -> ViewPlan:
    """A view's plan with the labels of the answers, or of what becomes of them: without any coordination, and with what is planned."""
    part = of_view(dataflow, plan.view, others)
    without = replace(part, streams=tuple(replace(s, seal=None) for s in part.streams))
    found = analyse(part)
    with_order = coordinate(part, found, LOGGED).analysis
    return replace(plan, label=str(analyse(without).label.bare), coordinated=str(with_order.label.bare))


def edges_beyond(dataflow: Dataflow, views: Iterable[str]) -> tuple[EdgePlan, ...]:
    """What the streams need that the project's file describes: all but those between the outside and views."""
    known = {*views, None}
    ends = {s.name: {e[0] if e else None for e in (s.source, s.target)} for s in dataflow.streams}
    planned = zip(dataflow.streams, coordinate(dataflow, analyse(dataflow), LOGGED).edges, strict=True)
    return tuple(edge for stream, edge in planned if not ends[stream.name] <= known)
