"""A step is split over tasks where that is worth what it costs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cumulus_ops.compute.spark import WORK_OF_SEVERAL, count_tasks
from cumulus_ops.project.settings import ExecutorSettings

SAVED = ExecutorSettings().rows_per_task
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
