"""A program as JSON is the same program."""

from __future__ import annotations

import doctest
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings

import m3.formatting
from m3 import check, format_program, parse
from m3.datatypes import DATE, DOUBLE, INT, TIMESTAMP, decimal
from m3.errors import ProgramError
from m3.formatting import program_from_json, program_to_json
from m3.program import Column, OutputColumn, Program, View
from m3.scalars import Const
from tests.support.random_derivations import derived_programs
from tests.support.random_programs import m3_programs

GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*.m3"))


def same(program: Program) -> None:
    back = program_from_json(program_to_json(program))
    assert back == program
    assert repr(back) == repr(program_from_json(program_to_json(back)))
    assert format_program(back) == format_program(program)


@pytest.mark.parametrize("file", GOLDEN, ids=lambda f: f.stem)
def test_golden_programs(file: Path) -> None:
    same(check(parse(file.read_text())))


@settings(deadline=None)
@given(m3_programs())
def test_random_programs(program: Program) -> None:
    same(program)


@settings(deadline=None)
@given(derived_programs())
def test_random_derivations(text: str) -> None:
    same(check(parse(text)))


def test_constants_keep_their_digits_signs_and_types() -> None:
    import datetime

    values = [
        (Decimal("1.50"), decimal(5, 2)),
        (Decimal("1.5"), decimal(5, 2)),
        (-0.0, DOUBLE),
        (0.0, DOUBLE),
        (float("inf"), DOUBLE),
        (0.1, DOUBLE),
        (2**62 + 1, INT),
        (datetime.date(2020, 2, 29), DATE),
        (datetime.datetime(2020, 2, 29, 1, 2, 3, 4), TIMESTAMP),
        (None, INT.with_null()),
    ]
    columns = tuple(OutputColumn(f"c{i}", Const(value, type_)) for i, (value, type_) in enumerate(values))
    view = View("v", (Column("k", INT),), (), None, columns)
    program = Program("p", "snapshot", (), (), (), (view,))
    back = program_from_json(program_to_json(program)).views[0]
    assert [repr(c.expression) for c in back.columns] == [repr(c.expression) for c in view.columns]


def test_another_version_is_refused() -> None:
    with pytest.raises(ProgramError, match="form 99"):
        program_from_json('{"version": 99, "parts": []}')


def test_the_example_in_the_documentation() -> None:
    assert doctest.testmod(m3.formatting).failed == 0
