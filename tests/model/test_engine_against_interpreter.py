"""The law, tested: whatever the program, the batches, the coordinators and the interleaving of concurrent applies,
corrections and merges, every committed epoch equals the serial interpreter run over the event log up to it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
import unittest.mock
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import event as hypothesis_event
from hypothesis import strategies as st

from cumulus_ops.catalog.records import Step
from cumulus_ops.compute import grouping, kernel, reading
from cumulus_ops.compute.correct import CorrectTask
from cumulus_ops.compute.steps import StepResult
from cumulus_ops.epochs.checkpoint import collect_garbage, commit, group_by_clock, merge, refresh_task, try_refresh
from cumulus_ops.epochs.minibatch import Computed, commit_batch, compute_batch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.maps.deltas import multiply
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import Conflict, InputProblem, NotYet
from cumulus_ops.project.versions import epoch_end
from m3 import check, format_program
from m3.clock import CLOCK
from m3.confluence.proof import prove
from m3.errors import ValueProblem
from m3.program import Program
from tests.support.derived_programs import DERIVED
from tests.support.leases import another_process, lapse
from tests.support.mutations import mutated
from tests.support.projects import (
    Event,
    append_events,
    engine_maps,
    interpret,
    make_project,
    oracle_maps,
)
from tests.support.random_derivations import derived_programs
from tests.support.random_programs import RELATIONS, m3_programs, sql_views
from tests.support.ring_programs import ring_programs
from tests.support.views_in_error import engine_answer, interpreter_answer

T = TypeVar("T")

VIEWS = {
    "join": "SELECT a, COUNT(*) AS n, SUM(x) AS s FROM r JOIN s ON r.b = s.b GROUP BY a",
    "chain": "SELECT n, SUM(a * x) AS s, COUNT(*) AS k FROM r, s, t WHERE r.b = s.b AND s.c = t.c GROUP BY n",
    "filter": "SELECT SUM(x) AS s, AVG(x) AS m FROM s WHERE x > 1 OR c IS NULL",
    "names": "SELECT a, n, COUNT(c) AS k FROM r, t WHERE r.a = t.c AND b <> 2 GROUP BY a, n",
}
SELF_JOIN = {"pairs": "SELECT r1.a, COUNT(*) AS n, SUM(r2.b) AS s FROM r r1, r r2 WHERE r1.b = r2.a GROUP BY r1.a"}

BEYOND_RINGS = {
    "extremes": "SELECT a, MIN(x) AS lo, MAX(c) AS hi, COUNT(DISTINCT x) AS n FROM r JOIN s ON r.b = s.b GROUP BY a",
    "outer": "SELECT r.a, s.c, t.n FROM r LEFT JOIN s ON r.b = s.b LEFT JOIN t ON s.c = t.c",
    "having": "SELECT a, SUM(b) AS s FROM r GROUP BY a HAVING COUNT(*) > 1 OR MAX(b) > 2",
    "nested": "SELECT b FROM s WHERE x > (SELECT AVG(x) FROM s AS i WHERE i.b = s.b) AND b IN (SELECT a FROM r)",
    "sets": "SELECT a FROM r EXCEPT SELECT c FROM t UNION ALL SELECT b FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.c = s.c)",
    "windows": "SELECT a, b, RANK() OVER (PARTITION BY a ORDER BY b DESC) AS rk, SUM(b) OVER (ORDER BY a, b) AS s FROM r",
    "top": "SELECT DISTINCT a + b AS k FROM r ORDER BY k DESC LIMIT 2",
}

#: Divisors are 0 now and then, and texts no numbers.
FAILING = {
    "sums": "SELECT a, SUM(x / r.b) AS s, COUNT(*) FILTER (WHERE 3 / c > 1) AS n FROM r JOIN s ON r.b = s.b GROUP BY a",
    "keys": "SELECT a % b AS k, COUNT(*) AS n FROM r GROUP BY a % b",
    "condition": "SELECT r.a, t.n FROM r JOIN t ON r.a / t.c > 1 WHERE 6 % (r.b - 2) < 3",
    "outer": "SELECT s.b, t.n FROM s LEFT JOIN t ON s.c = t.c AND 1 / s.x > 0",
    "exists": "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b = r.b AND 2 / c = 1) AND b NOT IN (SELECT 3 / c FROM t)",
    "extremes": "SELECT a, MAX(10 / b) AS m, SUM(a) / SUM(b) AS q FROM r GROUP BY a HAVING 3 / MIN(b) > 1",
    "windows": "SELECT a, b, SUM(a % b) OVER (PARTITION BY b) AS s, 6 / RANK() OVER (ORDER BY a / b) AS k FROM r",
    "texts": "SELECT CAST(n AS INT) AS k, COUNT(*) AS n FROM t GROUP BY CAST(n AS INT)",
    "several": "SELECT a, (SELECT x FROM s WHERE s.b = r.b) AS x FROM r",
}

ORDERED = """
PROGRAM ordered SEMANTICS {semantics};
RELATION r(a INT, b INT);
RELATION s(b INT, c INT NULL, x DECIMAL(9, 2));
RELATION t(c INT, n STRING NULL);
MAP m1[] : INT;
MAP m2[a INT] : INT;
MAP m3[b INT] : INT;
MAP m4[a INT, b INT] : INT;
MAP m5[b INT] : INT;
ON +r(A, B) DO {{ m1[] += m2[A]; m2[A] += m3[B]; m4[A, B] += 1; m5[X] += m4[A, X] * (B + 1); }}
ON -r(A, B) DO {{ m1[] += m2[A] * 2; m4[A, B] += -1; }}
ON +s(B, C, X) DO {{ m3[B] += 1; m2[Y] += m4[Y, B]; m1[] += IF B < 2 THEN m3[B] ELSE 0; }}
ON -s(B, C, X) DO {{ m3[B] += -1 * m5[B]; }}
"""
CYCLIC = """
PROGRAM cyclic SEMANTICS {semantics};
RELATION r(a INT, b INT);
RELATION s(b INT, c INT NULL, x DECIMAL(9, 2));
RELATION t(c INT, n STRING NULL);
MAP m1[a INT] : INT;
MAP m2[b INT] : INT;
ON +r(A, B) DO {{ m1[A] += m2[A]; m1[B] += 1; }}
ON +s(B, C, X) DO {{ m2[B] += m1[B]; m2[B] += 1; }}
ON -s(B, C, X) DO {{ m2[B] += -1; }}
"""
CHAINED = """
PROGRAM chained SEMANTICS SEQUENTIAL;
RELATION r(a INT, b INT);
RELATION s(b INT, c INT NULL, x DECIMAL(9, 2));
RELATION t(c INT, n STRING NULL);
MAP m0[] : INT;
MAP m1[] : INT;
ON +t(C, N) DO {{ m0[] += 1; m1[] += m0[]; m0[] += m1[] * -1; m1[] += m0[]; m0[] += m1[]; }}
"""
PROGRAMS = {
    "sql": {"views": VIEWS},
    "self-join": {"views": SELF_JOIN},
    "beyond rings": {"views": BEYOND_RINGS},
    "failing": {"views": FAILING},
    "ordered-sequential": {"program": ORDERED.format(semantics="SEQUENTIAL")},
    "ordered-snapshot": {"program": ORDERED.format(semantics="SNAPSHOT")},
    "chained": {"program": CHAINED.format()},  # one event, many statements: each sees what the one before wrote
    "cyclic-sequential": {"program": CYCLIC.format(semantics="SEQUENTIAL")},
    "cyclic-snapshot": {"program": CYCLIC.format(semantics="SNAPSHOT")},
}

small = st.integers(0, 3)
rows = st.one_of(
    st.tuples(st.just("r"), st.tuples(small, small)),
    st.tuples(
        st.just("s"), st.tuples(small, st.one_of(st.none(), small), st.integers(-300, 300).map(lambda u: u / 100))
    ),
    st.tuples(st.just("t"), st.tuples(small, st.sampled_from([None, "", "x", "yy"]))),
)


@dataclass
class World:
    """One project under concurrent work: steps that have read but not committed yet are in flight."""

    rt: Runtime
    live: dict[int, list[Event]] = field(default_factory=dict)  # per coordinator: rows it may delete
    log: dict[tuple[int, int], list[Event]] = field(default_factory=dict)  # (epoch, coordinator) -> events
    rows: st.SearchStrategy[tuple[str, tuple[object, ...]]] = rows
    flight: list[object] = field(default_factory=list)
    steps: dict[int, contextlib.ExitStack] = field(default_factory=dict)  # id of what was computed -> its step
    drops: int = 0

    def append(self, data: st.DataObject, coordinator: int) -> None:
        live = self.live.setdefault(coordinator, [])
        events: list[Event] = []
        for _ in range(data.draw(st.integers(1, 6))):
            if live and data.draw(st.integers(0, 3)) == 0:
                relation, _, row = live.pop(data.draw(st.integers(0, len(live) - 1)))
                events.append((relation, -1, row))
            else:
                relation, row = data.draw(self.rows)
                row = tuple(_exact(v) for v in row)
                if relation != CLOCK:  # time never goes back
                    live.append((relation, 1, row))
                events.append((relation, 1, row))
        epoch, _ = self.rt.catalog.members.position(coordinator)
        self.drops += 1
        batch = append_events(self.rt, coordinator, events, f"d{self.drops}")
        self.log.setdefault((epoch, coordinator), []).extend(events)
        self.flight.append(("apply", batch, None, None))

    def start(self, index: int) -> None:
        _, batch, _, _ = self.flight[index]
        self.flight[index] = ("apply", batch, None, self._in_a_step(lambda step: compute_batch(self.rt, batch, step)))

    def _in_a_step(self, compute: Callable[[Step], T]) -> T:
        """Compute something in a step that lasts until it is finished."""
        stack = contextlib.ExitStack()
        result = compute(stack.enter_context(self.rt.catalog.leases.step()))
        self.steps[id(result)] = stack
        return result

    def finish(self, index: int) -> None:
        kind, what, read_at, result = self.flight.pop(index)
        try:
            with self.steps.pop(id(result)):
                self._commit(kind, what, read_at, result)
        except Conflict as conflict:  # somebody else was faster, or our lease is over
            if isinstance(result, Computed):
                if conflict.kind not in ("lease-over", "merge-conflict"):
                    raise
                self.flight.append(("apply", what, None, None))

    def _commit(self, kind: str, what: object, read_at: object, result: object) -> None:
        if isinstance(result, Computed):
            assert commit_batch(self.rt, what, result) is not None
            assert commit_batch(self.rt, what, result) is None  # a task run twice commits once
            return
        assert isinstance(result, StepResult)
        commit = (
            self.rt.catalog.commits.commit_refresh if kind == "refresh" else self.rt.catalog.commits.commit_correction
        )
        commit(what, read_at, result.runs, result.corrected)

    def lapse(self) -> None:
        """This process stands still for so long that another one passes it by, merges and cleans up."""
        lapse(self.rt.project.catalog_url)
        with another_process(self.rt) as other:
            merge(other)
            collect_garbage(other)

    def start_correction(self) -> None:
        at = self.rt.catalog.commits.last_commit()
        clocks, entries = self.rt.catalog.commits.clocks(at), self.rt.catalog.commits.live_history(at)
        task = CorrectTask(
            self.rt.plan,
            self.rt.project.state,
            group_by_clock(self.rt, entries, at),
            tuple(self.rt.catalog.commits.runs(at)),
        )
        run = self._in_a_step(lambda s: self.rt.executor.run(dataclasses.replace(task, label=s.label)))
        self.flight.append(("correct", clocks, at, run))

    def start_refresh(self) -> None:
        refreshed, at = self.rt.catalog.commits.refreshed(), self.rt.catalog.commits.last_commit()
        task = refresh_task(self.rt, Step(0, 0), refreshed, at)
        if task is not None:
            run = self._in_a_step(lambda s: self.rt.executor.run(dataclasses.replace(task, label=s.label)))
            self.flight.append(("refresh", refreshed, at, run))

    def expected(self, epoch: int) -> dict[str, object]:
        """The maps of an epoch that is committed, whose views have been compared: their rows, or what their errors say."""
        events = [e for key in sorted(self.log) if key[0] <= epoch for e in self.log[key]]
        oracle = interpret(self.rt.program, events)
        for view in self.rt.program.views:
            assert engine_answer(self.rt, view.name, epoch) == interpreter_answer(oracle, view.name), view.sql
        return oracle_maps(oracle)


def _exact(value: object) -> object:
    from decimal import Decimal

    return Decimal(round(value * 100)).scaleb(-2) if isinstance(value, float) else value


#: More with `EXAMPLES=200 pytest tests/model/test_engine_against_interpreter.py`.
EXAMPLES = int(os.environ.get("EXAMPLES", "2"))
QUICK = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@pytest.mark.parametrize("name", PROGRAMS)
@settings(QUICK)
@given(data=st.data())
def test_committed_epochs_equal_the_interpreter(name: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), RELATIONS, **PROGRAMS[name])
        initialise(project)
        with open_runtime(project) as rt:
            assert rt.plan.versions.name == ("batch" if "views" in PROGRAMS[name] else "event")
            _play(World(rt), data)


@settings(QUICK, max_examples=EXAMPLES)
@given(program=m3_programs(), data=st.data())
def test_random_m3_programs(program: Program, data: st.DataObject) -> None:
    text = format_program(check(program))
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), RELATIONS, program=text)
        initialise(project)
        with open_runtime(project) as rt:
            assert rt.program == program
            assert rt.plan.versions.name == prove(program).grain
            try:
                _play(World(rt), data)
            except (InputProblem, ValueProblem) as problem:
                if problem.kind != "overflow":
                    raise
                reject()  # squares of squares


@settings(QUICK, max_examples=EXAMPLES)
@given(program=ring_programs(), data=st.data())
def test_programs_by_hand_with_the_versions_that_are_proved(program: Program, data: st.DataObject) -> None:
    """Of them, and of what little changes make of them: whatever grain they get, the maps are the interpreter's."""
    program = data.draw(mutated(program)) if data.draw(st.integers(0, 2)) == 0 else program
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), RELATIONS, program=format_program(program))
        initialise(project)
        with open_runtime(project) as rt:
            hypothesis_event(f"{rt.plan.versions.name}, {program.semantics}")
            try:
                _play(World(rt), data)
            except (InputProblem, ValueProblem) as problem:
                if problem.kind != "overflow":
                    raise
                reject()


