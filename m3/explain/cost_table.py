"""The costs of events as a table for people, with symbols explained below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from m3.explain.amount import ZERO, Amount
from m3.explain.cost import Caused, TriggerCost, costs
from m3.explain.words import WARNING, events
from m3.program import Program

__all__ = ["cost_table"]

HEADS = ("event", "statements", "lookups", "slices", "scans", "entries touched", "re-evaluation")
TERMS = 3
NOTE = "reads and writes of map entries; lookups are O(log n), slices touch the entries that match, scans a whole map"
CHANGES = (
    "±r: an insert or a delete; ~m: one changed row of the derived map m; m × groups: what re-evaluating m can cost"
)


def cost_table(program: Program, statistics: Mapping[str, float] | None) -> list[str]:
    """Lines: a row per kind of event, what it can cause downstream, and what the symbols stand for."""
    names = _Names()
    rows = list(_rows(program, names, _joined(costs(program, statistics))))
    unused = [r.name for r in program.relations if not any(t.relation == r.name for t in program.triggers)]
    lines = [f"  {line}" for line in _aligned([HEADS, *rows])]
    lines += [f"  no trigger: {', '.join(unused)}"] if unused else []
    notes = [NOTE, CHANGES] if program.derivations else [NOTE]
    return [
        *(f"  {note}" for note in notes),
        *lines,
        *(f"    {symbol} = {meaning}" for meaning, symbol in names.known.items()),
    ]


class _Names:
    """Short names for symbols, given as they are met: s1, s2, .."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def text(self, amount: Amount) -> str:
        shown = amount.text(lambda symbol: self.known.setdefault(symbol, f"s{len(self.known) + 1}"), TERMS)
        return shown


def _joined(found: Sequence[TriggerCost]) -> Iterator[TriggerCost]:
    """The insert and the delete of a relation as one line where they cost the same."""
    by_event = {c.event: c for c in found}
    for cost in found:
        other = by_event.get(("-" if cost.event[0] == "+" else "+") + cost.event[1:])
        same = other is not None and replace(other, event="") == replace(cost, event="")
        if not same:
            yield cost
        elif cost.event[0] == "+":
            yield replace(cost, event=events([cost.event, f"-{cost.event[1:]}"])[0])


def _rows(program: Program, names: _Names, found: Iterator[TriggerCost]) -> Iterator[tuple[str, ...]]:
    for cost in found:
        scans = f"{WARNING} {cost.scans}" if cost.scans else "–"
        counts = (str(cost.statements), str(cost.lookups or "–"), str(cost.slices or "–"), scans)
        more = sum((c.touched for c in cost.caused), start=ZERO)
        yield cost.event, *counts, names.text(cost.touched), f"+ {names.text(more)}" if cost.caused else "–"
        for caused in cost.caused:
            yield "", "", "", "", "", "", _caused(program, names, caused)


def _caused(program: Program, names: _Names, caused: Caused) -> str:
    groups = names.text(caused.groups)
    groups = f"({groups})" if len(caused.groups.terms) > 1 else groups
    return f"  {caused.map} × {groups}: {names.text(caused.touched)}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns padded to equal width: numbers to the right, texts to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADS))]
    return ["   ".join(_cell(i, cell, widths[i]) for i, cell in enumerate(row)).rstrip() for row in rows]


def _cell(place: int, text: str, width: int) -> str:
    return text.rjust(width) if 1 <= place <= 4 else text.ljust(width)
