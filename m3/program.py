"""The frozen IR of an M3 program: relations, maps, triggers, views.

Grammar (Cumulus paper, section 2 and Figure 1, with types, views and deletions made explicit)::

    Program   := Program(name, semantics, relations*, maps*, triggers*, views*)
    Relation  := Relation(name, columns: Column*, key: name*)
    Column    := Column(name, type)
    MapDecl   := MapDecl(name, keys: Column*, value: Type, meaning)
    Trigger   := Trigger(sign, relation, params: name*, statements: Statement*)
    Statement := Statement(target, keys: Scalar*, factors: Factor*, conditions: Scalar*, span)
    Factor    := MapRef(map, keys: Scalar*, span) | Scalar
    View      := View(name, keys: Column*, values: ViewValue*, exists, columns: OutputColumn*, having, order*, limit, sql)

A statement reads: when all ``conditions`` are true, ``target[keys] += product of factors``, once for every valuation
of its loop variables. A variable that is not a parameter of the trigger is a loop variable; it occurs in a ``MapRef``
as a bare ``Var`` and ranges over the keys of that map. Factors are evaluated from left to right: a loop variable
bound by one factor is a bound key of the later ones. The empty product is 1. Missing map entries are 0.
In map keys NULL equals NULL; that SQL's NULLs do not join is the compiler's business (it adds conditions).

Values are exact (see :mod:`m3.datatypes`). The scale of a term is the sum of its factors' scales; it may not exceed
the target's scale and is raised to it exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from m3.datatypes import Type
from m3.errors import ProgramError, Span
from m3.scalars import Scalar, variables

__all__ = [
    "Column",
    "Factor",
    "MapDecl",
    "MapRef",
    "OutputColumn",
    "Program",
    "Relation",
    "Statement",
    "Trigger",
    "View",
    "ViewValue",
]

SEMANTICS = ("snapshot", "sequential")


@dataclass(frozen=True)
class Column:
    """A named, typed column of a relation, or key of a map or view."""

    name: str
    type: Type


@dataclass(frozen=True)
class Relation:
    """A base table whose inserts and deletes are the program's events; ``key`` is empty when rows may repeat."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()


@dataclass(frozen=True)
class MapDecl:
    """A map from keys to an exact number. ``meaning`` is the map as SQL or a comment, for people."""

    name: str
    keys: tuple[Column, ...]
    value: Type
    meaning: str = ""


@dataclass(frozen=True)
class MapRef:
    """A map read in a term: ``map[keys]``; bare variables that are not bound yet are loop variables."""

    map: str
    keys: tuple[Scalar, ...]
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
    """``ON +R(params)`` (sign 1) or ``ON -R(params)`` (sign -1); parameter i is column i of the relation."""

    sign: int
    relation: str
    params: tuple[str, ...]
    statements: tuple[Statement, ...]

    @property
    def event(self) -> str:
        """``"+R"`` or ``"-R"``."""
        return ("+" if self.sign > 0 else "-") + self.relation


@dataclass(frozen=True)
class ViewValue:
    """The entry of ``map`` at the view row's keys, as the variable ``name`` (0 where there is no entry)."""

    name: str
    map: str


@dataclass(frozen=True)
class OutputColumn:
    """A column of a view's rows: an expression over the view's keys and values."""

    name: str
    expression: Scalar


@dataclass(frozen=True)
class View:
    """What a user asked for, read off the maps.

    A row exists for each key whose entry in the map ``exists`` is above zero; without ``exists``, for each key with a
    non-zero entry in some value's map. A view without keys that has an ``exists`` map always has exactly one row (SQL's
    aggregate without GROUP BY). All maps of a view have exactly its keys. ``order`` is pairs (column index, descending).
    ``having`` filters rows, then ``order`` and ``limit`` apply, all when the view is read. ``sql`` is the source text.
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
