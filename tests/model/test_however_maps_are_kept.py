"""The law does not depend on how maps are kept: each by itself or in groups, wide ones standing in for narrow ones wherever they
can, with any search codes, many blocks to a run, recent runs looked up as one or one by one, and copies merged whole or in ranges of a
few rows."""

from __future__ import annotations

import tempfile
import unittest.mock
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from cumulus_ops.compute import reading
from cumulus_ops.epochs import checkpoint
from cumulus_ops.layout import groups, plans
from cumulus_ops.layout.groups import Group
from cumulus_ops.layout.plans import plan_json
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import InputProblem
from m3 import check, format_program
from m3.errors import ValueProblem
from m3.program import Program
from tests.model.test_engine_against_interpreter import BEYOND_RINGS, VIEWS, World, _play
from tests.support.projects import make_project
from tests.support.random_programs import RELATIONS, m3_programs, sql_views
from tests.support.runs import CODES, forced, small_blocks
from tests.support.sampling import WHOLE

KEPT = ["apart", "in groups", "in wide groups"]
FEW = settings(
    max_examples=6 if WHOLE else 3,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def apart(program: Program, *_: object) -> tuple[Group, ...]:
    return tuple(Group(m.name, m.keys, (m.name,)) for m in program.maps)


@contextmanager
def kept(how: str, data: st.DataObject) -> Iterator[None]:
    """Plans keep maps in this way, and runs have forced codes."""
    plan_json.cache_clear()
    most = data.draw(st.sampled_from([3, 20, 10**6]))
    with ExitStack() as stack:
        if how == "apart":
            stack.enter_context(unittest.mock.patch.object(plans, "find_groups", apart))
        if how == "in wide groups":
            stack.enter_context(unittest.mock.patch.object(groups, "SHARE", 0))
        stack.enter_context(unittest.mock.patch.object(reading, "FANOUT", data.draw(st.sampled_from([2, 1000]))))
        stack.enter_context(unittest.mock.patch.object(checkpoint, "most_merged_rows", lambda _, most=most: most))
        stack.enter_context(forced(data.draw(st.sampled_from(sorted(CODES)))))
        stack.enter_context(small_blocks())
        yield
    plan_json.cache_clear()


def play(views: dict[str, str] | None, text: str | None, how: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder, kept(how, data):
        project = make_project(Path(folder), RELATIONS, views=views, program=text)
        initialise(project)
        with open_runtime(project) as rt:
            assert how != "apart" or len(rt.plan.groups) == len(rt.program.maps)
            try:
                _play(World(rt), data)
            except (InputProblem, ValueProblem) as problem:
                if problem.kind != "overflow":
                    raise
                reject()


@pytest.mark.parametrize("how", KEPT)
@FEW
@given(program=m3_programs(), data=st.data())
def test_random_m3_programs(how: str, program: Program, data: st.DataObject) -> None:
    play(None, format_program(check(program)), how, data)


@pytest.mark.parametrize("how", KEPT)
@FEW
@given(views=sql_views(), data=st.data())
def test_random_sql_views(how: str, views: dict[str, str], data: st.DataObject) -> None:
    play(views, None, how, data)


@pytest.mark.parametrize("how", KEPT)
@FEW
@given(data=st.data())
def test_joins_and_derivations(how: str, data: st.DataObject) -> None:
    play({**VIEWS, **{name: BEYOND_RINGS[name] for name in ("extremes", "outer", "having")}}, None, how, data)
