"""Random scalar expressions of a kind over columns."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from tests.fuzz.draw import Draw
from tests.fuzz.failing import LARGE
from tests.fuzz.schema import VALUES
from tests.fuzz.scope import Col, exact, of_kind

FORMS = {
    "int": (
        "scalar.arith",
        "scalar.case",
        "scalar.coalesce",
        "scalar.nullif",
        "scalar.neg",
        "scalar.extract",
        "fail.mod",
        "fail.cast",
        "fail.overflow",
    ),
    "dec": ("scalar.arith", "scalar.case", "scalar.coalesce", "scalar.nullif", "scalar.neg", "fail.mod", "scalar.wide"),
    "dbl": ("scalar.arith", "scalar.case", "scalar.coalesce", "scalar.nullif", "scalar.neg"),
    "str": ("scalar.concat", "scalar.case", "scalar.coalesce", "scalar.nullif", "scalar.case_fold", "scalar.substring"),
    "date": ("scalar.date_add", "scalar.case", "scalar.coalesce", "scalar.nullif", "fail.date"),
}


def literal(value: Any) -> str:
    """A value as SQL."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.date):
        return f"DATE '{value}'"
    if isinstance(value, float):
        return f"CAST('{value}' AS DOUBLE)"
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
        case "scalar.wide":
            return f"CAST({first} AS DECIMAL(38, {draw.one([10, 18])}))"
        case "fail.mod":
            return _divided(draw, first, "%", operand(draw, columns, draw.one([kind, "int"])))
        case "fail.cast":
            text = column(draw, columns, "str")
            return (
                first
                if text.startswith("'")
                else f"CAST(CASE WHEN {text} = {constant(draw, 'str')} THEN {text} ELSE '3' END AS BIGINT)"
            )
        case "fail.overflow":
            return f"({first} * {LARGE} * {LARGE})"
        case "fail.date":
            month = column(draw, columns, "int")
            return first if month.isdigit() else f"MAKE_DATE(2024, {month} + 1, {draw.one([28, 30, 31])})"
    unit, sign = draw.one(["DAY", "MONTH"]), draw.one("+-")
    return f"CAST({first} {sign} INTERVAL '{draw.one([1, 2, 30])}' {unit} AS DATE)"


def quotient(draw: Draw, columns: Sequence[Col]) -> str:
    """A quotient, which DuckDB computes in floating point."""
    kinds = draw.one([("dec", "int"), ("int", "int"), ("int", "dec"), ("dec", "dec")])
    return _divided(draw, scalar(draw, columns, kinds[0], 0), "/", column(draw, columns, kinds[1]))


def _divided(draw: Draw, value: str, op: str, divisor: str) -> str:
    """With or without a guard."""
    divisor = f"({divisor})" if divisor.startswith("-") else divisor
    if not draw.maybe("fail.guarded"):
        return f"({value} {op} {divisor})"
    guarded = f"CASE WHEN {divisor} <> 0 THEN {value} {op} {divisor} END"
    return draw.one([guarded, f"({value} {op} NULLIF({divisor}, 0))"])


def _case(draw: Draw, columns: Sequence[Col], kind: str, first: str) -> str:
    tested = draw.one(exact(columns)) if exact(columns) else Col(constant(draw, "int"), "int")
    other = operand(draw, columns, kind)
    if draw.chance(0.3):
        return f"CASE {tested.sql} WHEN {constant(draw, tested.kind)} THEN {first} ELSE {other} END"
    otherwise = f" ELSE {other}" if draw.chance(0.6) else ""
    test = f"{tested.sql} {draw.one(['=', '<', '<=', '<>'])} {constant(draw, tested.kind)}"
    return f"CASE WHEN {test} THEN {first}{otherwise} END"
