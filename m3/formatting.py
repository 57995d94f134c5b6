"""Program -> M3 text, in the one canonical form that :func:`m3.syntax.parse` reads back exactly.

A type is printed only where it cannot be derived: ``expr :: TYPE`` gives an operation (or a literal) a type other than
the one its operands imply, e.g. ``(a / b) :: DECIMAL(20, 6)`` is a division rounded to six decimals.

A checked program as JSON and back: the same program as its M3 text, read in a twentieth of the time.

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
import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from decimal import Decimal
from typing import Any

from m3.datatypes import Type
from m3.errors import ProgramError, Span
from m3.program import (
    Check,
    Column,
    Derivation,
    Derived,
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
    ViewList,
    ViewValue,
    WindowFunction,
    Windowing,
)
from m3.scalars import Call, Const, Scalar, Var, call, const

__all__ = [
    "KEYWORDS",
    "format_column",
    "format_derived",
    "format_name",
    "format_program",
    "format_scalar",
    "format_statement",
    "program_from_json",
    "program_to_json",
]


#: Words that are never printed as a bare name.
KEYWORDS = frozenset({
    "PROGRAM", "SEMANTICS", "SNAPSHOT", "SEQUENTIAL", "RELATION", "KEY", "MAP", "MEANING", "VIEW", "VALUES", "EXISTS",
    "COLUMNS", "HAVING", "ORDER", "BY", "ASC", "DESC", "LIMIT", "SQL", "ON", "DO", "IF", "THEN", "ELSE", "AND", "OR",
    "NOT", "IS", "NULL", "IN", "LIKE", "CASE", "WHEN", "END", "CAST", "AS", "TRUE", "FALSE", "INT", "DECIMAL",
    "DOUBLE", "STRING", "DATE", "TIMESTAMP", "BOOL", "DERIVE", "FROM", "SELECT", "WINDOW", "PARTITION", "OVER", "NULLS",
    "ROWS", "RANGE", "GROUPS", "UNBOUNDED", "HIDDEN", "OFFSET", "CHECKS", "CHANGE", "START", "AFTER", "ESCAPE", "FAILS", "OF",
    "AT", "FLAGGED", "EXCLUDE", "LISTS", "LIST", "DISTINCT", "EMPTY",
})  # fmt: skip
INFIX = {
    "or": ("OR", 1), "and": ("AND", 2), "eq": ("=", 4), "ne": ("<>", 4), "lt": ("<", 4), "le": ("<=", 4),
    "gt": (">", 4), "ge": (">=", 4), "concat": ("||", 5), "add": ("+", 6), "sub": ("-", 6), "mul": ("*", 7), "div": ("/", 7),
}  # fmt: skip
NOT, PREDICATE, UNARY, TYPED, ATOM = 3, 4, 8, 9, 10


def format_program(program: Program) -> str:
    """The whole program as text.

    Args:
        program: a program that :func:`m3.check.check` accepts.

    Returns:
        Text ending in a newline; ``parse(format_program(p)) == p``.
    """
    parts: list[Iterable[str]] = [[f"PROGRAM {format_name(program.name)} SEMANTICS {program.semantics.upper()};"]]
    parts += [map(_relation, program.relations), map(_map, program.maps), map(format_derived, program.derivations)]
    parts += [[_view(v)] for v in program.views] + [[_trigger(t)] for t in program.triggers]
    return "\n\n".join(text for part in parts if (text := "\n".join(part))) + "\n"


def format_name(name: str) -> str:
    """A name, in double quotes when it is a keyword or not an identifier."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.upper() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def format_column(column: Column) -> str:
    """``name TYPE``, followed by NULL when nullable."""
    return f"{format_name(column.name)} {_type(column.type)}"


