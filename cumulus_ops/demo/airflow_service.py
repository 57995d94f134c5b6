"""Airflow on one machine: SQLite, local executor, loopback only, everything under one folder.

These are the processes of ``airflow standalone`` without its triggerer (no task here defers) and without the log
servers that it opens on every interface; tasks' logs are files that the API server reads itself.
"""

from __future__ import annotations

import secrets
import signal
import sys
from pathlib import Path

from cumulus_ops.demo.children import Child
from cumulus_ops.demo.machine import LOOPBACK

__all__ = ["airflow_command", "airflow_environment", "migrate_database", "start_components"]

PARALLELISM = 8
SECRET_BYTES = 48


def airflow_command(*arguments: str) -> list[str]:
    """The ``airflow`` command of this Python."""
    return [sys.executable, "-m", "airflow", *arguments]


def airflow_environment(home: Path, port: int, dags: Path) -> dict[str, str]:
    """Settings for all Airflow processes; the secrets are made for this run and never written down.

    Args:
        home: becomes AIRFLOW_HOME.
        port: of the API server and UI.
        dags: the folder with DAG files.
    """
    url = f"http://{LOOPBACK}:{port}"
    settings = {
        "CORE": {
            "DAGS_FOLDER": str(dags),
            "LOAD_EXAMPLES": "False",
            "EXECUTOR": "cumulus_ops.orchestration.executor.WarmLocalExecutor",
            "PARALLELISM": str(PARALLELISM),
            "SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",  # no login: the API listens on the loopback address only
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
        "SCHEDULER": {"SCHEDULER_IDLE_SLEEP_TIME": "0.25", "ENABLE_HEALTH_CHECK": "False"},
        "DATABASE": {"SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}"},
        "LOGGING": {"BASE_LOG_FOLDER": str(home / "logs")},
    }
    flat = {f"AIRFLOW__{part}__{key}": value for part, values in settings.items() for key, value in values.items()}
    return {"AIRFLOW_HOME": str(home), "PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1", **flat}


def migrate_database(log_folder: Path, environment: dict[str, str]) -> Child:
    """Make the tables of Airflow's own database; it ends by itself."""
    return Child("airflow-db-migrate", airflow_command("db", "migrate"), log_folder, environment)


def start_components(log_folder: Path, environment: dict[str, str]) -> list[Child]:
    """Scheduler, DAG processor and API server. They end on SIGINT."""
    components = {
        "scheduler": ["scheduler", "--skip-serve-logs"],
        "dag-processor": ["dag-processor"],
        "api-server": ["api-server"],
    }
    return [
        Child(f"airflow-{name}", airflow_command(*arguments), log_folder, environment, stop_signal=signal.SIGINT)
        for name, arguments in components.items()
    ]
