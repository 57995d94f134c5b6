"""The frozen IR of an M3 program: relations, maps, triggers, views.

Grammar (Cumulus paper, section 2 and Figure 1, with types, views and deletions made explicit)::

    Program   := Program(name, semantics, relations*, maps*, triggers*, views*, derivations*)
    Relation  := Relation(name, columns: Column*, key: name*, rows: number?)
    Column    := Column(name, type)
    MapDecl   := MapDecl(name, keys: Column*, value: Type, meaning)
    Trigger   := Trigger(sign, relation, params: name*, statements: Statement*)
    Statement := Statement(target, keys: Scalar*, factors: Factor*, conditions: Scalar*, span)
    Factor    := MapRef(map, keys: Scalar*, after, span) | Scalar
    Derivation:= Derivation(map, keys: name*, inputs: Input*, outputs: OutputColumn*, count: Scalar)
               | Windowing(map, source, partition: int, functions: WindowFunction*, flagged)
    Input     := Input(name, map, kind, at: name*, order: (descending, NULLs first)*, parameter?)
    View      := View(name, keys: Column*, values: ViewValue*, exists, columns: OutputColumn*, having, order*, limit,
                      offset, repeated, hidden, checks: Check*, lists: ViewList*, sql)
    ViewList  := ViewList(name, map, at: name*, order: (descending, NULLs first)*, distinct, empty, limit?)
    Check     := Check(map, expression?, relations: name*, place?)

A statement reads: when all ``conditions`` are true, ``target[keys] += product of factors``, once for every valuation
of its loop variables. A variable that is not a parameter of the trigger is a loop variable; it occurs in a ``MapRef``
as a bare ``Var`` and ranges over the keys of that map. Factors are evaluated from left to right: a loop variable
bound by one factor is a bound key of the later ones. The empty product is 1. Missing map entries are 0.
A read sees the map as before the event; ``AFTER m[keys]`` sees it with the event's own change of ``m`` included (that is
what the second of two occurrences of a relation in one join needs). A program has statements in an order in which
running them one after the other gives the same.

**Derivations** are what is not linear: a map whose entries are rows (the value is the row's multiplicity), computed
anew for every group whose inputs changed, the old rows subtracted and the new ones added. A derived map's changes are
events in turn: after the triggers of an event, the derivations are brought up to date in the order of the program, and
the trigger ``ON CHANGE m(params)`` (sign 0) of each runs for every row that changed, its statements multiplied by the
change of the row's multiplicity. ``ON START`` (relation "", no parameters) runs once, before the first event.

In map keys NULL equals NULL; that SQL's NULLs do not join is the compiler's business (it adds conditions).

Values are exact (see :mod:`m3.datatypes`). The scale of a term is the sum of its factors' scales; it may not exceed
the target's scale and is raised to it exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property

from m3.datatypes import DOUBLE, Type, list_of
from m3.errors import ProgramError, Span
from m3.scalars import Scalar, rename, variables

__all__ = [
    "START",
    "Check",
    "Column",
    "Derivation",
    "Derived",
    "Factor",
    "Frame",
    "Input",
    "MapDecl",
    "MapRef",
    "OutputColumn",
    "Program",
    "Relation",
    "Statement",
    "Trigger",
    "View",
    "ViewList",
    "ViewValue",
    "WindowFunction",
    "Windowing",
]

SEMANTICS = ("snapshot", "sequential")
#: The relation of the trigger that runs once, before all events.
START = ""


@dataclass(frozen=True)
class Column:
    """A named, typed column of a relation, or key of a map or view."""

    name: str
    type: Type


@dataclass(frozen=True)
class Relation:
    """A base table whose inserts and deletes are the program's events; ``key`` is empty when rows may repeat. ``rows``:
    about how many it has, where that is known; plans are chosen by it, nothing else. ``stored``: (column, its name in the event log), of the
    columns for which that is another one, since they were renamed, or another column had their name. ``defaults``: (column, text), what rows have that
    came without it. Both mean nothing to a program."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    rows: int | None = None
    stored: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    defaults: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def in_log(self, column: str) -> str:
        """What a column is called in the event log, for good."""
        return dict(self.stored).get(column, column)

    def default_of(self, column: str) -> str | None:
        """The text of what a column is where a row came without it; None for NULL."""
        return dict(self.defaults).get(column)


