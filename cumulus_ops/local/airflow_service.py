"""Airflow on one machine: SQLite, local executor, loopback only, everything under one folder.

These are the processes of ``airflow standalone`` without its triggerer (no task here defers) and without the log
servers that it opens on every interface; tasks' logs are files that the API server reads itself.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.errors import SetupProblem
from cumulus_ops.local.children import Child
from cumulus_ops.local.machine import LOOPBACK

__all__ = ["Login", "airflow_command", "airflow_environment", "migrate_database", "start_components"]

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
        made = cls(user, secrets.token_urlsafe(PASSWORD_BYTES), file)
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            json.dump({user: made.password}, out)
        return made


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
            "ORPHANED_TASKS_CHECK_INTERVAL": "30",
        },
        "DATABASE": {"SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}"},
        "LOGGING": {"BASE_LOG_FOLDER": str(home / "logs")},
    }
    flat = {f"AIRFLOW__{part}__{key}": value for part, values in settings.items() for key, value in values.items()}
    hosts = {"CUMULUS_UI_HOSTS": f"{LOOPBACK},localhost"}
    return {"AIRFLOW_HOME": str(home), "PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1", **hosts, **flat}


def migrate_database(log_folder: Path, environment: dict[str, str]) -> Child:
    """Make the tables of Airflow's own database; it ends by itself."""
    return Child("airflow-db-migrate", airflow_command("db", "migrate"), log_folder, environment)


def start_components(log_folder: Path, environment: dict[str, str]) -> Iterator[Child]:
    """Scheduler, DAG processor and API server, one after the other. They end on SIGINT."""
    components = {
        "scheduler": ["scheduler", "--skip-serve-logs"],
        "dag-processor": ["dag-processor"],
        "api-server": ["api-server"],
    }
    for name, arguments in components.items():
        yield Child(f"airflow-{name}", airflow_command(*arguments), log_folder, environment, stop_signal=signal.SIGINT)
