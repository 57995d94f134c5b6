"""What serves one project on this machine: Airflow's three processes, and a Spark that all tasks share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from cumulus_ops import names
from cumulus_ops.config import Project
from cumulus_ops.coordination.barriers import VALUE_SEAL, VALUE_VOTE, waits_for
from cumulus_ops.coordination.stored import read_plan
from cumulus_ops.local.airflow_api import AirflowApi
from cumulus_ops.local.airflow_service import Login, airflow_environment, migrate_database, start_components
from cumulus_ops.local.children import Child, stop_all
from cumulus_ops.local.machine import free_port
from cumulus_ops.local.spark_service import connect_token, start_connect_server, wait_for_port

__all__ = ["Servers", "project_dags"]

MIGRATION_S = 180


class Servers:
    """Started in two steps, since the first one takes long and needs no project; in the end all of it is stopped.

    Everything listens on the loopback address only, asks for a login or a token, and writes below one folder.

    Args:
        home: gets ``airflow/``, ``spark/`` and ``log/``. What Airflow has in there is kept from run to run.
        port: of the Airflow UI.
        dags: the folder with DAG files.
        on_started: called after each process that was started.
    """

    def __init__(
        self, home: Path, port: int, dags: Path, on_started: Callable[[Servers], None] = lambda _: None
    ) -> None:
        self.home, self.log = home, home / "log"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.login = Login.kept_in(home / "airflow" / "passwords.json")
        self.api = AirflowApi(port)
        self._environment = airflow_environment(home / "airflow", port, dags, self.login)
        self._on_started = on_started
        self._migration: Child | None = None
        self._spark: Child | None = None
        self._spark_port = 0
        #: The processes that are to run all the time, in the order in which they were started.
        self.children: list[Child] = []

    def begin(self, spark: str | None = "local[2]") -> None:
        """Start what takes long: Airflow's own database is made or brought up to date; and Spark on that master, if there is to be one."""
        if spark:
            token, self._spark_port = connect_token(), free_port()
            self._environment |= {**token, "CUMULUS_SPARK_REMOTE": f"sc://localhost:{self._spark_port}"}
            self._spark = self._started(start_connect_server(self._spark_port, self.home, spark, token=token))
        self._migration = migrate_database(self.log, self._environment)

    def _started(self, child: Child) -> Child:
        self.children.append(child)
        self._on_started(self)
        return child

    def start(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        """Start Airflow with the project in ``folder``, which is initialised by now; ``settings`` are more environment."""
        assert self._migration is not None, "begin comes first"
        self._migration.wait(MIGRATION_S)
        environment = {**self._environment, "CUMULUS_PROJECT": str(folder.resolve()), **(settings or {})}
        for child in start_components(self.log, environment):
            self._started(child)
        if self._spark:
            wait_for_port(self._spark_port, self._spark)

    def wait_ready(self, project: Project) -> None:
        """Wait until Airflow is healthy and knows the project's DAGs."""
        self.api.wait_healthy(self.children, self.login)
        self.api.wait_for_dags(project_dags(project), self.children)

    def require_running(self) -> None:
        """Raise when one has ended, with the end of its log."""
        for child in self.children:
            child.require_running()

    def stop(self) -> float:
        """Stop all that was started; returns the seconds that took."""
        started = time.monotonic()
        stop_all([*self.children[::-1], *([self._migration] if self._migration else [])])
        return time.monotonic() - started


def project_dags(project: Project) -> list[str]:
    """The DAGs that the project has, those that others start first last."""
    coordinators = [names.coordinator_dag(project.name, i) for i in range(project.coordinators)]
    plan = read_plan(project.state)
    is_sealed = plan is not None and waits_for(plan, VALUE_SEAL, VALUE_VOTE)
    return [
        *coordinators,
        names.commit_dag(project.name),
        *([names.final_dag(project.name)] if is_sealed else []),
        names.validate_dag(project.name),
        names.run_epochs_dag(project.name),
    ]
