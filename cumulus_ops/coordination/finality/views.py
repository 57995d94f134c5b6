"""A program as an annotated dataflow ("white box", Blazes section VII): its views are components whose annotations follow from the program.

A view has a path from each relation to its ``rows``, which writes its maps: CW if any order of events ends in the same maps, else OW; and one from
``request`` to ``rows``, which reads them: CR if no row is ever retracted, else OR. The gate is made of the visible columns that its rows are
partitioned by. Attributes are called as the view calls them, on its relations' streams too: a seal is on the columns that show it.

A file of the project may describe what becomes of the rows; it is connected with them, and analysed together with each view.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cumulus_ops.coordination.finality.lineage import Carrier, Lineage
from cumulus_ops.coordination.finality.monotone import growth_of, retractions, why_retracted
from cumulus_ops.coordination.labelling.analysis import LOGGED, analyse
from cumulus_ops.coordination.labelling.annotations import Annotation, Component, Dataflow, Stream
from cumulus_ops.coordination.labelling.strategies import coordinate
from cumulus_ops.coordination.plan import AT_ONCE, COMMITTED, SEALED, EdgePlan, SealOf, ViewPlan
from m3.clock import CLOCK
from m3.formatting import format_scalar
from m3.program import Program, View

if TYPE_CHECKING:
    from cumulus_ops.project.settings import SealSettings

__all__ = ["REQUEST", "ROWS", "Annotated", "Finality", "connected", "edges_beyond", "labelled", "view_component"]


# From when on rows of a view are final: at once, when their partition is sealed, or with their epoch; and what would change that.
#
# Rows of a sealed partition are final if every relation that the view depends on is sealed on columns that come through to the same visible
# columns of the view (:mod:`cumulus_ops.coordination.finality.lineage`): a relation that is not could still change the partition.


#: Why rows that now() may pass are final with their epoch: as of that, which says what now is.
PASSED_BY_NOW = "now() passes its rows, without any event of them: they are final as of an epoch"

Seals = Mapping[str, Sequence["SealSettings"]]


@dataclass(frozen=True)
class Finality:
    """Decides for the views of a program. ``insert_only``: the relations without deletes; ``seals``: relation -> its seals, as declared;
    ``confluent``: the views whose maps end the same in any order of the same events."""

    program: Program
    insert_only: frozenset[str]
    seals: Seals
    confluent: frozenset[str]
    lineage: Lineage

    def of(self, view: View) -> ViewPlan:
        """When rows of a view are final, why, and what the cheapest change is that would avoid waiting for an epoch."""
        if CLOCK in self.lineage.relations(view):
            return ViewPlan(view.name, "Run", "Async", COMMITTED, PASSED_BY_NOW)
        why = self.retracted(view)
        if why is None:
            return ViewPlan(view.name, "Async", "Async", AT_ONCE, "no row of it is ever retracted")
        sealed = self.sealed(view)
        if sealed:
            by, others = _named(sealed), [_named(way) for way in self._ways(view) if way != sealed]
            said = f"{by} {'closes' if len(sealed) == 1 else 'close'} them"
            reason = f"{why}; but rows of one {' and '.join(sealed[0].output)} depend on no others, and {said}"
            if others:
                reason += f" (so would {', or '.join(dict.fromkeys(others))}: the seal that is declared first is taken)"
            return ViewPlan(view.name, "Run", "Async", SEALED, reason, sealed)
        reason = f"{why}; {self._unsealed(view)}"
        return ViewPlan(view.name, "Run", "Async", COMMITTED, reason, advice=next(self._changes(view), None))

    def retracted(self, view: View) -> str | None:
        """Why rows of a view may be retracted; None if they never are."""
        if view.name not in self.confluent:
            return "what its maps hold depends on the order of events"
        return why_retracted(growth_of(self.program, self.insert_only), view)

    def sealed(self, view: View) -> tuple[SealOf, ...]:
        """The seals that make partitions of a view final, one of each relation that it depends on; empty if there are none. Of several
        ways, the one whose seal is declared first."""
        return next(self._ways(view), ())

    def _ways(self, view: View) -> Iterator[tuple[SealOf, ...]]:
        """All of them."""
        relations = self.lineage.relations(view)
        if not relations or view.limit is not None or view.offset or not self._all_sealed(relations):
            return
        carriers = self._visible(view)
        for seal in self.seals[relations[0]]:
            yield from self._matching(seal, relations, carriers)

    def _visible(self, view: View) -> list[Carrier]:
        """The carriers that readers see, with values that are written alike everywhere."""
        found = []
        for carrier in self.lineage.carriers(view):
            type_ = view.keys[carrier.position].type
            columns = [
                c
                for r, name in carrier.columns.items()
                for c in self.program.relation_by_name[r].columns
                if c.name == name
            ]
            shown = columns[0].type if carrier.form is None else carrier.form.type
            alike = shown.same_as(type_) and all(c.type.same_as(columns[0].type) for c in columns)
            if carrier.output is not None and alike:
                found.append(carrier)
        return found

    def _matching(
        self, seal: SealSettings, relations: Sequence[str], carriers: Sequence[Carrier]
    ) -> Iterator[tuple[SealOf, ...]]:
        """Ways to find a seal of the first relation, and one of each other, in the same columns of a view."""
        choices = [[c for c in carriers if c.columns[relations[0]] == column] for column in seal.columns]
        for chosen in itertools.product(*choices):
            if len({c.output for c in chosen}) < len(chosen):
                continue
            found = [self._seal_on(r, {c.columns[r]: c for c in chosen}) for r in relations[1:]]
            first = _seal_of(relations[0], seal, chosen)
            if all(found):
                yield (first, *(s for s in found if s is not None))

    def _seal_on(self, relation: str, carriers: Mapping[str, Carrier]) -> SealOf | None:
        """The relation's seal on just these columns (column -> what it comes through to)."""
        for seal in self.seals[relation]:
            if set(seal.columns) == set(carriers):
                return _seal_of(relation, seal, [carriers[c] for c in seal.columns])
        return None

    def _unsealed(self, view: View) -> str:
        """Why no seals make its partitions final."""
        relations = self.lineage.relations(view)
        if view.limit is not None or view.offset:
            return "LIMIT chooses among the rows of all partitions"
        carriers = self._visible(view)
        if not carriers:
            return "and no column that it shows keeps the rows of " + " and ".join(relations) + " apart"
        shown = ", ".join(dict.fromkeys(_said(c) for c in carriers))
        without = [r for r in relations if not self.seals.get(r)]
        if without:
            return f"its rows are kept apart by {shown}, but {' and '.join(without)} {_is(without)} not sealed"
        return (
            f"its rows are kept apart by {shown}, on which {' and '.join(relations)} {_is(relations)} not sealed alike"
        )

    def _changes(self, view: View) -> Iterator[str]:
        relations = self.lineage.relations(view)
        if view.limit is not None or view.offset:
            yield from self._unlimited(view)
            return
        if view.name in self.confluent:
            yield from self._fewer_retractions(view, relations)
        if relations and self._all_sealed(relations):
            yield from self._new_column(relations)
        yield from self._new_seals(view, relations)
        hidden = [c for c in self.lineage.carriers(view) if c.output is None]
        if hidden:
            yield f"show {_column(hidden[0], relations)}, and seal {' and '.join(relations)} on it"
        yield from self._new_column(relations)

    def _fewer_retractions(self, view: View, relations: Sequence[str]) -> Iterator[str]:
        """Less that may happen, or less that is shown: a column of a view whose rows HAVING chooses."""
        left = retractions(growth_of(self.program, frozenset(self.program.relation_by_name)), view)
        deleting = [r for r in relations if r not in self.insert_only]
        said = f"`insert_only: true` for {' and '.join(deleting)}, if nothing is ever deleted there"
        if not left:
            yield f"say {said}: then no row of it is ever retracted"
        elif view.having is not None and all(r.column for r in left):
            columns = ", ".join(dict.fromkeys(r.column for r in left))
            yield f"leave out {columns}{', and say ' + said if deleting else ''}: then no row of it is ever retracted"

    def _new_seals(self, view: View, relations: Sequence[str]) -> Iterator[str]:
        """Seals on one column that is shown; best where most relations have them."""
        found = []
        for carrier in self._visible(view):
            missing = [
                r for r in relations if (carrier.columns[r],) not in [tuple(s.columns) for s in self.seals.get(r, ())]
            ]
            found.append((len(missing), carrier, missing))
        if found:
            _, carrier, missing = min(found, key=lambda f: f[0])
            said = " and ".join(f"{r} on {carrier.columns[r]}" for r in missing)
            yield f"seal {said} (`seals:` in cumulus.yaml): then rows of one {carrier.output} are final when it is sealed"

    def _unlimited(self, view: View) -> Iterator[str]:
        """LIMIT left to readers, if that helps."""
        whole = self.of(replace(view, limit=None, offset=0))
        said = "leave LIMIT and OFFSET to whoever reads it"
        if whole.final != COMMITTED:
            yield said
        elif whole.advice is not None:
            yield f"{said}, and {whole.advice}"

    def _new_column(self, relations: Sequence[str]) -> Iterator[str]:
        """A column that what is sealed, or can be, has in common."""
        sealed = (
            [f"{r}.{c}" for r in relations for c in self.seals[r][0].columns] if self._all_sealed(relations) else []
        )
        if len(relations) > 1 and sealed:
            yield f"join by what they are sealed on, too ({' = '.join(sealed)}), and show it"
        elif sealed:
            columns = " and ".join(self.seals[relations[0]][0].columns)
            yield f"group by {columns} of {relations[0]} too, on which it is sealed, and show it"
        elif len(relations) == 1:
            yield f"group by something of {relations[0]} that comes to an end, such as a day, show it, and seal on it"

    def _all_sealed(self, relations: Sequence[str]) -> bool:
        return all(self.seals.get(r) for r in relations)


def _seal_of(relation: str, seal: SealSettings, carriers: Sequence[Carrier]) -> SealOf:
    """A seal whose columns come through to these, in their order."""
    forms = tuple("" if c.form is None else format_scalar(c.form) for c in carriers)
    return SealOf(
        relation,
        seal.name,
        tuple(seal.columns),
        tuple(str(c.output) for c in carriers),
        forms if any(forms) else (),
    )


def _named(seals: Sequence[SealOf]) -> str:
    return " and ".join(f"{s.relation}.{s.seal}" for s in seals)


def _said(carrier: Carrier) -> str:
    columns = ", ".join(f"{r}.{c}" for r, c in carrier.columns.items())
    return f"{carrier.output} ({columns})"


def _column(carrier: Carrier, relations: Sequence[str]) -> str:
    return f"{carrier.columns[relations[0]]} of {relations[0]}"


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


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
    # Where the output of a view is for several instances of a component, each of them asks for itself.
    several = {c.name for c in described.components if c.replicated}
    asking = frozenset(
        s.source[0]
        for s in described.streams
        if s.source is not None and (s.replicated or (s.target is not None and s.target[0] in several))
    )
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
