"""docker-compose.yaml: every service's command starts here, on the loopback address, without Docker."""

import secrets
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from benchmarks.peers.cluster import wait_for_log
from cumulus_ops.local.airflow import AirflowApi
from cumulus_ops.local.processes import LOOPBACK, Child, stop_all
from cumulus_ops.local.spark_service import spark_environment, wait_for_port
from cumulus_ops.project.project_file import load_project
from tests.support.compose import COMPOSE, Loopback, services
from tests.support.services import WAIT_S, postgresql

AIRFLOW = ("airflow-scheduler", "airflow-dag-processor", "airflow-api-server")


def test_the_file_holds_no_secret():
    text = COMPOSE.read_text()
    for name in ("POSTGRES_PASSWORD", "AIRFLOW_JWT_SECRET", "AIRFLOW_FERNET_KEY"):
        assert f"${{{name}:?" in text
    assert "@postgres" in text
    assert all(":${POSTGRES_PASSWORD" in line for line in text.splitlines() if "@postgres" in line)


def test_every_service_runs_a_plain_command():
    for name, service in services().items():
        assert isinstance(service["command"], list), name
        assert not {"sh", "bash", "-c;"} & {str(part) for part in service["command"]}, name


def test_only_the_ui_is_published_and_only_locally():
    published = {name: service["ports"] for name, service in services().items() if "ports" in service}
    assert published == {"airflow-api-server": ["127.0.0.1:8080:8080"]}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """All services of the file, running; gives the translation and a function that starts one more command."""
    state = tmp_path_factory.mktemp("state")
    with postgresql() as server:
        values = {
            "POSTGRES_PASSWORD": secrets.token_hex(8),
            "AIRFLOW_JWT_SECRET": secrets.token_hex(48),
            "AIRFLOW_FERNET_KEY": Fernet.generate_key().decode(),
        }
        for name in ("airflow", "cumulus"):
            server.create_database(name)
        here = Loopback(state, server.port, values)
        children: list[Child] = []
        try:
            start_all(here, state, children)
            yield here
        finally:
            stop_all(children[::-1])


def start_all(here, state, children):
    """The services in the order of their dependencies."""

    def start(name):
        environment = {**spark_environment(state / "spark"), **here.environment(name), "SPARK_WORKER_DIR": str(state)}
        children.append(Child(name, here.command(name), state / "log", environment))
        return children[-1]

    migration = start("airflow-migrate")
    wait_for_port(here.ports["7077"], start("spark-master"), WAIT_S)
    wait_for_log(start("spark-worker"), "Successfully registered with master")
    wait_for_port(here.ports["15002"], start("spark-connect"), WAIT_S)
    migration.wait(WAIT_S)
    airflow = [start(name) for name in AIRFLOW]
    api = AirflowApi(here.ports["8080"])
    api._wait(api.is_healthy, airflow, WAIT_S, "Airflow is not healthy")


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.airflow
@pytest.mark.timeout(600)
def test_the_services_work_together(served):
    """Airflow is healthy on PostgreSQL, Spark computes through Connect, and the catalog is on PostgreSQL."""
    from cumulus_ops.epochs.status import status
    from cumulus_ops.opening.runtime import initialise, open_runtime

    environment = served.environment("airflow-scheduler")
    project = load_project(Path(environment["CUMULUS_PROJECT"]), environment)
    assert project.catalog_url.startswith("postgresql")
    initialise(project)
    with open_runtime(project, "inprocess") as runtime:
        assert len(status(runtime).coordinators) == 3
    assert project.executor.remote == f"sc://{LOOPBACK}:{served.ports['15002']}"
    assert count_on_spark(project.executor.remote) == 1000


def count_on_spark(remote):
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(remote).create()
    try:
        return session.range(1000).count()
    finally:
        session.stop()
