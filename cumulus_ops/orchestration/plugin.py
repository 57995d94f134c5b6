"""What Airflow learns about at start, through the package's ``airflow.plugins`` entry point."""

from __future__ import annotations

from typing import ClassVar

from airflow.plugins_manager import AirflowPlugin

from cumulus_ops.orchestration.hosts import host_check
from cumulus_ops.orchestration.timetable import StaggeredTimetable

__all__ = ["CumulusPlugin"]


class CumulusPlugin(AirflowPlugin):
    """Registers the staggered timetable, which Airflow needs to read serialised DAGs back."""

    name = "cumulus"
    timetables: ClassVar = [StaggeredTimetable]
    fastapi_root_middlewares: ClassVar = host_check()
