"""The report on a program: views, maps, re-evaluated parts, and the cost of one event of each kind."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from m3.clock import CLOCK, read_passings
from m3.dataflow import restrict_to
from m3.explain.cost import ZERO, Amount, Sizes, TriggerCost, accesses, costs
from m3.formatting import format_derived, format_scalar, format_statement
from m3.program import Derivation, Derived, Input, MapDecl, Program, Trigger, View, Windowing

__all__ = [
    "WARNING",
    "Scan",
    "cost_table",
    "counted",
    "derived_words",
    "events",
    "explain",
    "headline",
    "restrict",
    "scan_notes",
    "scans",
    "signature",
    "source_words",
    "view_maps",
    "view_words",
]


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
    blocks: list[Iterable[str]] = [_wrap(headline(program), "")]
    blocks += [_view(program, view) for view in program.views]
    plain = [m for m in program.maps if m.name not in program.derivation_by_map]
    blocks += [["MAPS", *(line for decl in plain for line in _map(program, decl, full))]]
    if program.derivations:
        blocks += [
            ["RE-EVALUATED", *(line for d in program.derivations for line in _describe_derived(program, d, full))]
        ]
    if full:
        blocks += [["STATEMENTS", *_statements(program)]]
    blocks += [["COST OF ONE EVENT", *cost_table(program, statistics)], _scans(program)]
    return "\n\n".join(text for block in blocks if (text := "\n".join(block))) + "\n"


def _wrap(text: str, indent: str, hanging: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + hanging, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _view(program: Program, view: View) -> Iterator[str]:
    yield f"VIEW {view.name}"
    yield from _wrap(view_words(program, view), "  ", "  ")
    values = {v.name: v.map for v in view.values}
    for column in view.visible:
        text = format_scalar(column.expression)
        yield from _wrap(f"{column.name} = {text}" if text != column.name else column.name, "  · ", "    ")
    if values:
        yield from _wrap("with " + ", ".join(f"{name} = {source}" for name, source in values.items()), "  ", "    ")
    for made in view.lists:
        first = "" if made.limit is None else f"first {made.limit} "
        words = f"the {first}{'distinct ' * made.distinct}values of {made.map}[{', '.join(made.at)}] in their order"
        yield from _wrap(f"when read: {made.name} is the list of {words}", "  ", "    ")
    if view.having is not None:
        yield from _wrap(f"when read: HAVING {format_scalar(view.having)}", "  ", "    ")
    if view.order or view.limit is not None:
        yield "  when read: " + "; ".join(_order(view))


def _order(view: View) -> Iterator[str]:
    places = (f"{view.columns[place].name}{' descending' if descending else ''}" for place, descending in view.order)
    if view.order:
        yield f"ordered by {', '.join(places)}"
    if view.limit is not None:
        yield f"the first {view.limit}" + (f" after {view.offset}" if view.offset else "")


def _map(program: Program, decl: MapDecl, full: bool) -> Iterator[str]:
    used = [v.name for v in program.views if decl.name in view_maps(v)]
    yield f"  {signature(decl)}" + (f"   (view {', '.join(used)})" if used else "")
    meaning = _wrap(decl.meaning or "(no meaning is given)", "      ", "  ")
    yield from meaning if full or len(meaning) <= LINES else [*meaning[: LINES - 1], "        … (--full)"]
    if full:
        yield from _traffic(program, decl)


def _traffic(program: Program, decl: MapDecl) -> Iterator[str]:
    writers = Counter(t.event for t in program.triggers for s in t.statements if s.target == decl.name)
    if writers:
        yield from _wrap(
            f"written by {counted(writers.total(), 'statement')}: {', '.join(events(writers))}", "    < ", "  "
        )
    for reader in _readers(program, decl):
        yield from _wrap(reader, "    > ", "  ")


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
        if decl.name in derived.reads_by_group():
            yield f"read by group for the derived map {derived.map}"


def _describe_derived(program: Program, derived: Derived, full: bool) -> Iterator[str]:
    decl = program.map_by_name[derived.map]
    yield f"  {signature(decl)}"
    yield from _wrap(derived_words(program, derived), "      ", "  ")
    yield from _wrap("from " + ", ".join(source_words(derived)), "      ", "  ")
    trigger = program.trigger(derived.map, 0)
    if trigger is not None:
        targets = ", ".join(dict.fromkeys(s.target for s in trigger.statements))
        text = f"each changed row runs {counted(len(trigger.statements), 'statement')} on {targets}"
        yield from _wrap(text, "      ", "  ")
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
                yield from _wrap("reads " + ", ".join(reads), "          ", "  ")


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
        yield from _wrap(text, "", "    ")


# The costs of events as a table for people, with symbols explained below it.


HEADS = ("event", "statements", "lookups", "slices", "scans", "entries touched", "re-evaluation")
TERMS = 3
NOTE = "reads and writes of map entries; lookups are O(log n), slices touch the entries that match, scans a whole map"
CHANGES = (
    "±r: an insert or a delete; ~m: one changed row of the derived map m; m × groups: what re-evaluating m can cost"
)


def cost_table(program: Program, statistics: Mapping[str, float] | None) -> list[str]:
    """Lines: a row per kind of event, what it can cause downstream, and what the symbols stand for."""
    names = _Names()
    # a tick costs what now() passes, and that is known of no program
    asked = [cost for cost in costs(program, statistics) if cost.event.lstrip("+-") != CLOCK]
    rows = list(_rows(program, names, _join_signs(asked)))
    unused = [r.name for r in program.relations if not any(t.relation == r.name for t in program.triggers)]
    lines = [f"  {line}" for line in _align([HEADS, *rows])]
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


def _join_signs(found: Sequence[TriggerCost]) -> Iterator[TriggerCost]:
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
            groups = names.text(caused.groups)
            groups = f"({groups})" if len(caused.groups.terms) > 1 else groups
            yield "", "", "", "", "", "", f"  {caused.map} × {groups}: {names.text(caused.touched)}"


def _align(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns padded to equal width: numbers to the right, texts to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADS))]
    texts = [
        [cell.rjust(widths[i]) if 1 <= i <= 4 else cell.ljust(widths[i]) for i, cell in enumerate(row)] for row in rows
    ]
    return ["   ".join(cells).rstrip() for cells in texts]


# The parts of a program in plain words.


#: Stands before everything that grows with a whole map.
WARNING = "⚠"
OPERATORS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def counted(count: int, thing: str) -> str:
    """``1 map``, ``2 maps``."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def events(names: Iterable[str]) -> list[str]:
    """Events with the insert and the delete of one relation joined: ``["+r", "-r", "~m"]`` gives ``["±r", "~m"]``."""
    found = list(dict.fromkeys(names))
    both = {n[1:] for n in found if n[0] == "+" and f"-{n[1:]}" in found}
    return list(dict.fromkeys(f"±{n[1:]}" if n[0] in "+-" and n[1:] in both else n for n in found))


