"""kill -9 while time goes on: between a tick, its refresh and the vote, run again, there is one tick of an epoch, and the same rows."""

from __future__ import annotations

import dataclasses
import datetime
import os
import signal
from pathlib import Path

import pytest

from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.processes import TICK_POINTS
from cumulus_ops.project.settings import Project
from cumulus_ops.query.read import read_view
from m3.datatypes import INT, TIMESTAMP
from m3.program import Column, Relation
from tests.support.children import start, wait
from tests.support.projects import append_events, make_project
from tests.support.sampling import sampled

RELATIONS = [
    Relation("click", (Column("id", INT), Column("at", TIMESTAMP)), ())
]  # as a text, each child would make a parser
VIEWS = {"recent": "SELECT id FROM click WHERE at > now() - INTERVAL '1 hour'"}
POINTS = [*TICK_POINTS, "refresh.before-commit", "vote.before-commit"]


def let_time_pass(project: Project, fault: str = "") -> None:
    """What `cumulus run` does, dying at ``fault`` if that is reached."""
    os.environ["CUMULUS_FAULT"] = fault
    with open_runtime(project, "inprocess") as rt:
        run_waiting(rt, validating=False)


@pytest.mark.parametrize("fault", sampled(POINTS, 2))
def test_who_dies_while_time_goes_on_leaves_the_rest_to_the_next(fault: str, tmp_path: Path) -> None:
    project = make_project(tmp_path, RELATIONS, views=VIEWS, coordinators=2)
    begin = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=5)
    epoch = dataclasses.replace(project.epoch, start=begin, length=datetime.timedelta(minutes=30))
    project = dataclasses.replace(project, epoch=epoch)
    initialise(project)
    at = begin.replace(tzinfo=None)
    with open_runtime(project, "inprocess") as rt:
        append_events(rt, 0, [("click", 1, (i, at + i * datetime.timedelta(hours=1))) for i in range(8)], "d")
        run_minibatch(rt, 0)
    assert wait(start(let_time_pass, project, fault)) == -signal.SIGKILL, "the fault point was not reached"
    assert wait(start(let_time_pass, project)) == 0
    with open_runtime(project, "inprocess") as rt:
        own = [snapshot.epoch for snapshot in rt.catalog.snapshots.own()]
        ticks = [batch.epoch for batch in rt.catalog.log.batches() if batch.tick is not None]
        assert ticks == own
        assert own[0] == 0
        assert len(own) == 2
        assert sorted(row["id"] for row in read_view(rt, "recent").to_pylist()) == [4, 5, 6, 7]  # as of 4 h 30 min
        assert len(read_view(rt, "recent", as_of=0)) == 8
