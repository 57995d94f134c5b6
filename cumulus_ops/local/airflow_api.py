"""The few calls of Airflow's REST API that the demo, ``cumulus up`` and the tests make."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any

from cumulus_ops.errors import SetupProblem
from cumulus_ops.local.airflow_service import Login
from cumulus_ops.local.children import Child
from cumulus_ops.local.machine import LOOPBACK

__all__ = ["AirflowApi"]

TIMEOUT_S = 60.0
COMPONENTS = ("metadatabase", "scheduler", "dag_processor")


class AirflowApi:
    """A client of the API server on the loopback address."""

    def __init__(self, port: int) -> None:
        self.url, self.token = f"http://{LOOPBACK}:{port}", ""

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON answer to one call."""
        request = urllib.request.Request(
            self.url + path, method=method, data=json.dumps(body).encode() if body is not None else None
        )
        request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            return json.load(response)

    def is_healthy(self) -> bool:
        """True when database, scheduler and DAG processor say so."""
        try:
            health = self.call("GET", "/api/v2/monitor/health")
        except (OSError, ValueError):
            return False
        return all(health.get(name, {}).get("status") == "healthy" for name in COMPONENTS)

    def wait_healthy(self, children: Sequence[Child], login: Login, timeout_s: float = 180.0) -> None:
        """Wait until Airflow is healthy, watching its processes; then log in."""
        self._wait(self.is_healthy, children, timeout_s, "Airflow is not healthy")
        self.log_in(login.user, login.password)

    def log_in(self, user: str, password: str) -> None:
        """Get the token that later calls send."""
        self.token = self.call("POST", "/auth/token", {"username": user, "password": password})["access_token"]

    def wait_for_dags(self, dags: Sequence[str], children: Sequence[Child], timeout_s: float = 120.0) -> None:
        """Wait until all ``dags`` are known."""
        self._wait(lambda: set(dags) <= self.dags(), children, timeout_s, f"Airflow does not know {', '.join(dags)}")

    def dags(self) -> set[str]:
        """The ids of the known DAGs; an import error of a DAG file is raised."""
        errors = self.call("GET", "/api/v2/importErrors")["import_errors"]
        if errors:
            first = errors[0]
            raise SetupProblem(
                "a DAG file cannot be imported", kind="dag-import", place=first["filename"], hint=first["stack_trace"]
            )
        return {dag["dag_id"] for dag in self.call("GET", "/api/v2/dags?limit=1000")["dags"]}

    def unpause(self, dag: str) -> None:
        """Let ``dag`` be scheduled."""
        self.call("PATCH", f"/api/v2/dags/{dag}?update_mask=is_paused", {"is_paused": False})

    def trigger(self, dag: str, conf: dict[str, Any]) -> str:
        """Start a run of ``dag`` now; returns its id."""
        return str(self.call("POST", f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None, "conf": conf})["dag_run_id"])

    def runs(self, dag: str) -> list[dict[str, Any]]:
        """The runs of ``dag``, oldest first."""
        runs: list[dict[str, Any]] = self.call("GET", f"/api/v2/dags/{dag}/dagRuns?limit=100&order_by=run_after")[
            "dag_runs"
        ]
        return runs

    def failed_tasks(self, dag: str, run: str) -> list[str]:
        """The failed tasks of one run."""
        instances = self.call("GET", f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances?limit=1000")["task_instances"]
        return [t["task_id"] for t in instances if t["state"] == "failed"]

    def _wait(self, condition: Callable[[], bool], children: Sequence[Child], timeout_s: float, message: str) -> None:
        deadline = time.monotonic() + timeout_s
        while not _holds(condition):
            for child in children:
                child.require_running()
            if time.monotonic() > deadline:
                logs = ", ".join(str(child.log) for child in children)
                raise SetupProblem(
                    f"{message} after {timeout_s:.0f} s", kind="slow", place=logs, hint="look into these logs"
                )
            time.sleep(0.3)


def _holds(condition: Callable[[], bool]) -> bool:
    """Whether it does; not as long as the server is too busy to answer."""
    try:
        return condition()
    except OSError:
        return False
