"""Within a long epoch the number of runs stays small, what was merged goes, and nothing else changes."""

from collections import Counter
from pathlib import Path

from cumulus_ops.compute.reading import LOOK_EVERY, OpenedRuns
from cumulus_ops.epochs import minibatch
from cumulus_ops.epochs.checkpoint import most_merged_rows
from cumulus_ops.epochs.minibatch import RUNS, run_minibatch, tidy
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.query.read import read_view
from tests.support.drops import make_shop

PERIODS = 12


def _runs(rt):
    return rt.catalog.commits.runs(rt.catalog.commits.last_commit())


def _paths(rt):
    return Counter((r.map, r.access_path) for r in _runs(rt))


def _deleted(rt):
    """The files that this process has mapped, though they are deleted: the disk keeps their bytes."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return [line for line in lines if str(rt.project.state) in line and line.endswith("(deleted)")]


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
        assert {str(p.relative_to(rt.project.state)) for p in (rt.project.state / "runs").iterdir()} == {
            r.path for r in _runs(rt)
        }
        assert _deleted(rt) == []
        before = {v.name: read_view(rt, v.name, tentative=True) for v in rt.program.views}
        tidy(rt)
        assert {v.name: read_view(rt, v.name, tentative=True) for v in rt.program.views} == before


def test_what_another_process_has_deleted_is_let_go_of(tmp_path):
    project = make_shop(tmp_path, periods=1)
    initialise(project)
    with open_runtime(project) as rt:
        run_minibatch(rt, 0)
        opened = OpenedRuns()
        for run in _runs(rt):
            opened.open(str(project.state), run)
        for path in {run.path for run in _runs(rt)}:
            (project.state / path).unlink()
        assert _deleted(rt)
        for _ in range(LOOK_EVERY):
            opened.limit(opened.budget_bytes)
        assert _deleted(rt) == []


def test_runs_that_are_too_large_to_be_merged_crowd_nothing(tmp_path, monkeypatch):
    project = make_shop(tmp_path, periods=2)
    initialise(project)
    monkeypatch.setattr(minibatch, "RUNS", 2)
    monkeypatch.setattr(minibatch, "most_merged_rows", lambda _: 0)
    with open_runtime(project) as rt:
        for _ in range(2):
            for coordinator in range(project.coordinators):
                run_minibatch(rt, coordinator)
        assert max(_paths(rt).values()) > 3
        assert tidy(rt) == 0
        monkeypatch.setattr(minibatch, "most_merged_rows", most_merged_rows)
        assert tidy(rt) > 0