def _type(t: Type) -> str:
    return f"{t} NULL" if t.nullable else str(t)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _relation(relation: Relation) -> str:
    key = f" KEY ({', '.join(map(format_name, relation.key))})" if relation.key else ""
    rows = "" if relation.rows is None else f" ROWS {relation.rows}"
    return f"RELATION {format_name(relation.name)}({', '.join(map(format_column, relation.columns))}){key}{rows};"


def _map(decl: MapDecl) -> str:
    meaning = f"\n  MEANING {_text(decl.meaning)}" if decl.meaning else ""
    keys = ", ".join(map(format_column, decl.keys))
    return f"MAP {format_name(decl.name)}[{keys}] : {_type(decl.value)}{meaning};"


def format_derived(derived: Derived) -> str:
    """A derivation, ``DERIVE ..;`` or ``WINDOW ..;``."""
    return _derivation(derived) if isinstance(derived, Derivation) else _windowing(derived)


def _derivation(derived: Derivation) -> str:
    lines = [f"DERIVE {format_name(derived.map)}[{', '.join(map(format_name, derived.keys))}]"]
    lines.append("FROM " + ", ".join(map(_input, derived.inputs)))
    if derived.outputs:
        lines.append("SELECT " + ",\n    ".join(map(_output, derived.outputs)))
    return "\n  ".join([*lines, f"COUNT {format_scalar(derived.count)}"]) + ";"


def _input(given: Input) -> str:
    parts = [format_name(given.map)]
    if given.at:
        parts.append(f"AT {', '.join(map(format_name, given.at))}")
    if given.order:
        parts.append(f"ORDER {', '.join(_place(*place) for place in given.order)}")
    if given.parameter is not None:
        parts.append(f"WITH {_literal(given.parameter)}")
    source = " ".join(parts)
    return f"{format_name(given.name)} = {source if given.kind == 'value' else f'{given.kind.upper()}({source})'}"


def _place(descending: bool, first: bool) -> str:
    return f"{'DESC' if descending else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"


def _windowing(derived: Windowing) -> str:
    head = f"WINDOW {format_name(derived.map)} FROM {format_name(derived.source)} PARTITION {derived.partition}"
    head += " FLAGGED" if derived.flagged else ""
    return f"{head}\n  SELECT " + ",\n    ".join(map(_window, derived.functions)) + ";"


def _window(function: WindowFunction) -> str:
    parts = []
    if function.order:
        places = (f"{format_scalar(s)} {_place(down, first)}" for s, down, first in function.order)
        parts.append("ORDER BY " + ", ".join(places))
    if function.frame is not None:
        bounds = ("UNBOUNDED" if b is None else str(b) for b in (function.frame.start, function.frame.end))
        parts.append(" ".join([function.frame.unit.upper(), *bounds]))
        if function.frame.exclude:
            parts.append(f"EXCLUDE {function.frame.exclude.upper()}")
    return f"{function.op}({_list(function.args)}) :: {_type(function.type)} OVER ({' '.join(parts)})"


def _output(column: OutputColumn) -> str:
    return f"{format_name(column.name)} = {format_scalar(column.expression)}"


def _view(view: View) -> str:
    lines = [f"VIEW {format_name(view.name)}[{', '.join(map(format_column, view.keys))}]"]
    if view.values:
        lines.append("VALUES " + ", ".join(f"{format_name(v.name)} = {format_name(v.map)}" for v in view.values))
    if view.lists:
        lines.append("LISTS " + ",\n    ".join(map(_view_list, view.lists)))
    if view.exists is not None:
        lines.append(f"{'ROWS' if view.repeated else 'EXISTS'} {format_name(view.exists)}")
    lines.append("COLUMNS " + ",\n    ".join(map(_output, view.columns)))
    if view.hidden:
        lines.append(f"HIDDEN {view.hidden}")
    if view.having is not None:
        lines.append(f"HAVING {format_scalar(view.having)}")
    if view.order:
        lines.append("ORDER BY " + ", ".join(f"{i + 1} DESC" if desc else f"{i + 1}" for i, desc in view.order))
    if view.limit is not None:
        lines.append(f"LIMIT {view.limit}")
    if view.offset:
        lines.append(f"OFFSET {view.offset}")
    if view.checks:
        lines.append("CHECKS " + ",\n    ".join(map(_check, view.checks)))
    if view.sql is not None:
        lines.append(f"SQL {_text(view.sql)}")
    return "\n  ".join(lines) + ";"


