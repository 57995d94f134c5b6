"""A LocalExecutor whose workers have the heavy libraries loaded before the first task comes.

Each task is a fork of a worker, and importing pyarrow, pandas, SQLAlchemy and the Spark client takes a task seconds;
loaded once before the workers are forked, they cost each task nothing, and their memory is shared. What reads the DAG file and does
the steps takes each task 0.4 s of a processor, and Great Expectations each validation 4.4 s.
"""

from __future__ import annotations

import importlib
import logging
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from airflow.executors.local_executor import LocalExecutor
from airflow.utils.state import TaskInstanceState

__all__ = ["WarmLocalExecutor"]

#: Only importing: nothing here may start a thread, open a connection or fork.
PRELOADED = (
    "cumulus_ops.epochs",
    "cumulus_ops.compute.spark",
    "pyspark.sql.connect.session",
    "deltalake",
    "cumulus_ops.orchestration.factory",
    "cumulus_ops.orchestration.steps",
    "cumulus_ops.validation.checkpoint",
    "cumulus_ops.validation.data_docs",
)
#: No more tasks are handed over than there are workers, so one of them takes each at once.
UNREAD_S = 45.0


class WarmLocalExecutor(LocalExecutor):
    """Loads :data:`PRELOADED`, then forks its workers. It opens no log server: the API server reads the files."""

    serve_logs = False
    _unread_since: float | None = None

    def start(self) -> None:
        """Called by the scheduler once."""
        self._handed_over = Counter[Any]()
        self._seen = set[int]()
        for name in PRELOADED:
            try:
                importlib.import_module(name)
            except ImportError as error:  # the task that needs it will say so
                logging.getLogger(__name__).warning("cannot preload %s: %s", name, error)
        super().start()

    def _process_workloads(self, workload_list: Sequence[Any]) -> None:
        """Hand tasks over to the workers."""
        self._handed_over.update(workload.key for workload in workload_list)
        super()._process_workloads(workload_list)

    def change_state(self, key: Any, state: Any, info: Any = None, remove_running: bool = True) -> None:
        """Let the scheduler know how a process of a task has ended.

        A task that has asked a person is handed over again, under the same key, as soon as somebody answers: maybe before it was read that the process that had asked is done. The scheduler
        would take that for the end of a task that is still queued, fail it, and the person would be asked again.
        """
        self._handed_over[key] -= 1
        if self._handed_over[key] > 0 and state == TaskInstanceState.SUCCESS:
            return
        if self._handed_over[key] <= 0:
            del self._handed_over[key]
        super().change_state(key, state, info, remove_running)

    def sync(self) -> None:
        """Called by the scheduler all the time.

        Raises:
            RuntimeError: nobody takes tasks any more: an idle worker that is killed holds the lock of their queue for ever. The scheduler ends with it, and whoever watches it starts
                another one, with another queue.
        """
        super().sync()
        if self.workers.keys() != self._seen:  # one has died, and does not say any more what has become of its task
            self._handed_over.clear()
            self._seen = set(self.workers)
        now, unread = time.monotonic(), self._unread_messages.value
        self._unread_since = None if not unread else now if self._unread_since is None else self._unread_since
        if self._unread_since is not None and now - self._unread_since > UNREAD_S:
            for worker in self.workers.values():  # Airflow would ask them to end, by the same queue, and wait for ever
                worker.kill()
            raise RuntimeError(f"no worker has taken {unread} tasks for {UNREAD_S:.0f} s: one that waited was killed")
