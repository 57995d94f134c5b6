"""The law of partitioned execution: whatever the program, the batches, the layout and the number of tasks, the stages add
to the maps what the in-process executor adds, version by version."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, assume, event, given, reject, settings
from hypothesis import strategies as st

from cumulus_ops.catalog.records import Run
from cumulus_ops.compute.apply import ApplyTask
from cumulus_ops.compute.staged import plan_stages
from cumulus_ops.layout.costs import ANYWHERE, IMPOSSIBLE, Estimates, Labels, pose
from cumulus_ops.layout.partitioning import choose_labels
from cumulus_ops.layout.plans import ProgramPlan, plan_program
from cumulus_ops.layout.stages import levels
from cumulus_ops.project.errors import InputProblem
from m3 import check, compile_views, parse
from m3.errors import M3Error
from m3.program import Program, Trigger
from tests.support.projects import Event, Row, interpret
from tests.support.random_programs import RELATIONS, cyclic_programs, m3_programs, sql_views
from tests.support.staging import Rows, in_process, in_stages, summed, visible, write_batch

ROUGHLY = settings(deadline=None, suppress_health_check=list(HealthCheck))
small = st.integers(0, 3)
rows = st.one_of(
    st.tuples(st.just("r"), st.tuples(small, small)),
    st.tuples(st.just("s"), st.tuples(small, st.one_of(st.none(), small), small)),
    st.tuples(st.just("t"), st.tuples(small, st.sampled_from([None, "", "x", "yy"]))),
)
events = st.tuples(rows, st.sampled_from([1, 1, -1])).map(lambda e: (e[0][0], e[1], e[0][1]))
batches = st.lists(st.lists(events, min_size=1, max_size=25), min_size=1, max_size=3)


@ROUGHLY
@given(m3_programs(), st.booleans(), batches, st.integers(1, 4), st.data())
def test_programs(program: Program, summing: bool, history: list[list[Event]], tasks: int, data: st.DataObject) -> None:
    scheme = "batch" if summing and program.semantics == "snapshot" else "event"
    _agree(plan_program(_checked(_acyclic(program)), scheme), history, tasks, data)


@settings(ROUGHLY)
@given(st.one_of(m3_programs(), cyclic_programs()), batches, st.integers(1, 4), st.data())
def test_cycles(program: Program, history: list[list[Event]], tasks: int, data: st.DataObject) -> None:
    plan = plan_program(_checked(program), "event")
    assume(any(plan.cyclic))
    _agree(plan, history, tasks, data)


@ROUGHLY
@given(sql_views(), batches, st.integers(1, 4), st.data())
def test_views(views: dict[str, str], history: list[list[Event]], tasks: int, data: st.DataObject) -> None:
    try:
        program = compile_views("random", RELATIONS, views)
    except M3Error:
        reject()
    _agree(plan_program(program, "batch"), history, tasks, data)


def test_tasks_without_events_of_a_cycle_settle_as_well() -> None:
    """They have deltas that were sent to them, and nothing that changes in rounds."""
    text = """
    PROGRAM growing SEMANTICS SNAPSHOT;
    RELATION r(a INT, b INT);
    RELATION s(b INT, c INT NULL, x DECIMAL(9, 2));
    RELATION t(c INT, n STRING NULL);
    MAP m[k INT, n STRING NULL] : INT;
    ON +r(A, B) DO { m[A, n] += m[A, n] * B; }
    ON +t(C, N) DO { m[C, N] += 1; }
    """
    plan = plan_program(check(parse(text)), "event")
    labels: Labels = {("events", "r"): ("a",), ("events", "t"): ANYWHERE, ("map", "m"): ("k",)}
    batch: list[Event] = [("t", 1, (key % 10, f"n{key % 7}")) for key in range(40)] + [("r", 1, (3, 2))] * 3
    with tempfile.TemporaryDirectory() as folder:
        task = ApplyTask(plan, Path(folder), write_batch(plan, Path(folder), 0, batch), ())
        expected = summed(plan, Path(folder), in_process(task))
        assert sum(expected["m"].values()) == 40 + 4 * (3**3 - 1)
        assert summed(plan, Path(folder), in_stages(task, 4, labels)) == expected


def _acyclic(program: Program) -> Program:
    """Only the statements that read maps declared before their target."""
    place = {m.name: i for i, m in enumerate(program.maps)}

    def kept(trigger: Trigger) -> Trigger:
        forward = (s for s in trigger.statements if all(place[r.map] < place[s.target] for r in s.reads()))
        return replace(trigger, statements=tuple(forward))

    return replace(program, triggers=tuple(t for t in map(kept, program.triggers) if t.statements))


def _checked(program: Program) -> Program:
    try:
        return check(program)
    except M3Error:
        reject()


def _agree(plan: ProgramPlan, history: list[list[Event]], tasks: int, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, runs = Path(folder), tuple[Run, ...]()
        for number, batch in enumerate(history):
            task = ApplyTask(plan, root, write_batch(plan, root, number, batch), runs)
            try:
                expected = in_process(task)
            except InputProblem:
                reject()
            labels = _labels(plan, {relation for relation, _, _ in batch}, tasks, data)
            found = plan_stages(task, tasks, labels)
            event(f"{len(found.stages)} stages{', cycles' * bool(found.layout.problem.cycles)}")
            if found.layout.alone:
                assert found.layout.problem.cycles
                runs += visible(expected, number + 1)
                continue
            event(f"{plan.versions.name} versions in {len(found.stages)} stages")
            assert len(found.stages) <= (1 + len(plan.groups) if any(plan.cyclic) else len(levels(plan)))
            staged = in_stages(task, tasks, labels)
            assert summed(plan, root, staged) == summed(plan, root, expected)
            runs += visible(staged, number + 1)
        if plan.versions.name == "event":
            _compare(plan, summed(plan, root, runs), [row for batch in history for row in batch])


def _compare(plan: ProgramPlan, found: Rows, events: list[Event]) -> None:
    """The entries over all versions are what the interpreter makes of the events, one after the other."""
    totals: dict[str, dict[Row, int]] = {name: {} for name in found}
    for name, entries in found.items():
        for (*key, _), units in entries.items():
            totals[name][tuple(key)] = totals[name].get(tuple(key), 0) + units
    serial = interpret(plan.program, events).maps
    assert {name: {k: v for k, v in entries.items() if v} for name, entries in totals.items()} == serial


def _labels(plan: ProgramPlan, relations: set[str], tasks: int, data: st.DataObject) -> Labels:
    """Any layout in which reads find what they need, or the one of least cost."""
    problem = pose(plan, relations, Estimates(plan, dict.fromkeys(relations, 1e6)), tasks, small_bytes=0)
    drawn: Labels = {node: data.draw(st.sampled_from(options)) for node, options in problem.labels.items()}
    return drawn if problem.cost(drawn) < IMPOSSIBLE else choose_labels(problem)
