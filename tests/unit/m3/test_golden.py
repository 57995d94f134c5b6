"""Compiled programs as text: reviewed once, stable after."""

from __future__ import annotations

import pytest

from m3 import check, compile_views, emit, format_program, parse
from m3.compiler.pipeline import STAGES
from tests.unit.m3.tpch import RELATIONS, VIEWS


@pytest.mark.parametrize("view", VIEWS)
def test_program_text_is_golden_and_reads_back(view, golden):
    program = compile_views(view, RELATIONS, {view: VIEWS[view]})
    text = format_program(program)
    golden(f"{view}.m3", text)
    assert check(parse(text)) == program


def test_all_views_together_share_maps():
    together = compile_views("tpch", RELATIONS, VIEWS)
    alone = [compile_views(v, RELATIONS, {v: sql}) for v, sql in VIEWS.items()]
    assert len(together.maps) < sum(len(p.maps) for p in alone)
    assert check(parse(format_program(together))) == together


@pytest.mark.parametrize("stage", STAGES)
def test_emit_stops_anywhere(stage, golden):
    golden(f"example.{stage}.txt", emit(stage, "example", RELATIONS, {"example": VIEWS["example"]}))
