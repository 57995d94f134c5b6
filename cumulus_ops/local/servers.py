"""What serves one project on this machine: Airflow's three processes, and a Spark that all tasks share. Which of them dies is started again."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from cumulus_ops.coordination.barriers import VALUE_SEAL, VALUE_VOTE, waits_for
from cumulus_ops.coordination.plan import read_plan
from cumulus_ops.local.airflow import AirflowApi, Login, airflow_environment, components, migrate_database
from cumulus_ops.local.processes import Child, KnownProcess, end_all, free_port, stop_all
from cumulus_ops.local.spark_service import connect_token, start_connect_server, wait_for_port
from cumulus_ops.project import names
from cumulus_ops.project.interruptions import Interruption
from cumulus_ops.project.settings import Project

__all__ = ["Server", "Servers", "project_dags"]

#: A server that dies so often within that time is not started again: something else is wrong.
DEATHS, WITHIN_S = 5, 120.0
#: What a dead server has left, tasks among it, may do so much longer: it is lost to whoever comes next, and made to be killed.
LEFT_S = 0.5


class Server:
    """A process that is to run all the time. The first start is made at once.

    Args:
        start: starts it, with the same port and secrets each time, so that others find it where it was.
    """

    def __init__(self, start: Callable[[], Child]) -> None:
        self._start, self.child = start, start()
        self.known = self.child.known
        self._deaths: deque[float] = deque(maxlen=DEATHS)

    def revive(self) -> Interruption | None:
        """Start it again if it has ended, after whatever it has left was ended; returns what has happened.

        Raises:
            SetupProblem: it ends again and again, with the end of its log.
        """
        if self.child.is_running:
            return None
        died, code = time.time(), self.child.process.returncode
        self._deaths.append(time.monotonic())
        if len(self._deaths) == DEATHS and self._deaths[-1] - self._deaths[0] < WITHIN_S:
            self.child.require_running()
        end_all([self.known], LEFT_S)
        self.child = self._start()
        self.known = self.child.known
        why = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return Interruption(self.child.name, died, time.time(), why, "it was started again")


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
        self._spark: Server | None = None
        self._spark_port = 0
        #: What is to run all the time, in the order in which it was started.
        self.servers: list[Server] = []

    def begin(self, spark: str | None = "local[2]") -> None:
        """Start what takes long: Airflow's own database is made or brought up to date; and Spark on that master, if there is to be one."""
        if spark:
            token, self._spark_port = connect_token(), free_port()
            self._environment |= {**token, "CUMULUS_SPARK_REMOTE": f"sc://localhost:{self._spark_port}"}
            self._spark = self._started(partial(start_connect_server, self._spark_port, self.home, spark, token=token))
        self._migration = migrate_database(self.log, self._environment)

    def _started(self, start: Callable[[], Child]) -> Server:
        server = Server(start)
        self.servers.append(server)
        self._on_started(self)
        return server

    @property
    def children(self) -> list[Child]:
        """The processes that run, or have ended just now."""
        return [server.child for server in self.servers]

    @property
    def known(self) -> tuple[KnownProcess, ...]:
        """What another process needs to end them."""
        return tuple(server.known for server in self.servers)

    def start(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        """Start Airflow with the project in ``folder``, which is initialised by now; ``settings`` are more environment."""
        assert self._migration is not None, "begin comes first"
        self._migration.wait(MIGRATION_S)
        environment = {**self._environment, "CUMULUS_PROJECT": str(folder.resolve()), **(settings or {})}
        for start in components(self.log, environment):
            self._started(start)
        if self._spark:
            wait_for_port(self._spark_port, self._spark.child)

    def wait_ready(self, project: Project) -> None:
        """Wait until Airflow is healthy and knows the project's DAGs."""
        self.api.wait_healthy(self.children, self.login)
        self.api.wait_for_dags(project_dags(project), self.children)

    def revive(self) -> Iterator[Interruption]:
        """Start those again that have ended; what has happened to each.

        Raises:
            SetupProblem: one ends again and again.
        """
        for server in self.servers:
            if (death := server.revive()) is not None:
                self._on_started(self)
                yield death

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
        names.deploy_dag(project.name),
        names.recover_dag(project.name),
    ]
