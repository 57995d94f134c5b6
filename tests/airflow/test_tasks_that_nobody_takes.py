"""The executor ends its scheduler when no worker takes tasks any more, and leaves it alone as long as they do. Queue and workers are real; the clock is the test's."""

import importlib.util
import os
from types import SimpleNamespace

import pytest

from cumulus_ops.orchestration import executor
from cumulus_ops.orchestration.executor import WarmLocalExecutor


class Clock(SimpleNamespace):
    """What the executor takes for the time."""

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock(now=0.0)
    monkeypatch.setattr(executor, "time", made)
    return made


@pytest.fixture
def made(clock, monkeypatch):
    """An executor with two workers, of which one waits for the queue and the other one for its lock."""
    monkeypatch.setattr(executor, "PRELOADED", ())
    one = WarmLocalExecutor(parallelism=2)
    one.start()
    until(lambda: is_locked(one))
    yield one
    for worker in one.workers.values():
        worker.kill()
        worker.join()


def until(condition):
    """Nothing here depends on how long that takes."""
    while not condition():
        os.sched_yield()


def is_locked(one):
    """Whether somebody has the lock of the queue that tasks are read from."""
    if one.activity_queue._rlock.acquire(block=False):
        one.activity_queue._rlock.release()
        return False
    return True


def test_what_is_to_be_loaded_before_the_first_task_is_there():
    assert [name for name in executor.PRELOADED if importlib.util.find_spec(name) is None] == []


def hand_over(one, count):
    """Tasks as they are handed to the workers; what runs them fails at once."""
    for number in range(count):
        one.activity_queue.put(SimpleNamespace(key=number, running_state=None, failure_state="failed"))
    with one._unread_messages:
        one._unread_messages.value += count


def test_a_queue_that_is_read_is_left_alone(made, clock):
    states = {}
    made.change_state = lambda key, state, *_, **__: states.update({key: state})
    for round_ in range(3):
        hand_over(made, 2)
        until(lambda: not made._unread_messages.value)
        clock.now += executor.UNREAD_S + 1
        made.sync()
        assert len(made.workers) == 2, round_
    until(lambda: made.sync() or len(states) == 2)


def test_an_idle_worker_that_is_killed_ends_the_scheduler(made, clock):
    for worker in list(made.workers.values()):
        worker.kill()
        worker.join()
    assert is_locked(made), "by nobody that lives"
    hand_over(made, 2)
    made.sync()
    assert all(worker.is_alive() for worker in made.workers.values()), "others have been started, and get nothing"
    clock.now = executor.UNREAD_S - 1
    made.sync()
    clock.now = executor.UNREAD_S + 1
    with pytest.raises(RuntimeError, match="no worker has taken 2 tasks"):
        made.sync()
    made.end()  # as the scheduler does: it waits for all of them
    made.workers.clear()


def test_the_end_of_a_process_is_not_taken_for_that_of_the_next_one_of_its_task(made):
    """Such as that which has asked a person, who answered at once."""
    work = SimpleNamespace(key="approve", running_state=None, failure_state="failed")
    for _ in range(2):
        made.queued_tasks[work.key] = work
        made._process_workloads([work])
    made.change_state(work.key, "success")
    assert made.event_buffer == {}
    made.change_state(work.key, "success")
    assert made.event_buffer == {work.key: ("success", None)}
    for state in ("failed", "success"):
        made.change_state("other", state)
        assert made.event_buffer["other"] == (state, None)
