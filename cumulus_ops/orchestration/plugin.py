"""What Airflow learns about at start, through the package's ``airflow.plugins`` entry point.

Every process of Airflow loads this: so the pages are made, and what they need is imported, when the API server is first asked for one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
from airflow.api_fastapi.core_api.security import bearer_scheme, get_user
from airflow.models.dag import DagModel
from airflow.plugins_manager import AirflowPlugin
from fastapi import HTTPException, Request
from starlette.concurrency import run_in_threadpool

from cumulus_ops.orchestration.assets import MOUNTED, ROUTE, airflow_root, web_path
from cumulus_ops.orchestration.timetable import StaggeredTimetable, TokenOrder
from cumulus_ops.project import names

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["CumulusPlugin", "WebPages", "host_check", "may_read"]


# Who may read Cumulus's pages: who is logged in to Airflow, and may read the project's DAG that makes snapshots there.


async def may_read(request: Request, project: str) -> None:
    """Let a request pass, or refuse it: 401 without a login, 403 without the right."""
    user = await get_user(request, None, await bearer_scheme(request))

    def allowed() -> bool:
        dag = names.commit_dag(project)
        details = DagDetails(id=dag, team_name=DagModel.get_team_name(dag))
        return bool(get_auth_manager().is_authorized_dag(method="GET", details=details, user=user))

    if not await run_in_threadpool(allowed):
        raise HTTPException(403, "Forbidden")


# Under which names the UI answers: a page of another site, whose name is made to lead to this machine, is refused.
#
# ``CUMULUS_UI_HOSTS`` lists the names, separated by commas; without it all are answered, as Airflow does by itself.


VARIABLE = "CUMULUS_UI_HOSTS"


def host_check(environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The plugin's middlewares for the API server: one that answers other Host headers with 400, if names are listed.

    >>> host_check({})
    []
    """
    listed = (os.environ if environment is None else environment).get(VARIABLE, "")
    hosts = [name.strip() for name in listed.split(",") if name.strip()]
    return [{"middleware": trusted_hosts, "kwargs": {"hosts": hosts}, "name": "hosts"}] if hosts else []


def trusted_hosts(app: Any, hosts: list[str]) -> Any:
    """The app behind Starlette's check; imported only where there is a server."""
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    return TrustedHostMiddleware(app, allowed_hosts=hosts, www_redirect=False)


class WebPages:
    """Cumulus's pages as an application that Airflow's API server mounts: for who may read a project's DAGs."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """ASGI."""
        await self._pages(scope, receive, send)

    @cached_property
    def _pages(self) -> FastAPI:
        from cumulus_ops.orchestration.assets import project_folder
        from cumulus_ops.project.project_file import load_project
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
