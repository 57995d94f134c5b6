"""The law under histories: however appends, reads, commits, corrections and epochs interleave, every committed epoch equals the
serial interpreter; and for programs with versions by event, every pass of corrections is what the papers' protocol sends."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from cumulus_ops.compute import refresh, steps
from cumulus_ops.compute.apply import ApplyTask
from cumulus_ops.compute.correct import CorrectTask
from cumulus_ops.compute.portions import compute_portion
from cumulus_ops.compute.refresh import RefreshTask
from cumulus_ops.compute.steps import InProcess
from cumulus_ops.epochs import checkpoint
from cumulus_ops.opening.runtime import initialise, open_runtime
from m3.program import Program
from tests.model.test_engine_against_interpreter import PROGRAMS
from tests.support.eventual import Eventual
from tests.support.hashed import check_hashes
from tests.support.histories import Local, Played, play, random_history
from tests.support.portions import InPortions
from tests.support.projects import interpret, make_project, oracle_maps
from tests.support.random_programs import RELATIONS

#: More are played by ``HISTORIES=100 pytest tests/model/test_engine_under_histories.py``.
SEEDS = range(int(os.environ.get("HISTORIES", "1")))
BY_EVENT = [name for name, given in PROGRAMS.items() if "program" in given]
FROM_SQL = [name for name in PROGRAMS if name not in BY_EVENT and name != "failing"]

#: Those with the most derivations, and the most corrections.
IN_PORTIONS = [*FROM_SQL, *BY_EVENT] if len(SEEDS) > 1 else ["beyond rings", "ordered-sequential"]


def agree(program: Program, played: Played) -> None:
    """All committed epochs are what the interpreter makes of the events up to them."""
    assert played.maps
    for epoch, maps in played.maps.items():
        assert maps == oracle_maps(interpret(program, played.events(epoch)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FROM_SQL)
def test_every_epoch_equals_the_interpreter(name: str, seed: int, tmp_path: Path) -> None:
    project = make_project(tmp_path, RELATIONS, **PROGRAMS[name])
    initialise(project)
    with open_runtime(project) as rt:
        agree(rt.program, play(random_history(seed), [Local(rt)]))
        check_hashes(rt)


@pytest.mark.parametrize("name", BY_EVENT)
def test_corrections_are_those_of_the_protocol(name: str, tmp_path: Path) -> None:
    """And every epoch equals the interpreter, here, too."""
    corrected = 0
    for seed in SEEDS:
        project = make_project(tmp_path / str(seed), RELATIONS, **PROGRAMS[name])
        initialise(project)
        with open_runtime(project) as rt:
            model = Eventual(rt.program)
            agree(rt.program, play(random_history(seed), [Local(rt)], model))
            corrected += model.corrected
            check_hashes(rt)
    assert corrected > 0, "no history has made a correction necessary"


@pytest.mark.parametrize("threads", [0, 3], ids=["tasks", "threads"])
@pytest.mark.parametrize("name", IN_PORTIONS)
def test_steps_in_portions_agree(name: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As tasks of Spark have them, and as threads, which do so with what is applied, too."""
    executor = InProcess(threads, 2) if threads else InPortions(3)
    portions = Mock(side_effect=compute_portion)
    monkeypatch.setattr(steps, "compute_portion", portions)
    monkeypatch.setattr(refresh, "SMALL_ROWS", 0)  # a few groups are ranges of their keys, too
    monkeypatch.setattr(steps, "FEWEST_RANGE_ROWS", 4)  # then a share of a copy is several ranges, in several tasks
    monkeypatch.setattr(checkpoint, "most_merged_rows", lambda _: 50)
    for seed in SEEDS:
        project = make_project(tmp_path / str(seed), RELATIONS, **PROGRAMS[name])
        initialise(project)
        with open_runtime(project) as opened:
            rt = dataclasses.replace(opened, executor=executor)
            model = Eventual(rt.program) if name in BY_EVENT else None
            agree(rt.program, play(random_history(1_000 + seed), [Local(rt)], model))
            check_hashes(rt)
    stepped = {type(call.args[0].step) for call in portions.call_args_list}
    assert stepped & {RefreshTask, CorrectTask}, "nothing was refreshed, and nothing corrected"
    assert (ApplyTask in stepped) == bool(threads)
