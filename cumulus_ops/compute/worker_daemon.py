"""The process that Spark forks its Python workers from, with the engine already imported.

Set as ``spark.python.daemon.module``. A worker that has just been forked is then ready for its first task; and since Spark
collects garbage after every task, what is imported here is put where the collector does not look.
"""

from __future__ import annotations

import gc

from pyspark.daemon import manager

import cumulus_ops.compute.spark  # noqa: F401
from cumulus_ops.light import without_pandas

if __name__ == "__main__":
    without_pandas()
    gc.collect()
    gc.freeze()
    manager()
