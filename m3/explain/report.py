"""The report on a program: views, maps, re-evaluated parts, and the cost of one event of each kind."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from m3.explain.access import accesses
from m3.explain.cost_table import cost_table
from m3.explain.restrict import view_maps
from m3.explain.scans import Scan, scans
from m3.explain.words import (
    WARNING,
    counted,
    derived_words,
    events,
    headline,
    signature,
    source_words,
    view_words,
)
from m3.formatting import format_derived, format_scalar, format_statement
from m3.program import Derived, MapDecl, Program, Trigger, View

__all__ = ["explain"]

WIDTH = 116
#: Of a map's meaning in the short report.
LINES = 4


def explain(program: Program, *, statistics: Mapping[str, float] | None = None, full: bool = False) -> str:
    """A program for a person to read.

    Args:
        program: a checked program.
        statistics: rows by relation, for numbers instead of symbols in the costs.
        full: also who writes and reads each map, the derivations' expressions, and every statement.

    Returns:
        Text of at most 120 columns where names allow it, ending in a newline.
    """
    blocks: list[Iterable[str]] = [_wrapped(headline(program), "")]
    blocks += [_view(program, view) for view in program.views]
    blocks += [["MAPS", *(line for decl in _plain_maps(program) for line in _map(program, decl, full))]]
    if program.derivations:
        blocks += [["RE-EVALUATED", *(line for d in program.derivations for line in _derived(program, d, full))]]
    if full:
        blocks += [["STATEMENTS", *_statements(program)]]
    blocks += [["COST OF ONE EVENT", *cost_table(program, statistics)], _scans(program)]
    return "\n\n".join(text for block in blocks if (text := "\n".join(block))) + "\n"


def _wrapped(text: str, indent: str, hanging: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + hanging, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _view(program: Program, view: View) -> Iterator[str]:
    yield f"VIEW {view.name}"
    yield from _wrapped(view_words(program, view), "  ", "  ")
    values = {v.name: v.map for v in view.values}
    for column in view.visible:
        text = format_scalar(column.expression)
        yield from _wrapped(f"{column.name} = {text}" if text != column.name else column.name, "  · ", "    ")
    if values:
        yield from _wrapped("with " + ", ".join(f"{name} = {source}" for name, source in values.items()), "  ", "    ")
    if view.having is not None:
        yield from _wrapped(f"when read: HAVING {format_scalar(view.having)}", "  ", "    ")
    if view.order or view.limit is not None:
        yield "  when read: " + "; ".join(_order(view))


def _order(view: View) -> Iterator[str]:
    places = (f"{view.columns[place].name}{' descending' if descending else ''}" for place, descending in view.order)
    if view.order:
        yield f"ordered by {', '.join(places)}"
    if view.limit is not None:
        yield f"the first {view.limit}" + (f" after {view.offset}" if view.offset else "")


def _plain_maps(program: Program) -> list[MapDecl]:
    return [m for m in program.maps if m.name not in program.derivation_by_map]


def _map(program: Program, decl: MapDecl, full: bool) -> Iterator[str]:
    used = [v.name for v in program.views if decl.name in view_maps(v)]
    yield f"  {signature(decl)}" + (f"   (view {', '.join(used)})" if used else "")
    meaning = _wrapped(decl.meaning or "(no meaning is given)", "      ", "  ")
    yield from meaning if full or len(meaning) <= LINES else [*meaning[: LINES - 1], "        … (--full)"]
    if full:
        yield from _traffic(program, decl)


def _traffic(program: Program, decl: MapDecl) -> Iterator[str]:
    writers = Counter(t.event for t in program.triggers for s in t.statements if s.target == decl.name)
    if writers:
        yield from _wrapped(
            f"written by {counted(writers.total(), 'statement')}: {', '.join(events(writers))}", "    < ", "  "
        )
    for reader in _readers(program, decl):
        yield from _wrapped(reader, "    > ", "  ")


def _readers(program: Program, decl: MapDecl) -> Iterator[str]:
    """Who reads a map, by which keys."""
    found: dict[tuple[str, ...], list[str]] = {}
    for trigger in program.triggers:
        for statement in trigger.statements:
            for access in accesses(trigger, statement):
                if access.map == decl.name:
                    found.setdefault(access.keys(program), []).append(trigger.event)
    for keys, by in found.items():
        how = f"by ({', '.join(keys)})" if keys or not decl.keys else f"{WARNING} without a key"
        yield f"read {how} in {counted(len(by), 'statement')}: {', '.join(events(by))}"
    for derived in program.derivations:
        if decl.name in derived.reads():
            yield f"read by group for the derived map {derived.map}"


def _derived(program: Program, derived: Derived, full: bool) -> Iterator[str]:
    decl = program.map_by_name[derived.map]
    yield f"  {signature(decl)}"
    yield from _wrapped(derived_words(program, derived), "      ", "  ")
    yield from _wrapped("from " + ", ".join(source_words(derived)), "      ", "  ")
    trigger = program.trigger(derived.map, 0)
    if trigger is not None:
        targets = ", ".join(dict.fromkeys(s.target for s in trigger.statements))
        text = f"each changed row runs {counted(len(trigger.statements), 'statement')} on {targets}"
        yield from _wrapped(text, "      ", "  ")
    if full:
        yield from (f"    | {line}" for line in format_derived(derived).splitlines())
        yield from _traffic(program, decl)


def _statements(program: Program) -> Iterator[str]:
    """All statements by event; a delete trigger that reads and writes as its insert trigger does is left out."""
    for trigger in program.triggers:
        mirror = program.trigger(trigger.relation, -trigger.sign) if trigger.sign else None
        same = mirror is not None and _shape(mirror) == _shape(trigger)
        if trigger.sign < 0 and same:
            continue
        kind = "re-evaluated" if trigger.sign == 0 else "linear"
        yield f"  {'±' + trigger.relation if same else trigger.event} ({kind})"
        for statement in trigger.statements:
            yield f"      {format_statement(statement)}"
            reads = [f"{a.map} {_how(program, a.kind, a.keys(program))}" for a in accesses(trigger, statement)]
            if reads:
                yield from _wrapped("reads " + ", ".join(reads), "          ", "  ")


def _shape(trigger: Trigger) -> list[object]:
    """What the statements read and write, without their signs."""
    return [(s.target, accesses(trigger, s)) for s in trigger.statements]


def _how(program: Program, kind: str, keys: tuple[str, ...]) -> str:
    return {
        "lookup": "(one entry)",
        "slice": f"(the entries for one {', '.join(keys)})",
        "scan": f"({WARNING} all entries)",
    }[kind]


def _scans(program: Program) -> Iterator[str]:
    """The statements that read whole maps, with those of one event and map joined."""
    found: dict[tuple[str, ...], list[Scan]] = {}
    for scan in scans(program):
        if not scan.single:
            found.setdefault((scan.map, scan.target), []).append(scan)
    for (name, target), each in found.items():
        text = f"{WARNING} {', '.join(events(s.event for s in each))} reads all of {name} (no key is known) to write {target}"
        yield from _wrapped(text, "", "    ")
