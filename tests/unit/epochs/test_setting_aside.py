"""A batch that keeps failing is set aside; all others go on, and snapshots equal the log without it."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import shutil
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

from cumulus_ops.catalog.asides import FAILURES, UNENDED
from cumulus_ops.catalog.records import Step
from cumulus_ops.compute import steps
from cumulus_ops.compute.correct import CorrectTask
from cumulus_ops.compute.refresh import RefreshTask
from cumulus_ops.compute.steps import InProcess, StepResult, Task, verdict
from cumulus_ops.epochs.checkpoint import _correction, commit, correct, refresh_task
from cumulus_ops.epochs.minibatch import apply_batch, run_minibatch
from cumulus_ops.epochs.setting_aside import retract
from cumulus_ops.epochs.status import status
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import Conflict, IntegrityProblem
from cumulus_ops.project.versions import epoch_end
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.logs import forget_written
from tests.support.projects import (
    Event,
    append_events,
    engine_maps,
    interpret,
    make_project,
    oracle_maps,
)

R = Relation("r", (Column("k", INT), Column("a", INT)))
S = Relation("s", (Column("k", INT), Column("b", INT)))
VIEWS = {
    "joined": "SELECT r.k, SUM(a * b) AS t, COUNT(*) AS n FROM r, s WHERE r.k = s.k GROUP BY r.k",
    "pairs": "SELECT COUNT(*) AS n FROM r x, r y WHERE x.k = y.k",
    "sums": "SELECT k, SUM(a) AS t FROM r GROUP BY k",
}
DERIVED = {**VIEWS, "least": "SELECT k, MIN(a) AS a FROM r GROUP BY k"}
Data = dict[int, tuple[list[Event], bool]]


@pytest.fixture
def opened(tmp_path):
    """Opens projects over r and s with two coordinators."""
    runtimes = []

    def opener(views: dict[str, str] = VIEWS, scheme: str = "batch") -> Runtime:
        project = make_project(tmp_path, [R, S], views=views, coordinators=2)
        initialise(project, versions=scheme)
        context = open_runtime(project)
        runtimes.append(context)
        return context.__enter__()

    yield opener
    for context in runtimes:
        context.__exit__(None, None, None)


def rows(relation: str, *pairs: tuple[int, int], sign: int = 1) -> list[Event]:
    return [(relation, sign, pair) for pair in pairs]


def damage(rt: Runtime, batch: int) -> Callable[[], None]:
    """Make a batch one that cannot be applied: a column of its log, a file without checksums, has no numbers. The result repairs it."""
    forget_written()
    paths = [rt.project.state / f.path for f in rt.catalog.log.files(batch=batch)]
    for path in paths:
        shutil.copy(path, path.with_suffix(".kept"))
        table = pq.read_table(path)
        place = table.column_names.index("k")
        pq.write_table(table.set_column(place, "k", pa.repeat("no number", len(table))), path)
    return lambda: [path.with_suffix(".kept").replace(path) for path in paths] and None


def end_epoch(rt: Runtime) -> int:
    epoch = rt.catalog.members.position(0)[0]
    for coordinator in range(rt.project.coordinators):
        vote(rt, coordinator, epoch)
    commit(rt, epoch)
    return epoch


def expect(rt: Runtime, epoch: int, events: list[Event]) -> None:
    assert engine_maps(rt, epoch_end(epoch)) == oracle_maps(interpret(rt.program, events))


def states(rt: Runtime) -> list[str]:
    return [b.state for b in rt.catalog.log.batches()]


@pytest.mark.parametrize(("views", "scheme"), [(VIEWS, "event"), (DERIVED, "batch")], ids=["plain", "derived"])
def test_what_keeps_failing_is_set_aside_and_a_retry_counts_in_the_open_epoch(opened, views, scheme) -> None:
    rt = opened(views, scheme)
    good, bad = rows("r", (1, 5), (2, 6), (1, 7)), [*rows("r", (1, 10), (3, 1)), *rows("s", (2, 4))]
    first = append_events(rt, 0, good, "good")
    broken = append_events(rt, 0, bad, "bad")
    repair = damage(rt, broken)
    other = rows("s", (1, 2), (3, 9))
    append_events(rt, 1, other, "other")
    assert run_minibatch(rt, 0, []).set_aside == ()
    report = run_minibatch(rt, 0, [])
    assert (report.batch, report.set_aside, report.events) == (broken, (broken,), 0)
    assert run_minibatch(rt, 1, []).events == 2
    found = rt.catalog.log.batch(broken)
    assert (found.state, found.failures) == ("aside", FAILURES)
    assert "no number" in found.reason.splitlines()[0]
    assert "Traceback" in found.reason
    expect(rt, end_epoch(rt), [*good, *other])
    assert states(rt) == ["retired", "aside", "retired"]
    repair()
    later = rows("r", (3, 1), sign=-1)  # a row that only the batch that is set aside has inserted
    append_events(rt, 1, later, "later")
    run_minibatch(rt, 1, [])
    expect(rt, end_epoch(rt), [*good, *other, *later])

    from cumulus_ops.append.rejected import restamp

    again = restamp(rt.project, rt.catalog, rt.catalog.log.batch(broken))
    retried = rt.catalog.log.batch(again)
    assert (retried.epoch, retried.drop, retried.events, retried.retry_of) == (2, "bad", 3, broken)
    assert rt.catalog.log.batch(broken).state == "retried"
    run_minibatch(rt, 0, [])
    expect(rt, end_epoch(rt), [*good, *other, *later, *bad])
    assert first < broken < again


class Broken(InProcess):
    """Where steps run, if some engine fails whenever it has to do with a batch."""

    def __init__(self, kind: type, batch: int) -> None:
        super().__init__()
        self.kind, self.batch, self.failed = kind, batch, 0

    def run(self, task: Task) -> StepResult:
        if isinstance(task, self.kind) and self._concerns(task):
            self.failed += 1
            raise ZeroDivisionError("in the engine")
        return super().run(task)

    def _concerns(self, task: RefreshTask | CorrectTask) -> bool:
        if isinstance(task, RefreshTask):
            return any(b.id == self.batch for b in task.fresh)
        origins = {r.origin for r in task.runs}
        return any(not history.clock.covers(o) for history in task.history for o in origins if o == self.batch)


def tangled(rt: Runtime, apply: Callable[[int], object]) -> tuple[list[list[Event]], list[int]]:
    """Four batches that join each other, all read before the others were there but for the last: (events, ids)."""
    parts = [
        [*rows("r", (1, 5), (2, 6)), *rows("s", (1, 2))],
        [*rows("r", (1, 7), (1, 8)), *rows("s", (2, 3))],
        [*rows("s", (1, 11)), *rows("r", (2, 1), (1, 5))],
        [*rows("r", (1, 5), sign=-1), *rows("s", (1, 2), (2, 2))],
    ]
    ids = [append_events(rt, i % 2, part, f"d{i}") for i, part in enumerate(parts)]
    for number in ids:
        apply(number)
    return parts, ids


def overlapping(rt: Runtime, ids: list[int]) -> None:
    """Apply batches in the reverse of their order, none having read the others."""
    from cumulus_ops.epochs.minibatch import commit_batch, compute_batch

    with rt.catalog.leases.step() as step:
        computed = [(number, compute_batch(rt, number, step)) for number in ids]
        for number, deltas in reversed(computed):
            commit_batch(rt, number, deltas)


@pytest.mark.parametrize(("culprit", "scheme"), [(0, "batch"), (1, "event"), (2, "batch"), (3, "batch")])
def test_the_batch_with_which_corrections_fail_is_taken_back(opened, scheme: str, culprit: int) -> None:
    rt = opened(scheme=scheme)
    parts, ids = tangled(rt, lambda _: None)
    overlapping(rt, ids[:3])
    apply_batch(rt, ids[3])
    commit_of = {b.id: b.commit for b in rt.catalog.log.batches()}
    executor = Broken(CorrectTask, commit_of[ids[culprit]])
    broken = dataclasses.replace(rt, executor=executor)
    correct(broken)
    aside = [b.id for b in rt.catalog.log.batches(state="aside")]
    assert bool(aside) == bool(executor.failed)
    assert (
        aside == [] or culprit == 2 or aside == [ids[culprit]]
    )  # the third is applied first: others fail with it later
    left = [e for i, part in enumerate(parts) if rt.catalog.log.batch(ids[i]).counts for e in part]
    expect(broken, end_epoch(broken), left)


@pytest.mark.parametrize(("culprit", "corrected"), [(0, True), (1, True), (1, False), (2, True), (3, False)])
def test_taking_a_batch_back_leaves_nothing_of_it(opened, culprit: int, corrected: bool) -> None:
    rt = opened()
    parts, ids = tangled(rt, lambda _: None)
    overlapping(rt, ids[:3])
    apply_batch(rt, ids[3])
    if corrected:
        correct(rt)
    entry = next(
        e for e in rt.catalog.commits.live_history(rt.catalog.commits.last_commit()) if e.batch.id == ids[culprit]
    )
    with rt.catalog.leases.step() as step:
        retract(rt, step, entry, "to see what is left")
    with pytest.raises(Conflict):
        retract(rt, Step(0, 0), entry, "again")
    expect(rt, end_epoch(rt), [e for i, part in enumerate(parts) if i != culprit for e in part])


def test_a_refresh_under_way_does_not_bring_a_batch_back(opened) -> None:
    rt = opened(DERIVED)
    batches = [append_events(rt, c, rows("r", (1, 3 + c)), "d") for c in (0, 1)]
    overlapping(rt, batches)
    expected, at = rt.catalog.commits.refreshed(), rt.catalog.commits.last_commit()
    with rt.catalog.leases.step() as step:
        result = rt.executor.run(refresh_task(rt, step, expected, at))
        retract(rt, step, next(e for e in rt.catalog.commits.live_history(at) if e.batch.id == batches[0]), "why")
        with pytest.raises(Conflict):
            rt.catalog.commits.commit_refresh(expected, at, result.runs, result.corrected)
    expect(rt, end_epoch(rt), rows("r", (1, 4)))


def test_a_correction_up_to_before_a_batch_was_taken_back_has_incorporated_it(opened) -> None:
    rt = opened()
    parts, ids = tangled(rt, lambda _: None)
    overlapping(rt, ids[:3])
    at = rt.catalog.commits.last_commit()
    entries = rt.catalog.commits.live_history(at)
    culprit = next(e for e in entries if e.batch.id == ids[1])
    with rt.catalog.leases.step() as step:
        retract(rt, step, culprit, "why")
    with rt.catalog.leases.step() as step:
        others = rt.catalog.commits.clocks(at)
        result = rt.executor.run(_correction(rt, step, others, at))
        rt.catalog.commits.commit_correction(others, at, result.runs, result.corrected)
    apply_batch(rt, ids[3])
    expect(rt, end_epoch(rt), [e for i, part in enumerate(parts) if i != 1 for e in part])


def test_the_batch_with_which_a_refresh_fails_is_taken_back(opened) -> None:
    rt = opened(DERIVED)
    good = rows("r", (1, 5), (2, 6))
    apply_batch(rt, append_events(rt, 0, good, "good"))
    bad, other = append_events(rt, 0, rows("r", (1, 3)), "bad"), append_events(rt, 1, rows("r", (1, 4)), "other")
    executor = Broken(RefreshTask, bad)
    broken = dataclasses.replace(rt, executor=executor)
    overlapping(rt, [bad, other])  # neither is refreshed in its own step
    expect(broken, end_epoch(broken), [*good, *rows("r", (1, 4))])
    assert executor.failed
    assert states(rt) == ["retired", "aside", "retired"]


def test_other_errors_are_never_the_batchs_fault(opened, monkeypatch: pytest.MonkeyPatch) -> None:
    rt = opened()
    batch = append_events(rt, 0, rows("r", (1, 5)), "d")
    forget_written()
    for file in rt.catalog.log.files(batch=batch):
        (rt.project.state / file.path).rename(rt.project.state / "away")
    for _ in range(2 * max(UNENDED, FAILURES)):
        with pytest.raises(IntegrityProblem, match="batch 1, is damaged: it is missing"):
            run_minibatch(rt, 0, [])
    assert rt.catalog.log.batch(batch).failures == 0
    (rt.project.state / "away").rename(rt.project.state / rt.catalog.log.files(batch=batch)[0].path)
    assert run_minibatch(rt, 0, []).events == 1


def test_failures_count_wherever_they_happen_and_only_until_the_last(opened) -> None:
    rt = opened()
    batch = append_events(rt, 0, rows("r", (1, 5)), "d")
    repair = damage(rt, batch)
    for number in range(1, FAILURES):
        with pytest.raises(pa.ArrowInvalid, match="no number"):
            apply_batch(rt, batch)
        assert rt.catalog.log.batch(batch).failures == number
    assert run_minibatch(rt, 0, []).set_aside == (batch,)
    assert rt.catalog.asides.count_failure(batch, "a zombie that comes late")
    assert rt.catalog.log.batch(batch).failures == FAILURES
    repair()
    assert apply_batch(rt, batch) is None
    assert states(rt) == ["aside"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ZeroDivisionError("x"), "defect"),
        (pa.ArrowInvalid("x"), "defect"),
        (MemoryError(), "died"),
        (pa.ArrowMemoryError("x"), "died"),
        (ConnectionResetError(), "excused"),
        (KeyboardInterrupt(), "excused"),
        (IntegrityProblem("damaged"), "excused"),
        (PySparkException("[NO_ACTIVE_SESSION] No active Spark session found."), "excused"),
        (PySparkException("Job 5 cancelled because SparkContext was shut down"), "excused"),
        (PySparkException("Python worker exited unexpectedly (crashed)"), "died"),
    ],
)
def test_whose_fault_it_is(error: BaseException, expected: str) -> None:
    assert verdict(error) == expected


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(steps).failed == 0
    assert doctest.testmod(importlib.import_module("cumulus_ops.compute.apply")).failed == 0


def test_a_project_says_without_which_batches_its_snapshots_are(opened) -> None:
    rt = opened()
    broken = append_events(rt, 0, rows("r", (1, 5)), "bad")
    damage(rt, broken)
    append_events(rt, 1, rows("r", (1, 6)), "good")
    run_minibatch(rt, 0, [])
    run_minibatch(rt, 1, [])
    end_epoch(rt)
    now = status(rt)
    assert now.epochs[0].events == 1
    assert [(b.batch, b.state) for b in now.epochs[0].without] == [(broken, "aside")]
    assert now.epochs[0].without == now.set_aside