def _view_list(made: ViewList) -> str:
    group = f"{format_name(made.map)}[{', '.join(map(format_name, made.at))}]"
    order = f" ORDER {', '.join(_place(*place) for place in made.order)}" if made.order else ""
    order += "" if made.limit is None else f" LIMIT {made.limit}"
    words = [f"{format_name(made.name)} = LIST({group}{order})", *["DISTINCT"] * made.distinct, *["EMPTY"] * made.empty]
    return " ".join(words)


def _check(check: Check) -> str:
    if check.expression is None:
        return format_name(check.map)
    text = f"{format_name(check.map)} FAILS {format_scalar(check.expression)} OF ({', '.join(map(format_name, check.relations))})"
    place = check.place
    if place is None:
        return text
    behind = "" if place.end is None else f" {place.end[0]} {place.end[1]}"
    written = f" {_text(place.text)}" if place.text else ""
    return f"{text} AT {_text(place.file)} {place.line} {place.column} {place.length}{behind}{written}"


def _trigger(trigger: Trigger) -> str:
    sign = {1: "+", -1: "-", 0: "CHANGE "}[trigger.sign]
    head = f"ON {sign}{format_name(trigger.relation)}({', '.join(map(format_name, trigger.params))}) DO {{"
    head = head if trigger.relation else "ON START DO {"
    return "\n".join([head, *(f"  {format_statement(s)};" for s in trigger.statements), "}"])


def format_statement(statement: Statement) -> str:
    """``target[keys] += IF conditions THEN factors ELSE 0`` without the closing semicolon."""
    term = _term(statement)
    if statement.conditions:
        tests = " AND ".join(_Printer(format_name).at(c, NOT) for c in statement.conditions)
        term = f"IF {tests} THEN {term} ELSE 0"
    return f"{format_name(statement.target)}[{_list(statement.keys)}] += {term}"


def _term(statement: Statement) -> str:
    if not statement.factors:
        return "1"
    one = const(1)
    if statement.factors == (one,):
        return "(1)"
    return " * ".join(
        f"{'AFTER ' if f.after else ''}{format_name(f.map)}[{_list(f.keys)}]"
        if isinstance(f, MapRef)
        else _scalar_factor(f)
        for f in statement.factors
    )


def _scalar_factor(scalar: Scalar) -> str:
    bare = isinstance(scalar, Var) or (isinstance(scalar, Const) and _natural(scalar) and scalar.value is not None)
    return format_scalar(scalar) if bare else f"({format_scalar(scalar)})"


def _list(scalars: Iterable[Scalar]) -> str:
    return ", ".join(format_scalar(s) for s in scalars)


def format_scalar(scalar: Scalar, variable: Callable[[str], str] = format_name) -> str:
    """A scalar as text.

    Args:
        scalar: the expression.
        variable: how to print a variable's name.
    """
    return _Printer(variable).text(scalar)[0]


def _natural(scalar: Const) -> bool:
    """True when the literal's text alone implies its type."""
    if scalar.value is None:
        return False
    if isinstance(scalar.value, Decimal) and not scalar.type.scale:
        return False
    return const(scalar.value).type == scalar.type


