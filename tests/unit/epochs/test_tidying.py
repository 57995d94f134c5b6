"""Within a long epoch the number of runs stays small, what was merged goes, and nothing else changes."""

from collections import Counter
from pathlib import Path

from cumulus_ops.compute.reading import FANOUT, LOOK_EVERY, OpenedRuns
from cumulus_ops.epochs import checkpoint, minibatch
from cumulus_ops.epochs.checkpoint import correct, merge, refresh
from cumulus_ops.epochs.minibatch import RUNS, run_minibatch, tidy
from cumulus_ops.maps.ranges import Ranges
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


def test_what_is_merged_in_memory_is_written_from_there(tmp_path):
    project = make_shop(tmp_path, periods=FANOUT + 1)
    initialise(project)
    with open_runtime(project) as rt:
        for _ in range(FANOUT + 1):
            run_minibatch(rt, 0)
        copy, many = _paths(rt).most_common(1)[0]
        runs = [r for r in _runs(rt) if (r.map, r.access_path) == copy]
        assert many > FANOUT
        opened, names = OpenedRuns(), rt.plan.key_names(copy[0])
        first, root = runs[:FANOUT], str(project.state)
        (merged,) = opened.together(root, first, names)
        for run in first:
            (project.state / run.path).unlink()
        # whatever their order, and with others beside them
        assert opened.written(root, [*runs[FANOUT:], *first[::-1]])[0] is merged
        assert len(opened.written(root, runs)) == many - FANOUT + 1


def test_ranges_are_one_run_to_whoever_counts(tmp_path, monkeypatch):
    """A copy with more rows than are merged at a time is merged in ranges, and then left alone, however many there are."""
    project = make_shop(tmp_path, periods=3)
    initialise(project)
    monkeypatch.setattr(minibatch, "RUNS", 3)
    monkeypatch.setattr(checkpoint, "most_merged_rows", lambda _: 4)
    with open_runtime(project) as rt:
        for _ in range(3):
            for coordinator in range(project.coordinators):
                run_minibatch(rt, coordinator)
        before = {v.name: read_view(rt, v.name, tentative=True) for v in rt.program.views}
        tidy(rt)
        assert {v.name: read_view(rt, v.name, tentative=True) for v in rt.program.views} == before
        ranges = Counter((r.map, r.access_path, r.commit) for r in _runs(rt))
        assert max(ranges.values()) > 2 * minibatch.RUNS
        assert tidy(rt) == 0
        assert not rt.catalog.commits.is_crowded(rt.catalog.commits.last_commit(), minibatch.RUNS)


def test_ranges_that_lose_a_row_are_noticed(tmp_path, monkeypatch):
    project = make_shop(tmp_path, periods=1)
    initialise(project)
    monkeypatch.setattr(checkpoint, "most_merged_rows", lambda _: 4)
    with open_runtime(project) as rt:
        for coordinator in range(project.coordinators):
            run_minibatch(rt, coordinator)
        correct(rt)
        refresh(rt)
        before = {v.name: read_view(rt, v.name, tentative=True) for v in rt.program.views}
        choose = Ranges._choose_rows
        with monkeypatch.context() as patch:
            # the first part of every run ends a row too early
            patch.setattr(
                Ranges, "_choose_rows", lambda *of: (rows[:-1] if of[2] == 0 else rows for rows in choose(*of))
            )
            merge(rt)
        (problem,) = rt.catalog.problems.step_problems()
        assert problem.kind == "merge-unproved"
        assert {v.name: read_view(rt, v.name, tentative=True) for v in rt.program.views} == before
        assert merge(rt) > 0
        assert not rt.catalog.problems.step_problems()
        assert {v.name: read_view(rt, v.name, tentative=True) for v in rt.program.views} == before