@dataclass(frozen=True)
class MapDecl:
    """A map from keys to an exact number. ``meaning`` is the map as SQL or a comment, for people."""

    name: str
    keys: tuple[Column, ...]
    value: Type
    meaning: str = ""


@dataclass(frozen=True)
class MapRef:
    """A map read in a term: ``map[keys]``; bare variables that are not bound yet are loop variables.

    ``after``: read the state after the trigger's event instead of before it (snapshot semantics)."""

    map: str
    keys: tuple[Scalar, ...]
    after: bool = False
    span: Span | None = field(default=None, compare=False)


Factor = MapRef | Scalar


@dataclass(frozen=True)
class Statement:
    """``if conditions: target[keys] += product of factors``."""

    target: str
    keys: tuple[Scalar, ...]
    factors: tuple[Factor, ...]
    conditions: tuple[Scalar, ...] = ()
    span: Span | None = field(default=None, compare=False)

    def reads(self) -> Iterator[MapRef]:
        """The map reads, in evaluation order."""
        return (f for f in self.factors if isinstance(f, MapRef))

    def scalars(self) -> Iterator[Scalar]:
        """The factors that are scalars, in order."""
        return (f for f in self.factors if not isinstance(f, MapRef))

    def variables(self) -> set[str]:
        """All variables of the statement."""
        exprs: list[Scalar] = [*self.keys, *self.conditions, *self.scalars()]
        for ref in self.reads():
            exprs.extend(ref.keys)
        return {v for e in exprs for v in variables(e)}


@dataclass(frozen=True)
class Trigger:
    """``ON +R(params)`` (sign 1) or ``ON -R(params)`` (sign -1); parameter i is column i of the relation.

    ``ON CHANGE m(params)`` (sign 0) is for the rows of a derived map, ``ON START`` for the relation :data:`START`."""

    sign: int
    relation: str
    params: tuple[str, ...]
    statements: tuple[Statement, ...]

    @property
    def event(self) -> str:
        """``"+R"``, ``"-R"``, ``"~m"`` for the changes of a derived map, ``"START"``."""
        return {1: "+", -1: "-", 0: "~"}[self.sign] + self.relation if self.relation else "START"


@dataclass(frozen=True)
class OutputColumn:
    """A column of a view's rows: an expression over the view's keys and values. ``place``: where the SQL says it."""

    name: str
    expression: Scalar
    place: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Input:
    """What a derivation knows of a group, as the variable ``name``.

    ``kind`` is ``value``: the entry of ``map`` at the group's key (0 if there is none). Or it is ``min`` or ``max``: of the
    entries above zero that start with the group's key and the earlier inputs ``at``, the least or greatest next key
    (NULL if there is none but NULL). So the value that belongs to the latest time is ``t = MAX(m), v = MIN(m AT t)``, where ``m`` is
    keyed by group, time and value. Or it is computed from all last keys of the group, each as often as its entry says:
    ``sum`` adds up DOUBLEs and rounds once; the others are the keys of :data:`m3.collected.COLLECTED`. ``order`` says how the
    keys after the group's are ordered for that (ascending with NULLs first where it ends), ``parameter`` is the fraction of
    a percentile or the separator of a list. ``now`` is the same for all groups: the greatest key of a map of ticks (:mod:`m3.clock`)."""

    name: str
    map: str
    kind: str = "value"
    at: tuple[str, ...] = ()
    order: tuple[tuple[bool, bool], ...] = ()
    parameter: Decimal | str | None = None

    def type_in(self, source: MapDecl, width: int) -> Type:
        """The input's type, where its map is ``source`` and the group has ``width`` keys."""
        if self.kind == "value":
            return source.value
        if self.kind in ("percentile_cont", "mad"):
            return DOUBLE.with_null()
        if self.kind == "now":
            return source.keys[0].type.with_null()
        return source.keys[width + len(self.at) if self.kind in ("min", "max") else -1].type.with_null()


