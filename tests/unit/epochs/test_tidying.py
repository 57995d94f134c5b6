"""Within a long epoch the number of runs stays small, and nothing else changes."""

from collections import Counter

from cumulus_ops.epochs.minibatch import RUNS, run_minibatch, tidy
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.query.read import read_view
from tests.support.drops import make_shop

PERIODS = 12


def _paths(rt):
    return Counter((r.map, r.access_path) for r in rt.catalog.commits.runs(rt.catalog.commits.last_commit()))


def test_an_epoch_of_many_batches_has_few_runs(tmp_path):
    project = make_shop(tmp_path, periods=PERIODS)
    initialise(project)
    with open_runtime(project) as rt:
        most = 0
        for _ in range(PERIODS):
            for coordinator in range(project.coordinators):
                run_minibatch(rt, coordinator)
                most = max(most, *_paths(rt).values())
        assert len(rt.catalog.log.batches(state="applied")) == PERIODS * project.coordinators
        assert PERIODS * project.coordinators > RUNS
        assert most <= RUNS + 1
        before = {v.name: read_view(rt, v.name, tentative=True) for v in rt.program.views}
        tidy(rt)
        assert {v.name: read_view(rt, v.name, tentative=True) for v in rt.program.views} == before
