"""The law under histories, with each coordinator in a process of its own on one catalog: who computes where does not matter, either."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cumulus_ops.opening.runtime import initialise, open_runtime
from tests.model.test_engine_against_interpreter import PROGRAMS
from tests.model.test_engine_under_histories import agree
from tests.support.eventual import Eventual
from tests.support.histories import play, random_history
from tests.support.projects import make_project
from tests.support.random_programs import RELATIONS
from tests.support.sampling import sampled
from tests.support.workers import workers

SEEDS = range(1000, 1000 + int(os.environ.get("HISTORIES", "1")))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", sampled(["beyond rings", "ordered-sequential", "cyclic-snapshot"], 3))
def test_processes_agree_with_the_interpreter_and_the_protocol(name: str, seed: int, tmp_path: Path) -> None:
    project = make_project(tmp_path, RELATIONS, **PROGRAMS[name])
    initialise(project)
    with open_runtime(project) as rt:
        program = rt.program
    model = None if program.derivations else Eventual(program)
    with workers(project, 3) as processes:
        agree(program, play(random_history(seed), processes, model))