class _Printer:
    """Prints scalars with as few parentheses as the grammar allows."""

    def __init__(self, variable: Callable[[str], str]) -> None:
        self.variable = variable

    def at(self, scalar: Scalar, level: int) -> str:
        """The text, in parentheses when it binds less tightly than ``level``."""
        text, binding = self.text(scalar)
        return text if binding >= level else f"({text})"

    def text(self, scalar: Scalar) -> tuple[str, int]:
        """The text and how tightly its outermost operator binds."""
        match scalar:
            case Var(name):
                return self.variable(name), ATOM
            case Const():
                return self._const(scalar)
        text, binding = self._call(scalar)
        if scalar.op in ("cast", "try_cast", "now") or call(scalar.op, *scalar.args).type == scalar.type:
            return text, binding
        return f"{text if binding >= ATOM else f'({text})'} :: {_type(scalar.type)}", TYPED

    def _const(self, scalar: Const) -> tuple[str, int]:
        if scalar.value is None:
            return f"NULL :: {scalar.type}", TYPED
        text = _literal(scalar.value)
        return (text, ATOM) if _natural(scalar) else (f"{text} :: {_type(scalar.type)}", TYPED)

    def _call(self, scalar: Call) -> tuple[str, int]:
        op, args = scalar.op, scalar.args
        if op in INFIX and len(args) > 1:
            # AND, OR and || are flat lists; arithmetic associates to the left; comparisons do not chain.
            sign, level = INFIX[op]
            left = level if op in ("add", "sub", "mul", "div") else level + 1
            return f" {sign} ".join([self.at(args[0], left), *(self.at(a, level + 1) for a in args[1:])]), level
        match op:
            case "neg":
                inner = self.at(args[0], UNARY)
                return f"-{inner}" if not inner[0].isdigit() and inner[0] != "-" else f"-({inner})", UNARY
            case "not":
                return f"NOT {self.at(args[0], NOT)}", NOT
            case "is_null":
                return f"{self.at(args[0], PREDICATE + 1)} IS NULL", PREDICATE
            case "in":
                return f"{self.at(args[0], PREDICATE + 1)} IN ({self._commas(args[1:])})", PREDICATE
            case "like":
                text, *rest = (self.at(a, PREDICATE + 1) for a in args)
                return f"{text} LIKE {' ESCAPE '.join(rest)}", PREDICATE
            case "case":
                *branches, otherwise = (self.text(a)[0] for a in args)
                whens = (f"WHEN {c} THEN {v}" for c, v in zip(branches[::2], branches[1::2], strict=True))
                return f"CASE {' '.join(whens)} ELSE {otherwise} END", ATOM
            case "cast" | "try_cast":
                return f"{op.upper()}({self.text(args[0])[0]} AS {scalar.type})", ATOM
        return f"{op.upper()}({self._commas(args)})", ATOM

    def _commas(self, args: Iterable[Scalar]) -> str:
        return ", ".join(self.text(a)[0] for a in args)


def _literal(value: int | Decimal | float | str | datetime.date | bool) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return _text(value)
        case datetime.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case datetime.date():
            return f"DATE '{value.isoformat()}'"
        case Decimal():
            return format(value, "f")
        case float():
            digits = repr(value)
            return digits if "e" in digits else f"{digits}e0"
    return str(value)


VERSION = 3
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
    ViewList,
    Span,
    Check,
    View,
    Program,
)
FIELDS = {cls: tuple(f.name for f in fields(cls) if f.name not in ("span", "scope", "places")) for cls in CLASSES}
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
            parts.append(
                cls(**dict(zip(FIELDS[cls], found, strict=False)))
            )  # fields are added at the end, with a default
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
            part = self._part(value)
            key = json.dumps(part)
            if key not in self._numbers:
                self._numbers[key] = len(self.parts)
                self.parts.append(part)
            self._known[id(value)] = self._numbers[key]
        return [self._known[id(value)]]

    def _part(self, value: Any) -> list[Any]:
        if isinstance(value, tuple):
            return ["", *map(self.field, value)]
        if type(value) in FIELDS:
            own = type(value)
            return [CLASSES.index(own), *(self.field(getattr(value, name)) for name in FIELDS[own])]
        kind, write = next((kind, write) for kind, (type_, write, _) in VALUES.items() if isinstance(value, type_))
        return [kind, write(value)]
