"""A LocalExecutor whose workers have the heavy libraries loaded before the first task comes.

Each task is a fork of a worker, and importing pyarrow, pandas, SQLAlchemy and the Spark client takes a task seconds;
loaded once before the workers are forked, they cost each task nothing, and their memory is shared.
"""

from __future__ import annotations

import importlib
import logging

from airflow.executors.local_executor import LocalExecutor

__all__ = ["WarmLocalExecutor"]

#: Only importing: nothing here may start a thread, open a connection or fork.
PRELOADED = ("cumulus_ops.epochs", "cumulus_ops.compute.spark", "pyspark.sql.connect.session", "deltalake")


class WarmLocalExecutor(LocalExecutor):
    """Loads :data:`PRELOADED`, then forks its workers. It opens no log server: the API server reads the files."""

    serve_logs = False

    def start(self) -> None:
        """Called by the scheduler once."""
        for name in PRELOADED:
            try:
                importlib.import_module(name)
            except ImportError as error:  # the task that needs it will say so
                logging.getLogger(__name__).warning("cannot preload %s: %s", name, error)
        super().start()
