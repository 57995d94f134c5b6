"""Who may read Cumulus's pages: who is logged in to Airflow, and may read the project's DAG that makes snapshots there."""

from __future__ import annotations

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
from airflow.api_fastapi.core_api.security import bearer_scheme, get_user
from airflow.models.dag import DagModel
from fastapi import HTTPException, Request
from starlette.concurrency import run_in_threadpool

from cumulus_ops import names

__all__ = ["may_read"]


async def may_read(request: Request, project: str) -> None:
    """Let a request pass, or refuse it: 401 without a login, 403 without the right."""
    user = await get_user(request, None, await bearer_scheme(request))

    def allowed() -> bool:
        dag = names.commit_dag(project)
        details = DagDetails(id=dag, team_name=DagModel.get_team_name(dag))
        return bool(get_auth_manager().is_authorized_dag(method="GET", details=details, user=user))

    if not await run_in_threadpool(allowed):
        raise HTTPException(403, "Forbidden")
