"""Custom Great Expectations: a snapshot equals its recomputation, and its inputs are complete and possible.

Importing this package imports Great Expectations (seconds); DAG files must not. Nothing is sent anywhere: usage
statistics are switched off before the import.
"""

import logging
import os

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
logging.getLogger("great_expectations").setLevel(logging.WARNING)

from expectations.snapshot import (  # noqa: E402
    ExpectEpochsToBeComplete,
    ExpectFinalRowsToEqualRecomputation,
    ExpectNetTablesToEqualLog,
    ExpectNoGroupWithoutRows,
    ExpectNoNegativeMultiplicity,
    ExpectSnapshotToEqualRecomputation,
)
from expectations.suites import epoch_suite, finals_suite, groups_suite, log_suite, views_suite  # noqa: E402

__all__ = [
    "ExpectEpochsToBeComplete",
    "ExpectFinalRowsToEqualRecomputation",
    "ExpectNetTablesToEqualLog",
    "ExpectNoGroupWithoutRows",
    "ExpectNoNegativeMultiplicity",
    "ExpectSnapshotToEqualRecomputation",
    "epoch_suite",
    "finals_suite",
    "groups_suite",
    "log_suite",
    "views_suite",
]
