"""The engine under what the simulator has played: the same events get the same versions, every epoch ends in the interpreter's maps (as
the simulated snapshots do, see :mod:`cumulus_papers.run`), and every correction is the protocol's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_papers.run import serial
from m3 import format_program
from m3.program import Program
from tests.support.eventual import Eventual
from tests.support.histories import Local, Played, play
from tests.support.projects import make_project
from tests.support.simulated import Simulated, simulate

SEEDS = range(int(os.environ.get("HISTORIES", "1")))


def agree(program: Program, played: Played, simulated: Simulated) -> None:
    assert {v.epoch for v in simulated.events} <= played.maps.keys()
    for (epoch, coordinator), events in played.log.items():
        versions = sorted(v for v in simulated.events if v[:2] == (epoch, coordinator))
        stamped = [simulated.events[v] for v in versions]
        assert events == [(e.relation, e.sign, e.row) for e in stamped], "the engine's epochs are the simulated ones"
    for epoch, maps in played.maps.items():
        upto = {version: event for version, event in simulated.events.items() if version.epoch <= epoch}
        assert {name: entries for name, entries in maps.items() if entries} == serial(program, upto)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_engine_replays_a_simulated_run(seed: int, tmp_path: Path) -> None:
    simulated = simulate(seed)
    program = simulated.case.program
    project = make_project(
        tmp_path, program.relations, program=format_program(program), coordinators=simulated.case.coordinators
    )
    initialise(project, versions="event")  # as the simulator's are
    with open_runtime(project) as rt:
        agree(rt.program, play(simulated.history, [Local(rt)], Eventual(rt.program)), simulated)
