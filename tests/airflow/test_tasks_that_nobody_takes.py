"""The executor ends its scheduler when no worker takes tasks any more, and leaves it alone as long as they do."""

from types import SimpleNamespace

import pytest
from airflow.executors.local_executor import LocalExecutor

from cumulus_ops.orchestration import executor
from cumulus_ops.orchestration.executor import WarmLocalExecutor


@pytest.fixture
def made(monkeypatch):
    """An executor without workers, and a clock that the test sets."""
    monkeypatch.setattr(LocalExecutor, "sync", lambda _: None)
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(executor, "time", SimpleNamespace(monotonic=lambda: clock.now))
    one = WarmLocalExecutor.__new__(WarmLocalExecutor)
    one._unread_messages = SimpleNamespace(value=0)
    return one, clock


def test_a_queue_that_is_read_again_and_again_is_left_alone(made):
    one, clock = made
    for second in range(0, 300, 30):
        clock.now, one._unread_messages.value = float(second), second // 30 % 2
        one.sync()
    assert clock.now > executor.UNREAD_S


def test_a_queue_that_nobody_reads_ends_the_scheduler(made):
    one, clock = made
    one._unread_messages.value = 2
    one.sync()
    clock.now = executor.UNREAD_S - 1
    one.sync()
    clock.now = executor.UNREAD_S + 1
    with pytest.raises(RuntimeError, match="no worker has taken 2 tasks"):
        one.sync()