@settings(QUICK, max_examples=EXAMPLES)
@given(views=sql_views(), data=st.data())
def test_random_sql_views(views: dict[str, str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), RELATIONS, views=views)
        initialise(project)
        with open_runtime(project) as rt:
            _play(World(rt), data)


@pytest.mark.parametrize("scheme", ["event", "batch"])
@settings(QUICK, max_examples=EXAMPLES)
@given(data=st.data())
def test_derivations(scheme: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), RELATIONS, program=DERIVED)
        initialise(project, versions=scheme)
        with open_runtime(project) as rt:
            assert rt.plan.versions.name == scheme
            _play(World(rt), data)


@pytest.mark.parametrize("scheme", ["event", "batch"])
@settings(QUICK, max_examples=EXAMPLES)
@given(text=derived_programs(), data=st.data())
def test_random_derivations(scheme: str, text: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), RELATIONS, program=text)
        initialise(project, versions=scheme)
        with open_runtime(project) as rt:
            try:
                _play(World(rt), data)
            except (InputProblem, ValueProblem) as problem:
                if problem.kind != "overflow":
                    raise
                reject()


def _play(world: World, data: st.DataObject) -> None:
    """Also with few events to a group, entries that cancel, and deltas written early, as only large batches have it."""
    small = data.draw(st.booleans())
    with (
        unittest.mock.patch.object(grouping, "FEWEST", 1 if small else grouping.FEWEST),
        unittest.mock.patch.object(kernel, "FEWEST", 1 if small else kernel.FEWEST),
        unittest.mock.patch.object(kernel, "CANCELLED_ROWS", 1 if small else kernel.CANCELLED_ROWS),
        unittest.mock.patch.object(kernel, "SAMPLED", 2 if small else kernel.SAMPLED),
        unittest.mock.patch.object(reading, "WRITTEN_ROWS", 1 if small else reading.WRITTEN_ROWS),
        unittest.mock.patch.object(kernel, "multiply", _bounded),
    ):
        _play_on(world, data)


