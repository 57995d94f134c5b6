"""Two algorithms that must agree: a switch's dispatch, and the directive table of the Cumulus paper's Figure 4."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cumulus_ops.simulation.case import Case, Event, env_of
from cumulus_ops.simulation.judge import Wrong
from cumulus_ops.simulation.layout import Segment
from cumulus_ops.simulation.tables import Class, Tables

__all__ = ["Dispatched", "as_figure_4_says"]

#: (statement, target) of each write -> (node, number of the read) of what is read for it.
Dispatched = Mapping[tuple[int, Segment], set[tuple[int, int]]]
#: Layouts of more nodes are simulated to be measured.
NODES_CHECKED = 64


def as_figure_4_says(case: Case, dispatched: Callable[[Event], Dispatched]) -> Callable[[Event], None]:
    """A look at each event: whether what is dispatched for it is what the directive table says. It raises :class:`Wrong`."""
    tables, owner = Tables(case.program, case.layout), case.layout.owner
    seen: set[tuple[str, int, Class]] = set()

    def look(event: Event) -> None:
        table = tables.of(event.relation, event.sign)
        if table is None or len(case.layout.nodes) > NODES_CHECKED:
            return
        of = table.class_of(env_of(table.trigger, event.row))
        if (event.relation, event.sign, of) in seen:
            return
        seen.add((event.relation, event.sign, of))
        writes = table.directive(of).writes
        expected = {(w.statement, w.target): {(owner[r.source], r.read) for r in w.reads} for w in writes}
        if (found := dispatched(event)) != expected:
            raise Wrong(f"for {event} the switch dispatches {found}, the directive table says {expected}")

    return look
