"""Random scalar expressions of a kind over columns."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from tests.fuzz.draw import Draw
from tests.fuzz.schema import VALUES
from tests.fuzz.scope import Col, exact, of_kind

FORMS = {
    "int": ("scalar.arith", "scalar.case", "scalar.coalesce", "scalar.nullif", "scalar.neg", "scalar.extract"),
    "dec": ("scalar.arith", "scalar.case", "scalar.coalesce", "scalar.nullif", "scalar.neg"),
    "str": ("scalar.concat", "scalar.case", "scalar.coalesce", "scalar.nullif", "scalar.case_fold", "scalar.substring"),
    "date": ("scalar.date_add", "scalar.case", "scalar.coalesce", "scalar.nullif"),
}


def literal(value: Any) -> str:
    """A value as SQL."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.date):
        return f"DATE '{value}'"
    return str(value).upper()


def constant(draw: Draw, kind: str) -> str:
    """A literal from the kind's values; numbers may also lie a little beside them."""
    return literal(draw.one(VALUES[kind]))


def column(draw: Draw, columns: Sequence[Col], kind: str) -> str:
    """A column of the kind, or a literal where there is none."""
    found = of_kind(columns, kind)
    return draw.one(found).sql if found else constant(draw, kind)


def scalar(draw: Draw, columns: Sequence[Col], kind: str, compound: float = 0.25) -> str:
    """An expression of a kind; its first operand is a column where there is one."""
    if kind == "bool" or not draw.chance(compound):
        return column(draw, columns, kind)
    return _compound(draw, columns, kind)


def key(draw: Draw, columns: Sequence[Col]) -> tuple[str, str]:
    """A group key, never a bare literal, and its kind."""
    chosen = draw.one(exact(columns))
    if chosen.kind == "bool" or not draw.maybe("group.expression"):
        return chosen.sql, chosen.kind
    return _compound(draw, [chosen], chosen.kind), chosen.kind


def operand(draw: Draw, columns: Sequence[Col], kind: str) -> str:
    """A column or a literal."""
    return column(draw, columns, kind) if draw.chance(0.5) else constant(draw, kind)


def _compound(draw: Draw, columns: Sequence[Col], kind: str) -> str:
    first = column(draw, columns, kind)
    match draw.pick(*FORMS[kind]):
        case "scalar.arith":
            op = draw.one("+-*")
            other = operand(draw, columns, kind if draw.chance(0.7) else "int")
            return f"({first} {op} {other})" if not other.startswith("-") else f"({first} {op} ({other}))"
        case "scalar.case":
            return _case(draw, columns, kind, first)
        case "scalar.coalesce":
            return f"COALESCE({first}, {operand(draw, columns, kind)})"
        case "scalar.nullif":
            return f"NULLIF({first}, {constant(draw, kind)})"
        case "scalar.neg":
            return f"(- ({first}))"
        case "scalar.extract":
            part = draw.one(["YEAR", "MONTH", "DAY"])
            return f"EXTRACT({part} FROM {column(draw, columns, 'date')})"
        case "scalar.concat":
            return f"({first} || {operand(draw, columns, kind)})"
        case "scalar.case_fold":
            return f"{draw.one(['UPPER', 'LOWER'])}({first})"
        case "scalar.substring":
            return f"SUBSTRING({first}, {draw.one([1, 2])}, 1)"
    unit, sign = draw.one(["DAY", "MONTH"]), draw.one("+-")
    return f"CAST({first} {sign} INTERVAL '{draw.one([1, 2, 30])}' {unit} AS DATE)"


def _case(draw: Draw, columns: Sequence[Col], kind: str, first: str) -> str:
    tested = draw.one(exact(columns)) if exact(columns) else Col(constant(draw, "int"), "int")
    other = operand(draw, columns, kind)
    if draw.chance(0.3):
        return f"CASE {tested.sql} WHEN {constant(draw, tested.kind)} THEN {first} ELSE {other} END"
    otherwise = f" ELSE {other}" if draw.chance(0.6) else ""
    test = f"{tested.sql} {draw.one(['=', '<', '<=', '<>'])} {constant(draw, tested.kind)}"
    return f"CASE WHEN {test} THEN {first}{otherwise} END"
