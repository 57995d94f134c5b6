"""An epoch in which a coordinator has numbered half of the events that a version can tell apart ends by itself, without a limit in the project."""

from cumulus_ops.epochs import minibatch
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.versions import epoch_end
from tests.support.drops import make_shop
from tests.support.logs import logged_events
from tests.support.projects import engine_maps, interpret, oracle_maps


def test_sequence_numbers_do_not_run_out(tmp_path, monkeypatch):
    monkeypatch.setattr(minibatch, "HALF_OF_SEQUENCES", 10)
    project = make_shop(tmp_path, periods=4, rows=8)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        assert run_waiting(rt, validating=False) > 2
        assert not any(rt.sources.pending(c) for c in range(project.coordinators))
        newest = rt.catalog.snapshots.newest()
        right = interpret(rt.program, logged_events(rt, newest))
        assert engine_maps(rt, epoch_end(newest)) == oracle_maps(right)


def test_without_that_it_is_one_epoch(tmp_path):
    project = make_shop(tmp_path, periods=4, rows=8)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        assert run_waiting(rt, validating=False) == 1
