"""A checked program as JSON and back: the same program as its M3 text, read in a twentieth of the time.

Each distinct part of the program is one entry of a list, its own parts before it: ``[class, field, ...]``, where a field is a
plain value or refers to an earlier entry. Spans are left out. Text is for people and is what counts; this is how a program
travels between processes.

>>> from m3.program import Column, Program, Relation
>>> from m3.datatypes import INT
>>> program = Program("p", "snapshot", (Relation("r", (Column("a", INT),)),), (), ())
>>> program_from_json(program_to_json(program)) == program
True
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from typing import Any

from m3.datatypes import Type
from m3.errors import ProgramError
from m3.program import (
    Column,
    Derivation,
    Frame,
    Input,
    MapDecl,
    MapRef,
    OutputColumn,
    Program,
    Relation,
    Statement,
    Trigger,
    View,
    ViewValue,
    WindowFunction,
    Windowing,
)
from m3.scalars import Call, Const, Var

__all__ = ["program_from_json", "program_to_json"]

VERSION = 2
CLASSES: tuple[type, ...] = (
    Type,
    Const,
    Var,
    Call,
    Column,
    Relation,
    MapDecl,
    MapRef,
    Statement,
    Trigger,
    OutputColumn,
    Input,
    Derivation,
    Frame,
    WindowFunction,
    Windowing,
    ViewValue,
    View,
    Program,
)
FIELDS = {cls: tuple(f.name for f in fields(cls) if f.name not in ("span", "scope")) for cls in CLASSES}
#: How values that JSON has no word for are written; a tuple is the list of its items.
VALUES: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "decimal": (Decimal, str, Decimal),
    "float": (float, float.hex, float.fromhex),
    "timestamp": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
}


def program_to_json(program: Program) -> str:
    """The program as JSON text."""
    writer = _Writer()
    writer.field(program)
    return json.dumps({"version": VERSION, "parts": writer.parts}, separators=(",", ":"))


def program_from_json(text: str) -> Program:
    """Inverse of :func:`program_to_json`.

    Raises:
        ProgramError: it was written by another version.
    """
    data = json.loads(text)
    if data["version"] != VERSION:
        raise ProgramError(f"a program in form {data['version']}", kind="program-form", hint="run `cumulus init` again")
    parts: list[Any] = []
    for kind, *values in data["parts"]:
        found = [parts[value[0]] if type(value) is list else value for value in values]
        if type(kind) is int:
            cls = CLASSES[kind]
            parts.append(cls(**dict(zip(FIELDS[cls], found, strict=True))))
        else:
            parts.append(tuple(found) if kind == "" else VALUES[kind][2](found[0]))
    program = parts[-1]
    assert isinstance(program, Program)
    return program


class _Writer:
    """Numbers the parts of a program; equal ones are one."""

    def __init__(self) -> None:
        self.parts: list[list[Any]] = []
        self._numbers: dict[str, int] = {}
        self._known: dict[int, int] = {}

    def field(self, value: Any) -> Any:
        """A field's JSON: a plain value, or ``[number of a part]``."""
        if value is None or type(value) in (bool, int, str):
            return value
        if id(value) not in self._known:
            self._known[id(value)] = self._add(self._part(value))
        return [self._known[id(value)]]

    def _part(self, value: Any) -> list[Any]:
        if isinstance(value, tuple):
            return ["", *map(self.field, value)]
        if type(value) in FIELDS:
            own = type(value)
            return [CLASSES.index(own), *(self.field(getattr(value, name)) for name in FIELDS[own])]
        kind, write = next((kind, write) for kind, (type_, write, _) in VALUES.items() if isinstance(value, type_))
        return [kind, write(value)]

    def _add(self, part: list[Any]) -> int:
        key = json.dumps(part)
        if key not in self._numbers:
            self._numbers[key] = len(self.parts)
            self.parts.append(part)
        return self._numbers[key]
