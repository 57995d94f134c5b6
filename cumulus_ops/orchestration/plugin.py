"""What Airflow learns about at start, through the package's ``airflow.plugins`` entry point.

Every process of Airflow loads this: so the pages are made, and what they need is imported, when the API server is first asked for one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from cumulus_ops.orchestration.hosts import host_check
from cumulus_ops.orchestration.links import MOUNTED, ROUTE, airflow_root, web_path
from cumulus_ops.orchestration.timetable import StaggeredTimetable, TokenOrder

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["CumulusPlugin", "WebPages"]


class WebPages:
    """Cumulus's pages as an application that Airflow's API server mounts: for who may read a project's DAGs."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """ASGI."""
        await self._pages(scope, receive, send)

    @cached_property
    def _pages(self) -> FastAPI:
        from cumulus_ops.config import load_project
        from cumulus_ops.orchestration.access import may_read
        from cumulus_ops.orchestration.projects import project_folder
        from cumulus_ops.web import create_app

        return create_app(lambda: [load_project(project_folder())], may_read, airflow_root())


class CumulusPlugin(AirflowPlugin):
    """Registers the staggered timetable and the order of priorities, which Airflow needs to read serialised DAGs back; and Cumulus's pages, with their place in
    the UI's navigation."""

    name = "cumulus"
    timetables: ClassVar = [StaggeredTimetable]
    priority_weight_strategies: ClassVar = [TokenOrder]
    fastapi_root_middlewares: ClassVar = host_check()
    fastapi_apps: ClassVar = [{"app": WebPages(), "url_prefix": MOUNTED, "name": "Cumulus"}]
    external_views: ClassVar = [
        {
            "name": "Cumulus",
            "href": web_path(),
            "destination": "nav",
            "nav_top_level": True,
            "url_route": ROUTE,
            "icon": web_path("static", "icon.svg"),
        }
    ]
