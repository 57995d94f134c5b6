"""Airflow on one machine: SQLite, local executor, loopback only, everything under one folder.

These are the processes of ``airflow standalone`` without its triggerer (no task here defers) and without the log
servers that it opens on every interface; tasks' logs are files that the API server reads itself.
"""

from __future__ import annotations

import json
import secrets
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cumulus_ops.local.processes import LOOPBACK, Child
from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.project.small_files import create_file

__all__ = ["AirflowApi", "Login", "airflow_command", "airflow_environment", "components", "migrate_database"]


PARALLELISM = 8
SECRET_BYTES = 48
PASSWORD_BYTES = 12


def airflow_command(*arguments: str) -> list[str]:
    """The ``airflow`` command of this Python."""
    return [sys.executable, "-m", "airflow", *arguments]


@dataclass(frozen=True)
class Login:
    """Who may use the UI and the API. Airflow reads the password from a file that only its owner can read."""

    user: str
    password: str
    file: Path

    @classmethod
    def kept_in(cls, file: Path, user: str = "admin") -> Login:
        """The login that a file has, made now with a generated password if there is none yet."""
        try:
            passwords = json.loads(file.read_text(encoding="utf-8"))
            return cls(user, passwords[user], file)
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError) as error:
            hint = "remove it: another one is generated"
            raise SetupProblem(
                f"holds no password of {user}", kind="no-password", place=str(file), hint=hint
            ) from error
        file.parent.mkdir(parents=True, exist_ok=True)
        create_file(file, json.dumps({user: secrets.token_urlsafe(PASSWORD_BYTES)}), private=True)
        return cls.kept_in(file, user)  # of several who come at once, what the first has written


def airflow_environment(home: Path, port: int, dags: Path, login: Login) -> dict[str, str]:
    """Settings for all Airflow processes; the secrets are made for this run and never written down.

    Args:
        home: becomes AIRFLOW_HOME.
        port: of the API server and UI.
        dags: the folder with DAG files.
        login: the only one.
    """
    url = f"http://{LOOPBACK}:{port}"
    settings = {
        "CORE": {
            "DAGS_FOLDER": str(dags),
            "LOAD_EXAMPLES": "False",
            "DAGS_ARE_PAUSED_AT_CREATION": "False",  # who pauses one in the UI finds it paused the next time
            "EXECUTOR": "cumulus_ops.orchestration.executor.WarmLocalExecutor",
            "PARALLELISM": str(PARALLELISM),
            "SIMPLE_AUTH_MANAGER_USERS": f"{login.user}:admin",
            "SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(login.file),
            "EXECUTION_API_SERVER_URL": f"{url}/execution/",
        },
        "API": {
            "HOST": LOOPBACK,
            "PORT": str(port),
            "WORKERS": "1",
            "BASE_URL": url,
            "SECRET_KEY": secrets.token_hex(SECRET_BYTES),
        },
        "API_AUTH": {"JWT_SECRET": secrets.token_hex(SECRET_BYTES)},
        "DAG_PROCESSOR": {"REFRESH_INTERVAL": "60", "MIN_FILE_PROCESS_INTERVAL": "60", "PARSING_PROCESSES": "1"},
        "SCHEDULER": {
            "SCHEDULER_IDLE_SLEEP_TIME": "0.25",
            "ENABLE_HEALTH_CHECK": "False",
            # Tasks of a scheduler that was killed are taken up by the next one when that has been silent for 30 s
            "ORPHANED_TASKS_CHECK_INTERVAL": "10",
            # A task whose process was killed is tried again then; as long as its lease lasts.
            "TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
            # One whose worker was killed before it began has no heartbeat to be missed
            "TASK_QUEUED_TIMEOUT": "90",
            "TASK_QUEUED_TIMEOUT_CHECK_INTERVAL": "15",
        },
        # Tasks outlive an API server that is started again, within about a minute.
        "WORKERS": {"EXECUTION_API_RETRIES": "20", "EXECUTION_API_RETRY_WAIT_MAX": "5", "MAX_FAILED_HEARTBEATS": "6"},
        "DATABASE": {"SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}"},
        "LOGGING": {"BASE_LOG_FOLDER": str(home / "logs")},
    }
    flat = {f"AIRFLOW__{part}__{key}": value for part, values in settings.items() for key, value in values.items()}
    hosts = {"CUMULUS_UI_HOSTS": f"{LOOPBACK},localhost"}
    return {"AIRFLOW_HOME": str(home), "PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1", **hosts, **flat}


def migrate_database(log_folder: Path, environment: dict[str, str]) -> Child:
    """Make the tables of Airflow's own database; it ends by itself."""
    return Child("airflow-db-migrate", airflow_command("db", "migrate"), log_folder, environment)


def components(log_folder: Path, environment: Mapping[str, str]) -> list[Callable[[], Child]]:
    """What starts scheduler, DAG processor and API server. They end on SIGINT."""
    arguments = {
        "scheduler": ["scheduler", "--skip-serve-logs"],
        "dag-processor": ["dag-processor"],
        "api-server": ["api-server"],
    }
    return [
        partial(Child, f"airflow-{name}", airflow_command(*a), log_folder, environment, stop_signal=signal.SIGINT)
        for name, a in arguments.items()
    ]


# The few calls of Airflow's REST API that the demo, ``cumulus up`` and the tests make.


TIMEOUT_S = 60.0
HEALTHY = ("metadatabase", "scheduler", "dag_processor")


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
        return all(health.get(name, {}).get("status") == "healthy" for name in HEALTHY)

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

    def answer(self, dag: str, run: str, task: str, option: str) -> None:
        """Answer what a task of one run asks a person; an OSError as long as it does not ask."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}/-1/hitlDetails"
        self.call("PATCH", path, {"chosen_options": [option], "params_input": {}})

    def states(self, dag: str, run: str) -> dict[str, str | None]:
        """The states of the tasks of one run, by their names."""
        found = self.call("GET", f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances?limit=1000")["task_instances"]
        return {task["task_id"]: task["state"] for task in found}

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