@dataclass(frozen=True)
class Derivation:
    """``map[keys, outputs] = count``: one row per group, computed from the group's ``inputs`` alone.

    ``keys`` name the leading keys of ``map``, which are the group; ``outputs`` are its other keys in order. All are
    expressions over the group's keys and the inputs. The row is there ``count`` times, not at all where that is 0 or NULL.
    A group all of whose inputs are 0 or NULL has no row."""

    map: str
    keys: tuple[str, ...]
    inputs: tuple[Input, ...]
    outputs: tuple[OutputColumn, ...]
    count: Scalar

    def reads(self) -> tuple[str, ...]:
        """The maps it is computed from."""
        return tuple(dict.fromkeys(i.map for i in self.inputs))

    def reads_by_group(self) -> tuple[str, ...]:
        """Those of them whose leading keys are the group: all but ticks, of which now is the same for all groups."""
        return tuple(dict.fromkeys(i.map for i in self.inputs if i.kind != "now"))


@dataclass(frozen=True)
class Frame:
    """A window's frame. ``unit``: rows, range, groups, or months, which is a range over dates. A bound is an offset relative to the current row:
    negative is preceding, 0 is the current row (or its peers), None is unbounded. Only a range over DECIMAL or DOUBLE has fractions."""

    unit: str
    start: int | Decimal | None
    end: int | Decimal | None
    #: What of the current row's surroundings is left out: "", row, group, or ties (its peers without itself).
    exclude: str = ""


@dataclass(frozen=True)
class WindowFunction:
    """``op(args) OVER (PARTITION BY .. ORDER BY order frame)``; ``order`` is (expression, descending, NULLs first)."""

    op: str
    args: tuple[Scalar, ...]
    order: tuple[tuple[Scalar, bool, bool], ...]
    frame: Frame | None
    type: Type

    def with_names(self, names: Mapping[str, str]) -> WindowFunction:
        """With its variables renamed."""
        args = tuple(rename(arg, names) for arg in self.args)
        order = tuple((rename(by, names), descending, first) for by, descending, first in self.order)
        return replace(self, args=args, order=order)


@dataclass(frozen=True)
class Windowing:
    """``map[row, results] = multiplicity``: each row of the map ``source`` with the results of window functions over the
    rows that agree with it in the first ``partition`` keys. A partition is computed anew when one of its rows changes.

    The expressions are over the names of the keys of ``source``. Ties that the order leaves open are broken by the row.
    ``flagged``: the last key of ``map`` is 1 where a result cannot be computed, else 0."""

    map: str
    source: str
    partition: int
    functions: tuple[WindowFunction, ...]
    flagged: bool = False

    def reads(self) -> tuple[str, ...]:
        """The map it is computed from."""
        return (self.source,)

    def reads_by_group(self) -> tuple[str, ...]:
        """The same: its leading keys are the partition."""
        return (self.source,)


Derived = Derivation | Windowing


@dataclass(frozen=True)
class ViewValue:
    """The entry of ``map`` at the view row's keys, as the variable ``name`` (0 where there is no entry)."""

    name: str
    map: str


@dataclass(frozen=True)
class ViewList:
    """The values of a group as a list, as the variable ``name``, which is an output column and in no other expression.

    The values are the last keys of the entries above zero of ``map`` that begin with the view's keys ``at``, which are the
    group. Each stands as often as its entry says, or once if they are ``distinct``. They are ordered by the keys after the
    group's: ``order`` says how (ascending with NULLs first where it ends). The list of a group without entries is NULL, or
    ``empty``. With a ``limit`` it has the first values only.

    It is made when the view is read, so an event costs no more than its change of ``map``, however many values a group has."""

    name: str
    map: str
    at: tuple[str, ...]
    order: tuple[tuple[bool, bool], ...] = ()
    distinct: bool = False
    empty: bool = False
    limit: int | None = None

    def type_in(self, source: MapDecl) -> Type:
        """The list's type, where its map is ``source``."""
        return list_of(source.keys[-1].type.with_null(), nullable=not self.empty)


