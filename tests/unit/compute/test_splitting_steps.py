"""A step is split over tasks where that is worth what it costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cumulus_ops.append.batches import Room, Written, WrittenLog, cut_batches
from cumulus_ops.catalog.records import LogFile
from cumulus_ops.compute.apply import ApplyTask
from cumulus_ops.compute.reading import STATEMENTS_PER_EVENT, BatchRef, rows_at_once, rows_within
from cumulus_ops.compute.refresh import RefreshTask
from cumulus_ops.compute.spark import WORK_OF_SEVERAL, count_events, count_tasks
from cumulus_ops.compute.steps import MinibatchTask
from cumulus_ops.layout.plans import plan_program
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from m3 import compile_views
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import make_project

SAVED = ExecutorSettings().rows_per_task
SALE, NOTE = (Relation(name, (Column("k", INT), Column("v", INT))) for name in ("sale", "note"))
EVENTS, CORES = st.integers(0, 10**8), st.integers(1, 64)


@given(EVENTS, CORES, st.integers(1, 10**7))
def test_a_step_is_one_task_or_its_longest_one_is_shorter_by_what_has_to_be_saved(
    events: int, cores: int, saved: int
) -> None:
    tasks = count_tasks(events, cores, saved)
    assert 1 <= tasks <= cores
    assert tasks == 1 or events - events * WORK_OF_SEVERAL / tasks >= saved


@given(EVENTS, EVENTS, CORES, CORES)
def test_more_events_and_more_cores_never_make_fewer_tasks(events: int, more: int, cores: int, others: int) -> None:
    assert count_tasks(events, cores, SAVED) <= count_tasks(events + more, cores + others - 1, SAVED)


def test_two_cores_split_a_batch_of_two_million_and_four_one_of_a_million() -> None:
    assert [count_tasks(1_000_000, cores, SAVED) for cores in (1, 2, 4, 8)] == [1, 1, 4, 6]
    assert count_tasks(2_000_000, 2, SAVED) == 2


def test_events_that_many_statements_meet_count_for_more() -> None:
    views = {f"v{n}": f"SELECT k + {n} AS k, SUM(v * k) AS s FROM sale GROUP BY k + {n}" for n in range(40)}
    plan = plan_program(compile_views("test", (SALE, NOTE), views), "batch")
    statements = sum(len(plan.statements[name]) for name in plan.base)
    assert statements > 2 * STATEMENTS_PER_EVENT

    def counted(relation: str, rows: int) -> int:
        file = LogFile(1, relation, "file", rows, "0/source", 0, rows)
        task = ApplyTask(plan, Path(), BatchRef(1, 0, 0, (file,), 0, 0, rows), ())
        return count_events(task)

    assert rows_at_once(plan, 1 << 30) == rows_within(1 << 30) * STATEMENTS_PER_EVENT // statements
    assert counted("sale", 700) == 700 * (1 + statements) // (1 + STATEMENTS_PER_EVENT)
    assert counted("note", 80_000_000) == 10_000_000  # nothing meets them, but they have to be read
    assert counted("note", 700) == 700  # few are split if a project says so


def test_a_refresh_that_follows_counts_with_its_batch() -> None:
    """What events meet in maps behind an average costs as much as in others: of TPC-H's query 21 three quarters."""
    text = (
        "SELECT s.k, SUM(s.v) AS t FROM sale s WHERE s.v < (SELECT AVG(o.v) FROM sale o WHERE o.k = s.k) GROUP BY s.k"
    )
    plan = plan_program(compile_views("test", (SALE, NOTE), {"v": text}), "batch")
    both = [
        sum(s.relation == "sale" for name in names for s in plan.statements[name])
        for names in (plan.base, plan.refreshed)
    ]
    assert all(both)
    file = LogFile(1, "sale", "file", 80_000_000, "0/source", 0, 80_000_000)
    apply = ApplyTask(plan, Path(), BatchRef(1, 0, 0, (file,), 0, 0, file.rows), ())
    refresh = RefreshTask(plan, Path(), (), 0, (apply.batch,), (), -1, 0)
    assert count_events(apply) == 10_000_000 * (1 + both[0])
    assert count_events(MinibatchTask(apply, refresh)) == 10_000_000 * (1 + sum(both))


def test_a_batch_has_as_many_rows_as_there_is_memory_for(tmp_path: Path) -> None:
    """Unless the project says how many, and never fewer than a million. How a drop is read, and the files that it becomes, do not depend on it."""
    project = make_project(tmp_path, [SALE], views={"v": "SELECT k, SUM(v) AS s FROM sale GROUP BY k"})
    initialise(project)
    for memory, said, rows in ((8 << 30, None, rows_within(8 << 30)), (256 << 20, None, 1_000_000), (8 << 30, 5, 5)):
        with open_runtime(replace(project, memory=memory, batch_rows=said)) as rt:
            assert rt.room.rows == rows
            assert rt.project.least_batch_rows == (said or 1_000_000)


def test_rows_with_long_texts_are_fewer_to_a_batch() -> None:
    """All of them are loaded at once, and Arrow has at most 2 GiB of a column's texts."""

    def cut(room: Room, bytes_each: int) -> list[int]:
        files = [LogFile(0, "sale", f"{n}", 500_000, "0/source", 0, 1) for n in range(8)]
        written = Written(tuple(WrittenLog(file, file.rows, file.rows * bytes_each) for file in files), (), 0)
        return [batch.inserts for batch in cut_batches([written], 0, "d", 0, 0, room)]

    room = Room(3_000_000, 1 << 30)
    assert cut(room, 200) == [3_000_000, 1_000_000]
    assert cut(room, 500) == [2_000_000, 2_000_000]
    assert cut(room, 5000) == [1_000_000] * 4
    assert cut(Room(3_000_000), 5000) == [3_000_000, 1_000_000]  # the project says how many
