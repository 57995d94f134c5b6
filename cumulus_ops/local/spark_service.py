"""A Spark Connect server from the pip package: the one local Spark that all tasks share.

A classic session takes seconds to start in every task; a Connect client takes one. The server is a local Spark with as
many threads as told, on the loopback address.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from cumulus_ops.compute.spark import WORKER_DAEMON
from cumulus_ops.local.processes import LOOPBACK, Child
from cumulus_ops.project.errors import SetupProblem

__all__ = ["connect_token", "spark_environment", "spark_home", "start_connect_server", "wait_for_port"]

CONNECT_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
TOKEN_BYTES = 32
#: Of a Spark that is all in one process, the other ports refuse strangers, too; a cluster's processes would need to share a secret.
AUTHENTICATED = {"spark.authenticate": "true"}


def spark_home() -> Path:
    """The folder of the installed pyspark package, which is a whole Spark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SetupProblem("pyspark is not installed", kind="no-pyspark", hint="make install")
    return Path(spec.origin).parent


def spark_environment(scratch: Path) -> dict[str, str]:
    """What Spark's scripts and workers need: loopback only, this Python, scratch files in one place."""
    return {
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_LOCAL_DIRS": str(scratch),
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
        # Spark's Python workers import this package from there
        "PYTHONPATH": os.pathsep.join(
            p for p in (str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")) if p
        ),
    }


def connect_token() -> dict[str, str]:
    """A new token, in the environment variable that both a Connect server and its Python clients read: so it is in no
    command line and in no file. Clients have to call the server ``localhost``: for other names they insist on TLS with a token."""
    return {"SPARK_CONNECT_AUTHENTICATE_TOKEN": secrets.token_urlsafe(TOKEN_BYTES)}


def start_connect_server(
    port: int,
    home: Path,
    master: str = "local[2]",
    driver_memory: str = "1g",
    settings: dict[str, str] | None = None,
    token: Mapping[str, str] | None = None,
) -> Child:
    """Start the server; it is ready when its port answers (:func:`wait_for_port`).

    Args:
        port: on the loopback address.
        home: gets ``log/`` and scratch folders.
        master: a Spark master URL.
        driver_memory: the JVM's heap.
        settings: more Spark settings.
        token: what :func:`connect_token` made. The server then refuses clients without the token.
    """
    scratch = home / "spark"
    (scratch / "warehouse").mkdir(parents=True, exist_ok=True)
    options = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.python.daemon.module": WORKER_DAEMON,
        **(AUTHENTICATED if master.startswith("local") else {}),
        **(settings or {}),
    }
    flags = [part for name, value in options.items() for part in ("--conf", f"{name}={value}")]
    submit = str(spark_home() / "bin" / "spark-submit")
    command = [
        submit,
        "--master",
        master,
        "--driver-memory",
        driver_memory,
        *flags,
        "--class",
        CONNECT_CLASS,
        "spark-internal",
    ]
    return Child("spark-connect", command, home / "log", {**spark_environment(scratch), **(token or {})})


def wait_for_port(port: int, child: Child, timeout_s: float = 90.0) -> None:
    """Wait until ``port`` on the loopback address answers, watching ``child``."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        child.require_running()
        with socket.socket() as probe:
            probe.settimeout(1.0)
            if probe.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(0.2)
    raise SetupProblem(
        f"{child.name} does not answer on port {port} after {timeout_s:.0f} s",
        kind="slow",
        place=str(child.log),
        hint=child.tail(),
    )