@dataclass(frozen=True)
class Check:
    """What must not be when a view is read: entries of ``map``. Each is about a row of ``relations``, by its key, for which
    ``expression`` fails; that is over the keys of the map, or a text about what is not. Without it, the map counts the
    rows for which a scalar subquery has more than one value. ``place``: where the SQL says it."""

    map: str
    expression: Scalar | None = None
    relations: tuple[str, ...] = ()
    place: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class View:
    """What a user asked for, read off the maps.

    A row exists for each key whose entry in the map ``exists`` is above zero; without ``exists``, for each key with a
    non-zero entry in some value's map. A view without keys that has an ``exists`` map always has exactly one row (SQL's
    aggregate without GROUP BY). ``repeated`` views are bags instead: a row stands as often as its entry in ``exists`` says.
    All maps of a view but those of ``lists`` have exactly its keys. ``order`` is pairs (column index, descending). ``having`` filters rows, then
    ``order``, ``offset`` and ``limit`` apply, all when the view is read; the last ``hidden`` columns are there only to
    order by. While one of the maps of ``checks`` has an entry, the view is in error, as a whole: that is what SQL makes of a
    query that fails for one row. ``sql`` is the source text, and ``having_place`` where it says HAVING.
    """

    name: str
    keys: tuple[Column, ...]
    values: tuple[ViewValue, ...]
    exists: str | None
    columns: tuple[OutputColumn, ...]
    having: Scalar | None = None
    order: tuple[tuple[int, bool], ...] = ()
    limit: int | None = None
    sql: str | None = None
    offset: int = 0
    repeated: bool = False
    hidden: int = 0
    checks: tuple[Check, ...] = ()
    lists: tuple[ViewList, ...] = ()
    having_place: Span | None = field(default=None, compare=False)

    @property
    def list_by_name(self) -> dict[str, ViewList]:
        """Its lists by the variables that they are."""
        return {made.name: made for made in self.lists}

    def maps(self) -> list[str]:
        """The maps that its rows are read off: that of its keys, those of its values, and those of its lists."""
        first = [self.exists] if self.exists is not None else []
        return list(dict.fromkeys([*first, *(v.map for v in self.values), *(made.map for made in self.lists)]))

    @property
    def visible(self) -> tuple[OutputColumn, ...]:
        """The columns that a reader sees."""
        return self.columns[: len(self.columns) - self.hidden]


@dataclass(frozen=True)
class Program:
    """A whole program. ``semantics``: ``snapshot`` (all right-hand sides read the state before the event; semester
    paper, section 2) or ``sequential`` (statements in order see each other's writes; Cumulus paper, section 2)."""

    name: str
    semantics: str
    relations: tuple[Relation, ...]
    maps: tuple[MapDecl, ...]
    triggers: tuple[Trigger, ...]
    views: tuple[View, ...] = ()
    derivations: tuple[Derived, ...] = ()
    #: Where ``relation r``, ``map m`` and ``view v`` are declared, in a program that was read from a text.
    places: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def derivation_by_map(self) -> dict[str, Derived]:
        """The derivations by the map they compute, in their order."""
        return {d.map: d for d in self.derivations}

    @cached_property
    def map_by_name(self) -> dict[str, MapDecl]:
        """The maps by name."""
        return {m.name: m for m in self.maps}

    @cached_property
    def relation_by_name(self) -> dict[str, Relation]:
        """The relations by name."""
        return {r.name: r for r in self.relations}

    @cached_property
    def view_by_name(self) -> dict[str, View]:
        """The views by name."""
        return {v.name: v for v in self.views}

    def trigger(self, relation: str, sign: int) -> Trigger | None:
        """The trigger of an event, or None when nothing depends on it."""
        return next((t for t in self.triggers if t.relation == relation and t.sign == sign), None)

    def view(self, name: str) -> View:
        """The view called ``name``; ProgramError names the known ones."""
        if name not in self.view_by_name:
            known = ", ".join(sorted(self.view_by_name)) or "none"
            raise ProgramError(f"no view {name!r}", kind="unknown-view", hint=f"known views: {known}")
        return self.view_by_name[name]
