"""Cumulus under Airflow: timetable, assets, operators, and the factory that makes a project's DAGs.

Importing this package, and parsing the DAGs, loads neither pyspark nor Great Expectations (a test says so): tasks
import what they need when they run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cumulus_ops.orchestration.factory import build_dags
    from cumulus_ops.orchestration.timetable import StaggeredTimetable

__all__ = ["StaggeredTimetable", "build_dags"]


def __getattr__(name: str) -> object:
    if name == "build_dags":
        from cumulus_ops.orchestration.factory import build_dags

        return build_dags
    if name == "StaggeredTimetable":
        from cumulus_ops.orchestration.timetable import StaggeredTimetable

        return StaggeredTimetable
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