def headline(program: Program) -> str:
    """How much there is of everything."""
    statements = [len(t.statements) for t in program.triggers]
    changes = sum(len(t.statements) for t in program.triggers if t.sign == 0)
    parts = [counted(len(program.views), "view"), counted(len(program.maps), "map")]
    parts.append(f"{counted(sum(statements), 'statement')} in {counted(len(statements), 'trigger')}")
    first = f"{program.name}: {', '.join(parts)}."
    if not program.derivations:
        return f"{first} All statements are linear: each adds products of map entries, nothing is re-evaluated."
    return (
        f"{first} {sum(statements) - changes} statements are linear: each adds products of map entries. "
        f"{counted(len(program.derivations), 'part')} of the program {'is' if len(program.derivations) == 1 else 'are'} "
        f"re-evaluated, with {counted(changes, 'statement')} run for the rows that change."
    )


def signature(decl: MapDecl) -> str:
    """``m[k, x] : INT``."""
    return f"{decl.name}[{', '.join(k.name for k in decl.keys)}] : {decl.value}"


def view_words(program: Program, view: View) -> str:
    """Where a view's rows come from."""
    keys = ", ".join(k.name for k in view.keys)
    if view.repeated and view.exists in program.derivation_by_map:
        return f"the rows of the derived map {view.exists}"
    if view.repeated:
        return f"a bag: each key of {view.exists} stands as often as its entry says"
    if view.exists is None:
        return f"read off maps: one row per ({keys}) with an entry in {' or '.join(view_maps(view))}"
    if not view.keys:
        return "read off maps: always one row"
    return f"read off maps: one row per ({keys}) whose entry in {view.exists} is above zero"