def _bounded(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products have no bound, but those of programs that square squares for ever are not waited for."""
    product = multiply(a, b)
    if product.dtype == object and bool((abs(product) > 10**400).any()):
        raise InputProblem("squares of squares", kind="overflow")
    return product


def _play_on(world: World, data: st.DataObject) -> None:
    actions = ["append", "append", "start", "start", "finish", "finish", "correct", "merge", "seal", "commit", "lapse"]
    actions += ["refresh", "seal", *["minibatch"] * 5] if world.rt.plan.derived else []
    for _ in range(data.draw(st.integers(5, 25))):
        _act(world, data, data.draw(st.sampled_from(actions)))
    while any(f[0] == "apply" for f in world.flight):
        index = next(i for i, f in enumerate(world.flight) if f[0] == "apply")
        if world.flight[index][3] is None:
            world.start(index)
        world.finish(index)
    last = max((world.rt.catalog.members.position(c)[0] for c in range(3)), default=0)
    for _ in range(3 * (last + 1)):
        holder = world.rt.catalog.votes.token_holder()
        epoch = world.rt.catalog.members.position(holder)[0]
        if epoch <= last:
            vote(world.rt, holder, epoch)
    for epoch in range(last + 1):
        commit(world.rt, epoch)
    for epoch in range(last + 1):
        assert engine_maps(world.rt, epoch_end(epoch)) == world.expected(epoch)


def _act(world: World, data: st.DataObject, action: str) -> None:
    if action == "append":
        world.append(data, data.draw(st.integers(0, 2)))
    elif action == "minibatch":
        world.append(data, data.draw(st.integers(0, 2)))
        world.start(len(world.flight) - 1)
        world.finish(len(world.flight) - 1)
        try_refresh(world.rt)
    elif action == "start":
        waiting = [i for i, f in enumerate(world.flight) if f[3] is None]
        if waiting:
            world.start(data.draw(st.sampled_from(waiting)))
    elif action == "finish":
        ready = [i for i, f in enumerate(world.flight) if f[3] is not None]
        if ready:
            world.finish(data.draw(st.sampled_from(ready)))
    elif action == "correct" and not any(f[0] == "correct" for f in world.flight):
        world.start_correction()
    elif action == "refresh" and sum(f[0] == "refresh" for f in world.flight) < 2:
        world.start_refresh()
    elif action == "merge":
        merge(world.rt)
    elif action == "lapse":
        world.lapse()
    elif action in ("seal", "commit"):
        _seal_or_commit(world, action)


def _seal_or_commit(world: World, action: str) -> None:
    try:
        if action == "seal":
            holder = world.rt.catalog.votes.token_holder()
            vote(world.rt, holder, world.rt.catalog.members.position(holder)[0])
        else:
            epoch = len(world.rt.catalog.snapshots.all())
            commit(world.rt, epoch)
            assert engine_maps(world.rt, epoch_end(epoch)) == world.expected(epoch)
    except NotYet:
        pass