def derived_words(program: Program, derived: Derived) -> str:
    """What is re-evaluated, and when."""
    if isinstance(derived, Windowing):
        names = ", ".join(dict.fromkeys(f.op for f in derived.functions))
        text = f"the rows of {derived.source} with window functions ({names}); "
        if not derived.partition:
            return f"{text}{WARNING} there is one partition: any change recomputes all rows"
        keys = program.map_by_name[derived.source].keys[: derived.partition]
        return f"{text}the partition of equal ({', '.join(k.name for k in keys)}) is recomputed when one of its rows changes"
    passings = read_passings(derived)
    if passings:
        there = " and ".join(f"{derived.keys[p.place]} {OPERATORS[p.op]} {format_scalar(p.bound)}" for p in passings)
        return f"rows that are there while {there}; when now() goes on, those are found by order that it passes, and no others are read"
    if not derived.keys:
        return "one row, recomputed when an input changed"
    return f"one row per ({', '.join(derived.keys)}), recomputed for the groups whose inputs changed"


def source_words(derived: Derived) -> list[str]:
    """What a derivation is computed from, one input each."""
    if isinstance(derived, Derivation):
        return [_input_words(i) for i in derived.inputs]
    return [f"the partition's rows in {derived.source}"]


def _input_words(given: Input) -> str:
    if given.kind == "value":
        return f"{given.name} = its entry in {given.map}"
    if given.kind == "now":
        return f"{given.name} = now(), the greatest tick in {given.map}"
    if given.kind == "sum":
        return f"{given.name} = the sum of the group's values in {given.map}, read anew"
    if given.kind not in ("min", "max"):
        return f"{given.name} = {given.kind.upper()} of the group's values in {given.map}, read anew"
    at = f" at {', '.join(given.at)}" if given.at else ""
    end = "least" if given.kind == "min" else "greatest"
    return f"{given.name} = the {end} value in {given.map}{at} ({given.kind.upper()} by ordered index)"


# The statements that read whole maps.


@dataclass(frozen=True)
class Scan:
    """Statement ``statement`` (from 0) of the trigger ``event``, which writes ``target``, reads all entries of ``map``.

    ``single``: by declared keys there is never more than one, as in a map derived without a group."""

    event: str
    statement: int
    target: str
    map: str
    single: bool = False


def scans(program: Program) -> list[Scan]:
    """The map reads that know no key of the map, and so touch every entry of it. A map without keys has one entry."""
    sizes = Sizes(program)
    return [
        Scan(trigger.event, index, statement.target, access.map, sizes.unique(access.map, ()))
        for trigger in program.triggers
        for index, statement in enumerate(trigger.statements)
        for access in accesses(trigger, statement)
        if access.kind == "scan"
    ]


def scan_notes(program: Program) -> Iterator[str]:
    """For each view the maps of which one event reads all, how many entries that is, and how to write it otherwise.

    >>> from m3 import compile_views
    >>> from m3.datatypes import INT
    >>> from m3.program import Column, Relation
    >>> ab = (Column("a", INT), Column("b", INT))
    >>> tables = (Relation("r", ab, ("a",), 5000), Relation("s", ab, ("a",)))
    >>> sql = "SELECT COUNT(*) AS n FROM r JOIN s ON r.b < s.b"
    >>> for note in scan_notes(compile_views("p", tables, {"v": sql})):
    ...     print(note.partition(": ")[2].partition(". ")[0])
    each event of r reads all of m_s_1, a row for each value that is there
    each event of s reads all of m_r_1, up to 5,000 rows per event
    """
    for view in program.views:
        part = restrict(program, view.name)
        sizes = Sizes(part)
        found: dict[str, list[str]] = {}
        for scan in scans(part):
            if not scan.single:
                found.setdefault(scan.map, []).append(scan.event[1:])
        for name, by in found.items():
            size = sizes.size(name)
            many = f"up to {size:,.0f} rows per event" if size is not None else "a row for each value that is there"
            yield (
                f"view {view.name}: each event of {', '.join(dict.fromkeys(by))} reads all of {name}, {many}. "
                "An equality beside the comparison makes it a lookup; a join by a = x OR b = x can be two joins, "
                "the second with AND (a = x) IS NOT TRUE, put together by UNION ALL"
            )


# The part of a program that one view needs.


def view_maps(view: View) -> list[str]:
    """The maps that a view is read from, the one that decides on its rows first."""
    return list(dict.fromkeys([*view.maps(), *(c.map for c in view.checks)]))


def restrict(program: Program, *views: str) -> Program:
    """The program that maintains some views only, with all relations still declared.

    Raises:
        ProgramError: there is no such view.
    """
    shown = [program.view(view) for view in views]
    return restrict_to(program, [name for view in shown for name in view_maps(view)], shown)
